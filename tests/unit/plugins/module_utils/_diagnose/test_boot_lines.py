# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The ids of a boot, on lines as the services of several releases write them."""

from __future__ import annotations

import pytest
from ansible_collections.stackproof.provision.plugins.module_utils._collect.logs import line_formats
from ansible_collections.stackproof.provision.plugins.module_utils._diagnose import boot_lines
from ansible_collections.stackproof.provision.plugins.module_utils._diagnose.boot_lines import BootIds
from ansible_collections.stackproof.provision.plugins.module_utils._diagnose.line import line_of

SERVER, OTHER = "593bff83-ecde-4bff-b038-2774dcc49b76", "13651ae0-e8ee-44e2-803f-dadb47945905"
REQUEST, CLIENT = "req-cde46fff-5e77-4a4c-ac81-ad543be792ff", "req-03b40d4a-6468-4371-a2d5-864347bcb436"
SECOND = "req-11111111-5e77-4a4c-ac81-ad543be792ff"
PORT, VOLUME = "af65584b-2706-4cfa-b540-f8f67310cbfc", "1f49c276-3851-46fe-83a0-b2cb778ef860"
OLD, PLAIN, WITH = f"{REQUEST} u p - - -", f"None {REQUEST} u p", f"{CLIENT} {REQUEST} u p"


def line(seconds, message, service="nova-compute", context=OLD, level="INFO"):
    text = f"2026-11-21 14:43:{seconds:06.3f} 7 {level} nova [{context}] {message}"
    return line_of(line_formats.parse(text, 0, 0), text, "a", service)


ASKED = line(3, '10.0.0.1 "POST /v2.1/servers" status: 202 len: 4 microversion: 2.1 time: 1.5', "nova-api")
CLAIM = line(5, f"[instance: {SERVER}] Claim successful on node a")


@pytest.mark.parametrize("context", [OLD, PLAIN, WITH], ids=["Kilo", "no global id", "a global id"])
@pytest.mark.parametrize(
    ("message", "service"),
    [
        (f"[instance: {SERVER}] Claim successful on node a", "nova-compute"),
        (f"[instance: {SERVER}] Starting instance...", "nova-compute"),
        (f"[instance: {SERVER}] Selected host: a; Selected node: a", "nova-conductor"),
        (f"[instance: {SERVER}] Took 3.1 seconds to build instance.", "nova-compute"),
    ],
)
def test_a_line_of_a_worker_names_the_request_and_the_server_of_a_boot(message, service, context):
    (boot,) = boot_lines.boots_in([line(5, message, service, context)])
    assert (boot.request, boot.server) == (REQUEST, SERVER)
    assert boot.client == (CLIENT if context == WITH else None)


@pytest.mark.parametrize(
    ("message", "outcome"),
    [
        (f"[instance: {SERVER}] Took 3.1 seconds to build instance.", "built"),
        (f"[instance: {SERVER}] Instance failed to spawn: nova.exception.PortBindingFailed: no", "failed"),
        (f"[instance: {SERVER}] Setting instance to ERROR state.", "failed"),
        (f"[instance: {SERVER}] VM Started (Lifecycle Event)", None),
    ],
)
def test_how_a_boot_ended_is_what_nova_says(message, outcome):
    boots = boot_lines.boots_in([CLAIM, line(9, message)])
    assert [boot.outcome for boot in boots] == [outcome]


def test_a_boot_begins_when_its_request_came():
    assert boot_lines.boots_in([ASKED, CLAIM])[0].at == pytest.approx(CLAIM.at - 3.5)


@pytest.mark.parametrize(
    "message",
    [
        f"[instance: {SERVER}] Terminating instance",
        f"[instance: {SERVER}] Setting instance to ERROR state.",
        '10.0.0.1 "DELETE /v2.1/servers/x" status: 204 len: 4 microversion: 2.1 time: 1.5',
    ],
)
def test_another_request_for_a_server_is_no_boot(message):
    assert boot_lines.boots_in([line(5, message)]) == []


def test_a_request_for_several_servers_is_a_boot_of_each():
    boots = boot_lines.boots_in([CLAIM, line(5, f"[instance: {OTHER}] Claim successful on node a")])
    assert [(boot.server, boot.siblings) for boot in boots] == [(OTHER, 1), (SERVER, 1)]


def grown(*lines):
    return boot_lines.grown(BootIds(request=frozenset({REQUEST}), server=frozenset({SERVER})), lines)


@pytest.mark.parametrize(
    ("message", "kind", "text"),
    [
        (f"[instance: {SERVER}] Successfully created port: {PORT} _create_port_minimal", "port", PORT),
        (f"Creating event network-vif-plugged:{PORT} for instance {SERVER} on a", "port", PORT),
        (f"Allocated IP 1.2.3.4 ({OTHER}/{VOLUME}/{PORT}) _store", "port", PORT),
        (f"[instance: {SERVER}] Booting with volume {VOLUME} at /dev/vdb", "volume", VOLUME),
        (f'10.0.0.1 "GET /v2/images/{OTHER}" status: 200', "shared", OTHER),
    ],
)
def test_what_a_line_of_the_boot_names_is_of_the_boot(message, kind, text):
    ids = grown(line(5, message))
    assert text in getattr(ids, kind)
    assert ids.tap == ({"tapaf65584b-27"} if kind == "port" else set())


@pytest.mark.parametrize(
    "message", [f"[instance: {OTHER}] Booting with volume {VOLUME} at /dev/vdb", f"port /ports/{PORT} of {OTHER}"]
)
def test_what_a_line_of_others_names_is_not(message):
    ids = grown(line(5, message, context=f"{SECOND} u p"), line(5, f"[instance: {OTHER}] /volumes/{VOLUME}"))
    assert ids.port | ids.volume == set()


def test_a_boot_goes_from_its_request_to_its_last_line_whatever_happens_to_the_server_later():
    late = line(50, f"[instance: {SERVER}] Terminating instance", context=f"{SECOND} u p")
    ids = BootIds(request=frozenset({REQUEST}), server=frozenset({SERVER}))
    first, last = boot_lines.interval([late, CLAIM, ASKED], ids, 10)
    assert (first, last) == (pytest.approx(CLAIM.at - 3.5), CLAIM.at + 10)
    assert boot_lines.interval([late], BootIds(server=ids.server), 10) == (late.at, late.at + 10)


LOCK = f'Lock "{SERVER}" {{}} by "nova.compute.manager._locked_do_build_and_run_instance" :: {{}}'
BUILT = f"[instance: {SERVER}] Took 3.1 seconds to build instance."


@pytest.mark.parametrize(
    ("messages", "outcome"),
    [
        ([LOCK.format("acquired", "waited 0.000s")], None),
        ([LOCK.format("released", "held 1.746s")], "failed"),
        ([LOCK.format('"released"', "held 1.746s")], "failed"),
        ([BUILT, LOCK.format("released", "held 9.746s")], "built"),
    ],
)
def test_a_boot_that_nova_compute_has_let_go_of_is_over(messages, outcome):
    lines = [line(9 + number, message, level="DEBUG") for number, message in enumerate(messages)]
    assert [boot.outcome for boot in boot_lines.boots_in([CLAIM, *lines])] == [outcome]
