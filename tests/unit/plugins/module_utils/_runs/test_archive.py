# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The archive of a result, made of recorded runs: its files, and that it has no others and is the same again."""

from __future__ import annotations

import hashlib
import json
import shutil
import stat
import subprocess
import tarfile
from dataclasses import replace
from pathlib import Path

import pytest
from ansible_collections.stackproof.provision.plugins.module_utils._model import codec
from ansible_collections.stackproof.provision.plugins.module_utils._model.inventory import Inventory
from ansible_collections.stackproof.provision.plugins.module_utils._model.sweep import Sweep, Target
from ansible_collections.stackproof.provision.plugins.module_utils._runs import archive
from ansible_collections.stackproof.provision.plugins.module_utils._sweep import files, sweep
from tree import RECORDED

RUNS = RECORDED / "runs"
PASSED, FAILED = "20261121-065105-bdb5f5", "20261121-065322-ce7f74"
# Files that a run has for itself, or that somebody has put beside its record
FOREIGN = ("watched", "lock", "events.jsonl", "clouds.yaml", "id_ed25519", "token", "run.json.unreadable")
ALLOWED = {"run.json", "report.html", "junit.xml", "sweep.json", "sweep.html", "inventory.json", "SHA256SUMS"}


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    """Return a folder with two recorded runs, whose directories have a page and files that are not for readers."""
    folder = tmp_path / "runs"
    for name in (PASSED, FAILED):
        shutil.copytree(RUNS / name, folder / name)
        (folder / name / "report.html").write_text("<h1>page</h1>")
        for foreign in FOREIGN:
            (folder / name / foreign).write_text("secret")
    return folder


@pytest.fixture
def swept(runs: Path) -> tuple[str, Sweep]:
    """Return the directory and the record of a sweep of both runs, and of a target without one."""
    names = {"c1": PASSED, "c2": FAILED, "c3": "never-begun"}
    targets = [Target(name, name, run_id, host=name) for name, run_id in names.items()]
    begun = sweep.new_sweep("nightly", "lab", targets, level="standard")
    outcomes = files.outcomes_of(replace(begun, targets=tuple(targets)), str(runs))
    record = sweep.finish(begun, outcomes, sweep.Limits(3, 5))
    directory = runs / "sweep-nightly"
    directory.mkdir()
    files.save(record, str(directory))
    files.render(record, str(directory), None)
    (directory / "token").write_text("secret")
    return str(directory), record


def unpacked(path: str, folder: Path) -> Path:
    """Unpack an archive, and return its only folder."""
    with tarfile.open(path) as stream:
        stream.extractall(folder, filter="data")
    (top,) = folder.iterdir()
    return top


def names_in(top: Path) -> set[str]:
    return {str(path.relative_to(top)) for path in top.rglob("*") if path.is_file()}


def test_archive_of_a_run_lies_beside_its_directory_and_has_the_files_for_readers_alone(runs: Path, tmp_path: Path):
    path = archive.write_run(str(runs / PASSED))
    assert path == str(runs / f"{PASSED}.tar.gz")
    top = unpacked(path, tmp_path / "unpacked")
    assert top.name == PASSED
    own = {f"{PASSED}/{name}" for name in ("run.json", "report.html", "junit.xml")}
    assert names_in(top) == {*own, "inventory.json", "SHA256SUMS"}
    assert (top / PASSED / "run.json").read_bytes() == (runs / PASSED / "run.json").read_bytes()


def test_archive_of_a_sweep_has_all_its_runs(swept: tuple[str, Sweep], tmp_path: Path):
    top = unpacked(archive.write_sweep(*swept), tmp_path / "unpacked")
    of_sweep = {f"sweep-nightly/{name}" for name in ("sweep.json", "junit.xml")}
    of_runs = {f"{run}/{name}" for run in (PASSED, FAILED) for name in ("run.json", "report.html", "junit.xml")}
    assert names_in(top) == {*of_sweep, *of_runs, "inventory.json", "SHA256SUMS"}


def test_only_names_of_the_list_are_in_an_archive_and_no_secret(swept: tuple[str, Sweep], tmp_path: Path):
    top = unpacked(archive.write_sweep(*swept), tmp_path / "unpacked")
    assert {Path(name).name for name in names_in(top)} <= ALLOWED
    assert {*archive.RUN_FILES, *archive.SWEEP_FILES, archive.INVENTORY, archive.DIGESTS} == ALLOWED
    assert all(b"secret" not in (top / name).read_bytes() for name in names_in(top) if "run.json" not in name)


def test_sha256sum_checks_every_file_and_finds_a_changed_one(swept: tuple[str, Sweep], tmp_path: Path):
    top = unpacked(archive.write_sweep(*swept), tmp_path / "unpacked")
    listed = {line.split("  ")[1] for line in (top / "SHA256SUMS").read_text().splitlines()}
    assert listed == names_in(top) - {"SHA256SUMS"}
    command = ["sha256sum", "--check", "--quiet", "SHA256SUMS"]
    assert subprocess.run(command, cwd=top, capture_output=True, check=False).returncode == 0
    (top / PASSED / "run.json").write_text("{}")
    assert subprocess.run(command, cwd=top, capture_output=True, check=False).returncode == 1


def test_same_result_is_the_same_archive(runs: Path):
    digests = set()
    for _again in range(2):
        path = Path(archive.write_run(str(runs / PASSED)))
        digests.add(hashlib.sha256(path.read_bytes()).hexdigest())
        (runs / PASSED / "run.json").touch()
    assert len(digests) == 1


def test_members_have_the_time_of_the_result_and_no_owner(runs: Path):
    path = archive.write_run(str(runs / PASSED))
    finished = codec.from_json(Inventory, inventory_in(path)).finished
    with tarfile.open(path) as stream:
        members = stream.getmembers()
    assert finished is not None
    assert {(member.mtime, member.uid, member.uname, member.mode) for member in members} == {
        (int(finished), 0, "", 0o600)
    }
    assert stat.S_IMODE(Path(path).stat().st_mode) == 0o600


def inventory_in(path: str) -> object:
    with tarfile.open(path) as stream:
        (member,) = (member for member in stream.getmembers() if member.name.endswith("/inventory.json"))
        content = stream.extractfile(member)
        assert content
        return json.load(content)


def test_inventory_names_the_target_without_a_run(swept: tuple[str, Sweep]):
    found = codec.from_json(Inventory, inventory_in(archive.write_sweep(*swept)))
    assert (found.id, found.level, found.result) == ("nightly", "standard", "fail")
    assert [(skipped.kind, skipped.what) for skipped in found.skipped if skipped.run_id == "never-begun"] == [
        ("target", "c3")
    ]


def test_archive_that_cannot_be_written_whole_leaves_the_old_one(runs: Path, monkeypatch: pytest.MonkeyPatch):
    path = Path(archive.write_run(str(runs / PASSED)))
    before = path.read_bytes()

    def fail(_path: str) -> bytes:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(archive, "read", fail)
    with pytest.raises(OSError, match="Input/output error"):
        archive.write_run(str(runs / PASSED))
    assert path.read_bytes() == before
    assert sorted(entry.name for entry in runs.iterdir()) == [PASSED, path.name, FAILED]


def test_link_in_the_place_of_a_file_is_refused(runs: Path):
    page = runs / PASSED / "report.html"
    page.unlink()
    page.symlink_to("/etc/hostname")
    with pytest.raises(OSError, match="Too many levels of symbolic links"):
        archive.write_run(str(runs / PASSED))
    assert not (runs / f"{PASSED}.tar.gz").exists()
