# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs whose playbook ends too early, with real processes: what the watching process does then."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import as_json
import pytest
from ansible_collections.stackproof.provision.plugins.module_utils._end import lookout, takeover, watchdog
from ansible_collections.stackproof.provision.plugins.module_utils._model.words import StageName
from ansible_collections.stackproof.provision.plugins.module_utils._record import ledger, waiting
from ansible_collections.stackproof.provision.plugins.module_utils._record import run as run_module
from tree import RECORDED, ROOT

CONFTEST = ROOT / "tests/unit/conftest.py"
WATCH = """
import json, runpy, sys
runpy.run_path(sys.argv[1])
from ansible_collections.stackproof.provision.plugins.module_utils._end import watchdog
from ansible_collections.stackproof.provision.plugins.module_utils._record import run
watchdog.watch(run.Run(sys.argv[2]), json.loads(sys.argv[3]), int(sys.argv[4]))
"""


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    monkeypatch.setattr(lookout, "LOOK", 0.03)


@pytest.fixture
def process():
    """Return a function that starts another process; all of them end with the test."""
    started = []

    def start(*command):
        started.append(subprocess.Popen(command or ["sleep", "60"]))
        return started[-1]

    yield start
    for process in started:
        process.kill()
        process.wait()


@pytest.fixture
def stage_at_work(run):
    """Return a function that has another process hold a lock of the run; stubborn is what ignores to be ended."""
    processes = []

    def start(stubborn=False, lock=run.alone):
        ready, tell = os.pipe()
        number = os.fork()
        if not number:
            signal.signal(signal.SIGTERM, signal.SIG_IGN if stubborn else lambda *_args: os._exit(0))
            with lock():
                os.write(tell, b".")
                while True:
                    # A signal that comes just before a sleep is handled after it.
                    time.sleep(0.05)
        processes.append(number)
        assert os.read(ready, 1) == b"."
        return number

    yield start
    for number in processes:
        with contextlib.suppress(ProcessLookupError):
            os.kill(number, signal.SIGKILL)
        with contextlib.suppress(ChildProcessError):
            os.waitpid(number, 0)


@pytest.fixture
def options(params):
    """The options that the module run hands on."""
    return {**params, "keep": "never", "thresholds": [], "cleanup_timeout": 300}


def until(condition, seconds=20):
    deadline = waiting.Deadline(seconds)
    while not condition():
        assert deadline.left() > 0, "it did not happen"
        time.sleep(0.02)


def record(run):
    return as_json.read_record(run.directory)


