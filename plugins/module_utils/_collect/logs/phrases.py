# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The patterns by which flows look for lines: of Python's expressions the plain kind, which nothing can make slow.

A pattern is cut at each ".*" into parts, which are looked for one behind the other. In a part each repeat is followed
by a character that it does not take, so from each place of a line there is one way to match it, and nothing is tried
twice. Such a way may still lead through all of the line, so that a pattern with a wide repeat costs the square of the
length of what it is looked for in. That is why only the beginning of a line is searched for it, and only some of the
alternatives may have one. Whoever wrote the pattern, a search takes about a second at most.
"""

from __future__ import annotations

import re

from ..._record.errors import StageError

LONGEST = 500
# A repeat is wide if it may take more characters than this.
WIDE = 32
# So many alternatives may have a wide repeat. None that the collection comes with has one beside another alternative.
MOST_WIDE = 8
# Only so many characters of a line are searched for an alternative with a wide repeat. What a service says of itself
# stands at the beginning; what is longer are the bodies of requests.
SEARCHED = 4096
# A repeat stands behind a character or a class of characters only, and no group is repeated.
TOKEN = re.compile(
    r"(?P<open>\(\?P<[A-Za-z_]\w*>)|(?P<close>\))|(?P<either>\|)|(?P<place>[\^$]|\\[bB])"
    r"|(?P<atom>\\[dDwWsS]|\\[^0-9A-Za-z]|\[\^?\]?(?:\\.|[^\]\\])*\]|[^\\()\[{|*+?^$])(?P<repeat>[*+?]|\{\d+(?:,\d*)?\})?"
)
ANYTHING = ".*"


class Pattern:
    """A pattern of the plain kind; a StageError says what in it is not."""

    def __init__(self, text):
        try:
            ways = cut(text)
            check_width(ways)
            self.ways = [Way(way) for way in ways]
        except (ValueError, OverflowError, re.error) as exc:
            hint = "docs/flows.md says which patterns there are."
            raise StageError("invalid", f"the pattern {text[:LONGEST]!r}: {exc}", resource=text, hint=hint) from None

    def search(self, text):
        """The values that the pattern names in a text; None if the text does not have it."""
        found = (way.search(text) for way in self.ways)
        return next((values for values in found if values is not None), None)


class Way:
    """One of the alternatives of a pattern."""

    def __init__(self, parts: list[list[re.Match[str]]]) -> None:
        self.parts = [compiled(part, part is parts[-1]) for part in parts]
        self.is_wide = has_wide(parts)

    def search(self, text: str) -> dict[str, str] | None:
        """Return the values that it names in a text; None if the text does not have it."""
        end = min(len(text), SEARCHED) if self.is_wide else len(text)
        at, values = 0, {}
        for part in self.parts:
            match = part.search(text, at, end)
            # What reaches the end of what is searched may go on behind it.
            if match is None or match.end() == end < len(text):
                return None
            at = match.end()
            values.update(match.groupdict())
        return values


def check_width(ways: list[list[list[re.Match[str]]]]) -> None:
    wide = sum(map(has_wide, ways))
    if wide > MOST_WIDE:
        what = f"repeat something without end or more than {WIDE} times"
        raise ValueError(f"{wide} of its alternatives {what}, and {MOST_WIDE} are the most")


def has_wide(parts: list[list[re.Match[str]]]) -> bool:
    return any(is_wide(token) for part in parts for token in part)


def is_wide(token: re.Match[str]) -> bool:
    """Return whether a token may take very many characters."""
    repeat = token["repeat"] or ""
    if repeat in ("", "?"):
        return False
    most = repeat.strip("{}").rpartition(",")[2]
    # Of +, * and {2,} nothing says how often.
    return not most.isdigit() or int(most) > WIDE


def cut(text):
    """Each of the alternatives of a pattern, as a list of parts, which are lists of tokens."""
    if len(text) > LONGEST:
        raise ValueError(f"it has {len(text)} characters, and {LONGEST} are the most")
    ways, depth = [[[]]], 0
    for token in tokens_of(text):
        depth += (token["open"] is not None) - (token["close"] is not None)
        if depth and (token["either"] or token[0] == ANYTHING):
            raise ValueError(f"{token[0]} cannot be in a group")
        if token["either"]:
            ways.append([[]])
        elif token[0] == ANYTHING:
            ways[-1].append([])
        else:
            ways[-1][-1].append(token)
    return ways


def tokens_of(text):
    at = 0
    while at < len(text):
        token = TOKEN.match(text, at)
        if token is None:
            raise ValueError(f"{text[at : at + 12]!r} cannot be in it, or not at this place")
        yield token
        at = token.end()


def compiled(part, is_last):
    for number, token in enumerate(part):
        # The end of a value that is named may come in between.
        after = part[number + 1 :]
        after = after[1:] if after and after[0]["close"] else after
        at_the_end = is_last and (not after or (len(after) == 1 and after[0]["place"]))
        if is_open(token) and not at_the_end and not (after and ends(token, after[0])):
            what = after[0][0] if after else ANYTHING
            raise ValueError(f"{token[0]} must be followed by a character that it does not take, not by {what}")
    return re.compile("".join(token[0] for token in part))


def is_open(token):
    """Whether it may be taken more or less often."""
    return token["repeat"] is not None and not re.fullmatch(r"\{\d+\}", token["repeat"])


def ends(token, following):
    """Whether a repeat ends where the following token begins, and nowhere else."""
    atom, repeat = following["atom"] or ".", following["repeat"] or ""
    is_character = atom != "." and (len(atom) == 1 or re.fullmatch(r"\\[^dDwWsS]", atom))
    return is_character and not re.match(r"[*?]|\{0+[,}]", repeat) and not re.fullmatch(token["atom"], atom[-1])
