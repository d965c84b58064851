# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The instance's images in Ceph."""

from __future__ import annotations

from operator import itemgetter

import pytest

pytestmark = pytest.mark.part("ceph")


@pytest.fixture
def disks(readings):
    """The disks of the instance's domain, wherever that was read."""
    domains = [reading.facts["domain"] for reading in readings if reading.facts.get("domain")]
    return [disk for domain in domains for disk in domain["disks"]]


@pytest.fixture
def sources(disks, not_applicable):
    """The disks that are images in Ceph, as pool/image."""
    if not disks:
        not_applicable("no host was read that has the instance's domain, so it is not known which disks are in Ceph")
    in_ceph = [disk["source"] for disk in disks if disk["protocol"] == "rbd"]
    if not in_ceph:
        not_applicable(f"the instance's disks are {', '.join(str(disk['source']) for disk in disks)}")
    return in_ceph


@pytest.fixture
def ceph(here, readings, request):
    """The facts of the first host that can ask the instance's Ceph: the other hosts of that cluster have the same."""
    able = [reading for reading in readings if "ceph" in reading.parts and reading.facts.get("ceph", {}).get("user")]
    able.sort(key=lambda reading: not any(image["exists"] for image in reading.facts["ceph"]["images"] or []))
    if able and here is not able[0]:
        pytest.skip("elsewhere")
    facts = here.fact("ceph", "the keyrings")
    if facts["user"] is None:
        request.getfixturevalue("sources")  # a cloud without Ceph ends here
        here.stop("no keyring lies in /etc/ceph, but the instance has disks in Ceph")
    return facts


@pytest.fixture
def images(sources, ceph, here):
    """The images in Ceph that are disks of the instance. A disk beside them may be local."""
    here.fact("ceph", "the image")
    by_source = {f"{image['pool']}/{image['name']}": image for image in ceph["images"]}
    for source in sources:
        if source not in by_source:
            here.stop(f"the disk {source} is in none of the pools of the platform's profile")
        assert by_source[source]["exists"], f"Ceph has no image {source}"
    return [by_source[source] for source in sources]


@pytest.fixture
def operations(record):
    """The names of what was done with the server after its boot."""
    stages = record.get("stages") or ()
    return [leg["operation"] for stage in stages for leg in stage["details"].get("legs") or ()]


def test_parent(images, instance, operations, not_applicable):
    """The root disk is a clone of the Glance image's snapshot, where Glance shows where its image lies."""
    url = (instance["image"] or {}).get("direct_url") or ""
    if not instance["image"]:
        not_applicable("the instance boots from a volume")
    if not url.startswith("rbd://"):
        not_applicable("Glance shows no place of the image in Ceph, so it was copied")
    if instance["image"].get("disk_format") not in (None, "raw"):
        not_applicable(f"the image is {instance['image']['disk_format']}, so Nova has converted it to one of its own")
    if "shelve" in operations:
        not_applicable("the server was shelved, so its disk was made again, from another image")
    _fsid, pool, parent, snapshot = url.removeprefix("rbd://").split("/")
    root = next((image for image in images if image["name"].endswith("_disk")), None)
    if root is None:
        not_applicable("the root disk is not in Ceph")
    expected = f"{pool}/{parent}@{snapshot}"
    assert root["parent"] == expected, f"{root['pool']}/{root['name']} stands on {root['parent']}, not on {expected}"


def test_origin(ceph, here, instance, not_applicable):
    """The Glance image is an image in Ceph and has the snapshot that Glance names, where Glance shows it."""
    origin = ceph.get("origin")
    if not origin:
        not_applicable("Glance shows no place of the image in Ceph")
    here.fact("ceph", "the origin")
    name, snapshot = f"{origin['pool']}/{origin['name']}", instance["image"]["direct_url"].rpartition("/")[2]
    assert origin["exists"], f"Ceph has no image {name}, of which Glance says that it is there"
    assert snapshot in origin["snapshots"], f"{name} has no snapshot {snapshot}, of which Glance says that it has it"


def test_watchers(images, here, homes):
    """Each image is open once, on the compute host."""
    here.fact("ceph", "the watchers")
    addresses = {address for home in homes for address in [home.address, *home.facts.get("addresses", [])]}
    for image in images:
        name, watchers = f"{image['pool']}/{image['name']}", image["watchers"]
        assert len(watchers) == 1, (
            f"{name} is open {len(watchers)} times ({', '.join(watchers) or 'by nobody'}), not once"
        )
        if addresses:
            assert watchers[0] in addresses, f"{name} is open on {watchers[0]}, not on {homes[0].name}"


@pytest.mark.shown_by("ceph osd tree")
def test_osds(ceph, here):
    """The OSDs that hold the headers of its images are up."""
    here.fact("ceph", "the OSDs", "the place")
    down = [osd for osd, is_up in ceph["osds"].items() if not is_up]
    hung = [entry.what for entry in here.unread if entry.kind == "hung"]
    assert not (down and hung), f"Ceph does not answer about {hung[0]}, and the OSDs {', '.join(down)} are down"
    for image in filter(itemgetter("exists"), ceph["images"]):
        header = image["header"]
        wrong = [osd for osd in header["acting"] if str(osd) in down]
        assert header["acting"], f"the placement group {header['pg']} of {image['name']} has no OSD"
        assert not wrong, f"{image['name']} lies on the OSDs {', '.join(map(str, wrong))}, which are down"


@pytest.mark.usefixtures("ceph")
@pytest.mark.shown_by("ceph health detail")
def test_health(here, record, not_applicable):
    """The cluster is no worse than before the run."""
    order = ["HEALTH_OK", "HEALTH_WARN", "HEALTH_ERR"]
    before = next((host.get("health_before") for host in record["hosts"] if host["host"] == here.name), None)
    now = here.fact("ceph", "the health")["health"]
    if before is None:
        not_applicable("nobody asked before the run how Ceph was")
    new = {name: message for name, message in now["checks"].items() if name not in before["checks"]}
    worse = order.index(now["status"]) > order.index(before["status"])
    reported = "; ".join(new.values()) or "for reasons that it had before"
    change = f"Ceph was {before['status']} before the run and is {now['status']} now: {reported}"
    assert not worse, change
    assert not new, change
