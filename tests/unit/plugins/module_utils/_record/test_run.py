# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The directory of a run: made once, always whole, worked on by one process at a time."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import re
import shutil
import signal
import stat
import threading
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import as_json
import pytest
from ansible_collections.stackproof.provision.plugins.module_utils._model.words import StageName, StageStatus
from ansible_collections.stackproof.provision.plugins.module_utils._record import run as run_module
from ansible_collections.stackproof.provision.plugins.module_utils._record.clock import seconds_of
from ansible_collections.stackproof.provision.plugins.module_utils._record.errors import StageError
from tree import RECORDED

PASSED = RECORDED / "runs" / "20261121-065105-bdb5f5"


@pytest.fixture
def recorded_run(tmp_path):
    """A copy of a recorded run that made, used and removed things."""
    return run_module.Run(shutil.copytree(PASSED, tmp_path / "runs" / PASSED.name))


@pytest.fixture
def other_process():
    """Return a function that has another process do something and then wait; it ends with the test."""
    processes = []

    def start(action):
        ready, tell = os.pipe()
        process = os.fork()
        if not process:
            try:
                with action():
                    os.write(tell, b".")
                    signal.pause()
            finally:
                os._exit(1)
        os.close(tell)
        processes.append(process)
        assert os.read(ready, 1) == b"."
        os.close(ready)
        return process

    yield start
    for process in processes:
        os.kill(process, signal.SIGKILL)
        os.waitpid(process, 0)


def mode(path):
    return stat.S_IMODE(os.stat(path).st_mode)


def test_a_new_id_is_one_tells_its_time_and_meets_no_other():
    before = datetime.now(UTC).replace(microsecond=0)
    ids = [run_module.new_run_id() for _number in range(50)]
    assert len(set(ids)) == 50
    assert all(run_module.RUN_ID.fullmatch(run_id) and run_module.GENERATED_ID.fullmatch(run_id) for run_id in ids)
    assert before <= datetime.strptime(ids[0][:15] + "Z", "%Y%m%d-%H%M%S%z") <= datetime.now(UTC)


def test_a_run_begins_with_a_whole_record_and_a_ledger(tmp_path):
    run, new = run_module.begin(str(tmp_path / "runs"), "run-1", "lab")
    assert new
    assert (run.id, run.mark, run.directory) == ("run-1", "stackproof-run-1", str(tmp_path / "runs" / "run-1"))
    record = json.loads((tmp_path / "runs" / "run-1" / "run.json").read_text())
    assert (record["run_id"], record["cloud"], record["finished"]) == ("run-1", "lab", None)
    assert record["verdict"]["result"] == "incomplete"
    assert run.ledger.entries == {}


@pytest.mark.parametrize(
    ("name", "chosen"), [("20261121-101500-3f9a1c", False), ("20261121-101500", True), ("run-1", True)]
)
def test_it_is_known_whether_an_id_was_chosen(tmp_path, name, chosen):
    assert run_module.begin(str(tmp_path), name, "lab")[0].has_chosen_id is chosen


def test_nobody_else_reads_a_run(run):
    run.say("auth", "hello")
    run.save()
    with run.alone():
        pass
    assert mode(run.directory) == 0o700
    assert {name: mode(run.path(name)) for name in os.listdir(run.directory)} == {
        "run.json": 0o600,
        "ledger.jsonl": 0o600,
        "progress.jsonl": 0o600,
        "lock": 0o600,
    }


def test_a_repeat_finds_the_first_record(tmp_path):
    first, _new = run_module.begin(str(tmp_path), "run-1", "lab")
    again, new = run_module.begin(str(tmp_path), "run-1", "other")
    assert not new
    assert again.record == first.record


def test_a_begin_that_broke_off_is_taken_up(tmp_path):
    (tmp_path / "run-1").mkdir()
    assert run_module.begin(str(tmp_path), "run-1", "lab")[1]


