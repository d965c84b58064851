# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The record of a run, run.json as a whole."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import chain
from operator import attrgetter
from typing import Annotated, Optional

from .baseline import Baseline
from .capacity import Capacity
from .chain import Chain, Link
from .codec import Count, Positive, Seconds, Share, Text, Time, omitted, schema
from .details import NO_ANSWER
from .diagnosis import Diagnosis
from .error_kind import ErrorKind
from .flow import FollowedFlow
from .host import Host, Unread
from .instance import Claims, DescribedInstance, Network, Port
from .inventory import Tools
from .known_bug import KnownBug
from .level import RunLevel
from .operation import Operation
from .stage import Call, Leftover, Resource, Stage
from .verdict import LONGEST_QUOTE, Verdict
from .words import Result, Severity, StageName, StageStatus

# The stages as a run has them
ORDER = tuple(StageName)

SCHEMA = "stackproof.run/2"
# The name of a run, and of its directory
RUN_ID = r"[a-z0-9][a-z0-9-]{2,39}"

# In characters: what Nova has room for
LONGEST_DESCRIPTION = 255

RunId = Annotated[str, schema(pattern=f"^{RUN_ID}$")]
StageKey = Annotated[
    str, schema(enum=tuple(stage.value for stage in StageName))
]


@dataclass(frozen=True)
class Threshold:
    """A limit that a run has to keep, and what it measured."""

    name: Text
    query: Text
    min: Optional[float]
    max: Optional[float]
    value: Optional[float]
    ok: bool
    text: Text


@dataclass(frozen=True)
class EarlierRuns:
    """How long a stage took in earlier runs on the same cloud."""

    runs: Annotated[int, schema(minimum=1)]
    median_s: Positive
    p95_s: Positive


@dataclass(frozen=True)
class LogFile:
    """A log that was read.

    path: its path, or the unit whose journal it is. complete: whether nothing of the run's time is missing. first: the
    time of its first line, in seconds since the epoch. reason: why it is not complete. requests: whether its first or
    last lines show requests of clients; null where that is not known.
    """

    service: str
    path: str
    complete: bool
    first: Optional[float]
    reason: Optional[str]
    requests: Optional[bool] = omitted()


@dataclass(frozen=True)
class HostLogs:
    """The logs of a host that were read.

    reason: why none were read.
    """

    host: Text
    reason: Optional[str]
    sources: tuple[LogFile, ...]
    unread: tuple[Unread, ...]


@dataclass(frozen=True)
class FilterResult:
    """How many hosts a filter of a scheduler was given, and how many it has left."""

    filter: str
    start: int
    end: int


@dataclass(frozen=True)
class LoggedError:
    """An error in the logs. Each kind of error is recorded once.

    exception: its class. raised_in: the module of the innermost frame of its traceback. count: how often it was logged.
    how: how it failed, such as refused, silent or denied. peer: the component at which it failed. peer_address: the
    address of that. mentions: other components that it names. quote: the line itself, only of the one that the verdict
    quotes. own: whether it has an id of the run. usual: the share of earlier runs that logged it and passed, or 0 or 1
    by the baseline of a diagnosis; only in a failed run. severity: error, or warning for one with an id of the run that
    reports how something failed. insufficient: what a host does not have enough of for the instance, in Nova's words.
    filters: what each filter of a scheduler has left, if it reports that none left a host. at_destination: whether it
    is about the host to which a server is moved.
    """

    service: Text
    host: Text
    logger: str
    exception: Optional[str]
    raised_in: Optional[str]
    at: Time
    count: Annotated[int, schema(minimum=1)]
    how: Optional[str]
    peer: Optional[str]
    peer_address: Optional[str]
    mentions: tuple[str, ...]
    quote: Optional[Annotated[str, schema(maxLength=LONGEST_QUOTE)]]
    own: bool
    usual: Optional[Share]
    filters: Optional[tuple[FilterResult, ...]] = omitted()
    insufficient: Optional[str] = omitted()
    severity: Severity = omitted(Severity.ERROR)
    at_destination: bool = omitted(False)

    @property
    def is_warning(self) -> bool:
        return self.severity is Severity.WARNING

    @property
    def is_of_run(self) -> bool:
        """Return whether it is an error with an id of the run, and no warning."""
        return self.own and not self.is_warning

    @property
    def says_what(self) -> bool:
        """Return whether it says what failed, or how."""
        return bool(self.exception or self.how)

    @property
    def kind(self) -> ErrorKind:
        """Return what it has in common with the same error in another run."""
        return ErrorKind(self.service, self.logger, self.exception)

    @property
    def words(self) -> str:
        """Return what its line says without the name of its exception; an empty text where the line was not kept."""
        _name, _colon, words = (self.quote or "").partition(
            f"{self.exception}: "
        )
        return words.rstrip(" .")

    @property
    def exception_class(self) -> str:
        """Return the name of its exception without the module; an empty one without an exception."""
        return (self.exception or "").rpartition(".")[-1]


