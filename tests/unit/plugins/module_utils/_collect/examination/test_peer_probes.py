# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Peers: which ones settings name, and how each answers, by real sockets of this machine."""

from __future__ import annotations

import contextlib
import socket
import ssl
import struct
import subprocess
import threading
import time
from types import SimpleNamespace

import pytest
from ansible_collections.stackproof.provision.plugins.module_utils._collect.examination import peer_probes
from ansible_collections.stackproof.provision.plugins.module_utils._collect.examination.configuration import Option
from ansible_collections.stackproof.provision.plugins.module_utils._collect.examination.peer_probes import Peer
from ansible_collections.stackproof.provision.plugins.module_utils._model.codec import to_json

RABBIT = [("rabbitmq", "10.71.16.12", 5672, "amqp")]
# A password may have each of these marks in it.
PASSWORDS = ["plain", "12", "a:b", "a/b", "12/b", "a#b", "a?b", "a@b", "a'b", 'a"b', "a$b%20", "12,b", "[x]", "ü"]


def peers_in(options):
    return peer_probes.peers_in([Option(*option) for option in options])


@pytest.mark.parametrize(
    ("value", "peers"),
    [
        ("rabbit://openstack:{}@10.71.16.12:5672/", RABBIT),
        ("rabbit://openstack:{}@10.71.16.12", RABBIT),
        ("amqp://10.71.16.12:5672//", RABBIT),
        ("RABBIT://10.71.16.12:5672/vhost?ssl=0", RABBIT),
        (
            "rabbit://a:{}@c1:5672,a:{}@c2:5673,c3//",
            [("rabbitmq", "c1", 5672, "amqp"), ("rabbitmq", "c2", 5673, "amqp"), ("rabbitmq", "c3", 5672, "amqp")],
        ),
        ("rabbit://a:{}@[fd00::1]:5672,a:{}@[fd00::2]/", [("rabbitmq", f"fd00::{n}", 5672, "amqp") for n in (1, 2)]),
        # At this port a client begins with TLS.
        ("rabbit://a:{}@c1:5671/", [("rabbitmq", "c1", 5671, "tls")]),
        ("mysql+pymysql://nova:{}@10.71.16.12/nova?charset=utf8", [("database", "10.71.16.12", 3306, "mysql")]),
        ("mysql://nova:{}@[::1]:3307/nova", [("database", "::1", 3307, "mysql")]),
        ("postgresql+psycopg2://nova:{}@db.example.org/nova", [("database", "db.example.org", 5432, "tcp")]),
        ("db.example.org:5432", [("database", "db.example.org", 5432, "tcp")]),
        ("ldap://ldap1,ldaps://ldap2", [("ldap", "ldap1", 389, "tcp"), ("ldap", "ldap2", 636, "tcp")]),
        ("http://10.71.16.12:9292", [("glance-api", "10.71.16.12", 9292, "http")]),
        (
            "http://c1:9292,https://c2:9292/",
            [("glance-api", "c1", 9292, "http"), ("glance-api", "c2", 9292, "https")],
        ),
        ("https://[fd00::12]:8774/v2.1/%(tenant_id)s", [("nova-api", "fd00::12", 8774, "https")]),
        # Where all services are behind one port, the path tells them apart.
        ("http://cloud.example.org/placement", [("placement-api", "cloud.example.org", 80, "http")]),
        ("https://cloud.example.org/volume/v3/x", [("cinder-api", "cloud.example.org", 443, "https")]),
        ("https://cloud.example.org/dashboard", []),
        ("10.71.16.12:11211", [("memcached", "10.71.16.12", 11211, "memcached")]),
        ("c1:11211,c2:11211", [("memcached", name, 11211, "memcached") for name in ("c1", "c2")]),
        ("inet6:[fd00::1]:11211", [("memcached", "fd00::1", 11211, "memcached")]),
        ("tcp:10.0.0.1:6642", [("ovn-sb-db", "10.0.0.1", 6642, "ovsdb")]),
        ('"tcp:[fd00::1]:6641,tcp:[fd00::2]:6641"', [("ovn-nb-db", f"fd00::{n}", 6641, "ovsdb") for n in (1, 2)]),
        # No word is expected of a port that speaks TLS.
        ("ssl:10.0.0.1:6642", [("ovn-sb-db", "10.0.0.1", 6642, "tls")]),
        (
            "[v2:10.71.16.11:3300,v1:10.71.16.11:6789]",
            [("ceph-mon", "10.71.16.11", port, "tcp") for port in (3300, 6789)],
        ),
        (
            "[v2:[fd00::11]:3300/0,v1:[fd00::11]:6789/0]",
            [("ceph-mon", "fd00::11", port, "tcp") for port in (3300, 6789)],
        ),
        ("HTTPConnectionPool(host='c1', port=8778): Max", [("placement-api", "c1", 8778, "tcp")]),
        # None of these says where a peer is.
        ("/var/run/openvswitch/db.sock", []),
        ("unix:/var/run/openvswitch/db.sock", []),
        ("public:br-ex", []),
        ("public:100:299", []),
        ("redis://:{}@10.71.16.12:6379", []),
        ("10.71.16.0/24", []),
        ("sqlite:////var/lib/nova/nova.sqlite", []),
        ("http://169.254.169.254", []),
        ("beast port=7480", []),
        ("http://c1:99999", []),
        ("http://c1:0", []),
        (f"http://c1:{'9' * 5000}/identity", []),
        ("mysql://", []),
        ("", []),
    ],
)  # fmt: skip
def test_a_value_names_its_peers(value, peers):
    assert peer_probes.peers_of("x", value.replace("{}", "word")) == peers


