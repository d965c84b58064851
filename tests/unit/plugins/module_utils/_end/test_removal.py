# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The removal takes all that a run made, nothing else, and says of what stays why it does."""

from __future__ import annotations

import errno
import json
import time
from pathlib import Path
from types import SimpleNamespace

import jsonschema
import pytest
from ansible_collections.stackproof.provision.plugins.module_utils._cloud import servers, token_cache
from ansible_collections.stackproof.provision.plugins.module_utils._cloud.session import OutOfTimeError
from ansible_collections.stackproof.provision.plugins.module_utils._end import clean, removal
from ansible_collections.stackproof.provision.plugins.module_utils._model.stage import Failure, Leftover, Stage
from ansible_collections.stackproof.provision.plugins.module_utils._model.words import StageName, StageStatus
from ansible_collections.stackproof.provision.plugins.module_utils._record import ledger, shared_memory, waiting
from ansible_collections.stackproof.provision.plugins.module_utils._record import run as run_module
from ansible_collections.stackproof.provision.plugins.module_utils._record.errors import StageError
from tree import ROOT

MARK = "stackproof-run-1"
PLURALS = {
    "server": "servers",
    "second_server": "servers",
    "third_server": "servers",
    "server_group": "os-server-groups",
    "key_pair": "os-keypairs",
    "image": "images",
    "snapshot": "images",
    "volume": "volumes",
    "port": "ports",
    "second_port": "ports",
    "router": "routers",
    "subnet": "subnets",
    "subnet_ipv6": "subnets",
    "second_subnet": "subnets",
    "second_subnet_ipv6": "subnets",
    "network": "networks",
    "second_network": "networks",
    "security_group": "security-groups",
    "floating_ip": "floatingips",
}
pytestmark = pytest.mark.usefixtures("hurry")


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    """A wait looks a hundred times a second."""
    monkeypatch.setattr(waiting, "PERIOD", 0.01)
    monkeypatch.setattr(removal, "SETTLE", 0.15)


@pytest.fixture
def had(cloud, run):
    """Return a function that has the run make a thing, whose answer it may have lost."""

    def make(kind, has_id=True, **fields):
        name = f"{MARK}-{kind.replace('_', '-')}"
        run.ledger.write(ledger.BEGUN, kind, name)
        mark = {"description": name} if kind == "floating_ip" else {"name": name}
        thing = cloud.put(PLURALS[kind], **mark, **fields)
        if has_id:
            run.ledger.write(ledger.MADE, kind, name, id=thing["id"])
        return thing

    return make


@pytest.fixture
def remove(run, connect):
    """Return a function that removes all of the run; its attributes have the lines of progress and the waits."""

    def act(timeout=10, enough=None):
        deadline = (
            SimpleNamespace(seconds=10, left=lambda: 0 if enough() else 10) if enough else waiting.Deadline(timeout)
        )
        return removal.remove_all(connect(timeout), run, deadline, act.waits, act.texts.append)

    act.texts, act.waits = [], []
    return act


def deletions(cloud):
    return [path.split("/")[-2] for _method, path in cloud.asked("DELETE")]


def events(run, event):
    lines = map(json.loads, Path(run.path("ledger.jsonl")).read_text().splitlines())
    return [line["kind"] for line in lines if line["event"] == event]


@pytest.mark.parametrize("has_id", [True, False], ids=["known by its id", "found by its name"])
@pytest.mark.parametrize("kind", PLURALS)
def test_each_kind_is_removed_and_nothing_else(cloud, run, had, remove, kind, has_id):
    for name in ("other", "stackproof-run-2-x"):
        cloud.put(PLURALS[kind], name=name, description=name)
    before = cloud.all(PLURALS[kind])
    had(kind, has_id)
    assert remove() == []
    assert cloud.all(PLURALS[kind]) == before
    assert events(run, "gone") == [kind]


@pytest.mark.parametrize("has_id", [True, False])
def test_a_server_group_is_always_asked_for_by_the_version_that_knows_its_policy(cloud, had, remove, has_id):
    """Nova 2026.1 answers 400 to an older one about a group with a soft policy."""
    had("server_group", has_id)
    assert remove() == []
    asked = [request for request in cloud.requests if "os-server-groups" in request.path]
    assert {request.headers.get("OpenStack-API-Version") for request in asked} == {f"compute {servers.GROUPS_SINCE}"}
    assert len(asked) >= 3


def test_every_kind_that_a_stage_makes_can_be_removed():
    interfaces = {"router_interface", "second_router_interface"}
    over_ipv6 = {f"{kind}_ipv6" for kind in interfaces}
    assert set(removal.KINDS) == {*PLURALS, *interfaces, *over_ipv6, "server_shelved"}


@pytest.mark.parametrize("kind", removal.KINDS)
def test_a_record_may_have_each_kind(kind):
    schema = json.loads((ROOT / "roles/report/files/run.schema.json").read_text())
    jsonschema.validate(kind, schema["$defs"]["resource"]["properties"]["kind"])


def test_the_image_of_a_server_that_could_not_be_shelved_is_looked_for_by_its_name(cloud, run, remove):
    """Nova makes it, and gives nobody its id."""
    name = f"{MARK}-server-shelved"
    run.ledger.write(ledger.BEGUN, "server_shelved", name)
    cloud.put("images", name=name)
    cloud.put("images", name="another-server-shelved")
    assert remove() == []
    left = {image["name"] for image in cloud.things["/image/v2/images"].values()}
    assert left & {name, "another-server-shelved"} == {"another-server-shelved"}


