# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Remove all that a run has made and nothing else, and report what is left and why."""

from __future__ import annotations

import contextlib
import re
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import Any, NamedTuple, TypeVar

from .._cloud.connection import Params, answer_of
from .._cloud.errors import CLOUD_ERRORS, failure_of
from .._cloud.servers import GROUPS, GROUPS_SINCE, groups_of
from .._cloud.session import OutOfTimeError, is_unanswered, status_of
from .._cloud.transport import request_id
from .._model import codec
from .._model.details import Origin
from .._model.stage import Leftover, Wait
from .._model.words import StageName
from .._record import ledger
from .._record.clock import now, seconds_between
from .._record.errors import DeadlinePassed, StageError
from .._record.ledger import Entry
from .._record.masking import bounded_copy
from .._record.run import Run
from .._record.waiting import Deadline, Look, usual_pace, wait_until
from . import accounts

# Seconds to look for the result of a request without an answer, if the request is not older than OLD
SETTLE = 10
OLD = 600
TRIES = 3
OK, UNAUTHORIZED, FORBIDDEN, NOT_FOUND = 200, 401, 403, 404
# The kind of the error of a stage whose user has no right to what it asked for
NO_RIGHT = "forbidden"
NEUTRON = "network"
# The seconds after which a volume is deleted once more that was in use, so that the cloud has put it back
BUSY = 10
# The seconds between two questions to a service that does not answer
PAUSE = 1
# The seconds for which a refused token may be the trouble of the service that looks at it
DOUBT = 10
# A server needs some seconds to go: in the first of them it is looked at half as often as anything else. If it takes
# long, the pause is this part of the wait, and never so long that a second is lost at its end.
FIRST_SECONDS, RARER = 3, 2
PART_OF_WAIT, LONGEST_PERIOD = 0.05, 0.8
SOFT_DELETED = "soft_deleted"
# Why a resource that is not found may be there all the same
UNANSWERED = "the answer to its creation never came"
MAY_STILL_COME = (
    f"{UNANSWERED}, and the service may still come to the request. "
    f"Clean up once more after {OLD // 60} minutes"
)
MAY_BE_HIDDEN = (
    "it is not found, but the cloud has forbidden this run something: your role may not see it any more. "
    "Clean up with the role as it was"
)
ATTACHMENTS_SINCE = "3.27"

T = TypeVar("T")
# A resource as a service shows it
JsonObject = dict[str, Any]
# Take a connection, and the id or the name of a resource.
Read = Callable[[Any, str], JsonObject]
Find = Callable[[Any, str], list[JsonObject]]
Delete = Callable[[Any, str], None]
Say = Callable[[str], None]


class Kind(NamedTuple):
    """How one kind of resource is read by its id, found by its name, and deleted.

    after: the kinds that are to be gone before it. is_prompt: whether its service has carried out a deletion by the
    time of its answer. is_hidden: whether its service answers 404, and not 403, about what a role may not see.
    """

    read: Read
    find: Find
    delete: Delete
    after: tuple[str, ...] = ()
    is_prompt: bool = True
    is_hidden: bool = False


class NotThereError(Exception):
    """A resource that has no URL of its own does not exist."""


def is_from_service(exc: BaseException) -> bool:
    """Return whether a 404 is of the service itself, and not of a gateway that does not know the service."""
    headers = getattr(getattr(exc, "response", None), "headers", {})
    return bool(request_id(headers)) or "json" in headers.get(
        "content-type", ""
    )


def plain(service: str, path: str, key: str, since: str | None = None) -> Kind:
    """Return a kind whose resources lie under one path, as most do. since: the version of its API that knows them."""

    def proxy(cloud: Any) -> Any:
        return getattr(cloud, service)

    def read(cloud: Any, identity: str) -> JsonObject:
        answer = proxy(cloud).get(f"{path}/{identity}", microversion=since)
        body: JsonObject = answer_of(answer)
        resource: JsonObject = body.get(key, body)
        return resource

    def find(cloud: Any, name: str) -> list[JsonObject]:
        asked = {"params": {"name": name}, "microversion": since}
        listing = answer_of(proxy(cloud).get(path, **asked))
        resources = listing[path.rpartition("/")[2].replace("-", "_")]
        return [
            resource for resource in resources if resource.get("name") == name
        ]

    def delete(cloud: Any, identity: str) -> None:
        path_of_it = f"{path}/{identity}"
        answer_of(proxy(cloud).delete(path_of_it, microversion=since))

    return Kind(read, find, delete, is_hidden=service == NEUTRON)