@dataclass(frozen=True)
class Agent:
    """A service or an agent as the cloud reports it.

    last_report: when it last reported to the cloud, by the cloud's clock. back_end: of cinder-volume. reason: why an
    operator has disabled it. forced_down: whether an operator has told the cloud to take it for down.
    physical: the physical networks that it reaches, each with its bridge. tunnels: the kinds of tunnels that it makes.
    """

    component: Text
    host: Text
    state: Annotated[str, schema(enum=("up", "down"))]
    enabled: bool
    last_report: Optional[str]
    back_end: Optional[str] = omitted()
    reason: Optional[str] = omitted()
    forced_down: bool = omitted(False)
    physical: Optional[Mapping[str, str]] = omitted()
    tunnels: Optional[tuple[str, ...]] = omitted()


@dataclass(frozen=True)
class Instance(DescribedInstance):
    """What the API reported about the instance while it ran, with what resource providers hold for it.

    allocations: how many resource providers hold something for it; null if Placement was not asked.
    claimed_on: their names, while Nova shows no host of it. provider_traits: the traits that they have, if the flavor
    asks for any.
    """

    allocations: Optional[Count] = None
    claimed_on: tuple[Text, ...] = ()
    provider_traits: Optional[tuple[Text, ...]] = omitted()

    @classmethod
    def of(
        cls,
        described: DescribedInstance,
        claims: Claims,
        traits: Optional[tuple[Text, ...]] = None,
    ) -> Instance:
        return cls(**vars(described), **vars(claims), provider_traits=traits)


@dataclass(frozen=True)
class OtherBoot:
    """Another server, and when it was built.

    finished: null while its boot may still be in progress. settling_s: how long after that the cloud was still busy
    with it.
    """

    started: str
    finished: Optional[str]
    settling_s: Optional[float]


@dataclass(frozen=True)
class OtherBoots:
    """Other servers that were built at about the same time.

    queried: when the cloud was asked for them.
    """

    queried: Time
    boots: tuple[OtherBoot, ...]


@dataclass(frozen=True)
class ReadingTime:
    """From when to when the hosts were read."""

    started: Time
    finished: Time


@dataclass(frozen=True)
class QueueAccount:
    """The messages of the run that the recorder of a host kept.

    messages: how many. foreign: whether somebody else had the queue traced. reason: why there are not all of them.
    """

    host: Text
    messages: Count
    foreign: bool
    reason: Optional[str]


@dataclass(frozen=True)
class SpanAccount:
    """The spans of the boot that a host has.

    spans: how many. reason: why none were read.
    """

    host: Text
    spans: Count
    reason: Optional[str]


@dataclass(frozen=True)
class SourceAccount:
    """A host on which a source of your own was read.

    reason: why it was not read.
    """

    host: Text
    reason: Optional[str]


@dataclass(frozen=True)
class ServerDescription:
    """The verdict in the description of the servers that were kept.

    calls: the requests that wrote it. error: why it could not be written.
    """

    text: Annotated[str, schema(maxLength=LONGEST_DESCRIPTION)]
    calls: tuple[Call, ...]
    error: Optional[str]


