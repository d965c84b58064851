# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Archives of logs are unpacked for as long as they are read, and nothing in them leads out of their folder."""

from __future__ import annotations

import io
import os
import tarfile
import tempfile
import zipfile
from pathlib import Path

import pytest
from ansible_collections.stackproof.provision.plugins.module_utils._diagnose import archive as module
from ansible_collections.stackproof.provision.plugins.module_utils._record.errors import StageError

CHANGED = 1_700_000_000
LOG = b"2026-11-21 11:01:31.000 1 INFO nova.compute.manager [-] started\n"


@pytest.fixture(autouse=True)
def temporary(tmp_path, monkeypatch):
    """The folder in which it unpacks, which has to be empty afterwards."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    yield folder
    assert list(folder.iterdir()) == []


def tar_of(path, members, mode="w:gz"):
    with tarfile.open(path, mode) as archive:
        for name, content in members:
            info = tarfile.TarInfo(name)
            if isinstance(content, bytes):
                info.size, info.mtime = len(content), CHANGED
                archive.addfile(info, io.BytesIO(content))
            else:
                info.type, info.linkname = content
                archive.addfile(info)
    return path


def zip_of(path, members):
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in members:
            archive.writestr(zipfile.ZipInfo(name, (2026, 11, 21, 11, 1, 30)), content)
    return path


def found(path):
    """The files that are unpacked, with their contents, and what a reader has to know."""
    with module.directory_of(str(path)) as (directory, doubts):
        top = Path(directory)
        files = {str(file.relative_to(top)): file.read_bytes() for file in top.rglob("*") if file.is_file()}
        # Others cannot even enter it.
        assert top.stat().st_mode & 0o077 == 0 or top == path
        return files, doubts


MEMBERS = [("compute1/var/log/nova/nova-compute.log", LOG), ("./controller1/etc/hostname", b"controller1\n")]
UNPACKED = {
    "bundle/compute1/var/log/nova/nova-compute.log": LOG,
    "bundle/controller1/etc/hostname": b"controller1\n",
}


@pytest.mark.parametrize(
    ("name", "mode"),
    [
        ("bundle.tar", "w"),
        ("bundle.tar.gz", "w:gz"),
        ("bundle.tgz", "w:gz"),
        ("bundle.tar.bz2", "w:bz2"),
        ("bundle.tar.xz", "w:xz"),
        ("bundle.TXZ", "w:xz"),
    ],
)
def test_each_kind_of_tar_is_unpacked(tmp_path, name, mode):
    assert found(tar_of(tmp_path / name, MEMBERS, mode)) == (UNPACKED, [])


def test_a_zip_is_unpacked(tmp_path):
    assert found(zip_of(tmp_path / "bundle.zip", MEMBERS)) == (UNPACKED, [])


def test_a_file_keeps_the_time_that_it_had(tmp_path):
    with module.directory_of(str(tar_of(tmp_path / "b.tar", MEMBERS, "w"))) as (directory, _doubts):
        assert os.stat(f"{directory}/b/controller1/etc/hostname").st_mtime == CHANGED


def test_a_directory_with_logs_is_read_as_it_is(tmp_path):
    folder = tmp_path / "logs"
    folder.mkdir()
    (folder / "nova-compute.log").write_bytes(LOG)
    tar_of(folder / "older.tar.gz", MEMBERS)
    with module.directory_of(str(folder)) as (directory, doubts):
        assert (directory, doubts) == (str(folder), [])


def test_a_directory_of_archives_alone_is_unpacked(tmp_path):
    folder = tmp_path / "reports"
    folder.mkdir()
    tar_of(folder / "sosreport-compute1.tar.xz", MEMBERS[:1], "w:xz")
    (folder / "sosreport-compute1.tar.xz.sha256").write_text("0" * 64)
    zip_of(folder / "sosreport-controller1.zip", MEMBERS[1:])
    files, _doubts = found(folder)
    assert sorted(files) == [
        "sosreport-compute1/compute1/var/log/nova/nova-compute.log",
        "sosreport-controller1/controller1/etc/hostname",
    ]


def test_archives_in_an_archive_are_unpacked_where_they_lie(tmp_path):
    inner = tar_of(tmp_path / "inner.tar.xz", MEMBERS, "w:xz").read_bytes()
    files, doubts = found(zip_of(tmp_path / "outer.zip", [("hosts/bundle.tar.xz", inner), ("hosts/bad.tar.gz", b"x")]))
    assert {name.replace("outer/hosts/", "") for name in files} == set(UNPACKED)
    (doubt,) = doubts
    assert doubt.startswith("bad.tar.gz cannot be read as an archive: ")


@pytest.mark.parametrize(
    "member",
    [
        ("../out.log", LOG),
        ("a/../../out.log", LOG),
        ("/tmp/out.log", LOG),
        ("link", (tarfile.SYMTYPE, "/etc/shadow")),
        ("hard", (tarfile.LNKTYPE, "good/file")),
        ("device", (tarfile.CHRTYPE, "")),
        ("pipe", (tarfile.FIFOTYPE, "")),
        ("x" * 255, LOG),
    ],
)
def test_what_leads_out_or_is_no_file_is_left_out(tmp_path, member):
    files, doubts = found(tar_of(tmp_path / "b.tar.gz", [("good/file", LOG), member]))
    assert files == {"b/good/file": LOG}
    assert doubts == ["1 links and other things that are no files were not unpacked"]


def test_what_stands_twice_is_unpacked_once(tmp_path):
    files, _doubts = found(tar_of(tmp_path / "b.tar", [("a", LOG), ("a", b"other"), ("a/b", LOG)], "w"))
    assert files == {"b/a": LOG}


@pytest.mark.parametrize("kind", ["zip", "tar.gz"])
@pytest.mark.parametrize(("limit", "most", "said"), [("MOST_BYTES", 100, "GiB"), ("MOST_FILES", 1, "files")])
def test_only_so_much_is_unpacked(tmp_path, monkeypatch, kind, limit, most, said):
    make = {"zip": zip_of, "tar.gz": tar_of}[kind]
    path = make(tmp_path / f"b.{kind}", [("a", b"0" * 90), ("b", b"0" * 90)])
    monkeypatch.setattr(module, limit, most)
    with pytest.raises(StageError, match=f"more than .* {said} are packed"):
        found(path)


@pytest.mark.parametrize("name", ["b.tar", "b.tar.gz", "b.tgz", "b.tar.bz2", "b.tar.xz", "b.zip"])
@pytest.mark.parametrize("content", [b"", b"no archive", LOG * 100])
def test_what_is_no_archive_is_said(tmp_path, name, content):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(StageError, match=f"{name} cannot be read as an archive: .") as raised:
        found(tmp_path / name)
    assert raised.value.failure.hint == "Unpack it yourself, and give the directory."


@pytest.mark.parametrize("share", [0.3, 0.9])
@pytest.mark.parametrize("name", ["b.tar.gz", "b.tar.xz", "b.zip"])
def test_an_archive_that_is_cut_off_is_said(tmp_path, name, share):
    content = os.urandom(50_000)
    mode = {"b.tar.gz": "w:gz", "b.tar.xz": "w:xz"}.get(name)
    path = tar_of(tmp_path / name, [("a", content)], mode) if mode else zip_of(tmp_path / name, [("a", content)])
    path.write_bytes(path.read_bytes()[: int(path.stat().st_size * share)])
    with pytest.raises(StageError, match="cannot be read as an archive"):
        found(path)


def test_a_zip_with_a_password_is_said(tmp_path):
    path = zip_of(tmp_path / "b.zip", [("a", LOG)])
    content = bytearray(path.read_bytes())
    # The mark of a member that is encrypted, in both of its headers
    content[6] |= 1
    content[content.index(b"PK\x01\x02") + 8] |= 1
    path.write_bytes(content)
    with pytest.raises(StageError, match="password"):
        found(path)
