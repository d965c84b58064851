# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Removes what a run has made: all of it, nothing else, and says what stays and why."""

from __future__ import annotations

import contextlib
import re
import time
from typing import NamedTuple

from .._cloud.connection import answer_of
from .._cloud.errors import explain
from .._cloud.session import request_id, status_of
from .._record import ledger
from .._record.clock import now, seconds_between
from .._record.errors import StageError
from .._record.waiting import PERIOD, pause_after

# How long to look for what a request may have made whose answer never came, and when that is too long ago to look
SETTLE, OLD = 10, 600
TRIES = 3
SOFT_DELETED = "soft_deleted"
ATTACHMENTS_SINCE = "3.27"


class Kind(NamedTuple):
    """How one kind of resource is read by its id, found by its name, and deleted. Read and find return a dictionary."""

    level: int
    read: object
    find: object
    delete: object


class NotThereError(Exception):
    """What has no address of its own is not there."""


def is_from_service(exc):
    """Whether a service itself says that it does not know a thing, and not a gateway that does not know the service."""
    headers = getattr(getattr(exc, "response", None), "headers", {})
    return bool(request_id(headers)) or "json" in headers.get("content-type", "")


def plain(service, path, word):
    """A kind that lies under one path, as most do."""

    def proxy(cloud):
        return getattr(cloud, service)

    def read(cloud, identity):
        return unpack(answer_of(proxy(cloud).get(f"{path}/{identity}")), word)

    def find(cloud, name):
        listed = answer_of(proxy(cloud).get(path, params={"name": name}))
        return [one for one in listed[path.rpartition("/")[2].replace("-", "_")] if one.get("name") == name]

    def delete(cloud, identity):
        answer_of(proxy(cloud).delete(f"{path}/{identity}"))

    return read, find, delete


def unpack(body, word):
    return body.get(word, body)


def find_address(cloud, name):
    found = answer_of(cloud.network.get("/floatingips", params={"description": name}))["floatingips"]
    return [address for address in found if address["description"] == name]


def read_interface(cloud, identity):
    router, subnet = identity.split("/")
    ports = answer_of(cloud.network.get("/ports", params={"device_id": router}))["ports"]
    own = [port for port in ports if port["device_id"] == router]
    if not any(address["subnet_id"] == subnet for port in own for address in port["fixed_ips"]):
        raise NotThereError(identity)
    # It lies in the router, whose mark counts.
    return answer_of(cloud.network.get(f"/routers/{router}"))["router"]


def delete_interface(cloud, identity):
    router, subnet = identity.split("/")
    answer_of(cloud.network.put(f"/routers/{router}/remove_router_interface", json={"subnet_id": subnet}))


def delete_volume(cloud, identity):
    """Delete a volume, and before it what ties it to a server that is gone.

    A server that is deleted while its build is being scheduled leaves the volume reserved: nova forgets what it has
    reserved, and a reserved volume cannot be deleted. Servers are removed before volumes, so no living one is meant.
    """
    cinder = cloud.block_storage
    answer = cinder.get("/attachments", params={"volume_id": identity}, microversion=ATTACHMENTS_SINCE)
    for attachment in answer.json()["attachments"] if answer.status_code == 200 else []:
        # A cloud that ignores the filter lists those of other volumes, too.
        if attachment["status"] == "reserved" and attachment["volume_id"] == identity:
            answer_of(cinder.delete(f"/attachments/{attachment['id']}", microversion=ATTACHMENTS_SINCE))
    answer_of(cinder.delete(f"/volumes/{identity}"))


def delete_for_good(cloud, identity):
    """Delete a server that the cloud would keep for a while after its deletion (nova's reclaim_instance_interval)."""
    answer_of(cloud.compute.post(f"/servers/{identity}/action", json={"forceDelete": None}))


ADDRESS = plain("network", "/floatingips", "floatingip")
VOLUME = plain("block_storage", "/volumes", "volume")
KINDS = {
    "server": Kind(0, *plain("compute", "/servers", "server")),
    "floating_ip": Kind(0, ADDRESS[0], find_address, ADDRESS[2]),
    "port": Kind(1, *plain("network", "/ports", "port")),
    "router_interface": Kind(1, read_interface, lambda _cloud, _name: [], delete_interface),
    "image": Kind(2, *plain("image", "/images", "image")),
    "volume": Kind(2, VOLUME[0], VOLUME[1], delete_volume),
    "router": Kind(2, *plain("network", "/routers", "router")),
    "subnet": Kind(2, *plain("network", "/subnets", "subnet")),
    "network": Kind(2, *plain("network", "/networks", "network")),
    "security_group": Kind(2, *plain("network", "/security-groups", "security_group")),
}


