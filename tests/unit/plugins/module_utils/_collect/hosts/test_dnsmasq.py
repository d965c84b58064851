# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A port in the files, the processes and the log of dnsmasq on a recorded host."""

from __future__ import annotations

import pytest
from ansible_collections.stackproof.provision.plugins.module_utils._collect.hosts import dnsmasq
from ansible_collections.stackproof.provision.plugins.module_utils._collect.logs.matching_lines import MatchingLine
from ansible_collections.stackproof.provision.plugins.module_utils._model.codec import to_json
from recorded_hosts import printed, second

NETWORK, MAC = "43fab180-bf69-42bf-a74e-9ed8722a60fa", "fa:16:3e:2d:9a:e3"
SUBNET, ADDRESS = "tag:subnet-d654e239-ceea-413b-bd06-c6c2d1b45599", "192.168.222.230"
STATES = ["/var/lib/neutron/dhcp"]
SOURCES = {"journals": ["dnsmasq-dhcp"], "files": ["/var/log/neutron/dnsmasq.log", "/var/log/syslog"]}
ROUTES = "169.254.169.254/32,192.168.222.2,0.0.0.0/0,192.168.222.1"
TALK = [("DISCOVER", None), ("OFFER", ADDRESS), ("REQUEST", ADDRESS), ("ACK", ADDRESS)]
LEASE = printed("network1", "/leases").split()
PROCESS = int(printed("network1", f"/{NETWORK}/").split()[0])
LINES = printed("network1", "/var/log/neutron/dnsmasq.log").splitlines()
FOUND = {
    "directory": f"/var/lib/neutron/dhcp/{NETWORK}",
    "processes": [{"pid": PROCESS, "options": ["--dhcp-option-force=option:mtu,1500"]}],
    "hosts": [{"mac": MAC, "address": ADDRESS}],
    "options": [
        f"{SUBNET},option:classless-static-route,{ROUTES}",
        f"{SUBNET},249,{ROUTES}",
        f"{SUBNET},option:router,192.168.222.1",
    ],
    "leases": [{"expires": int(LEASE[0]), "mac": MAC, "address": ADDRESS}],
    "log": [
        {"kind": kind, "address": address, "mac": MAC, "at": second(line[:15]), "resolution_s": 1}
        for (kind, address), line in zip(TALK, LINES)
    ],
}
NOTHING = {"directory": None, "processes": [], "hosts": None, "options": None, "leases": None, "log": None}


@pytest.fixture
def read(replay):
    """Return a function that reads what a host knows of the port, and says what could not be read."""

    def of(name="network1", instead=None, mac=MAC, prefixes=None):
        host = replay(name, instead, prefixes)
        facts = to_json(dnsmasq.read(host, NETWORK, mac, 1795258881.0, STATES, SOURCES))
        return facts, [(entry.what, entry.kind) for entry in host.unread]

    return of


def test_a_recorded_port_is_read_wholly(read):
    assert read() == (FOUND, [])


@pytest.mark.usefixtures("german")
def test_a_port_of_a_german_host_is_read_wholly(read):
    assert read() == (FOUND, [])


def test_a_dnsmasq_that_does_not_run_leaves_its_files_behind(read):
    facts, unread = read("stopped")
    assert (facts["processes"], facts["directory"], unread) == ([], FOUND["directory"], [])
    assert facts["leases"][0]["address"] == ADDRESS


def test_another_port_has_nothing(read):
    facts, unread = read(mac="fa:16:3e:00:00:01", instead={"fa:16:3e:00:00:01": (1, "", "")})
    assert ([facts[name] for name in ("hosts", "leases", "log")], unread) == ([[], [], []], [])
    assert facts["options"] == FOUND["options"]


def test_a_network_that_is_served_elsewhere_has_no_folder(replay):
    host = replay("network1-odd")
    states = ["/nowhere", *dnsmasq.STATES]
    assert dnsmasq.directory_of(host, "00000000-0000-4000-8000-000000000000", states) is None


def test_the_first_folder_that_exists_is_taken(replay):
    no = (2, "", "ls: cannot access '/a/n': No such file or directory")
    host = replay(None, {"id -u": "0", "ls /a/n": no, "ls /b/n": "host\n"})
    assert dnsmasq.directory_of(host, "n", ["/a", "/b", "/c"]) == "/b/n"


