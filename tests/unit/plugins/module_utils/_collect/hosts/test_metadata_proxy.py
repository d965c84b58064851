# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The metadata proxy of a recorded host, and the requests of an instance."""

from __future__ import annotations

import re
import time

import pytest
from ansible_collections.stackproof.provision.plugins.module_utils._collect.hosts import metadata_proxy
from ansible_collections.stackproof.provision.plugins.module_utils._collect.logs.matching_lines import MatchingLine
from ansible_collections.stackproof.provision.plugins.module_utils._model.codec import to_json
from ansible_collections.stackproof.provision.plugins.module_utils._model.facts import MetadataProxy
from recorded_hosts import journal_of, printed

NETWORK, ADDRESS, SINCE = "43fab180-bf69-42bf-a74e-9ed8722a60fa", "192.168.222.230", 1795258881.0
PROCESS = int(printed("network1", f"/{NETWORK}.conf").split()[0])
# Of the network namespace of that process
ADDRESSES = ("127.0.0.1", "169.254.169.254", "192.168.222.2")
JOURNAL = journal_of("network1", "haproxy-metadata-proxy")
REQUESTS = [
    {
        "at": int(entry["__REALTIME_TIMESTAMP"]) / 1e6,
        "resolution_s": 1e-06,
        "status": 200,
        "path": f"/openstack/latest/{name}",
        "seconds": int(re.search(r" \d+/\d+/\d+/\d+/(\d+) ", entry["MESSAGE"])[1]) / 1000,
    }
    for entry, name in zip(JOURNAL, ["meta_data.json", "user_data", "meta_data.json"], strict=True)
]


def line(text):
    return MatchingLine(7.0, 1, text)


def read(host, *about):
    return to_json(metadata_proxy.read(host, *about))


def test_recorded_requests_are_read_wholly(replay):
    host = replay("network1")
    assert {"proxies": read(host, [NETWORK], ADDRESS, SINCE)} == {
        "proxies": [{"owner": NETWORK, "processes": [PROCESS], "requests": REQUESTS}]
    }
    assert host.unread == []


def test_a_proxy_that_runs_shows_its_addresses(replay):
    host = replay("network1")
    proxies = [MetadataProxy(NETWORK, running, ()) for running in ((PROCESS,), (), None)]
    found = [metadata_proxy.with_addresses(host, proxy).addresses for proxy in proxies]
    assert found == [ADDRESSES, None, None]


@pytest.mark.usefixtures("german")
def test_requests_in_a_file_of_a_german_host_are_read(replay):
    talk = f"{ADDRESS}:57008 [21/Nov/2026:11:01:47.638] listener metadata/metadata 0/0/0/511/511 200 1 - - ---- "
    text = f'Nov 21 11:01:48 network1 haproxy[17605]: {talk}1/1/0/0/0 0/0 "GET /user_data HTTP/1.1"\n'
    host = replay(None, {"id -u": "0", "pgrep": (1, "", ""), "test": "", "date": "+0000\n", "grep": text})
    (proxy,) = read(host, [NETWORK], ADDRESS, SINCE, {"files": ["/var/log/haproxy.log"]})
    request = {"at": 1795258908.0, "resolution_s": 1, "status": 200, "path": "/user_data", "seconds": 0.511}
    assert (proxy["requests"], host.unread) == ([request], [])


def test_a_proxy_that_does_not_run_has_its_requests_still(replay):
    host = replay("stopped")
    (proxy,) = read(host, [NETWORK], ADDRESS, SINCE)
    assert (proxy["processes"], proxy["requests"], host.unread) == ([], REQUESTS, [])


def test_an_address_that_begins_like_another_has_no_requests(replay):
    (proxy,) = read(replay("network1"), [NETWORK], "192.168.222.23", SINCE)
    assert proxy["requests"] == []
    (proxy,) = read(replay("network1"), [NETWORK], "2.168.222.230", SINCE)
    assert proxy["requests"] == []


def test_a_host_where_sudo_refuses_says_so(replay):
    host = replay("refused")
    (proxy,) = read(host, [NETWORK], ADDRESS, SINCE)
    assert (proxy["processes"], proxy["requests"]) == ([], None)
    assert [(entry.what, entry.kind) for entry in host.unread] == [("the log of the metadata proxy", "refused")]


def test_a_container_that_cannot_be_looked_into_is_said(replay):
    host = replay("containers", prefixes={"metadata": ["docker", "exec", "neutron_dhcp_agent"]})
    sources = {"journals": [], "files": ["/var/log/kolla/neutron/haproxy.log"]}
    (proxy,) = read(host, [NETWORK], ADDRESS, SINCE, sources)
    assert proxy == {"owner": NETWORK, "processes": None, "requests": None}
    assert [entry.kind for entry in host.unread] == ["missing", "missing"]


