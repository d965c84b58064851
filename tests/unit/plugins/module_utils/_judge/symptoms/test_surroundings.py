# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Clocks, names, certificates and links of hosts."""

from __future__ import annotations

import as_json
import pytest
from ansible_collections.stackproof.provision.plugins.module_utils._judge.symptoms import surroundings
from ansible_collections.stackproof.provision.plugins.module_utils._judge.weights import WEIGHTS
from ansible_collections.stackproof.provision.plugins.module_utils._model.how import How
from ansible_collections.stackproof.provision.plugins.module_utils._model.symptom import Code
from cases_by_hand import FINISHED, STARTED, case_of, stage

LIMIT = WEIGHTS.clock_offset_s


def services(*components):
    return [{"component": one, "unit": f"{one}.service", "state": "running"} for one in components]


def host(name, *components, facts=None, **more):
    return as_json.host(name, facts={"services": services(*components), **(facts or {})}, **more)


def places(symptoms):
    return [(symptom.component, symptom.host) for symptom in symptoms]


def by_clock(*offsets, error=0.1):
    hosts = [
        host(f"h{number}", "x", clock_offset_s=offset, clock_error_s=error) for number, offset in enumerate(offsets)
    ]
    return [(one.host, one.offset_s) for one in surroundings.clocks(case_of(hosts))]


@pytest.mark.parametrize(
    ("offsets", "found"),
    [
        ([0.0, 0.0, LIMIT + 1], [("h2", LIMIT + 1)]),
        ([0.0, 0.0, -LIMIT - 1], [("h2", -LIMIT - 1)]),
        ([0.0, 0.0, LIMIT], []),
        ([None, 0.0, LIMIT + 1], [("h2", LIMIT + 1)]),
        # The control node's own clock is wrong.
        ([3600.0, 3600.0, 3600.0], []),
        # Two against two: that of the control node decides.
        ([3600.0, 3600.0, 0.0], [("h0", 3600.0), ("h1", 3600.0)]),
        ([300.0], [("h0", 300.0)]),
        ([], []),
    ],
)
def test_a_clock_that_differs_from_the_others_is_reported(offsets, found):
    assert by_clock(*offsets) == found


def test_a_clock_that_was_not_read_well_is_not_reported():
    assert by_clock(0.0, 0.0, LIMIT + 1, error=2.0) == []


def test_a_wrong_clock_is_one_of_each_service_on_its_host():
    hosts = [host("h1", "x", clock_offset_s=0.0), host("h2", "y", "z", clock_offset_s=600.0)]
    assert places(surroundings.clocks(case_of(hosts))) == [("y", "h2"), ("z", "h2")]


def test_hosts_of_one_name_are_reported():
    names = {"names": ["compute1", "localhost"]}
    one, other = host("h1", "nova-compute", "nova-api", facts=names), host("h2", "nova-compute", facts=names)
    third = host("h3", "nova-compute", facts={"names": ["compute3", "localhost"]})
    found = surroundings.duplicate_names(case_of([one, other, third]))
    assert places(found) == [("nova-compute", "h1"), ("nova-compute", "h2")]
    assert {symptom.setting for symptom in found} == {"compute1"}


CERTIFICATE = {"component": "keystone", "address": "10.0.0.1", "port": 5000}


@pytest.mark.parametrize(
    ("expires", "code", "how"),
    [
        (STARTED, Code.CERTIFICATE_EXPIRED, How.ALARM),
        (FINISHED, Code.CERTIFICATE_EXPIRED, How.ALARM),
        ("2026-11-30T00:00:00.000000+00:00", Code.CERTIFICATE_EXPIRING, How.WARNING),
    ],
)
def test_a_certificate_is_reported_once_at_the_service_that_presents_it(expires, code, how):
    examination = {"certificates": [{**CERTIFICATE, "expires": expires}]}
    hosts = [
        host("c1", "keystone", facts={"addresses": ["10.0.0.1"]}, examination=examination),
        host("h2", "nova-compute", examination=examination),
    ]
    (symptom,) = surroundings.certificates(case_of(hosts, stage()))
    assert (symptom.code, symptom.how, symptom.component, symptom.host) == (code, how, "keystone", "c1")


def test_a_certificate_in_a_file_is_of_its_host():
    found = {"component": "libvirt", "path": "/etc/pki/CA/cacert.pem", "expires": STARTED}
    (symptom,) = surroundings.certificates(case_of([host("h1", "libvirt", examination={"certificates": [found]})]))
    assert (symptom.host, symptom.path, symptom.address) == ("h1", found["path"], None)


