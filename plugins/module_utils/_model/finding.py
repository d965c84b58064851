# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The judge's result as data: hypotheses, the one that is named, what it explains, and what to do next."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Optional

from .flow import Step
from .shortage import Explanation
from .stage import Stage
from .symptom import Symptom
from .verdict import Connection
from .words import Result, Word


class Suspect(Word):
    """What a hypothesis accuses: a component, the connection from one to a peer, or a restart before the run."""

    COMPONENT = "component"
    CONNECTION = "connection"
    RESTART = "restart"


@dataclass(frozen=True)
class Cause:
    """A hypothesis about what broke the run.

    score: how much speaks for it, as a logarithm of odds. symptoms: those that it explains, the weightiest first.
    between: the symptom that shows the connection to another suspect, with which it is named together.
    advice: what to do if it is this one, of a suspect that is not named.
    """

    suspect: Suspect
    component: str
    host: Optional[str]
    score: float
    symptoms: tuple[Symptom, ...] = ()
    confidence: float = 0.0
    between: Optional[Symptom] = None
    advice: Optional[Advice] = None

    @property
    def place(self) -> tuple[str, Optional[str]]:
        return self.component, self.host

    def shows(self, symptom: Symptom) -> bool:
        """Return whether it is this component that shows a symptom."""
        return symptom.component == self.component and symptom.host in (
            None,
            self.host,
        )


@dataclass(frozen=True)
class Arrow:
    """A hop of the path from a cause to the failed stage. symptom: what shows it; None if it is only assumed.

    An arrow to its own source is what is wrong with the cause; one to no component ends at the stage.
    """

    source: tuple[Optional[str], Optional[str]]
    target: tuple[Optional[str], Optional[str]]
    symptom: Optional[Symptom] = None

    @property
    def is_of_cause(self) -> bool:
        return self.source == self.target

    @property
    def ends_at_stage(self) -> bool:
        return self.target == (None, None)


class Reason(Word):
    """Why an advice is given."""

    SHOW_STATE = "show_state"
    RUN_AGAIN = "run_again"
    KEEP = "keep"
    ALLOW_MORE_TIME = "allow_more_time"
    GIVE_INVENTORY = "give_inventory"
    GIVE_ADMIN_CLOUD = "give_admin_cloud"
    MAKE_HOSTS_READABLE = "make_hosts_readable"
    LOG_DEBUG = "log_debug"
    LOG_MESSAGING = "log_messaging"
    LOOK_AT_SLOWEST = "look_at_slowest"


class Condition(Word):
    """On what condition a command is a repair."""

    FILE_IS_RIGHT = "file_is_right"
    NOT_INTENDED = "not_intended"
    NEEDED = "needed"
    REMADE = "remade"


@dataclass(frozen=True)
class Repair:
    """A command that puts right what is wrong, on a condition. path: the file that has to be right before.

    host: where to run it; None for a client of the API.
    """

    condition: Condition
    command: str
    host: Optional[str] = None
    path: Optional[str] = None


@dataclass(frozen=True)
class Advice:
    """What to do next: a command and the host to run it on, or something that needs no command.

    hosts: those that could not be read. then: what to look at after that, on another host. repair: what to do
    once settings are right.
    """

    reason: Reason
    command: Optional[str] = None
    host: Optional[str] = None
    hosts: tuple[str, ...] = ()
    then: Optional[Advice] = None
    repair: Optional[Repair] = None


@dataclass(frozen=True)
class Finding:
    """What is known about the cause of a failure.

    cause: the one that is named. restart: one before the run that explains it, for which no component is to blame.
    suspects: other causes. step: the missing step that the cause has to do with. pause_s: how long before the end the
    last step was seen, if so short that the stage may only be slow. main: the symptom that says most about the cause.
    change: a recent change of its configuration beside that. also: what proves that another
    component is broken as well.
    unsatisfied: why the cloud does not have what was asked for, if no component is to blame for that.
    """

    cause: Optional[Cause] = None
    restart: Optional[Cause] = None
    suspects: tuple[Cause, ...] = ()
    step: Optional[Step] = None
    pause_s: Optional[float] = None
    last_seen: Optional[Step] = None
    quoted: Optional[Symptom] = None
    connection: Optional[Connection] = None
    evidence: tuple[Symptom, ...] = ()
    explains: tuple[Symptom, ...] = ()
    unexplained: tuple[Symptom, ...] = ()
    also: tuple[Symptom, ...] = ()
    dependencies: tuple[Connection, ...] = ()
    path: tuple[Arrow, ...] = ()
    main: Optional[Symptom] = None
    change: Optional[Symptom] = None
    advice: Optional[Advice] = None
    unsatisfied: Optional[Explanation] = None


class Outcome(Word):
    """What decided the result of a run."""

    PASSED = "passed"
    NOTHING_FOUND = "nothing_found"
    NOT_EXAMINED = "not_examined"
    INTERRUPTED = "interrupted"
    STAGE_MISSING = "stage_missing"
    BROKE_OFF = "broke_off"
    STAGE_FAILED = "stage_failed"
    CHECK_FAILED = "check_failed"
    LIMIT_EXCEEDED = "limit_exceeded"
    LEFT = "left"
    NOT_REMOVED = "not_removed"


@dataclass(frozen=True)
class Judgement:
    """The result of a run, with what decided it.

    stage: the one that did, as its name. host: the one whose check did. interruption: why the run did not do all its
    work after the stages; empty where the reason is not known.
    """

    result: Result
    outcome: Outcome
    stage: Optional[str] = None
    host: Optional[str] = None
    failed: Optional[Stage] = None
    finding: Optional[Finding] = None
    interruption: Optional[str] = None