def test_without_a_known_log_the_requests_are_not_known(replay):
    host = replay("network1")
    (proxy,) = read(host, [NETWORK], ADDRESS, SINCE, {"journals": [], "files": []})
    assert proxy["processes"]
    assert proxy["requests"] is None
    assert host.unread == []


def test_each_owner_has_its_own_process_and_journal(replay):
    host = replay(None, {"id -u": "0", "/a.conf": "5 /usr/sbin/haproxy -f /x/a.conf\n6 vi /x/a.conf\n",
                         "/b.conf": (1, "", ""), "test": "", "journalctl": ""})  # fmt: skip
    proxies = read(host, ["a", "b"], ADDRESS, 0)
    assert proxies == [
        {"owner": "a", "processes": [5], "requests": []},
        {"owner": "b", "processes": [], "requests": []},
    ]
    journals = [words.split()[-1] for words in host.execute.asked if "journalctl" in words]
    assert journals == ["SYSLOG_IDENTIFIER=haproxy-metadata-proxy-a", "SYSLOG_IDENTIFIER=haproxy-metadata-proxy-b"]


def test_the_owner_is_put_into_names_of_journals_and_files():
    sources = {"journals": ["p-{owner}", "all"], "files": ["/log/{owner}.log"]}
    assert metadata_proxy.of_owner(sources, "n") == {"journals": ["p-n", "all"], "files": ["/log/n.log"]}
    assert sources["files"] == ["/log/{owner}.log"]


@pytest.mark.parametrize(
    ("text", "address", "status", "path", "seconds"),
    [
        (
            '10.0.0.5:42 [21/Nov/2026:11:01:46.987] listener listener/metadata 0/0/0/566/566 404 1194 - - ---- '
            '1/1/0/0/0 0/0 {|x} "GET /latest/a?b=c HTTP/1.1"',
            "10.0.0.5", 404, "/latest/a?b=c", 0.566,
        ),
        (
            'haproxy[9]: fe80::5:42 [21/Nov/2026:11:01:46.987] listener listener/metadata 0/0/-1/-1/+3 503 0 - - SC-- '
            '1/1/0/0/3 0/0 "GET /openstack HTTP/1.0"',
            "fe80::5", 503, "/openstack", 0.003,
        ),
        (
            '10.0.0.5:42 [21/Nov/2026:11:01:46.987] listener listener/<NOSRV> -1/-1/-1/-1/9 -1 0 - - CR-- '
            '1/1/0/0/0 0/0 "<BADREQ>"',
            "10.0.0.5", -1, None, 0.009,
        ),
    ],
    ids=["not found", "no answer, IPv6", "no request"],
)  # fmt: skip
def test_a_line_of_haproxy_is_understood(text, address, status, path, seconds):
    expected = {"at": 7.0, "resolution_s": 1, "status": status, "path": path, "seconds": seconds}
    assert to_json(metadata_proxy.parse_request(line(text), address)) == expected


@pytest.mark.parametrize("text", ["", "10.0.0.5:42 connected", "Proxy listener started."])
def test_a_line_that_is_no_request_is_none(text):
    assert to_json(metadata_proxy.parse_request(line(text), "10.0.0.5")) is None


@pytest.mark.parametrize(
    "text", ["1:1 [" + "x " * 8000, "1:1 [d] " + "a " * 8000, "1:1 [d] a b 1/2/3/4/5 200 " + "- " * 8000]
)
def test_a_long_line_takes_no_long_time(text):
    began = time.process_time()
    assert metadata_proxy.REQUEST.search(text) is None
    assert time.process_time() - began < 1


# What a guest asks for


def asked(path, status):
    return {"at": 1.0, "resolution_s": 1.0, "status": status, "path": path}


@pytest.mark.parametrize(
    ("requests", "left"),
    [
        ([("/meta", 200), ("/user", 404)], [200]),
        ([("/user", 404), ("/meta", 200)], [200]),
        # It was there before.
        ([("/meta", 200), ("/meta", 404)], [200, 404]),
        ([("/meta", 404), ("/user", 404)], [404, 404]),
        ([("/meta", 200), ("/user", 403)], [200, 403]),
        ([(None, 200), (None, 404)], [200, 404]),
        ([], []),
    ],
)
def test_what_a_guest_was_never_given_says_nothing_of_its_metadata(requests, left):
    found = metadata_proxy.telling([asked(*request) for request in requests])
    assert [request["status"] for request in found] == left
