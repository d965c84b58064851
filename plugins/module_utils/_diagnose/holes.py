# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Reads a file without its holes. A hole costs no disk and may be terabytes long, and reads as zeros.

A log gets one when it is truncated while its service writes on at the place where it was.
"""

from __future__ import annotations

import errno
import io
import os
from typing import IO

from .raw_file import ReadThrough

# Bytes of the largest block that a usual file system has
BLOCK = 1 << 16


class WithoutHoles(ReadThrough):
    """The bytes of a file but for its holes, each of which ends a line."""

    def __init__(self, raw: IO[bytes]) -> None:
        super().__init__(raw)
        # The part between two holes that is being read: where it goes on, where its text ends, where the hole begins
        self.at = self.stop = self.end = 0
        self.is_new_line = False

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        while self.at >= self.stop:
            if not self.next_part():
                return 0
        data = (
            b"\n"
            if self.is_new_line
            else os.pread(
                self.fileno(), min(len(buffer), self.stop - self.at), self.at
            )
        )
        if not self.is_new_line:
            self.at += len(data)
        self.is_new_line = False
        buffer[: len(data)] = data
        return len(data)

    def next_part(self) -> bool:
        """Go to the next part that is no hole; return whether there is one."""
        try:
            begin = os.lseek(self.fileno(), self.end, os.SEEK_DATA)
            end = os.lseek(self.fileno(), begin, os.SEEK_HOLE)
        except OSError as exc:
            if exc.errno == errno.ENXIO:
                return False
            raise
        self.is_new_line = begin > self.end
        self.at, self.stop, self.end = begin, end, end
        # A hole begins and ends with a block of the file system: what is left of that block are zeros, too.
        if self.is_new_line:
            block = os.pread(self.fileno(), min(BLOCK, end - begin), begin)
            self.at += len(block) - len(block.lstrip(b"\0"))
        if end < os.fstat(self.fileno()).st_size:
            block = os.pread(
                self.fileno(),
                min(BLOCK, end - self.at),
                max(self.at, end - BLOCK),
            )
            self.stop -= len(block) - len(block.rstrip(b"\0"))
        return True


def opened(raw: IO[bytes]) -> IO[bytes]:
    """Return the file without its holes, where the system tells of them."""
    return (
        io.BufferedReader(WithoutHoles(raw))
        if hasattr(os, "SEEK_DATA")
        else raw
    )
