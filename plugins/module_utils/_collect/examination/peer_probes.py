# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Find the peers of a host's services, by the settings and the catalogue, and how each answers from here."""

from __future__ import annotations

import re
import socket
import ssl
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

from ..._components.tables import (
    APIS_BY_PROJECT,
    HOST_OPTIONS,
    PORTS,
    URL_OPTIONS,
    URL_PATHS,
    URL_SCHEMES,
    component_at,
    entry_of,
    is_encrypted,
)
from ..._model.host import (
    NARROW,
    OPEN,
    PLAIN,
    SILENT,
    UNHEARD,
    PendingConnection,
    Reach,
)
from ..commands import Host
from .configuration import Option

# A peer may take this long to accept a connection, and as long again for its first answer.
SECONDS = 1.5
AT_ONCE = 16
# A host that names more is asked about the first only.
MOST = 60

# One may stand behind another with no blank between them.
URL = re.compile(
    r"\b(?P<scheme>[a-z][a-z0-9]{0,15})(?:\+\w{1,15})?://(?=(?P<rest>\S{1,1000}))",
    re.IGNORECASE,
)
ADDRESS = re.compile(
    r"(?P<place>\[[^\]\s]+\]|[\w.-]+)(?::(?P<port>\d{1,5}))?(?![\w@]|:\S)"
)
# ovsdb's way to name a remote, and Ceph's list of monitors
REMOTE = re.compile(
    r"\b(?P<way>tcp|ssl|v[12]):(?P<place>\[[0-9a-f:]+\]|[\w.-]+):(?P<port>\d{2,5})\b",
    re.IGNORECASE,
)
# A list of memcached servers, and a sentence
PLACE = re.compile(
    r"(?<![\w.:/@-])(?:inet6:)?(?P<place>\[[0-9a-f:]+\]|[A-Za-z][\w.-]*|\d+\.\d+\.\d+\.\d+):(?P<port>\d{2,5})(?![\w@]|\.\d)"
)
# An exception of the library that speaks HTTP
POOL = re.compile(r"\bhost='(?P<place>[^'\s]+)', port=(?P<port>\d{2,5})\b")
# Of the web: the component is known by the option, the path or the port.
WEB_PORTS = {"http": 80, "https": 443}
# The first word of a client in each protocol; a database speaks first itself.
GREETINGS = {
    "http": b"GET / HTTP/1.0\r\nHost: ADDRESS\r\nX-Padding: PADDING\r\n\r\n",
    "amqp": b"AMQP\x00\x00\x09\x01",
    "mysql": b"",
    "memcached": b"version\r\n",
    "ovsdb": b'{"id":"here","method":"echo","params":[]}',
}
CONNECTIONS = (
    "ss",
    "--no-header",
    "--oneline",
    "--tcp",
    "--numeric",
    "--processes",
    "--info",
    "state",
    "syn-sent",
    "state",
    "established",
)
# The state of a connection that was made, and what is said of one whose packets are sent again and again
ESTABLISHED, BACKOFF = "ESTAB", " backoff:"
# Stands before the processes of a connection; the address of the peer is the last word before it.
USERS = 'users:(("'
PORT = re.compile(r"[0-9]{1,5}")
# Options with the address of the service that their section is about, which may have a port of its own
OF_SECTION = ("endpoint_override", "api_servers", "endpoint_template", "url")
# The marks that end the authority of a URL
PATH_MARKS = re.compile("[/?#]")
HIGHEST_PORT = (1 << 16) - 1
# In bytes
LONGEST_ANSWER = 1024
# Servers such as uWSGI take no longer request than 4096 by default.
LONGEST_PADDING = 3000
SERVER_ERROR = re.compile(rb"HTTP/\d\.\d (5\d\d)")
# How a peer is recorded that accepts a connection and answers nothing
MUTE = "mute"
# How a peer does that is asked again by HTTP, without TLS and in a small packet, and how it is recorded if it answers
# that: a handshake of TLS ends so with one that speaks something else
ASKED_AGAIN = {
    "http": (re.compile(MUTE), NARROW),
    "https": (re.compile(rf"{MUTE}|closed|\[ssl: "), PLAIN),
}
NOT_ASKED = re.compile("(?!)"), OPEN
# A server of HTTP. One of HTTPS answers a client without TLS that it is wrong, or sends it elsewhere.
HTTP_SERVER = re.compile(rb"HTTP/\d\.\d (?!400|3)\d|HTTP/\d\.\d 300 ")
OWN_AUTHORITY = re.compile("local issuer|self.signed")


class Peer(NamedTuple):
    """A peer that a setting or a line names. spoken: the protocol that is spoken there."""

    component: str
    address: str
    port: int
    spoken: str