def test_what_stands_in_the_way_goes_first(cloud, had, remove):
    for kind in ("image", "network", "subnet", "security_group", "port", "volume", "server"):
        had(kind)
    assert remove() == []
    assert deletions(cloud) == ["servers", "volumes", "ports", "security-groups", "subnets", "networks", "images"]


def test_each_kind_goes_once_all_that_it_comes_after_is_gone(cloud, had, remove):
    things = {kind: had(kind) for kind in PLURALS}
    for kind in ("server", "second_server", "volume"):
        things[kind]["_after_delete"] = [["deleting"] * 3]
    there = {}

    def note(request):
        if request.method == "DELETE":
            alive = {identity for collection in cloud.things.values() for identity in collection}
            there[request.path.rpartition("/")[2]] = alive

    cloud.watchers.append(note)
    assert remove() == []
    for kind, thing in things.items():
        earlier = {things[other]["id"] for other in removal.KINDS[kind].after if other in things}
        assert not earlier & there[thing["id"]], kind


def test_a_usual_removal_asks_for_each_thing_three_times_and_for_what_takes_long_more_often(cloud, had, remove):
    for kind in ("network", "subnet", "security_group"):
        had(kind)
    had("volume", _after_delete=[["deleting"] * 2])
    had("server", _after_delete=[["deleting"] * 3])
    assert remove() == []
    things = [path.split("/")[-2] for _method, path in cloud.asked()]
    counts = {thing: things.count(thing) for thing in ("servers", "volumes", "security-groups", "subnets", "networks")}
    assert counts == {"servers": 6, "volumes": 5, "security-groups": 3, "subnets": 3, "networks": 3}
    assert [wait.awaited for wait in remove.waits] == ["server to be gone", "volume to be gone"]
    assert [wait.polls for wait in remove.waits] == [4, 3]


def test_what_comes_after_nothing_goes_while_a_server_is_going(cloud, had, remove):
    had("server", _after_delete=[["deleting"] * 5])
    for kind in ("server_group", "floating_ip", "router"):
        had(kind)
    assert remove() == []
    last_look = max(number for number, request in enumerate(cloud.requests) if "/servers/" in request.path)
    others = [number for number, request in enumerate(cloud.requests) if request.method == "DELETE"]
    assert max(others) < last_look


def test_what_has_its_turn_while_a_server_is_going_goes_then(cloud, had, remove):
    server = had("server", _after_delete=[["deleting"] * 20])
    had("router")
    had("floating_ip")
    cloud.trouble("DELETE", "/floatingips/", "neutron in use", times=3)
    there = []
    cloud.watchers.append(
        lambda request: there.append(server in cloud.all("servers")) if "/routers/" in request.path else None
    )
    assert remove() == []
    assert there == [True] * 3
    assert [wait.awaited for wait in remove.waits] == ["floating ip, server to be gone"]


def test_what_goes_one_after_the_other_without_delay_is_not_waited_for(cloud, run, remove):
    interface(cloud, run, True)
    assert remove() == []
    assert events(run, "gone") == ["router_interface", "router", "subnet"]
    assert remove.waits == []


@pytest.mark.parametrize("after", [("first",), ("second",), ("nothing",)], ids=["itself", "a cycle", "unknown"])
def test_a_kind_comes_only_after_kinds_above_it(after):
    kinds = {"first": removal.IMAGE._replace(after=after), "second": removal.IMAGE._replace(after=("first",))}
    with pytest.raises(ValueError, match=f"first is to come after {after[0]}: not all of them are kinds above it"):
        removal.in_order(kinds)


def test_what_comes_after_something_that_cannot_be_removed_has_its_turn(cloud, run, had, remove):
    for kind in ("network", "volume", "server"):
        had(kind)
    cloud.trouble("DELETE", "/servers/", "nova forbidden", times=9)
    (left,) = remove()
    assert left.kind == "server"
    assert "Policy doesn't allow" in left.reason
    assert events(run, "gone") == ["network", "volume"]


def test_a_server_that_loses_its_mark_while_it_is_awaited_is_given_up(cloud, had, remove):
    server = had("server", _after_delete=[["deleting"] * 9])
    cloud.watchers.append(lambda request: server.update(name="production") if request.method == "DELETE" else None)
    (left,) = remove()
    assert left.reason == f"it does not carry the mark {MARK} any more, so it is not deleted"
    assert [state.state for state in remove.waits[0].states] == ["server given up"]


def test_what_is_gone_by_the_answer_to_its_deletion_is_not_waited_for(cloud, had, remove):
    network = had("network")
    assert remove() == []
    assert cloud.asked(path=network["id"]) == [
        (method, f"/network/v2.0/networks/{network['id']}") for method in ("GET", "DELETE", "GET")
    ]
    assert remove.waits == []


def test_what_is_usually_gone_by_then_is_waited_for_if_it_is_not(cloud, run, had, remove):
    had("network")
    subnet = had("subnet", _after_delete=[["ACTIVE"] * 3])
    assert remove() == []
    assert [wait.awaited for wait in remove.waits] == ["subnet to be gone"]
    assert events(run, "gone") == ["network", "subnet"]
    assert cloud.asked("DELETE", subnet["id"]) == [("DELETE", f"/network/v2.0/subnets/{subnet['id']}")]


