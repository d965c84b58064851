# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A cloud that lies, floods, utters secrets and names other addresses: each run ends, and removes what it made."""

from __future__ import annotations

import json
import re
import time
from pathlib import Path
from urllib.parse import urlencode

import pytest
from ansible_collections.stackproof.provision.plugins.module_utils._model.codec import iso_of
from ansible_collections.stackproof.provision.plugins.module_utils._record import clock
from ansible_collections.stackproof.provision.plugins.module_utils._record import ledger as ledger_module
from ansible_collections.stackproof.provision.plugins.modules import report as report_module
from guard import assert_no_defect, assert_no_secret

STAGES = ("auth", "image", "network", "volume", "boot", "metadata")
COLLECTIONS = ("servers", "volumes", "ports", "subnets", "routers", "floatingips", "security-groups", "networks")
MIB = 1 << 20
FOREVER = 10**9
PLANTED = "planted-Tr0ub4dor3"
pytestmark = pytest.mark.usefixtures("hurry", "quick_removal")


@pytest.fixture
def elsewhere(cloud):
    """Another server, at an address that no user and no catalogue has named."""
    other = type(cloud)()
    yield other
    other.close()


@pytest.fixture
def whole_run(go, call, cloud, run, console):
    """Return a function that goes through the stages as far as they go, cleans up, and reports."""
    cloud.console = console

    def act(meanwhile=lambda _stage: None, **options):
        results = []
        for name in STAGES:
            results.append(go(name, **options.get(name, {})))
            meanwhile(name)
            if results[-1].get("failed"):
                break
        cloud.troubles.clear()
        results.append(go("cleanup", end=False, timeout=10))
        results.append(call(report_module, run_dir=run.directory))
        assert_no_defect(json.dumps(results))
        assert_no_defect(Path(run.directory))
        return results[-1]

    return act


def made_by_run(cloud):
    return [thing for word in COLLECTIONS for thing in cloud.all(word) if "stackproof-" in (thing.get("name") or "")]


# Redirects and links to other addresses


@pytest.mark.parametrize("status", [301, 302, 303, 305, 307, 308])
@pytest.mark.parametrize(("method", "path"), [("POST", "/auth/tokens"), ("GET", "/networks"), ("DELETE", "/networks")])
def test_a_redirect_carries_no_secret_to_another_address(go, cloud, elsewhere, status, method, path):
    go("network") if method == "DELETE" else None
    location = {"location": f"{elsewhere.url}/x{path}"}
    cloud.trouble(method, path, (status, location, ""), times=FOREVER)
    result = go("cleanup", end=False, timeout=1) if method == "DELETE" else go("network")
    assert result["failed"] is True
    assert "sends to another address" in result["msg"]
    assert elsewhere.requests == []


def test_a_redirected_deletion_does_not_count_as_done(go, cloud, elsewhere):
    go("network")
    cloud.trouble("DELETE", "/networks/", (305, {"location": f"{elsewhere.url}/gone"}, ""), times=FOREVER)
    result = go("cleanup", end=False, timeout=1)
    assert [left["kind"] for left in result["runs"][0]["left"]] == ["network"]
    assert len(cloud.all("networks")) == 1


@pytest.mark.parametrize("place", ["links", "header"])
def test_a_next_page_at_another_address_gets_no_token(go, cloud, elsewhere, place):
    link = f"{elsewhere.url}/network/v2.0/networks?marker=1"
    body = {"networks": [{"id": "1", "name": "other"}]}
    headers = {"link": f'<{link}>; rel="next"'} if place == "header" else {}
    if place == "links":
        body["networks_links"] = [{"rel": "next", "href": link}]
    cloud.trouble("GET", "/networks", (200, headers, body), times=FOREVER)
    result = go("network", floating_ip=True)
    if place == "links":
        assert "which is not in the catalogue, so no token is sent there" in result["msg"]
    assert elsewhere.requests == []


def test_a_version_document_that_names_another_address_gets_no_password(go, cloud, elsewhere, know_cloud):
    entry = cloud.entry()
    entry["auth"]["auth_url"] = f"{cloud.url}/identity"
    know_cloud(small=entry)
    document = json.loads(cloud.recorded("keystone ")[2].replace(cloud.url, elsewhere.url))
    cloud.trouble("GET", "/identity", (300, {"location": f"{elsewhere.url}/v3/"}, document), times=FOREVER)
    go("auth")
    assert elsewhere.requests == []


# Floods

FLAVOR = {"id": "1", "ram": 1, "disk": 1, "vcpus": 1}