# Each peer to the projects that name it
NamedPeers = dict[Peer, set[str]]


def peers_in(options: Iterable[Option]) -> NamedPeers:
    """Return the peers that options of settings name."""
    listed = list(options)
    values = {
        (option.path, option.section, option.name): option.value
        for option in listed
    }
    peers: NamedPeers = {}
    for option in listed:
        found = peers_of(option.name, option.value)
        if not found and option.name in OF_SECTION:
            owner = APIS_BY_PROJECT.get(option.section)
            found = peers_of(option.name, option.value, owner)
        if option.name in HOST_OPTIONS:
            component, port_option, usual = HOST_OPTIONS[option.name]
            given = values.get((option.path, option.section, port_option))
            _host, port = address_of(f"host:{given}", usual) or ("", usual)
            found = [Peer(component, option.value.strip(), port, "http")]
        for peer in found:
            peers.setdefault(peer, set()).add(option.project)
    return dict(list(peers.items())[:MOST])


def peers_of(option: str, value: str, owner: str | None = None) -> list[Peer]:
    """Return each peer that the value of an option names. owner: the component behind its URLs, where it is known."""
    peers: list[Peer] = []
    for url in URL.finditer(value):
        peers += peers_of_url(
            url.group("scheme").lower(), url.group("rest"), option, owner
        )
    for match in REMOTE.finditer(value):
        is_tls = match.group("way").lower() == "ssl"
        peers += peers_at(match, is_tls, URL_OPTIONS.get(option))
    if not peers:
        for match in [*PLACE.finditer(value), *POOL.finditer(value)]:
            peers += peers_at(match)
    return list(dict.fromkeys(peers))


def peers_at(
    match: re.Match[str], encrypted: bool = False, owner: str | None = None
) -> list[Peer]:
    """Return the peer at an address, if its owner is known, by the option or by the port."""
    number = int(match.group("port"))
    component = owner or component_at(number)
    if component is None:
        return []
    usual = component, entry_of(component).ports[0]
    spoken = PORTS.get(number, usual)[1].speaks
    place = match.group("place").strip("[]")
    return [Peer(component, place, number, "tls" if encrypted else spoken)]


def peers_of_url(
    scheme: str, rest: str, option: str = "", owner: str | None = None
) -> list[Peer]:
    """Return the peers that a URL names. rest: what stands behind its scheme."""
    known = spoken_by(scheme)
    if known is None:
        return []
    component, usual, spoken = known
    authority, *path = PATH_MARKS.split(rest)
    if component and "@" not in authority:
        # A password may have one of these marks in it.
        _user, _at, behind = rest.rpartition("@")
        authority = PATH_MARKS.split(behind)[0]
    peers = []
    for part in parts_of(authority, component):
        address = address_of(part.rpartition("@")[2], usual)
        if address is None:
            continue
        place, port = address
        named = component or owner or component_behind(option, path, port)
        if named:
            peers.append(
                Peer(
                    named, place, port, "tls" if is_encrypted(port) else spoken
                )
            )
    return peers


def parts_of(authority: str, component: str | None) -> list[str]:
    """Return the hosts of an address: that of a queue may have several, each with a user of its own."""
    return authority.split(",") if component == "rabbitmq" else [authority]


def spoken_by(scheme: str) -> tuple[str | None, int, str] | None:
    """Return the component that URLs of a scheme are about, its usual port, and the protocol."""
    if scheme in URL_SCHEMES:
        component, port = URL_SCHEMES[scheme]
        return component, port.port, port.speaks
    if scheme in WEB_PORTS:
        return None, WEB_PORTS[scheme], scheme
    return None


def component_behind(option: str, path: list[str], port: int) -> str | None:
    """Return the component behind a URL of HTTP, by the option that names it, its path or its port."""
    return (
        URL_OPTIONS.get(option)
        or URL_PATHS.get("".join(path[:1]))
        or component_at(port)
    )


def address_of(text: str, usual: int) -> tuple[str, int] | None:
    """Return (address, port) at the beginning of a text such as controller1:5672 or [fd00::1]:5672."""
    match = ADDRESS.match(text)
    if match is None:
        return None
    port = int(match.group("port") or usual)
    return (
        (match.group("place").strip("[]"), port)
        if 0 < port <= HIGHEST_PORT
        else None
    )


def probes(peers: NamedPeers) -> tuple[Reach, ...]:
    """Return how each peer answers from here: all are asked in parallel."""
    listed = sorted(peers, key=str)
    with ThreadPoolExecutor(AT_ONCE) as pool:
        answers = list(
            pool.map(
                lambda peer: probe(peer.address, peer.port, peer.spoken),
                listed,
            )
        )
    reach = []
    for peer, how in zip(listed, answers):
        named_by = tuple(sorted(peers[peer]))
        reach.append(
            Reach(peer.component, peer.address, peer.port, how, named_by)
        )
    return tuple(reach)


