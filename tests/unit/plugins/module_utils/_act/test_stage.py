# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A stage makes each thing once, whatever becomes of the answers, and always leaves a record."""

from __future__ import annotations

import errno
import json
import os
import signal
import time
from pathlib import Path
from types import SimpleNamespace

import pytest
from ansible_collections.stackproof.provision.plugins.module_utils._act import stage as stage_module
from ansible_collections.stackproof.provision.plugins.module_utils._model.details import Details
from ansible_collections.stackproof.provision.plugins.module_utils._model.stage import Resource, Stage
from ansible_collections.stackproof.provision.plugins.module_utils._model.words import StageName, StageStatus
from ansible_collections.stackproof.provision.plugins.module_utils._record import run as run_module
from ansible_collections.stackproof.provision.plugins.module_utils._record import shared_memory
from ansible_collections.stackproof.provision.plugins.module_utils._record.errors import StageError
from keystoneauth1.exceptions import ConnectTimeout, Forbidden
from openstack.exceptions import HttpException

NAME = "stackproof-run-1-network"
NETWORKS = "/network/v2.0/networks"
pytestmark = pytest.mark.usefixtures("hurry")


def create(stage):
    """Make the network of the run, as the stage network does."""
    network = stage.cloud.network
    return stage.create(
        "network",
        NAME,
        lambda: network.create_network(name=NAME),
        lambda: next(iter(network.networks(name=NAME)), None),
    )


def ledger(run):
    """The ledger's events from the file, not from memory."""
    lines = Path(run.path("ledger.jsonl")).read_text().splitlines()
    return [(line["event"], line.get("id")) for line in map(json.loads, lines)]


def on_disk(run, name="network"):
    """The record of a stage, as a later process reads it."""
    return run_module.Run(run.directory).stage(name)


def test_a_line_is_on_disk_before_the_cloud_is_asked_to_make_something(cloud, run, stage):
    before = []
    post = ("POST", NETWORKS)
    cloud.watchers.append(
        lambda request: before.append(ledger(run)) if (request.method, request.path) == post else None
    )
    made = create(stage())
    assert before == [[("begun", None)]]
    assert ledger(run) == [("begun", None), ("made", made.id)]
    assert [network["name"] for network in cloud.all("networks")] == [NAME]


def test_what_was_made_is_a_resource_of_the_stage(cloud, stage):
    at_work = stage()
    made = create(at_work)
    assert at_work.resources == [Resource("network", made.id, NAME, created=True)]
    assert at_work.changed
    assert cloud.asked("POST", NETWORKS) == [("POST", NETWORKS)]


def test_what_the_run_has_made_before_is_not_made_again(cloud, run, stage, params):
    first = create(stage())
    again = create(stage_module.Stage(StageName.NETWORK, run_module.Run(run.directory), params, Details()))
    assert again.id == first.id
    assert len(cloud.all("networks")) == 1


def test_what_was_begun_but_never_made_is_made(cloud, run, stage):
    run.ledger.write("begun", "network", NAME)
    create(stage())
    assert len(cloud.all("networks")) == 1


def test_what_another_run_of_a_chosen_id_has_made_is_neither_taken_nor_doubled(cloud, run, stage):
    other = cloud.put("networks", name=NAME)
    with pytest.raises(StageError, match=f"the network {NAME} is on the cloud already, and this run did not") as caught:
        create(stage())
    assert (caught.value.record["kind"], caught.value.record["resource"]) == ("conflict", NAME)
    assert "Choose another run_id" in caught.value.record["hint"]
    assert cloud.all("networks") == [other]
    assert ledger(run) == []


def test_an_id_by_chance_is_not_looked_for(cloud, params, tmp_path):
    run, _new = run_module.begin(str(tmp_path), run_module.new_run_id(), "small")
    create(stage_module.Stage(StageName.NETWORK, run, params, Details()))
    assert cloud.asked(path=NETWORKS) == [("POST", NETWORKS)]


@pytest.mark.parametrize("how", ["reset", "cut", 502, 503, 504])
def test_a_creation_whose_answer_is_lost_is_found(cloud, run, stage, how):
    cloud.trouble("POST", NETWORKS, how, effect=True)
    at_work = stage()
    made = create(at_work)
    assert [network["id"] for network in cloud.all("networks")] == [made.id]
    assert cloud.asked("POST", NETWORKS) == [("POST", NETWORKS)]
    assert at_work.details.found_without_answer == (NAME,)
    assert ledger(run)[-1] == ("made", made.id)