def with_links(name, groups=("compute",), switch=None, components=(), domain=None, **sizes):
    links = [
        {"name": link.replace("_", "-"), "mtu": mtu, "up": True, "addresses": ["10.9.0.1"], "dropped": 7}
        for link, mtu in sizes.items()
    ]
    stores = {"links": links, **({"switch": switch} if switch else {})}
    facts = {"domain": domain} if domain else None
    return {**host(name, *components, groups=list(groups), facts=facts), "stores": stores}


def small(*hosts, network=None):
    instance = as_json.instance(networks=[as_json.network(**network)] if network else [])
    found = surroundings.links(case_of(hosts, instance=instance))
    return [(one.code, one.host, one.path, one.sizes) for one in found]


def test_a_link_that_is_smaller_than_on_similar_hosts_is_reported():
    hosts = [with_links("h1", eth1=900), with_links("h2", eth1=1500), with_links("n1", ["network"], eth1=9000)]
    assert small(*hosts) == [(Code.MTU_SMALLER, "h1", "eth1", (900, 1500))]
    assert small(*hosts, with_links("h3", eth1=900)) == []


@pytest.mark.parametrize("name", ["br_int", "lo", "docker0"])
def test_a_link_that_carries_nothing_to_others_is_not_compared(name):
    assert small(with_links("h1", **{name: 900}), with_links("h2", **{name: 1500})) == []


def test_a_wire_of_another_compute_host_is_not_reported():
    here = with_links("h1", components=["nova-compute"], domain={"name": "x"}, eth1=1500)
    assert small(here, with_links("h2", components=["nova-compute"], eth1=900)) == []


SWITCH = {
    "settings": {"ovn-encap-ip": "10.9.0.1"},
    "bridges": [{"name": "br-ex", "datapath": "system", "fail_mode": None, "interfaces": ["eth1"]}],
    "interfaces": [{"name": "br-ex", "kind": "internal", "ofport": 1}],
}


@pytest.mark.parametrize(
    ("kind", "mtu", "size", "needed"),
    [
        ("vlan", 1500, 1400, 1500),
        ("vlan", 1500, 1500, None),
        ("flat", 1500, 1499, 1500),
        ("geneve", 1442, 1500, None),
        ("geneve", 1442, 1499, 1500),
        ("vxlan", 1450, 1400, 1500),
        (None, 1500, 900, None),
        ("vlan", None, 900, None),
    ],
)
def test_a_link_that_is_too_small_for_a_network_of_the_instance_is_reported(kind, mtu, size, needed):
    found = small(with_links("h1", switch=SWITCH, eth1=size), network={"id": "n", "mtu": mtu, "kind": kind})
    assert found == ([(Code.MTU_TOO_SMALL, "h1", "eth1", (size, needed))] if needed else [])


def test_an_interface_of_the_switch_itself_is_not_compared():
    assert small(with_links("h1", switch=SWITCH, br_ex=900), with_links("h2", switch=SWITCH, br_ex=1500)) == []


VXLAN = {"id": "n", "mtu": 1500, "kind": "vxlan"}


@pytest.mark.parametrize(
    ("sizes", "found"),
    [
        # All agree, so it is Neutron that gives the network too much.
        ((1500, 1500, 1500), [(Code.MTU_TOO_LARGE, "c1", None, (1500, 1550))]),
        ((1500, 1500, 9000), [(Code.MTU_TOO_SMALL, name, "eth1", (1500, 1550)) for name in ("h1", "h2")]),
        (
            (1500, 1400, 1500),
            [
                (Code.MTU_TOO_SMALL, name, "eth1", (size, 1550))
                for name, size in (("h1", 1500), ("h2", 1400), ("h3", 1500))
            ],
        ),
        ((1550, 1550, 1550), []),
        # One host alone does not show what was meant.
        ((1500,), [(Code.MTU_TOO_SMALL, "h1", "eth1", (1500, 1550))]),
    ],
)
def test_a_network_that_is_too_large_for_all_hosts_is_of_neutron(sizes, found):
    hosts = [with_links(f"h{number}", switch=SWITCH, eth1=size) for number, size in enumerate(sizes, 1)]
    # It carries no tunnel.
    server = with_links("c1", ["controller"], components=["neutron-server"], eth0=1500)
    assert small(server, *hosts, network=VXLAN) == found
