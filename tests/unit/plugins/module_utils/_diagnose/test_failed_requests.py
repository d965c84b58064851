# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Requests that failed, on lines as the services of several releases write them."""

from __future__ import annotations

import pytest
from ansible_collections.stackproof.provision.plugins.module_utils._collect import log_formats
from ansible_collections.stackproof.provision.plugins.module_utils._diagnose import failed_requests
from ansible_collections.stackproof.provision.plugins.module_utils._diagnose.bundle import wanted_of
from ansible_collections.stackproof.provision.plugins.module_utils._diagnose.line import line_of
from ansible_collections.stackproof.provision.plugins.module_utils._model.bundle import Owner

FIRST, SECOND, THIRD = (f"req-{number * 8}-5e77-4a4c-ac81-ad543be792ff" for number in "123")
SERVER, VOLUME = "593bff83-ecde-4bff-b038-2774dcc49b76", "1f49c276-3851-46fe-83a0-b2cb778ef860"
USER = "alice 94b64eb11bf148c5b5b96b2e972f44df - default default"
NOVA = '10.0.0.1 "POST /v2.1/servers/{}/os-volume_attachments?a=secret HTTP/1.1" status: {} len: 4 time: 1.5'
NEUTRON = '10.0.0.1 "GET /v2.0/networks HTTP/1.1" status: {}  len: 4 time: 0.5'


def line(seconds, message, service="nova-api", request=FIRST, level="INFO", user=USER):
    text = f"2026-11-21 14:43:{seconds:06.3f} 7 {level} some.logger [{request} {user}] {message}"
    return line_of(log_formats.parse(text, 0, 0), text, "a", service)


def attach(status=200, **about):
    return line(5, NOVA.format(SERVER, status), **about)


def test_a_request_says_what_was_asked_of_whom_and_what_was_answered():
    (request,) = failed_requests.requests_in([attach(500), line(4, "a word")])
    assert (request.id, request.ids, request.service, request.host) == (FIRST, (FIRST,), "nova-api", "a")
    # The query may hold a secret.
    path = f"/v2.1/servers/{SERVER}/os-volume_attachments"
    assert (request.method, request.path, request.status) == ("POST", path, 500)
    assert request.owner == Owner("alice", "94b64eb11bf148c5b5b96b2e972f44df")
    assert request.resources == {"server": (SERVER,)}
    # It began when it came, and was logged when it was answered.
    assert request.until - request.at == pytest.approx(1.5)


@pytest.mark.parametrize(
    ("lines", "failed", "refused"),
    [
        ([attach(200)], False, False),
        ([attach(202), line(6, "no", level="WARNING")], False, False),
        ([attach(500)], True, False),
        ([attach(503)], True, False),
        # It was begun, and failed where nobody waited for it.
        ([attach(202), line(6, "no", "nova-compute", level="ERROR")], True, False),
        ([line(6, "no", "nova-compute", level="ERROR")], True, False),
        ([line(6, "Setting instance to ERROR state.", "nova-conductor", level="WARNING")], True, False),
        ([attach(409)], False, True),
        ([attach(400), line(4, "no", "cinder-api", level="ERROR")], True, False),
        # To look for a thing that is not there is no failure.
        ([line(5, NEUTRON.format(404), "neutron-server")], False, False),
        ([line(5, "https://10.0.0.1/v3/volumes/a returned with HTTP 404", "cinder-api")], False, False),
        ([line(5, NEUTRON.format(404).replace("GET", "DELETE"), "neutron-server")], False, False),
        ([line(5, NEUTRON.format(409).replace("GET", "DELETE"), "neutron-server")], False, True),
        ([line(5, NEUTRON.format(500), "neutron-server")], True, False),
    ],
)
def test_a_request_fails_by_an_answer_of_500_or_by_an_error_and_is_refused_by_one_of_400(lines, failed, refused):
    (request,) = failed_requests.requests_in(lines)
    assert (request.has_failed, request.is_refused) == (failed, refused)
    assert any(map(failed_requests.is_sign, lines)) is (failed or refused)