@pytest.mark.parametrize("marker", ["the same", "new ones"])
def test_endless_pages_end_with_the_stage(go, cloud, marker):
    usual, pages = cloud.answer, []

    def endless(request):
        if not request.path.endswith("/flavors/detail"):
            return usual(request)
        pages.append(request)
        query = urlencode({"marker": "x" if marker == "the same" else len(pages)})
        link = {"rel": "next", "href": f"{cloud.url}/compute/v2.1/flavors/detail?{query}"}
        flavors = [{**cloud.all("flavors")[0], "id": str(len(pages)), "name": f"flavor {len(pages)}"}]
        return 200, {}, {"flavors": flavors, "flavors_links": [link]}

    cloud.answer = endless
    begun = time.monotonic()
    result = go("boot", timeout=1)
    assert time.monotonic() - begun < 10  # it was endless before
    assert result["error"]["kind"] == ("service" if marker == "the same" else "deadline")
    assert len(pages) > 1


@pytest.mark.parametrize(
    ("method", "path", "answer"),
    [
        ("POST", "/servers", (500, {}, {"error": {"message": "x" * (33 * MIB)}})),
        ("POST", "/volumes", (400, {}, {"badRequest": {"message": "y " * MIB}})),
        (
            "GET",
            "/flavors/detail",
            (200, {}, {"flavors": [{"id": "1", "name": "z" * (20 * MIB), "ram": 1, "disk": 1}]}),
        ),
    ],
)
def test_a_flood_of_words_makes_no_run_impossible_to_remove(whole_run, cloud, run, method, path, answer):
    cloud.trouble(method, path, answer, times=FOREVER)
    result = whole_run()
    assert result["verdict"]["result"] == ("pass" if method == "GET" else "fail")
    assert made_by_run(cloud) == []
    assert max(path.stat().st_size for path in Path(run.directory).iterdir()) < MIB


def test_a_fault_as_long_as_a_book_is_cut(whole_run, cloud, run):
    fault = {"message": "f" * MIB, "details": "d " * (5 * MIB), "code": 500}
    cloud.states["servers"] = [{"status": "ERROR", "fault": fault}]
    assert whole_run()["verdict"]["result"] == "fail"
    assert made_by_run(cloud) == []
    assert max(path.stat().st_size for path in Path(run.directory).iterdir()) < MIB


def test_a_state_that_never_rests_fills_no_record(whole_run, cloud, go):
    cloud.states["servers"] = [
        {"status": "BUILD", "OS-EXT-STS:task_state": f"state {number}"} for number in range(9999)
    ]
    whole_run(boot={"timeout": 4})
    states = go.record("boot")["waits"][0]["states"]
    assert 2 < len(states) <= 100
    assert states[-1]["state"] != states[-2]["state"]
    assert made_by_run(cloud) == []


@pytest.mark.parametrize("method", ["POST", "GET", "DELETE"])
def test_an_answer_of_a_hundred_thousand_brackets_stops_no_removal(whole_run, cloud, method):
    cloud.trouble(method, "/networks", (500, {}, "[" * 200_000), times=9)
    whole_run()
    assert made_by_run(cloud) == []


def test_the_removal_goes_on_beside_an_answer_of_brackets(go, cloud):
    go("network")
    cloud.trouble("DELETE", "/networks", (409, {}, "[" * 200_000), times=FOREVER)
    result = go("cleanup", end=False, timeout=1)
    assert_no_defect(json.dumps(result))
    assert [left["kind"] for left in result["runs"][0]["left"]] == ["network"]
    assert cloud.all("security-groups") == []


@pytest.mark.parametrize("digits", [5000, 400])
def test_a_pause_of_thousands_of_digits_is_no_error(go, cloud, digits):
    cloud.trouble("POST", "/networks", (429, {"retry-after": "9" * digits}, {"error": "slow down"}), times=1)
    assert go("network").get("failed") is None


def test_a_listing_that_is_no_json_is_not_laid_to_the_disk(go, cloud):
    cloud.trouble("GET", "/images", (200, {"content-type": "application/json"}, "<html>"), times=FOREVER)
    result = go("image")
    assert result["error"]["kind"] == "malformed"
    assert "free space" not in result["msg"]


# Lies


@pytest.fixture
def foreign(cloud):
    """Resources of others, listed before those of the run."""
    words = ("networks", "subnets", "routers", "security-groups", "ports", "volumes", "images")
    return {word: cloud.put(word, name=f"others-{word}", description="", status="available") for word in words}


