# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The work of the canary's service around each run, on copies of recorded runs and with real processes."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import replace

import pytest
from ansible_collections.stackproof.provision.plugins.module_utils._canary import after, before, program
from ansible_collections.stackproof.provision.plugins.module_utils._model.sweep import Slice
from ansible_collections.stackproof.provision.plugins.module_utils._record import run as run_module
from ansible_collections.stackproof.provision.plugins.module_utils._record.clock import seconds_of
from ansible_collections.stackproof.provision.plugins.module_utils._sweep import files, sweep, targets
from tree import RECORDED, ROLES

PASSED, FAILED = "20261121-065105-bdb5f5", "20261121-065322-ce7f74"


@pytest.fixture
def runs(tmp_path):
    """Return a function that copies a recorded run; the same run may be copied under several names."""
    (tmp_path / "runs").mkdir()

    def copy(recorded, name, **changed):
        directory = tmp_path / "runs" / name
        shutil.copytree(RECORDED / "runs" / recorded, directory)
        record = json.loads((directory / "run.json").read_text())
        record.update(run_id=name, started=f"2026-11-22T00:{name[-2:]}:00.000000+00:00", **changed)
        run_module.write_whole(directory / "run.json", json.dumps(record))
        return directory

    return copy


@pytest.fixture
def conclude(tmp_path):
    """Return a function that does a verb of the program, with the settings of the role."""
    runs, cleaned = tmp_path / "runs", tmp_path / "cleaned"

    def do(verb, **changed):
        settings = {
            "runs": str(runs),
            "metrics": str(tmp_path / "canary.prom"),
            "slices": 0,
            "turn": str(runs / "turn.json"),
            "keep_passed": 500,
            "keep_failed": 2000,
            "templates": str(ROLES / "report/templates"),
            "cleanup": ["sh", "-c", f'echo "$2" >> {cleaned}', "sh"],
            **changed,
        }
        path = tmp_path / "settings.json"
        path.write_text(json.dumps(settings))
        return program.main([verb, str(path)])

    return do


def names(tmp_path):
    return sorted(path.name for path in (tmp_path / "runs").glob("*/"))


def test_the_metrics_of_the_last_run_are_given_to_all_readers(runs, conclude, tmp_path):
    runs(FAILED, "run-01")
    last = runs(PASSED, "run-02")
    assert conclude("after") == 0
    metrics = tmp_path / "canary.prom"
    assert metrics.read_text() == (last / "metrics.prom").read_text()
    assert metrics.stat().st_mode & 0o777 == 0o644
    assert json.loads((tmp_path / "runs/history.json").read_text())["clouds"][0]["runs"] == 2
    assert (tmp_path / "runs/history.html").exists()


def test_the_metrics_of_what_is_stuck_are_given_with_those_of_the_run(runs, conclude, tmp_path):
    last = runs(PASSED, "run-01")
    stuck = "# HELP stackproof_stuck x\n# TYPE stackproof_stuck gauge\n# EOF\n"
    (last.parent / "stuck.prom").write_text(stuck)
    conclude("after")
    text = (tmp_path / "canary.prom").read_text()
    assert text.endswith(stuck)
    assert text.count("# EOF") == 1
    assert text.startswith((last / "metrics.prom").read_text().removesuffix("# EOF\n"))


def test_passes_and_failures_have_numbers_of_their_own_to_keep(runs, conclude, tmp_path):
    for number in range(1, 6):
        runs(PASSED, f"run-0{number}")
    for number in range(6, 9):
        runs(FAILED, f"run-0{number}")
    assert conclude("after", keep_passed=1, keep_failed=2) == 0
    assert names(tmp_path) == ["run-05", "run-07", "run-08"]
    assert json.loads((tmp_path / "runs/history.json").read_text())["clouds"][0]["runs"] == 8


def test_a_run_that_has_left_something_stays(runs, conclude, tmp_path):
    left = [{"kind": "server", "id": "a", "name": "b", "reason": "c"}]
    runs(FAILED, "run-01", leftovers=left)
    runs(FAILED, "run-02")
    runs(FAILED, "run-03")
    assert conclude("after", keep_failed=1) == 0
    assert names(tmp_path) == ["run-01", "run-03"]


