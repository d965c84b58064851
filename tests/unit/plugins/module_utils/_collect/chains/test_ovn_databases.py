# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the databases of OVN on the controller of the lab hold that Neutron did not write."""

from __future__ import annotations

import pytest
from ansible_collections.stackproof.provision.plugins.module_utils._collect.chains import ovn_databases
from ansible_collections.stackproof.provision.plugins.module_utils._model.stores import Limit
from recorded_hosts import printed

HOST = "controller1-ovn-stores"
NETWORK = "neutron-00000000-0000-4000-8000-000000000001"
REMOVAL = f"ovn-nbctl --no-leader-only remove Logical_Switch {NETWORK}"
METER = Limit(NETWORK, "dhcpv4-opts by meter slow", f"{REMOVAL} copp 6887a390-427a-44a4-bf2a-4c8e12845f6c")
NARROW = Limit(NETWORK, "to-lport ip4: 1 kbit/s", f"{REMOVAL} qos_rules b7b08c54-1cb7-4169-9d62-696e593212dc")
QOS = printed(HOST, "list QoS")


def test_limits_that_neutron_has_not_set_are_found_with_their_network(replay):
    assert ovn_databases.foreign_limits(replay(HOST)) == (NARROW, METER)


@pytest.mark.parametrize(
    ("words", "others"),
    [
        # One of a policy of Neutron
        ('["map",[]]', '["map",[["neutron:port_id","1d"]]]'),
        # A wide one, and a rule that only marks packets
        ('["map",[["rate",1]]]', '["map",[["rate",100000]]]'),
        ('["map",[["rate",1]]]', '["map",[]]'),
    ],
)
def test_a_limit_that_is_of_neutron_or_holds_nothing_back_is_none_of_them(replay, words, others):
    assert words in QOS
    told = {"list QoS": (0, QOS.replace(words, others), "")}
    assert ovn_databases.foreign_limits(replay(HOST, told)) == (METER,)


def test_few_connections_of_each_port_are_a_limit_of_their_network(replay):
    # As the lab with OVN has said it of a network that was given such a limit
    row = f'["{NETWORK}",["map",[["broadcast-arps-to-all-routers","true"],["ct-zone-limit","1"]]]]'
    told = f'{{"data":[{row}],"headings":["name","other_config"]}}\n'
    limit = Limit(NETWORK, "connections of each port: 1", f"{REMOVAL} other_config ct-zone-limit")
    assert ovn_databases.foreign_limits(replay(HOST, {"ct-zone-limit": told})) == (NARROW, METER, limit)
    wide = told.replace('"1"', '"65536"')
    assert ovn_databases.foreign_limits(replay(HOST, {"ct-zone-limit": wide})) == (NARROW, METER)