def test_a_host_where_sudo_refuses_says_so(read):
    assert read("refused") == (NOTHING, [("the state of the DHCP agent", "refused")])


@pytest.mark.parametrize(
    "output",
    ["Error response from daemon: No such container: neutron_dhcp_agent", "ls: cannot access '/a': Permission denied"],
)
def test_a_folder_that_cannot_be_looked_at_does_not_seem_to_be_served_elsewhere(read, output):
    facts, unread = read(instead={"ls ": (1, "", output)})
    assert (facts["directory"], unread) == (None, [("the state of the DHCP agent", "failed")])


@pytest.mark.parametrize(
    ("words", "what", "name"),
    [
        ("/host", "the file host of dnsmasq", "hosts"),
        ("/opts", "the file opts of dnsmasq", "options"),
        ("/leases", "the file leases of dnsmasq", "leases"),
        ("journalctl", "the log of dnsmasq", "log"),
    ],
)
def test_one_thing_that_cannot_be_read_is_none_and_named(read, words, what, name):
    facts, unread = read(instead={words: (1, "", "Input/output error")})
    assert (facts, unread) == ({**FOUND, name: None}, [(what, "failed")])


def test_leases_of_an_unknown_form_are_said_to_be_strange(read):
    facts, unread = read(instead={"/leases": "never fa:16:3e:2d:9a:e3 192.168.222.230 host *\n"})
    assert (facts, unread) == ({**FOUND, "leases": None}, [("the file leases of dnsmasq", "strange")])


def test_processes_that_cannot_be_listed_are_named(read):
    facts, unread = read(instead={"pgrep": (3, "", "")})
    assert (facts, unread) == ({**FOUND, "processes": []}, [("the processes of dnsmasq", "failed")])


def test_only_a_dnsmasq_counts_as_one(replay):
    output = f"1 sudo dnsmasq /{NETWORK}/\n2 /usr/sbin/dnsmasq --a=/{NETWORK}/ -O mtu,9000\n3 vi /{NETWORK}/host\n"
    host = replay(None, {"pgrep": output})
    assert to_json(dnsmasq.dnsmasqs_of(host, NETWORK)) == [{"pid": 2, "options": ["mtu,9000"]}]


def test_lines_of_a_host_file():
    text = (
        "fa:16:3e:00:00:01,host-10-0-0-5.openstacklocal,10.0.0.5\n"
        "fa:16:3e:00:00:02,tag:dhcpv6,host-fd00--5.openstacklocal,[fd00::5],set:port-x\n"
        "fa:16:3e:00:00:03,set:port-y,host-10-0-0-7.openstacklocal,10.0.0.7,set:port-y\n"
        "fa:16:3e:00:00:04,ignore\n"
    )
    assert [(host["mac"][-1], host["address"]) for host in to_json(dnsmasq.parse_hosts(text))] == [
        ("1", "10.0.0.5"),
        ("2", "fd00::5"),
        ("3", "10.0.0.7"),
        ("4", None),
    ]


def test_lines_of_a_lease_file():
    text = (
        "1795345828 fa:16:3e:00:00:01 10.0.0.5 host-10-0-0-5 01:fa:16:3e:00:00:01\n"
        "duid 00:01:00:01:2f:00:00:00:fa:16:3e:00:00:09\n"
        "1795345829 1042351 [fd00::5] host-fd00--5 00:01:00:01\n"
        "1795345830 cut\n"
    )
    assert to_json(dnsmasq.parse_leases(text)) == [
        {"expires": 1795345828, "mac": "fa:16:3e:00:00:01", "address": "10.0.0.5"},
        {"expires": 1795345829, "mac": "1042351", "address": "fd00::5"},
    ]


def test_talk_with_others_and_talk_that_is_none_is_left_out():
    texts = [
        f"dnsmasq-dhcp[1]: DHCPNAK(tap1) 10.0.0.5 {MAC} wrong network",
        "dnsmasq-dhcp[1]: DHCPACK(tap1) 10.0.0.6 fa:16:3e:00:00:01 host",
        f"dnsmasq-dhcp[1]: not giving a name to {MAC}",
    ]
    lines = [MatchingLine(7.0, 1, text) for text in texts]
    assert to_json(dnsmasq.parse_talk(lines, MAC)) == [
        {"kind": "NAK", "address": "10.0.0.5", "mac": MAC, "at": 7.0, "resolution_s": 1, "why": "wrong network"}
    ]