def test_a_database_at_another_port_is_known_by_the_option_that_names_it():
    assert peer_probes.peers_of("ovsdb_connection", "tcp:127.0.0.1:6699") == [("ovsdb", "127.0.0.1", 6699, "ovsdb")]
    assert peer_probes.peers_of("manager", "tcp:127.0.0.1:6699") == []


@pytest.mark.parametrize("password", PASSWORDS)
@pytest.mark.parametrize("url", ["mysql+pymysql://nova:{}@db1/nova?charset=utf8", "postgresql://nova:{}@db1:5432/nova"])
def test_no_part_of_a_password_is_taken_for_a_peer(url, password):
    (peer,) = peer_probes.peers_of("connection", url.format(password))
    assert peer[:2] == ("database", "db1")
    assert peer[2] in (3306, 5432)


@pytest.mark.parametrize("password", [word for word in PASSWORDS if "," not in word])
def test_no_part_of_a_password_of_a_queue_is_taken_for_a_peer(password):
    """A comma stands between hosts: the services themselves do not understand it in a password."""
    (peer,) = peer_probes.peers_of("transport_url", f"rabbit://openstack:{password}@10.71.16.12:5672/")
    assert peer == RABBIT[0]


@pytest.mark.parametrize("option", ["auth_url", "www_authenticate_uri"])
def test_an_option_tells_of_keystone_behind_any_port(option):
    assert peer_probes.peers_of(option, "https://cloud.example.org:13000/v3") == [
        ("keystone", "cloud.example.org", 13000, "https")
    ]
    assert peer_probes.peers_of("endpoint", "https://cloud.example.org:13000/v3") == []


def test_peers_know_the_projects_that_name_them():
    options = [
        ("nova", "/etc/nova/nova.conf", "glance", "auth_url", "http://c1:5000"),
        ("neutron", "/etc/neutron/neutron.conf", "nova", "auth_url", "http://c1:5000"),
        ("nova", "/etc/nova/nova.conf", "cache", "memcache_servers", "c1:11211"),
    ]
    assert peers_in(options) == {
        ("keystone", "c1", 5000, "http"): {"nova", "neutron"},
        ("memcached", "c1", 11211, "memcached"): {"nova"},
    }