def find_address(cloud: Any, name: str) -> list[JsonObject]:
    addresses = answer_of(
        cloud.network.get("/floatingips", params={"description": name})
    )["floatingips"]
    return [address for address in addresses if address["description"] == name]


def find_server_group(cloud: Any, name: str) -> list[JsonObject]:
    groups = groups_of(cloud.compute)
    return [group for group in groups if group["name"] == name]


def find_key_pair(cloud: Any, name: str) -> list[JsonObject]:
    pairs = answer_of(cloud.compute.get("/os-keypairs"))["keypairs"]
    names = [pair["keypair"]["name"] for pair in pairs]
    return [{"id": known, "name": known} for known in names if known == name]


def read_interface(cloud: Any, identity: str) -> JsonObject:
    router, subnet = identity.split("/")
    ports = answer_of(
        cloud.network.get("/ports", params={"device_id": router})
    )["ports"]
    own = [port for port in ports if port["device_id"] == router]
    addresses = chain.from_iterable(port["fixed_ips"] for port in own)
    if subnet not in {address["subnet_id"] for address in addresses}:
        raise NotThereError(identity)
    # An interface has no mark; that of its router counts.
    resource: JsonObject = answer_of(cloud.network.get(f"/routers/{router}"))[
        "router"
    ]
    return resource


def find_interface(_cloud: Any, _name: str) -> list[JsonObject]:
    """Return none: an interface has no name. Its id is that of its router and that of its subnet."""
    return []


def delete_interface(cloud: Any, identity: str) -> None:
    router, subnet = identity.split("/")
    answer_of(
        cloud.network.put(
            f"/routers/{router}/remove_router_interface",
            json={"subnet_id": subnet},
        )
    )


def delete_volume(cloud: Any, identity: str) -> None:
    """Delete a volume, and first its reservation for a server that is gone.

    A server that is deleted while its build is being scheduled leaves the volume reserved: nova forgets what it has
    reserved, and a reserved volume cannot be deleted. Servers are removed before volumes, so the reservation is void.
    """
    cinder = cloud.block_storage
    for attachment in reservations_of(cinder, identity):
        answer = cinder.delete(
            f"/attachments/{attachment['id']}", microversion=ATTACHMENTS_SINCE
        )
        # Somebody else may have removed it meanwhile; that says nothing of the volume.
        if answer.status_code != NOT_FOUND:
            answer_of(answer)
    answer_of(cinder.delete(f"/volumes/{identity}"))


def reservations_of(cinder: Any, volume: str) -> list[JsonObject]:
    answer = cinder.get(
        "/attachments",
        params={"volume_id": volume},
        microversion=ATTACHMENTS_SINCE,
    )
    attachments = (
        answer.json()["attachments"] if answer.status_code == OK else []
    )
    # A cloud that ignores the filter lists those of other volumes, too.
    own = [
        attachment
        for attachment in attachments
        if attachment["volume_id"] == volume
    ]
    return [
        attachment for attachment in own if attachment["status"] == "reserved"
    ]


def list_servers(cloud: Any, mark: str) -> list[JsonObject]:
    """Return the servers of a run, and perhaps others, by their names: a plain user cannot ask Nova for several ids."""
    servers: list[JsonObject] = answer_of(
        cloud.compute.get("/servers/detail", params={"name": f"^{mark}-"})
    )["servers"]
    return servers


def delete_for_good(cloud: Any, identity: str) -> None:
    """Delete a server that the cloud would keep for a while after its deletion (nova's reclaim_instance_interval)."""
    answer_of(
        cloud.compute.post(
            f"/servers/{identity}/action", json={"forceDelete": None}
        )
    )