@pytest.mark.parametrize("service", ["cinder-api", "neutron-server"])
@pytest.mark.parametrize(
    "handed_on",
    [
        # Services of today hand on the id of the request for which they ask.
        lambda service: [line(4, NEUTRON.format(500), service, request=f"{FIRST} {SECOND}")],
        # Others are known by the error that names the request which failed.
        lambda service: [
            line(4, NEUTRON.format(500), service, request=SECOND),
            line(4.5, f"No: (HTTP 500) (Request-ID: {SECOND})", level="ERROR"),
        ],
    ],
)
def test_a_request_that_another_one_has_made_is_a_part_of_it(handed_on, service):
    (request,) = failed_requests.requests_in([*handed_on(service), attach(202)])
    assert (request.id, request.ids) == (FIRST, tuple(sorted([FIRST, SECOND])))
    assert (request.service, request.status) == ("nova-api", 202)
    assert {answer.service: answer.status for answer in request.answers} == {"nova-api": 202, service: 500}
    assert request.has_failed


def test_an_id_that_a_client_gives_to_all_its_requests_makes_them_no_one_request():
    found = failed_requests.requests_in([attach(200, request=f"{THIRD} {name}") for name in (FIRST, SECOND)])
    assert [request.id for request in found] == [FIRST, SECOND]


def test_requests_that_name_each_other_are_one_and_end_the_search():
    lines = [line(4, f"a {SECOND}", level="ERROR"), line(5, f"a {FIRST}", request=SECOND, level="ERROR")]
    assert sum(len(request.ids) for request in failed_requests.requests_in(lines)) == 2


def test_a_word_on_another_request_that_is_no_error_does_not_join_them():
    lines = [line(4, f"a {SECOND}"), line(5, NEUTRON.format(200), request=SECOND)]
    assert len(failed_requests.requests_in(lines)) == 2


@pytest.mark.parametrize("nobody", ["- - - - -", "None None"])
def test_what_a_service_does_by_itself_nobody_has_asked_for(nobody):
    asked, by_itself = failed_requests.requests_in([line(4, "no", level="ERROR", user=nobody), attach(request=SECOND)])
    assert (by_itself.asked, asked.asked) == (False, True)


@pytest.mark.parametrize("nobody", ["- - - - -", "None None"])
def test_what_a_service_asks_another_for_by_itself_nobody_has_asked_for(nobody):
    """As nova-compute, which reports its inventory to placement, by a user of its own."""
    put = '10.0.0.1 "PUT /resource_providers/a/inventories HTTP/1.1" status: 409 len: 4 microversion: 1.26'
    own = line(5, f'Failed: {{"request_id": "{SECOND}"}}', "nova-compute", level="ERROR", user=nobody)
    (request,) = failed_requests.requests_in([line(4, put, "placement", request=SECOND, user="nova service"), own])
    assert (request.id, request.status, request.asked, request.owner) == (FIRST, 409, False, None)


def test_lines_without_a_request_are_of_none():
    assert failed_requests.requests_in([line(4, "no", request="-", user="", level="ERROR")]) == []


def test_requests_are_alike_if_only_their_ids_differ():
    def like(path, **about):
        return failed_requests.likeness(
            failed_requests.requests_in([line(5, f'1 "POST {path} HTTP/1.1" status: 500', **about)])[0]
        )

    assert like(f"/v2.1/servers/{SERVER}/action") == like(f"/v2.1/servers/{VOLUME}/action", request=SECOND)
    assert like(f"/v2.1/servers/{SERVER}/action") != like("/v2.1/servers")


def test_the_logs_are_read_for_the_time_of_all_requests_and_for_their_ids():
    found = failed_requests.requests_in([attach(), attach(request=SECOND), line(9, "no", request=THIRD)])
    wanted = wanted_of(found)
    assert wanted["keys"] == {"request": (FIRST, SECOND, THIRD)}
    assert wanted["until"] - wanted["since"] == pytest.approx(5.5 + 2 * failed_requests.NEAR)