@pytest.fixture
def two_servers(had):
    """Return two servers that take some looks to go, the second one more."""
    return [
        had("server", _after_delete=[["deleting"] * 3]),
        had("second_server", _after_delete=[["deleting"] * 6]),
    ]


def looks_at(cloud, server):
    return len(cloud.asked("GET", f"/servers/{server['id']}"))


def test_several_servers_are_looked_at_by_one_listing(cloud, run, had, remove, two_servers):
    had("network")
    other = cloud.put("servers", name=f"{MARK}-other")
    assert remove() == []
    assert len(cloud.asked("GET", "/servers/detail")) > 1
    # Once before its deletion, and once to find that it is gone; the last one of them has no listing.
    assert looks_at(cloud, two_servers[0]) == 2
    assert events(run, "gone") == ["server", "second_server", "network"]
    assert cloud.all("servers") == [other]


@pytest.mark.usefixtures("two_servers")
def test_a_listing_that_ignores_the_filter_costs_others_nothing(cloud, run, remove):
    cloud.ignored = {"name"}
    others = [cloud.put("servers", name=name) for name in ("production", "stackproof-run-2-server")]
    assert remove() == []
    assert cloud.all("servers") == others
    assert events(run, "gone") == ["server", "second_server"]


PAGED = {"servers": [], "servers_links": [{"rel": "next", "href": "http://127.0.0.1/servers/detail?marker=x"}]}


@pytest.mark.parametrize(
    "listing",
    [(200, {}, PAGED), (200, {}, {"servers": [{}]}), (200, {}, ["servers"]), (200, {}, "<html>"), 500, 404],
    ids=["paged", "no ids", "no listing", "not JSON", "fails", "unknown"],
)
def test_a_server_that_a_listing_does_not_show_is_not_gone_by_that(cloud, run, had, remove, two_servers, listing):
    had("network")
    cloud.trouble("GET", "/servers/detail", listing, times=999)
    existing = []
    cloud.watchers.append(
        lambda request: existing.append(len(cloud.all("servers"))) if "/networks/" in request.path else None
    )
    assert remove() == []
    assert looks_at(cloud, two_servers[1]) > 5
    assert set(existing) == {0}
    assert events(run, "gone") == ["server", "second_server", "network"]


def test_a_server_that_a_listing_hides_as_it_is_softly_deleted_is_deleted_for_good(cloud, had, remove):
    had("server", _after_delete=[["deleting"] * 6])
    had("second_server", _after_delete=[["SOFT_DELETED"]])
    cloud.trouble("GET", "/servers/detail", (200, {}, {"servers": []}), times=999)
    assert remove() == []
    assert soft_deletions(cloud) == [{"forceDelete": None}]


def paces(run, had, *kinds):
    for kind in kinds:
        had(kind)
    removals, _foreign = removal.sorted_out(list(run.ledger.entries.values()), run)
    work = removal.Work(None, run, removals, print)
    return [work._pace(waited) for waited in (0, 2.9, 3, 10, 1000)]


@pytest.mark.usefixtures("cloud")
def test_servers_alone_are_looked_at_less_often_at_first_and_after_long(run, had, monkeypatch):
    monkeypatch.setattr(waiting, "PERIOD", 0.25)
    assert paces(run, had, "network", "server", "second_server") == [0.5, 0.5, 0.25, 0.5, 0.8]


@pytest.mark.usefixtures("cloud")
def test_beside_a_server_all_else_is_looked_at_as_usual(run, had, monkeypatch):
    monkeypatch.setattr(waiting, "PERIOD", 0.25)
    assert paces(run, had, "server", "floating_ip") == [0.25, 0.25, 0.25, 0.25, 0.4]


def test_it_waits_until_what_it_deleted_is_gone(cloud, run, had, remove):
    had("volume")
    had("server", _after_delete=[["ACTIVE", "ACTIVE", "DELETED"]])
    assert remove() == []
    assert deletions(cloud) == ["servers", "volumes"]
    last_look = max(number for number, request in enumerate(cloud.requests) if "/servers/" in request.path)
    assert cloud.requests[last_look + 1].path.split("/")[-2] == "volumes"
    assert events(run, "gone") == ["server", "volume"]
    assert "removing server" in remove.texts
    assert [wait.awaited for wait in remove.waits] == ["server to be gone", "volume to be gone"]
    assert [state.state for state in remove.waits[0].states] == ["server left", "all gone"]


def test_nothing_to_remove_asks_nobody(cloud, run, remove):
    run.ledger.write(ledger.MADE, "server", "s", id="1")
    run.ledger.write(ledger.GONE, "server", "s", id="1")
    run.ledger.write(ledger.BEGUN, "network", "n")
    run.ledger.write(ledger.REFUSED, "network", "n")
    assert remove() == []
    assert cloud.requests == []


def test_what_lost_the_mark_is_not_deleted(cloud, run, had, remove):
    network = had("network")
    network["name"] = "production"
    began = time.monotonic()
    (left,) = remove(timeout=30)
    assert time.monotonic() - began < 15
    assert (left.kind, left.id) == ("network", network["id"])
    assert left.reason == f"it does not carry the mark {MARK} any more, so it is not deleted"
    assert cloud.asked("DELETE") == []
    assert events(run, "gone") == []


@pytest.mark.parametrize("longer", ["run-12", "run-1-2"])
def test_what_carries_the_mark_of_a_longer_id_is_not_deleted(cloud, had, remove, longer):
    """run-1 is how they begin."""
    had("network")["name"] = f"stackproof-{longer}-network"
    (left,) = remove()
    assert left.reason == f"it does not carry the mark {MARK} any more, so it is not deleted"
    assert cloud.asked("DELETE") == []