@dataclass(frozen=True)
class Record:
    """The record of a run. It is valid from its beginning on; what is not known yet is null or empty.

    schema: the schema's name.
    run_id: name of the run, and of its directory.
    cloud: the cloud's name in clouds.yaml, or the address of its identity service; null if the record was lost.
    started: when the run began.
    finished: when it ended, null until then.
    duration_s: from start to end, null until then.
    verdict: the result, the reason, and for a failure the component, the host, the confidence and the evidence.
    stages: the stages in their order, each with its resources, requests, waits and its error.
    hosts: each host with its clock, its facts, the reads that failed, its checks, and its examination after a failure.
    flows: each flow with its steps, their status, time and evidence, and its coverage by access.
    thresholds: each limit, what it measured, and whether it holds.
    history: by stage, how long it took in the earlier runs on the same cloud.
    created: how many resources the run created.
    deleted: how many of them are confirmed as deleted.
    kept: whether the resources were kept on purpose.
    leftovers: the resources that remain otherwise, and why.
    removal: the removal, in the shape of a stage; only where something was to be removed.
    instance: what the API reported about the instance while it ran; only where hosts were to be read.
    evidence: from when to when the hosts were read; only where they were to be read.
    logs: the logs of each host, whether they are complete, and why not; only where the run was followed.
    errors: the errors in the logs, each kind once; only where the run was followed.
    agents: the states of services and agents after a failed stage; only with an administrator's cloud.
    other_boots: other servers that were built at about the same time; only with an administrator's cloud.
    capacity: what the cloud has for the request at which a stage failed; only if it did not have what was requested.
    queue: how many messages each host's recorder kept; only where the queue was recorded.
    spans: how many spans of the boot OSProfiler had; only where the boot was traced.
    sources: by source of your own, why a host was not read; only where there are such sources.
    diagnosis: how the boot was found in the logs, and the causes of other requests that failed; only in a diagnosis.
    chains: how the request was carried from store to store, and where it broke; only after a failed stage.
    known_bugs: those of others that the errors show; only where there are some.
    operation: the operation on a live cloud that was asked about; only in a diagnosis of one.
    baseline: what there was while all worked, which explains nothing; only in a diagnosis that was given some.
    level: the level of the run, and its parts that were left out; only where the user named one.
    tools: the versions of the programs that started the run.
    server_description: what was written into the description of the server, and how; only where one was kept.
    """

    schema: Annotated[str, schema(const=SCHEMA)]
    run_id: RunId
    cloud: Optional[Text]
    started: Time
    finished: Optional[Time]
    duration_s: Optional[Seconds]
    verdict: Verdict
    stages: tuple[Stage, ...]
    hosts: tuple[Host, ...]
    flows: tuple[FollowedFlow, ...]
    thresholds: tuple[Threshold, ...]
    history: Mapping[StageKey, EarlierRuns]
    created: Count
    deleted: Count
    kept: bool
    leftovers: tuple[Leftover, ...]
    removal: Optional[Stage] = omitted()
    instance: Optional[Instance] = omitted()
    evidence: Optional[ReadingTime] = omitted()
    logs: Optional[tuple[HostLogs, ...]] = omitted()
    errors: Optional[tuple[LoggedError, ...]] = omitted()
    agents: Optional[tuple[Agent, ...]] = omitted()
    other_boots: Optional[OtherBoots] = omitted()
    capacity: Optional[Capacity] = omitted()
    queue: Optional[tuple[QueueAccount, ...]] = omitted()
    spans: Optional[tuple[SpanAccount, ...]] = omitted()
    sources: Optional[Mapping[str, tuple[SourceAccount, ...]]] = omitted()
    diagnosis: Optional[Diagnosis] = omitted()
    chains: Optional[tuple[Chain, ...]] = omitted()
    known_bugs: tuple[KnownBug, ...] = omitted(())
    operation: Optional[Operation] = omitted()
    baseline: Optional[Baseline] = omitted()
    level: Optional[RunLevel] = omitted()
    tools: Optional[Tools] = omitted()
    server_description: Optional[ServerDescription] = omitted()

    @property
    def stages_and_removal(self) -> tuple[Stage, ...]:
        return (
            self.stages
            if self.removal is None
            else (*self.stages, self.removal)
        )

    @property
    def level_name(self) -> Optional[str]:
        """Return the name of the level, if the user named one."""
        return self.level.name if self.level else None

    @property
    def known_errors(self) -> tuple[LoggedError, ...]:
        """Return the errors in the logs; none if the run was not followed."""
        return self.errors or ()

    @property
    def made(self) -> tuple[Resource, ...]:
        """Return what the run has created."""
        return tuple(filter(attrgetter("created"), self.resources))

    @property
    def own_errors(self) -> tuple[LoggedError, ...]:
        """Return the errors in the logs that have an id of the run."""
        return tuple(filter(attrgetter("is_of_run"), self.known_errors))

    @property
    def known_agents(self) -> tuple[Agent, ...]:
        """Return the services and agents as the cloud reports them; none if it was not asked."""
        return self.agents or ()

    @property
    def known_logs(self) -> tuple[HostLogs, ...]:
        """Return the logs that were read; none if the run was not followed."""
        return self.logs or ()

    @property
    def known_chains(self) -> tuple[Chain, ...]:
        """Return the chains that were walked; none without a failed stage."""
        return self.chains or ()

    @property
    def known_links(self) -> tuple[Link, ...]:
        """Return the links of all chains that were walked."""
        return tuple(
            chain.from_iterable(walked.links for walked in self.known_chains)
        )

    @property
    def ports(self) -> tuple[Port, ...]:
        return self.instance.ports if self.instance else ()

    @property
    def networks(self) -> tuple[Network, ...]:
        return self.instance.networks if self.instance else ()

    @property
    def is_removed(self) -> bool:
        """Return whether the run has removed all that it created."""
        return all((self.created, not self.kept, not self.leftovers))

    @property
    def resources(self) -> tuple[Resource, ...]:
        """Return what the stages have made or chosen."""
        return tuple(
            chain.from_iterable(stage.resources for stage in self.stages)
        )

    @property
    def calls(self) -> tuple[Call, ...]:
        """Return the requests of all stages."""
        return tuple(chain.from_iterable(stage.calls for stage in self.stages))

    @property
    def failed_stage(self) -> Optional[Stage]:
        """Return the first stage that failed, in the order of a run."""
        return first_failed(self.stages)

    @property
    def is_removal(self) -> bool:
        """Return whether it is about the removal of a run, as as_removal makes it."""
        return any(stage.stage is StageName.REMOVAL for stage in self.stages)

    @property
    def as_removal(self) -> Record:
        """Return a record in which the removal of the run is the only stage that asked for anything."""
        if self.removal is None:
            return self
        quiet = [replace(stage, calls=(), waits=()) for stage in self.stages]
        started = (
            self.started
            if self.removal.started is None
            else self.removal.started
        )
        return replace(self, started=started, stages=(*quiet, self.removal))

    @property
    def is_about_second_guest(self) -> bool:
        """Return whether the run failed because its second guest did not come as far as the first one."""
        failed = self.failed_stage
        return (
            failed is not None
            and failed.stage is StageName.DATAPLANE
            and bool(failed.details.get("guest"))
        )

    @property
    def has_silent_guest(self) -> bool:
        """Return whether an operation has ended well, and the guest has not answered since."""
        failed = self.failed_stage
        return failed is not None and failed.error_kind == NO_ANSWER

    @property
    def as_second_guest(self) -> Record:
        """Return a record in which the second guest is the one that was to prove itself, if that failed."""
        if not self.is_about_second_guest:
            return self
        proofs = (StageName.METADATA, StageName.DATAPLANE)
        before = [stage for stage in self.stages if stage.stage not in proofs]
        failed = replace(
            self.stage_or_skipped(StageName.DATAPLANE),
            stage=StageName.METADATA,
        )
        return replace(self, stages=(*before, failed))

    @property
    def hosts_by_name(self) -> dict[str, str]:
        """Return the inventory's name of each host, by the names that the host has for itself."""
        return hosts_by_fact(self.hosts, "names")

    @property
    def hosts_by_address(self) -> dict[str, str]:
        """Return the host that has each address."""
        return hosts_by_fact(self.hosts, "addresses")

    @property
    def leftovers_in_words(self) -> str:
        """Return what is left, and why."""
        return ", ".join(
            f"{leftover.name} ({leftover.reason})"
            for leftover in self.leftovers
        )

    def stage(self, name: StageName) -> Optional[Stage]:
        """Return a stage by its name, if it has begun."""
        return next(
            (stage for stage in self.stages if stage.stage == name), None
        )

    def stage_or_skipped(self, name: StageName) -> Stage:
        """Return a stage by its name; one that was skipped and knows nothing if it has not begun."""
        return self.stage(name) or Stage(name, StageStatus.SKIPPED)


