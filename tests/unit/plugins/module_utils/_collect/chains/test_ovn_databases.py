# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the databases of OVN on the controller of the lab hold that Neutron did not write."""

from __future__ import annotations

from ansible_collections.stackproof.provision.plugins.module_utils._collect.chains import ovn_databases
from ansible_collections.stackproof.provision.plugins.module_utils._model.stores import Limit
from recorded_hosts import printed

HOST = "controller1-ovn-stores"
NETWORK = "neutron-00000000-0000-4000-8000-000000000001"
METER = Limit(NETWORK, "dhcpv4-opts by meter slow")
QOS = printed(HOST, "list QoS")


def test_limits_that_neutron_has_not_set_are_found_with_their_network(replay):
    assert ovn_databases.foreign_limits(replay(HOST)) == (Limit(NETWORK, "to-lport ip4: 1 kbit/s"), METER)


def test_a_limit_of_a_policy_of_neutron_is_none_of_them(replay):
    own = QOS.replace('["map",[]]', '["map",[["neutron:port_id","1d"]]]')
    assert own != QOS
    assert ovn_databases.foreign_limits(replay(HOST, {"list QoS": (0, own, "")})) == (METER,)
