# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The ledger of a run: one line on disk before each create, and one after it."""

from __future__ import annotations

import errno
import json
import os
import re
import stat
from typing import Any

from .clock import now
from .errors import StageError
from .masking import words_of

BEGUN, LOST, MADE, REFUSED, GONE = "begun", "lost", "made", "refused", "gone"
# After these events the resource may exist.
OPEN = (BEGUN, LOST, MADE)
# Whether the service that has not answered hangs, so that it may still make the resource
HANGS = "hangs"
# In characters; the ledger of a run has some thousand.
LONGEST = 4 << 20
# In characters; the largest record so far had less than a hundredth of that.
LONGEST_RECORD = 64 << 20
# Stands for a byte that is not text; our own lines are plain ASCII.
DAMAGE = "\N{REPLACEMENT CHARACTER}"
DAMAGED_LINE = "damaged line"
# The form of the services' ids; a router's interface has two. Another text could lead to another of their URLs.
ID = r"[0-9A-Za-z_-]{1,64}"
TWO_IDS = re.compile(f"{ID}/{ID}")
# Nova knows a key pair by its name, which is ours.
NAME = re.compile(r"[0-9A-Za-z][0-9A-Za-z_.-]{0,254}")
FORMS = {
    "router_interface": TWO_IDS,
    "router_interface_ipv6": TWO_IDS,
    "second_router_interface": TWO_IDS,
    "second_router_interface_ipv6": TWO_IDS,
    "key_pair": NAME,
}
FORM = re.compile(ID)


# What a ledger knows of one resource, and of all, by kind and name
Entry = dict[str, Any]
Entries = dict[tuple[str, str], Entry]


class Ledger:
    """Lines of {at, event, kind, name, id}. Kind and name identify a resource, as we choose both."""

    def __init__(self, path: str, recover: bool = False) -> None:
        """Read the ledger. With recover one that cannot be read at all is an entry that says so, and no error."""
        self.path = path
        try:
            self.entries = read_entries(path)
        except (StageError, OSError) as exc:
            if not recover or isinstance(exc, ForeignFileError):
                raise
            self.entries = {}
            enter(self.entries, damaged(f"the whole ledger ({words_of(exc)})"))

    def write(self, event: str, kind: str, name: str, **fields: Any) -> None:
        line = {
            "at": now(),
            "event": event,
            "kind": kind,
            "name": name,
            **fields,
        }
        with open(self.path, "a", encoding="utf-8", opener=private) as stream:
            # A crash may have cut off the last line: the next one begins on a line of its own.
            stream.write(
                ("" if ends_whole(self.path) else "\n")
                + json.dumps(line)
                + "\n"
            )
            stream.flush()
            os.fsync(stream.fileno())
        enter(self.entries, line)

    def find(self, kind: str, name: str) -> Entry | None:
        return self.entries.get((kind, name))


def is_id(kind: str, identity: Any) -> bool:
    """Return whether something may be the id of such a resource."""
    return (
        isinstance(identity, str)
        and FORMS.get(kind, FORM).fullmatch(identity) is not None
    )


def private(path: str, flags: int) -> int:
    """Open one of a run's own files. Only the user may read them, and a link is refused, as it may lead anywhere."""
    return regular(path, flags | os.O_NOFOLLOW)


def regular(path: str, flags: int) -> int:
    """Open a regular file. A FIFO would keep its opener for as long as nobody opens the other end."""
    refusal = OSError(errno.EINVAL, "it is not a regular file", path)
    try:
        handle = os.open(path, flags | os.O_NONBLOCK, 0o600)
    except OSError as exc:
        # A FIFO that nobody reads
        raise refusal if exc.errno == errno.ENXIO else exc from None
    if stat.S_ISREG(os.fstat(handle).st_mode):
        return handle
    os.close(handle)
    raise refusal


class ForeignFileError(StageError):
    """A link or a device in the place of a run's file: somebody has put it there, and nothing is done by its words."""


def own_text(path: str, longest: int, errors: str = "strict") -> str:
    """Return the text of a run's own file. A longer file is refused, and anything but a regular file."""
    if os.path.lexists(path) and not stat.S_ISREG(os.lstat(path).st_mode):
        raise ForeignFileError(
            "no_run", f"{path} is not a regular file, so it is not a run's own"
        )
    with open(path, encoding="utf-8", errors=errors, opener=private) as stream:
        text = stream.read(longest + 1)
    if len(text) > longest:
        raise StageError(
            "no_run",
            f"{path} is longer than {longest} characters, so it is not a run's own",
        )
    return text


def ends_whole(path: str) -> bool:
    with open(path, "rb") as stream:
        size = stream.seek(0, os.SEEK_END)
        stream.seek(max(0, size - 1))
        return stream.read() in (b"", b"\n")


def begun(kind: str, name: str, at: str) -> Entry:
    """Return the entry of a resource whose creation has begun: nothing else is known of it."""
    return {
        "kind": kind,
        "name": name,
        "event": BEGUN,
        "id": None,
        "begun": at,
        "lost": None,
        HANGS: False,
    }


def enter(entries: Entries, line: dict[str, Any]) -> None:
    kind, name = line["kind"], line["name"]
    new = begun(kind, name, line["at"])
    entry = entries.setdefault((kind, name), new)
    if line["event"] == BEGUN:
        # Begun again after the first one was gone or refused, whose id and times are not those of this one.
        entry.update(new)
    elif line["event"] == LOST:
        entry["lost"] = line["at"]
    entry.update(
        {field: value for field, value in line.items() if field != "at"}
    )


def damaged(name: str) -> dict[str, Any]:
    """Return a line that stands for one that cannot be read."""
    return {"at": None, "event": MADE, "kind": DAMAGED_LINE, "name": name}


def read_entries(path: str) -> Entries:
    """Return the last entry of each resource, in the order in which they were begun."""
    entries: Entries = {}
    try:
        lines = own_text(path, LONGEST, errors="replace").split("\n")
    except FileNotFoundError:
        return entries
    for number, text in enumerate(lines, 1):
        if DAMAGE in text:
            # The line may have named a resource: the removal reports that it cannot know.
            enter(entries, damaged(f"line {number} of {path}"))
            continue
        try:
            line = json.loads(text)
            enter(entries, line)
        except (ValueError, KeyError, TypeError, RecursionError):
            continue  # empty, or cut off by a crash: nothing is made before its line is whole on disk
    return entries
