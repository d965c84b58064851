# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The recorder as it is started and stopped on a host, with systemd and rabbitmqctl answering from here."""

from __future__ import annotations

import ast
import json
import stat

import pytest
from ansible_collections.stackproof.provision.plugins.modules import firehose as module

NAME, SERVER = "stackproof-firehose-a-run", "593bff83-ecde-4bff-b038-2774dcc49b76"
LINE = {
    "at": 1.0, "action": "cast", "method": "build_and_run_instance", "message": "a" * 32, "topic": "compute.one",
    "client": "10.0.0.1", "requests": [], "ids": [SERVER],
}  # fmt: skip


@pytest.fixture
def host(call, monkeypatch, tmp_path):
    """A host on which systemd starts a service that has found the broker untraced."""

    class Host:
        place, asked, undone, warned, foreign, answers = tmp_path, [], [], [], False, {}
        directory = tmp_path / NAME

        def run(self, state, check=False, **options):
            return call(module, check=check, **{"state": state, "run_id": "a-run", **options})

        def execute(self, words):
            self.asked.append(words)
            program = words[0].rpartition("/")[2]
            if program == "systemd-run":
                (self.directory / "found.json").write_text(json.dumps({"foreign": self.foreign}))
            return self.answers.get(program, (0, "", ""))

        def restore(self, directory, _config):
            self.undone.append(directory)
            module.shutil.rmtree(directory)

    host = Host()
    monkeypatch.setattr(module, "PLACE", str(tmp_path))
    monkeypatch.setattr(module.os, "geteuid", lambda: 0)
    monkeypatch.setattr(module.AnsibleModule, "run_command", lambda _self, words: host.execute(words))
    monkeypatch.setattr(module.AnsibleModule, "warn", lambda _self, text: host.warned.append(text))
    monkeypatch.setattr(
        module.AnsibleModule, "get_bin_path", lambda _self, name, required: f"/usr/bin/{name}" if required else None
    )
    monkeypatch.setattr(module.firehose, "restore", host.restore)
    return host


def test_a_service_records_and_another_command_of_it_undoes_all(host):
    result = host.run("started", deadline=90, prefix=["docker", "exec", "rabbitmq"])
    assert (result["changed"], result["foreign"]) == (True, False)
    assert stat.S_IMODE(host.directory.stat().st_mode) == 0o700
    program, config = host.directory / "firehose.py", host.directory / "config.json"
    assert {stat.S_IMODE(path.stat().st_mode) for path in (program, config)} == {0o600}
    assert json.loads(config.read_text()) == {
        "name": NAME, "seconds": 90, "vhosts": ["/"], "prefix": ["docker", "exec", "rabbitmq"],
    }  # fmt: skip
    probe, words = host.asked
    assert probe == [module.sys.executable, "-c", "import amqp"]
    assert words[0] == "/usr/bin/systemd-run"
    assert f"--unit={NAME}" in words
    assert "--property=RuntimeMaxSec=90" in words
    (undoing,) = [word for word in words if word.startswith("--property=ExecStopPost=")]
    assert undoing.endswith(f"{program} restore {host.directory}")
    assert words[-3:] == [str(program), "record", str(host.directory)]


def test_the_program_is_whole_in_one_file_and_needs_nothing_but_amqp(host):
    host.run("started")
    tree = ast.parse((host.directory / "firehose.py").read_text())
    names = {node.names[0].name if isinstance(node, ast.Import) else node.module for node in ast.walk(tree)
             if isinstance(node, (ast.Import, ast.ImportFrom))}  # fmt: skip
    packages = {name.partition(".")[0] for name in names}
    assert packages - module.sys.stdlib_module_names == {"amqp"}
    assert not [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.level]


def test_a_second_start_changes_nothing(host):
    host.run("started")
    assert host.run("started")["changed"] is False
    assert len(host.asked) == 2