def test_before_the_first_run_there_is_nothing_to_do(conclude, tmp_path):
    (tmp_path / "runs").mkdir()
    assert conclude("before") == conclude("after") == 0
    assert not (tmp_path / "canary.prom").exists()


def test_a_run_that_nobody_could_end_is_cleaned_up_before_the_next(runs, conclude, tmp_path):
    runs(PASSED, "run-01")
    broken = runs(PASSED, "run-02", finished=None)
    assert conclude("before") == 0
    assert json.loads((tmp_path / "cleaned").read_text()) == {"stackproof_run_dir": str(broken)}


def test_a_run_that_is_still_watched_is_left_to_its_watcher(runs, conclude, tmp_path):
    directory = runs(PASSED, "run-01", finished=None)
    with open(directory / "watched", "a", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert conclude("before") == 0
    assert not (tmp_path / "cleaned").exists()


def test_a_cleanup_that_hangs_holds_up_no_run(runs, conclude, monkeypatch, capsys):
    runs(PASSED, "run-01", finished=None)
    monkeypatch.setattr(before, "LONGEST_CLEANUP", 0.2)
    assert conclude("before", cleanup=["sh", "-c", "exec sleep 60"]) == 0
    assert "the next one goes on with it" in capsys.readouterr().out


def test_each_slice_has_its_turn(conclude, tmp_path):
    (tmp_path / "runs").mkdir()
    turns = []
    for _time in range(4):
        assert conclude("before", slices=3) == 0
        turns.append(json.loads((tmp_path / "runs/turn.json").read_text())["stackproof_slice"])
    assert turns == ["1/3", "2/3", "3/3", "1/3"]
    assert conclude("before", slices=2) == 0
    assert "1/2" in (tmp_path / "runs/turn.json").read_text()


@pytest.fixture
def slices(runs, tmp_path):
    """Return a function that writes a sweep of one slice of two, by the minute of its begin, with copied runs."""

    def write(minute, number, hosts):
        sweep_id = f"at-{minute:02}-{number}of2"
        chosen = []
        for target, recorded in zip(targets.targets_of(list(hosts), {}, sweep_id), hosts.values()):
            chosen.append(replace(target, run_id=f"{target.run_id[:37]}-{minute:02}"))
            runs(recorded, chosen[-1].run_id)
        record = sweep.new_sweep(sweep_id, "lab", chosen, part=Slice(number, of=2, targets=2))
        began = seconds_of(f"2026-11-22T00:{minute:02}:00.000000+00:00")
        directory = tmp_path / "runs" / f"sweep-{sweep_id}"
        directory.mkdir()
        files.save(replace(record, started=began, finished=began), directory)
        return directory.name

    return write


def test_a_host_keeps_its_metrics_until_its_next_turn(slices, conclude, tmp_path):
    old = slices(1, 1, {"compute1": FAILED})
    slices(2, 1, {"compute1": PASSED})
    slices(3, 2, {"compute2": FAILED})
    assert conclude("after", slices=2, keep_passed=0, keep_failed=0) == 0
    text = (tmp_path / "canary.prom").read_text()
    assert 'stackproof_run_passed{target="compute1",cloud="lab"} 1' in text
    assert 'stackproof_run_passed{target="compute2",cloud="lab"} 0' in text
    there = names(tmp_path)
    assert len(there) == 4
    assert old not in there


def test_sweep_without_hosts_keeps_its_metrics_until_the_next_turn_of_its_slice(slices, conclude, tmp_path):
    slices(1, 1, {"compute1": PASSED})
    outage = slices(2, 1, {})
    assert conclude("after", slices=2) == conclude("after", slices=2) == 0
    assert outage in names(tmp_path)
    assert "compute1" not in (tmp_path / "canary.prom").read_text()


def test_a_host_that_has_moved_to_another_slice_counts_once(slices, conclude, tmp_path):
    slices(1, 1, {"compute1": PASSED})
    slices(2, 2, {"compute1": FAILED})
    assert conclude("after", slices=2) == 0
    lines = (tmp_path / "canary.prom").read_text().splitlines()
    assert [line for line in lines if line.startswith("stackproof_run_passed")] == [
        'stackproof_run_passed{target="compute1",cloud="lab"} 0'
    ]


def test_a_clock_that_was_ahead_hides_no_later_run(runs, conclude, tmp_path):
    runs(PASSED, "run-59")
    last = runs(FAILED, "run-02")
    (tmp_path / "runs/latest").symlink_to("run-02")
    assert conclude("after") == 0
    assert (tmp_path / "canary.prom").read_text() == (last / "metrics.prom").read_text()


def test_a_run_that_was_kept_stays_until_it_is_removed(runs, conclude, tmp_path):
    runs(FAILED, "run-01", kept=True, created=5, deleted=0)
    runs(FAILED, "run-02", kept=True, created=5, deleted=5)
    assert conclude("after", keep_failed=0) == 0
    assert names(tmp_path) == ["run-01"]


def test_unreadable_files_are_named_and_hold_up_nothing(runs, conclude, tmp_path, capsys):
    for number in (1, 2, 3):
        runs(PASSED, f"run-0{number}")
    assert conclude("after") == 0
    (tmp_path / "runs/run-01/run.json").write_text("{")
    (tmp_path / "runs/sweep-foreign").mkdir()
    (tmp_path / "runs/sweep-foreign/sweep.json").write_text('{"schema": "other/1"}')
    assert conclude("after", keep_passed=0) == 0
    assert names(tmp_path) == ["run-01", "sweep-foreign"]
    told = capsys.readouterr().out
    assert "run-01 is left alone" in told
    assert "its schema is other/1" in told


def change(directory, **changed):
    """Change a run's record; what is "none" is taken out of it."""
    record = {**json.loads((directory / "run.json").read_text()), **changed}
    (directory / "run.json").write_text(json.dumps({name: value for name, value in record.items() if value != "none"}))


STRANGE = [
    {"finished": "none"},
    {"leftovers": "none"},
    {"kept": "none"},
    {"kept": True, "created": "none"},
    {"kept": True, "deleted": "none"},
    {"stages": [{}]},
    {"verdict": []},
]


@pytest.mark.parametrize("changed", STRANGE, ids=repr)
@pytest.mark.parametrize("verb", ["before", "stop", "after", "end"])
def test_a_strange_record_is_named_and_the_work_for_other_runs_goes_on(
    runs, conclude, monkeypatch, tmp_path, capsys, verb, changed
):
    monkeypatch.delenv("MAINPID", raising=False)
    strange = runs(PASSED, "run-01")
    for number in (2, 3):
        runs(PASSED, f"run-0{number}")
    if verb == "after":
        assert conclude("after") == 0
    change(strange, **changed)
    runs(FAILED, "run-04", finished=None)
    result = conclude(verb, keep_passed=1, cleanup=[sys.executable, "-c", ENDS_A_RUN])
    assert result == 0
    assert (tmp_path / "runs/run-01").exists()
    told = capsys.readouterr().out
    assert f"The run {strange} is left alone: " in told
    if verb == "after":
        assert names(tmp_path) == ["run-01", "run-03", "run-04"]
        assert (tmp_path / "canary.prom").exists()
    if verb in ("before", "end"):
        assert json.loads((tmp_path / "runs/run-04/run.json").read_text())["finished"]


@pytest.mark.parametrize("verb", ["before", "stop", "end"])
def test_a_run_whose_watch_cannot_be_read_is_left_alone(runs, conclude, monkeypatch, tmp_path, capsys, verb):
    monkeypatch.delenv("MAINPID", raising=False)
    strange = runs(PASSED, "run-01", finished=None)
    os.mkfifo(strange / "watched")
    runs(FAILED, "run-02", finished=None)
    conclude(verb, cleanup=[sys.executable, "-c", ENDS_A_RUN])
    assert f"The run {strange} is left alone: " in capsys.readouterr().out
    assert json.loads((strange / "run.json").read_text())["finished"] is None
    if verb != "stop":
        assert json.loads((tmp_path / "runs/run-02/run.json").read_text())["finished"]


@pytest.mark.parametrize(
    "text", ["a few words", "[]", "{}", '{"schema": "stackproof.sweep/1"}', '{"schema": "stackproof.sweep/2", "x": 1}']
)
@pytest.mark.parametrize("slices_there", [0, 2])
def test_a_strange_sweep_is_named_and_the_work_for_others_goes_on(
    runs, slices, conclude, tmp_path, capsys, text, slices_there
):
    slices(1, 1, {"compute1": PASSED})
    strange = tmp_path / "runs/sweep-strange"
    strange.mkdir()
    (strange / "sweep.json").write_text(text)
    runs(PASSED, "run-02")
    assert conclude("after", slices=slices_there, keep_passed=0) == 0
    assert f"The sweep {strange} is left alone: " in capsys.readouterr().out
    assert strange.exists()
    assert (tmp_path / "canary.prom").exists()
    assert "run-02" not in names(tmp_path)


@pytest.mark.parametrize(
    "changed", [{"leftovers": "none"}, {"hosts": "none"}, {"hosts": [5]}, {"verdict": {"result": []}}], ids=repr
)
def test_a_strange_record_of_a_slice_leaves_the_other_hosts_their_metrics(slices, conclude, tmp_path, capsys, changed):
    slices(1, 1, {"compute1": PASSED})
    slices(2, 2, {"compute2": PASSED})
    (strange,) = (tmp_path / "runs").glob("*compute1*")
    change(strange, **changed)
    assert conclude("after", slices=2) == 0
    assert f"The run {strange} is left alone: " in capsys.readouterr().out
    text = (tmp_path / "canary.prom").read_text()
    assert 'stackproof_run_passed{target="compute2"' in text
    assert 'stackproof_run_passed{target="compute1"' not in text


def test_a_directory_that_cannot_be_removed_holds_up_nothing(runs, conclude, monkeypatch, tmp_path, capsys):
    for number in (1, 2, 3):
        runs(PASSED, f"run-0{number}")
    remove = shutil.rmtree

    def fail_at_first(directory):
        if directory.endswith("run-01"):
            raise PermissionError(13, "Permission denied", directory)
        remove(directory)

    monkeypatch.setattr(after.shutil, "rmtree", fail_at_first)
    assert conclude("after", keep_passed=1) == 0
    monkeypatch.undo()
    assert names(tmp_path) == ["run-01", "run-03"]
    assert "run-01 is left alone: " in capsys.readouterr().out


def test_a_history_that_cannot_be_read_is_reported_after_the_metrics_were_given(runs, conclude, tmp_path, capsys):
    runs(FAILED, "run-01")
    last = runs(PASSED, "run-02")
    (tmp_path / "runs/latest").symlink_to("run-02")
    os.mkfifo(tmp_path / "runs/history.jsonl")
    assert conclude("after", keep_passed=0, keep_failed=0) == 1
    assert "history.jsonl is not a regular file" in capsys.readouterr().err
    assert (tmp_path / "canary.prom").read_text() == (last / "metrics.prom").read_text()
    assert names(tmp_path) == ["latest", "run-01", "run-02"]


def a_fifo(path):
    path.unlink(missing_ok=True)
    os.mkfifo(path)


def not_text(path):
    path.write_bytes(b"\xff\xfe")


def a_link(path):
    path.unlink()
    path.symlink_to("/etc/hostname")


@pytest.mark.parametrize("replaced", [a_fifo, not_text, a_link])
def test_metrics_that_are_not_a_runs_own_are_left_alone(runs, conclude, tmp_path, capsys, replaced):
    path = runs(PASSED, "run-01") / "metrics.prom"
    replaced(path)
    assert conclude("after") == 0
    assert f"The file {path} is left alone: " in capsys.readouterr().out
    assert not (tmp_path / "canary.prom").exists()
    assert (tmp_path / "runs/history.json").exists()


@pytest.mark.parametrize("text", [None, "[" * 4000, '["1/3"]', '{"stackproof_slice": 3}', "2/3" * 5000])
def test_a_strange_file_in_the_place_of_the_turn_begins_with_the_first_slice(conclude, tmp_path, text):
    (tmp_path / "runs").mkdir()
    path = tmp_path / "runs/turn.json"
    if text is None:
        os.mkfifo(path)
    else:
        path.write_text(text)
    assert conclude("before", slices=3) == 0
    assert json.loads(path.read_text()) == {"stackproof_slice": "1/3"}


ENDS_A_RUN = """
import json, pathlib, sys
path = pathlib.Path(json.loads(sys.argv[2])["stackproof_run_dir"], "run.json")
path.write_text(json.dumps({**json.loads(path.read_text()), "finished": "2026-11-22T01:00:00Z", "kept": False}))
"""


def test_it_goes_when_all_of_its_runs_are_cleaned_up(runs, conclude):
    passed = runs(PASSED, "run-01")
    before_it = (passed / "run.json").stat()
    broken, kept = runs(FAILED, "run-02", finished=None), runs(FAILED, "run-03", kept=True, created=5, deleted=0)
    assert conclude("end", cleanup=[sys.executable, "-c", ENDS_A_RUN]) == 0
    assert [json.loads((run / "run.json").read_text())["kept"] for run in (broken, kept)] == [False, False]
    assert (passed / "run.json").stat() == before_it


def test_it_stays_while_something_of_its_runs_is_left(runs, conclude, capsys):
    broken = runs(FAILED, "run-01", finished=None)
    assert conclude("end", cleanup=["false"]) == 1
    assert f"these runs still have resources in the cloud: {broken}" in capsys.readouterr().err


def test_a_stop_waits_until_the_run_has_removed_all(runs, conclude, monkeypatch):
    directory = runs(PASSED, "run-01", finished=None)
    playbook = subprocess.Popen(["sleep", "60"])
    code = "import fcntl, sys, time; f = open(sys.argv[1], 'a'); fcntl.flock(f, 2); print(flush=True); time.sleep(1)"
    with subprocess.Popen([sys.executable, "-c", code, directory / "watched"], stdout=subprocess.PIPE) as watcher:
        watcher.stdout.readline()
        monkeypatch.setenv("MAINPID", str(playbook.pid))
        # Its parent takes note of its end, as systemd does.
        signal.signal(signal.SIGCHLD, lambda *_args: playbook.poll())
        begun = time.monotonic()
        try:
            assert conclude("stop") == 0
        finally:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            playbook.kill()
        assert time.monotonic() - begun > 0.5
        assert playbook.wait() == -signal.SIGTERM
        assert watcher.wait() == 0


def test_a_stop_does_not_wait_for_a_playbook_that_nobody_reaps(runs, conclude, monkeypatch):
    runs(PASSED, "run-01")
    with subprocess.Popen(["sleep", "60"]) as playbook:
        monkeypatch.setenv("MAINPID", str(playbook.pid))
        assert conclude("stop") == 0
        assert playbook.wait() == -signal.SIGTERM


def test_a_stop_finds_a_playbook_gone_and_goes_on(runs, conclude, monkeypatch):
    runs(PASSED, "run-01")
    playbook = subprocess.Popen(["true"])
    playbook.wait()
    monkeypatch.setenv("MAINPID", str(playbook.pid))
    assert conclude("stop") == 0


def test_a_stop_after_the_playbook_has_ended_waits_for_nothing(runs, conclude, monkeypatch):
    runs(PASSED, "run-01")
    monkeypatch.delenv("MAINPID", raising=False)
    assert conclude("stop") == 0


@pytest.mark.parametrize("arguments", [[], ["before"], ["never", "settings.json"]])
def test_wrong_call_prints_the_usage(arguments, capsys):
    assert program.main(arguments) == 2
    assert "before|stop|after|end SETTINGS" in capsys.readouterr().err


def test_settings_that_cannot_be_read_are_named(tmp_path, capsys):
    assert program.main(["after", str(tmp_path / "none.json")]) == 1
    assert "none.json" in capsys.readouterr().err
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[]", "settings: must be an object, not []"),
        ("5", "settings: must be an object, not 5"),
        ("{}", "settings: must be an object with runs, not {}"),
        ("[" * 100_000, "settings.json"),
    ],
)
@pytest.mark.parametrize("verb", ["before", "stop", "after", "end"])
def test_malformed_settings_are_reported(tmp_path, capsys, verb, text, words):
    path = tmp_path / "settings.json"
    path.write_text(text)
    assert program.main([verb, str(path)]) == 1
    assert words in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "value"), [("runs", 5), ("slices", "3"), ("keep_passed", None), ("cleanup", "sh"), ("cleanup", [5])]
)
def test_setting_of_another_type_is_named(conclude, capsys, name, value):
    assert conclude("before", **{name: value}) == 1
    assert f"settings.{name}" in capsys.readouterr().err


def test_a_fifo_in_the_place_of_the_settings_is_refused(tmp_path, capsys):
    os.mkfifo(tmp_path / "settings.json")
    assert program.main(["after", str(tmp_path / "settings.json")]) == 1
    assert "settings.json" in capsys.readouterr().err
