# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The cloud of kolla under test: its host, and the variables with which its operator starts a run."""

from __future__ import annotations

from lab_under_test import HOSTS, INVENTORY

HOST = next(iter(HOSTS), None)
WHOLE = ("-i", str(INVENTORY))
# It has no Cinder.
USER = {"cloud": "kolla", "volume": "none"}
OPERATOR = {**USER, "platform": "kolla", "admin_cloud": "kolla-admin"}
