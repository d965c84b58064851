# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The numbers of the judge, all of them. None belongs to a component.

They were chosen by hand, with the reasons beside them; tools/verdict_sensitivity.py shows how much depends on each.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import NamedTuple, TypeVar

from .._model.how import How
from .._model.symptom import Kind

Name = TypeVar("Name")
# Digits of a confidence and of a score: what a reader can tell apart
DIGITS = 3
# Nothing is certain.
MOST_CERTAIN = 1 - 10**-DIGITS
SCORE_DIGITS = 2


class Parts(NamedTuple):
    """How much of a symptom at a peer the peer explains, and how much the component that failed there."""

    peer: float
    own: float


def table(values: Mapping[Name, float]) -> Mapping[Name, float]:
    # It is called in the body of a dataclass, which pylint cannot see here.
    return field(default_factory=lambda: MappingProxyType(values))  # pylint: disable=invalid-field-call


# How strongly a symptom of each kind speaks for its cause, as a logarithm of odds: chosen by hand. What a host shows
# of itself counts most; what is only unlike others least. A restart is nothing wrong.
STRENGTH = {
    Kind.STATE: 7.0,
    # The input of the link is there and its output is not: nothing says more, but for a service that does not run.
    Kind.LINK: 7.0,
    Kind.REPORT: 5.0,
    Kind.REACH: 5.0,
    Kind.STEP: 5.0,
    Kind.RESOURCE: 4.5,
    Kind.ANSWER: 4.0,
    Kind.FAILED_AT: 4.0,
    Kind.ERROR: 4.0,
    Kind.NOT_REPORTING: 3.5,
    Kind.CHANGE: 3.0,
    Kind.DIFFERENCE: 1.5,
    Kind.DISABLED: 1.5,
    Kind.RESTART: 0.0,
}

# Which part of that counts, where how it failed says less: chosen by hand
FAINT = {
    (Kind.STATE, How.STARTING): 0.6,
    (Kind.STATE, How.STOPPING): 0.6,
    (Kind.STATE, How.RESTARTED): 0.5,
    # Its health check may fail for want of a peer.
    (Kind.STATE, How.UNHEALTHY): 0.5,
    (Kind.REPORT, How.WARNING): 0.4,
    (Kind.REPORT, How.ERROR): 0.5,
    # A component that waited for an answer has broken nothing.
    (Kind.ERROR, How.SILENT): 0.2,
    (Kind.STEP, How.UNSEEN): 0.4,
    # Much is denied on a healthy host that a program asks for and does not need.
    (Kind.RESOURCE, How.DENIED): 0.6,
}

# Of a failure at a peer: chosen by hand. Who refuses, is silent or is full is mostly the one to blame; who denies
# access or misses something may have been asked wrongly.
PARTS: dict[How | None, Parts] = {
    How.FULL: Parts(0.9, 0.3),
    How.READ_ONLY: Parts(0.9, 0.2),
    How.DENIED: Parts(0.6, 0.4),
    How.UNTRUSTED: Parts(0.4, 0.7),
    How.REFUSED: Parts(0.9, 0.15),
    # Who alone looks for a name has a wrong one.
    How.UNRESOLVED: Parts(0.4, 0.7),
    How.UNREACHABLE: Parts(0.8, 0.4),
    How.SILENT: Parts(0.8, 0.1),
    How.BROKEN_OFF: Parts(0.7, 0.2),
    How.MISSING: Parts(0.5, 0.4),
    # What was there before is in the way, and neither end is broken.
    How.CONFLICT: Parts(0.2, 0.2),
    How.MALFORMED: Parts(0.4, 0.7),
    How.ERROR: Parts(0.9, 0.15),
    None: Parts(0.6, 0.4),
}

