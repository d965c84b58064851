# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What a Ceph cluster says of the images of an instance, asked from any host with a keyring."""

from __future__ import annotations

import json
import re

from .host import UnreadError

USERS = ["admin", "cinder", "nova", "openstack"]
KEYRING = re.compile(r"^ceph\.client\.(.+)\.keyring$")
ABSENT = re.compile(r"error opening (image|pool) .*No such file or directory")


def read(host, images, users):
    """The cluster's health, its OSDs, and of each image (pool, name) what it stands on and who uses it."""
    user = host.attempt("the keyrings of Ceph", user_of, users)
    if user is None:
        return {"user": None, "health": None, "osds": None, "images": None}
    return {
        "user": user,
        "health": host.attempt("the health of Ceph", health_of, user),
        "osds": host.attempt("the OSDs", osds_of, user),
        "images": images_of(host, user, images),
    }


def images_of(host, user, images):
    found = []
    for pool, name in images:
        found.append(image_of(host, user, pool, name))
        if host.unread and host.unread[-1]["kind"] == "hung":
            break  # the others would hang as well
    return found


def user_of(host, users):
    """The first of the users whose keyring lies here."""
    files = host.ask("ceph", "ls", "/etc/ceph").split()
    here = [match.group(1) for match in map(KEYRING.match, files) if match]
    chosen = next((user for user in users if user in here), None)
    if chosen is None:
        said = f"no keyring of {', '.join(users)} lies there, but of {', '.join(here) or 'nobody'}"
        raise UnreadError("failed", ["ls", "/etc/ceph"], said)
    return chosen


def ask(host, user, program, *words):
    return json.loads(host.ask("ceph", program, "--id", user, *words, "--format", "json"))


def health_of(host, user):
    said = ask(host, user, "ceph", "health")
    checks = {name: one["summary"]["message"] for name, one in said["checks"].items() if not one.get("muted")}
    return {"status": said["status"], "checks": checks}


def osds_of(host, user):
    """Number of each OSD, and whether it is up."""
    said = ask(host, user, "ceph", "osd", "dump")
    return {str(one["osd"]): bool(one["up"]) for one in said["osds"]}


def image_of(host, user, pool, name):
    found = {"pool": pool, "name": name, "exists": None}
    info = host.attempt(f"the image {pool}/{name}", info_of, user, pool, name)
    if not info:
        return {**found, "exists": None if info is None else False}
    parent = info.get("parent")
    header = f"rbd_header.{info['id']}"
    return {
        **found,
        "exists": True,
        "size": info["size"],
        "features": info["features"],
        "created": info.get("create_timestamp"),
        "parent": parent and f"{parent['pool']}/{parent['image']}@{parent['snapshot']}",
        "watchers": host.attempt(f"the watchers of {pool}/{name}", watchers_of, user, pool, name),
        "snapshots": host.attempt(f"the snapshots of {pool}/{name}", snapshots_of, user, pool, name),
        "header": host.attempt(f"the place of {pool}/{name}", place_of, user, pool, header),
    }


def info_of(host, user, pool, name):
    """What rbd info says; nothing, but not None, where there is no such image."""
    try:
        return ask(host, user, "rbd", "info", f"{pool}/{name}")
    except UnreadError as exc:
        # A keyring that is missing is no such file either.
        if exc.kind == "failed" and ABSENT.search(exc.said):
            return {}
        raise


def watchers_of(host, user, pool, name):
    """The addresses of those who have the image open."""
    said = ask(host, user, "rbd", "status", f"{pool}/{name}")["watchers"]
    said = said.values() if isinstance(said, dict) else said
    return [one["address"].rpartition(":")[0].strip("[]") for one in said]


def snapshots_of(host, user, pool, name):
    return [one["name"] for one in ask(host, user, "rbd", "snap", "ls", f"{pool}/{name}")]


def place_of(host, user, pool, name):
    said = ask(host, user, "ceph", "osd", "map", pool, name)
    return {"object": name, "pg": said["pgid"], "acting": said["acting"]}
