# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Finds lines in a collected log: compressed or not, and damaged or not."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import stat
import zlib
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import IO, Any

from .._collect.logs.grep import MOST
from .._collect.logs.log_files import EDGE
from . import holes, unxz

# Only so many bytes of a line are searched: a line may be a megabyte long, and a file may have no line ends at all.
LONGEST = 65536
# Only so many bytes of an unpacked file are read: a small file may unpack to an endless one.
LARGEST = 16 << 30
BLOCK = 1 << 20
# In bytes: enough to know what kind of file it is
START = 4096
# Only so many bytes of lines are kept of a file: MOST lines of usual length are a tenth of it.
LARGEST_FOUND = 64 << 20
# To unpack gzip takes 32 KiB, and bzip2 4 MiB, whatever the file says.
OPENERS: dict[str, Callable[[Any], Any]] = {
    ".gz": gzip.open,
    ".bz2": bz2.open,
    ".xz": unxz.opened,
}
# A journal begins so; only the program of journald can read it.
JOURNAL = b"LPKSHHRH"

# Returns whether a line is wanted, or whether a block has a wanted line
IsWanted = Callable[[bytes], Any]


class TooLargeError(Exception):
    """A file has more bytes than are read."""


class Sifted:
    """The lines found in a file. why: the reason why it was not read to its end; None if it was."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.head: list[bytes] = []
        self.tail: deque[bytes] = deque(maxlen=EDGE)
        self.changed = 0.0
        self.why: str | None = None

    @property
    def edges(self) -> tuple[list[str], list[str]]:
        """Return the first lines, and the last lines from the end."""
        return list(map(text_of, self.head)), list(
            map(text_of, reversed(self.tail))
        )


def sift(path: str, is_wanted: IsWanted) -> Sifted:
    """Return the wanted lines of a file, as text."""
    sifted = Sifted()
    try:
        with opened(path) as stream:
            sifted.changed = os.fstat(stream.fileno()).st_mtime
            start = stream.read(START)
            sifted.why = why_not(start, path)
            if sifted.why is None:
                take(sifted, start, stream, is_wanted)
    except (EOFError, zlib.error):
        sifted.why = "it is cut off: what is compressed in it ends too early"
    except lzma.LZMAError:
        sifted.why = "it is damaged, or not what its name says"
    except unxz.TooMuchMemoryError:
        sifted.why = (
            f"it takes more than {unxz.MEMORY >> 20} MiB of memory to unpack"
        )
    except MemoryError:
        sifted.why = "this machine has not enough memory to read it"
    except TooLargeError:
        sifted.why = f"more than {LARGEST >> 30} GiB are in it"
    except OSError as exc:
        sifted.why = f"it cannot be read: {exc.strerror or exc}"
    return sifted


def opened(path: str) -> Any:
    """Return a regular file, unpacked; a link that has taken its place meanwhile is not followed."""
    raw: IO[bytes] = os.fdopen(
        os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb"
    )
    if not stat.S_ISREG(os.fstat(raw.fileno()).st_mode):
        raw.close()
        raise OSError(None, "it is not a regular file")
    opener = OPENERS.get(os.path.splitext(path)[1])
    if opener:
        return opener(raw)
    return holes.opened(raw)


def why_not(start: bytes, path: str) -> str | None:
    """Return why a file that begins so cannot be read as text, or None if it can."""
    if start.startswith(JOURNAL):
        return "it is a journal: export it with journalctl --file=... -o short-iso-precise, and put that here"
    if path.endswith(".zst"):
        return "it is compressed with zstd: unpack it first"
    return "it is binary" if b"\0" in start else None


def take(
    sifted: Sifted,
    start: bytes,
    stream: io.BufferedIOBase,
    is_wanted: IsWanted,
) -> None:
    """Take the first, the last and the wanted lines."""
    found = 0
    for block in blocks_of(start, stream):
        first = EDGE - len(sifted.head)
        if not is_wanted(block):
            sifted.head += lines_of(
                block.split(b"\n", first)[:first] if first else []
            )
            sifted.tail.extend(lines_of(block.rsplit(b"\n", EDGE)[-EDGE:]))
            continue
        lines = lines_of(block.split(b"\n"))
        sifted.head += lines[:first]
        sifted.tail.extend(lines[-EDGE:])
        wanted = list(filter(is_wanted, lines))
        found += sum(map(len, wanted))
        sifted.lines += map(text_of, wanted)
        if len(sifted.lines) > MOST:
            del sifted.lines[MOST:]
            sifted.why = f"more than {MOST} lines were found in it"
            return
        if found > LARGEST_FOUND:
            sifted.why = f"more than {LARGEST_FOUND >> 20} MiB of lines were found in it"
            return


def blocks_of(start: bytes, stream: io.BufferedIOBase) -> Iterator[bytes]:
    """Return many whole lines at once, without the end of the last one; of a very long line only the beginning."""
    rest, left, is_over_long = start, LARGEST, False
    # Of what is cut off, read1 gives all that comes before the cut.
    while block := stream.read1(BLOCK):
        left -= len(block)
        if left < 0:
            raise TooLargeError
        if is_over_long:
            _more, end, block = block.partition(b"\n")
            if not end:
                continue
            rest, is_over_long = rest + end, False
        whole, end, rest = (rest + block).rpartition(b"\n")
        if end:
            yield whole
        if len(rest) > LONGEST:
            rest, is_over_long = rest[:LONGEST], True
    if rest:
        whole, _end, last = rest.rpartition(b"\n")
        yield rest if last else whole


def lines_of(lines: Iterable[bytes]) -> list[bytes]:
    return [line[:LONGEST].rstrip(b"\r") for line in lines]


def text_of(line: bytes) -> str:
    """Return a line as Ansible decodes what a command on a host prints."""
    return line.decode("utf-8", "surrogateescape")