def hosts_by_fact(hosts: Iterable[Host], fact: str) -> dict[str, str]:
    """Return the host of each value in a list among the facts of hosts."""
    found: dict[str, str] = {}
    for host in hosts:
        values = host.facts.get(fact) or []
        found.update(dict.fromkeys(values, host.host))
    return found


def first_failed(stages: Iterable[Stage]) -> Optional[Stage]:
    """Return the first failed stage in the order of a run, or None."""
    failed = [stage for stage in stages if stage.status is StageStatus.FAILED]
    return min(
        failed, key=lambda stage: ORDER.index(stage.stage), default=None
    )


# Of earlier runs only this is read: to read some twenty whole records would take longer than all else.


@dataclass(frozen=True)
class EarlierResult:
    result: Result


@dataclass(frozen=True)
class EarlierStage:
    """A stage of an earlier run: how long it took, and how it ended."""

    stage: StageName
    status: StageStatus
    duration_s: Optional[Seconds]


@dataclass(frozen=True)
class EarlierRun:
    """What a run needs of those before it. Its fields are those of a record."""

    run_id: str
    cloud: Optional[str]
    started: Time
    finished: Optional[Time]
    duration_s: Optional[Seconds]
    verdict: EarlierResult
    stages: tuple[EarlierStage, ...]
    errors: Optional[tuple[ErrorKind, ...]] = omitted()
