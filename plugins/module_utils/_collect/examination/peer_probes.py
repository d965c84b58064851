# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The peers of a host's services: which there are by the settings and the catalogue, and how each answers from here."""

from __future__ import annotations

import re
import socket
import ssl
from concurrent.futures import ThreadPoolExecutor

# So long a peer may take to accept a connection, and as long again to say its first word.
SECONDS = 1.5
AT_ONCE = 16
# A host that names more is asked about the first only.
MOST = 60

# One may stand behind another with no blank between them.
URL = re.compile(r"\b(?P<scheme>[a-z][a-z0-9]{0,15})(?:\+\w{1,15})?://(?=(?P<rest>\S{1,1000}))", re.IGNORECASE)
ADDRESS = re.compile(r"(?P<place>\[[^\]\s]+\]|[\w.-]+)(?::(?P<port>\d{1,5}))?(?![\w@]|:\S)")
# ovsdb's way to name a remote, and Ceph's list of monitors
REMOTE = re.compile(r"\b(?P<way>tcp|ssl|v[12]):(?P<place>\[[0-9a-f:]+\]|[\w.-]+):(?P<port>\d{2,5})\b", re.IGNORECASE)
# A list of memcached servers, and a sentence
PLACE = re.compile(
    r"(?<![\w.:/@-])(?:inet6:)?(?P<place>\[[0-9a-f:]+\]|[A-Za-z][\w.-]*|\d+\.\d+\.\d+\.\d+):(?P<port>\d{2,5})(?![\w@]|\.\d)"
)
# An exception of the library that speaks HTTP
POOL = re.compile(r"\bhost='(?P<place>[^'\s]+)', port=(?P<port>\d{2,5})\b")
PORTS = {
    389: "ldap", 636: "ldap", 3300: "ceph-mon", 3306: "database", 5000: "keystone", 5432: "database", 5671: "rabbitmq",
    5672: "rabbitmq", 6641: "ovn-nb-db", 6642: "ovn-sb-db", 6789: "ceph-mon", 7480: "ceph-rgw", 8774: "nova-api",
    8775: "nova-api-metadata", 8776: "cinder-api", 8778: "placement-api", 9292: "glance-api", 9696: "neutron-server",
    11211: "memcached",
}  # fmt: skip
# Where all services are behind one port, the first part of the path tells them apart.
PATHS = {
    "identity": "keystone", "image": "glance-api", "placement": "placement-api", "compute": "nova-api",
    "volume": "cinder-api", "networking": "neutron-server",
}  # fmt: skip
# The component that a URL is about, its port if none is said, and what is spoken there
SCHEMES = {
    "rabbit": ("rabbitmq", 5672, "amqp"), "amqp": ("rabbitmq", 5672, "amqp"), "mysql": ("database", 3306, "mysql"),
    "postgresql": ("database", 5432, "tcp"), "ldap": ("ldap", 389, "tcp"), "ldaps": ("ldap", 636, "tcp"),
    "http": (None, 80, "http"), "https": (None, 443, "https"),
}  # fmt: skip
# The same where no URL says it: of other ports no word is expected, as at 5671, where a client begins with TLS.
SPOKEN_AT = {3306: "mysql", 5672: "amqp", 6641: "ovsdb", 6642: "ovsdb", 11211: "memcached"}
ENCRYPTED = {5671}
KEYSTONE = {"auth_url", "www_authenticate_uri", "auth_uri"}
# Options that name the host of a peer, and others its port, if it is another one than usual
HOSTS = {
    "nova_metadata_host": ("nova-api-metadata", "nova_metadata_port", 8775),
    "nova_metadata_ip": ("nova-api-metadata", "nova_metadata_port", 8775),
}


def peers_in(options):
    """{(component, address, port, what is spoken there): the projects that name it} out of the options of settings."""
    peers = {}
    given = {(path, section, option): value for _project, path, section, option, value in options}
    for project, path, section, option, value in options:
        found = peers_of(option, value)
        if option in HOSTS:
            component, port_option, usual = HOSTS[option]
            _address, port = address_of(f"host:{given.get((path, section, port_option))}", usual)
            found = [(component, value.strip(), port or usual, "http")]
        for peer in found:
            peers.setdefault(peer, set()).add(project)
    return dict(list(peers.items())[:MOST])


def peers_of(option, value):
    """(component, address, port, what is spoken there) of each peer that the value of an option names."""
    peers = []
    for url in URL.finditer(value):
        peers += peers_of_url(url["scheme"].lower(), url["rest"], option)
    for match in REMOTE.finditer(value):
        peers += peers_at(match, encrypted=match["way"].lower() == "ssl")
    for pattern in () if peers else (PLACE, POOL):
        for match in pattern.finditer(value):
            peers += peers_at(match)
    return list(dict.fromkeys(peers))


def peers_at(match, encrypted=False):
    """What is at an address, if its port tells it."""
    port = int(match["port"])
    spoken = "tcp" if encrypted else SPOKEN_AT.get(port, "tcp")
    return [(PORTS[port], match["place"].strip("[]"), port, spoken)] if port in PORTS else []