def probe(address: str, port: int, spoken: str) -> str:
    """Return open, or why not.

    refused; silent: no answer to a connection; mute: accepts it and answers nothing; narrow: answers small packets
    only; plain: it speaks HTTP without TLS, and HTTPS was asked for; and others.
    """
    how = connected(address, port, spoken)
    pattern, instead = ASKED_AGAIN.get(spoken, NOT_ASKED)
    if pattern.match(how) and answers_plainly(address, port):
        return instead
    return how


def connected(address: str, port: int, spoken: str) -> str:
    """Return how a peer goes on in the protocol that is spoken to it."""
    try:
        with socket.create_connection((address, port), SECONDS) as link:
            return first_word(link, address, spoken)
    except socket.timeout:
        return SILENT
    except ssl.SSLCertVerificationError as exc:
        # A certificate of an authority that only the services know is not wrong for that.
        return (
            OPEN
            if OWN_AUTHORITY.search(exc.verify_message)
            else exc.verify_message
        )
    # The second is of names that cannot even be asked for.
    except (socket.gaierror, ValueError):
        return "no such name"
    except ConnectionRefusedError:
        return "refused"
    # Python 3.11 calls the end of a connection either, by the moment.
    except (
        ConnectionResetError,
        BrokenPipeError,
        ssl.SSLEOFError,
        ssl.SSLZeroReturnError,
    ):
        return "closed"
    except OSError as exc:
        return (exc.strerror or type(exc).__name__).lower()


def answers_plainly(address: str, port: int) -> bool:
    """Return whether a peer answers a small request by HTTP without TLS."""
    try:
        with socket.create_connection((address, port), SECONDS) as link:
            greet(link, address, "http", padding=0)
            return bool(HTTP_SERVER.match(link.recv(LONGEST_ANSWER)))
    except (OSError, ValueError):
        return False


def first_word(link: socket.socket, address: str, spoken: str) -> str:
    """Return how a peer goes on that has accepted a connection."""
    try:
        if spoken == "https":
            with ssl.create_default_context().wrap_socket(
                link, server_hostname=address
            ) as secured:
                return first_word(secured, address, "http")
        if spoken not in GREETINGS:
            return OPEN
        greet(link, address, spoken)
        return meaning(link.recv(LONGEST_ANSWER), spoken)
    except socket.timeout:
        return MUTE


def greet(
    link: socket.socket,
    address: str,
    spoken: str,
    padding: int = LONGEST_PADDING,
) -> None:
    """Send a peer its first word.

    A balancer may choose the service by the name that it is asked for, and a way may lose packets of full size only.
    """
    largest = link.getsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG)
    word = GREETINGS[spoken].replace(b"ADDRESS", address.encode("idna"))
    link.sendall(word.replace(b"PADDING", b"x" * min(largest, padding)))


def meaning(answer: bytes, spoken: str) -> str:
    """Return what the first bytes of an answer mean."""
    if not answer:
        return "closed"
    if spoken == "http":
        status = SERVER_ERROR.match(answer)
        if status:
            return f"status {status[1].decode()}"
    # An error of a database instead of its greeting: a number, and then the reason.
    if spoken == "mysql" and answer[4:5] == b"\xff":
        return f"error {int.from_bytes(answer[5:7], 'little')}"
    return OPEN


def pending(host: Host) -> tuple[PendingConnection, ...]:
    """Return connections that have no answer: the kernel knows them, of any service."""
    lines = host.ask(None, *CONNECTIONS).splitlines()
    found = set(filter(None, map(connection_in, lines)))
    return tuple(
        PendingConnection(
            one.program,
            one.address,
            one.port,
            component_at(one.port),
            one.how,
        )
        for one in sorted(found)
    )


class Connection(NamedTuple):
    """A connection of a program. how: silent, or unheard if it was made before."""

    program: str
    address: str
    port: int
    how: str


def connection_in(line: str) -> Connection | None:
    """Return a connection as ss prints it.

    None for a line without a process, and for an open connection that works. Each step looks at the line once,
    whatever the line is: a search for all at once takes the square of its length.
    """
    sockets, _users, users = line.partition(USERS)
    program, quote, _rest = users.partition('"')
    address, _colon, port = "".join(sockets.split()[-1:]).rpartition(":")
    if not (program and quote and address and PORT.fullmatch(port)):
        return None
    is_open = line.startswith(ESTABLISHED)
    if is_open and BACKOFF not in users:
        return None
    how = UNHEARD if is_open else SILENT
    return Connection(program, address.strip("[]"), int(port), how)
