# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The verdict on a run: its result, and for a failure the component that broke it, with the evidence."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Optional

from .codec import Positive, Share, Text, Time, omitted, schema
from .words import Result, StageName

# In characters: a headline is one line of a terminal, and a quoted line of a log may be longer.
LONGEST_HEADLINE = 140
LONGEST_QUOTE = 300

Headline = Annotated[str, schema(maxLength=LONGEST_HEADLINE)]


@dataclass(frozen=True)
class Place:
    """A component on a host; either may be unknown."""

    component: Optional[str]
    host: Optional[str]


@dataclass(frozen=True)
class Connection:
    """The connection from one component to another.

    source: the one that depends on the other. how: how it failed there.
    """

    source: Place
    target: Place
    how: Optional[str]


@dataclass(frozen=True)
class LastSeen:
    """The step that was seen last before the failure."""

    id: str
    message: str
    at: Time
    host: Optional[str]


@dataclass(frozen=True)
class QuoteSource:
    """Whose log the quoted line is from, and when it was written."""

    component: str
    host: Optional[str]
    at: Optional[str]


@dataclass(frozen=True)
class Alternative:
    """Another possible cause, with its evidence.

    weight: how much evidence there is; only the order of weights says something. next: what to do if it is this one.
    """

    component: Text
    host: Optional[str]
    weight: Positive
    evidence: tuple[Text, ...]
    confidence: Share
    next: Optional[str] = omitted()


@dataclass(frozen=True)
class Hop:
    """A hop of the path from the cause to the failed stage.

    source: who fails. target: who fails for want of the source; the source itself for what is wrong with the cause, and
    null for the stage. evidence: what shows it at the target; null if it is only assumed from a dependency.
    """

    source: Place
    target: Optional[Place]
    evidence: Optional[Text]


@dataclass(frozen=True)
class Verdict:
    """The result of a run, and the component that broke it.

    result: pass, fail or incomplete.
    stage: the stage that failed.
    reason: most of the following in one paragraph.
    step: the first missing step in which the component takes part, by its id.
    component: the component that broke the run; null if none was identified.
    host: the host of the component.
    last_seen: the last step that was seen before.
    evidence: the observations that support the cause, the weightiest first.
    headline: where and what, in at most 140 characters.
    missing_step: the step that did not happen, in words.
    confidence: the probability that the component is the cause, from 0 to 1.
    quote: the line of a log that shows it best, of at most 300 characters and without secrets.
    quote_source: the component and the host that logged the quote, and when.
    connection: source, target and how it failed, if the connection between two components is cut.
    explains: what is wrong because of the cause.
    unexplained: what else is wrong.
    also: what of that is broken by itself and was needed by this run: a second cause. Only if there is one.
    dependencies: each dependency on the cause that its symptoms show: source, target, and how it failed.
    path: the hops from the cause to the failed stage: source, target, and the evidence of each.
    next: the command to run next, and where.
    then: what to do to put it right, and on what condition.
    alternatives: other possible causes, the likeliest first, each with its own evidence and what to do next.
    """

    result: Result
    stage: Optional[
        Annotated[str, schema(enum=tuple(stage.value for stage in StageName))]
    ]
    reason: Text
    step: Optional[str] = None
    component: Optional[str] = None
    host: Optional[str] = None
    last_seen: Optional[LastSeen] = None
    evidence: tuple[Text, ...] = ()
    headline: Optional[Headline] = None
    missing_step: Optional[str] = None
    confidence: Optional[Share] = None
    quote: Optional[Annotated[str, schema(maxLength=LONGEST_QUOTE)]] = None
    quote_source: Optional[QuoteSource] = None
    connection: Optional[Connection] = None
    explains: tuple[Text, ...] = ()
    unexplained: tuple[Text, ...] = ()
    also: tuple[Text, ...] = omitted(())
    dependencies: tuple[Connection, ...] = ()
    path: tuple[Hop, ...] = ()
    next: Optional[str] = None
    then: Optional[str] = omitted()
    alternatives: tuple[Alternative, ...] = ()
