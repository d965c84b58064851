# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Runs on the lab are followed through every step, and nothing of one run is taken for another's."""

from __future__ import annotations

import itertools
import json
import re
import time
from datetime import datetime
from typing import NamedTuple

import pytest
from ansible_collections.stackproof.provision.plugins.module_utils._collect.api.instance import WINDING_UP
from lab_under_test import DIRECTORY, INVENTORY
from runs_under_test import LIMIT, Outcome, start, verify
from tree import ROOT

# What nova 2025.1 does one after the other.
ORDER = [
    ["1", "3", "4", "6", "7"],
    ["4", "6", "8", "9", "11", "12", "13", "14", "15", "17", "18"],
    ["13", "26", "26c"],
    ["26", "27", "29", "32"],
    ["13", "39", "42", "19", "20", "44", "34", "36", "37", "38", "45", "46", "47"],
    ["19", "21", "22", "43", "52", "53", "53a", "54"],
    ["7", "55", "58"],
]
# An older oslo.messaging logs that a message is sent and not which call it is. The recorder of the queue shows that.
NAMELESS = (DIRECTORY / "release").read_text().strip() < "2023.2" if (DIRECTORY / "release").exists() else False
OF_QUEUE = "the messages on the queue"


class Followed(NamedTuple):
    outcome: Outcome

    def flow(self, name):
        return next(flow for flow in self.outcome.record["flows"] if flow["name"] == name)

    def steps(self, name="ops_guide"):
        return {step["id"]: step for step in self.flow(name)["steps"]}

    def unseen(self, name):
        """What was not seen, and why, but for what the lab's release cannot show."""
        unseen = {step["id"]: step["reason"] for step in self.flow(name)["steps"] if step["status"] == "unseen"}
        return {step: reason for step, reason in unseen.items() if not (NAMELESS and OF_QUEUE in reason)}

    def covered(self, tier, level=None):
        rows = self.flow("ops_guide")["coverage"]
        return next(row for row in rows if (row["tier"], row["level"]) == (tier, level))

    @property
    def events(self):
        return [json.loads(line) for line in (self.outcome.directory / "events.jsonl").read_text().splitlines()]

    @property
    def own_ids(self):
        instance, boot = self.outcome.record["instance"], self.outcome.stage("boot")
        ports = [port["id"] for port in instance["ports"]]
        return {instance["server"]["id"], boot["details"]["request_id"], *ports, *instance["volumes"]}


FRESH = {
    "cloud": "lab-ldap",
    "admin_cloud": "lab-admin",
    "image_file": str(DIRECTORY / "probe.raw"),
    "image_store": "rgw",
    "volume_type": "ceph",
}
PLAIN = {"cloud": "lab", "admin_cloud": "lab-admin", "image": "probe", "volume_type": "ceph"}
# With all that a server may get after its boot
CONNECTED = {"attach": "after", "floating_ip": "true", "tcp_port": "80"}


def passed(outcome):
    assert outcome.status == 0, outcome.output
    return Followed(outcome)


@pytest.fixture(scope="module")
def alone(module_runs):
    """A user out of LDAP, an image in RBD, a volume, and no other boot beside it."""
    # What a server of an earlier test still causes could be taken for this one's.
    time.sleep(WINDING_UP + 1)
    return passed(verify(module_runs / "alone", "-i", str(INVENTORY), **{**PLAIN, "cloud": "lab-ldap"}))


@pytest.fixture(scope="module")
def together(module_runs):
    """Two boots at the same moment: a fresh image out of the object store for a user out of LDAP, and a plain one."""
    begun = {
        name: start(module_runs / name, "-i", str(INVENTORY), **variables)
        for name, variables in {"fresh": FRESH, "plain": {**PLAIN, **CONNECTED}}.items()
    }
    outputs = {name: process.communicate(timeout=LIMIT)[0] for name, process in begun.items()}
    return {
        name: passed(Outcome(process.returncode, outputs[name], (module_runs / name / "latest").resolve()))
        for name, process in begun.items()
    }


@pytest.mark.parametrize("name", ["make_volume", "make_network"])
def test_every_step_of_the_stages_before_the_boot_is_seen_in_its_order(alone, name):
    assert_seen(alone, name)


@pytest.mark.soak
def test_every_step_of_an_upload_is_seen_in_its_order(together):
    assert_seen(together["fresh"], "upload_image")


@pytest.mark.soak
@pytest.mark.parametrize("name", ["attach_volume", "give_floating_ip"])
def test_every_step_of_what_a_server_gets_after_its_boot_is_seen_in_its_order(together, name):
    assert_seen(together["plain"], name)


def test_every_step_of_the_removal_is_seen_in_its_order(alone):
    assert_seen(alone, "remove_run")


@pytest.mark.soak
def test_every_step_of_the_removal_of_all_that_there_is_is_seen_in_its_order(together):
    for followed in together.values():
        assert_seen(followed, "remove_run")


def assert_seen(followed, name):
    steps = followed.steps(name)
    assert followed.unseen(name) == {}
    assert {step["status"] for step in steps.values()} <= {"seen", "skipped", "unseen"}
    assert sum(step["status"] == "seen" for step in steps.values()) >= 4
    for step in steps.values():
        earlier = [steps[before] for before in step["follows"] if steps[before]["at"] and step["at"]]
        assert all(bounds(before)[0] <= bounds(step)[1] for before in earlier), step["id"]


