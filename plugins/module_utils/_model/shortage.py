# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Why a request cannot be satisfied, as codes with fields. _report/messages/capacity.py has the sentences."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Optional

from .capacity import Candidates
from .words import Word


class Shortage(Word):
    """What keeps a request from being satisfied: first that of a host, then that of the whole cloud."""

    # Of a host
    DISABLED = "disabled"
    FORCED_DOWN = "forced_down"
    NO_SERVICE = "no_service"
    UNMAPPED = "unmapped"
    PROVIDER_DOUBLED = "provider_doubled"
    PROVIDER_CONFLICT = "provider_conflict"
    PROVIDER_RENAMED = "provider_renamed"
    TRAIT_MISSING = "trait_missing"
    TRAIT_FORBIDDEN = "trait_forbidden"
    OUTSIDE_AGGREGATE = "outside_aggregate"
    CLASS_MISSING = "class_missing"
    MAX_UNIT = "max_unit"
    MIN_UNIT = "min_unit"
    STEP_SIZE = "step_size"
    NO_ROOM = "no_room"
    # Placement does not offer it unless this constraint is left out.
    EXCLUDED_BY = "excluded_by"
    NOT_OFFERED = "not_offered"
    # Of a host on which a component is broken
    DOWN = "down"
    DISABLED_ITSELF = "disabled_itself"
    NO_PROVIDER = "no_provider"
    NO_INVENTORY = "no_inventory"
    # Of the whole cloud
    NO_HOSTS = "no_hosts"
    # Only what was asked for is known, and not what the hosts have.
    UNMET = "unmet"
    FEWER = "fewer"
    FILTERED = "filtered"
    UNSUPPORTED = "unsupported"
    INSUFFICIENT = "insufficient"
    HOST_UNKNOWN = "host_unknown"
    ZONE_UNKNOWN = "zone_unknown"
    ZONE_UNAVAILABLE = "zone_unavailable"
    IMAGE = "image"
    REFUSED = "refused"
    QUOTA = "quota"
    MISCOUNTED = "miscounted"
    ADDRESSES = "addresses"
    SEGMENTS = "segments"
    DENIED = "denied"
    THROTTLED = "throttled"
    NETWORK_DISABLED = "network_disabled"
    PORT_DISABLED = "port_disabled"
    NO_DHCP = "no_dhcp"
    BACKENDS_DISABLED = "backends_disabled"
    BACKEND_MISSING = "backend_missing"
    POOLS_FULL = "pools_full"
    POOL_LIMIT = "pool_limit"
    POOL_RATIO = "pool_ratio"


# A component is to blame for these, and not the request: it does not report, or Placement does not know its host.
FAULTS = frozenset(
    {
        Shortage.DOWN,
        Shortage.DISABLED_ITSELF,
        Shortage.NO_PROVIDER,
        Shortage.NO_INVENTORY,
    }
)


@dataclass(frozen=True)
class Reason:
    """One thing that keeps a request from being satisfied.

    subject: what is missing or too small: a trait, a resource class, a property, a zone, a filter, a quota, a network;
    or the port that is denied something. asked, free, capacity: how much is asked for, left, and there in all.
    reserved, leftover: how much of it an operator holds back, and how much belongs to consumers that do not exist.
    detail: the reason why a service was disabled, names to choose from, or what is refused. provider: the id of the
    resource provider. host: where most is free.
    """

    code: Shortage
    subject: Optional[str] = None
    asked: Optional[int] = None
    free: Optional[int] = None
    capacity: Optional[int] = None
    reserved: Optional[int] = None
    leftover: Optional[int] = None
    detail: Optional[str] = None
    provider: Optional[str] = None
    host: Optional[str] = None

    @property
    def is_fault(self) -> bool:
        return self.code in FAULTS

    @property
    def kind(self) -> tuple[Shortage, Optional[str]]:
        """Return what is the same for all hosts that a request does not fit on for one reason."""
        return self.code, None if self.code in SAME_FOR_ALL else self.subject


# The subject of these is of one host alone.
SAME_FOR_ALL = frozenset(
    {Shortage.DISABLED, Shortage.FORCED_DOWN, Shortage.UNMAPPED}
)


@dataclass(frozen=True)
class HostReasons:
    """A host, and all that keeps a request off it. is_known: whether enough was read to say that nothing else does."""

    host: str
    reasons: tuple[Reason, ...] = ()
    is_known: bool = True

    @property
    def first(self) -> Optional[Reason]:
        """Return the reason to report: one that no repair of a component would remove, if there is any."""
        lasting = [reason for reason in self.reasons if not reason.is_fault]
        return next(iter([*lasting, *self.reasons]), None)

    @property
    def is_broken(self) -> bool:
        """Return whether a broken component alone keeps the request off this host."""
        return bool(self.reasons) and all(
            reason.is_fault for reason in self.reasons
        )

    @property
    def fits(self) -> bool:
        return self.is_known and not self.reasons


class Answer(Word):
    """Whether a request can be satisfied.

    broken: it could, if a component worked. short: whatever works, the cloud does not have it.
    """

    FITS = "fits"
    SHORT = "short"
    BROKEN = "broken"
    UNKNOWN = "unknown"


class Sought(Word):
    """What a request looks for."""

    HOST = "host"
    BACKEND = "backend"
    ADDRESS = "address"
    SEGMENT = "segment"
    IMAGE = "image"
    SERVER = "server"
    QUOTA = "quota"
    TRAFFIC = "traffic"
    SPEED = "speed"


@dataclass(frozen=True)
class Explanation:
    """Whether a request can be satisfied, and why not.

    reason: what alone explains it; None if different hosts have different reasons. hosts: those that could take it.
    flavor, zone: what was asked for. room: for how many instances there is room; None if that is not known.
    holders: how many resource providers have the trait that is missing. of_image:
    whether the image asks for it. relaxed: what Placement offers if one
    constraint is left out. unread: why some of it is not known.
    """

    sought: Sought
    answer: Answer
    reason: Optional[Reason] = None
    hosts: tuple[HostReasons, ...] = ()
    flavor: Optional[str] = None
    zone: Optional[str] = None
    room: Optional[int] = None
    holders: Optional[int] = None
    of_image: bool = False
    relaxed: tuple[Candidates, ...] = ()
    resources: tuple[tuple[str, int], ...] = ()
    unread: tuple[str, ...] = ()

    def is_said_in(self, line: str | None) -> bool:
        """Return whether a line of a log says the very reason."""
        if self.reason is None or not self.reason.detail:
            return False
        return self.reason.detail in (line or "")