@pytest.mark.parametrize(
    ("kind", "name", "identity", "why"),
    [
        ("network", "production", "known", f"it does not carry the mark {MARK}, so it is not deleted"),
        ("network", "production", None, f"it does not carry the mark {MARK}, so it is not deleted"),
        ("network", "stackproof-run-12-network", "known", f"it does not carry the mark {MARK}, so it is not deleted"),
        ("network", f"{MARK}-network", "../routers/known", "its id has a wrong form, so it is not deleted"),
        ("network", f"{MARK}-network", "known?x=1", "its id has a wrong form, so it is not deleted"),
        ("network", f"{MARK}-network", "known/x", "its id has a wrong form, so it is not deleted"),
        ("network", f"{MARK}-network", 5, "its id has a wrong form, so it is not deleted"),
        ("network", f"{MARK}-network", ["known"], "its id has a wrong form, so it is not deleted"),
        ("router_interface", f"{MARK}-router-interface", "known", "its id has a wrong form, so it is not deleted"),
        ("project", f"{MARK}-project", "known", "no run makes anything of this kind, so it is not deleted"),
        (5, f"{MARK}-server", "known", "no run makes anything of this kind, so it is not deleted"),
        ("network", 5, "known", f"it does not carry the mark {MARK}, so it is not deleted"),
    ],
)
def test_a_line_that_no_run_writes_asks_for_nothing_and_is_reported(cloud, run, had, remove, kind, name, identity, why):
    """A run whose ledger has a foreign line removes its own resources all the same."""
    for plural in ("networks", "routers"):
        cloud.put(plural, id="known", name=f"{MARK}-network" if plural == "networks" else "production")
    had("port")
    run.ledger.write(ledger.BEGUN, kind, name)
    if identity is not None:
        run.ledger.write(ledger.MADE, kind, name, id=identity)
    (left,) = remove()
    assert left == Leftover(str(kind), identity and str(identity), str(name), why)
    assert deletions(cloud) == ["ports"]
    assert not [path for _method, path in cloud.asked() if "known" in path]


def test_a_lost_interface_of_a_strange_router_asks_for_nothing(cloud, run, remove):
    for kind, identity in (("router", "../x"), ("subnet", "y")):
        run.ledger.write(ledger.BEGUN, kind, f"{MARK}-{kind}")
        run.ledger.write(ledger.MADE, kind, f"{MARK}-{kind}", id=identity)
    run.ledger.write(ledger.BEGUN, "router_interface", f"{MARK}-router-interface")
    left = remove()
    assert {leftover.kind: leftover.id for leftover in left} == {"router_interface": "../x/y", "router": "../x"}
    assert cloud.asked("PUT") == []
    assert cloud.asked("DELETE") == []


def test_the_mark_in_the_description_is_enough(cloud, had, remove):
    had("network", description=f"{MARK}")["name"] = "renamed"
    assert remove() == []
    assert cloud.all("networks") == []


def test_what_carries_the_mark_but_is_in_no_ledger_is_not_deleted(cloud, had, remove):
    had("network")
    other = cloud.put("networks", name=f"{MARK}-other", description=MARK)
    assert remove() == []
    assert cloud.all("networks") == [other]


def test_with_the_credentials_of_another_project_nothing_is_done(cloud, run, had, remove):
    had("network")
    run.update(stages=(Stage(StageName.AUTH, StageStatus.OK, details={"project_id": "theirs"}),))
    with pytest.raises(StageError, match="was made in the project theirs") as caught:
        remove()
    assert caught.value.record["kind"] == "config"
    assert cloud.asked("DELETE") == []
    assert len(cloud.all("networks")) == 1


def test_in_another_region_nothing_is_done(cloud, run, had, remove):
    had("network")
    run.update(stages=(Stage(StageName.AUTH, StageStatus.OK, details={"region": "RegionTwo"}),))
    with pytest.raises(StageError, match="was made in the region RegionTwo, but these credentials are for RegionOne"):
        remove()
    assert len(cloud.all("networks")) == 1


def test_with_the_credentials_of_its_project_it_is_done(run, had, remove, recorded_answer):
    had("network")
    project = json.loads(recorded_answer("token")["text"])["token"]["project"]["id"]
    run.update(stages=(Stage(StageName.AUTH, StageStatus.OK, details={"project_id": project}),))
    assert remove() == []


def test_a_deletion_that_ends_in_an_error_is_tried_again(cloud, had, remove):
    had("volume", _after_delete=[["deleting", "error_deleting"], ["deleting", "error_deleting"]])
    assert remove() == []
    assert deletions(cloud) == ["volumes"] * 3


def test_a_deletion_that_always_ends_in_an_error_is_given_up(cloud, had, remove):
    had("volume", _after_delete=[["error_deleting"]] * 9)
    (left,) = remove(enough=lambda: len(cloud.requests) > 30)
    assert deletions(cloud) == ["volumes"] * removal.TRIES
    assert left.reason == "its deletion was accepted, and it is still there, in the status error_deleting"


def soft_deletions(cloud):
    return [request.body for request in cloud.requests if request.path.endswith("/action")]


