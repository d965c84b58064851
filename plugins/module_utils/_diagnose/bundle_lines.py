# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The lines of one collected log that are looked for, whatever the file is."""

from __future__ import annotations

import bz2
import gzip
import lzma
import os
import stat
import zlib
from collections import deque

from .._collect.log_files import EDGE, MOST

# A line may be a megabyte long, or a file have no lines at all: nothing is looked for further in.
LONGEST = 65536
# Bytes of a file once it is unpacked: a small one may be packed so that there is no end to it.
LARGEST = 16 << 30
OPENERS = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}
# What journald writes can be read by its own program only.
JOURNAL = b"LPKSHHRH"


class TooLargeError(Exception):
    """There is more in a file than is read."""


class Sifted:
    """What was found in a file; why is None if it was read to its end."""

    def __init__(self):
        self.lines, self.head, self.tail = [], [], deque(maxlen=EDGE)
        self.changed, self.why = 0.0, None

    @property
    def edges(self):
        """The first and the last lines, the last one first."""
        return list(map(text_of, self.head)), [text_of(line) for line in reversed(self.tail)]


def sift(path, is_wanted):
    """The lines of a file that are wanted, as text."""
    found = Sifted()
    try:
        with opened(path) as stream:
            found.changed = os.fstat(stream.fileno()).st_mtime
            start = stream.read(4096)
            found.why = why_not(start, path)
            if found.why is None:
                take(found, start, stream, is_wanted)
    except (EOFError, zlib.error, lzma.LZMAError):
        found.why = "it is cut off: what is compressed in it ends too early"
    except TooLargeError:
        found.why = f"more than {LARGEST >> 30} GiB are in it"
    except OSError as exc:
        found.why = f"it cannot be read: {exc.strerror or exc}"
    return found


def opened(path):
    """A regular file, unpacked; a link that came in its place since it was found is not followed."""
    raw = os.fdopen(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb")
    if not stat.S_ISREG(os.fstat(raw.fileno()).st_mode):
        raw.close()
        raise OSError(None, "it is no regular file")
    opener = OPENERS.get(os.path.splitext(path)[1])
    return opener(raw) if opener else raw


def why_not(start, path):
    """Why a file that begins so is no text, or None."""
    if start.startswith(JOURNAL):
        return "it is a journal: export it with journalctl --file=... -o short-iso-precise, and put that here"
    if path.endswith(".zst"):
        return "it is compressed with zstd: unpack it first"
    return "it is binary" if b"\0" in start else None


def take(found, start, stream, is_wanted):
    for line in lines_of(start, stream):
        if len(found.head) < EDGE:
            found.head.append(line)
        found.tail.append(line)
        if is_wanted(line):
            if len(found.lines) >= MOST:
                found.why = f"more than {MOST} lines were found in it"
                break
            found.lines.append(text_of(line))


def lines_of(start, stream):
    """Lines as bytes, of a long one its beginning."""
    *lines, rest = start.split(b"\n")
    yield from (line.rstrip(b"\r") for line in lines)
    left = LARGEST
    while True:
        line = stream.readline(LONGEST)
        left -= len(line)
        whole = rest + line
        rest = b""
        if whole:
            yield whole[:LONGEST].rstrip(b"\r\n")
        while line and not line.endswith(b"\n") and left > 0:
            line = stream.readline(LONGEST)
            left -= len(line)
        if not line:
            return
        if left <= 0:
            raise TooLargeError


def text_of(line):
    """As Ansible decodes what a command on a host prints."""
    return line.decode("utf-8", "surrogateescape")
