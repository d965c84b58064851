# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Values of variables that no stage can use."""

from __future__ import annotations

import re

import pytest
import yaml
from ansible_collections.stackproof.provision.plugins.module_utils._act import options
from ansible_collections.stackproof.provision.plugins.module_utils._record.errors import StageError
from tree import ROOT

GOOD = {
    "network_cidr": ["192.168.222.0/24", "10.0.0.0/29"],
    "network_dns_nameservers": [[], ["9.9.9.9", "2620:fe::fe"]],
    "network_rules": [
        [],
        [{"protocol": "icmp"}],
        [{"protocol": "tcp", "port": "22"}, {"protocol": "udp", "port": None}],
    ],
    "tcp_port": [1, "22", 65535],
    "router": ["never"],
    "port": ["precreated"],
    "volume": ["none"],
    "volume_size": [1, "20"],
    "attach": ["root"],
    "guest": ["none"],
    "image_file": [str(ROOT / "README.md")],
    "image_min_disk": [0, "5"],
    "image_min_ram": [64],
}
BAD = {
    "network_cidr": ["x", "10.0.0.0/33", "10.0.0.0/32", "10.0.0.0/30", "10.0.0.1/24", "fd00::/64", 5, [], {"a": 1}],
    "network_dns_nameservers": ["9.9.9.9", ["a"], [None], 7],
    "network_rules": [
        "tcp",
        [5],
        [{}],
        [{"protocol": "tcp", "port": 0}],
        [{"protocol": "tcp", "port": "x"}],
        [{"protocol": "tcp", "port": 22, "remote_ip_prefix": "10.0.0.0/8"}],
    ],
    "tcp_port": [-1, 0, 99999, "x", True, 10**400, float("inf"), float("nan")],
    "router": ["x", True],
    "port": ["x"],
    "volume": ["x", []],
    "volume_size": [-1, 0, "x", 10**12],
    "attach": ["x"],
    "guest": ["x"],
    "image_file": ["/etc", "/dev/zero", "/nowhere", "a\0b", 5000],
    "image_min_disk": [-1],
    "image_min_ram": ["x"],
}


def cases(values):
    return [(f"stackproof_{name}", value) for name, listed in values.items() for value in listed]


@pytest.mark.parametrize(("name", "value"), [*cases(GOOD), ("stackproof_volume", None), ("stackproof_attach", "")])
def test_a_good_value_and_none_pass(name, value):
    options.check({name: value})


@pytest.mark.parametrize(("name", "value"), cases(BAD))
def test_a_value_that_no_stage_can_use_is_refused_by_its_name(name, value):
    with pytest.raises(StageError, match=f"^{name} cannot be ") as refused:
        options.check({name: value})
    assert refused.value.record["kind"] == "invalid"
    assert refused.value.record["resource"] == name


def test_the_playbooks_have_every_value_checked():
    (task,) = yaml.safe_load((ROOT / "playbooks/tasks/begin.yml").read_text())
    text = task["stackproof.provision.run"]["variables"]
    given = dict(re.findall(r"'(\w+)': (\w+) \| default\(none, true\),", text))
    assert given.keys() == options.CHECKS.keys() == {name for name, _value in cases(GOOD)}
    assert all(name == value for name, value in given.items())