def in_order(kinds: Mapping[str, Kind]) -> Mapping[Any, Kind]:
    """Return the kinds. Each comes only after kinds above it, so that none waits for itself."""
    above: set[str] = set()
    for name, kind in kinds.items():
        if not above.issuperset(kind.after):
            raise ValueError(
                f"{name} is to come after {', '.join(kind.after)}: not all of them are kinds above it"
            )
        above.add(name)
    return kinds


SERVERS = ("server", "second_server", "third_server")
PORTS = ("port", "second_port")
INTERFACES = (
    "router_interface",
    "router_interface_ipv6",
    "second_router_interface",
    "second_router_interface_ipv6",
)

SERVER = plain("compute", "/servers", "server")._replace(is_prompt=False)
VOLUME = plain("block_storage", "/volumes", "volume")._replace(
    delete=delete_volume, is_prompt=False
)
FLOATING_IP = plain("network", "/floatingips", "floatingip")._replace(
    find=find_address
)
SERVER_GROUP = plain("compute", GROUPS, "server_group", GROUPS_SINCE)._replace(
    find=find_server_group
)
KEY_PAIR = plain("compute", "/os-keypairs", "keypair")._replace(
    find=find_key_pair
)
IMAGE = plain("image", "/images", "image")
PORT = plain("network", "/ports", "port")._replace(after=SERVERS)
# Neutron takes no interface from a router as long as a floating IP is reached through it.
INTERFACE = Kind(
    read_interface,
    find_interface,
    delete_interface,
    after=("floating_ip",),
    is_hidden=True,
)
ROUTER = plain("network", "/routers", "router")._replace(
    after=("floating_ip", *INTERFACES)
)
# The ports that Nova has made on a network go with their servers. A network needs none of its subnets gone.
ON_NETWORK = (*SERVERS, *PORTS, *INTERFACES)
SUBNET = plain("network", "/subnets", "subnet")._replace(after=ON_NETWORK)
NETWORK = plain("network", "/networks", "network")._replace(after=ON_NETWORK)

KINDS = in_order(
    {
        "server": SERVER,
        "second_server": SERVER,
        "third_server": SERVER,
        "server_group": SERVER_GROUP,
        "key_pair": KEY_PAIR,
        "floating_ip": FLOATING_IP,
        "volume": VOLUME._replace(after=SERVERS),
        "snapshot": IMAGE._replace(after=SERVERS),
        "server_shelved": IMAGE._replace(after=SERVERS),
        # The disks of servers and volumes may be clones of it, which Ceph keeps it for.
        "image": IMAGE._replace(after=(*SERVERS, "volume")),
        "port": PORT,
        "second_port": PORT,
        "security_group": plain(
            "network", "/security-groups", "security_group"
        )._replace(after=(*SERVERS, *PORTS)),
        **dict.fromkeys(INTERFACES, INTERFACE),
        "router": ROUTER,
        "subnet": SUBNET,
        "subnet_ipv6": SUBNET,
        "second_subnet": SUBNET,
        "second_subnet_ipv6": SUBNET,
        "network": NETWORK,
        "second_network": NETWORK,
    }
)


def carries(resource: JsonObject, mark: str) -> bool:
    """Return whether a resource's name or description is the run's mark, or one of the names that a run gives."""
    return any(
        is_marked(resource.get(field), mark)
        for field in ("name", "description")
    )


def is_marked(text: Any, mark: str) -> bool:
    """Return whether a run of this mark gives such a name. The run abc gives none of those of the run abc-2."""
    names = {f"{mark}-{kind.replace('_', '-')}" for kind in KINDS}
    return isinstance(text, str) and (text == mark or text in names)


def why_foreign(entry: Entry, mark: str) -> str | None:
    """Return why this run cannot have written an entry of its ledger, or None."""
    if entry["kind"] == ledger.DAMAGED_LINE:
        return f"it cannot be read: look on the cloud for names that begin with {mark}-, then remove the line"
    if entry["kind"] not in KINDS:
        return "no run makes anything of this kind, so it is not deleted"
    if not is_marked(entry["name"], mark):
        return f"it does not carry the mark {mark}, so it is not deleted"
    if entry["id"] is not None and not ledger.is_id(
        entry["kind"], entry["id"]
    ):
        return "its id has a wrong form, so it is not deleted"
    return None


