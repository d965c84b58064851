# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""All projects of the catalogue, in one order for all tables.

Ansible sends to a host what the code imports, and nothing that is found at run time: so each file is named here.
"""

from __future__ import annotations

from itertools import chain

from . import (
    ceph,
    cinder,
    front,
    glance,
    infrastructure,
    instance,
    keystone,
    libvirt,
    neutron,
    nova,
    openvswitch,
    ovn,
    placement,
)

PROJECTS = (
    *nova.PROJECTS,
    *neutron.PROJECTS,
    *cinder.PROJECTS,
    *glance.PROJECTS,
    *keystone.PROJECTS,
    *placement.PROJECTS,
    *ceph.PROJECTS,
    *libvirt.PROJECTS,
    *openvswitch.PROJECTS,
    *ovn.PROJECTS,
    *infrastructure.PROJECTS,
    *instance.PROJECTS,
    *front.PROJECTS,
)
COMPONENTS = tuple(
    chain.from_iterable(project.components for project in PROJECTS)
)
