# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What an instrumented cloud shows, and that nothing of the instruments stays, whatever happens to who set them up."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess

import pytest
import yaml
from lab_under_test import DIRECTORY, GROUPS, INVENTORY, until
from runs_under_test import environment, start, verify, wait_for_end, wait_for_progress
from test_flow import PLAIN, assert_as_the_page_says, assert_in_order, passed

# Recording, and what is recorded without one, are tried by unit tests on recorded messages, too.
pytestmark = pytest.mark.soak
BROKER = GROUPS["controller"][0]
DEADLINE = 45


@pytest.fixture(scope="module")
def broker(lab_hosts):
    return lab_hosts[BROKER]


@pytest.fixture(autouse=True)
def nothing_stays(broker):
    yield
    assert traces(broker) == []


@pytest.fixture(scope="module")
def instrumented(module_runs):
    key = yaml.safe_load((DIRECTORY / "secrets.yml").read_text())["osprofiler"]
    return passed(verify(module_runs / "instrumented", "-i", str(INVENTORY), **PLAIN, firehose=True, profiler_key=key))


def traces(broker):
    """What is there of a recorder: tracing, user, queue, directory, unit, processes."""
    lines = ["tracing"] if broker.run("rabbitmqctl -q list_vhosts tracing").stdout.strip().endswith("true") else []
    for what in ("rabbitmqctl -q list_users", "rabbitmqctl -q list_queues name", "ls /run", "ps -e -o args="):
        lines += [line for line in broker.check_output(what).splitlines() if "stackproof-firehose" in line]
    lines += broker.check_output("systemctl list-units --all --no-legend 'stackproof-firehose*'").splitlines()
    return [line for line in lines if "ps -e -o" not in line]


def firehose(state, run_id, **options):
    """Run the module on the broker's host and return what it says."""
    given = json.dumps({"state": state, "run_id": run_id, **options})
    words = ["ansible", "-i", str(INVENTORY), BROKER, "-b", "-m", "stackproof.provision.firehose", "-a", given]
    done = subprocess.run(words, env=environment(), capture_output=True, text=True, timeout=120, check=False)
    return json.loads(re.search(r"=> (\{.*\})\s*\Z", done.stdout, re.DOTALL)[1])


def test_an_instrumented_cloud_shows_every_step(instrumented):
    assert instrumented.unseen("ops_guide") == {}
    assert instrumented.unseen("modern") == {}
    (recorded,) = instrumented.outcome.record["queue"]
    assert (recorded["host"], recorded["foreign"], recorded["reason"]) == (BROKER, False, None)
    assert recorded["messages"] > 100
    assert_in_order(instrumented.steps())


def test_messages_show_what_only_a_log_of_every_message_would(instrumented):
    """Without that log, which few clouds have: what is unseen then is none of the messages."""
    rows = instrumented.flow("ops_guide")["coverage"]
    row = next(row for row in rows if (row["tier"], row["level"]) == (3, "debug"))
    assert (row["total"], row["unseen"]) == (58, 0)
    for name in ("6", "8", "12", "13", "14", "15", "17", "18", "27", "28", "29", "32", "33", "36", "45", "46", "47"):
        shown = [seen for seen in instrumented.steps()[name]["evidence"] if seen["source"] == "queue"]
        assert [(seen["tier"], seen["grade"]) for seen in shown] == [(3, "keyed")], name


@pytest.mark.parametrize(("place", "level"), [(-2, "info"), (-1, "debug")])
def test_an_instrumented_cloud_shows_as_many_as_the_page_says(instrumented, place, level):
    assert_as_the_page_says(instrumented.covered(3, level), place)


def test_spans_show_what_the_services_did_in_their_databases(instrumented):
    (read,) = instrumented.outcome.record["spans"]
    assert (read["host"], read["reason"]) == (BROKER, None)
    assert read["spans"] > 100
    for name in ("5", "9", "11", "16", "19", "26", "39", "42", "44"):
        shown = [seen for seen in instrumented.steps()[name]["evidence"] if seen["source"] == "span"]
        assert [(seen["tier"], seen["grade"]) for seen in shown] == [(3, "keyed")], name


def test_no_secret_of_a_message_is_written(instrumented, broker):
    written = "".join(path.read_text() for path in instrumented.outcome.directory.iterdir() if path.suffix != ".svg")
    for path in ("/etc/nova/nova.conf", "/etc/neutron/neutron.conf"):
        secrets = re.findall(
            r"^(?:password|metadata_proxy_shared_secret) = (\S+)$", broker.file(path).content_string, re.M
        )
        assert secrets
        assert [secret for secret in secrets if secret in written] == []
    assert yaml.safe_load((DIRECTORY / "secrets.yml").read_text())["osprofiler"] not in written
    assert not re.search("gAAAA", written)


def test_a_killed_verify_leaves_the_broker_as_it_was(module_runs, broker):
    runs = module_runs / "killed"
    process = start(runs, "-i", str(INVENTORY), **PLAIN, firehose=True, firehose_timeout=DEADLINE)
    wait_for_progress(runs, "boot")
    assert "tracing" in traces(broker)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    until("the broker to be as it was", lambda: traces(broker) == [], DEADLINE + 30, pause=2)
    wait_for_end(runs)


def test_a_killed_recorder_leaves_the_broker_as_it_was(broker):
    try:
        assert firehose("started", "killed-recorder")["changed"]
        assert "tracing" in traces(broker)
        unit = "stackproof-firehose-killed-recorder.service"
        broker.check_output(f"kill -9 $(systemctl show --property MainPID --value {unit})")
        until("the broker to be as it was", lambda: traces(broker) == [], 30, pause=1)
    finally:
        answer = firehose("stopped", "killed-recorder")
    assert (answer["changed"], answer["events"]) == (False, [])
    assert "had ended before" in answer["reason"]


def test_two_recorders_do_not_end_each_other(broker):
    try:
        assert firehose("started", "first")["foreign"] is False
        assert firehose("started", "second")["foreign"] is False
        assert firehose("stopped", "first")["changed"]
        assert "tracing" in traces(broker)
    finally:
        stopped = [firehose("stopped", name)["changed"] for name in ("first", "second")]
    assert stopped == [False, True]


def test_tracing_that_was_on_before_stays_on(broker):
    broker.check_output("rabbitmqctl -q trace_on")
    try:
        assert firehose("started", "guest")["foreign"]
        assert firehose("stopped", "guest")["foreign"]
        assert traces(broker) == ["tracing"]
    finally:
        broker.check_output("rabbitmqctl -q trace_off")


def test_the_user_of_a_recorder_may_only_record(broker):
    firehose("started", "narrow")
    try:
        rights = broker.check_output("rabbitmqctl -q list_user_permissions stackproof-firehose-narrow --formatter json")
        (right,) = json.loads(rights)
        own = r"^stackproof\-firehose\-narrow$"
        assert (right["configure"], right["write"]) == (own, own)
        assert right["read"] == own + r"|^amq\.rabbitmq\.trace$"
        directory = broker.file("/run/stackproof-firehose-narrow")
        assert (directory.mode, directory.user) == (0o700, "root")
        assert broker.file("/run/stackproof-firehose-narrow/messages").mode == 0o600
    finally:
        firehose("stopped", "narrow")
