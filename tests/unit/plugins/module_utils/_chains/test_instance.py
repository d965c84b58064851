# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The chains of image, volume and server in a recorded run that passed, and with breaks in what its hosts showed."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from typing import Any

import pytest
from ansible_collections.stackproof.provision.plugins.module_utils._chains.all_chains import walked
from ansible_collections.stackproof.provision.plugins.module_utils._model.chain import Chain, LinkState
from ansible_collections.stackproof.provision.plugins.module_utils._model.codec import from_json
from ansible_collections.stackproof.provision.plugins.module_utils._model.record import Record
from ansible_collections.stackproof.provision.plugins.module_utils._report.messages import links
from tree import RECORDED

Json = dict[str, Any]
Change = Callable[[Json], None]
PASSED: Json = json.loads((RECORDED / "ovn/run.json").read_text())
SERVER = PASSED["instance"]["server"]["id"]
HERE = PASSED["instance"]["server"]["host"]
SCHEDULER = "cinder-scheduler"
(VOLUME,) = PASSED["instance"]["volumes"]


def chains_of(*changes: Change, stage: str = "boot") -> dict[str, Chain]:
    record = copy.deepcopy(PASSED)
    for change in changes:
        change(record)
    return {chain.name: chain for chain in walked(from_json(Record, record), stage)}


def facts_with(record: Json, part: str) -> Json:
    return next(host["facts"] for host in record["hosts"] if host["facts"].get(part))


def domain(record: Json) -> Json:
    found: Json = facts_with(record, "domain")["domain"]
    return found


def in_ceph(record: Json, name: str) -> Json:
    return next(image for image in facts_with(record, "ceph")["ceph"]["images"] if image["name"] == name)


def origin(record: Json) -> Json:
    found: Json = facts_with(record, "ceph")["ceph"]["origin"]
    return found


def service(component: str, host: str, **more: Any) -> Json:
    return {"component": component, "host": host, "state": "up", "enabled": True, "last_report": None, **more}


def with_services(**more: Any) -> Change:
    """Give the record what the cloud reports of its services. more: of those of volumes and of the host."""

    def change(record: Json) -> None:
        of_volumes = [service("cinder-scheduler", "controller1"), service("cinder-volume", "controller1")]
        record["agents"] = [{**one, **more} for one in (*of_volumes, service("nova-compute", HERE))]

    return change


def failed_at(name: str) -> Change:
    """Have a stage fail, and with it the instance."""

    def change(record: Json) -> None:
        next(stage for stage in record["stages"] if stage["stage"] == name)["status"] = "failed"
        record["instance"]["server"]["status"] = "ERROR"

    return change


def gone(name: str) -> Change:
    return lambda record: in_ceph(record, name).update(exists=False, watchers=None)


def unwatched(name: str) -> Change:
    return lambda record: in_ceph(record, name).update(watchers=["10.0.0.99"])


def without_domain(record: Json) -> None:
    facts_with(record, "domain")["domain"] = None


def without_disk(record: Json) -> None:
    domain(record)["disks"] = [disk for disk in domain(record)["disks"] if disk["serial"] != VOLUME]


def unclaimed(record: Json) -> None:
    record["instance"]["allocations"] = 0


def on_local_disk(record: Json) -> None:
    """Have the disks in files of the host, of which Ceph knows nothing."""
    for disk in domain(record)["disks"]:
        disk.update(protocol=None, source="/var/lib/nova/instances/1/disk")
    for image in facts_with(record, "ceph")["ceph"]["images"]:
        image.update(exists=False)


def in_another_pool(record: Json) -> None:
    """Have Ceph asked for each disk in a second pool as well, which does not have it."""
    images = facts_with(record, "ceph")["ceph"]["images"]
    images[:0] = [{"pool": "archive", "name": image["name"], "exists": False} for image in images]


def hanging_elsewhere(record: Json) -> None:
    """Have another host not get an answer from Ceph."""
    ceph = copy.deepcopy(facts_with(record, "ceph")["ceph"])
    ceph["origin"].update(exists=None, snapshots=None)
    ceph["images"] = [{"pool": image["pool"], "name": image["name"], "exists": None} for image in ceph["images"]]
    next(host for host in record["hosts"] if not host["facts"].get("ceph"))["facts"]["ceph"] = ceph


def test_the_chains_of_a_run_that_passed_hold() -> None:
    chains = chains_of(with_services())
    for name in ("image", "volume", "server"):
        states = {link.code: link.state for link in chains[name].links}
        assert set(states.values()) <= {LinkState.HOLDS, LinkState.NOT_APPLICABLE}, states
        assert LinkState.HOLDS in states.values()


def with_disk(requests: int, seconds: float) -> Change:
    """Have QEMU count this for the disk of the guest."""

    def change(record: Json) -> None:
        disk = {"name": "vda", "requests": requests, "seconds": seconds}
        here = next(entry for entry in record["hosts"] if entry["host"] == HERE)
        here["stores"] = {**(here.get("stores") or {}), "disks": [disk]}

    return change


@pytest.mark.parametrize(
    ("requests", "seconds", "state"),
    [(900, 8.0, LinkState.HOLDS), (2, 9.0, LinkState.NOT_APPLICABLE), (0, 0.0, LinkState.NOT_APPLICABLE)],
)
def test_a_disk_that_answers_in_time_or_was_hardly_used_is_not_slow(requests, seconds, state) -> None:
    found = {link.code: link.state for link in chains_of(with_disk(requests, seconds))["server"].links}
    assert found["server_disk_answers"] is state


