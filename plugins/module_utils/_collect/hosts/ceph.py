# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The state of a Ceph cluster and of an instance's images in it, asked from any host with a keyring."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Optional

from ..._model.codec import Key, from_json
from ..._model.facts import (
    Ceph,
    CephHealth,
    ExistingImage,
    Image,
    ObjectPlace,
    OriginImage,
)
from ..commands import Host, UnreadError

USERS = ["admin", "cinder", "nova", "openstack"]
# Named, as else the programs would look in the caller's folder, too, and sudo runs them as root.
CONFIGURATION = "/etc/ceph/ceph.conf"
KEYRING = re.compile(r"^ceph\.client\.(.+)\.keyring$")
ABSENT = re.compile(r"error opening (image|pool) .*No such file or directory")


def read(
    host: Host,
    images: Iterable[tuple[str, str]],
    users: Sequence[str],
    origin: tuple[str, str] | None = None,
) -> Ceph:
    """Return the cluster's health, its OSDs, and the parent, watchers and place of each image (pool, name).

    origin: the image of Glance that the root disk is made of, as (pool, name).
    """
    user = host.attempt("the keyrings of Ceph", user_of, users)
    if user is None:
        return Ceph(user=None)
    return Ceph(
        user=user,
        health=host.attempt("the health of Ceph", health_of, user),
        osds=host.attempt("the OSDs", osds_of, user),
        images=images_of(host, user, images),
        origin=origin_of(host, user, *origin) if origin else None,
    )


def images_of(
    host: Host, user: str, images: Iterable[tuple[str, str]]
) -> tuple[Image, ...]:
    described = []
    for pool, name in images:
        described.append(image_of(host, user, pool, name))
        if host.unread and host.unread[-1].kind == "hung":
            break  # the others would hang as well
    return tuple(described)


def user_of(host: Host, users: Sequence[str]) -> str | None:
    """Return the first user with a keyring on this host; None for a host without any: many clouds have no Ceph."""
    try:
        files = host.ask("ceph", "ls", "/etc/ceph").split()
    except UnreadError as exc:
        if exc.is_of_absent_file:
            return None
        raise
    keyrings = map(KEYRING.match, files)
    here = [match[1] for match in keyrings if match]
    for user in users:
        if user in here:
            return user
    if here:
        reason = f"no keyring of {', '.join(users)} lies there, but of {', '.join(here)}"
        raise UnreadError("failed", ["ls", "/etc/ceph"], reason)
    return None


@dataclass(frozen=True)
class Osd:
    """An OSD in the dump of the OSD map. One that is out holds nothing, and may be down for good."""

    number: Annotated[int, Key("osd")]
    is_up: Annotated[int, Key("up")]
    is_in: Annotated[int, Key("in")]


@dataclass(frozen=True)
class ParentInfo:
    pool: str
    image: str
    snapshot: str

    def __str__(self) -> str:
        return f"{self.pool}/{self.image}@{self.snapshot}"


@dataclass(frozen=True)
class ImageInfo:
    """The answer of rbd info."""

    id: str
    size: int
    features: tuple[str, ...]
    created: Annotated[Optional[str], Key("create_timestamp")] = None
    parent: Optional[ParentInfo] = None


# Stands for an image that does not exist
NO_IMAGE = ImageInfo(id="", size=0, features=())


def ask(host: Host, user: str, program: str, *words: str) -> Any:
    return json.loads(
        host.ask(
            "ceph",
            program,
            "--conf",
            CONFIGURATION,
            "--id",
            user,
            *words,
            "--format",
            "json",
        )
    )


def health_of(host: Host, user: str) -> CephHealth:
    health = ask(host, user, "ceph", "health")
    checks = {
        name: check["summary"]["message"]
        for name, check in health["checks"].items()
        if not check.get("muted")
    }
    return CephHealth(health["status"], checks)


def osds_of(host: Host, user: str) -> dict[str, bool]:
    """Return whether each OSD is up."""
    dump = ask(host, user, "ceph", "osd", "dump")
    osds = [from_json(Osd, osd, "the OSD") for osd in dump["osds"]]
    return {
        str(osd.number): bool(osd.is_up)
        for osd in osds
        if osd.is_up or osd.is_in
    }


def absent(info: object) -> bool | None:
    """Return that an image does not exist; None if Ceph did not say so."""
    return None if info is None else False


def image_of(host: Host, user: str, pool: str, name: str) -> Image:
    info = host.attempt(f"the image {pool}/{name}", info_of, user, pool, name)
    if info is None or info is NO_IMAGE:
        return Image(pool, name, exists=absent(info))
    return ExistingImage(
        pool,
        name,
        exists=True,
        size=info.size,
        features=info.features,
        created=info.created,
        parent=str(info.parent) if info.parent else None,
        watchers=host.attempt(
            f"the watchers of {pool}/{name}", watchers_of, user, pool, name
        ),
        snapshots=host.attempt(
            f"the snapshots of {pool}/{name}", snapshots_of, user, pool, name
        ),
        header=host.attempt(
            f"the place of {pool}/{name}",
            place_of,
            user,
            pool,
            f"rbd_header.{info.id}",
        ),
    )


def origin_of(host: Host, user: str, pool: str, name: str) -> OriginImage:
    """Return whether an image of Glance is there, and its snapshots, which disks are cloned from."""
    info = host.attempt(f"the origin {pool}/{name}", info_of, user, pool, name)
    if info is None or info is NO_IMAGE:
        return OriginImage(pool, name, exists=absent(info), snapshots=())
    snapshots = host.attempt(
        f"the origin {pool}/{name}", snapshots_of, user, pool, name
    )
    return OriginImage(pool, name, exists=True, snapshots=snapshots)


def info_of(host: Host, user: str, pool: str, name: str) -> ImageInfo:
    """Return the answer of rbd info; NO_IMAGE if the image does not exist."""
    try:
        return from_json(
            ImageInfo,
            ask(host, user, "rbd", "info", f"{pool}/{name}"),
            "the image",
        )
    except UnreadError as exc:
        # The message about a missing keyring ends in the same words.
        if exc.kind == "failed" and ABSENT.search(exc.output):
            return NO_IMAGE
        raise


def watchers_of(
    host: Host, user: str, pool: str, name: str
) -> tuple[str, ...]:
    """Return the addresses of the clients that have the image open."""
    watchers = ask(host, user, "rbd", "status", f"{pool}/{name}")["watchers"]
    listed = watchers.values() if isinstance(watchers, dict) else watchers
    return tuple(
        watcher["address"].rpartition(":")[0].strip("[]") for watcher in listed
    )


def snapshots_of(
    host: Host, user: str, pool: str, name: str
) -> tuple[str, ...]:
    return tuple(
        snapshot["name"]
        for snapshot in ask(host, user, "rbd", "snap", "ls", f"{pool}/{name}")
    )


def place_of(host: Host, user: str, pool: str, name: str) -> ObjectPlace:
    place = ask(host, user, "ceph", "osd", "map", pool, name)
    return ObjectPlace(name, place["pgid"], tuple(place["acting"]))