@pytest.mark.parametrize(
    "name", ["", "ab", "a" * 41, "Run-1", "-ab", "a_b", "a b", "../etc", "a/b", "abc\n", "äbc", ".abc", "latest.."]
)
def test_what_is_no_id_makes_no_directory(tmp_path, name):
    with pytest.raises(StageError, match="is not a run id"):
        run_module.begin(str(tmp_path / "runs"), name, "lab")
    assert not (tmp_path / "runs").exists()


def test_the_latest_run_is_linked(tmp_path):
    for name in ("run-1", "run-2"):
        run_module.begin(str(tmp_path), name, "lab")
        assert os.readlink(tmp_path / "latest") == name
    run_module.begin(str(tmp_path), "run-1", "lab")
    assert os.readlink(tmp_path / "latest") == "run-2"
    assert sorted(os.listdir(tmp_path)) == ["latest", "run-1", "run-2"]


def test_by_the_link_a_run_has_its_own_name(tmp_path):
    run_module.begin(str(tmp_path), "run-1", "lab")
    assert run_module.Run(tmp_path / "latest").id == "run-1"


def test_a_reader_always_finds_a_whole_file(tmp_path):
    path, texts = tmp_path / "run.json", [json.dumps(["x" * size]) for size in (10, 200_000)]
    run_module.write_whole(path, texts[0])
    end = threading.Event()

    def write():
        while not end.is_set():
            for text in texts:
                run_module.write_whole(path, text)

    writer = threading.Thread(target=write)
    writer.start()
    try:
        seen = {path.read_text() for _look in range(100)}
    finally:
        end.set()
        writer.join()
    assert seen <= set(texts)


@pytest.mark.parametrize("broken", ["fsync", "replace"])
def test_a_write_that_fails_leaves_the_old_file_and_nothing_else(run, monkeypatch, broken):
    before = Path(run.path("run.json")).read_text()

    def full(*_args):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(run_module.os, broken, full)
    run.update(created=7)
    with pytest.raises(OSError, match="No space left"):
        run.save()
    monkeypatch.undo()
    assert Path(run.path("run.json")).read_text() == before
    assert sorted(os.listdir(run.directory)) == ["ledger.jsonl", "run.json"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "cannot be read"),
        ("{", "cannot be read"),
        ('{"schema": "stackproof.run/2"', "cannot be read"),
        ("[]", "is None, not stackproof.run/2"),
        ("null", "is None, not stackproof.run/2"),
        ("{}", "is None, not stackproof.run/2"),
        ('{"schema": "stackproof.run/3"}', "is stackproof.run/3, not stackproof.run/2"),
        ("\udcff", "cannot be read"),
        ("[" * 200000, "cannot be read"),
    ],
)
def test_a_record_that_cannot_be_used_is_said_to_be_so(run, text, words):
    Path(run.path("run.json")).write_bytes(text.encode(errors="surrogateescape"))
    with pytest.raises(StageError, match=re.escape(words)) as caught:
        run_module.Run(run.directory)
    assert caught.value.record["kind"] == "no_run"
    assert run.path("run.json") in caught.value.record["message"]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"cloud": 5}, "cloud: must be a text, not 5"),
        ({"started": "2026-11-21T06:00:00"}, "started: must be a time such as"),
        ({"stages": [{"stage": "boot"}]}, "stages[0]: must be an object with status"),
        ({"stages": [{"stage": "removal", "status": "ok"}]}, "it has a removal among its stages"),
        ({"leftovers": [{"kind": "port", "id": None, "name": "p"}]}, "leftovers[0]: must be an object with reason"),
        ({"created": 1e999}, "created: must be a whole number, not inf"),
    ],
)
def test_a_record_with_something_else_in_it_is_refused_with_its_place(recorded_run, change, words):
    Path(recorded_run.path("run.json")).write_text(json.dumps({**as_json.plain(recorded_run.record), **change}))
    with pytest.raises(StageError, match=re.escape(words)) as caught:
        run_module.Run(recorded_run.directory)
    assert caught.value.record["kind"] == "no_run"
    assert "\n" not in caught.value.record["message"]