def test_an_address_of_a_port_that_none_has_is_of_the_service_that_the_section_is_about():
    path = "/etc/nova/nova.conf"
    options = [
        ("nova", path, "glance", "api_servers", "http://c1:9393"),
        ("nova", path, "neutron", "auth_url", "http://c1:5000"),
        ("nova", path, "DEFAULT", "my_url", "http://c1:9393"),
    ]
    assert set(peers_in(options)) == {("glance-api", "c1", 9393, "http"), ("keystone", "c1", 5000, "http")}


@pytest.mark.parametrize(
    ("port", "asked_at"), [(None, 8775), ("8780", 8780), ("", 8775), ("no number", 8775), ("0", 8775), ("99999", 8775)]
)
def test_a_peer_may_be_named_by_options_for_its_host_and_its_port(port, asked_at):
    place = ("neutron", "/etc/neutron/metadata_agent.ini", "DEFAULT")
    options = [(*place, "nova_metadata_host", " c1 ")] + ([(*place, "nova_metadata_port", port)] if port else [])
    assert peers_in(options) == {("nova-api-metadata", "c1", asked_at, "http"): {"neutron"}}


def test_a_port_of_another_file_is_not_that_of_a_peer():
    host = ("neutron", "/etc/neutron/metadata_agent.ini", "DEFAULT", "nova_metadata_host", "c1")
    port = ("neutron", "/etc/neutron/other.ini", "DEFAULT", "nova_metadata_port", "8780")
    assert ("nova-api-metadata", "c1", 8775, "http") in peers_in([host, port])


def test_of_a_host_that_names_very_many_only_the_first_are_asked():
    options = [("nova", "", "", "x", f"c{number}:5000") for number in range(peer_probes.MOST + 10)]
    peers = peers_in(options)
    assert len(peers) == peer_probes.MOST
    assert ("keystone", "c0", 5000, "tcp") in peers


@pytest.fixture(autouse=True)
def hurry(monkeypatch):
    monkeypatch.setattr(peer_probes, "SECONDS", 0.3)


@pytest.fixture
def listen():
    """Return a function that opens a port, at which each connection is treated in a way; it returns the port."""
    with contextlib.ExitStack() as opened:

        def open_port(treat, address="127.0.0.1"):
            family = socket.AF_INET6 if ":" in address else socket.AF_INET
            server = opened.enter_context(socket.create_server((address, 0), family=family))
            threading.Thread(target=serve, args=(server, treat), daemon=True).start()
            # A thread that waits in accept is woken by this only.
            opened.callback(server.shutdown, socket.SHUT_RDWR)
            return server.getsockname()[1]

        yield open_port


def serve(server, treat):
    with contextlib.suppress(OSError):
        while True:
            link = server.accept()[0]
            with link:
                treat(link)


def answering(answer):
    """What answers these bytes to the first that it hears, and keeps what it heard."""
    heard = []

    def treat(link):
        heard.append(link.recv(4096))
        link.sendall(answer)

    return SimpleNamespace(treat=treat, heard=heard)


def speaking(words):
    return lambda link: link.sendall(words)


def mute(link):
    """Accepts a connection and says nothing, as a process does that is stopped by a signal."""
    with contextlib.suppress(OSError):
        while link.recv(1024):
            pass


def resetting(link):
    link.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


HTTP = "HTTP/1.1 {} X\r\nContent-Length: 0\r\n\r\n"
STARTED = b"\x01\x00\x00\x00\x00\x01\xfa\x00\x0a\x00\x0a\x00\x09"
# The greeting of MariaDB 11.8, and the errors that it has instead of one
GREETING = b"\x5f\x00\x00\x00\x0a11.8.3-MariaDB-0+deb13u1 from Debian\x00"
TOO_MANY = b"\x17\x00\x00\x00\xff\x10\x04Too many connections"
NOT_ALLOWED = b"\x46\x00\x00\x01\xff\x6a\x04Host '10.71.16.14' is not allowed to connect to this MariaDB server"


