# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Everything that is read on hosts, by the oldest Python that is promised to do for it."""

from __future__ import annotations

import shutil
import subprocess
import tarfile
from pathlib import Path

import pytest
import yaml
from lab_under_test import INVENTORY
from runs_under_test import verify
from test_verify import assert_sound

pytestmark = pytest.mark.soak
VERSION = "3.9"
HOME = f"/opt/python{VERSION}"
USED = "/var/tmp/old-python-used"
# Says that it was used, as any user, and is that Python.
WRAPPER = f'#!/bin/sh\necho "$$" >> {USED}\nLD_LIBRARY_PATH={HOME}/lib exec {HOME}/bin/python{VERSION} "$@"\n'


def prefixes():
    """Where this machine has the old Python, as pyenv builds it: in one directory, that works from any place."""
    pyenv = Path.home() / ".pyenv"
    program = shutil.which("pyenv")
    if program:
        pyenv = Path(subprocess.run([program, "root"], capture_output=True, text=True, check=True).stdout.strip())
    return sorted(pyenv.glob(f"versions/{VERSION}.*"))


def packed(prefix, place):
    """The parts of a Python that a module needs, as a tarball."""
    unneeded = {"test", "tests", "site-packages", "idlelib", "ensurepip", "tkinter", "__pycache__"}
    with tarfile.open(place / "python.tar", "w") as archive:
        for path in [prefix / f"bin/python{VERSION}", *prefix.glob("lib/libpython*.so*")]:
            archive.add(path, str(path.relative_to(prefix)))
        archive.add(
            prefix / f"lib/python{VERSION}",
            f"lib/python{VERSION}",
            filter=lambda member: None if unneeded & set(Path(member.name).parts) else member,
        )
        (place / "wrapper").write_text(WRAPPER)
        (place / "wrapper").chmod(0o755)
        archive.add(place / "wrapper", "interpreter")
    return archive.name


def on_all(*words):
    done = subprocess.run(
        ["ansible", "-i", str(INVENTORY), "all", "--become", *words], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture
def interpreter(tmp_path, lab_hosts):
    builds = prefixes()
    assert builds, f"this needs a Python {VERSION} to take to the hosts, such as pyenv install {VERSION} makes"
    on_all("-m", "file", "-a", f"path={HOME} state=directory mode=0755")
    try:
        on_all("-m", "unarchive", "-a", f"src={packed(builds[-1], tmp_path)} dest={HOME}")
        for host in lab_hosts.values():
            host.check_output(f"install -m 0666 /dev/null {USED}")
            assert host.check_output(f"{HOME}/interpreter --version").startswith(f"Python {VERSION}.")
        yield f"{HOME}/interpreter"
    finally:
        on_all("-m", "file", "-a", f"path={HOME} state=absent")
        on_all("-m", "file", "-a", f"path={USED} state=absent")


def test_hosts_with_an_old_python_are_read_and_followed_as_all(interpreter, runs, tmp_path, lab_hosts):
    inventory = yaml.safe_load(INVENTORY.read_text())
    for variables in inventory["all"]["hosts"].values():
        variables["ansible_python_interpreter"] = interpreter
    (tmp_path / "inventory.yml").write_text(yaml.safe_dump(inventory))
    before = {name: used(host) for name, host in lab_hosts.items()}
    outcome = verify(runs, "-i", str(tmp_path / "inventory.yml"), firehose=True)
    assert outcome.status == 0, outcome.output
    assert_sound(outcome)
    assert "host checks passed" in outcome.record["verdict"]["reason"]
    guide = next(flow for flow in outcome.record["flows"] if flow["name"] == "ops_guide")
    assert sum(step["status"] in ("seen", "absent", "cached") for step in guide["steps"]) > 50
    assert not [host["unread"] for host in outcome.record["hosts"] if host.get("unread")]
    for host in outcome.record["hosts"]:
        if host["host"] in lab_hosts:
            assert used(lab_hosts[host["host"]]) > before[host["host"]], f"{host['host']} was read by another Python"


def used(host):
    return int(host.check_output(f"wc -l < {USED}"))
