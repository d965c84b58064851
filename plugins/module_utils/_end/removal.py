# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Removes all that a run has made and nothing else, and reports what is left and why."""

from __future__ import annotations

import contextlib
import time
from typing import NamedTuple

from .._cloud.connection import answer_of
from .._cloud.errors import CLOUD_ERRORS, explain
from .._cloud.session import is_unanswered, status_of
from .._cloud.transport import request_id
from .._record import ledger
from .._record.clock import now, seconds_between
from .._record.errors import DeadlinePassed, StageError
from .._record.masking import bounded
from .._record.waiting import wait_until
from . import accounts

# Seconds to look for the result of a request without an answer, if the request is not older than OLD
SETTLE = 10
OLD = 600
TRIES = 3
NOT_FOUND, UNAUTHORIZED, FORBIDDEN = 404, 401, 403
# The seconds after which a volume is deleted once more that was in use, so that the cloud has put it back
BUSY = 10
# The seconds between two questions to a service that does not answer
PAUSE = 1
# The seconds for which a refused token may be the trouble of the service that looks at it
DOUBT = 10
SOFT_DELETED = "soft_deleted"
ATTACHMENTS_SINCE = "3.27"


class Kind(NamedTuple):
    """How one kind of resource is read by its id, found by its name, and deleted."""

    level: int
    read: object
    find: object
    delete: object


class NotThereError(Exception):
    """A resource that has no URL of its own does not exist."""


def is_from_service(exc):
    """Whether a 404 is of the service itself, and not of a gateway that does not know the service."""
    headers = getattr(getattr(exc, "response", None), "headers", {})
    return bool(request_id(headers)) or "json" in headers.get("content-type", "")


def plain(service, path, key):
    """The read, find and delete of a kind that lies under one path, as most do."""

    def proxy(cloud):
        return getattr(cloud, service)

    def read(cloud, identity):
        return unpack(answer_of(proxy(cloud).get(f"{path}/{identity}")), key)

    def find(cloud, name):
        listing = answer_of(proxy(cloud).get(path, params={"name": name}))
        resources = listing[path.rpartition("/")[2].replace("-", "_")]
        return [resource for resource in resources if resource.get("name") == name]

    def delete(cloud, identity):
        answer_of(proxy(cloud).delete(f"{path}/{identity}"))

    return read, find, delete


def unpack(body, key):
    return body.get(key, body)


def find_address(cloud, name):
    addresses = answer_of(cloud.network.get("/floatingips", params={"description": name}))["floatingips"]
    return [address for address in addresses if address["description"] == name]


def read_interface(cloud, identity):
    router, subnet = identity.split("/")
    ports = answer_of(cloud.network.get("/ports", params={"device_id": router}))["ports"]
    own = [port for port in ports if port["device_id"] == router]
    if not any(address["subnet_id"] == subnet for port in own for address in port["fixed_ips"]):
        raise NotThereError(identity)
    # An interface has no mark; that of its router counts.
    return answer_of(cloud.network.get(f"/routers/{router}"))["router"]


def delete_interface(cloud, identity):
    router, subnet = identity.split("/")
    answer_of(cloud.network.put(f"/routers/{router}/remove_router_interface", json={"subnet_id": subnet}))


def delete_volume(cloud, identity):
    """Delete a volume, and first its reservation for a server that is gone.

    A server that is deleted while its build is being scheduled leaves the volume reserved: nova forgets what it has
    reserved, and a reserved volume cannot be deleted. Servers are removed before volumes, so the reservation is void.
    """
    cinder = cloud.block_storage
    answer = cinder.get("/attachments", params={"volume_id": identity}, microversion=ATTACHMENTS_SINCE)
    for attachment in answer.json()["attachments"] if answer.status_code == 200 else []:
        # A cloud that ignores the filter lists those of other volumes, too.
        if attachment["status"] == "reserved" and attachment["volume_id"] == identity:
            answer = cinder.delete(f"/attachments/{attachment['id']}", microversion=ATTACHMENTS_SINCE)
            # Somebody else may have removed it meanwhile; that says nothing of the volume.
            if answer.status_code != NOT_FOUND:
                answer_of(answer)
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


def carries(resource, mark):
    """Whether a resource's name or description is the run's mark, or one of the names that a run gives."""
    return any(is_marked(resource.get(field), mark) for field in ("name", "description"))


def is_marked(text, mark):
    """Whether a run of this mark gives such a name. The run abc gives none of those of the run abc-2."""
    names = {f"{mark}-{kind.replace('_', '-')}" for kind in KINDS}
    return isinstance(text, str) and (text == mark or text in names)


