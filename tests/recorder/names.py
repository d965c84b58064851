# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Gives a new recording the ids of the old one: each id is called as the id that had its place before.

Places are found by laying the structures of both recordings over each other: the id of the resource of the kind network
in the stage network, the request id of the third request of the same method and path, and so on. An id without such a
place keeps its own. So tests that name an id go on to work, and a new recording differs from the old one in what the
cloud does otherwise, and in nothing else.
"""

from __future__ import annotations

import re

UUID = r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
ID = re.compile(
    rf"""
    (?P<uuid>(?<![0-9a-f]){UUID}(?![0-9a-f]))
    | (?P<hash>(?<![0-9a-f])(?:[0-9a-f]{{32}}|[0-9a-f]{{56}})(?![0-9a-f]))
    | (?P<run>\b\d{{8}}-\d{{6}}-[0-9a-f]{{6}}\b)
    | (?P<named>(?<=\bhost-)\d{{1,3}}(?:-\d{{1,3}}){{3}}\b)
    | (?P<mac>(?:(?<=\b01:)|(?<![0-9a-f:]))(?:[0-9a-f]{{2}}:){{5}}[0-9a-f]{{2}}(?![0-9a-f:]))
    | (?P<address>(?<![\d.])\d{{1,3}}(?:\.\d{{1,3}}){{3}}(?![\d.]))
    | (?P<domain>\binstance-[0-9a-f]{{8}}\b)
    | (?P<serial>(?<![0-9a-f-])[0-9a-f]{{8}}(?:-[0-9a-f]{{4}}){{2}}-[0-9a-f](?![0-9a-f-]))
    | (?P<device>(?<=[a-z-])[0-9a-f]{{8}}-[0-9a-f]{{2}}(?![0-9a-f-]))
    """,
    re.VERBOSE,
)
ADDRESS = re.compile(r"\d+(?:\.\d+){3}")
NUMBER = re.compile(r"\d+")
# By which fields parts of a list are the same thing in both recordings, the k-th of one to the k-th of the other
TELLING = ("stage", "kind", "host", "method", "service", "path", "check", "binary", "event", "awaited", "device_owner")
# Names of devices have the beginning of the port's id, serial numbers of disks that of the volume's.
SHORTER = (11, 20)


def blank(text):
    """A text without its ids and numbers, by which it is known again in the other recording."""
    return NUMBER.sub("#", ID.sub(lambda match: f"<{match.lastgroup}>", text))


def telling(part):
    if not isinstance(part, dict):
        return None
    return tuple(blank(str(part[field])) for field in TELLING if field in part)


def grouped(parts, key):
    groups = {}
    for part in parts:
        groups.setdefault(key(part), []).append(part)
    return groups


def same_places(new, old):
    """Pairs of texts, one of each recording, that have the same place in both."""
    if isinstance(new, str) and isinstance(old, str):
        yield new, old
    elif isinstance(new, dict) and isinstance(old, dict):
        keys = grouped(old, blank)
        for name, mine in grouped(new, blank).items():
            for key, other in zip(mine, keys.get(name, [])):
                yield key, other
                yield from same_places(new[key], old[other])
    elif isinstance(new, list) and isinstance(old, list):
        others = grouped(old, telling)
        for name, mine in grouped(new, telling).items():
            for part, other in zip(mine, others.get(name, [])):
                yield from same_places(part, other)


def same_ids(new, old):
    """Pairs of ids, one of each recording, that have the same place in both."""
    for text, other in same_places(new, old):
        mine, others = list(ID.finditer(text)), list(ID.finditer(other))
        if blank(text) == blank(other):
            yield from ((here[0], there[0]) for here, there in zip(mine, others))


class Names:
    """What each id of a new recording is called. The first place of an id counts; no name is given twice."""

    def __init__(self, pairs=()):
        self.known, self._given = {}, set()
        for new, old in pairs:
            self.add(new, old)

    @classmethod
    def of(cls, new, old):
        """The names of two records: what tells most comes first."""
        names = cls([(new["run_id"], old["run_id"])])
        for part in ("stages", "instance", None):
            new_part, old_part = (new, old) if part is None else (new.get(part), old.get(part))
            for pair in same_ids(new_part, old_part):
                names.add(*pair)
        return names

    def add(self, new, old):
        if new in self.known or old in self._given:
            return
        self.known[new] = old
        self._given.add(old)
        if ADDRESS.fullmatch(new):
            self.add(new.replace(".", "-"), old.replace(".", "-"))
        if re.fullmatch(UUID, new):
            for length in SHORTER:
                self.add(new[:length], old[:length])
            self.add(new.replace("-", ""), old.replace("-", ""))

    def text(self, text):
        return ID.sub(lambda match: self.known.get(match[0], match[0]), text)

    def back(self):
        """The names of the other direction."""
        names = Names()
        names.known = {old: new for new, old in self.known.items()}
        return names