@pytest.mark.parametrize("before", [False, True], ids=["by the run", "by somebody before"])
def test_a_server_that_is_only_soft_deleted_is_deleted_for_good(cloud, run, had, remove, before):
    softly = {"status": "SOFT_DELETED"} if before else {"_after_delete": [["ACTIVE", "SOFT_DELETED"]]}
    had("server", **softly)
    had("network")
    assert remove() == []
    assert soft_deletions(cloud) == [{"forceDelete": None}]
    assert deletions(cloud) == (["networks"] if before else ["servers", "networks"])
    assert events(run, "gone") == ["server", "network"]


def test_a_server_that_is_slow_to_be_deleted_for_good_is_asked_for_once(cloud, had, remove):
    had("server", status="SOFT_DELETED", _stays=True)
    (left,) = remove(enough=lambda: len(cloud.asked("GET", "/servers/")) > 5)
    assert left.reason == "its deletion was accepted, and it is still there, in the status soft_deleted"
    assert len(soft_deletions(cloud)) == 1


def test_a_server_that_must_not_be_deleted_for_good_is_left_with_the_reason(cloud, had, remove):
    had("server", _after_delete=[["SOFT_DELETED"]])
    cloud.trouble("POST", "/action", "nova forbidden", times=99)
    (left,) = remove()
    assert left.reason.startswith(
        "it is only soft-deleted until the cloud reclaims it; its deletion for good: the cloud"
    )
    assert "Policy doesn't allow" in left.reason
    assert (deletions(cloud), len(soft_deletions(cloud))) == (["servers"], 1)


def test_a_deletion_for_good_that_is_refused_for_now_is_tried_again(cloud, had, remove):
    had("server", _after_delete=[["SOFT_DELETED"]])
    cloud.trouble("POST", "/action", "nova conflict", times=3)
    assert remove() == []
    assert (deletions(cloud), len(soft_deletions(cloud))) == (["servers"], 4)


@pytest.mark.parametrize(
    ("kind", "refusal"),
    [("network", "neutron in use"), ("security_group", "neutron group in use"), ("volume", "cinder in use")],
)
def test_a_deletion_that_is_refused_because_of_its_use_is_tried_again(cloud, had, remove, kind, refusal):
    had(kind)
    cloud.trouble("DELETE", PLURALS[kind], refusal, times=3)
    assert remove() == []
    assert len(deletions(cloud)) == 4


def test_what_stays_in_use_is_left_with_the_words_of_the_cloud(cloud, had, remove):
    had("network")
    cloud.trouble("DELETE", "/networks/", "neutron in use", times=999)
    # A slow machine has to come as far as the first refusal.
    (left,) = remove(timeout=1)
    assert "There are one or more ports still in use on the network" in left.reason
    assert len(cloud.all("networks")) == 1


def test_what_is_not_allowed_is_not_tried_again(cloud, had, remove):
    had("image")
    cloud.trouble("DELETE", "/images/", "glance forbidden", times=999)
    (left,) = remove(timeout=30)
    assert "authorized" in left.reason
    assert len(deletions(cloud)) == 1


def test_a_token_that_is_refused_for_long_is_not_tried_again(cloud, had, remove, monkeypatch):
    monkeypatch.setattr(removal, "DOUBT", 0.5)
    had("image")
    cloud.trouble("DELETE", "/images/", "glance unauthorized", times=999)
    began = time.monotonic()
    (left,) = remove(timeout=30)
    assert time.monotonic() - began < 15
    assert "authorized" in left.reason


def test_a_token_that_is_refused_for_a_moment_is_tried_again(cloud, had, remove):
    had("image")
    cloud.trouble("DELETE", "/images/", "glance unauthorized", times=3)
    before = len(cloud.all("images"))
    assert remove(timeout=30) == []
    assert len(cloud.all("images")) == before - 1


def test_what_cannot_be_removed_does_not_keep_the_rest(cloud, run, had, remove):
    had("image")
    had("network")
    had("volume")
    cloud.trouble("DELETE", "/images/", "glance forbidden", times=9)
    assert [leftover.kind for leftover in remove()] == ["image"]
    assert sorted(events(run, "gone")) == ["network", "volume"]


def test_what_somebody_else_removed_is_gone(cloud, run, had, remove):
    thing = had("network")
    cloud.things["/network/v2.0/networks"].pop(thing["id"])
    assert remove() == []
    assert events(run, "gone") == ["network"]
    assert cloud.asked("DELETE") == []


def refused(kind="forbidden"):
    error = Failure(kind, "not allowed", None, "not allowed", 403, None, "Look at the role.")
    return Stage(StageName.IMAGE, StageStatus.FAILED, error=error)


def test_what_a_role_may_not_see_is_not_taken_for_gone(cloud, run, had, remove):
    """Neutron answers 404 about it; once the role is as before, the next removal finds it."""
    thing = had("network")
    had("image")
    run.put_stage(refused())
    hidden = cloud.things["/network/v2.0/networks"].pop(thing["id"])
    (left,) = remove()
    assert (left.kind, events(run, "gone")) == ("network", ["image"])
    assert left.reason.startswith("it is not found, but the cloud has forbidden this run something")
    cloud.things["/network/v2.0/networks"][thing["id"]] = hidden
    assert remove() == []
    assert events(run, "gone") == ["image", "network"]


@pytest.mark.parametrize(("kind", "is_over"), [("quota", False), ("forbidden", True)])
def test_nothing_is_hidden_for_a_quota_and_from_who_cleans_up_later(cloud, run, had, remove, kind, is_over):
    thing = had("network")
    run.put_stage(refused(kind))
    if is_over:
        run.update(finished=run.record.started + 60)
    cloud.things["/network/v2.0/networks"].pop(thing["id"])
    assert remove() == []
    assert events(run, "gone") == ["network"]