@pytest.mark.parametrize(
    ("spoken", "answer", "how"),
    [
        ("http", HTTP.format(200).encode(), "open"),
        # A service that wants a token first answers, too.
        ("http", HTTP.format(401).encode(), "open"),
        ("http", HTTP.format(300).replace("1.1", "1.0").encode(), "open"),
        ("http", HTTP.format(500).encode(), "status 500"),
        ("http", HTTP.format(503).encode(), "status 503"),
        ("http", b"SSH-2.0-OpenSSH_10.0\r\n", "open"),
        ("memcached", b"VERSION 1.6.38\r\n", "open"),
        ("amqp", STARTED, "open"),
        ("amqp", b"AMQP\x00\x00\x09\x01", "open"),
        ("ovsdb", b'{"id":"here","result":[],"error":null}', "open"),
        ("tcp", b"", "open"),
    ],
)
def test_a_peer_is_known_by_its_answer(listen, spoken, answer, how):
    assert peer_probes.probe("127.0.0.1", listen(answering(answer).treat), spoken) == how


@pytest.mark.parametrize(
    ("words", "how"),
    [
        (GREETING, "open"),
        (TOO_MANY, "error 1040"),
        (NOT_ALLOWED, "error 1130"),
        # As short as it can be, and shorter
        (b"\x01\x00\x00\x00\xff", "error 0"),
        (b"\xff", "open"),
    ],
)
def test_a_database_speaks_first(listen, words, how):
    assert peer_probes.probe("127.0.0.1", listen(speaking(words)), "mysql") == how


@pytest.mark.parametrize(
    ("spoken", "said"),
    [
        ("http", b"GET / HTTP/1.0\r\nHost: 127.0.0.1\r\nX-Padding: " + b"x" * 3000 + b"\r\n\r\n"),
        ("amqp", b"AMQP\x00\x00\x09\x01"),
        ("memcached", b"version\r\n"),
        ("ovsdb", b'{"id":"here","method":"echo","params":[]}'),
    ],
)
def test_each_protocol_is_begun_as_its_clients_do(listen, spoken, said):
    peer = answering(b"x")
    peer_probes.probe("127.0.0.1", listen(peer.treat), spoken)
    assert peer.heard == [said]


@pytest.mark.parametrize("spoken", ["http", "https", "amqp", "mysql", "memcached", "ovsdb"])
def test_a_peer_that_accepts_and_says_nothing_is_mute(listen, spoken):
    began = time.monotonic()
    assert peer_probes.probe("127.0.0.1", listen(mute), spoken) == "mute"
    # One that speaks no TLS is asked for that, too.
    assert time.monotonic() - began < (4 if spoken == "https" else 2)


def losing_large_packets(link):
    """Answers what is small, and never hears what fills a packet, as at the end of a way that loses those."""
    if len(link.recv(4096)) < 1000:
        link.sendall(HTTP.format(200).encode())
    mute(link)


def test_a_peer_that_gets_small_packets_only_is_told_from_a_mute_one(listen):
    assert peer_probes.probe("127.0.0.1", listen(losing_large_packets), "http") == "narrow"


@pytest.mark.parametrize(
    ("answer", "is_plain"),
    [
        (HTTP.format(200), True),
        (HTTP.format(401), True),
        # As servers of HTTPS answer, and something else than a server of the web
        (HTTP.format(400), False),
        (HTTP.format(301), False),
        ("SSH-2.0-OpenSSH_10.0\r\n", False),
    ],
)
def test_a_server_of_the_web_that_speaks_no_tls_is_plain(listen, answer, is_plain):
    found = peer_probes.probe("127.0.0.1", listen(answering(answer.encode()).treat), "https")
    assert (found == peer_probes.PLAIN) is is_plain


@pytest.mark.parametrize("treat", [lambda _link: None, resetting], ids=["an end", "a reset"])
@pytest.mark.parametrize("spoken", ["http", "https", "amqp", "mysql", "memcached", "ovsdb"])
def test_a_peer_that_accepts_and_goes_away_is_closed(listen, spoken, treat):
    assert peer_probes.probe("127.0.0.1", listen(treat), spoken) == "closed"


def test_a_port_at_which_nobody_listens_refuses():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        assert peer_probes.probe("127.0.0.1", taken.getsockname()[1], "tcp") == "refused"