class Removal:
    """The removal of one resource: step() is called until it is gone, or its failure is final."""

    def __init__(
        self, entry: Entry, mark: str, is_limited: bool = False
    ) -> None:
        self.entry = entry
        self.mark = mark
        self.kind = KINDS[entry["kind"]]
        # Whether the cloud may hide it, as it has forbidden this user something
        self.may_be_hidden = is_limited and self.kind.is_hidden
        self.id: str | None = entry["id"]
        self.tries = 0
        self.gone = self.final = False
        self.reason = "it was not deleted yet"
        # How its deletion was asked for, unless that was refused
        self.way: Delete | None = None
        self.doing = "its deletion"
        # Whether another one of its name was looked for
        self.sought = False
        # By the clock that nobody sets
        self.missed_since: float | None = None
        self.denied_since: float | None = None
        self.asked: float | None = None

    def step(self, cloud: Any, shown: JsonObject | None = None) -> None:
        """Take the removal on. shown: the resource as a listing has it; without one it is read."""
        try:
            resource = shown or self._read(cloud)
            if resource is not None:
                self._remove(cloud, resource)
        except OutOfTimeError:
            return  # what is known of it says more
        except Exception as exc:  # also for an answer that is not JSON: the others are to be removed all the same
            if status_of(exc) == NOT_FOUND and is_from_service(exc):
                self._note_gone()
            else:
                self._note_failure(exc)

    def leftover(self) -> Leftover:
        return accounts.leftover({**self.entry, "id": self.id}, self.reason)

    def _remove(self, cloud: Any, resource: JsonObject) -> None:
        """Delete the resource, if it is ours, and if that was not asked for yet."""
        if not carries(resource, self.mark):
            self.reason = f"it does not carry the mark {self.mark} any more, so it is not deleted"
            self.final = True
            return
        state = (resource.get("status") or "").lower()
        way = self.kind.delete
        if state == SOFT_DELETED:
            way = delete_for_good
        if self._is_to_be_deleted(way, state):
            self._delete(cloud, way, state)
        elif state:
            self.reason = f"its deletion was accepted, and it is still there, in the status {state}"

    def _is_to_be_deleted(self, way: Delete, state: str) -> bool:
        """Return whether its deletion was not asked for yet, or has to be asked for again."""
        if way is not self.way:
            return True
        if state.startswith("error") and self.tries < TRIES:
            return True
        return self._was_put_back(state)

    def _note_gone(self) -> None:
        """Note that the resource is gone, or look for a second one.

        A creation whose answer was lost may have taken effect twice. What went without being deleted here may be there
        nevertheless: a damaged answer had a wrong id.
        """
        if self.sought or not (self.entry["lost"] or self.asked is None):
            self.gone = True
            return
        self.sought = True
        self.entry["id"] = self.id
        self.id = self.way = None
        self.tries = 0

    def _note_failure(self, exc: Exception) -> None:
        # Refused, so try again.
        self.tries, self.way = 0, None
        self.reason = failure_of(exc, self.doing).message
        # Missing rights will not change; a resource in use, or a missing answer, may.
        status = status_of(exc)
        self.final = status == FORBIDDEN or (
            status == UNAUTHORIZED and self._is_denied_for_long()
        )

    def _is_denied_for_long(self) -> bool:
        self.denied_since = self.denied_since or time.monotonic()
        return time.monotonic() - self.denied_since > DOUBT

    def _was_put_back(self, state: str) -> bool:
        """Return whether a volume is as it was before its deletion: something, perhaps a dead host, had it open."""
        if self.asked is None or self.entry["kind"] != "volume":
            return False
        return state == "available" and time.monotonic() - self.asked > BUSY

    def _delete(self, cloud: Any, way: Delete, state: str) -> None:
        self.tries, self.way, self.asked = (
            self.tries + 1,
            way,
            time.monotonic(),
        )
        self.reason = (
            f"it is still there, {state}" if state else "it is still there"
        )
        if way is delete_for_good:
            self.doing = "it is only soft-deleted until the cloud reclaims it; its deletion for good"
        way(cloud, str(self.id))
        if self.kind.is_prompt:
            self._read(cloud)  # a 404 by now

    def _read(self, cloud: Any) -> JsonObject | None:
        """Return the resource as it is now, or None: then it is gone, or there is a reason to look again."""
        if self.id is None:
            resources = self.kind.find(cloud, self.entry["name"])
            if not resources:
                self._note_missing()
                return None
            self.id = resources[0]["id"]
        try:
            return self.kind.read(cloud, str(self.id))
        except NotThereError:
            self._note_gone()
            return None

    def _note_missing(self) -> None:
        """Note that no resource has the name, for now.

        A request that was under way when its run was killed may still take effect: look for a while.
        """
        self.missed_since = self.missed_since or time.monotonic()
        waited = time.monotonic() - self.missed_since > SETTLE
        answered = self.sought and not self.entry["lost"]
        since = self.entry["lost"] or self.entry["begun"]
        is_old = seconds_between(since, now()) > OLD
        if answered and self.may_be_hidden:
            self.final, self.reason = True, MAY_BE_HIDDEN
        elif self.entry[ledger.HANGS] and not any((self.sought, is_old)):
            self.final, self.reason = waited, MAY_STILL_COME
        else:
            self.gone = any((answered, is_old, waited))
            self.reason = UNANSWERED