def test_what_is_not_there_by_its_id_is_looked_for_by_its_name(cloud, run, had, remove):
    """The answer to the creation was damaged on its way, and had a wrong id."""
    had("server", has_id=False)
    run.ledger.write(ledger.MADE, "server", f"{MARK}-server", id="ab35235d-2d86-422c--bac3-45e59d4e1d3b")
    assert remove() == []
    assert cloud.all("servers") == []


def test_a_gateway_that_does_not_know_the_service_proves_nothing(cloud, run, had, remove):
    had("network")
    cloud.trouble("GET", "/networks/", 404, times=3)
    assert remove() == []
    assert events(run, "gone") == ["network"]
    assert deletions(cloud) == ["networks"]
    assert cloud.all("networks") == []


def test_an_answer_that_makes_no_sense_does_not_keep_the_rest(cloud, run, had, remove):
    had("server")
    had("network")
    cloud.trouble("GET", "/servers/", 200, times=999)
    (left,) = remove(timeout=0.3)
    assert (left.kind, events(run, "gone")) == ("server", ["network"])
    assert left.reason


def test_ports_that_a_server_left_are_told_and_not_deleted(cloud, had, remove):
    server = had("server")
    port = cloud.put("ports", name="", device_id="other")
    cloud.watchers.append(lambda request: port.update(device_id=server["id"]) if "/ports" in request.path else None)
    (left,) = remove()
    assert (left.kind, left.id, left.name) == ("port", port["id"], port["id"])
    assert left.reason == f"it belongs to the server {server['id']}, which is gone"
    assert cloud.all("ports") == [port]


@pytest.mark.parametrize("how", ["reset", 503])
def test_a_deletion_whose_answer_is_lost_counts_if_it_took_effect(cloud, run, had, remove, how):
    had("network")
    cloud.trouble("DELETE", "/networks/", how, effect=True)
    assert remove() == []
    assert events(run, "gone") == ["network"]


def test_a_service_that_fails_is_asked_again(cloud, had, remove):
    had("server")
    cloud.trouble("GET", "/servers/", 500, times=2)
    cloud.trouble("DELETE", "/servers/", 500, times=2)
    assert remove() == []
    assert cloud.all("servers") == []


def test_a_creation_that_shows_only_now_is_removed(cloud, run, remove, monkeypatch):
    monkeypatch.setattr(removal, "SETTLE", 9)
    name = f"{MARK}-network"
    run.ledger.write(ledger.BEGUN, "network", name)
    looks = []

    def appear(request):
        if request.path == "/network/v2.0/networks":
            looks.append(request)
            if len(looks) == 4:
                cloud.put("networks", name=name)

    cloud.watchers.append(appear)
    assert remove() == []
    assert cloud.all("networks") == []
    assert deletions(cloud) == ["networks"]


def test_a_creation_that_took_effect_twice_is_removed_twice(cloud, run, had, remove, monkeypatch):
    """Its answer was lost, it was asked for again, and the service came to both."""
    monkeypatch.setattr(removal, "SETTLE", 0)
    had("network")
    entry = next(iter(run.ledger.entries.values()))
    run.ledger.write("lost", "network", entry["name"])
    run.ledger.write("made", "network", entry["name"], id=entry["id"])
    cloud.put("networks", name=entry["name"])
    assert remove() == []
    assert cloud.all("networks") == []
    assert deletions(cloud) == ["networks"] * 2


def test_a_creation_that_never_shows_counts_as_none_after_a_while(cloud, run, remove):
    run.ledger.write(ledger.BEGUN, "network", f"{MARK}-network")
    began = time.monotonic()
    assert remove() == []
    assert 0.1 < time.monotonic() - began < 9
    removal.settle_account(run, [])
    assert (run.record.created, run.record.deleted) == (0, 0)
    assert cloud.asked("DELETE") == []


def test_what_a_service_that_hangs_may_still_make_is_left(cloud, run, remove):
    """Nova has made a server a minute after its client had given up."""
    name = f"{MARK}-network"
    run.ledger.write(ledger.BEGUN, "network", name)
    run.ledger.write(ledger.LOST, "network", name, hangs=True)
    (left,) = remove()
    assert (left.kind, left.id) == ("network", None)
    assert left.reason == (
        "the answer to its creation never came, and the service may still come to the request. "
        "Clean up once more after 10 minutes"
    )
    cloud.put("networks", name=name)
    assert remove() == []
    assert cloud.all("networks") == []


@pytest.mark.usefixtures("cloud")
def test_what_a_service_has_not_made_for_long_is_gone(run, remove, monkeypatch):
    monkeypatch.setattr(removal, "OLD", 0)
    run.ledger.write(ledger.BEGUN, "network", f"{MARK}-network")
    run.ledger.write(ledger.LOST, "network", f"{MARK}-network", hangs=True)
    assert remove() == []


@pytest.mark.usefixtures("cloud")
def test_what_was_found_after_a_service_had_hung_is_gone_for_good(run, had, remove):
    """It was asked for once, so that no second one may come."""
    network = had("network")
    run.ledger.write(ledger.LOST, "network", network["name"], hangs=True)
    run.ledger.write(ledger.MADE, "network", network["name"], id=network["id"])
    assert remove() == []


