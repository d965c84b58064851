# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Have grep on a host leave out all lines that are not of the run."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta, timezone

from ..commands import Host, UnreadError
from .line_formats import MONTHS
from .log_files import GONE

# If more lines of one file match than this, other runs use the same keys, or the file is a flood.
MOST = 20000
# The distance of the times that grep looks for, in seconds, and the part of the clock that they share
STEPS = ((60, "%H:%M"), (3600, "%H:"), (86400, ""))
FORMS = (
    "{0:%Y-%m-%d} {2}",
    "{0:%Y-%m-%d}T{2}",
    "{1} {0.day:2d} {2}",
    "{0:%d}/{1}/{0:%Y}:{2}",
)
MOST_MOMENTS = 2000
# What a command printed stands in a message behind its first line: the command, its exit code, and its two outputs.
BEHIND = ("--after-context=4",)
# A line as grep prints it; one that only stands behind a match has a dash behind its number.
PRINTED = re.compile(
    r"(?P<number>\d+)(?:(?P<matches>:)|-)(?P<text>.*)", re.DOTALL
)
# Begins as the lines of services and of syslog do, or those of web servers
DATED = re.compile(
    r"\[?\d{4}-\d\d-\d\d[ T]\d\d:|[A-Z][a-z]{2} [ \d]\d \d\d:|\S+ \S+ \S+ \[\d\d/|\[pid: "
)
# Any time at all
ANY_TIME = [""]
# GNU grep warns of a backslash before a character that needs none.
NEEDLESS_BACKSLASH = re.compile(r"\\([^\\.\[\]{}()*+?^$|])")


def moments(since: float, until: float, zone: float) -> list[str]:
    """Return the beginnings of all times of an interval, as the formats write them in the host's zone and in UTC.

    They are minutes, or hours or days if that would be too many minutes to look for.
    """
    for step, clock in STEPS:
        if (until - since) / step <= MOST_MOMENTS:
            return moments_at(
                since, until, step, clock, list(dict.fromkeys((zone, 0)))
            )
    return ANY_TIME


def moments_at(
    since: float, until: float, step: int, clock: str, offsets: Sequence[float]
) -> list[str]:
    texts: set[str] = set()
    for number in range(int(since // step), int(until // step) + 1):
        begin = number * step
        # In a zone that is not whole hours off, the begin and the end of an hour are in two hours.
        for at in (begin, begin + step - 1):
            for offset in offsets:
                texts.update(written(at, clock, offset))
    return sorted(texts)


def written(at: float, clock: str, offset: float) -> Iterable[str]:
    """Return a time in each of the forms."""
    stamp = datetime.fromtimestamp(at, timezone(timedelta(seconds=offset)))
    month = MONTHS[stamp.month - 1]
    return [form.format(stamp, month, stamp.strftime(clock)) for form in FORMS]


def matching_lines(
    host: Host,
    paths: Sequence[str],
    keys: Iterable[str],
    texts: Sequence[str],
    times: Sequence[str],
) -> dict[str, list[str]]:
    """Return the lines of each path, in the file's order, that hold a key, or one of the texts at one of the times."""
    # A rule of sudo sees all words as one text, where a word after -e could as well be the name of a file.
    fixed = [f"--regexp={key}" for key in keys]
    matches: dict[str, dict[int, str]] = {}
    if fixed:
        collect(matches, output_of(host, paths, "--fixed-strings", *fixed))
    if texts:
        pattern = pattern_of(texts, times)
        words = ("--extended-regexp", f"--regexp={pattern}")
        collect(matches, output_of(host, paths, *words, behind=BEHIND))
    return {
        path: list(dict(sorted(lines.items())).values())
        for path, lines in matches.items()
    }


def pattern_of(texts: Iterable[str], times: Iterable[str]) -> str:
    either = "|".join(map(re.escape, texts))
    when = "|".join(map(re.escape, times))
    pattern = NEEDLESS_BACKSLASH.sub(
        r"\1", f"({when}).*({either})|({either}).*({when})"
    )
    # No word may have a blank in it, for sudo again. A dot matches more, but those lines are left out later.
    return pattern.replace(" ", ".")


def output_of(
    host: Host,
    paths: Sequence[str],
    *patterns: str,
    behind: Sequence[str] = (),
) -> str:
    options = (
        "--text",
        "--with-filename",
        "--null",
        "--line-number",
        *behind,
        f"--max-count={MOST}",
    )
    try:
        return host.ask(
            "logs", "grep", *options, *patterns, "--", *paths, despite=GONE
        )
    except UnreadError as exc:
        if exc.found_nothing:
            return ""
        raise


def collect(matches: dict[str, dict[int, str]], output: str) -> None:
    """Add the lines that grep prints to matches: path to the number and the text of each line.

    Of those behind one that matches only lines of the same message count, up to the next line with a time.
    """
    is_open = False
    for line in output.split("\n"):
        path, _zero, rest = line.partition("\0")
        found = PRINTED.match(rest)
        if found is None:
            continue
        is_open = bool(found["matches"]) or (
            is_open and not DATED.match(found["text"])
        )
        if is_open:
            own = matches.setdefault(path, {})
            own.setdefault(int(found["number"]), found["text"])
