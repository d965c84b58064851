# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The refusals of a real cloud's services, put into words and kinds."""

from __future__ import annotations

import errno
import time
from types import SimpleNamespace

import pytest
import requests
from ansible_collections.stackproof.provision.plugins.module_utils._cloud import errors as cloud_errors
from ansible_collections.stackproof.provision.plugins.module_utils._record import errors
from keystoneauth1 import exceptions as keystone
from openstack import exceptions as sdk

URL = "http://127.0.0.1:9/v2.0/networks"


def response(status, text, headers):
    made = requests.Response()
    made.status_code, made.url, made.encoding = status, URL, "utf-8"
    made._content = text.encode()
    made.headers.update(headers)
    made.request = requests.Request("GET", URL).prepare()
    return made


def as_sdk_raises(status, text, **headers):
    with pytest.raises(sdk.SDKException) as caught:
        sdk.raise_from_response(response(status, text, headers))
    return caught.value


def as_keystoneauth_raises(status, text, **headers):
    return keystone.from_response(response(status, text, headers), "GET", URL)


BOTH = pytest.mark.parametrize("raised", [as_sdk_raises, as_keystoneauth_raises])
SAID = {
    "nova not found": ("not_found", "Instance 00000000-0000-4000-8000-000000000000 could not be found."),
    "nova invalid": (
        "invalid",
        "Invalid input for field/attribute server. Value: {'name': 'x'}. 'flavorRef' is a required property",
    ),
    "nova quota": ("quota", "Maximum number of ports exceeded"),
    "nova quota instances": (
        "quota",
        "Quota exceeded for instances: Requested 100, but already used 2 of 60 instances",
    ),
    "nova forbidden": ("forbidden", "Policy doesn't allow os_compute_api:os-hypervisors:list to be performed."),
    "nova conflict": (
        "conflict",
        "Cannot 'start' instance f97fb71b-c28f-4a38-a813-f1cc5a5d9fc6 while it is in vm_state active",
    ),
    "nova unknown version": (
        "invalid",
        "Version 9.99 is not supported by the API. Minimum is 2.1 and maximum is 2.100.",
    ),
    "nova unauthorized": ("unauthorized", "The request you have made requires authentication."),
    "neutron not found": ("not_found", "Network 00000000-0000-4000-8000-000000000000 could not be found."),
    "neutron invalid": ("invalid", "Invalid input for operation: nonsense is not in a CIDR format."),
    "neutron in use": (
        "conflict",
        "Unable to complete operation on network d0243f5c-6fc3-473a-a809-3eb7cb23b15d. There are one or more ports"
        " still in use on the network, id for these ports is: d4cfa849-4fb5-4e35-a00e-52df66881f5c.",
    ),
    "neutron forbidden": (
        "forbidden",
        "((rule:create_network and rule:create_network:provider:network_type) and"
        " rule:create_network:provider:physical_network) is disallowed by policy",
    ),
    "neutron group in use": ("conflict", "Security Group 9e03c312-a572-4fa9-a261-4525013356ab in use."),
    "neutron quota": ("quota", "Quota exceeded for resources: ['network']."),
    "cinder not found": ("not_found", "Volume 00000000-0000-4000-8000-000000000000 could not be found."),
    "cinder invalid": (
        "invalid",
        "Invalid input for field/attribute size. Value: -1. -1 is less than the minimum of 1",
    ),
    "cinder quota": (
        "quota",
        "VolumeSizeExceedsAvailableQuota: Requested volume or snapshot exceeds allowed gigabytes quota. Requested"
        " 5000G, quota is 1000G and 2G has been consumed.",
    ),
    "glance not found": (
        "not_found",
        "404 Not Found No image found with ID 00000000-0000-4000-8000-000000000000",
    ),
    "glance forbidden": ("forbidden", "403 Forbidden You are not authorized to complete delete_image action."),
    "keystone unauthorized": ("unauthorized", "The request you have made requires authentication."),
    "keystone forbidden": (
        "forbidden",
        "You are not authorized to perform the requested action: identity:list_users.",
    ),
    "keystone not found": (
        "not_found",
        "Not Found The requested URL was not found on the server. If you entered the URL manually please check your"
        " spelling and try again.",
    ),
}