def test_a_creation_that_shows_late_is_found(cloud, stage):
    cloud.trouble("POST", NETWORKS, "reset")
    asked = []

    def appear(request):
        if (request.method, request.path) == ("GET", NETWORKS):
            asked.append(request)
            if len(asked) == stage_module.LOOKS_AFTER_BREAK:
                cloud.put("networks", name=NAME)

    cloud.watchers.append(appear)
    made = create(stage())
    assert [network["id"] for network in cloud.all("networks")] == [made.id]
    assert cloud.asked("POST", NETWORKS) == [("POST", NETWORKS)]


@pytest.mark.parametrize("how", ["reset", 503])
def test_a_creation_that_took_no_effect_is_repeated_once_after_looking(cloud, stage, how):
    cloud.trouble("POST", NETWORKS, how)
    at_work = stage()
    create(at_work)
    asked = [method for method, _path in cloud.asked(path=NETWORKS)]
    assert asked == ["GET", "POST", *["GET"] * stage_module.LOOKS_AFTER_BREAK, "POST"]
    assert len(cloud.all("networks")) == 1
    assert at_work.details.found_without_answer == ()


def test_a_creation_that_is_lost_twice_is_given_up_and_stays_lost(cloud, run, stage):
    cloud.trouble("POST", NETWORKS, "reset", times=99)
    with pytest.raises(Exception, match="Unable to establish connection"):
        create(stage())
    assert len(cloud.asked("POST", NETWORKS)) == 2
    assert ledger(run) == [("begun", None), ("lost", None)]
    assert [entry["hangs"] for entry in run.ledger.entries.values()] == [False]


def test_a_creation_that_hangs_is_not_asked_for_twice(cloud, run, stage, monkeypatch):
    """A service that hangs may still come to it, and then there would be two."""
    monkeypatch.setattr(stage_module, "LOOKS_AFTER_TIMEOUT", 8)
    cloud.trouble("POST", NETWORKS, "hang")
    with pytest.raises(Exception, match="timed out"):
        create(stage(api_timeout=0.2))
    assert cloud.asked("POST", NETWORKS) == [("POST", NETWORKS)]
    assert ledger(run) == [("begun", None), ("lost", None)]
    assert [entry["hangs"] for entry in run.ledger.entries.values()] == [True]


def test_a_creation_that_hangs_though_it_took_effect_is_found(cloud, stage):
    cloud.trouble("POST", NETWORKS, "hang", effect=True)
    at_work = stage(api_timeout=0.2)
    made = create(at_work)
    assert [network["id"] for network in cloud.all("networks")] == [made.id]
    assert [call.error for call in at_work.calls if not call.status] == ["ReadTimeout"]
    assert cloud.asked("POST", NETWORKS) == [("POST", NETWORKS)]


@pytest.mark.parametrize(
    ("name", "event"), [("neutron quota", "refused"), ("neutron forbidden", "refused"), (500, "begun")]
)
def test_a_refused_creation_leaves_nothing_to_clean_up_unless_the_service_failed(cloud, run, stage, name, event):
    cloud.trouble("POST", NETWORKS, name)
    with pytest.raises(HttpException):
        create(stage())
    assert ledger(run)[-1] == (event, None)
    assert cloud.asked("POST", NETWORKS) == [("POST", NETWORKS)]


def test_a_full_disk_stops_a_creation_before_the_cloud_is_asked(cloud, stage, monkeypatch):
    def full(*_args, **_more):
        raise OSError(errno.ENOSPC, "No space left on device")

    at_work = stage()
    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(OSError, match="No space left"):
        create(at_work)
    assert cloud.asked("POST", NETWORKS) == []


def test_a_stage_that_works_leaves_its_record(cloud, run, stage):
    record, trace = stage_module.perform(stage(), lambda stage: create(stage) and None)
    assert trace is None
    assert (record.status, record.error) == ("ok", None)
    assert record == on_disk(run)
    assert record.duration_s > 0
    assert [call.status for call in record.calls] == [200, 201, 200, 201]
    assert [call.host for call in record.calls] == [cloud.url.removeprefix("http://")] * 4


def test_a_stage_with_nothing_to_do_is_skipped_and_asks_nobody(cloud, stage):
    record, _trace = stage_module.perform(stage(), lambda _stage: StageStatus.SKIPPED)
    assert (record.status, record.error) == ("skipped", None)
    assert cloud.requests == []


