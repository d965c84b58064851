# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Find the log files of a host that were written during a run, and read the first and last lines of each."""

from __future__ import annotations

import errno
import fnmatch
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import IO

from ..commands import Host, UnreadError
from .wanted import Writer

# Lines at each end. A service logs much at its start, and a traceback is long, before a line with a time comes.
EDGE = 100
# In bytes. A hole in a file reads as zeros without an end of line: grep keeps all of it in memory, and tail reads to
# its begin. A file that is truncated while its service writes on has one as long as it was.
LARGEST_HOLE = 256 << 20
# A file may have more parts between holes; the others are not looked at.
MOST_PARTS = 10000
# Bytes of the first or last lines of all files. 100 lines of 16 KiB of ten files are a quarter of it.
LARGEST_EDGES = 64 << 20
# A file may be rotated away after it was listed: the others are still read, and it counts as not read whole.
GONE = "No such file"
# The name of a file that head and tail print above its lines
TITLE = re.compile(r"^==> (.+?) <==\n", re.MULTILINE)

# The first and the last lines of a file; the last one comes first.
Edges = tuple[Sequence[str], Sequence[str]]


@dataclass(frozen=True)
class FoundFile:
    """A log file. changed: seconds since the epoch."""

    service: str
    changed: float


def files_of(
    host: Host, writers: Sequence[Writer], since: float
) -> dict[str, FoundFile]:
    """Return the logs written since a time by their paths, rotated ones too."""
    roots: set[str] = set()
    for writer in writers:
        roots.update(map(root_of, writer.files or ()))
    if not roots:
        return {}
    # One command for all: without root each command is checked by sudo.
    only = [
        "-maxdepth",
        "3",
        "-type",
        "f",
        "-newermt",
        f"@{since:.0f}",
        "-printf",
        r"%T@ %p\n",
    ]
    files = {}
    for line in host.ask(
        "logs", "find", *sorted(roots), *only, despite=GONE
    ).splitlines():
        changed, _space, path = line.partition(" ")
        service = service_of(path, writers)
        if service:
            files[path] = FoundFile(service, float(changed))
    return files


def root_of(pattern: str) -> str:
    """Return the directory above all that a pattern can match: /var/log/nova for /var/log/nova/nova-api*.log."""
    fixed = re.split(r"[*?\[]", pattern, maxsplit=1)[0]
    return fixed.rpartition("/")[0] or "/"


def service_of(path: str, writers: Iterable[Writer]) -> str | None:
    for writer in writers:
        for pattern in writer.files or ():
            if is_file_of(path, pattern):
                return writer.service
    return None


def is_file_of(path: str, pattern: str) -> bool:
    if fnmatch.fnmatchcase(path, pattern):
        return True
    # A rotated file has a number or a date behind its name.
    return fnmatch.fnmatchcase(path, pattern + "[.-]*")


def holes_in(host: Host, paths: Iterable[str]) -> dict[str, int]:
    """Return the bytes of the largest hole of each file that has one too large to be read."""
    # In a container the same paths are other files.
    if host.prefixes.get("logs"):
        return {}
    found = {path: largest_hole(path) for path in paths}
    return {path: size for path, size in found.items() if size > LARGEST_HOLE}


def largest_hole(path: str) -> int:
    """Return how many bytes the largest hole of a file has; 0 if it cannot be found out."""
    largest = at = 0
    try:
        number = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    except OSError:
        return 0
    try:
        size = os.fstat(number).st_size
        for _part in range(MOST_PARTS):
            hole = os.lseek(number, at, os.SEEK_HOLE)
            if hole >= size:
                break
            at = data_after(number, hole, size)
            largest = max(largest, at - hole)
    # The file is shorter by now, or no file that has places.
    except OSError:
        pass
    finally:
        os.close(number)
    return largest


def data_after(number: int, hole: int, size: int) -> int:
    """Return where a hole ends."""
    try:
        return os.lseek(number, hole, os.SEEK_DATA)
    except OSError as exc:
        if exc.errno == errno.ENXIO:
            return size
        raise


def edges_of(host: Host, paths: Sequence[str]) -> dict[str, Edges]:
    """Return the first and the last lines of each file."""
    first = heads_of(host, paths)
    last = by_path(asked_for_edges(host, "tail", paths))
    return {
        path: (first.get(path, []), last.get(path, [])[::-1]) for path in paths
    }


def heads_of(host: Host, paths: Sequence[str]) -> dict[str, list[str]]:
    return by_path(asked_for_edges(host, "head", paths))


def asked_for_edges(host: Host, program: str, paths: Sequence[str]) -> str:
    words = [program, "--verbose", f"--lines={EDGE}", "--", *paths]

    def take(stream: IO[bytes]) -> str:
        data = stream.read(LARGEST_EDGES + 1)
        # Of a file without line ends both programs print all.
        if len(data) > LARGEST_EDGES:
            raise UnreadError(
                "failed",
                words,
                f"it prints more than {LARGEST_EDGES >> 20} MiB",
            )
        return data.decode("utf-8", "surrogateescape")

    return host.ask("logs", *words, despite=GONE, take=take)


def by_path(output: str) -> dict[str, list[str]]:
    """Return the lines of each path, from the output of head or tail for several files."""
    _before, *parts = TITLE.split(output)
    return {
        path: text.splitlines() for path, text in zip(parts[::2], parts[1::2])
    }


def is_same_file(
    edges: Edges, path: str, later: Mapping[str, list[str]]
) -> bool:
    """Return whether a file still has the first line that it had when its edges were read."""
    return list(edges[0][:1]) == later.get(path, [])[:1]
