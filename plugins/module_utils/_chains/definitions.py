# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The definition of a chain and of its links, and what a check of a link returns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, replace
from typing import TypeVar

from .._model.chain import Chain, Link, LinkState
from .._model.stores import Trace
from .._model.words import StageName
from .._record.sole import sole
from .cloud import Cloud

T = TypeVar("T")
V = TypeVar("V", bound=Hashable)


@dataclass(frozen=True)
class Found:
    """What a check found. owner, host, command: where they are others than those of the definition.

    mend: what puts it right, where one command does.
    """

    state: LinkState
    found: str | None = None
    expected: str | None = None
    subject: str | None = None
    owner: str | None = None
    host: str | None = None
    reason: str | None = None
    command: str | None = None
    mend: str | None = None


HOLDS = Found(LinkState.HOLDS)
NOT_APPLICABLE = Found(LinkState.NOT_APPLICABLE)
UNREADABLE = Found(LinkState.UNREADABLE)


class Undecided(Exception):
    """A check cannot say whether its link holds, for want of what it compares."""

    def __init__(self, found: Found) -> None:
        super().__init__(found.state)
        self.found = found


def given(value: T | None) -> T:
    """Return what a link is about; without it the link does not apply."""
    if value is None:
        raise Undecided(NOT_APPLICABLE)
    return value


def read(value: T | None) -> T:
    """Return what was read from a store; without it nobody knows whether the link holds."""
    if value is None:
        raise Undecided(UNREADABLE)
    return value


def applies_if(condition: object) -> None:
    if not condition:
        raise Undecided(NOT_APPLICABLE)


def unreadable_if(condition: object) -> None:
    if condition:
        raise Undecided(UNREADABLE)


def broken(
    found: str | None = None,
    expected: str | None = None,
    subject: str | None = None,
    owner: str | None = None,
    host: str | None = None,
) -> Found:
    return Found(LinkState.BROKEN, found, expected, subject, owner, host)


def holds_if(
    condition: bool, found: str | None = None, expected: str | None = None
) -> Found:
    return HOLDS if condition else broken(found, expected)


def here(cloud: Cloud) -> str | None:
    """Return the host of the instance."""
    return cloud.host


def nowhere(_cloud: Cloud) -> None:
    """Return no host: of what the whole cloud has."""
    return


@dataclass(frozen=True)
class LinkDefinition:
    """A link. owner: the component that has to make it hold, host: where.

    command: what shows it by hand, with the names of Cloud.names, and {host} and {subject} of the link, in braces.
    on: the host to run it on, where that is another one. carrier: what carries requests to the owner, if it may be why.
    """

    code: str
    owner: str
    check: Callable[[Cloud], Found]
    host: Callable[[Cloud], str | None]
    command: str
    on: Callable[[Cloud], str | None] | None = None
    carrier: Callable[[Cloud], str | None] = nowhere


@dataclass(frozen=True)
class ChainDefinition:
    """A chain. stages: those whose failure it may explain. applies: whether the cloud and the run have it.

    subject: the id of what it is about, by default the instance's port.
    """

    name: str
    stages: tuple[StageName, ...]
    applies: Callable[[Cloud], bool]
    links: tuple[LinkDefinition, ...]
    subject: Callable[[Cloud], str | None] = lambda cloud: cloud.port_id


def walk(definition: ChainDefinition, cloud: Cloud) -> Chain:
    """Return a chain with the state of each of its links."""
    links = tuple(link_of(link, cloud) for link in definition.links)
    return Chain(definition.name, definition.subject(cloud), links)


def link_of(definition: LinkDefinition, cloud: Cloud) -> Link:
    found = decided(definition.check, cloud)
    host = found.host or definition.host(cloud)
    is_broken = found.state is LinkState.BROKEN
    names = {"host": host, "subject": found.subject}
    by_hand = found.command or definition.command.format_map(
        cloud.names.with_known(names)
    )
    command = by_hand if is_broken else None
    return Link(
        code=definition.code,
        state=found.state,
        owner=found.owner or definition.owner,
        host=host,
        subject=found.subject,
        expected=found.expected,
        found=found.found,
        command=command,
        reader=reader_of(
            command, definition.on(cloud) if definition.on else host
        ),
        reason=found.reason,
        carrier=definition.carrier(cloud) if is_broken else None,
        mend=found.mend if is_broken else None,
    )


def reader_of(command: str | None, host: str | None) -> str | None:
    """Return the host to run a command on; None for a client of the API, which runs where its credentials are."""
    return (
        None if command is None or command.startswith("openstack ") else host
    )


def decided(check: Callable[..., Found], *about: object) -> Found:
    """Return what a check finds, or that it cannot say."""
    try:
        return check(*about)
    except Undecided as undecided:
        return undecided.found


def passes(cloud: Cloud, packet: str) -> Found:
    """Check whether the flows of the instance's host let a packet of its port pass."""
    return not_dropped(given(cloud.trace(packet)))


def passes_logically(cloud: Cloud, packet: str) -> Found:
    """Check whether OVN lets a packet of the instance's port pass, wherever its flows are carried out."""
    return not_dropped(given(cloud.logical_trace(packet)))


def not_dropped(trace: Trace) -> Found:
    if trace.outcome != "dropped":
        return HOLDS
    where = None if trace.table is None else f"table {trace.table}"
    return replace(
        broken(trace.rule or "no flow", subject=where),
        command=trace.listing or trace.command,
    )


def common(values: Iterable[V | None]) -> V | None:
    """Return the value that most have; None without any, or if two are equally common."""
    counts = Counter(value for value in values if value is not None)
    if not counts:
        return None
    most = max(counts.values())
    commonest = [value for value, count in counts.items() if count == most]
    return sole(commonest)


def listed(names: Iterable[str]) -> str:
    return ", ".join(names) or "none"


def first_broken(found: Iterable[Found | None]) -> Found:
    """Return the first of several findings that is broken, or any of them."""
    known = list(filter(None, found))
    for each in known:
        if each.state is LinkState.BROKEN:
            return each
    return given(known[0] if known else None)