def test_a_stage_that_fails_says_what_it_was_doing(cloud, run, stage):
    cloud.trouble("POST", NETWORKS, "neutron quota")
    record, trace = stage_module.perform(stage(), create)
    assert trace is None
    assert (record.status, record.error.kind) == ("failed", "quota")
    assert record.error.message.startswith(
        f"creating the network {NAME}: the cloud answered (409): Quota exceeded for resources: ['network'] (request"
    )
    assert record.error.hint
    assert on_disk(run) == record


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        (StageName.NETWORK, "Look at the variables that begin with stackproof_network_."),
        (StageName.AUTH, "Look at the values given."),
    ],
)
def test_what_a_cloud_does_not_take_is_looked_for_in_the_variables_of_the_stage(stage, name, hint):
    def refuse(_stage):
        raise HttpException("Invalid input for cidr", http_status=400)

    refused = stage()
    refused.name = name
    record, _trace = stage_module.perform(refused, refuse)
    assert record.error.kind == "invalid"
    assert record.error.hint == hint


def test_a_stage_that_is_at_work_says_that_it_was_begun(run, stage):
    seen = []
    stage_module.perform(stage(), lambda _one: seen.append(on_disk(run)))
    assert (seen[0].status, seen[0].error.kind) == ("failed", "interrupted")


@pytest.mark.parametrize(
    ("act", "kind", "words"),
    [
        (lambda _stage: 1 / 0, "internal", "ZeroDivisionError: division by zero"),
        # An answer may have another form than that of any service.
        (lambda _stage: {}["missing"], "malformed", "KeyError: 'missing'"),
    ],
)
def test_a_defect_of_ours_is_called_one_and_keeps_its_traceback(run, stage, act, kind, words):
    record, trace = stage_module.perform(stage(), act)
    assert record.error.kind == kind
    assert "report it" in record.error.hint
    assert words in trace
    assert on_disk(run) == record


@pytest.mark.parametrize("identity", [None, 5, "", "../networks", ["a"]])
def test_a_thing_without_an_id_is_looked_for_by_its_name_later(cloud, run, stage, identity):
    body = {"network": {"id": identity, "name": NAME}}
    cloud.trouble("POST", "/networks", (201, {}, body), effect=True)
    record, _trace = stage_module.perform(stage(), create)
    assert (record.error.kind, record.error.resource) == ("malformed", NAME)
    assert ledger(run) == [("begun", None)]


def test_an_option_that_is_not_text_is_refused_before_the_cloud_is_asked(stage):
    record, _trace = stage_module.perform(stage(region_name="a\udc80"), lambda _stage: pytest.fail("it was asked"))
    assert record.error.message == "region_name is not text in UTF-8: 'a\\udc80'"


@pytest.mark.usefixtures("cloud")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_stage_that_is_interrupted_leaves_its_record(run, stage, number):
    def act(stage):
        create(stage)
        os.kill(os.getpid(), number)
        time.sleep(5)

    record, trace = stage_module.perform(stage(), act)
    assert trace is None
    assert record.error.kind == "interrupted"
    assert number.name in record.error.message
    assert [resource.name for resource in record.resources] == [NAME]
    assert on_disk(run) == record
    assert [event for event, _id in ledger(run)] == ["begun", "made"]


def test_a_stage_that_is_interrupted_in_a_request_leaves_its_record(cloud, run, stage):
    def interrupt(request):
        if request.method == "POST" and request.path == NETWORKS:
            os.kill(os.getpid(), signal.SIGTERM)

    cloud.trouble("POST", NETWORKS, "hang")
    cloud.watchers.append(interrupt)
    record, _trace = stage_module.perform(stage(), create)
    assert record.error.kind == "interrupted"
    assert record.calls[-1].status is None
    assert record.calls[-1].error == "Interrupted"
    assert ledger(run) == [("begun", None)]


def test_an_interruption_is_not_kept_back_by_code_that_catches_every_exception(stage):
    def act(_one):
        try:
            os.kill(os.getpid(), signal.SIGTERM)
            time.sleep(5)
        except Exception:
            pytest.fail("kept back")

    record, _trace = stage_module.perform(stage(), act)
    assert record.error.kind == "interrupted"


def test_a_record_that_cannot_be_written_fails_the_stage(run, stage, monkeypatch):
    at_work, save = stage(), run_module.write_whole

    def act(_one):
        def full(path, _text):
            raise OSError(errno.ENOSPC, "No space left on device", path)

        monkeypatch.setattr(run_module, "write_whole", full)

    record, _trace = stage_module.perform(at_work, act)
    monkeypatch.setattr(run_module, "write_whole", save)
    assert (record.status, record.error.kind) == ("failed", "files")
    assert "No space left on device" in record.error.message
    assert on_disk(run).error.kind == "interrupted"


