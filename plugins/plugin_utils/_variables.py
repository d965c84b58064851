# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Finds variables that the collection does not have: Ansible ignores a misspelt name.

PRIVATE to the collection: no promise is made to other users of this file.
"""

from __future__ import annotations

import difflib
import functools
import os
import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass

from ansible_collections.stackproof.provision.plugins.module_utils._record.words import (
    listed,
)
from ansible_collections.stackproof.provision.plugins.plugin_utils._specs import (
    COLLECTION,
    PREFIX,
)

WORD = re.compile(rb"\bstackproof_\w+")
# The folders of a role that use variables. The others hold programs, data and words.
ROLE_FOLDERS = ("defaults", "meta", "tasks", "templates", "vars")
# The tasks with which the playbooks begin their work: the file, and the module in it.
FIRST_TASKS = {
    "playbooks/acceptance.yml": "preflight",
    "playbooks/cleanup.yml": "cleanup",
    "playbooks/load.yml": "preflight",
    "playbooks/tasks/begin.yml": "run",
    "roles/diagnosis/tasks/live.yml": "operation",
    "roles/diagnosis/tasks/main.yml": "bundle_info",
    "roles/diagnosis/tasks/stuck.yml": "stuck_info",
    "roles/report/tasks/compare.yml": "comparison",
    "roles/report/tasks/history.yml": "history",
    "roles/report/tasks/merge.yml": "sweep",
    "roles/report/tasks/render.yml": "report",
}
# How much of two names must be alike, without the prefix, which would make any two short names alike. It is 0.8 for two
# letters in the wrong order in a name of five (imgae), and more for one letter too few or too many. Names of the user's
# own are below: image_name and image_min_ram have 0.76.
ALIKE = 0.8
# So many names fit in a message that somebody reads.
MOST_NAMED = 5
ALL_OF_THEM = "docs/variables.md has all of them"


@dataclass(frozen=True)
class Unknown:
    """A variable that the collection does not have, and the one that was probably meant."""

    name: str
    meant: str | None


def is_first_task(path: str, module: str) -> bool:
    """Return whether a playbook of the collection begins with a task, which stands in the file of this path."""
    place = os.path.relpath(os.path.realpath(path), COLLECTION)
    return FIRST_TASKS.get(place) == module


@functools.cache
def known_names(collection: str = COLLECTION) -> frozenset[str]:
    """Return each word of the playbooks and roles that may be a variable: no list of them can be forgotten."""
    words: set[bytes] = set()
    for path in files_with_variables(collection):
        with open(path, "rb") as stream:
            words.update(WORD.findall(stream.read()))
    return frozenset(word.decode() for word in words)


def files_with_variables(collection: str) -> Iterator[str]:
    yield from files_below(os.path.join(collection, "playbooks"))
    for role in os.scandir(os.path.join(collection, "roles")):
        for folder in ROLE_FOLDERS:
            yield from files_below(os.path.join(role.path, folder))


def files_below(folder: str) -> Iterator[str]:
    for place, _folders, names in os.walk(folder):
        yield from (os.path.join(place, name) for name in names)


def unknown_variables(
    given: Iterable[str], known: Collection[str], defined: Collection[str]
) -> list[Unknown]:
    """Find the names with our prefix that are not known, each with the defined variable that is most like it."""
    names = {name for name in given if name.startswith(PREFIX)} - set(known)
    return [Unknown(name, nearest(name, defined)) for name in sorted(names)]


def nearest(name: str, defined: Collection[str]) -> str | None:
    endings = [candidate.removeprefix(PREFIX) for candidate in defined]
    alike = difflib.get_close_matches(
        name.removeprefix(PREFIX), endings, n=1, cutoff=ALIKE
    )
    return PREFIX + alike[0] if alike else None


def misspelt(unknown: Iterable[Unknown]) -> Iterator[str]:
    """Report the names that are probably misspelt, all of them in one question."""
    found = {
        variable.name: variable.meant for variable in unknown if variable.meant
    }
    if found:
        meant = list(dict.fromkeys(filter(None, found.values())))
        yield f"unknown {named(list(found))}: did you mean {listed(meant, MOST_NAMED)}?"


def refusal(problems: Iterable[str]) -> str | None:
    """Return the text that refuses variables; None if there are no problems with them."""
    texts = [
        problem if problem.endswith("?") else f"{problem}."
        for problem in problems
    ]
    if not texts:
        return None
    return " ".join([*texts, f"{ALL_OF_THEM}."])


def warning(unknown: Iterable[Unknown]) -> str | None:
    """Return the sentence about names like none of ours, which may be the user's own; None if there are none."""
    unused = [variable.name for variable in unknown if not variable.meant]
    if not unused:
        return None
    verb = "are" if len(unused) > 1 else "is"
    return f"unknown {named(unused)} {verb} not used: {ALL_OF_THEM}"


def named(names: list[str]) -> str:
    return (
        f"variable{'s' if len(names) > 1 else ''} {listed(names, MOST_NAMED)}"
    )
