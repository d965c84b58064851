# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Search for lines by the patterns of flows: of Python's expressions the plain kind, which nothing can make slow.

A pattern is cut at each ".*" into parts, which are looked for one behind the other. In a part each repeat is followed
by a character that it does not take, so from each place of a line there is one way to match it, and nothing is tried
twice. Such a way may still lead through all of the line, so that a pattern with a wide repeat costs the square of the
length of what it is looked for in. Therefore only the beginning of a line is searched for it, and only some of the
alternatives may have one. Whoever wrote the pattern, a search takes about a second at most.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from ..._record.errors import StageError

LONGEST = 500
# A repeat is wide if it may take more characters than this.
WIDE = 32
# Alternatives with a wide repeat. No pattern of the collection has one beside another alternative.
MOST_WIDE = 8
# Characters of a line that are searched for an alternative with a wide repeat. Services write
# about themselves at the beginning; longer lines hold the bodies of requests.
SEARCHED = 4096
# A repeat stands behind a character or a class of characters only, and no group is repeated.
TOKEN = re.compile(
    r"(?P<open>\(\?P<[A-Za-z_]\w*>)|(?P<close>\))|(?P<either>\|)|(?P<place>[\^$]|\\[bB])"
    r"|(?P<atom>\\[dDwWsS]|\\[^0-9A-Za-z]|\[\^?\]?(?:\\.|[^\]\\])*\]|[^\\()\[{|*+?^$])(?P<repeat>[*+?]|\{\d+(?:,\d*)?\})?"
)
ANYTHING = ".*"


# A repeat that takes one number of characters
FIXED = re.compile(r"\{\d+\}")
# A repeat that may take none of a character
MAY_BE_ABSENT = re.compile(r"[*?]|\{0+[,}]")
ESCAPED = re.compile(r"\\[^dDwWsS]")

# A token of a pattern; a part is what stands between two ".*", and an alternative is a list of parts.
Token = re.Match[str]
Part = list[Token]


class Pattern:
    """A pattern of the plain kind; a StageError names what in it is not."""

    def __init__(self, text: str) -> None:
        try:
            alternatives = cut(text)
            check_width(alternatives)
            self.alternatives = list(map(Alternative, alternatives))
        except (ValueError, OverflowError, re.error) as exc:
            hint = "docs/flows.md lists the patterns that there are."
            raise StageError(
                "invalid",
                f"the pattern {text[:LONGEST]!r}: {exc}",
                resource=text,
                hint=hint,
            ) from None

    def search(self, text: str) -> dict[str, str | None] | None:
        """Return the values that the pattern names in a text; None if the text does not have it."""
        for alternative in self.alternatives:
            values = alternative.search(text)
            if values is not None:
                return values
        return None


class Alternative:
    """One of the alternatives of a pattern."""

    def __init__(self, parts: list[Part]) -> None:
        self.parts = [compiled(part, part is parts[-1]) for part in parts]
        self.is_wide = has_wide(parts)

    def search(self, text: str) -> dict[str, str | None] | None:
        """Return the values that it names in a text; None if the text does not have it."""
        end = min(len(text), SEARCHED) if self.is_wide else len(text)
        at = 0
        values: dict[str, str | None] = {}
        for part in self.parts:
            match = part.search(text, at, end)
            # A match that reaches the end of the searched part may go on behind it.
            if match is None or match.end() == end < len(text):
                return None
            at = match.end()
            values.update(match.groupdict())
        return values


def check_width(alternatives: list[list[Part]]) -> None:
    wide = sum(map(has_wide, alternatives))
    if wide > MOST_WIDE:
        what = f"repeat something without end or more than {WIDE} times"
        raise ValueError(
            f"{wide} of its alternatives {what}, and {MOST_WIDE} are the most"
        )


def has_wide(parts: list[Part]) -> bool:
    return any(any(map(is_wide, part)) for part in parts)


def is_wide(token: Token) -> bool:
    """Return whether a token may take very many characters."""
    repeat = token.group("repeat") or ""
    if repeat in ("", "?"):
        return False
    most = repeat.strip("{}").rpartition(",")[2]
    # +, * and {2,} have no upper limit.
    return not most.isdigit() or int(most) > WIDE


def cut(text: str) -> list[list[Part]]:
    """Return each of the alternatives of a pattern."""
    if len(text) > LONGEST:
        raise ValueError(
            f"it has {len(text)} characters, and {LONGEST} are the most"
        )
    alternatives: list[list[Part]] = [[[]]]
    depth = 0
    for token in tokens_of(text):
        depth += (token.group("open") is not None) - (
            token.group("close") is not None
        )
        is_either, is_anything = (
            bool(token.group("either")),
            token[0] == ANYTHING,
        )
        if depth and (is_either or is_anything):
            raise ValueError(f"{token[0]} cannot be in a group")
        if is_either:
            alternatives.append([[]])
        elif is_anything:
            alternatives[-1].append([])
        else:
            alternatives[-1][-1].append(token)
    return alternatives


def tokens_of(text: str) -> Iterator[Token]:
    at = 0
    while at < len(text):
        token = TOKEN.match(text, at)
        if token is None:
            raise ValueError(
                f"{text[at : at + 12]!r} cannot be in it, or not at this place"
            )
        yield token
        at = token.end()


def compiled(part: Part, is_last: bool) -> re.Pattern[str]:
    """Return the expression of a part; each of its repeats must end at a character that it does not take."""
    for number, token in enumerate(part):
        following = part[number + 1 :]
        # The end of a value that is named may come in between.
        if following and following[0].group("close"):
            following = following[1:]
        if not is_open(token) or has_end(token, following, is_last):
            continue
        what = ANYTHING
        if following:
            what = following[0][0]
        raise ValueError(
            f"{token[0]} must be followed by a character that it does not take, not by {what}"
        )
    texts = [token[0] for token in part]
    return re.compile("".join(texts))


def has_end(token: Token, following: Sequence[Token], is_last: bool) -> bool:
    """Return whether a repeat ends at one place only: at the end of the pattern, or where the next token begins."""
    if not following:
        return is_last
    if is_last and len(following) == 1 and following[0].group("place"):
        return True
    return ends(token, following[0])


def is_open(token: Token) -> bool:
    """Return whether it may be taken more or less often."""
    repeat = token.group("repeat")
    return repeat is not None and not FIXED.fullmatch(repeat)


def ends(token: Token, following: Token) -> bool:
    """Return whether a repeat ends where the following token begins, and nowhere else."""
    atom = following.group("atom")
    if not atom or atom == ".":
        return False
    is_class = len(atom) > 1 and not ESCAPED.fullmatch(atom)
    if is_class:
        return False
    repeat = following.group("repeat")
    if repeat and MAY_BE_ABSENT.match(repeat):
        return False
    character = atom[-1]
    return not re.fullmatch(token.group("atom"), character)
