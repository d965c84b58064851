# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Results are read from the directory or the archive of a run or a sweep; anything else is refused with its place."""

from __future__ import annotations

import gzip
import io
import json
import shutil
import tarfile
from dataclasses import replace
from pathlib import Path

import pytest
from ansible_collections.stackproof.provision.plugins.module_utils._model.sweep import Target
from ansible_collections.stackproof.provision.plugins.module_utils._record.errors import StageError
from ansible_collections.stackproof.provision.plugins.module_utils._runs import archive, results
from ansible_collections.stackproof.provision.plugins.module_utils._sweep import files, sweep
from tree import RECORDED

PASSED, FAILED = "20261121-065105-bdb5f5", "20261121-065322-ce7f74"


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    folder = tmp_path / "runs"
    for name in (PASSED, FAILED):
        shutil.copytree(RECORDED / "runs" / name, folder / name)
    return folder


@pytest.fixture
def swept(runs: Path) -> Path:
    """Return the directory of a sweep of two recorded runs, whose archive lies beside it, and of one without a run."""
    names = {"c1": PASSED, "c2": FAILED, "c3": "never-begun"}
    targets = [Target(name, name, run_id, host=name) for name, run_id in names.items()]
    begun = sweep.new_sweep("nightly", "lab", targets)
    outcomes = files.outcomes_of(replace(begun, targets=tuple(targets)), str(runs))
    record = sweep.finish(begun, outcomes, sweep.Limits(3, 5))
    directory = runs / "sweep-nightly"
    directory.mkdir()
    files.save(record, str(directory))
    archive.write_sweep(str(directory), record)
    return directory


def changed(path: Path, name: str, text: str) -> Path:
    """Return a copy of an archive in which one file has another text."""
    copy = path.with_name("changed.tar.gz")
    with tarfile.open(path) as old, tarfile.open(copy, "w:gz") as new:
        for member in old:
            stream = old.extractfile(member)
            assert stream
            content = text.encode() if member.name.endswith(name) else stream.read()
            member.size = len(content)
            new.addfile(member, io.BytesIO(content))
    return copy


def test_run_is_the_same_by_its_directory_and_by_its_archive(runs: Path) -> None:
    path = archive.write_run(str(runs / PASSED))
    assert results.read(path) == results.read(str(runs / PASSED))


def test_sweep_is_the_same_by_its_directory_and_by_its_archive(swept: Path) -> None:
    by_directory = results.read(str(swept))
    assert results.read(f"{swept}.tar.gz") == by_directory
    assert by_directory.verdicts == {"c1": "pass", "c2": "fail", "c3": "incomplete"}
    assert by_directory.runs.keys() == {"c1", "c2"}
    assert by_directory.headlines.keys() == {"c2", "c3"}
    assert by_directory.headlines["c3"] == "its run was not begun"


def test_archive_is_enough_where_the_directories_are_gone(swept: Path) -> None:
    for name in (PASSED, FAILED, swept.name):
        shutil.rmtree(swept.parent / name)
    assert len(results.read(f"{swept}.tar.gz").runs) == 2


@pytest.mark.parametrize("name", [f"{PASSED}/run.json", "sweep.json"])
def test_record_that_differs_from_its_digest_is_refused(swept: Path, name: str) -> None:
    path = changed(Path(f"{swept}.tar.gz"), name, "{}")
    with pytest.raises(StageError, match=rf"{name} in \S+ differs from its digest in SHA256SUMS"):
        results.read(str(path))


def test_archive_without_digests_is_refused(swept: Path) -> None:
    path = changed(Path(f"{swept}.tar.gz"), "SHA256SUMS", "")
    with pytest.raises(StageError, match="differs from its digest"):
        results.read(str(path))


def test_directory_without_a_record_is_refused_with_what_to_name(tmp_path: Path) -> None:
    with pytest.raises(StageError, match=r"there is no \S+/run.json") as refused:
        results.read(str(tmp_path))
    assert refused.value.record["hint"] == results.HINT


def test_file_that_is_no_archive_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "some.tar.gz"
    path.write_bytes(gzip.compress(b"no archive"))
    with pytest.raises(StageError, match=r"some\.tar\.gz cannot be read: "):
        results.read(str(path))


def test_archive_without_a_record_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "some.tar.gz"
    tarfile.open(path, "w:gz").close()
    with pytest.raises(StageError, match=r"there is no result in \S+/some\.tar\.gz"):
        results.read(str(path))


def test_record_of_another_schema_is_refused(runs: Path) -> None:
    path = runs / PASSED / "run.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "schema": "stackproof.run/9"}))
    with pytest.raises(StageError, match=r"is stackproof\.run/9, not stackproof\.run/2"):
        results.read(str(runs / PASSED))