def test_a_record_that_is_nested_too_deep_is_refused(recorded_run):
    text = json.dumps({**as_json.plain(recorded_run.record), "cloud": "DEEP"})
    deep = "[" * 5000 + "]" * 5000
    Path(recorded_run.path("run.json")).write_text(text.replace('"DEEP"', deep))
    with pytest.raises(StageError) as caught:
        run_module.Run(recorded_run.directory)
    assert caught.value.record["kind"] == "no_run"


def test_a_record_without_measure_is_refused(run, monkeypatch):
    monkeypatch.setattr(run_module, "LONGEST_RECORD", 1000)
    Path(run.path("run.json")).write_text(" " * 1001)
    with pytest.raises(StageError, match="is longer than 1000 characters"):
        run_module.Run(run.directory)


@pytest.mark.parametrize("name", ["lock", "progress.jsonl"])
def test_a_link_in_a_run_is_not_written_through(run, tmp_path, name):
    (tmp_path / "other").write_text("as it was")
    os.symlink(tmp_path / "other", run.path(name))
    run.say("auth", "hello")
    with contextlib.suppress(OSError), run.alone():
        pass
    assert (tmp_path / "other").read_text() == "as it was"


def test_a_folder_without_a_record_is_no_run(tmp_path):
    with pytest.raises(StageError, match="is not the directory of a run"):
        run_module.Run(tmp_path)


def test_runs_are_listed_oldest_first_and_once(tmp_path):
    for name in ("20261121-064729-83fa19", "20261121-064317-09275b"):
        run_module.begin(str(tmp_path), name, "lab")
    (tmp_path / "notes").mkdir()
    (tmp_path / "zzz.txt").touch()
    assert run_module.run_directories(tmp_path) == [
        str(tmp_path / "20261121-064317-09275b"),
        str(tmp_path / "20261121-064729-83fa19"),
    ]
    assert run_module.run_directories(tmp_path / "none") == []


def test_stages_are_put_into_their_order_and_replaced(recorded_run):
    boot, auth = recorded_run.stage(StageName.BOOT), recorded_run.stage(StageName.AUTH)
    recorded_run.update(stages=())
    recorded_run.save()
    for change in (boot, auth, replace(boot, status=StageStatus.FAILED)):
        recorded_run.put_stage(change)
    record = recorded_run.record
    assert [(stage.stage, stage.status) for stage in record.stages] == [("auth", "ok"), ("boot", "failed")]
    assert run_module.Run(recorded_run.directory).record == record
    assert recorded_run.stage(StageName.IMAGE) is None


def test_a_resource_is_found_by_its_kind(recorded_run):
    assert recorded_run.resource("network").id == "509f6e4c-1692-41b5-a97b-5e24192c7af2"
    assert recorded_run.resource("router") is None


def test_a_finished_run_knows_how_long_it_took(run):
    began = seconds_of("2026-11-21T06:51:05.844899+00:00")
    run.update(started=began)
    run.finish()
    assert run.record.finished > began
    assert run.record.duration_s == round(run.record.finished - began, 6)


def test_what_a_run_says_is_one_line_each(run):
    run.say("auth", "one\ntwo")
    run.say("boot", "ü")
    lines = [json.loads(line) for line in Path(run.path("progress.jsonl")).read_text().splitlines()]
    assert [(line["stage"], line["text"]) for line in lines] == [("auth", "one\ntwo"), ("boot", "ü")]


def test_a_run_that_can_say_nothing_goes_on(run):
    os.mkdir(run.path("progress.jsonl"))
    run.say("auth", "hello")


def test_an_imagined_run_leaves_no_trace(tmp_path):
    run = run_module.Run.imagined(str(tmp_path / "runs" / "run-1"))
    assert run.mark == "stackproof-run-1"
    assert run.stage(StageName.AUTH) is None
    assert list(tmp_path.iterdir()) == []


def test_an_imagined_run_that_exists_shows_what_it_has(recorded_run):
    assert run_module.Run.imagined(recorded_run.directory).resource("server").created is True


def test_there_is_no_token_without_a_watch(run):
    assert run.token_path == ""


