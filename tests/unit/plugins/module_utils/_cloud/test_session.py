# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Requests that go wrong on the way, against a real server: which are repeated, and what is written down of them."""

from __future__ import annotations

import re
import socket
import time
from types import SimpleNamespace

import pytest
from ansible_collections.stackproof.provision.plugins.module_utils._cloud import addresses, errors, session, transport
from ansible_collections.stackproof.provision.plugins.module_utils._model import codec
from ansible_collections.stackproof.provision.plugins.module_utils._model.stage import Call
from ansible_collections.stackproof.provision.plugins.module_utils._record.errors import StageError
from keystoneauth1.exceptions import ClientException
from openstack.exceptions import SDKException

NETWORKS = "/network/v2.0/networks"
pytestmark = pytest.mark.usefixtures("hurry")


def failed(action):
    """The record's error of an action that fails, and whether the action may have taken effect."""
    with pytest.raises((ClientException, SDKException, StageError, OSError)) as caught:
        action()
    return errors.explain(caught.value, "asking"), session.is_unanswered(caught.value)


def answers(connection, path=NETWORKS):
    """The statuses, or the errors, of the recorded calls of one path."""
    return [call.status or call.error for call in connection.calls if call.path == path]


def names(connection):
    return [network.name for network in connection.network.networks()]


def test_each_request_is_one_line_with_time_service_and_number(cloud, connect):
    connection, began = connect(), time.time()
    names(connection)
    call = connection.calls[-1]
    assert began <= call.started <= time.time()
    assert 0 < call.seconds < 10
    assert re.fullmatch(r"req-[0-9a-f-]{36}", call.request_id)
    written = codec.to_json(call)
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}\+00:00", written.pop("started"))
    del written["seconds"], written["request_id"]
    assert written == {
        "method": "GET",
        "service": "network",
        "host": cloud.url.removeprefix("http://"),
        "path": NETWORKS,
        "status": 200,
    }
    assert len(connection.calls) == len(cloud.requests)
    assert [call.service for call in connection.calls if call.path.endswith("/auth/tokens")] == ["identity"]


def test_a_request_of_no_service_is_not_laid_to_the_last_one(cloud, connect):
    connection = connect()
    names(connection)
    connection.session.get(cloud.url + "/identity/v3", authenticated=False)
    assert [call.service for call in connection.calls[-2:]] == ["network", None]


def test_a_query_is_not_written_down(cloud, connect):
    connection = connect()
    list(connection.network.networks(name="secret"))
    assert cloud.requests[-1].query == [("name", "secret")]
    assert "secret" not in str(connection.calls)


@pytest.mark.parametrize(
    ("url", "path"),
    [
        ("http://127.0.0.1:9696/v2.0/networks?name=x#y", "/v2.0/networks"),
        ("http://127.0.0.1:5000", "/"),
        ("http://127.0.0.1/object?temp_url_sig=abc&temp_url_expires=1", "/object"),
    ],
)
def test_the_path_of_an_address(url, path):
    assert addresses.path_of(url) == path


def test_the_number_of_a_request_has_two_names():
    assert transport.request_id({"x-openstack-request-id": "req-1", "x-compute-request-id": "req-2"}) == "req-1"
    assert transport.request_id({"x-compute-request-id": "req-2"}) == "req-2"
    assert transport.request_id({}) is None


def test_dates_of_answers_are_kept_for_the_clock(cloud, connect):
    connection = connect()
    names(connection)
    assert len(connection.samples) == len(cloud.requests)
    sent, date, received = connection.samples[-1]
    assert sent <= received
    assert date.endswith(" GMT")


@pytest.mark.parametrize("how", ["reset", "cut", 502, 503, 504])
def test_a_get_that_was_lost_on_the_way_is_repeated(cloud, connect, how):
    cloud.put("networks", name="n")
    cloud.trouble("GET", NETWORKS, how, times=2)
    connection = connect()
    assert names(connection) == ["n"]
    word = {"reset": "ConnectionError", "cut": "ChunkedEncodingError"}.get(how, how)
    assert answers(connection) == [word, word, 200]