def bounds(step):
    """Between which times a step happened: what is cut to the second may have been later in it."""
    at = datetime.fromisoformat(step["at"]).timestamp()
    return at - step["error_s"], at + step["resolution_s"] + step["error_s"]


def assert_in_order(steps):
    for chain in ORDER:
        timed = [steps[name] for name in chain if steps[name]["at"]]
        assert len(timed) > len(chain) / 2, chain
        for earlier, later in itertools.combinations(timed, 2):
            assert bounds(earlier)[0] <= bounds(later)[1], (earlier["id"], earlier["at"], later["id"], later["at"])


def test_every_step_of_the_operations_guide_is_seen_or_proved_not_to_happen(alone):
    assert alone.unseen("ops_guide") == {}
    assert {alone.steps()[name]["status"] for name in ("2", "2a", "23", "25")} == {"absent"}
    assert {alone.steps()[name]["status"] for name in ("1a", "1b")} == {"seen"}
    assert alone.unseen("modern") == {}
    assert alone.unseen("request_flow") == {}


def test_every_exchange_of_the_trace_is_found_or_explained(alone):
    trace = alone.flow("http_trace")
    assert alone.unseen("http_trace") == {}
    assert sum(step["status"] == "seen" for step in trace["steps"]) >= 25
    assert [exchange for exchange in trace["others"] if not exchange["reason"]] == []


@pytest.mark.parametrize(
    ("tier", "level", "least"),
    [(0, None, 10), (1, None, 15), (2, "info", 33), (2, "debug", 42), (2, "messaging", 50)],
)
def test_each_access_shows_so_many_of_the_58(alone, tier, level, least):
    if NAMELESS and level == "messaging":
        pytest.skip("what this release logs of messages shows fewer")
    row = alone.covered(tier, level)
    assert row["total"] == 58
    assert row["seen"] + row["absent"] >= least, row
    place = [(0, None), (1, None), (2, "info"), (2, "debug"), (2, "messaging")].index((tier, level))
    assert_as_the_page_says(row, place)


def assert_as_the_page_says(row, place):
    """A row of the coverage counts as many steps as the row of the page's table at this place."""
    rows = re.findall(r"^\| tier \d[^|]*\| (\d+) \| (\d+) \| (\d+) \|", (ROOT / "docs/flows.md").read_text(), re.M)
    counted = row["seen"] + row["absent"], row["cached"] + row["window"], row["unseen"]
    # A look at the state every half second may miss the shortest of them.
    near = [abs(ours - int(page)) <= 2 for ours, page in zip(counted, rows[place], strict=True)]
    assert near == [True] * 3, (counted, rows[place])


def test_steps_come_in_the_order_in_which_they_happen(alone):
    assert_in_order(alone.steps())


def test_every_host_is_read_whole(alone):
    for host in alone.outcome.record["logs"]:
        assert host["reason"] is None
        assert host["unread"] == []
        assert all(source["complete"] for source in host["sources"]), host


def minute_and_second(line):
    minutes, seconds = line.split()[0].split(":")
    return 60 * int(minutes) + int(seconds)


@pytest.mark.soak  # seconds mean something on a machine that does nothing else
def test_following_takes_little_time(alone):
    """From the end of the last stage: asking, reading five hosts, matching and writing."""
    lines = alone.outcome.output.splitlines()
    (ended,) = (minute_and_second(line) for line in lines if "metadata | Check what the guest" in line)
    (finished,) = (minute_and_second(line) for line in lines if "flow | Follow the run" in line)
    assert finished - ended < 20, alone.outcome.output


@pytest.mark.soak
def test_two_boots_at_one_moment_are_told_apart(together):
    fresh, plain = together["fresh"], together["plain"]
    for boot, other in ((fresh, plain), (plain, fresh)):
        assert boot.flow("ops_guide")["concurrent_boots"] >= 1
        # A request of ours may be about the other, as when a host counts what lies on it: no step takes that for ours.
        assert [
            event for event in boot.events if other.own_ids & {key for keys in event["keys"].values() for key in keys}
        ] == []
        texts = [
            seen["text"] for flow in boot.outcome.record["flows"] for step in flow["steps"] for seen in step["evidence"]
        ]
        assert [text for text in texts if any(identity in text for identity in other.own_ids)] == []
        assert_in_order(boot.steps())


@pytest.mark.soak
def test_what_has_no_id_counts_for_neither_of_two_boots(together):
    """Since the later of the two was asked for, whatever has no id may be the other's."""
    both = max(bounds(boot.steps()["4"])[0] for boot in together.values())
    for boot in together.values():
        for step in boot.steps().values():
            late = [seen for seen in step["evidence"] if seen["grade"] == "window" and seen["at"] and seen["tier"] == 2]
            assert all(datetime.fromisoformat(seen["at"]).timestamp() < both for seen in late), step


@pytest.mark.soak
def test_an_image_out_of_the_object_store_is_seen_to_be_fetched(together):
    assert {together["fresh"].steps()[name]["status"] for name in ("23", "25")} == {"seen"}
    assert {together["plain"].steps()[name]["status"] for name in ("23", "25")} == {"absent"}
    assert {together["plain"].steps()[name]["status"] for name in ("1a", "1b")} == {"absent"}
