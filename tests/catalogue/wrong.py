# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""All faults of a site where everything runs and something is wrong."""

from __future__ import annotations

from wrong_conditions import conditions, pairs
from wrong_contents import contents
from wrong_requests import requests
from wrong_settings import settings


def wrong_of(site):
    single = [*settings(site), *contents(site), *conditions(site), *requests(site)]
    return (*single, *pairs(site, {fault.name: fault for fault in single}))