def test_a_delete_is_repeated(cloud, connect):
    network = cloud.put("networks", name="n")
    cloud.trouble("DELETE", NETWORKS, "reset")
    connection = connect()
    connection.network.delete_network(network["id"])
    assert cloud.all("networks") == []
    assert answers(connection, f"{NETWORKS}/{network['id']}") == ["ConnectionError", 204]


@pytest.mark.parametrize("status", [500, 400, 404, 409])
def test_an_answer_of_the_service_itself_is_not_repeated(cloud, connect, status):
    cloud.trouble("GET", NETWORKS, status)
    connection = connect()
    error, unanswered = failed(lambda: names(connection))
    assert error["status"] == status
    assert not unanswered
    assert answers(connection) == [status]


def test_a_gateway_that_stays_without_its_service_is_reported_after_four_attempts(cloud, connect):
    cloud.trouble("GET", NETWORKS, 503, times=99)
    connection = connect()
    error, _unanswered = failed(lambda: names(connection))
    assert (error["kind"], error["status"]) == ("service", 503)
    assert error["request_id"] == connection.calls[-1].request_id
    assert answers(connection) == [503] * 4
    begun = [call.started for call in connection.calls[-4:]]
    rests = [session.PAUSES[number] / 50 for number in range(3)]
    assert all(later - earlier >= rest for earlier, later, rest in zip(begun, begun[1:], rests))


def test_the_attempts_take_a_few_seconds():
    assert session.PAUSES == (0.25, 1, 2)


@pytest.mark.parametrize("how", ["reset", "cut", 502, 503, 504])
@pytest.mark.parametrize("effect", [False, True])
def test_a_post_is_never_repeated(cloud, connect, how, effect):
    cloud.trouble("POST", NETWORKS, how, effect=effect)
    connection = connect()
    error, unanswered = failed(lambda: connection.network.create_network(name="n"))
    assert unanswered
    assert error["kind"] == ("service" if isinstance(how, int) else "unreachable")
    assert cloud.asked("POST", NETWORKS) == [("POST", NETWORKS)]
    assert len(answers(connection)) == 1


@pytest.mark.parametrize("name", ["neutron quota", "neutron forbidden", "neutron invalid"])
def test_a_refused_post_has_been_answered(cloud, connect, name):
    cloud.trouble("POST", NETWORKS, name)
    _error, unanswered = failed(lambda: connect().network.create_network(name="n"))
    assert not unanswered


def test_a_request_for_a_token_is_repeated(cloud, connect):
    cloud.trouble("POST", "/auth/tokens", "reset")
    cloud.trouble("POST", "/auth/tokens", 503)
    connection = connect()
    assert names(connection) == []
    assert answers(connection, "/identity/v3/auth/tokens") == ["ConnectionError", 503, 201]


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_a_token_that_expires_in_the_middle_is_renewed(cloud, connect, method):
    connection = connect()
    names(connection)
    cloud.expire_tokens()
    connection.network.create_network(name="n") if method == "POST" else names(connection)
    calls = [(call.method, call.status) for call in connection.calls[-3:]]
    assert calls == [(method, 401), ("POST", 201), (method, 201 if method == "POST" else 200)]
    assert connection.calls[-2].service == "identity"
    assert len(cloud.all("networks")) == (method == "POST")


def test_a_token_that_is_refused_again_is_not_renewed_for_ever(cloud, connect):
    connection = connect()
    names(connection)
    cloud.trouble("GET", NETWORKS, "neutron unauthorized", times=99)
    error, _unanswered = failed(lambda: names(connection))
    assert error["kind"] == "unauthorized"
    assert answers(connection) == [200, 401, 401]


