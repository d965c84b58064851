# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Find certificates that have expired or will soon: those that peers present, and those of libvirt's own files."""

from __future__ import annotations

import calendar
import socket
import ssl
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import IO, NamedTuple

from ..._model.reach import Certificate
from ..commands import Host
from ..logs.log_files import by_path
from .peer_probes import AT_ONCE, SECONDS, NamedPeers, Peer

# Services that renew certificates do so 30 days before the end: one with less than half of that left was not renewed.
SOON_S = 15 * 86400
MOST = 20
ENCRYPTED = ("https", "tls")
# Libvirt's own places for them. The rules for sudo have the same files.
LIBVIRT = (
    "/etc/pki/CA/cacert.pem",
    "/etc/pki/libvirt/clientcert.pem",
    "/etc/pki/libvirt/servercert.pem",
)
LONGEST = 64 << 10
BEGIN, END = "-----BEGIN CERTIFICATE-----", "-----END CERTIFICATE-----"
# Tags of ASN.1: the version of a certificate, which the first version does not have, and two ways to write a time
VERSION, UTC_TIME, GENERALIZED_TIME = 0xA0, 0x17, 0x18
FORMATS = {UTC_TIME: "%y%m%d%H%M%SZ", GENERALIZED_TIME: "%Y%m%d%H%M%SZ"}
# What stands before the validity: a serial number, an algorithm, and the issuer
BEFORE_VALIDITY = 3
LONG_FORM = 0x80


class Element(NamedTuple):
    """An element of ASN.1, with its tag."""

    tag: int
    content: bytes


def of_peers(peers: NamedPeers) -> tuple[Certificate, ...]:
    """Return the certificates of peers that have expired or will soon. None is verified here: only its time counts."""
    listed = [
        peer for peer in sorted(peers, key=str) if peer.spoken in ENCRYPTED
    ][:MOST]
    if not listed:
        return ()
    with ThreadPoolExecutor(AT_ONCE) as pool:
        ends = list(pool.map(expiry_at, listed))
    found = []
    for peer, end in zip(listed, ends):
        if end is not None and is_due(end):
            found.append(
                Certificate(peer.component, end, peer.address, peer.port)
            )
    return tuple(found)


def is_due(end: float) -> bool:
    return end - time.time() < SOON_S


def expiry_at(peer: Peer) -> float | None:
    """Return when the certificate expires that a peer presents; None if it presents none."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    try:
        with socket.create_connection(
            (peer.address, peer.port), SECONDS
        ) as link:
            presented = presented_at(link, peer.address, context)
        return not_after(presented) if presented else None
    # A probe of the same peer reports why it does not answer.
    except (OSError, ValueError):
        return None


def presented_at(
    link: socket.socket, address: str, context: ssl.SSLContext
) -> bytes | None:
    with context.wrap_socket(link, server_hostname=address) as secured:
        return secured.getpeercert(binary_form=True)


def not_after(certificate: bytes) -> float:
    """Return when a certificate expires, in seconds since the epoch. certificate: in the form of DER."""
    whole = first(certificate)
    signed = list(elements(first(whole.content).content))
    fields = signed[1:] if signed and signed[0].tag == VERSION else signed
    if len(fields) <= BEFORE_VALIDITY:
        raise ValueError("no certificate")
    _begin, end, *_rest = [
        *elements(fields[BEFORE_VALIDITY].content),
        Element(0, b""),
        Element(0, b""),
    ]
    if end.tag not in FORMATS:
        raise ValueError("no time")
    return float(
        calendar.timegm(
            time.strptime(end.content.decode("ascii"), FORMATS[end.tag])
        )
    )


def first(data: bytes) -> Element:
    for element in elements(data):
        return element
    raise ValueError("nothing there")


def elements(data: bytes) -> Iterator[Element]:
    """Yield the elements of ASN.1 that stand one after the other."""
    at = 0
    while at < len(data):
        begin, length = content_of(data, at)
        end = begin + length
        if end > len(data):
            raise ValueError("an element is cut")
        yield Element(data[at], data[begin:end])
        at = end


def content_of(data: bytes, at: int) -> tuple[int, int]:
    """Return where the content of an element begins, and its length."""
    begin = at + 2
    if len(data) < begin:
        raise ValueError("an element has no length")
    length = data[at + 1]
    if length < LONG_FORM:
        return begin, length
    octets = length - LONG_FORM
    return begin + octets, int.from_bytes(data[begin : begin + octets], "big")


def of_libvirt(host: Host) -> tuple[Certificate, ...]:
    """Return libvirt's own certificates that have expired or will soon."""
    words = ("head", "--verbose", "--lines=100", "--", *LIBVIRT)
    # They hold no key, and nevertheless only their times leave this function.
    ends = host.ask(
        None, *words, despite="No such file or directory", take=expiries_in
    )
    return tuple(
        Certificate("libvirt", end, path=path)
        for path, end in ends
        if is_due(end)
    )


def expiries_in(stream: IO[bytes]) -> list[tuple[str, float]]:
    """Return each path in the output of head, with when the first certificate in it expires."""
    output = stream.read(LONGEST).decode("ascii", "replace")
    found = []
    for path, lines in by_path(output).items():
        if BEGIN in lines and END in lines:
            text = "\n".join(lines[lines.index(BEGIN) : lines.index(END) + 1])
            found.append((path, not_after(ssl.PEM_cert_to_DER_cert(text))))
    return found


def read(
    host: Host, components: Iterable[str], peers: NamedPeers
) -> tuple[Certificate, ...]:
    own: tuple[Certificate, ...] = ()
    if "libvirt" in components:
        own = host.attempt("libvirt's certificates", of_libvirt, default=())
    return (*of_peers(peers), *own)