def why_foreign(entry, mark):
    """Why this run cannot have written an entry of its ledger, or None."""
    if entry["kind"] == ledger.DAMAGED_LINE:
        return f"it cannot be read: look on the cloud for names that begin with {mark}-, then remove the line"
    if entry["kind"] not in KINDS:
        return "no run makes anything of this kind, so it is not deleted"
    if not is_marked(entry["name"], mark):
        return f"it does not carry the mark {mark}, so it is not deleted"
    if entry["id"] is not None and not ledger.is_id(entry["kind"], entry["id"]):
        return "its id has a wrong form, so it is not deleted"
    return None


class Removal:
    """The removal of one resource: step() is called until it is gone, or its failure is final."""

    def __init__(self, entry, mark):
        self.entry = entry
        self.mark = mark
        self.kind = KINDS[entry["kind"]]
        self.id = entry["id"]
        self.tries = 0
        self.gone = self.final = False
        self.why = "it was not deleted yet"
        self.way = None  # the way of deletion that was taken and not refused
        self.doing = "its deletion"
        self.sought = False  # whether another one of its name was looked for
        # By the clock that nobody sets
        self.missed_since = self.denied_since = self.asked = None

    def _note_gone(self):
        """A creation whose answer was lost may have taken effect twice: then there is a second one to remove.

        What went without being deleted here may be there nevertheless: a damaged answer had a wrong id.
        """
        if self.sought or not (self.entry["lost"] or self.asked is None):
            self.gone = True
            return
        self.sought = True
        self.entry["id"] = self.id
        self.id = self.way = None
        self.tries = 0

    def step(self, cloud):
        try:
            resource = self._read(cloud)
            if resource is None:
                return
            if not carries(resource, self.mark):
                self.why = f"it does not carry the mark {self.mark} any more, so it is not deleted"
                self.final = True
                return
            state = (resource.get("status") or "").lower()
            way = delete_for_good if state == SOFT_DELETED else self.kind.delete
            failed = state.startswith("error") and self.tries < TRIES
            if way is not self.way or failed or self._was_put_back(state):
                self._delete(cloud, way, state)
            else:
                self.why = f"it is still there, {state} since its deletion" if state else self.why
        except Exception as exc:  # also for an answer that is not JSON: the others are to be removed all the same
            status = status_of(exc)
            if status == NOT_FOUND and is_from_service(exc):
                self._note_gone()
                return
            self.tries, self.way = 0, None  # refused, so try again
            self.why = explain(exc, self.doing)["message"]
            # Missing rights will not change; a resource in use, or a missing answer, may.
            self.final = status == FORBIDDEN or (status == UNAUTHORIZED and self._is_denied_for_long())

    def _is_denied_for_long(self):
        self.denied_since = self.denied_since or time.monotonic()
        return time.monotonic() - self.denied_since > DOUBT

    def _was_put_back(self, state):
        """Whether a volume is as it was before its deletion: something had it open, perhaps a host that has died."""
        return self.entry["kind"] == "volume" and state == "available" and time.monotonic() - self.asked > BUSY

    def _delete(self, cloud, way, state):
        self.tries, self.way, self.asked = self.tries + 1, way, time.monotonic()
        self.why = f"it is still there, {state}" if state else "it is still there"
        if way is delete_for_good:
            self.doing = "it is only soft-deleted until the cloud reclaims it; its deletion for good"
        way(cloud, self.id)

    def _read(self, cloud):
        """The resource as it is now, or None: then it is gone, or there is a reason to look again."""
        if self.id is None:
            resources = self.kind.find(cloud, self.entry["name"])
            if not resources:
                # A request that was under way when its run was killed may still take effect: look for a while.
                self.missed_since = self.missed_since or time.monotonic()
                answered = self.sought and not self.entry["lost"]
                old = seconds_between(self.entry["lost"] or self.entry["begun"], now()) > OLD
                self.gone = answered or old or time.monotonic() - self.missed_since > SETTLE
                self.why = "the answer to its creation never came"
                return None
            self.id = resources[0]["id"]
        try:
            return self.kind.read(cloud, self.id)
        except NotThereError:
            self._note_gone()
            return None


def lost_interface(run, entry):
    """The id of a router interface whose answer never came: that of the run's router, and that of its subnet."""
    ends = [run.ledger.find(kind, f"{run.mark}-{kind}") for kind in ("router", "subnet")]
    if not all(end and end["id"] for end in ends):
        return entry["id"]
    return "/".join(str(end["id"]) for end in ends)