def test_a_slow_disk_of_ceph_is_the_fault_of_its_own_disks() -> None:
    def with_osds(*names: str) -> Change:
        unit: Json = {"component": "ceph-osd", "unit": "ceph-osd@0.service", "state": "running"}
        unit.update(for_s=9.0, since=None, restarts=0)

        def change(record: Json) -> None:
            for entry in record["hosts"]:
                entry["facts"]["services"] = [unit] if entry["host"] in names else []

        return change

    for names, host in (([], None), (["storage1"], "storage1"), (["storage1", "controller1"], None)):
        link = chains_of(with_disk(12, 30.0), with_osds(*names))["server"].broken
        assert link is not None
        assert (link.owner, link.host, link.found) == ("ceph-osd", host, "2.5 s")
        assert link.reader == HERE


@pytest.mark.parametrize(
    ("limits", "shown"),
    [
        ({"total_iops_sec": 1}, "total_iops_sec 1"),
        ({"read_bytes_sec": 1000, "write_iops_sec": 500}, "read_bytes_sec 1000"),
        ({"total_iops_sec": 500, "total_bytes_sec": 100_000_000}, None),
        ({"total_iops_sec": 0}, None),
        ({}, None),
    ],
)
def test_a_slow_disk_has_the_limits_beside_it_that_make_it_slow(limits: dict[str, int], shown: str | None) -> None:
    def limited(record: Json) -> None:
        (disk,) = (disk for disk in domain(record)["disks"] if disk["target"] == "vda")
        disk["limits"] = [{"name": name, "most": most} for name, most in limits.items()]

    link = chains_of(with_disk(12, 30.0), limited)["server"].broken
    assert link is not None
    assert (link.found, link.expected) == ("2.5 s", shown)


BREAKS = [
    ([lambda record: origin(record).update(exists=False)], "image", "image_stored", "glance-api", None),
    ([lambda record: origin(record).update(snapshots=[])], "image", "image_snapshot", "glance-api", None),
    ([failed_at("volume"), with_services(state="down")], "volume", "volume_scheduled", SCHEDULER, "controller1"),
    ([with_services(state="down")], "volume", "volume_served", "cinder-volume", "controller1"),
    ([with_services(enabled=False)], "volume", "volume_served", "cinder-volume", "controller1"),
    ([with_services(), gone(f"volume-{VOLUME}")], "volume", "volume_stored", "cinder-volume", "controller1"),
    ([without_disk], "volume", "volume_disk", "nova-compute", HERE),
    ([unwatched(f"volume-{VOLUME}")], "volume", "volume_opened", "libvirt", HERE),
    ([failed_at("boot"), with_services(state="down")], "server", "server_service", "nova-compute", HERE),
    ([unclaimed], "server", "server_claimed", "nova-scheduler", None),
    ([without_domain], "server", "server_defined", "libvirt", HERE),
    ([lambda record: record["instance"].update(ports=[])], "server", "server_port", "neutron-server", None),
    ([gone(f"{SERVER}_disk")], "server", "server_stored", "nova-compute", HERE),
    ([unwatched(f"{SERVER}_disk")], "server", "server_opened", "libvirt", HERE),
    ([with_disk(12, 30.0), on_local_disk], "server", "server_disk_answers", "libvirt", HERE),
]  # fmt: skip


@pytest.mark.parametrize(("changes", "name", "code", "owner", "host"), BREAKS, ids=[case[2] for case in BREAKS])
def test_each_link_breaks(changes: list[Change], name: str, code: str, owner: str, host: str | None) -> None:
    link = chains_of(*changes)[name].broken
    assert link is not None
    assert (link.code, link.owner, link.host) == (code, owner, host)
    assert link.command
    assert "<" not in link.command
    assert all(text and "None" not in text and "{" not in text for text in links.broken(link))


@pytest.mark.parametrize("change", [on_local_disk, in_another_pool, hanging_elsewhere])
def test_disks_that_are_not_in_a_pool_or_not_read_by_a_host_break_nothing(change: Change) -> None:
    chains = chains_of(with_services(), change)
    assert [chains[name].broken for name in ("image", "volume", "server")] == [None, None, None]


def test_each_link_is_broken_by_a_test() -> None:
    chains = chains_of(with_services())
    codes = {link.code for name in ("image", "volume", "server") for link in chains[name].links}
    assert codes == {case[2] for case in BREAKS}


@pytest.mark.parametrize("change", [without_domain, unclaimed, without_disk, gone(f"{SERVER}_disk")])
def test_what_nova_removed_of_an_instance_that_failed_breaks_nothing(change: Change) -> None:
    chains = chains_of(with_services(), failed_at("boot"), change)
    assert chains["server"].broken is None
    assert chains["volume"].broken is None


def test_facts_of_another_version_are_as_if_nobody_had_read_them() -> None:
    def older(record: Json) -> None:
        for host in record["hosts"]:
            host["facts"] = {"services": [{"unit": "nova-compute.service"}]}

    assert chains_of(older)["server"].broken is None


def test_of_several_back_ends_one_has_to_work() -> None:
    def several(*states: str) -> Change:
        def change(record: Json) -> None:
            hosts = enumerate(states)
            record["agents"] = [service("cinder-volume", f"c{number}", state=state) for number, state in hosts]

        return change

    # Which of them the volume is on is not known.
    states = [link.state for link in chains_of(several("down", "up"))["volume"].links if link.code == "volume_served"]
    assert states == [LinkState.NOT_APPLICABLE]
    broken = chains_of(several("down", "down"))["volume"].broken
    assert broken is not None
    assert (broken.code, broken.found, broken.host) == ("volume_served", "none of 2 works", None)


def test_a_volume_that_is_attached_needs_cinder_no_more() -> None:
    assert "volume" not in chains_of(with_services(state="down"), stage="metadata")
