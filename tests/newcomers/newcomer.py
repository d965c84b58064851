# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A newcomer with a folder, a cloud of their own and a clouds.yaml, who calls the playbook verify or another."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import ssl
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

import yaml
from tree import ROOT, import_collections_by_name

# A playbook takes some seconds; on a busy machine several times as long.
LONGEST = 120
# A watch looks twice a second whether its playbook has ended, and then removes what was made.
LONGEST_CLEANUP = 30
LOOK = 0.1
# No stage of the fake cloud takes a second. A stage that waits in vain must not keep the test.
VARIABLES: dict[str, Any] = {
    "stackproof_cloud": "small",
    "stackproof_guest": "none",
    "stackproof_timeouts": {
        **dict.fromkeys(("auth", "image", "network", "volume", "boot"), 10),
        "read": 20,
        "host_checks": 30,
        "cleanup": 20,
    },
}
# The fake cloud keeps the rules of a security group that it has deleted. Neutron does not.
GO_WITH_THEIR_GROUP = "/network/v2.0/security-group-rules"


def load_fake_cloud() -> ModuleType:
    import_collections_by_name()
    spec = spec_from_file_location("fake_cloud_of_newcomers", ROOT / "tests/unit/plugins/conftest.py")
    assert spec
    assert spec.loader
    sys.modules[spec.name] = module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


fake_cloud = load_fake_cloud()


@dataclass(frozen=True)
class Outcome:
    """What a call of the playbook led to."""

    status: int
    output: str
    folder: Path
    # The files in which the newcomer has written a secret
    own_secrets: tuple[Path, ...]
    secrets: tuple[str, ...]
    before: dict[str, list[str]]
    after: dict[str, list[str]]


class Newcomer:
    """What one of them has on the desk; a mistake changes some of it."""

    def __init__(self, folder: Path, callback: str, context: ssl.SSLContext | None = None) -> None:
        self.folder, self.work, self.home = folder, folder / "work", folder / "home"
        self.clouds_yaml = self.home / ".config/openstack/clouds.yaml"
        for path in (self.work, self.clouds_yaml.parent):
            path.mkdir(parents=True)
        self.closing = contextlib.ExitStack()
        self.cloud = fake_cloud.FakeCloud("https" if context else "http", context)
        self.closing.callback(self.cloud.close)
        self.write_clouds(small=self.cloud.entry())
        self.variables: dict[str, Any] = dict(VARIABLES)
        self.playbook = "verify"
        self.arguments: list[str] = []
        # Words before ansible-playbook
        self.prefix: list[str] = []
        self.environment = self._environment(callback)
        self.passwords = [self.cloud.password]
        # What the cloud had before the first call
        self.before: dict[str, list[str]] | None = None

    def _environment(self, callback: str) -> dict[str, str]:
        collections = self.folder / "collections"
        place = collections / "ansible_collections/stackproof/provision"
        place.parent.mkdir(parents=True)
        place.symlink_to(ROOT)
        others = ("ANSIBLE_", "OS_", "XDG_", "STACKPROOF_")
        usual = {name: text for name, text in os.environ.items() if not name.startswith(others)}
        # The fake cloud is on this machine: no proxy leads there.
        usual = {name: text for name, text in usual.items() if not name.lower().endswith("_proxy")}
        return {
            **usual,
            "HOME": str(self.home),
            "PWD": str(self.work),
            "ANSIBLE_COLLECTIONS_PATH": str(collections),
            "ANSIBLE_HOME": str(self.home / ".ansible"),
            "ANSIBLE_STDOUT_CALLBACK": callback,
            "ANSIBLE_NOCOLOR": "1",
        }

    def set_timeout(self, part: str, seconds: float) -> None:
        """Give a part of the run another time than VARIABLES do."""
        self.variables["stackproof_timeouts"] = {**self.variables["stackproof_timeouts"], part: seconds}

    def write_clouds(self, **clouds: dict[str, Any]) -> None:
        self.clouds_yaml.write_text(yaml.safe_dump({"clouds": clouds}))

    def write_program(self, name: str, text: str) -> Path:
        """Put a program of the shell before those of the system. Returns its path."""
        path = self.folder / "bin" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"#!/bin/sh\n{text}\n")
        path.chmod(0o755)
        self.environment["PATH"] = f"{path.parent}:{self.environment['PATH'].removeprefix(f'{path.parent}:')}"
        return path

    def write_inventory(self, **variables: str | int) -> None:
        """Write an inventory of two hosts that share these variables, and call the playbook with it."""
        path = self.folder / "inventory.yml"
        hosts = {"compute": {"hosts": {"compute1": None}}, "control": {"hosts": {"controller1": None}}}
        cloud = {"children": hosts, "vars": {"ansible_python_interpreter": sys.executable, **variables}}
        path.write_text(yaml.safe_dump({"all": {"children": {"openstack": cloud}}}))
        self.arguments += ["-i", str(path)]

    def start(self) -> subprocess.Popen[str]:
        """Start the playbook, as the first process of a group that one signal reaches."""
        if self.before is None:
            self.before = self.things()
        program = str(Path(sys.executable).parent / "ansible-playbook")
        command = [*self.prefix, program, f"stackproof.provision.{self.playbook}", *self.arguments]
        process = subprocess.Popen(
            [*command, "-e", json.dumps(self.variables)],
            env=self.environment,
            cwd=self.work,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        self.closing.callback(end_group, process)
        return process

    def run_dir(self, run_id: str) -> Path:
        return self.work / "runs" / run_id

    def has_finished(self, run_id: str) -> bool:
        return json.loads((self.run_dir(run_id) / "run.json").read_text())["finished"] is not None

    def verify(self) -> tuple[int, str]:
        """Call the playbook. Returns its status and what it printed."""
        process = self.start()
        output, _errors = process.communicate(timeout=LONGEST)
        return process.returncode, output

    def outcome(self, status: int, output: str) -> Outcome:
        """Return what a call led to, once all that the newcomer has started besides has ended."""
        return Outcome(
            status=status,
            output=output,
            folder=self.folder,
            own_secrets=(self.clouds_yaml,),
            secrets=(*self.passwords, *self.cloud.tokens, *self.cloud.old_tokens),
            before=self.before or {},
            after=self.things(),
        )

    def things(self) -> dict[str, list[str]]:
        """Return the ids of all that the cloud has, by the path of its collection."""
        things = self.cloud.things.items()
        return {path: sorted(those) for path, those in things if those and path != GO_WITH_THEIR_GROUP}


def end_group(process: subprocess.Popen[str]) -> None:
    """End a playbook with its workers, if it still runs."""
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def wait_until(is_so: Callable[[], bool], what: str, seconds: float = LONGEST) -> None:
    end = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < end, f"{what}: not within {seconds} s"
        time.sleep(LOOK)
