# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The patterns by which flows look for lines: of Python's expressions the plain kind, which nothing can make slow.

A pattern is cut at each ".*" into parts, which are looked for one behind the other. In a part each repeat is followed
by a character that it does not take, so from each place of a line there is one way to match it, and nothing is tried
twice. Whoever wrote the pattern, it costs at most the square of the line's length.
"""

from __future__ import annotations

import re

from .._record.errors import StageError

LONGEST = 500
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
            self.ways = [[compiled(part, part is way[-1]) for part in way] for way in cut(text)]
        except (ValueError, OverflowError, re.error) as exc:
            hint = "docs/flows.md says which patterns there are."
            raise StageError("invalid", f"the pattern {text[:LONGEST]!r}: {exc}", resource=text, hint=hint) from None

    def search(self, text):
        """The values that the pattern names in a text; None if the text does not have it."""
        found = (values_in(text, parts) for parts in self.ways)
        return next((values for values in found if values is not None), None)


def values_in(text, parts):
    at, values = 0, {}
    for part in parts:
        match = part.search(text, at)
        if match is None:
            return None
        at = match.end()
        values.update(match.groupdict())
    return values


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