# Of a rejection: a peer that rejects one project on one host has been given wrong credentials by it; one that rejects
# several has lost their accounts. Chosen by hand.
REJECTED_ALONE, REJECTED_ALL = Parts(0.3, 0.9), Parts(0.9, 0.2)
# Of a connection that failed to a peer which takes another from the same host: the service may ask through another
# one, or the peer was away for a moment. Chosen by hand.
CONTRADICTED = Parts(0.3, 0.7)
# Of a name that several projects do not find: neither they nor who has it may be wrong. Chosen by hand.
UNNAMED = Parts(0.2, 0.2)
# Of a connection that was lost, and that its client makes again: chosen by hand
RENEWED = Parts(0.2, 0.2)
# Of a peer that one host alone does not reach, and of one that no host reaches: chosen by hand
END_PARTS, UNREACHED_PARTS = Parts(0.2, 0.4), Parts(0.9, 0.15)


@dataclass(frozen=True)
class Weights:
    """The numbers. Each was chosen by hand if its comment gives no other reason: see tools/verdict_sensitivity.py."""

    # A cause of less probability is not named: a wrong name costs an operator more than none.
    named: float = 0.6
    # What a missing step alone leaves of the probability of a component that looks well on its host: of four verdicts
    # by nothing else one was true.
    guess: float = 0.4
    # Divides the logarithm of the odds of a cause that is named. Without it, 19 of 30 verdicts of 80 to 99 % were true
    # for faults that others had made, and 57 of 60 of more.
    doubt: float = 2.0
    strength: Mapping[Kind, float] = table(STRENGTH)
    faint: Mapping[tuple[Kind, How], float] = table(FAINT)
    parts: Mapping[How | None, Parts] = field(
        default_factory=lambda: MappingProxyType(PARTS)
    )
    rejected_alone: Parts = REJECTED_ALONE
    rejected_all: Parts = REJECTED_ALL
    contradicted: Parts = CONTRADICTED
    renewed: Parts = RENEWED
    unnamed: Parts = UNNAMED

    # What a symptom counts
    # Without an id of the run it may be of anybody.
    foreign: float = 0.4
    # A line that names several components points at each of them a little.
    uncertain: float = 0.5
    # Each further symptom of a kind counts so much of the one before it,
    repeated: float = 0.3
    # up to this many of them: the fifth would add less than 1 %.
    repeats: int = 4
    # The error that came first is nearer to the cause than the others, which may follow from it.
    later_error: float = 0.7
    # A warning of the failed request says that something went wrong, and not that it mattered.
    warning: float = 0.5
    # An API may refuse what was asked wrongly; if it logs an error for it as well, something failed in it.
    refusal: float = 0.5
    # An error is no symptom if less than this part of it is left after healthy runs are taken into account.
    least_unusual: float = 0.25
    # An API that does not answer, or fails, may have waited for another component, which only hosts and logs show.
    silent_api_unseen: float = 0.4
    failing_api_unseen: float = 0.6
    # Something may keep a service from reporting, which only its host shows.
    not_reporting_unseen: float = 0.5
    # A component that works for the stage that failed
    stage_part: float = 0.1
    # Each step between what was seen and a missing one adds so much to the divisor of its weight.
    step_distance: float = 1.0

    # What a component explains of the symptoms of others
    # It explains what is wrong with those that depend on it, less certainly than what is wrong with itself.
    dependency: float = 0.4
    # An error that names no other component seldom comes from one.
    behind_error: float = 0.15
    # Of a missing step: the dependencies of who is responsible for it, its receiver, and its carrier
    behind_step: float = 0.2
    step_target: float = 0.25
    step_carrier: float = 0.25
    # What is left at a component that failed at another one, and what that one explains of it
    victim: float = 0.5
    passed_on: float = 0.6
    # Of a peer that one host alone does not reach, and of one that no host reaches
    ends: Parts = END_PARTS
    unreached: Parts = UNREACHED_PARTS

    # Services that stop to report within this time, in seconds, have one cause: the longest of their intervals is that
    # of OVN's agents, whom Neutron asks once a minute.
    same_onset_s: float = 90.0
    # What such a set leaves to each of its members, and gives to what all of them depend on
    set_member: float = 0.2
    set_shared: float = 1.0

    # What distance from the failed stage takes off a score: no part in it, and a dependency of one that the run met
    far: float = -2.5
    behind: float = -1.2
    # A component whose links all hold, while another link is broken, has done its part.
    exonerated: float = -3.0
    # The score of an unknown cause, beside which all others are measured
    unknown: float = 3.0
    # Flattens the probabilities: above 1 less certain, below 1 more.
    temperature: float = 0.8

    # Times, in seconds
    # So long may pass between two steps of a boot that goes well.
    pause_s: float = 10.0
    # An exception is sent back to the caller, who logs it again, within this time.
    reraised_s: float = 2.0
    # A warning is about a failure if it is this near to it: a retry comes after a second or more.
    warned_s: float = 2.0
    # A change of configuration this long ago counts half of one of this moment.
    change_half_s: float = 300.0
    # Files that are written within this time are those of one deployment.
    changed_together_s: float = 60.0
    # A change is mentioned beside what it did, if it counts at least this part of one of this moment.
    fresh_change: float = 0.25
    # Connection pools keep a connection for an hour at most by their usual settings (as connection_recycle_time of
    # oslo.db): until then a client may have one that a restart of the peer has ended.
    remembered_s: float = 3600.0

    # Of a path: what a hop costs that a symptom shows, and one that is only assumed from a dependency
    shown_hop: float = 1.0
    assumed_hop: float = 3.0
    # A service that systemd has restarted so often by itself is in a loop: the first restarts may be those of a peer
    # that was not ready, and systemd gives up after five in ten seconds (DefaultStartLimitBurst).
    crash_loop: int = 3

    # Half of the shortest time after which a service that reports counts as down (service_down_time of Nova, 60 s): a
    # clock that is off by more makes reports and tokens look old or not yet valid.
    clock_offset_s: float = 30.0
    # Zones of time differ by as much, and by multiples of it.
    zone_s: float = 900.0
    # A guest waits for an answer to its request for metadata at least as long.
    answered_s: float = 3.0
    # So long after its last report a service may be asked about.
    reported_s: float = 60.0
    # A service that ends without an error so soon after a change may have ended by that.
    ended_by_change_s: float = 60.0
    # A queue without a consumer and without a message shows that nobody listens, but nobody may have called.
    idle_queue: float = 0.5
    # A name that means another address here may still lead to its service: another network has its own addresses.
    name_that_answers: float = 0.3
    # A link with a smaller MTU than its like may still be large enough for what it carries.
    smaller_mtu: float = 0.6
    # One of several servers behind a balancer is down: the others do its work.
    one_back_end: float = 0.4
    # Facts: what a tunnel adds to a packet of IPv4, in bytes
    geneve: int = 58
    vxlan: int = 50
    gre: int = 42

    # A suspect that is less likely is not looked at: it would send a reader astray.
    suspect: float = 0.01

    # Limits of what is returned
    alternatives: int = 4
    suspects: int = 25
    evidence: int = 10
    dependencies: int = 8
    # A verdict's commands show the logs from this long before the run: what broke it may have begun before.
    logs_before_s: int = 300
    # A fact: the kernel knows a process by the first 15 characters of its name (TASK_COMM_LEN without its end).
    process_name: int = 15

    def change_share(self, ago_s: float) -> float:
        """Return how much a change of configuration counts that is so long ago."""
        return 1 / (1 + ago_s / self.change_half_s)


WEIGHTS = Weights()


def cut(probability: float) -> float:
    """Return a probability with the digits that are recorded. Cut and not rounded, so that the sum stays below 1."""
    scale: int = 10**DIGITS
    return math.floor(probability * scale) / scale


def rounded(probability: float) -> float:
    return round(probability, DIGITS)


def rounded_score(score: float) -> float:
    return round(score, SCORE_DIGITS)
