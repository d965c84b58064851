# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Records of runs that 0.1.0 has made, as the module report reads them."""

from __future__ import annotations

from ansible_collections.stackproof.provision.plugins.module_utils._match import flow
from ansible_collections.stackproof.provision.plugins.module_utils._record import run
from tree import FLOWS


def read(directory):
    record = run.read_record(directory)
    record["flows"] = flow.with_telling(record["flows"], [flow.load(str(path)) for path in sorted(FLOWS.glob("*.yml"))])
    return record