def test_a_second_process_is_kept_off(run, other_process):
    process = other_process(run.alone)
    assert Path(run.path("lock")).read_text() == str(process)
    with pytest.raises(StageError, match="another process works on the run run-1") as caught, run.alone():
        pytest.fail("two of them")
    assert caught.value.record["kind"] == "conflict"


def test_the_lock_goes_with_its_process(run, other_process):
    process = other_process(run.alone)
    os.kill(process, signal.SIGKILL)
    os.waitid(os.P_PID, process, os.WEXITED | os.WNOWAIT)
    with run.alone():
        assert Path(run.path("lock")).read_text() == str(os.getpid())
    with run.alone():
        pass


def test_processes_go_through_different_stages(run, other_process):
    process = other_process(lambda: run.beside(StageName.IMAGE))
    with run.beside(StageName.NETWORK):
        assert Path(run.path("lock.image")).read_text() == str(process)
        assert Path(run.path("lock.network")).read_text() == str(os.getpid())


@pytest.mark.parametrize("action", ["alone", "image"])
def test_a_stage_keeps_off_those_who_do_the_same_or_anything_else(run, other_process, action):
    other_process(lambda: run.beside(StageName.IMAGE))
    wanted = run.alone() if action == "alone" else run.beside(StageName.IMAGE)
    with pytest.raises(StageError, match="another process works on the run run-1"), wanted:
        pytest.fail("two of them")


def test_whoever_is_alone_keeps_off_every_stage(run, other_process):
    other_process(run.alone)
    with pytest.raises(StageError, match="another process works on the run run-1"), run.beside(StageName.IMAGE):
        pytest.fail("two of them")


def test_a_lock_of_stages_names_no_process_that_may_be_gone(run):
    with run.alone():
        assert Path(run.path("lock")).read_text() == str(os.getpid())
    with run.beside(StageName.IMAGE):
        assert Path(run.path("lock")).read_text() == ""


def test_two_stages_write_their_records_in_turn(recorded_run):
    other = run_module.Run(recorded_run.directory)
    boot, auth = recorded_run.stage(StageName.BOOT), recorded_run.stage(StageName.AUTH)
    recorded_run.put_stage(replace(boot, status=StageStatus.FAILED))
    other.put_stage(replace(auth, status=StageStatus.SKIPPED))
    written = run_module.Run(recorded_run.directory)
    assert written.stage(StageName.BOOT).status is StageStatus.FAILED
    assert written.stage(StageName.AUTH).status is StageStatus.SKIPPED


def test_what_another_process_did_meanwhile_is_known_under_the_lock(run):
    other = run_module.Run(run.directory)
    other.ledger.write("made", "server", "s", id="1")
    other.update(created=1)
    other.save()
    with run.alone():
        assert run.record.created == 1
        assert run.ledger.find("server", "s")["id"] == "1"


@pytest.mark.parametrize("name", ["lock", "run.json"])
def test_a_fifo_in_the_place_of_a_file_is_refused(recorded_run, name):
    in_its_place(recorded_run, name)
    with pytest.raises((OSError, StageError), match="is not a regular file"), recorded_run.alone():
        pass


@pytest.mark.parametrize("name", ["watched", "progress.jsonl"])
def test_a_run_goes_on_without_what_a_fifo_takes_the_place_of(recorded_run, name):
    in_its_place(recorded_run, name)
    recorded_run.say("boot", "a word")
    assert recorded_run.token_path == ""
    with recorded_run.alone():
        assert recorded_run.record.run_id == recorded_run.id


def in_its_place(run, name):
    path = Path(run.path(name))
    path.unlink(missing_ok=True)
    os.mkfifo(path)


def test_the_folder_of_runs_is_for_its_user_alone(tmp_path):
    before = os.umask(0)
    try:
        begun, new = run_module.begin(str(tmp_path / "runs"), "run-1", "lab")
    finally:
        os.umask(before)
    assert new
    assert [stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "runs", Path(begun.directory))] == [0o700, 0o700]