def test_a_peer_that_does_not_accept_is_silent():
    """A queue of connections that is full drops the next one, as a filter of packets does."""
    with contextlib.ExitStack() as opened:
        server = opened.enter_context(socket.create_server(("127.0.0.1", 0), backlog=0))
        for _number in range(4):
            client = opened.enter_context(socket.socket())
            client.setblocking(False)
            client.connect_ex(server.getsockname())
        assert peer_probes.probe("127.0.0.1", server.getsockname()[1], "tcp") == "silent"


@pytest.mark.parametrize("address", ["no-such-host.invalid", "a..b", "x" * 70, ".", "a\0b", "\udcff"])
def test_a_name_that_no_resolver_knows_or_takes_is_said(address):
    assert peer_probes.probe(address, 5000, "tcp") == "no such name"


def test_an_address_of_the_sixth_version_is_reached(listen):
    try:
        port = listen(answering(HTTP.format(200).encode()).treat, "::1")
    except OSError:
        pytest.skip("this machine has no such addresses")
    assert peer_probes.probe("::1", port, "http") == "open"


@pytest.fixture
def secured(listen, tmp_path):
    """Return a function that opens a port for TLS whose certificate is for a name; it returns the port and the file."""

    def open_port(treat, name="IP:127.0.0.1"):
        certificate, key = tmp_path / "certificate.pem", tmp_path / "key.pem"
        command = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 1 -subj /CN=x"
        command += f" -addext subjectAltName={name} -keyout {key} -out {certificate}"
        subprocess.run(command.split(), check=True, capture_output=True)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, key)

        def over_tls(link):
            with contextlib.suppress(OSError), context.wrap_socket(link, server_side=True) as inner:
                treat(inner)

        return listen(over_tls), str(certificate)

    return open_port


def test_a_certificate_of_an_own_authority_is_as_good_as_another(secured):
    assert peer_probes.probe("127.0.0.1", secured(answering(b"x").treat)[0], "https") == "open"


def test_behind_tls_the_answer_counts(secured, monkeypatch):
    port, certificate = secured(answering(HTTP.format(502).encode()).treat)
    monkeypatch.setenv("SSL_CERT_FILE", certificate)
    assert peer_probes.probe("127.0.0.1", port, "https") == "status 502"


def test_a_certificate_for_another_name_is_told(secured, monkeypatch):
    port, certificate = secured(answering(b"x").treat, "DNS:elsewhere")
    monkeypatch.setenv("SSL_CERT_FILE", certificate)
    assert "not valid for '127.0.0.1'" in peer_probes.probe("127.0.0.1", port, "https")


def test_a_peer_that_does_not_speak_tls_is_told(listen):
    how = peer_probes.probe("127.0.0.1", listen(answering(b"HTTP/1.1 400 Bad Request\r\n\r\n").treat), "https")
    assert "ssl" in how


def test_all_peers_are_asked_at_the_same_time(listen):
    """Three that say nothing take no longer than one."""
    ports = [listen(mute) for _number in range(3)]
    peers = {Peer("memcached", "127.0.0.1", port, "memcached"): {"nova", "glance"} for port in ports}
    peers[Peer("keystone", "127.0.0.1", listen(answering(HTTP.format(200).encode()).treat), "http")] = {"catalogue"}
    began = time.monotonic()
    found = to_json(peer_probes.probes(peers))
    assert time.monotonic() - began < 2 * peer_probes.SECONDS + 0.2
    assert [(entry["component"], entry["how"], entry["named_by"]) for entry in found] == [
        ("keystone", "open", ["catalogue"]),
        *[("memcached", "mute", ["glance", "nova"])] * 3,
    ]
    assert {entry["address"] for entry in found} == {"127.0.0.1"}
    assert sorted(entry["port"] for entry in found[1:]) == sorted(ports)


def test_without_peers_nobody_is_asked():
    assert to_json(peer_probes.probes({})) == []


