# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The cloud of kolla under test: its hosts, its variant, and the variables with which its operator starts a run."""

from __future__ import annotations

from lab_under_test import DIRECTORY, HOSTS, INVENTORY

HOST = next(iter(HOSTS), None)
WHOLE = ("-i", str(INVENTORY))
HAS_CEPH = "ceph" in (DIRECTORY / "topology").read_text() if HOST else False
# Until it is rotated, it begins with hundreds of warnings that have no time.
WITHOUT_TIMES = ("cinder-api-uwsgi.log",)
# Without Ceph it has no Cinder.
USER = {"cloud": "kolla", **({} if HAS_CEPH else {"volume": "none"})}
ENGINE = (DIRECTORY / "engine").read_text() if HOST else "docker"
PLATFORM = {"docker": "kolla", "podman": "kolla_podman"}[ENGINE]
OPERATOR = {**USER, "platform": PLATFORM, "admin_cloud": "kolla-admin"}
