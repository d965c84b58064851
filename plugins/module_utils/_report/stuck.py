# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What is stuck on a cloud as lines on the terminal."""

from __future__ import annotations

from collections.abc import Sequence

from .._model.codec import iso_of
from .._model.stuck import StuckGroup, StuckThing
from .messages.words import duration, plural

# In characters, for the words of a cloud in one line
LONGEST_REASON = 160
DIAGNOSE = "ansible-playbook -i INVENTORY stackproof.provision.diagnose"


def lines_of(groups: Sequence[StuckGroup], asked: float, older_s: float, cloud: str | None) -> list[str]:
    """Return a block for each group: how many, in which state, what the cloud says, some of them, what to do next."""
    count = sum(group.count for group in groups)
    head = f"{plural(count, 'thing')} stuck or in error for more than {duration(older_s)} on {cloud}"
    lines = ["", head if groups else f"Nothing is stuck or in error for more than {duration(older_s)} on {cloud}", ""]
    for group in groups:
        lines += [*block(group, asked), ""]
    return lines


def block(group: StuckGroup, asked: float) -> list[str]:
    where = f" on {group.host}" if group.host else ""
    lines = [f"  {plural(group.count, group.kind)}{where}: {group.state}, since {iso_of(group.since)[:19]} UTC"]
    if group.reason:
        lines.append(f"    the cloud says: {group.reason[:LONGEST_REASON]}")
    lines += [f"    {thing.id}  {thing.name}  for {duration(asked - thing.since)}" for thing in group.things]
    if group.count > len(group.things):
        lines.append(f"    and {group.count - len(group.things)} more")
    return [*lines, f"    next: {command(group.things[0])}"]


def command(thing: StuckThing) -> str:
    option = "stackproof_server_id" if thing.kind == "server" else "stackproof_resource_id"
    return f"{DIAGNOSE} -e {option}={thing.id}"
