# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Operations after the boot are followed by flows of their own, each by the events of its own time."""

from __future__ import annotations

from dataclasses import replace

import as_json
import pytest
from ansible_collections.stackproof.provision.plugins.module_utils._match import flow as flow_module
from ansible_collections.stackproof.provision.plugins.module_utils._match import follow
from ansible_collections.stackproof.provision.plugins.module_utils._match.legs import followed_legs
from ansible_collections.stackproof.provision.plugins.module_utils._match.run_facts import names_of
from ansible_collections.stackproof.provision.plugins.module_utils._model.codec import to_json
from ansible_collections.stackproof.provision.plugins.module_utils._model.details import (
    JourneyDetails,
    Leg,
    ServerAction,
)
from ansible_collections.stackproof.provision.plugins.module_utils._model.event import Event
from ansible_collections.stackproof.provision.plugins.module_utils._model.flow import component_of
from ansible_collections.stackproof.provision.plugins.module_utils._model.operation import Operation
from ansible_collections.stackproof.provision.plugins.module_utils._model.stage import Stage
from ansible_collections.stackproof.provision.plugins.module_utils._model.words import (
    StageName,
    StageStatus,
    StepStatus,
)
from tree import ROOT

FLOWS = [flow_module.load(str(path)) for path in sorted((ROOT / "roles/flow/files/flows").glob("*.yml"))]
BEGAN = 1795262490.0
SERVER = "0c02b187-3eec-45f3-af10-870926bf809c"
RESIZE, CONFIRM, MIGRATE, REVERT = (f"req-0000000{number}-0000-0000-0000-000000000000" for number in range(1, 5))
FIRST = Leg(
    "resize",
    StageStatus.OK,
    actions=(ServerAction("resize", RESIZE), ServerAction("confirmResize", CONFIRM)),
    started=BEGAN,
)
SECOND = Leg("migrate", StageStatus.FAILED, actions=(ServerAction("migrate", MIGRATE),), started=BEGAN + 100)


def record_of(*legs):
    stage = Stage(StageName.JOURNEY, StageStatus.OK, details=to_json(JourneyDetails(legs=legs)))
    return replace(as_json.typed({}), started=BEGAN - 60, stages=(stage,))


def event(at, request_id, source="api", service="compute"):
    path = f"/v2.1/servers/{SERVER}/action"
    fields = {"method": "POST", "path": path, "status": 202}
    return Event(at, service, "http", "", source=source, keys={"asked": [request_id]}, fields=fields)


def state(at, text):
    return Event(at, "journey", "state", "", fields={"state": text})


def steps_of(record, events):
    found = {flow.name: flow for flow in follow.steps_by(events, record, FLOWS, {})}
    return {name: {step.id: step for step in flow.steps} for name, flow in found.items()}


def test_each_operation_is_followed_by_the_requests_of_its_own_time():
    events = [
        event(BEGAN + 1, RESIZE),
        # The console is read by such a request, too.
        event(BEGAN + 2, "req-0000000f-0000-0000-0000-000000000000"),
        state(BEGAN + 20, "VERIFY_RESIZE, running"),
        event(BEGAN + 21, CONFIRM),
        state(BEGAN + 30, "ACTIVE, running"),
        event(BEGAN + 101, MIGRATE),
    ]
    steps = steps_of(record_of(FIRST, SECOND), events)
    assert {name: step.at for name, step in steps["resize"].items() if step.status is StepStatus.SEEN} == {
        "R1": BEGAN + 1,
        "R13": BEGAN + 20,
        "R14": BEGAN + 21,
        "R16": BEGAN + 30,
    }
    assert [name for name, step in steps["migrate"].items() if step.status is StepStatus.SEEN] == ["R1"]
    assert steps["migrate"]["R1"].at == BEGAN + 101


def test_what_was_not_asked_for_is_skipped():
    steps = steps_of(record_of(FIRST, SECOND), [])
    reasons = {step.reason for step in steps["resize"].values() if step.status is StepStatus.SKIPPED}
    assert reasons == {"the operation was not reverted"}
    reasons = {step.reason for step in steps["migrate"].values() if step.status is StepStatus.SKIPPED}
    assert reasons == {"the operation was not confirmed", "the operation was not reverted"}


def test_a_run_without_operations_has_no_flow_of_any():
    own = {flow.name for flow in FLOWS if flow.actions}
    assert own.isdisjoint(steps_of(as_json.typed({}), []))


def test_of_two_of_a_kind_the_last_is_followed():
    again = replace(FIRST, started=BEGAN + 50)
    (leg,) = followed_legs(record_of(FIRST, again), FLOWS)
    assert leg.began == BEGAN + 50


@pytest.mark.parametrize("leg", [replace(FIRST, actions=()), replace(FIRST, actions=(ServerAction("crash"),))])
def test_an_operation_that_no_flow_has_is_not_followed(leg):
    assert followed_legs(record_of(leg), FLOWS) == []


@pytest.mark.parametrize(
    ("actions", "skipped"), [(["stop", "createImage", "start"], set()), (["createImage"], {"I1", "I8"})]
)
def test_an_image_is_followed_whether_the_server_was_off_or_not(actions, skipped):
    leg = Leg("boot_snapshot", StageStatus.OK, actions=tuple(map(ServerAction, actions)), started=BEGAN)
    for flows in (FLOWS, FLOWS[::-1]):
        assert {step.id for step in followed_legs(record_of(leg), flows)[0].flow.steps} >= {"I1", "I8"}
    steps = steps_of(record_of(leg), [])["boot_snapshot"]
    assert {name for name, step in steps.items() if step.status is StepStatus.SKIPPED} == skipped


def test_details_of_another_shape_are_no_operations():
    stage = Stage(StageName.JOURNEY, StageStatus.OK, details={"legs": "many"})
    assert followed_legs(replace(as_json.typed({}), stages=(stage,)), FLOWS) == []


def test_an_action_that_was_asked_about_is_followed_in_the_stage_of_its_record():
    record = replace(as_json.typed({}), operation=Operation(asked=BEGAN, action="live-migration"))
    (flow,) = follow.flows_of(record, FLOWS)
    assert (flow.name, flow.stage) == ("live_migrate_server", StageName.BOOT)
    assert "host" not in names_of(record)


def test_each_flow_of_an_operation_is_of_the_journey_and_is_judged():
    own = [flow for flow in FLOWS if flow.actions]
    assert len(own) == 9
    assert {(flow.stage, flow.judged) for flow in own} == {(StageName.JOURNEY, True)}


def test_a_lifeline_may_say_which_of_two_hosts_it_is_of():
    assert component_of("nova-compute (source)") == "nova-compute"
    assert component_of("nova-api") == "nova-api"


def test_only_the_last_operation_is_judged():
    legs = followed_legs(record_of(FIRST, SECOND), FLOWS)
    assert [(leg.flow.name, leg.flow.judged) for leg in legs] == [("resize", False), ("migrate", True)]
    # An operation without a flow is judged by none of those before it.
    (leg,) = followed_legs(record_of(FIRST, Leg("snapshot", StageStatus.FAILED, started=BEGAN + 90)), FLOWS)
    assert not leg.flow.judged


def test_a_server_that_was_moved_back_is_not_live_migrated():
    moving = ServerAction("live-migration", RESIZE)
    leg = Leg("live_migrate", StageStatus.FAILED, actions=(moving,), started=BEGAN)
    steps = steps_of(record_of(leg), [event(BEGAN + 1, RESIZE), state(BEGAN + 9, "ACTIVE, running")])
    assert [name for name, step in steps["live_migrate"].items() if step.status is StepStatus.SEEN] == ["L1"]
