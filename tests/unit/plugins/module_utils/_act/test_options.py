# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Values of variables beyond the limits of the stages."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.stackproof.provision.plugins.module_utils._act import options
from ansible_collections.stackproof.provision.plugins.module_utils._record.errors import StageError
from tree import ROOT

GOOD: dict[str, list[Any]] = {
    "network_cidr": ["192.168.222.0/24", "10.0.0.0/29"],
    "network_ipv6_cidr": ["fd57:ac9f:100f::/64"],
    "network_dns_nameservers": [[], ["9.9.9.9", "2620:fe::fe"]],
    "network_rules": [
        [],
        [{"protocol": "icmp"}],
        [{"protocol": "tcp", "port": "22"}, {"protocol": "udp", "port": None}],
    ],
    "dataplane_name": ["example.org", "host-1.openstacklocal", "9.9.9.9", "a_b"],
    "dataplane_peers": [1, "3"],
    "tcp_port": [1, "22", 65535],
    "volume_size": [1, "20"],
    "image_file": [str(ROOT / "README.md")],
    "image_min_disk": [0, "5"],
    "image_min_ram": [64],
    "timeouts": [{}, {"boot": 0.5, "auth": "60", "image": "", "volume": None, "cleanup": 7 * 24 * 3600}],
}
BAD: dict[str, list[Any]] = {
    "network_cidr": ["x", "10.0.0.0/33", "10.0.0.0/32", "10.0.0.0/30", "10.0.0.1/24", "fd00::/64", 5, [], {"a": 1}],
    "network_ipv6_cidr": ["x", "fd00::/48", "fd00::/80", "fd00::1/64", "10.0.0.0/24", 5, []],
    "network_dns_nameservers": ["9.9.9.9", ["a"], [None], 7],
    "network_rules": [
        "tcp",
        [5],
        [{}],
        [{"protocol": "tcp", "port": 0}],
        [{"protocol": "tcp", "port": "x"}],
        [{"protocol": "tcp", "port": 22, "remote_ip_prefix": "10.0.0.0/8"}],
    ],
    "dataplane_name": ["$(reboot)", "a b", "a\n", "-x", "'", 5, ["a"], "x" * 254],
    "dataplane_peers": [0, -1, "all", 10**6],
    "tcp_port": [-1, 0, 99999, "x", True, 10**400, float("inf"), float("nan")],
    "volume_size": [-1, 0, "x", 10**12],
    "image_file": ["/etc", "/dev/zero", "/nowhere", "a\0b", 5000],
    "image_min_disk": [-1],
    "image_min_ram": ["x"],
    "timeouts": [{"boot": value} for value in ("x", "nan", "inf", "-1", "0", -5, "1e10", float("inf"), [3])],
}


def cases(values: dict[str, list[Any]]) -> list[tuple[str, Any]]:
    return [(f"stackproof_{name}", value) for name, listed in values.items() for value in listed]


@pytest.mark.parametrize(
    ("name", "value"), [*cases(GOOD), ("stackproof_volume_size", None), ("stackproof_tcp_port", "")]
)
def test_value_within_its_limits_and_none_pass(name: str, value: Any) -> None:
    options.check({name: value})


@pytest.mark.parametrize(("name", "value"), cases(BAD))
def test_value_beyond_its_limits_is_refused_by_its_name(name: str, value: Any) -> None:
    with pytest.raises(StageError, match=f"^{name} cannot be ") as refused:
        options.check({name: value})
    assert refused.value.record["kind"] == "invalid"
    assert refused.value.record["resource"] == name


def test_every_limit_has_cases() -> None:
    assert {name for name, _value in cases(GOOD)} == {name for name, _value in cases(BAD)} == set(options.LIMITS)