def test_a_wrong_password_is_asked_for_once(cloud, connect, know_cloud):
    entry = cloud.entry()
    entry["auth"]["password"] = "not-the-word"
    know_cloud(small=entry)
    connection = connect()
    error, _unanswered = failed(lambda: names(connection))
    assert error["kind"] == "unauthorized"
    assert error["message"].startswith(
        "asking: the cloud answered (401): The request you have made requires authentication"
    )
    assert "clouds.yaml" in error["hint"]
    assert answers(connection, "/identity/v3/auth/tokens") == [401]
    assert "not-the-word" not in str((error, connection.calls))


def test_an_address_where_nobody_listens_is_unreachable(cloud, connect, know_cloud):
    with socket.socket() as channel:
        # Bound for as long as the test asks, so that nobody else can listen there.
        channel.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{channel.getsockname()[1]}"
        entry = cloud.entry()
        entry["auth"]["auth_url"] = f"{address}/v3"
        know_cloud(small=entry)
        connection = connect()
        error, _unanswered = failed(lambda: names(connection))
    assert error["kind"] == "unreachable"
    assert address in error["message"]
    assert "this machine reaches the address" in error["hint"]
    assert {call.error for call in connection.calls} == {"connection refused"}


@pytest.mark.parametrize("place", ["", "/v3"], ids=["found out", "given"])
def test_a_certificate_that_nobody_signed_is_a_matter_of_tls(tls_cloud, connect, know_cloud, place):
    entry = tls_cloud.entry()
    entry["auth"]["auth_url"] = tls_cloud.url + place
    know_cloud(small=entry)
    connection = connect()
    error, _unanswered = failed(lambda: names(connection))
    assert error["kind"] == "tls"
    assert "ca_cert" in error["hint"]
    assert {call.error for call in connection.calls} == {"SSLError"}
    assert tls_cloud.requests == []


def test_a_certificate_of_a_known_authority_is_good(tls_cloud, connect):
    assert connect(ca_cert=tls_cloud.certificate).session.get_project_id()


@pytest.mark.usefixtures("tls_cloud")
def test_certificates_are_not_checked_if_so_wished(connect):
    assert connect(validate_certs=False).session.get_project_id()


@pytest.mark.usefixtures("tls_cloud")
def test_an_authority_that_is_not_there_is_a_matter_of_tls(connect, tmp_path):
    connection = connect(ca_cert=str(tmp_path / "none.pem"))
    error, _unanswered = failed(lambda: names(connection))
    assert error["kind"] == "tls"
    assert str(tmp_path / "none.pem") in error["message"]
    assert connection.calls[0].error


def test_after_the_deadline_a_request_has_a_second_and_no_repeats(cloud, connect):
    connection = connect(timeout=1e-9)
    assert names(connection) == []
    cloud.trouble("GET", NETWORKS, "reset", times=99)
    failed(lambda: names(connection))
    assert answers(connection) == [200, "ConnectionError"]


def test_services_are_named_by_the_endpoint_most_alike():
    def call(host, path, service=None):
        return Call("GET", service, path, status=200, started=0.0, seconds=0.1, request_id=None, host=host)

    calls = [
        call("h:1", "/compute/v2.1"),
        call("h:1", "/compute"),
        call("h:1", "/image/v2"),
        call("h:2", "/v3"),
        call("h:3", "/v3"),
        call("h:1", "/compute/v2.1", "image"),
    ]
    endpoints = [("compute", "http://h:1/compute/v2.1"), ("image", "http://h:1/image"), ("identity", "http://h:2/v3")]
    named = addresses.with_services(calls, endpoints)
    assert [call.service for call in named] == ["compute", "compute", "image", "identity", None, "image"]


