# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Documentation that the modules which read a host share. PRIVATE to the collection."""

from __future__ import annotations


class ModuleDocFragment:
    DOCUMENTATION = r"""
options:
  prefixes:
    description:
      - Words to put before the commands of a part of the cloud that runs in a container.
      - The parts are C(libvirt), C(ceph), C(dhcp), C(metadata), C(ovs), C(ovn_nb) and C(ovn_sb).
        With kolla C(libvirt) may have C([docker, exec, nova_libvirt]).
    type: dict
    default: {}
notes:
  - Nothing is changed on the host, and nothing but Python's standard library is needed there.
  - Connect as any user. Commands that need root run through C(sudo -n), so C(become) is not needed.
    A command that sudo refuses is listed in RV(ignore:unread), and the rest is still read.
author: stackproof contributors (@stackproof)
attributes:
  check_mode:
    description: Changes nothing in either mode.
    support: full
"""
