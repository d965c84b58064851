# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Certificates that have expired or will soon, of peers that present them and in files."""

from __future__ import annotations

import contextlib
import io
import shutil
import socket
import ssl
import subprocess
import threading
import time

import pytest
from ansible_collections.stackproof.provision.plugins.module_utils._collect.examination import certificates
from ansible_collections.stackproof.provision.plugins.module_utils._collect.examination.peer_probes import Peer
from tree import RECORDED

EXPIRED, LATER = (RECORDED / f"certificates/{name}.pem" for name in ("expired", "later"))
# The second one ends after 2049, when a time has four digits of its year.
ENDED, ENDS = map(ssl.cert_time_to_seconds, ("Feb 1 00:00:00 2020 GMT", "Aug 29 18:31:24 2081 GMT"))
DAY = 86400


def der(path):
    return ssl.PEM_cert_to_DER_cert(path.read_text())


@pytest.mark.parametrize(("path", "end"), [(EXPIRED, ENDED), (LATER, ENDS)], ids=["expired", "later"])
def test_end_of_a_certificate_is_read_without_trusting_it(path, end):
    assert certificates.not_after(der(path)) == end


@pytest.mark.parametrize(
    "data", [b"", b"\x30", b"\x30\x02\x30\x00", b"\x30\x84\xff\xff\xff\xff", b"x" * 40, der(EXPIRED)[:200]]
)
def test_something_else_is_no_certificate(data):
    with pytest.raises(ValueError, match=r"cut|no |nothing"):
        certificates.not_after(data)


@pytest.mark.parametrize(
    ("left_s", "is_due"), [(-DAY, True), (0, True), (14 * DAY, True), (16 * DAY, False), (400 * DAY, False)]
)
def test_certificate_is_due_before_its_end(left_s, is_due):
    assert certificates.is_due(time.time() + left_s) is is_due


@pytest.fixture
def presenting(tmp_path):
    """Return a function that listens with a certificate of some days, and returns its port."""
    openssl = shutil.which("openssl")
    if not openssl:
        pytest.skip("there is no openssl here")
    listening = []

    def listen(days):
        key, path = tmp_path / "key.pem", tmp_path / "certificate.pem"
        words = ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=c1", "-days", str(days)]
        subprocess.run([openssl, *words, "-keyout", key, "-out", path], check=True, capture_output=True)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(path, key)
        server = socket.create_server(("127.0.0.1", 0))
        listening.append(server)
        threading.Thread(target=answer, args=(server, context), daemon=True).start()
        return server.getsockname()[1]

    yield listen
    for server in listening:
        server.close()


def answer(server, context):
    link, _address = server.accept()
    with link, contextlib.suppress(OSError):
        context.wrap_socket(link, server_side=True).close()


@pytest.mark.parametrize(("days", "is_due"), [(1, True), (400, False)])
@pytest.mark.parametrize("spoken", ["https", "tls"])
def test_peer_that_presents_a_certificate_at_its_end_is_returned(presenting, spoken, days, is_due):
    port = presenting(days)
    found = certificates.of_peers({Peer("rabbitmq", "127.0.0.1", port, spoken): {"nova"}})
    assert [(one.component, one.address, one.port) for one in found] == (
        [("rabbitmq", "127.0.0.1", port)] if is_due else []
    )
    assert all(abs(one.expires - time.time() - DAY) < 60 for one in found)


def test_peer_that_does_not_speak_tls_is_not_asked_and_one_that_does_not_answer_presents_none():
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    silent = Peer("rabbitmq", "127.0.0.1", port, "tls")
    assert certificates.of_peers({silent: {"nova"}, silent._replace(spoken="amqp"): {"nova"}}) == ()


def printed(*files):
    """As head prints files."""
    return "\n".join(f"==> {name} <==\n{path.read_text()}" for name, path in files)


def test_expired_certificate_of_libvirt_is_returned_with_its_file(replay):
    ca, own = certificates.LIBVIRT[0], certificates.LIBVIRT[2]
    output = printed((ca, LATER), (own, EXPIRED))
    missing = f"head: cannot open '{certificates.LIBVIRT[1]}' for reading: No such file or directory\n"
    host = replay(None, {"id -u": "0", "head": (1, output, missing)})
    (found,) = certificates.read(host, {"libvirt"}, {})
    assert (found.component, found.path, found.expires, found.address) == ("libvirt", own, ENDED, None)
    assert host.unread == []


def test_nothing_but_its_time_is_taken_out_of_a_file():
    text = f"Subject: CN=secret\n{EXPIRED.read_text()}planted"
    assert certificates.expiries_in(io.BytesIO(f"==> /x <==\n{text}".encode())) == [("/x", ENDED)]
    assert certificates.expiries_in(io.BytesIO(b"==> /x <==\nno certificate\n")) == []


def test_recorded_host_has_no_certificates(replay):
    host = replay("examined-compute1")
    assert (certificates.read(host, {"libvirt"}, {}), host.unread) == ((), [])
