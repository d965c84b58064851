# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The volume that goes from one guest to the other: what real shells write and read."""

from __future__ import annotations

import hashlib
import subprocess

import pytest
from ansible_collections.stackproof.provision.plugins.module_utils._act import dataplane, handover
from ansible_collections.stackproof.provision.plugins.module_utils._act.dataplane import Errand
from ansible_collections.stackproof.provision.plugins.module_utils._act.showing import line_of
from ansible_collections.stackproof.provision.plugins.module_utils._model.details import FIRST, SECOND

NONCE = "272b3bb0abec515ad4c8342a69d2b07f"
VOLUME = "8e2d2b24-afff-407c-8a31-0123456789ab"


@pytest.fixture(autouse=True)
def hasty(monkeypatch):
    for guest in (FIRST, SECOND):
        monkeypatch.setitem(dataplane.PATIENCE, guest, 0)
        monkeypatch.setitem(handover.LOOKS, guest, 1)


@pytest.fixture
def machine(tmp_path):
    """Two disks as a kernel shows them: one of virtio and one of SCSI. A sparse file stands for each."""
    for name, file, serial in (
        ("vda", "serial", ""),
        ("vdb", "serial", VOLUME[:20]),
        ("sdc", "device/vpd_pg80", VOLUME),
    ):
        place = tmp_path / "sys/block" / name / file
        place.parent.mkdir(parents=True)
        place.write_bytes(b"\0\x80" + serial.encode())
    (tmp_path / "dev").mkdir()
    (tmp_path / "tmp").mkdir()
    return tmp_path


def shown_by(machine, guest, check):
    script = dataplane.script(guest, NONCE, Errand("192.0.2.1", volume=VOLUME)).replace("ping ", "false ")
    for folder in ("/tmp/", "/sys/block/"):
        script = script.replace(folder, f"{machine}{folder}")
    script = script.replace('"/dev/$disk"', f'"{machine}/dev/$disk"')
    done = subprocess.run(["sh", "-c", f"{script}\nwait"], capture_output=True, text=True, timeout=60, check=True)
    return line_of(done.stdout, guest, check, NONCE)


def test_the_second_guest_reads_what_the_first_wrote(machine):
    written = shown_by(machine, FIRST, handover.WRITTEN)
    found = shown_by(machine, SECOND, handover.READ)
    assert written["sum"] == found["sum"]
    (disk,) = (machine / "dev").iterdir()
    assert disk.name == found["disk"]
    with disk.open("rb") as stream:
        stream.seek(handover.OFFSET * 1024)
        assert hashlib.sha256(stream.read()).hexdigest() == found["sum"]
    assert handover.compared(written["sum"], found["sum"], 7.5, is_shared=False).status.value == "ok"


@pytest.mark.parametrize("file", ["serial", "device/vpd_pg80"])
def test_the_disk_is_known_by_its_serial_in_either_form(machine, file):
    for other in (machine / "sys/block").glob("*/**/*"):
        if other.is_file() and not str(other).endswith(file):
            other.write_bytes(b"")
    assert shown_by(machine, FIRST, handover.WRITTEN)["disk"] == {"serial": "vdb", "device/vpd_pg80": "sdc"}[file]


def test_a_guest_without_the_disk_says_so(machine):
    for file in (machine / "sys/block").glob("*/**/*"):
        if file.is_file():
            file.write_bytes(b"")
    line = shown_by(machine, FIRST, handover.WRITTEN)
    assert (line["disk"], line["sum"]) == ("", "")
    assert handover.unwritten(line) == "the first guest shows no disk with its id"


def test_a_guest_that_cannot_write_says_so(machine):
    (machine / "dev").chmod(0o500)
    (machine / "dev").rename(machine / "elsewhere")
    line = shown_by(machine, FIRST, handover.WRITTEN)
    assert (line["disk"] != "", line["sum"]) == (True, "")
    assert handover.unwritten(line) == "the first guest cannot write to it, or has no sha256sum"


SAME, DIFFERENT = "a" * 64, "b" * 64


@pytest.mark.parametrize(
    ("found", "status", "text"),
    [
        (SAME, "ok", "the volume came with what was written to it (1 MiB, SHA-256 aaaaaaaaaaaa...)"),
        (DIFFERENT, "failed", "the volume has other content (SHA-256 bbbbbbbbbbbb... and not aaaaaaaaaaaa...)"),
        ("", "failed", "the volume cannot be read"),
        ("<script>", "failed", "the volume cannot be read"),
    ],
)
def test_what_was_read_is_compared(found, status, text):
    check = handover.compared(SAME, found, 7.5, is_shared=False)
    assert (check.status.value, check.text, check.seconds) == (status, text, 7.5)
    assert (check.source, check.target) == ("first", "second")


def test_a_volume_of_both_guests_is_called_so():
    check = handover.compared(SAME, SAME, 7.5, is_shared=True)
    assert check.text == "both have the volume with what was written to it (1 MiB, SHA-256 aaaaaaaaaaaa...)"
