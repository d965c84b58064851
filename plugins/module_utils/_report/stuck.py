# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What is stuck on a cloud as lines on the terminal."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence

from .._model.codec import iso_of
from .._model.stuck import Age, StuckGroup, StuckThing
from .messages.words import duration, plural

# In characters, for the words of a cloud in one line
LONGEST_REASON = 160
DIAGNOSE = "ansible-playbook -i INVENTORY stackproof.provision.diagnose"


def lines_of(
    groups: Sequence[StuckGroup],
    asked: float,
    age: Age,
    cloud: str | None,
    variables: Mapping[str, str],
) -> list[str]:
    """Return a block for each group: how many, in which state, what the cloud says, some of them, what to do next.

    variables: those with which the cloud is reached; a diagnosis takes them as well.
    """
    count = sum(group.count for group in groups)
    what = plural(count, "thing") if groups else "Nothing is"
    lines = ["", f"{what} stuck or in error {in_words(age)} on {cloud}", ""]
    for group in groups:
        lines += [*block(group, asked, variables), ""]
    return lines


def in_words(age: Age) -> str:
    if age.most_s is None:
        return f"for more than {duration(age.least_s)}"
    if not age.least_s:
        return f"for less than {duration(age.most_s)}"
    return f"for {duration(age.least_s)} to {duration(age.most_s)}"


def block(
    group: StuckGroup, asked: float, variables: Mapping[str, str]
) -> list[str]:
    where = f" on {group.host}" if group.host else ""
    lines = [
        f"  {plural(group.count, group.kind)}{where}: {group.state}, since {iso_of(group.since)[:19]} UTC"
    ]
    if group.reason:
        lines.append(f"    the cloud says: {group.reason[:LONGEST_REASON]}")
    lines += [
        f"    {thing.id}  {thing.name}  for {duration(asked - thing.since)}"
        for thing in group.things
    ]
    if group.count > len(group.things):
        lines.append(f"    and {group.count - len(group.things)} more")
    return [*lines, f"    next: {command(group.things[0], variables)}"]


def command(thing: StuckThing, variables: Mapping[str, str]) -> str:
    """Return the command that diagnoses one of them."""
    option = (
        "stackproof_server_id"
        if thing.kind == "server"
        else "stackproof_resource_id"
    )
    given = {**variables, option: thing.diagnosed_by or thing.id}
    return " ".join(
        [
            DIAGNOSE,
            *(
                f"-e {shlex.quote(f'{name}={value}')}"
                for name, value in given.items()
            ),
        ]
    )