@BOTH
@pytest.mark.parametrize("name", SAID)
def test_a_recorded_refusal_is_told_in_the_services_own_words(recorded_answer, raised, name):
    line, (kind, message) = recorded_answer(name), SAID[name]
    error = cloud_errors.explain(raised(line["status"], line["text"], **line["headers"]), "making it")
    assert error["answer"] == message
    assert error["kind"] == kind
    assert error["status"] == line["status"]
    assert error["request_id"] == line["headers"]["x-openstack-request-id"]
    assert error["hint"] == errors.HINTS[kind]
    assert error["message"] == (
        f"making it: the cloud answered ({line['status']}): {message.rstrip('.')} (request {error['request_id']})"
    )


def test_what_is_for_a_browser_alone_is_left_out(recorded_answer):
    line = recorded_answer("glance unauthorized")
    error = cloud_errors.explain(as_sdk_raises(line["status"], line["text"], **line["headers"]), "making it")
    assert error["answer"] == "401 Unauthorized"


@BOTH
def test_words_of_an_html_page_are_unescaped_and_short(recorded_answer, raised):
    line = recorded_answer("glance invalid")
    message = cloud_errors.explain(raised(line["status"], line["text"], **line["headers"]), "making it")["answer"]
    assert message.startswith("400 Bad Request Provided object does not match schema 'image': 'nonsense' is not one of")
    assert len(message) <= 500


@BOTH
@pytest.mark.parametrize(
    ("status", "text", "kind", "message"),
    [
        (502, "<html><head><title>502</title></head><body>Bad Gateway</body></html>", "service", "Bad Gateway"),
        (503, "No server is available to handle this request.", "service", "No server is available to handle this"),
        (500, '{"computeFault": {"code": 500, "message": "Unexpected API Error."}}', "service", "Unexpected API Error"),
        (
            503,
            '{"message": "Try again.<br /><br />\\nKeystone is away.\\n\\n"}',
            "service",
            "Try again. Keystone is away.",
        ),
        (500, '{"computeFault": {"code": 500}', "service", '{"computeFault"'),
        (409, '{"errors": [{"status": 409, "title": "Conflict", "detail": "generation differs"}]}', "conflict", "gen"),
        (400, '{"error_message": {"faultcode": "Client", "faultstring": "bad node"}}', "invalid", "bad node"),
        (404, '{"NeutronError": "no such thing"}', "not_found", '{"NeutronError": "no such thing"}'),
        (400, '{"badRequest": {"message": ""}}', "invalid", '{"badRequest"'),
        (400, "[]", "invalid", "[]"),
        (413, '{"error": {"message": "Request is too large. Larger than x"}}', "service", "Request is too large"),
        (
            413,
            "the amount of data provided in the request\nexceeds the capacity limit.",
            "service",
            "the amount of data",
        ),
        (413, '{"overLimit": {"message": "VolumeSizeExceedsLimit: x"}}', "quota", "VolumeSizeExceedsLimit"),
        (400, '{"errors": []}', "invalid", '{"errors": []}'),
        (
            403,
            '{"forbidden": {"code": 403, "message": "locked_memory value in image or flavor is forbidden when'
            ' mem_page_size is not set"}}',
            "invalid",
            "locked_memory value",
        ),
        (
            403,
            '{"forbidden": {"code": 403, "message": "The maximum allowed number of disk devices (1) to attach'
            ' to a single instance has been exceeded."}}',
            "invalid",
            "The maximum allowed number of disk devices",
        ),
        (403, "<html><title>403</title><body>Forbidden</body></html>", "forbidden", "Forbidden"),
        (403, "<h1>403 Forbidden</h1> Request forbidden by administrative rules.", "forbidden", "403 Forbidden"),
        (403, '{"forbidden": {"code": 403, "message": "Policy doesn\'t allow it."}}', "forbidden", "Policy doesn't"),
    ],
)
def test_other_shapes_of_answers_are_told_as_well(raised, status, text, kind, message):
    headers = {"content-type": "application/json" if text[0] in "{[" else "text/html"}
    error = cloud_errors.explain(raised(status, text, **headers), "making it")
    assert (error["kind"], error["status"], error["request_id"]) == (kind, status, None)
    assert error["answer"].startswith(message)
    assert "(request" not in error["message"]


