# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The devstack under test: its host, its variant, and the variables with which its user starts a run."""

from __future__ import annotations

from lab_under_test import GROUPS, HOSTS, INVENTORY

HOST = next(iter(HOSTS), None)
HAS_CEPH = "storage" in GROUPS
HAS_OVN = "ml2_ovs" not in GROUPS
WHOLE = ("-i", str(INVENTORY))
# Without Cinder there are no volumes.
USER = {"cloud": "devstack", **({} if HAS_CEPH else {"volume": "none"})}
OPERATOR = {**USER, "platform": "devstack", "admin_cloud": "devstack-admin"}