@pytest.mark.parametrize("how", ["drip", "drip-headers"])
def test_the_deadline_bounds_a_service_that_answers_byte_by_byte(cloud, connect, how):
    """Each byte renews the time of a read, so that the answer alone would take twenty seconds and more."""
    cloud.trouble("GET", NETWORKS, how, times=9)
    connection = connect(timeout=1)
    connection.session.get_token()
    begun = time.monotonic()
    error, unanswered = failed(lambda: names(connection))
    assert time.monotonic() - begun < 4
    assert (error["kind"], unanswered) == ("unreachable", True)
    assert set(answers(connection)) == {"ReadTimeout"}


@pytest.fixture
def elsewhere(cloud):
    other = type(cloud)()
    yield other
    other.close()


@pytest.mark.parametrize("status", [301, 302, 303, 305, 306, 307, 308])
def test_no_token_follows_a_redirect_to_another_address(cloud, connect, elsewhere, status):
    cloud.trouble("GET", NETWORKS, (status, {"location": elsewhere.url + NETWORKS}, ""), times=9)
    error, _unanswered = failed(lambda: names(connect()))
    assert "sends to another address" in error["message"]
    assert elsewhere.requests == []


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("https://iam.example.org:443/v3", "https://iam.example.org/v3/"),
        ("http://iam.example.org/v3", "http://iam.example.org:80/v3/"),
        ("http://iam.example.org/v3", "https://iam.example.org/v3/"),
    ],
)
def test_a_port_that_is_the_usual_one_need_not_be_said(old, new):
    answer = SimpleNamespace(status_code=301, headers={"location": new})
    assert transport.refuse_another_address("GET", old, answer) is None


@pytest.mark.parametrize("after", ["7", "0", "Wed, 21 Oct 2026 07:28:00 GMT", None])
def test_a_service_says_when_to_ask_again(after):
    answer = SimpleNamespace(headers={} if after is None else {"retry-after": after})
    assert session.pause_of(answer) == (7 if after == "7" else session.SHORTEST_PAUSE)


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_a_request_of_too_many_is_sent_again(cloud, connect, method):
    cloud.trouble(method, NETWORKS, (429, {"retry-after": "0"}, {}), times=3)
    neutron = connect().network
    answer = neutron.get("/networks") if method == "GET" else neutron.post("/networks", json={"network": {"name": "x"}})
    assert answer.status_code in (200, 201)
    assert len(cloud.asked(method, NETWORKS)) == 4


def test_too_many_requests_until_the_deadline_are_told(cloud, connect):
    cloud.trouble("GET", NETWORKS, (429, {"retry-after": "3600"}, {}), times=9)
    error, unanswered = failed(lambda: names(connect()))
    assert (error["kind"], unanswered) == ("too_many", False)
    assert "takes no more requests" in error["hint"]


@pytest.mark.parametrize("status", [302, 307, 308])
def test_no_password_follows_a_redirect_to_another_address(cloud, connect, elsewhere, status):
    cloud.trouble(
        "POST", "/auth/tokens", (status, {"location": f"{elsewhere.url}/identity/v3/auth/tokens"}, ""), times=9
    )
    error, _unanswered = failed(connect().session.get_token)
    assert "sends to another address" in error["message"]
    assert elsewhere.requests == []


def test_a_redirect_within_the_service_is_followed(cloud, connect):
    cloud.trouble("GET", f"{NETWORKS}$", (307, {"location": f"{cloud.url}{NETWORKS}?once=more"}, ""))
    assert names(connect()) is not None
    assert cloud.asked("GET", NETWORKS)[-1][1].startswith(NETWORKS)


def test_an_answer_without_end_is_read_no_further_than_any_service_sends(cloud, connect, monkeypatch):
    monkeypatch.setattr(transport, "LARGEST", 1 << 20)
    cloud.trouble("GET", NETWORKS, (200, {}, {"networks": ["x" * (3 << 20)]}))
    error, _unanswered = failed(lambda: names(connect()))
    assert error["message"].endswith(f"answers with more than 1 MiB to {NETWORKS}")
    assert names(connect()) is not None