def check_project(cloud, run):
    """Refuse credentials of another project or region: with them everything would look as if it were gone."""
    auth = run.stage("auth")
    of_run = auth["details"] if auth else {}
    current = {"project_id": cloud.session.get_project_id(), "region": cloud.config.get_region_name()}
    hints = {"project": "Name the cloud that the run used.", "region": "Name the region that the run used, too."}
    for key, word in (("project_id", "project"), ("region", "region")):
        if of_run.get(key) and of_run[key] != current[key]:
            message = (
                f"the run {run.id} was made in the {word} {of_run[key]}, but these credentials are for {current[key]}"
            )
            raise StageError("config", message, hint=hints[word])


def wait_for_answer(ask, deadline):
    """Ask until there is an answer, or until the deadline: a service that is away may come back."""
    while True:
        try:
            return ask()
        except CLOUD_ERRORS as exc:
            if not is_unanswered(exc) or deadline.left() < PAUSE:
                raise
            time.sleep(PAUSE)


def remove_all(cloud, run, deadline, waits, say):
    """Remove all that ledger or record name, and add the waits for it. Returns what is left, with the reasons."""
    entries = accounts.to_remove(run)
    removals, foreign = [], []
    if entries:
        wait_for_answer(lambda: check_project(cloud, run), deadline)
    for entry in reversed(entries):
        if entry["kind"] == "router_interface" and entry["id"] is None:
            entry["id"] = lost_interface(run, entry)
        why = why_foreign(entry, run.mark)
        if why:
            foreign.append(accounts.leftover(entry, why))
        else:
            removals.append(Removal(entry, run.mark))
    for level in sorted({removal.kind.level for removal in removals}):
        remove_level(cloud, run, [removal for removal in removals if removal.kind.level == level], deadline, waits, say)
    left = [
        accounts.leftover({**removal.entry, "id": removal.id}, removal.why) for removal in removals if not removal.gone
    ]
    return bounded([*foreign, *left, *ports_left(cloud, removals)])


def ports_left(cloud, removals):
    """Ports that nova has made for a server on a network of others, and that are left after the server is gone.

    No ledger has them, so they are reported and not deleted.
    """
    servers = [removal for removal in removals if removal.entry["kind"] == "server" and removal.gone]
    left = []
    for server in filter(None, (removal.entry["id"] or removal.id for removal in servers)):
        try:
            answer = cloud.network.get("/ports", params={"device_id": server})
            ports = answer.json().get("ports", []) if answer.status_code == 200 else []
        except Exception as exc:  # all else is removed, and that must be told
            why = explain(exc, f"it is not known whether ports of the server {server} are left")["message"]
            left.append({"kind": "port", "id": None, "name": server, "why": why})
            continue
        why = f"it belongs to the server {server}, which is gone"
        left += [
            {"kind": "port", "id": port["id"], "name": port.get("name") or port["id"], "why": why}
            for port in ports
            if port["device_id"] == server
        ]
    return left


def remove_level(cloud, run, removals, deadline, waits, say):
    """Remove resources that do not depend on each other, and wait for all of them at once."""

    def look():
        for removal in pending(removals):
            removal.step(cloud)
            if removal.gone:
                # A full disk must not stop the removal. The next removal finds out again that this one is gone.
                with contextlib.suppress(OSError):
                    entry, identity = removal.entry, removal.id or removal.entry["id"]
                    run.ledger.write(ledger.GONE, entry["kind"], entry["name"], id=identity, **accounts.origin(entry))
        left = pending(removals)
        if left:
            say(f"removing {kinds_of(left)}")
        return not left, f"{kinds_of(left)} left" if left else "all gone", None

    try:
        wait_until(f"{kinds_of(removals)} to be gone", look, deadline, waits, lambda _text: None)
    except DeadlinePassed:
        look()  # once more, so that the reasons are true at the end


def pending(removals):
    return [removal for removal in removals if not removal.gone and not removal.final]


def kinds_of(removals):
    return ", ".join(removal.entry["kind"].replace("_", " ") for removal in removals)


def settle_account(run, left):
    """Record how many resources were made and deleted, and which are left."""
    entries = run.ledger.entries.values()
    # A resource that was found only now, by its name, was made as well.
    found_names = {leftover["name"] for leftover in left if leftover["id"]}
    run.record["made"] = sum(entry["id"] is not None or entry["name"] in found_names for entry in entries)
    run.record["deleted"] = sum(entry["id"] is not None and entry["event"] == ledger.GONE for entry in entries)
    run.record["leftovers"] = left