@pytest.mark.parametrize("path", ["networks", "subnets", "routers", "security-groups", "ports", "volumes", "images"])
def test_nothing_of_others_is_used_after_a_lost_answer(go, cloud, foreign, path, tmp_path):
    cloud.ignored |= {"name", "security_group_id", "status", "id"}
    cloud.put("networks", name="public", **{"router:external": True})
    before = json.dumps(foreign, sort_keys=True)
    rules = len(cloud.all("security-group-rules"))
    (tmp_path / "image.raw").write_bytes(b"x" * 100)
    cloud.trouble("POST", f"/{path}$", "reset", times=1)
    go("image", **({"file": str(tmp_path / "image.raw")} if path == "images" else {}))
    assert go("network", router="always", port="precreated").get("failed") is None
    go("volume")
    used = json.dumps([body for _word, body in cloud.bodies])
    assert not [word for word, thing in foreign.items() if thing["id"] in used]
    assert [rule for rule in cloud.all("security-group-rules")[rules:] if rule["security_group_id"] in before] == []
    go("cleanup", end=False)
    assert json.dumps(foreign, sort_keys=True) == before
    assert {thing["id"] for thing in foreign.values()} <= {thing["id"] for word in foreign for thing in cloud.all(word)}


def test_an_answer_about_another_resource_is_not_taken_for_our_own(go, cloud):
    other = cloud.put("networks", name="theirs")
    cloud.trouble("POST", "/networks", (201, {}, {"network": other}), times=1, effect=True)
    result = go("network")
    assert "which this run has not asked for" in result["msg"]
    go("cleanup", end=False)
    assert [network["name"] for network in cloud.all("networks")] == ["theirs"]


DAY = 86400


@pytest.mark.parametrize("jump", [-DAY, -400 * DAY, DAY, 400 * DAY])
def test_a_clock_that_is_set_changes_no_deadline(go, cloud, console, monkeypatch, jump):
    """All who ask for the time of the day are told another one as soon as the server is awaited."""
    cloud.console, cloud.states["servers"] = console, ["BUILD"]
    usual_time, usual_now = time.time, clock.now
    for name in ("auth", "image", "network", "volume"):
        go(name)

    def set_clock(request):
        if request.method == "GET" and "/servers/" in request.path:
            monkeypatch.setattr(time, "time", lambda: usual_time() + jump)
            moved = iso_of(clock.seconds_of(usual_now()) + jump)
            monkeypatch.setattr(clock, "now", lambda: moved)

    cloud.watchers.append(set_clock)
    begun = time.monotonic()
    result = go("boot", timeout=2)
    assert result["error"]["kind"] == "deadline"
    assert time.monotonic() - begun < 20  # it was 118 s for a timeout of 20 s, where it was met
    assert go("cleanup", end=False, timeout=10).get("failed") is None
    assert made_by_run(cloud) == []


# Two accounts of what was made


@pytest.mark.parametrize("when", STAGES)
@pytest.mark.parametrize("how", ["emptied", "removed"])
def test_a_run_whose_ledger_was_lost_does_not_pass_and_names_it(whole_run, cloud, run, when, how):
    def lose(stage):
        path = Path(run.path("ledger.jsonl"))
        if stage == when:
            path.unlink() if how == "removed" else path.write_text("")

    names = set()
    cloud.watchers.append(lambda _request: names.update(thing["name"] for thing in made_by_run(cloud)))
    result = whole_run(meanwhile=lose)
    if when in ("auth", "image"):
        assert result["verdict"]["result"] == "pass"  # nothing had been made
        return
    record = json.loads(Path(run.path("run.json")).read_text())
    assert record["verdict"]["result"] == "fail"
    assert "not accounted for" in record["verdict"]["reason"]
    assert record["leftovers"]
    assert {leftover["name"] for leftover in record["leftovers"]} <= names
    assert made_by_run(cloud) == []


def test_a_record_that_lost_a_resource_does_not_pass(whole_run, cloud, run):
    def lose(stage):
        if stage == "metadata":
            record = json.loads(Path(run.path("run.json")).read_text())
            for entry in record["stages"]:
                entry["resources"] = [resource for resource in entry["resources"] if resource["kind"] != "volume"]
            Path(run.path("run.json")).write_text(json.dumps(record))

    result = whole_run(meanwhile=lose)
    assert "the ledger alone knows it" in result["verdict"]["reason"]
    assert made_by_run(cloud) == []