def has_exited(number):
    return os.waitid(os.P_PID, number, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None


def test_a_process_is_known_by_its_start(process):
    first = process()
    assert lookout.start_time(first.pid) == lookout.start_time(first.pid)
    assert int(lookout.start_time(first.pid)) >= int(lookout.start_time(os.getpid()))
    first.kill()
    first.wait()
    assert lookout.start_time(first.pid) is None


def test_the_start_of_a_process_with_an_odd_name_is_known(process, tmp_path):
    odd = tmp_path / "a) b 1 (2"
    shutil.copy(shutil.which("sleep"), odd)
    odd, plain = process(str(odd), "60"), process()
    assert abs(int(lookout.start_time(odd.pid)) - int(lookout.start_time(plain.pid))) < 500


def test_a_run_is_watched_as_long_as_its_watch_lives(run, stage_at_work):
    assert not watchdog.is_watched(run)
    number = stage_at_work()
    os.link(run.path("lock"), run.path("watched"))
    assert watchdog.is_watched(run)
    os.kill(number, signal.SIGKILL)
    os.waitpid(number, 0)
    assert not watchdog.is_watched(run)


def test_a_run_is_finished_when_its_record_says_so_or_is_gone(run):
    assert not lookout.is_finished(run.directory)
    run.finish()
    run.save()
    assert lookout.is_finished(run.directory)
    shutil.rmtree(run.directory)
    assert lookout.is_finished(run.directory)


def test_a_record_that_cannot_be_read_now_does_not_end_the_watch(run):
    Path(run.path("run.json")).write_text("{")
    assert not lookout.is_finished(run.directory)


def test_a_file_that_is_too_long_for_a_record_does_not_end_the_watch(run, monkeypatch):
    run.finish()
    run.save()
    monkeypatch.setattr(lookout, "LONGEST_RECORD", 10)
    assert not lookout.is_finished(run.directory)


def test_a_run_whose_playbook_is_killed_is_abandoned(run, process):
    controller = process()
    os.kill(controller.pid, signal.SIGKILL)
    controller.wait()
    assert lookout.is_abandoned(run.directory, controller.pid)


def test_a_zombie_playbook_counts_as_ended(run, process):
    controller = process()
    os.kill(controller.pid, signal.SIGKILL)
    until(lambda: has_exited(controller.pid))
    # Nobody has asked for its end, so the kernel still has an entry for it.
    assert os.path.exists(f"/proc/{controller.pid}/stat")
    assert lookout.start_time(controller.pid) is None
    assert lookout.is_abandoned(run.directory, controller.pid)


def test_a_run_that_finishes_is_left_alone(run, process):
    controller = process()
    run.finish()
    run.save()
    assert not lookout.is_abandoned(run.directory, controller.pid)
    assert controller.poll() is None


def test_a_run_that_was_finished_before_its_playbook_ended_is_left_alone(run):
    run.finish()
    run.save()
    assert not lookout.is_abandoned(run.directory, 2**22 + 1)


def test_another_process_with_the_number_of_the_playbook_is_not_it(run, monkeypatch):
    times = ["100", "100", "100", "200"]
    monkeypatch.setattr(lookout, "start_time", lambda _process: times.pop(0))
    assert lookout.is_abandoned(run.directory, 1)
    assert times == []


def test_the_stage_at_work_is_asked_to_end(run, stage_at_work):
    number = stage_at_work()
    takeover.stop_stages(run.directory, signal.SIGTERM, set())
    until(lambda: has_exited(number))


def test_all_stages_at_work_are_asked_to_end(run, stage_at_work):
    stages = (StageName.IMAGE, StageName.VOLUME)
    numbers = [stage_at_work(lock=partial(run.beside, stage)) for stage in stages]
    takeover.stop_stages(run.directory, signal.SIGTERM, set())
    for number in numbers:
        until(partial(has_exited, number))


def test_a_process_that_once_worked_on_the_run_is_not_harmed(run, process):
    other = process()
    Path(run.path("lock")).write_text(str(other.pid))
    takeover.stop_stages(run.directory, signal.SIGTERM, set())
    time.sleep(0.05)
    assert other.poll() is None


@pytest.mark.parametrize("text", ["", "nonsense", "-1", "0", "1"])
def test_a_lock_without_the_number_of_a_stage_stops_nobody(run, monkeypatch, text):
    """To a system call -1 is every process of the user, and 0 every process of the group."""
    signals = []
    monkeypatch.setattr(takeover.os, "kill", lambda *given: signals.append(given))
    Path(run.path("lock")).write_text(text)
    with open(run.path("lock")) as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        takeover.stop_stages(run.directory, signal.SIGTERM, set())
    assert signals == []


def test_the_end_waits_for_the_stage_and_knows_what_it_did(run, options, stage_at_work, monkeypatch):
    stage_at_work()
    seen = []

    def cleaned(cleaned_run, _params):
        seen.append(cleaned_run.ledger.find("server", "s"))
        cleaned_run.ledger.write(ledger.GONE, "server", "s", id="1")

    monkeypatch.setattr(takeover.clean, "clean", cleaned)
    run.ledger.write(ledger.MADE, "server", "s", id="1")
    takeover.end(run.directory, options)
    assert seen[0]["id"] == "1"
    assert record(run)["verdict"]["result"] == "incomplete"


def test_a_stage_that_does_not_end_is_ended(run, options, stage_at_work, monkeypatch):
    monkeypatch.setattr(takeover, "PATIENCE", 0.5)
    number = stage_at_work(stubborn=True)
    takeover.end(run.directory, options)
    until(lambda: has_exited(number))
    assert record(run)["finished"]


@pytest.mark.usefixtures("cloud")
def test_an_ended_run_is_judged_and_rendered(run, options):
    takeover.end(run.directory, options)
    ended = record(run)
    assert ended["verdict"]["result"] == "incomplete"
    assert ended["verdict"]["reason"] == "The run was interrupted before the stage auth."
    assert [stage["status"] for stage in ended["stages"]] == ["skipped"] * 6
    assert {"junit.xml", "metrics.prom"} <= set(os.listdir(run.directory))


@pytest.mark.parametrize("keep", ["always", "on_failure"])
def test_an_ended_run_keeps_what_it_is_told_to(run, options, keep):
    run.ledger.write(ledger.MADE, "server", "s", id="1")
    takeover.end(run.directory, {**options, "keep": keep})
    ended = record(run)
    assert (ended["kept"], ended["created"], ended["deleted"], ended["leftovers"]) == (True, 1, 0, [])
    assert ended["finished"]


def test_kept_server_of_an_interrupted_run_shows_that_it_was_interrupted(run, options, cloud):
    server = cloud.put("servers", name=f"{run.mark}-server")
    run.ledger.write(ledger.MADE, "server", server["name"], id=server["id"])
    takeover.end(run.directory, {**options, "keep": "on_failure"})
    described = "Kept by stackproof, run run-1: INCOMPLETE: The run was interrupted before the stage auth."
    assert server["description"] == described
    assert record(run)["server_description"]["text"] == described


def test_an_ended_run_that_cannot_be_cleaned_says_why(run, options, know_cloud):
    know_cloud()
    run.ledger.write(ledger.MADE, "server", "s", id="1")
    takeover.end(run.directory, options)
    whole, server = record(run)["leftovers"]
    assert (whole["kind"], whole["id"], whole["name"]) == ("run", "run-1", "stackproof-run-1")
    assert "the cloud small cannot be used" in whole["reason"]
    assert (server["kind"], server["id"], server["reason"]) == ("server", "1", "it was not removed")


def test_a_run_that_was_ended_after_its_stages_is_no_pass(run, options, know_cloud, cloud):
    recorded = RECORDED / "runs" / "20261121-065105-bdb5f5"
    run.update(stages=run_module.read_record(recorded).stages)
    run.save()
    know_cloud(small=cloud.entry())
    takeover.end(run.directory, options)
    assert record(run)["verdict"]["result"] == "incomplete"
    assert record(run)["verdict"]["reason"] == "The run was interrupted after its stages."


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded")
def test_a_watch_ends_the_run_when_its_playbook_is_killed(run, options, process, know_cloud):
    know_cloud(small={"auth": {"auth_url": "http://127.0.0.1:9/v3"}})
    controller = process()
    watchdog.watch(run, options, controller.pid)
    assert watchdog.is_watched(run)
    assert Path(run.token_path).exists()
    time.sleep(0.15)
    assert record(run)["finished"] is None
    controller.kill()
    controller.wait()
    until(lambda: record(run)["finished"])
    until(lambda: not watchdog.is_watched(run))
    assert record(run)["verdict"]["result"] == "incomplete"
    until(lambda: not Path(run.token_path).exists())


def test_a_playbook_that_is_gone_already_is_not_watched(run, options):
    assert watchdog.watch(run, options, 2**22 + 1) is False
    assert not watchdog.is_watched(run)


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded")
def test_what_ends_the_playbook_does_not_end_the_watch(run, options, process, know_cloud):
    know_cloud(small={"auth": {"auth_url": "http://127.0.0.1:9/v3"}})
    controller = process()
    assert watchdog.watch(run, options, controller.pid) is True
    watching = int(run.token_path.split("/")[2])
    until(lambda: b"lookout" in Path(f"/proc/{watching}/cmdline").read_bytes())
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        os.kill(watching, number)
    time.sleep(0.1)
    assert watchdog.is_watched(run)
    controller.kill()
    controller.wait()
    until(lambda: record(run)["finished"])


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded")
def test_a_file_in_the_working_directory_is_not_taken_for_a_module_of_python(
    run, options, process, tmp_path, monkeypatch
):
    (tmp_path / "json.py").write_text(f"open({str(tmp_path / 'taken')!r}, 'w')")
    monkeypatch.chdir(tmp_path)
    controller = process()
    watchdog.watch(run, options, controller.pid)
    until(lambda: b"lookout" in Path(f"/proc/{run.token_path.split('/')[2]}/cmdline").read_bytes())
    run.finish()
    run.save()
    until(lambda: not watchdog.is_watched(run))
    assert not (tmp_path / "taken").exists()


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded")
def test_a_watch_ends_with_its_run(run, options, process):
    controller = process()
    watchdog.watch(run, options, controller.pid)
    run.finish()
    run.save()
    until(lambda: not watchdog.is_watched(run))
    assert controller.poll() is None


def test_what_a_killed_playbook_left_is_removed_also_with_its_files_in_the_working_directory(
    tls_cloud, run, options, process, tmp_path, know_cloud, nothing_secret
):
    cloud = tls_cloud
    know_cloud(small=cloud.entry(cacert=os.path.basename(cloud.certificate)))
    name = f"{run.mark}-network"
    network = cloud.put("networks", name=name)
    run.ledger.write(ledger.BEGUN, "network", name)
    run.ledger.write(ledger.MADE, "network", name, id=network["id"])
    controller = process()
    env = {name: value for name, value in os.environ.items() if not name.startswith("OS_")}
    env["PYTHONPATH"] = str(ROOT / "tests")
    command = [sys.executable, "-c", WATCH, str(CONFTEST), run.directory, json.dumps(options), str(controller.pid)]
    subprocess.run(command, cwd=tmp_path, env=env, check=True)
    assert watchdog.is_watched(run)
    assert len(cloud.all("networks")) == 1
    controller.kill()
    controller.wait()
    until(lambda: record(run)["finished"])
    ended = record(run)
    assert cloud.all("networks") == []
    assert (ended["created"], ended["deleted"], ended["leftovers"]) == (1, 1, [])
    nothing_secret(cloud, run.directory)