def test_a_stage_in_check_mode_writes_nothing(run, params):
    before = Path(run.path("run.json")).read_text()
    at_work = stage_module.Stage(StageName.NETWORK, run, params, Details(), check=True)

    def act(stage):
        stage.begin("looking")
        stage.wait("it", lambda: (True, "there", None))

    record, _trace = stage_module.perform(at_work, act)
    assert record.status == "ok"
    assert Path(run.path("run.json")).read_text() == before
    assert sorted(os.listdir(run.directory)) == ["ledger.jsonl", "run.json"]


def test_a_stage_ends_at_its_deadline(run, stage):
    def act(stage):
        stage.wait("the thing to be there", lambda: (False, "not yet", None))

    began = time.monotonic()
    record, _trace = stage_module.perform(stage(timeout=0.1), act)
    assert 0.1 <= time.monotonic() - began < 5
    assert record.error.kind == "deadline"
    assert record.waits[0].timed_out is True
    assert "the last state was not yet" in record.error.message
    assert on_disk(run) == record


def test_a_resource_is_written_down_once(stage):
    at_work = stage()
    for _time in range(2):
        at_work.use("image", SimpleNamespace(id="1", name="probe"))
    assert at_work.resources == [Resource("image", "1", "probe", created=False)]


def test_the_next_stage_uses_the_token_of_the_first(cloud, run, stage):
    Path(run.path("watched")).write_text(shared_memory.make())
    stage_module.perform(stage("auth"), lambda stage: stage.cloud.session.get_token() and None)
    record, _trace = stage_module.perform(stage(), lambda stage: create(stage) and None)
    assert record.status == "ok"
    assert len(cloud.asked("POST", "/auth/tokens")) == 1


def test_the_first_stage_always_asks_for_a_token(cloud, run, stage):
    Path(run.path("watched")).write_text(shared_memory.make())
    for _time in range(2):
        stage_module.perform(stage("auth"), lambda stage: stage.cloud.session.get_token() and None)
    assert len(cloud.asked("POST", "/auth/tokens")) == 2


def test_nothing_secret_is_written_whatever_happens(cloud, run, stage, nothing_secret):
    Path(run.path("watched")).write_text(shared_memory.make())
    stage_module.perform(stage("auth"), lambda stage: stage.cloud.session.get_token() and None)
    cloud.expire_tokens()
    cloud.trouble("POST", NETWORKS, "reset", effect=True)
    stage_module.perform(stage(), lambda stage: create(stage) and None)
    cloud.trouble("POST", NETWORKS, 500, times=9)
    stage_module.perform(stage("volume"), lambda stage: stage.cloud.network.create_network(name="x"))
    assert len(cloud.tokens) + len(cloud.old_tokens) == 2
    assert on_disk(run, "volume").status == "failed"
    nothing_secret(cloud, run.directory)


@pytest.mark.parametrize(
    ("record", "finished"),
    [
        (None, False),
        (Stage(StageName.BOOT, StageStatus.OK), True),
        (Stage(StageName.BOOT, StageStatus.SKIPPED), True),
        (Stage(StageName.BOOT, StageStatus.FAILED, error=StageError("quota", "x").failure), True),
        (Stage(StageName.BOOT, StageStatus.FAILED, error=StageError("interrupted", "x").failure), False),
    ],
)
def test_only_an_interrupted_stage_is_taken_up_again(record, finished):
    run = SimpleNamespace(stage=lambda _name: record, record=SimpleNamespace(finished=None))
    assert stage_module.finished_record(run, StageName.BOOT) == (record if finished else None)
    run.record.finished = 1795248000.0
    assert stage_module.finished_record(run, StageName.BOOT) == record


def test_a_wait_outlives_looks_without_an_answer(stage):
    """A real service did so under load: a timeout, then the state."""
    answers = iter([ConnectTimeout("timed out"), (False, "BUILD", None), (True, "ACTIVE", "server")])

    def look():
        answer = next(answers)
        if isinstance(answer, Exception):
            raise answer
        return answer

    at_work = stage()
    assert at_work.wait("the server", look, lambda _waited: 0.01) == "server"
    assert [state.state for state in at_work.waits[0].states] == ["no answer (ConnectTimeout)", "BUILD", "ACTIVE"]


def test_a_wait_ends_at_an_answer_that_is_an_error(stage):
    def look():
        raise Forbidden("no")

    with pytest.raises(Forbidden):
        stage().wait("the server", look)