# What the services give out; anything else would lead to another address of theirs.
ID = r"[0-9A-Za-z_-]{1,64}"


def carries(resource, mark):
    """Whether a resource's name or description begins with the run's mark: of run-1, and not of run-12."""
    return any(is_marked(resource.get(field), mark) for field in ("name", "description"))


def is_marked(text, mark):
    return isinstance(text, str) and (text == mark or text.startswith(f"{mark}-"))


def foreign(entry, mark):
    """Why a line of a ledger is none that this run can have written, or None."""
    if entry["kind"] == ledger.DAMAGED_LINE:
        return f"it cannot be read: look on the cloud for what is called {mark}-..., then remove the line"
    if entry["kind"] not in KINDS:
        return "no run makes anything of this kind, so it is not deleted"
    if not is_marked(entry["name"], mark):
        return f"it does not carry the mark {mark}, so it is not deleted"
    form = f"{ID}/{ID}" if entry["kind"] == "router_interface" else ID
    if entry["id"] is not None and not (isinstance(entry["id"], str) and re.fullmatch(form, entry["id"])):
        return "its id has the form of none, so it is not deleted"
    return None


class Removal:
    """The removal of one resource: called again and again until it is gone or beyond help."""

    def __init__(self, entry, mark):
        self.entry, self.mark = entry, mark
        self.kind, self.id = KINDS[entry["kind"]], entry["id"]
        self.tries, self.gone, self.why, self.final = 0, False, "it was not deleted yet", False
        self.way, self.doing = None, "its deletion"  # the way of deletion that was taken and not refused
        self.twin, self.missed = bool(entry["lost"]), None

    def _went(self):
        """It is gone. But a creation whose answer was lost may have taken effect twice: then there is a second one."""
        if not self.twin:
            self.gone = True
            return
        self.entry["id"], self.id, self.tries, self.way, self.twin = self.id, None, 0, None, False

    def step(self, cloud):
        try:
            resource = self._read(cloud)
            if resource is None:
                return
            if not carries(resource, self.mark):
                self.why, self.final = f"it does not carry the mark {self.mark} any more, so it is not deleted", True
                return
            state = (resource.get("status") or "").lower()
            way = delete_for_good if state == SOFT_DELETED else self.kind.delete
            if way is not self.way or (state.startswith("error") and self.tries < TRIES):
                self._delete(cloud, way, state)
            else:
                self.why = f"it is still there, {state} since its deletion" if state else self.why
        except Exception as exc:  # also an answer that is no JSON: it must not keep the rest from being removed
            status = status_of(exc)
            if status == 404 and is_from_service(exc):
                self._went()
                return
            self.tries, self.way = 0, None  # refused, so there is reason to try again
            self.why = explain(exc, self.doing)["message"]
            # Not allowed is not going to change; in use, or not answered, is.
            self.final = status in (401, 403)

    def _delete(self, cloud, way, state):
        self.tries, self.way = self.tries + 1, way
        self.why = f"it is still there, {state}" if state else "it is still there"
        if way is delete_for_good:
            self.doing = "it is only soft-deleted until the cloud reclaims it; its deletion for good"
        way(cloud, self.id)

    def _read(self, cloud):
        """The resource as it is now. Sets gone, or leaves a reason to look again."""
        if self.id is None:
            found = self.kind.find(cloud, self.entry["name"])
            if not found:
                # A request that was under way when its run was killed may still take effect: look for a while.
                self.missed = self.missed or now()
                old = seconds_between(self.entry["lost"] or self.entry["begun"], now()) > OLD
                self.gone = old or seconds_between(self.missed, now()) > SETTLE
                self.why = "the answer to its creation never came"
                return None
            self.id = found[0]["id"]
        try:
            return self.kind.read(cloud, self.id)
        except NotThereError:
            self._went()
            return None