def test_a_creation_of_long_ago_is_not_waited_for(cloud, run, remove, monkeypatch):
    monkeypatch.setattr(removal, "SETTLE", 60)
    line = {"at": "2026-01-01T00:00:00.000000+00:00", "event": "begun", "kind": "network", "name": f"{MARK}-network"}
    Path(run.path("ledger.jsonl")).write_text(json.dumps(line) + "\n")
    run.ledger = ledger.Ledger(run.path("ledger.jsonl"))
    assert remove() == []
    assert len(cloud.asked("GET", "/v2.0/networks")) == 1


@pytest.mark.usefixtures("cloud")
def test_a_creation_that_may_still_show_is_left_at_the_deadline(run, remove, monkeypatch):
    monkeypatch.setattr(removal, "SETTLE", 60)
    run.ledger.write(ledger.BEGUN, "network", f"{MARK}-network")
    (left,) = remove(timeout=0.5)
    assert (left.id, left.reason) == (None, "the answer to its creation never came")


def test_what_does_not_go_is_left_at_the_deadline(cloud, had, remove):
    had("server", _after_delete=[["deleting"] * 9999])
    had("network")
    began = time.monotonic()
    left = remove(timeout=2)
    assert time.monotonic() - began < 10
    assert [(leftover.kind, leftover.reason) for leftover in left] == [
        ("server", "its deletion was accepted, and it is still there, in the status deleting")
    ]
    assert cloud.all("networks") == []  # it has its chance out of turn


def test_what_had_no_turn_is_left_with_what_was_in_its_way(had, remove, monkeypatch):
    """No request is sent so late."""
    had("server", _after_delete=[["deleting"] * 9999])
    had("volume")
    step = removal.Removal.step

    def late(self, cloud, shown=None):
        if self.entry["kind"] == "volume":
            monkeypatch.setattr(self, "_read", out_of_time)
        step(self, cloud, shown)

    def out_of_time(_cloud):
        raise OutOfTimeError(0.1)

    monkeypatch.setattr(removal.Removal, "step", late)
    reasons = {leftover.kind: leftover.reason for leftover in remove(timeout=2)}
    assert reasons["volume"] == "it was not deleted yet, as there still is: server"


def test_what_is_deleted_out_of_turn_is_left_with_its_own_state(had, remove):
    for kind in ("volume", "server"):
        had(kind, _after_delete=[["deleting"] * 9999])
    # A machine that is busy must come to the second request before the deadline.
    assert {leftover.kind: leftover.reason for leftover in remove(timeout=2)} == dict.fromkeys(
        ("server", "volume"), "its deletion was accepted, and it is still there, in the status deleting"
    )


def test_a_volume_that_a_server_reserved_is_released_before_it_goes(cloud, had, remove):
    volume = had("volume")
    for status in ("reserved", "attached"):
        cloud.put("attachments", volume_id=volume["id"], status=status)
    other = cloud.put("attachments", volume_id="other", status="reserved")
    assert remove() == []
    assert deletions(cloud) == ["attachments", "volumes"]
    assert sorted(attachment["status"] for attachment in cloud.all("attachments")) == ["attached", "reserved"]
    assert other in cloud.all("attachments")


def test_a_reservation_that_goes_meanwhile_keeps_no_volume(cloud, had, remove):
    volume = had("volume")
    cloud.put("attachments", volume_id=volume["id"], status="reserved")
    cloud.trouble("DELETE", "/attachments/", (404, {"x-openstack-request-id": "req-1"}, {}))
    assert remove() == []
    assert cloud.all("volumes") == []


def test_a_volume_that_was_in_use_is_deleted_once_more(cloud, had, remove, monkeypatch):
    """Cinder accepts the deletion, finds that the image is open, and puts the volume back."""
    monkeypatch.setattr(removal, "BUSY", 0.2)
    had("volume", status="available")
    cloud.trouble("DELETE", "/volumes/", 202)
    assert remove(timeout=30) == []
    assert deletions(cloud) == ["volumes", "volumes"]
    assert cloud.all("volumes") == []


def test_what_is_not_known_of_ports_is_told(cloud, had, remove):
    had("server")
    cloud.trouble("GET", "/ports", (200, {}, "<html>"), times=9)
    (left,) = remove()
    assert left.kind == "port"
    assert "it is not known whether ports of the server" in left.reason


def test_a_service_of_identity_that_is_away_for_a_moment_is_waited_for(cloud, had, remove):
    had("network")
    cloud.trouble("POST", "/auth/tokens", 503, times=5)
    assert remove(timeout=30) == []
    assert cloud.all("networks") == []


def test_a_cloud_without_attachments_of_its_own_removes_volumes_all_the_same(cloud, had, remove):
    had("volume")
    cloud.trouble("GET", "/attachments", 404, times=9)
    assert remove() == []
    assert cloud.all("volumes") == []


def interface(cloud, run, has_id, kind="router_interface"):
    of_subnet = kind.replace("router_interface", "subnet")
    router = cloud.put("routers", name=f"{MARK}-router")
    subnet = cloud.put("subnets", name=f"{MARK}-{of_subnet.replace('_', '-')}")
    for made, thing in ((of_subnet, subnet), ("router", router)):
        run.ledger.write(ledger.MADE, made, thing["name"], id=thing["id"])
    cloud.put("ports", device_id=router["id"], fixed_ips=[{"subnet_id": subnet["id"], "ip_address": "10.0.0.1"}])
    identity = {"id": f"{router['id']}/{subnet['id']}"} if has_id else {}
    event = ledger.MADE if has_id else ledger.BEGUN
    run.ledger.write(event, kind, f"{MARK}-{kind.replace('_', '-')}", **identity)
    return router


