# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How fast the disk of a guest of the lab answered while it booted, and disks that virsh does not show."""

from __future__ import annotations

import pytest
from ansible_collections.stackproof.provision.plugins.module_utils._collect.chains import disks
from ansible_collections.stackproof.provision.plugins.module_utils._collect.commands import UnreadError
from ansible_collections.stackproof.provision.plugins.module_utils._model.stores import DiskUse
from tree import RECORDED

SERVER = "5ad6e272-3e09-4454-8b10-ac31c91f8c69"
BOOTED = (RECORDED / "commands/domstats-block.txt").read_text()


@pytest.fixture
def read(replay):
    return lambda answer: disks.read(replay(None, {"id -u": "0", "domstats": answer}), SERVER)


def test_a_disk_has_its_requests_and_their_time(read):
    (disk,) = read(BOOTED)
    assert (disk.name, disk.requests) == ("vda", 495)
    assert disk.seconds == pytest.approx(1.586935)


def test_reads_writes_and_flushes_of_each_disk_count(read):
    text = BOOTED.replace("wr.reqs=0", "wr.reqs=4").replace("wr.times=0", "wr.times=2000000000")
    second = "".join(f"  block.1.{line}\n" for line in ("name=vdb", "rd.reqs=0", "fl.reqs=1", "fl.times=500000000"))
    assert [(disk.name, disk.requests, round(disk.seconds, 3)) for disk in read(text + second)] == [
        ("vda", 499, 3.587),
        ("vdb", 1, 0.5),
    ]


def test_a_host_without_the_domain_has_no_disks_of_it(read):
    assert read((1, "", f"error: failed to get domain '{SERVER}'\n")) is None
    assert read("Domain: 'instance-00000001'\n  block.count=0\n") == ()


def test_a_virsh_that_does_not_answer_is_said(read):
    with pytest.raises(UnreadError):
        read((1, "", "error: failed to connect to the hypervisor\n"))


def test_a_disk_without_requests_has_no_time(read):
    assert read("  block.0.name=vda\n") == (DiskUse("vda", 0, 0.0),)
