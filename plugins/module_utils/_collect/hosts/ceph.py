# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The state of a Ceph cluster and of an instance's images in it, asked from any host with a keyring."""

from __future__ import annotations

import json
import re

from ..commands import UnreadError

USERS = ["admin", "cinder", "nova", "openstack"]
# Named, as else the programs would look in the caller's folder, too, and sudo runs them as root.
CONFIGURATION = "/etc/ceph/ceph.conf"
KEYRING = re.compile(r"^ceph\.client\.(.+)\.keyring$")
ABSENT = re.compile(r"error opening (image|pool) .*No such file or directory")


def read(host, images, users, origin=None):
    """The cluster's health, its OSDs, and the parent, watchers and place of each image (pool, name).

    origin: the image of Glance that the root disk is made of, as (pool, name).
    """
    user = host.attempt("the keyrings of Ceph", user_of, users)
    if user is None:
        return {"user": None, "health": None, "osds": None, "images": None, "origin": None}
    return {
        "user": user,
        "health": host.attempt("the health of Ceph", health_of, user),
        "osds": host.attempt("the OSDs", osds_of, user),
        "images": images_of(host, user, images),
        "origin": origin and origin_of(host, user, *origin),
    }


def images_of(host, user, images):
    described = []
    for pool, name in images:
        described.append(image_of(host, user, pool, name))
        if host.unread and host.unread[-1]["kind"] == "hung":
            break  # the others would hang as well
    return described


def user_of(host, users):
    """The first of the users whose keyring is on this host; None for a host without any: many clouds have no Ceph."""
    try:
        files = host.ask("ceph", "ls", "/etc/ceph").split()
    except UnreadError as exc:
        if exc.kind == "failed" and "No such file or directory" in exc.output:
            return None
        raise
    here = [match.group(1) for match in map(KEYRING.match, files) if match]
    chosen = next((user for user in users if user in here), None)
    if here and chosen is None:
        reason = f"no keyring of {', '.join(users)} lies there, but of {', '.join(here)}"
        raise UnreadError("failed", ["ls", "/etc/ceph"], reason)
    return chosen


def ask(host, user, program, *words):
    return json.loads(host.ask("ceph", program, "--conf", CONFIGURATION, "--id", user, *words, "--format", "json"))


def health_of(host, user):
    health = ask(host, user, "ceph", "health")
    checks = {name: check["summary"]["message"] for name, check in health["checks"].items() if not check.get("muted")}
    return {"status": health["status"], "checks": checks}


def osds_of(host, user):
    """The number of each OSD, and whether it is up. One that is out holds nothing, and may be down for good."""
    dump = ask(host, user, "ceph", "osd", "dump")
    return {str(osd["osd"]): bool(osd["up"]) for osd in dump["osds"] if osd["up"] or osd["in"]}


def image_of(host, user, pool, name):
    image = {"pool": pool, "name": name, "exists": None}
    info = host.attempt(f"the image {pool}/{name}", info_of, user, pool, name)
    if info is None:
        return image
    if not info:
        return {**image, "exists": False}
    parent = info.get("parent")
    header = f"rbd_header.{info['id']}"
    return {
        **image,
        "exists": True,
        "size": info["size"],
        "features": info["features"],
        "created": info.get("create_timestamp"),
        "parent": parent and f"{parent['pool']}/{parent['image']}@{parent['snapshot']}",
        "watchers": host.attempt(f"the watchers of {pool}/{name}", watchers_of, user, pool, name),
        "snapshots": host.attempt(f"the snapshots of {pool}/{name}", snapshots_of, user, pool, name),
        "header": host.attempt(f"the place of {pool}/{name}", place_of, user, pool, header),
    }


def origin_of(host, user, pool, name):
    """Whether an image of Glance is there, and its snapshots, of which disks are made."""
    info = host.attempt(f"the origin {pool}/{name}", info_of, user, pool, name)
    snapshots = host.attempt(f"the origin {pool}/{name}", snapshots_of, user, pool, name) if info else []
    return {"pool": pool, "name": name, "exists": None if info is None else bool(info), "snapshots": snapshots}


def info_of(host, user, pool, name):
    """The answer of rbd info; an empty dictionary if the image does not exist."""
    try:
        return ask(host, user, "rbd", "info", f"{pool}/{name}")
    except UnreadError as exc:
        # The message about a missing keyring ends in the same words.
        if exc.kind == "failed" and ABSENT.search(exc.output):
            return {}
        raise


def watchers_of(host, user, pool, name):
    """The addresses of the clients that have the image open."""
    watchers = ask(host, user, "rbd", "status", f"{pool}/{name}")["watchers"]
    watchers = watchers.values() if isinstance(watchers, dict) else watchers
    return [watcher["address"].rpartition(":")[0].strip("[]") for watcher in watchers]


def snapshots_of(host, user, pool, name):
    return [snapshot["name"] for snapshot in ask(host, user, "rbd", "snap", "ls", f"{pool}/{name}")]


def place_of(host, user, pool, name):
    place = ask(host, user, "ceph", "osd", "map", pool, name)
    return {"object": name, "pg": place["pgid"], "acting": place["acting"]}