@BOTH
def test_of_the_page_of_a_web_server_only_what_happened_is_told(raised):
    page = "<h1>Internal Server Error</h1>\n<p>It has met an error.</p>\n<p>Please write to webmaster@localhost.</p>"
    error = cloud_errors.explain(raised(500, page, **{"content-type": "text/html"}), "making it")
    assert error["answer"] == "Internal Server Error It has met an error."


@BOTH
def test_an_answer_without_words_is_told_by_its_status(raised):
    error = cloud_errors.explain(raised(503, ""), "making it")
    assert error["kind"] == "service"
    assert error["message"].startswith("making it: the cloud answered (503): ")
    assert error["answer"]


@pytest.mark.parametrize(
    ("exc", "kind"),
    [
        (keystone.ConnectFailure("refused"), "unreachable"),
        (keystone.ConnectTimeout("timed out"), "unreachable"),
        (keystone.UnknownConnectionError("cut off", Exception()), "unreachable"),
        (keystone.SSLError("self-signed"), "tls"),
        (keystone.DiscoveryFailure("Unable to establish connection to http://127.0.0.1:9"), "unreachable"),
        (keystone.DiscoveryFailure("SSL exception connecting to https://127.0.0.1:9"), "tls"),
        (keystone.DiscoveryFailure("Invalid Response - Bad version data returned"), "catalog"),
        (keystone.DiscoveryFailure("Could not find versioned endpoints. Service Unavailable (HTTP 503)"), "service"),
        (keystone.DiscoveryFailure("Could not find versioned endpoints. Not Found (HTTP 404)"), "catalog"),
        (keystone.EndpointNotFound("no endpoint"), "catalog"),
        (keystone.MissingRequiredOptions([]), "config"),
        (keystone.NoMatchingPlugin("nonsense"), "config"),
        (sdk.ConfigException("no such cloud"), "config"),
        (sdk.DuplicateResource("two of them"), "ambiguous"),
        (Exception("password is a required attribute"), "config"),
        (OSError("Could not find a suitable TLS CA certificate bundle, invalid path: /x"), "tls"),
        (OSError(errno.ENOSPC, "No space left on device", "/runs/TLS/run.json"), "files"),
        (errors.Interrupted("SIGTERM"), "interrupted"),
        (ZeroDivisionError("division by zero"), "internal"),
        (Exception("something else"), "internal"),
        (ValueError("it is a required attribute"), "malformed"),
        (KeyError("id"), "malformed"),
    ],
)
def test_each_failure_has_a_kind_words_and_a_hint(exc, kind):
    error = cloud_errors.explain(exc, "looking")
    assert error["kind"] == kind
    assert error["message"].startswith("looking: ")
    assert error["hint"] == errors.HINTS[kind]
    assert list(error) == [
        "kind",
        "message",
        "resource",
        "answer",
        "status",
        "request_id",
        "hint",
        "details",
    ]


def test_a_long_page_without_ends_takes_no_long_time():
    page = SimpleNamespace(response=SimpleNamespace(text="<title " * 200000))
    began = time.process_time()
    assert len(cloud_errors.message_of(page)) <= 500
    assert time.process_time() - began < 2