def peers_of_url(scheme, rest, option=None):
    if scheme not in SCHEMES:
        return []
    component, usual, spoken = SCHEMES[scheme]
    authority, *path = re.split("[/?#]", rest)
    if component and "@" not in authority:
        # A password may have one of these marks in it.
        authority = re.split("[/?#]", rest.rpartition("@")[2])[0]
    peers = []
    # The address of a queue may have several hosts, each with a user of its own.
    for part in authority.split(",") if component == "rabbitmq" else [authority]:
        place, port = address_of(part.rpartition("@")[2], usual)
        named = component or ("keystone" if option in KEYSTONE else PATHS.get("".join(path[:1]))) or PORTS.get(port)
        if place and named:
            peers.append((named, place, port, "tcp" if port in ENCRYPTED else spoken))
    return peers


def address_of(text, usual):
    """(address, port) at the beginning of a text such as controller1:5672 or [fd00::1]:5672."""
    match = ADDRESS.match(text)
    port = int(match["port"] or usual) if match else 0
    return (match["place"].strip("[]"), port) if 0 < port < 1 << 16 else (None, None)


def probes(peers):
    """How each peer answers from here: all are asked at the same time."""
    listed = sorted(peers, key=str)
    with ThreadPoolExecutor(AT_ONCE) as pool:
        answers = list(pool.map(lambda peer: probe(*peer[1:]), listed))
    return [
        {"component": component, "address": address, "port": port, "how": how, "named_by": sorted(peers[peer])}
        for peer, how in zip(listed, answers)
        for component, address, port, _spoken in [peer]
    ]


def probe(address, port, spoken):
    """open, or why not: refused, silent (no answer to a connection), mute (accepts it and says nothing), and others."""
    try:
        with socket.create_connection((address, port), SECONDS) as link:
            return first_word(link, address, spoken)
    except socket.timeout:  # noqa: UP041  in Python 3.9 it is no TimeoutError
        return "silent"
    except ssl.SSLCertVerificationError as exc:
        # A certificate of an authority that only the services know is not wrong for that.
        of_their_own = re.search("local issuer|self.signed", exc.verify_message)
        return "open" if of_their_own else exc.verify_message
    # The second is of names that cannot even be asked for.
    except (socket.gaierror, ValueError):
        return "no such name"
    except ConnectionRefusedError:
        return "refused"
    # Python 3.11 calls the end of a connection either, by the moment.
    except (ConnectionResetError, BrokenPipeError, ssl.SSLEOFError, ssl.SSLZeroReturnError):
        return "closed"
    except OSError as exc:
        return (exc.strerror or type(exc).__name__).lower()


def first_word(link, address, spoken):
    """How a peer goes on that has accepted a connection."""
    try:
        if spoken == "https":
            with ssl.create_default_context().wrap_socket(link, server_hostname=address) as secured:
                return first_word(secured, address, "http")
        if spoken not in GREETINGS:
            return "open"
        # A balancer may choose the service by the name that it is asked for.
        link.sendall(GREETINGS[spoken].replace(b"ADDRESS", address.encode("idna")))
        return meaning(link.recv(1024), spoken)
    except socket.timeout:  # noqa: UP041  as in probe; the connection stood, so the peer is told as mute
        return "mute"


def meaning(answer, spoken):
    """What the first bytes of an answer say."""
    if not answer:
        return "closed"
    status = re.match(rb"HTTP/\d\.\d (5\d\d)", answer) if spoken == "http" else None
    if status:
        return f"status {status[1].decode()}"
    # An error of a database instead of its greeting: a number, and then the reason.
    if spoken == "mysql" and answer[4:5] == b"\xff":
        return f"error {int.from_bytes(answer[5:7], 'little')}"
    return "open"


# The first word of a client in each protocol; a database speaks first itself.
GREETINGS = {
    "http": b"GET / HTTP/1.0\r\nHost: ADDRESS\r\n\r\n",
    "amqp": b"AMQP\x00\x00\x09\x01",
    "mysql": b"",
    "memcached": b"version\r\n",
    "ovsdb": b'{"id":"here","method":"echo","params":[]}',
}
# Stands before the processes of a connection; the address of the peer is the last word before it.
USERS = 'users:(("'
PORT = re.compile(r"[0-9]{1,5}")


def hanging(host):
    """(program, address, port) of connections that nobody has answered yet: the kernel knows them, of any service."""
    words = ("ss", "--no-header", "--tcp", "--numeric", "--processes", "state", "syn-sent")
    found = {waiting_in(line) for line in host.ask(None, *words).splitlines()} - {None}
    return [
        {"program": program, "address": address, "port": port, "component": PORTS.get(port)}
        for program, address, port in sorted(found)
    ]


def waiting_in(line: str) -> tuple[str, str, int] | None:
    """Return program, address and port of a connection as ss prints it; None for a line without a process.

    Each step looks at the line once, whatever the line is: a search for all at once takes the square of its length.
    """
    sockets, _users, users = line.partition(USERS)
    program, quote, _rest = users.partition('"')
    address, _colon, port = "".join(sockets.split()[-1:]).rpartition(":")
    if not (program and quote and address and PORT.fullmatch(port)):
        return None
    return program, address.strip("[]"), int(port)
