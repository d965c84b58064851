# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The verdict in the description of a kept server, and what becomes of a run whose cloud does not take it."""

from __future__ import annotations

import dataclasses

import pytest
from ansible_collections.stackproof.provision.plugins.module_utils._end import description
from ansible_collections.stackproof.provision.plugins.module_utils._model.words import Result
from ansible_collections.stackproof.provision.plugins.module_utils._record import ledger, masking
from ansible_collections.stackproof.provision.plugins.module_utils._report import text

HEADLINE = "neutron-dhcp-agent (network1): stopped 67 s ago"


@pytest.fixture
def kept(run, cloud):
    """Return a function that keeps servers of the run, gives it a verdict, and returns the servers of the cloud."""

    def make(*kinds, result=Result.FAIL, headline=HEADLINE, reason="The guest asked for a lease and got none."):
        servers = [cloud.put("servers", name=f"{run.mark}-{kind.replace('_', '-')}") for kind in kinds]
        for kind, server in zip(kinds, servers):
            run.ledger.write(ledger.MADE, kind, server["name"], id=server["id"])
        verdict = dataclasses.replace(run.record.verdict, result=result, headline=headline, reason=reason)
        run.update(kept=True, verdict=verdict)
        return servers

    return make


def test_kept_server_shows_what_was_wrong(kept, run, params, cloud, nothing_secret):
    (server,) = kept("server")
    description.describe(run, params)
    assert server["description"] == f"Kept by stackproof, run run-1: FAIL: {HEADLINE}"
    written = run.record.server_description
    assert (written.text, written.error) == (server["description"], None)
    assert [(call.method, call.path, call.status) for call in written.calls if call.method == "PUT"] == [
        ("PUT", f"/compute/v2.1/servers/{server['id']}", 200)
    ]
    (request,) = [request for request in cloud.requests if request.method == "PUT"]
    assert request.headers["OpenStack-API-Version"] == "compute 2.19"
    nothing_secret(cloud, run.directory)


def test_description_of_a_pass_is_its_result(kept, run, params):
    (server,) = kept("server", result=Result.PASS, headline=None)
    description.describe(run, params)
    assert server["description"] == "Kept by stackproof, run run-1: PASS"


def test_reason_stands_for_a_headline_that_is_missing(kept, run, params):
    (server,) = kept("server", result=Result.INCOMPLETE, headline=None)
    description.describe(run, params)
    assert server["description"].endswith(": INCOMPLETE: The guest asked for a lease and got none.")


def test_both_servers_are_described(kept, run, params):
    servers = kept("server", "second_server")
    description.describe(run, params)
    assert len({server["description"] for server in servers}) == 1


def test_long_verdict_is_cut_at_a_word(kept, run, params):
    (server,) = kept("server", headline=None, reason="boot: the well-known host has no room for it. " * 9)
    description.describe(run, params)
    assert 240 < len(server["description"]) <= 255
    assert server["description"].removesuffix(" ...").split()[-1] in run.record.verdict.reason.split()


def test_secret_does_not_reach_the_description(kept, run, params):
    masking.learn("correct-horse-battery-9")
    (server,) = kept("server", headline="nova-api (c1): got correct-horse-battery-9 and --token {}".format("x9" * 4))
    description.describe(run, params)
    assert server["description"].endswith("nova-api (c1): got *** and --token ***")


def test_refusal_is_reported_in_one_line_and_fails_nothing(kept, run, params, cloud):
    (server,) = kept("server")
    cloud.trouble("PUT", "/servers/", "nova unknown version")
    description.describe(run, params)
    error = run.record.server_description.error
    assert error.startswith("writing the verdict into the description of the server: the cloud answered (406): Version")
    assert "description" not in server
    lines = text.leftover_lines(run.record, run.directory)
    assert [line for line in lines if "description" in line] == [f"  its description: {error}"]
    assert run.record.verdict.result is Result.FAIL


def test_cloud_that_is_away_is_reported(kept, run, params, know_cloud):
    kept("server")
    know_cloud()
    description.describe(run, params)
    assert "the cloud small cannot be used" in run.record.server_description.error


def test_nothing_is_written_where_no_server_is_kept(kept, run, params, cloud):
    kept()
    description.describe(run, params)
    (server,) = kept("server")
    run.update(kept=False)
    description.describe(run, params)
    assert (run.record.server_description, cloud.requests) == (None, [])
    assert "description" not in server


def test_line_of_the_ledger_that_no_run_wrote_is_not_followed(kept, run, params, cloud):
    kept()
    foreign = cloud.put("servers", name="production")
    run.ledger.write(ledger.MADE, "server", "production", id=foreign["id"])
    description.describe(run, params)
    assert cloud.requests == []