def lost_interface(run: Run, entry: Entry) -> Any:
    """Return the id of a router interface whose answer never came: that of the run's router, and that of its subnet."""
    subnet = entry["kind"].replace("router_interface", "subnet")
    ids = []
    for kind in ("router", subnet):
        name = f"{run.mark}-{kind.replace('_', '-')}"
        end = run.ledger.find(kind, name)
        if not end or not end["id"]:
            return entry["id"]
        ids.append(str(end["id"]))
    return "/".join(ids)


def origin_of(run: Run) -> Origin:
    """Return the cloud of a run, as far as its record knows it."""
    auth = run.record.stage_or_skipped(StageName.AUTH)
    return codec.from_json(Origin, auth.details, "auth.details")


def place_of(run: Run, params: Params) -> dict[str, str | None]:
    """Return the cloud and the region of a run.

    Its record names them, but the user may name the cloud otherwise in clouds.yaml now.
    """
    cloud = params["cloud"] or name_of_cloud(run.record.cloud)
    region = params["region_name"]
    if not region and not params["_cloud"]:
        region = origin_of(run).region
    return {"cloud": cloud, "region_name": region}


def name_of_cloud(recorded: str | None) -> str | None:
    """Return what a record has as the cloud, if clouds.yaml may have it as a name."""
    if recorded is None or recorded == "environment":
        return None
    if not re.fullmatch(r"[\w.-]+", recorded):
        return None
    return recorded


def check_project(cloud: Any, run: Run) -> None:
    """Refuse credentials of another project or region: with them everything would look as if it were gone."""
    of_run = origin_of(run)
    current = Origin(
        cloud.session.get_project_id(), cloud.config.get_region_name()
    )
    if of_run.project_id and of_run.project_id != current.project_id:
        raise other_place(
            run,
            "project",
            of_run.project_id,
            current.project_id,
            "Name the cloud that the run used.",
        )
    if of_run.region and of_run.region != current.region:
        raise other_place(
            run,
            "region",
            of_run.region,
            current.region,
            "Name the region that the run used, too.",
        )


def other_place(
    run: Run, kind: str, place: str, current: str | None, hint: str
) -> StageError:
    message = f"the run {run.id} was made in the {kind} {place}, but these credentials are for {current}"
    return StageError("config", message, hint=hint)


def wait_for_answer(ask: Callable[[], T], deadline: Deadline) -> T:
    """Ask until there is an answer, or until the deadline: a service that is away may come back."""
    while True:
        try:
            return ask()
        except CLOUD_ERRORS as exc:
            if not is_unanswered(exc) or deadline.left() < PAUSE:
                raise
            time.sleep(PAUSE)


