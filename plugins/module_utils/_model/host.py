# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A host: what was read there, what could not be read, and whether it agrees with the API."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Optional

from .broker import Queue
from .codec import Positive, Seconds, Text, Time, omitted, schema
from .reach import BackEnd, Certificate, ResolvedName
from .stores import Stores
from .words import CheckStatus, HostStatus

UnreadKind = Annotated[
    str,
    schema(enum=("refused", "missing", "failed", "hung", "strange", "absent")),
]
Part = Annotated[
    str, schema(enum=("control", "compute", "network", "ceph", "ovn", "queue"))
]


@dataclass(frozen=True)
class Unread:
    """Something that could not be read on a host.

    kind: how the read failed. what: what was read. command: the command that failed.
    """

    kind: UnreadKind
    what: str
    reason: str
    service: Optional[str] = omitted()
    command: Optional[str] = omitted()


@dataclass(frozen=True)
class Check:
    """A check that compares a host with the API.

    reason: what differs, or why it could not be checked; null if it is ok. command: what shows more of a failed one.
    """

    check: Text
    status: CheckStatus
    reason: Optional[str] = None
    seconds: Seconds = 0.0
    command: Optional[Text] = omitted()


@dataclass(frozen=True)
class SuiteCheck:
    """A check as the suite for the hosts writes it. host: None if it is not about a single one."""

    host: Optional[str]
    check: str
    status: CheckStatus
    reason: Optional[str] = None
    seconds: Seconds = 0.0
    command: Optional[Text] = omitted()

    @property
    def of_host(self) -> Check:
        return Check(
            self.check, self.status, self.reason, self.seconds, self.command
        )


# How a peer is recorded that answers, one that answers without TLS where it is asked for with it, and one that gets
# small packets only
OPEN, PLAIN, NARROW = "open", "plain", "narrow"
# How one is that does not answer at all, and one that does not acknowledge what is sent by a connection that was made
SILENT, UNHEARD = "silent", "unheard"


@dataclass(frozen=True)
class Reach:
    """An address of a component, as it answered from the host.

    named_by: the services whose configuration names it.
    """

    component: str
    address: str
    port: int
    how: str
    named_by: tuple[str, ...] = ()


@dataclass(frozen=True)
class PendingConnection:
    """A connection of a program that waits for an answer.

    how: silent if it is being made, unheard if it was made and what the program has sent since is sent again and again.
    """

    program: str
    address: str
    port: int
    component: Optional[str] = None
    how: str = omitted(SILENT)


@dataclass(frozen=True)
class GivenAddress:
    """An address that a component gives as one of its host. option: its section in brackets, and its name."""

    path: str
    option: str
    address: str


@dataclass(frozen=True)
class OwnReport:
    """What a component reported about itself when asked. given: what it gives as its own address, and is not."""

    component: str
    kind: str
    text: str
    given: Optional[GivenAddress] = omitted()


@dataclass(frozen=True)
class Exhausted:
    """A resource of the host that is used up, such as a file system."""

    kind: str
    where: str
    text: str


@dataclass(frozen=True)
class Difference:
    """Something in which this host differs from its like."""

    kind: str
    what: str


@dataclass(frozen=True)
class ChangedFile:
    """A file of settings that changed shortly before the failure.

    ago_s: how long before the hosts were examined. at: when, by the clock of the control node.
    """

    path: str
    ago_s: Positive
    at: Optional[Time] = omitted()


@dataclass(frozen=True)
class Examination:
    """What an examination of a host found after a stage had failed.

    reach: how the peers of its services answer. pending: connections that wait for an answer. reports: what components
    report about themselves. exhausted: resources that are used up. differences: in what it differs from hosts of the
    same kind. changed: files of settings that changed recently. queues: those of the broker here that no service
    empties. certificates: those that have expired or will soon. names: those of peers, as this host resolves them.
    back_ends: those that a balancer here takes for down.
    """

    reach: tuple[Reach, ...] = ()
    pending: tuple[PendingConnection, ...] = ()
    reports: tuple[OwnReport, ...] = ()
    exhausted: tuple[Exhausted, ...] = ()
    differences: tuple[Difference, ...] = ()
    changed: tuple[ChangedFile, ...] = ()
    queues: tuple[Queue, ...] = omitted(())
    certificates: tuple[Certificate, ...] = omitted(())
    names: tuple[ResolvedName, ...] = omitted(())
    back_ends: tuple[BackEnd, ...] = omitted(())


@dataclass(frozen=True)
class Host:
    """A host of the inventory.

    parts: the parts of the cloud that it runs. reason: why it could not be read, or not all of it. clock_offset_s: how
    far its clock is ahead of the control node's. clock_error_s: how far that may be off. health_before: the state of
    Ceph before the boot. facts: what its parts of the cloud know of the instance. unread: the reads that failed.
    stores: those through which a request is carried; only after a failed stage. prefixes: the words before the commands
    of a part of the cloud that is in a container.
    """

    host: Text
    groups: tuple[Text, ...] = ()
    parts: tuple[Part, ...] = ()
    status: HostStatus = HostStatus.READ
    reason: Optional[str] = None
    clock_offset_s: Optional[float] = None
    clock_error_s: Optional[Positive] = None
    health_before: Optional[Mapping[str, Any]] = None
    facts: Mapping[str, Any] = field(default_factory=dict)
    examination: Optional[Examination] = None
    unread: tuple[Unread, ...] = ()
    checks: tuple[Check, ...] = ()
    stores: Optional[Stores] = omitted()
    prefixes: Optional[Mapping[str, tuple[Text, ...]]] = omitted()

    @property
    def examined(self) -> Examination:
        """Return its examination; an empty one if nothing was looked at."""
        return self.examination or Examination()

    @property
    def has_failed_check(self) -> bool:
        return any(check.status is CheckStatus.FAILED for check in self.checks)