def test_what_was_recorded_of_the_run_is_returned_and_all_is_undone(host):
    host.run("started")
    (host.directory / "messages").write_text(
        json.dumps(LINE) + "\n" + json.dumps({**LINE, "ids": [], "message": None}) + "\n"
    )
    result = host.run("stopped", wanted={"keys": {"server": [SERVER]}})
    assert [event["keys"] for event in result["events"]] == [{"server": [SERVER]}]
    assert (result["changed"], result["foreign"], result["reason"]) == (True, False, None)
    assert host.asked[-1] == ["systemctl", "stop", f"{NAME}.service"]
    assert not host.directory.exists()


def test_nothing_is_undone_twice_where_the_service_has_done_it(host):
    host.run("started")
    (host.directory / "messages").write_text("")
    host.execute = lambda words: (module.shutil.rmtree(host.directory), (0, "", ""))[1] if "stop" in words else None
    assert host.run("stopped")["events"] == []
    assert host.undone == []


def test_a_recorder_that_has_ended_before_is_said(host):
    result = host.run("stopped")
    assert (result["changed"], result["events"]) == (False, [])
    assert "had ended before" in result["reason"]
    assert host.asked == []


def test_a_full_file_is_said(host, monkeypatch):
    host.run("started")
    (host.directory / "messages").write_text(json.dumps(LINE) + "\n")
    monkeypatch.setattr(module.firehose, "KEPT", 10)
    assert "the rest not" in host.run("stopped")["reason"]


def test_tracing_of_somebody_else_is_said(host):
    host.foreign = True
    assert host.run("started")["foreign"]
    assert host.warned == ["tracing of the broker was on before, and stays on"]


def test_a_recorder_that_does_not_start_is_undone_and_says_why(host):
    host.answers = {"systemd-run": (1, "", "Job failed."), "journalctl": (0, "a line\nRuntimeError: no listener\n", "")}
    result = host.run("started")
    assert result["failed"]
    assert result["msg"] == "the recorder did not start: RuntimeError: no listener"
    assert host.undone == [str(host.directory)]


def test_what_could_not_be_undone_fails(host, monkeypatch):
    host.run("started")

    def restore(_directory, _config):
        raise SystemExit("no broker")

    monkeypatch.setattr(module.firehose, "restore", restore)
    result = host.run("stopped")
    assert result["failed"]
    assert "could not be undone: no broker" in result["msg"]
    assert not host.directory.exists()


def test_a_host_without_amqp_is_named_before_anything_is_done(host):
    host.answers = {module.sys.executable.rpartition("/")[2]: (1, "", "ModuleNotFoundError")}
    result = host.run("started", pythons=["/nowhere/python3"])
    assert result["failed"]
    assert "has the module amqp" in result["msg"]
    assert f"(tried: {module.sys.executable}, /nowhere/python3)" in result["msg"]
    assert list(host.place.iterdir()) == []


def test_another_interpreter_that_has_amqp_records(host, tmp_path):
    (tmp_path / "venv-python").symlink_to(module.sys.executable)
    host.answers = {module.sys.executable.rpartition("/")[2]: (1, "", "ModuleNotFoundError")}
    host.run("started", pythons=["/nowhere/python3", str(tmp_path / "venv-python")])
    words = host.asked[-1]
    assert words[-4] == str(tmp_path / "venv-python")
    assert any(word.startswith(f"--property=ExecStopPost={words[-4]} ") for word in words)


def test_only_root_may(host, monkeypatch):
    monkeypatch.setattr(module.os, "geteuid", lambda: 1000)
    assert "set become" in host.run("started")["msg"]


@pytest.mark.parametrize("run_id", ["", "../etc", "a b", "a;b", "-a", "a/b"])
def test_a_run_id_that_is_none_is_refused(host, run_id):
    result = host.run("started", run_id=run_id)
    assert "is not a run id" in result["msg"]
    assert host.asked == []


@pytest.mark.parametrize("state", ["started", "stopped"])
def test_check_mode_does_nothing(host, state):
    result = host.run(state, check=True)
    assert (result["changed"], result["events"]) == (False, [])
    assert list(host.place.iterdir()) == []