# As ss prints them: connections that are being made, one of the kernel itself, which has no process, one that works,
# and one whose packets are lost
WAITING = """\
SYN-SENT 0 1 10.71.16.14:58782 10.71.16.12:5672  users:(("nova-compute",pid=960,fd=5)) bbr rto:1000
SYN-SENT 0 1 10.71.16.14:58784 10.71.16.12:5672  users:(("nova-compute",pid=960,fd=9)) bbr rto:2000 backoff:1
SYN-SENT 0 1 [fd00::14]:58798 [fd00::12]:3306 users:(("nova-conductor",pid=31,fd=6),("nova-conductor",pid=30,fd=6))
SYN-SENT 0 1 10.71.16.14:58798 10.71.16.11:6789
SYN-SENT 0 1 10.71.16.14:58799 10.71.16.99:8080  users:(("curl",pid=77,fd=5))
ESTAB    0 0 10.71.16.14:45760 10.71.16.12:5672  users:(("nova-compute",pid=437,fd=13)) bbr rto:204 unacked:1
ESTAB    0 8 10.71.16.14:45999 10.71.16.12:5672  users:(("neutron-openvsw",pid=6,fd=3)) bbr rto:200 backoff:3
"""


def test_connections_that_nobody_answers_are_told_once_with_their_program(replay):
    host = replay(None, {"id -u": "1000", "ss": WAITING})
    assert to_json(peer_probes.pending(host)) == [
        {"program": "curl", "address": "10.71.16.99", "port": 8080, "component": None},
        {
            "program": "neutron-openvsw",
            "address": "10.71.16.12",
            "port": 5672,
            "component": "rabbitmq",
            "how": "unheard",
        },
        {"program": "nova-compute", "address": "10.71.16.12", "port": 5672, "component": "rabbitmq"},
        {"program": "nova-conductor", "address": "fd00::12", "port": 3306, "component": "database"},
    ]


@pytest.mark.parametrize("name", ["examined-controller1", "examined-compute1"])
def test_a_recorded_host_waits_for_nobody(replay, name):
    assert to_json(peer_probes.pending(replay(name))) == []


@pytest.mark.parametrize(
    "output", ["", "\n", "Netid State", 'users:(("x"', '1:x users:(("x"', "0 1 1.2.3.4:5 6.7.8.9:10"]
)
def test_something_else_that_ss_prints_is_no_connection(replay, output):
    host = replay(None, {"id -u": "1000", "ss": output})
    assert host.attempt("the connections", peer_probes.pending, default=()) == ()
    assert host.unread == []


@pytest.mark.parametrize("mark", [":", "1:", ":1", "1:1 ", 'users:(("', '1:1 users:(("', 'a:1 users:(("b'])
def test_a_long_line_that_ss_prints_takes_no_time(replay, mark):
    host = replay(None, {"id -u": "1000", "ss": (mark * (1 << 16))[: 1 << 16]})
    began = time.process_time()
    host.attempt("the connections", peer_probes.pending)
    assert time.process_time() - began < 2
    assert host.unread == []


@pytest.mark.parametrize(
    "value", [":", "1:", "a:", "a.", "[", "[:", "tcp:[", "v1:", "a://", "rabbit://a,", "host='", "a@"]
)
def test_a_long_value_of_an_option_takes_no_time(value):
    began = time.process_time()
    peer_probes.peers_of("transport_url", (value * (1 << 16))[: 1 << 16])
    assert time.process_time() - began < 5


@pytest.mark.parametrize("port", ["", "123456", "9" * 5000, "1x", "\N{ARABIC-INDIC DIGIT ONE}"])
def test_what_is_no_port_makes_no_connection(replay, port):
    host = replay(None, {"id -u": "1000", "ss": f'SYN-SENT 0 1 10.0.0.1:5 10.0.0.2:{port} users:(("a",pid=1,fd=2))\n'})
    assert host.attempt("the connections", peer_probes.pending, default=()) == ()


def test_ss_that_sudo_refuses_is_named(replay):
    host = replay(None, {"id -u": "1000", "ss": (1, "", "sudo: a password is required")})
    assert host.attempt("the connections", peer_probes.pending, default=()) == ()
    assert [(entry.what, entry.kind) for entry in host.unread] == [("the connections", "refused")]