def remove_all(
    cloud: Any, run: Run, deadline: Deadline, waits: list[Wait], say: Say
) -> list[Leftover]:
    """Remove all that ledger or record name, and add the waits for it. Return what is left, with the reasons."""
    entries = accounts.to_remove(run)
    if entries:
        wait_for_answer(lambda: check_project(cloud, run), deadline)
    removals, foreign = sorted_out(entries, run)
    Work(cloud, run, removals, say).remove(deadline, waits)
    still_there = [
        removal.leftover() for removal in removals if not removal.gone
    ]
    left = [*foreign, *still_there, *ports_left(cloud, removals)]
    # A cloud may have put a secret into any of its texts.
    return list(map(bounded_copy, left))


def sorted_out(
    entries: Sequence[Entry], run: Run
) -> tuple[list[Removal], list[Leftover]]:
    """Return the removals of what the run has made, the newest first, and what it cannot have made."""
    removals: list[Removal] = []
    foreign: list[Leftover] = []
    is_limited = was_forbidden(run)
    for entry in reversed(entries):
        if entry["kind"] in ledger.FORMS and entry["id"] is None:
            entry["id"] = lost_interface(run, entry)
        reason = why_foreign(entry, run.mark)
        if reason:
            foreign.append(accounts.leftover(entry, reason))
        else:
            removals.append(Removal(entry, run.mark, is_limited))
    return removals, foreign


def was_forbidden(run: Run) -> bool:
    """Return whether the cloud has refused a stage of a run what the role of its user does not allow.

    A run that has ended is cleaned up by somebody who knows its leftovers.
    """
    if run.record.finished is not None:
        return False
    errors = [stage.error for stage in run.record.stages]
    return any(error and error.kind == NO_RIGHT for error in errors)


def ports_left(cloud: Any, removals: list[Removal]) -> list[Leftover]:
    """Return the ports that Nova made for a server on a network of others, and that are left after the server is gone.

    No ledger has them, so they are reported and not deleted.
    """
    servers = [
        removal
        for removal in removals
        if removal.entry["kind"] == "server" and removal.gone
    ]
    ids = [removal.entry["id"] or removal.id for removal in servers]
    left: list[Leftover] = []
    for server in map(str, filter(None, ids)):
        try:
            left += ports_of(cloud, server)
        except Exception as exc:
            # All else is removed, and that must be reported
            failure = failure_of(
                exc,
                f"it is not known whether ports of the server {server} are left",
            )
            left.append(Leftover("port", None, server, failure.message))
    return left


def ports_of(cloud: Any, server: str) -> list[Leftover]:
    """Return the ports of a server that is gone."""
    answer = cloud.network.get("/ports", params={"device_id": server})
    ports = answer.json().get("ports", []) if answer.status_code == OK else []
    own = [port for port in ports if port["device_id"] == server]
    reason = f"it belongs to the server {server}, which is gone"
    return [
        Leftover(
            "port",
            str(port["id"]),
            str(port.get("name") or port["id"]),
            reason,
        )
        for port in own
    ]


