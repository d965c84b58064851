# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The chains of a failed run: a row for each link, with what is wrong at those that do not hold."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby

from ..._model.chain import Chain, Link, LinkState
from ..messages import links
from ..messages.words import place_of

# The word of a state for one link, and for several
WORDS = {
    LinkState.HOLDS: ("holds", "hold"),
    LinkState.BROKEN: ("broken", "broken"),
    LinkState.UNREADABLE: ("unreadable", "unreadable"),
    LinkState.NOT_APPLICABLE: ("does not apply", "do not apply"),
}
# A chain with one of these has something to look at.
NOT_OK = (LinkState.BROKEN, LinkState.UNREADABLE)
NO_REASON = "the store was not read"


@dataclass(frozen=True)
class Row:
    """A link, or several in a row that do not apply.

    wrong: what is wrong at it, or why it could not be read. values: (name, value) of what was expected and found.
    command: what shows it by hand, with the host to run it on. is_behind: whether it is behind the break.
    """

    text: str
    state: LinkState
    word: str
    place: str = ""
    wrong: str | None = None
    values: tuple[tuple[str, str], ...] = ()
    command: str | None = None
    is_break: bool = False
    is_behind: bool = False


@dataclass(frozen=True)
class ChainCard:
    """A chain. counts: (state, how many links have it). is_folded: whether there is nothing wrong in it."""

    title: str
    subject: str | None
    counts: list[tuple[LinkState, str]]
    is_folded: bool
    rows: list[Row]


def card(chain: Chain) -> ChainCard:
    return ChainCard(
        title=links.title(chain),
        subject=chain.subject,
        counts=counts(chain.links),
        is_folded=not any(link.state in NOT_OK for link in chain.links),
        rows=rows(chain),
    )


def counts(of: Iterable[Link]) -> list[tuple[LinkState, str]]:
    numbers = Counter(link.state for link in of)
    return [
        (state, f"{numbers[state]} {word_of(state, numbers[state])}")
        for state in WORDS
        if numbers[state]
    ]


def word_of(state: LinkState, count: int = 1) -> str:
    one, several = WORDS[state]
    return one if count == 1 else several


def rows(chain: Chain) -> list[Row]:
    """Return the rows of a chain in the order of its links; those in a row that do not apply are one."""
    place_of_break = (
        chain.links.index(chain.broken) if chain.broken else len(chain.links)
    )
    each = [
        row_of(link, number - place_of_break)
        for number, link in enumerate(chain.links)
    ]
    found: list[Row] = []
    for state, group in groupby(each, key=lambda row: row.state):
        run = list(group)
        is_folded = state is LinkState.NOT_APPLICABLE and len(run) > 1
        found += [folded(run)] if is_folded else run
    return found


def folded(run: Sequence[Row]) -> Row:
    word = word_of(LinkState.NOT_APPLICABLE, len(run))
    return Row(
        f"{len(run)} links",
        LinkState.NOT_APPLICABLE,
        word,
        is_behind=run[0].is_behind,
    )


def row_of(link: Link, distance: int) -> Row:
    """Return the row of a link. distance: how many links it is behind the break."""
    values = (("expected", link.expected), ("found", link.found))
    is_broken = link.state is LinkState.BROKEN
    known = tuple(
        (name, value)
        for name, value in values
        if is_broken and value is not None
    )
    return Row(
        text=links.holds(link),
        state=link.state,
        word=word_of(link.state),
        place=place_of(link.owner, link.host),
        wrong=wrong_with(link),
        values=known,
        command=command_of(link),
        is_break=distance == 0,
        is_behind=distance > 0,
    )


def wrong_with(link: Link) -> str | None:
    if link.state is LinkState.BROKEN:
        return links.broken(link)[0]
    if link.state is LinkState.UNREADABLE:
        return link.reason or NO_REASON
    return None


def command_of(link: Link) -> str | None:
    if link.command is None:
        return None
    return f"on {link.reader}: {link.command}" if link.reader else link.command