@pytest.mark.parametrize("kind", removal.INTERFACES)
@pytest.mark.parametrize("has_id", [True, False])
def test_a_router_loses_its_interface_before_it_goes(cloud, run, remove, has_id, kind):
    interface(cloud, run, has_id, kind)
    assert remove() == []
    assert cloud.all("routers") == cloud.all("subnets") == cloud.all("ports") == []
    changes = [path.rpartition("/")[2] for _method, path in cloud.asked("PUT")]
    assert changes == ["remove_router_interface"]
    assert sorted(events(run, "gone")) == sorted(["router", kind, kind.replace("router_interface", "subnet")])


def test_a_router_without_the_mark_keeps_its_interface(cloud, run, remove):
    interface(cloud, run, True)["name"] = "production"
    left = remove(timeout=1)
    assert {leftover.kind for leftover in left} == {"router", "router_interface"}
    assert cloud.asked("PUT") == []
    assert len(cloud.all("ports")) == 1


def test_a_full_disk_does_not_stop_the_removal(cloud, had, remove, monkeypatch):
    for kind in ("server", "network"):
        had(kind)

    def full(*_args):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(ledger.os, "fsync", full)
    assert remove() == []
    assert cloud.all("servers") == cloud.all("networks") == []


def test_the_account_counts_what_was_made_deleted_and_left(run, had, remove, cloud):
    had("server")
    had("network")
    had("image")
    cloud.trouble("DELETE", "/images/", "glance forbidden", times=9)
    left = remove()
    removal.settle_account(run, left)
    assert (run.record.created, run.record.deleted) == (3, 2)
    assert run.record.leftovers == tuple(left)


def test_what_is_left_was_made_even_if_its_creation_was_never_answered(run, had, remove, cloud):
    had("image", has_id=False)
    cloud.trouble("DELETE", "/images/", "glance forbidden", times=9)
    removal.settle_account(run, remove())
    assert (run.record.created, run.record.deleted) == (1, 0)


def test_cleaning_writes_the_account_and_says_each_thing_once(run, had, params):
    had("server", _after_delete=[["ACTIVE"] * 5])
    run.update(kept=True)
    assert clean.clean(run, params) == []
    record = run_module.read_record(run.directory)
    assert (record.created, record.deleted, record.kept, record.leftovers) == (1, 1, False, ())
    texts = [json.loads(line)["text"] for line in Path(run.path("progress.jsonl")).read_text().splitlines()]
    assert len(texts) == len(set(texts)) == 1


def test_cleaning_uses_the_token_of_the_run(cloud, run, had, params, connect):
    Path(run.path("watched")).write_text(shared_memory.make())
    connection = connect()
    connection.session.get_token()
    token_cache.put(run.token_path, connection.session.auth)
    had("network")
    clean.clean(run, params)
    assert len(cloud.asked("POST", "/auth/tokens")) == 1


def test_cleaning_gets_a_token_of_its_own_if_that_of_the_run_is_no_good(cloud, run, had, params, connect):
    Path(run.path("watched")).write_text(shared_memory.make())
    connection = connect()
    connection.session.get_token()
    token_cache.put(run.token_path, connection.session.auth)
    cloud.expire_tokens()
    had("network")
    assert clean.clean(run, params) == []
    assert cloud.all("networks") == []


def test_what_is_kept_is_counted_and_no_leftover(cloud, run, had):
    had("server")
    clean.keep(run)
    record = run_module.read_record(run.directory)
    assert (record.created, record.deleted, record.kept, record.leftovers) == (1, 0, True, ())
    assert cloud.requests == []


def test_a_cloud_that_ignores_filters_loses_nothing_of_others(cloud, run, had, remove):
    """The listing of what belongs to one thing may be that of everything."""
    cloud.ignored = {"volume_id", "device_id", "name", "description"}
    volume, server = had("volume"), had("server")
    own = cloud.put("attachments", volume_id=volume["id"], status="reserved")
    others = [cloud.put("attachments", volume_id="other", status="reserved"), cloud.put("ports", device_id="other")]
    router = interface(cloud, run, True)
    assert remove() == []
    gone = {path.rpartition("/")[2] for _method, path in cloud.asked("DELETE")}
    subnet = run.ledger.find("subnet", f"{MARK}-subnet")["id"]
    assert gone == {own["id"], volume["id"], server["id"], router["id"], subnet}
    assert [*cloud.all("attachments"), *cloud.all("ports")] == others


@pytest.mark.parametrize("name", ["-volume", ""])
def test_a_damaged_line_of_the_ledger_is_said_and_keeps_nothing_else(cloud, run, had, remove, name):
    had("network")
    with open(run.path("ledger.jsonl"), "ab") as stream:
        stream.write(b'{"at": "x", "event": "begun", "kind": "volume", "name": "' + name.encode() + b'\xff"}\n')
    run.ledger = ledger.Ledger(run.path("ledger.jsonl"))
    (left,) = remove()
    assert (left.kind, left.id) == ("damaged line", None)
    assert left.name == f"line 3 of {run.path('ledger.jsonl')}"
    assert (
        left.reason == f"it cannot be read: look on the cloud for names that begin with {MARK}-, then remove the line"
    )
    assert cloud.all("networks") == []