@dataclass(frozen=True)
class Work:
    """All removals of a run. One has its turn once all that it comes after is gone or cannot be removed."""

    cloud: Any
    run: Run
    removals: list[Removal]
    say: Say

    def remove(self, deadline: Deadline, waits: list[Wait]) -> None:
        try:
            while left := self._begin():
                look = partial(self._look, left)
                wait_until(
                    f"{kinds_of(left)} to be gone",
                    look,
                    deadline,
                    waits,
                    lambda _text: None,
                    self._pace,
                )
        except DeadlinePassed:
            note_obstacles(self.removals)
            # All that is left has its chance, out of turn; and once more, so that the reasons are true at the end.
            for _chance in range(2):
                self._step(pending(self.removals))

    def _begin(self, others: Sequence[Removal] = ()) -> list[Removal]:
        """Step all but others whose turn it is, or comes by that. Return those that are not gone by then."""
        begun = list(others)
        while new := [
            removal
            for removal in in_turn(self.removals)
            if removal not in begun
        ]:
            self._step(new)
            begun += new
        return in_turn(self.removals)

    def _look(self, awaited: list[Removal]) -> Look:
        self._step(pending(awaited))
        if pending(awaited):
            self._begin(awaited)
        return not pending(awaited), state_of(awaited), None

    def _pace(self, waited: float) -> float:
        """Return the seconds between two looks: those at servers, as long as nothing else is to go."""
        usual = usual_pace(waited)
        if any(
            removal.kind is not SERVER for removal in in_turn(self.removals)
        ):
            return usual
        return (
            usual * RARER
            if waited < FIRST_SECONDS
            else max(usual, min(waited * PART_OF_WAIT, LONGEST_PERIOD))
        )

    def _step(self, removals: list[Removal]) -> None:
        shown = self._shown(removals)
        for removal in removals:
            removal.step(self.cloud, shown.get(str(removal.id)))
            if removal.gone:
                note_gone(self.run, removal)
        left = in_turn(self.removals)
        if left:
            self.say(f"removing {kinds_of(left)}")

    def _shown(self, removals: list[Removal]) -> dict[str, JsonObject]:
        """Return servers by their ids, as one listing shows them, if the deletion of several was asked for.

        One that it does not show may be there all the same: on its next page, in a cell of Nova that is down, or
        softly deleted. Such a one is read by itself.
        """
        going = [
            removal
            for removal in removals
            if removal.kind is SERVER and removal.way
        ]
        if len(going) > 1:
            # Whatever it answers: then each is read by itself
            with contextlib.suppress(Exception):
                return {
                    server["id"]: server
                    for server in list_servers(self.cloud, self.run.mark)
                }
        return {}


def note_gone(run: Run, removal: Removal) -> None:
    """Write into the ledger that a resource is gone.

    A full disk must not stop the removal. The next removal finds out again that this one is gone.
    """
    entry, identity = removal.entry, removal.id or removal.entry["id"]
    with contextlib.suppress(OSError):
        run.ledger.write(
            ledger.GONE,
            entry["kind"],
            entry["name"],
            id=identity,
            **accounts.origin(entry),
        )


def pending(removals: Iterable[Removal]) -> list[Removal]:
    return [
        removal
        for removal in removals
        if not removal.gone and not removal.final
    ]


def note_obstacles(removals: Iterable[Removal]) -> None:
    """Have each removal whose turn has not come say what was in its way."""
    left = pending(removals)
    for removal in left:
        obstacles = [
            other
            for other in left
            if other.entry["kind"] in removal.kind.after
        ]
        if obstacles and removal.asked is None:
            removal.reason = f"it was not deleted yet, as there still is: {kinds_of(obstacles)}"


def in_turn(removals: Iterable[Removal]) -> list[Removal]:
    """Return the removals that come after none that is still to be done."""
    left = pending(removals)
    kinds = {removal.entry["kind"] for removal in left}
    return [
        removal for removal in left if kinds.isdisjoint(removal.kind.after)
    ]


def state_of(removals: Sequence[Removal]) -> str:
    left = pending(removals)
    if left:
        return f"{kinds_of(left)} left"
    given_up = [removal for removal in removals if not removal.gone]
    if given_up:
        return f"{kinds_of(given_up)} given up"
    return "all gone"


def kinds_of(removals: Iterable[Removal]) -> str:
    return ", ".join(
        removal.entry["kind"].replace("_", " ") for removal in removals
    )


def settle_account(run: Run, left: list[Leftover]) -> None:
    """Record how many resources were made and deleted, and which are left."""
    # A resource that was found only now, by its name, was made as well.
    found_names = {leftover.name for leftover in left if leftover.id}
    made = 0
    deleted = 0
    for entry in run.ledger.entries.values():
        has_id = entry["id"] is not None
        if has_id or entry["name"] in found_names:
            made += 1
        if has_id and entry["event"] == ledger.GONE:
            deleted += 1
    run.update(created=made, deleted=deleted, leftovers=tuple(left))