@pytest.mark.parametrize("text", ["", "{", "[]", "null", "x" * 100])
def test_a_record_damaged_on_the_way_leaves_nothing(whole_run, cloud, run, text):
    def damage(stage):
        if stage == "volume":
            Path(run.path("run.json")).write_text(text)

    result = whole_run(meanwhile=damage)
    assert result["verdict"]["result"] == "incomplete"
    assert made_by_run(cloud) == []
    assert Path(run.path("run.json.unreadable")).read_text() == text


def test_a_kept_run_whose_ledger_was_lost_names_what_it_kept(go, call, cloud, run, console):
    cloud.console = console
    for name in STAGES:
        assert go(name).get("failed") is None
    Path(run.path("ledger.jsonl")).write_text("")
    go("cleanup", end=False, keep="always")
    assert call(report_module, run_dir=run.directory)["verdict"]["result"] == "fail"
    assert made_by_run(cloud)
    assert go("cleanup").get("failed") is None
    assert made_by_run(cloud) == []


def test_a_ledger_too_long_to_be_one_is_named(whole_run, cloud, run):
    def flood(stage):
        if stage == "metadata":
            Path(run.path("ledger.jsonl")).write_text("x" * (ledger_module.LONGEST + 1))

    assert whole_run(meanwhile=flood)["verdict"]["result"] == "fail"
    assert made_by_run(cloud) == []


# Secrets


ECHOES = ("token", "password", "named", "key")


def echo_of(cloud, kind):
    """A text with a secret in it, as a careless service may utter it."""
    pem = "RSA PRIVATE " + "KEY-----"
    return {
        "token": lambda request: f"cannot validate {request.token}",
        "password": lambda _request: f"wrong: {cloud.password}.",
        "named": lambda _request: f"db says password={PLANTED}",
        "key": lambda _request: f"-----BEGIN {pem}\n{PLANTED}\n{'MIIE' * 16}\n-----END {pem}",
    }[kind]


@pytest.mark.parametrize("kind", ECHOES)
@pytest.mark.parametrize(
    ("method", "path", "stage"),
    [
        ("POST", "/auth/tokens", "auth"),
        ("GET", "/images", "image"),
        ("POST", "/volumes", "volume"),
        ("POST", "/servers", "boot"),
    ],
)
def test_no_secret_that_an_error_echoes_is_written_or_printed(whole_run, go, cloud, run, kind, method, path, stage):
    if kind == "token" and stage == "auth":
        pytest.skip("there is no token yet")
    say, usual = echo_of(cloud, kind), cloud.answer

    def echo(request):
        if request.method == method and path in request.path and request.token in (None, *cloud.tokens):
            return 403, {}, {"error": {"message": say(request), "code": 403}}
        return usual(request)

    cloud.answer = echo
    result = go(stage) if stage in ("auth", "image") else whole_run()
    cloud.answer = usual
    assert_nothing_secret(cloud, run, json.dumps(result))


@pytest.mark.parametrize("kind", ECHOES)
def test_no_secret_of_a_fault_or_a_state_is_written(whole_run, cloud, run, kind):
    say = echo_of(cloud, kind)
    usual = cloud.answer

    def echo(request):
        is_look = request.method == "GET" and re.search("/servers/[0-9a-f-]{36}$", request.path)
        if is_look and cloud.all("servers"):
            fault = {"message": say(request), "details": f"Traceback: {say(request)}", "code": 500}
            state = {"status": "ERROR", "OS-EXT-STS:task_state": say(request), "fault": fault}
            return 200, {}, {"server": {**cloud.all("servers")[0], **state}}
        return usual(request)

    cloud.answer = echo
    result = whole_run()
    assert_nothing_secret(cloud, run, json.dumps(result))


@pytest.mark.parametrize("field", ["name", "x-openstack-request-id"])
def test_no_token_in_a_name_or_a_header_is_written(whole_run, cloud, run, field):
    usual = cloud.answer

    def echo(request):
        answer = usual(request)
        if not isinstance(answer[0], int) or not request.token:
            return answer
        if field == "name" and request.path.endswith("/flavors/detail"):
            flavor = {**cloud.all("flavors")[0], "name": f"flavor {request.token} {cloud.password}"}
            return 200, {}, {"flavors": [flavor]}
        return (answer[0], {**answer[1], field: f"req-{request.token}"}, answer[2]) if field != "name" else answer

    cloud.answer = echo
    whole_run()
    assert_nothing_secret(cloud, run, "")


def assert_nothing_secret(cloud, run, printed):
    secrets = [cloud.password, *cloud.tokens, PLANTED, "MIIEMIIE"]
    assert_no_secret(secrets, printed)
    assert_no_secret(secrets, Path(run.directory))