def lost_interface(run, entry):
    """A router interface whose answer never came is known by the router and the subnet of the run."""
    ids = [run.ledger.find(kind, f"{run.mark}-{kind}") for kind in ("router", "subnet")]
    return "/".join(str(one["id"]) for one in ids) if all(one and one["id"] for one in ids) else entry["id"]


def check_project(cloud, run):
    """With the credentials of another project, or in another region, everything would look as if it were gone."""
    auth = run.stage("auth")
    theirs = auth["details"] if auth else {}
    ours = {"project_id": cloud.session.get_project_id(), "region": cloud.config.get_region_name()}
    for what, word in (("project_id", "project"), ("region", "region")):
        if theirs.get(what) and theirs[what] != ours[what]:
            message = f"the run {run.id} was made in the {word} {theirs[what]}, these credentials are for {ours[what]}"
            raise StageError("config", message, hint="Name the cloud that the run used.")


def remove_all(cloud, run, deadline, say):
    """Remove all that the ledger names. Returns what could not be removed, with the reasons."""
    there = [entry for entry in run.ledger.entries.values() if entry["event"] in ledger.OPEN]
    removals, strange = [], []
    if there:
        check_project(cloud, run)
    for entry in reversed(there):
        if entry["kind"] == "router_interface" and entry["id"] is None:
            entry["id"] = lost_interface(run, entry)
        why = foreign(entry, run.mark)
        if why:
            line = {"kind": str(entry["kind"]), "name": str(entry["name"]), "why": why}
            strange.append({**line, "id": None if entry["id"] is None else str(entry["id"])})
            continue
        removals.append(Removal(entry, run.mark))
    for level in sorted({removal.kind.level for removal in removals}):
        remove_level(cloud, run, [one for one in removals if one.kind.level == level], deadline, say)
    left = [
        {"kind": one.entry["kind"], "id": one.id, "name": one.entry["name"], "why": one.why}
        for one in removals
        if not one.gone
    ]
    return strange + left + ports_left(cloud, removals)


def ports_left(cloud, removals):
    """Ports that nova has made for a server, on a network that is not the run's, and that stayed when the server went.

    Nobody's ledger has them, so they are not deleted, but said.
    """
    servers = [one.entry["id"] or one.id for one in removals if one.entry["kind"] == "server" and one.gone]
    left = []
    for server in filter(None, servers):
        answer = cloud.network.get("/ports", params={"device_id": server})
        ports = answer.json().get("ports", []) if answer.status_code == 200 else []
        why = f"it belongs to the server {server}, which is gone"
        left += [
            {"kind": "port", "id": port["id"], "name": port.get("name") or port["id"], "why": why}
            for port in ports
            if port["device_id"] == server
        ]
    return left


def remove_level(cloud, run, removals, deadline, say):
    """Remove resources that do not stand in each other's way, waiting for all of them at once."""
    begun, over = time.monotonic(), False
    waiting = removals
    while waiting:
        asked = time.monotonic()
        for removal in waiting:
            removal.step(cloud)
            if removal.gone:
                # A full disk must not stop the removal: the next one finds out again what is gone.
                with contextlib.suppress(OSError):
                    run.ledger.write(
                        ledger.GONE, removal.entry["kind"], removal.entry["name"], id=removal.id or removal.entry["id"]
                    )
        waiting = [one for one in waiting if not one.gone and not one.final]
        if waiting:
            say("removing " + ", ".join(one.entry["kind"].replace("_", " ") for one in waiting))
        if over:
            return
        over = deadline.left() <= 0  # one last look, so that what is said of the rest was seen
        took = time.monotonic() - asked
        if waiting:
            time.sleep(min(pause_after(took / len(waiting), time.monotonic() - begun, PERIOD), max(0, deadline.left())))


def settle_account(run, left):
    """Put what was made, deleted and left into the record."""
    entries = run.ledger.entries.values()
    # What was found only now, by its name, was made as well.
    found = {one["name"] for one in left if one["id"]}
    run.record["made"] = sum(entry["id"] is not None or entry["name"] in found for entry in entries)
    run.record["deleted"] = sum(entry["id"] is not None and entry["event"] == ledger.GONE for entry in entries)
    run.record["leftovers"] = left
