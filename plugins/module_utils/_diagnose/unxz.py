# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Unpacks files of xz within a limit of memory, which the standard library's lzma.open does not have."""

from __future__ import annotations

import io
import lzma
from typing import IO

from .raw_file import ReadThrough

# A file says itself how much memory it takes. xz -9 makes files that take 65 MiB, and nothing that rotates logs makes
# more; a file of a few bytes may ask for 4 GiB.
MEMORY = 128 << 20
BLOCK = 1 << 16
# A stream begins so; several may lie behind each other, with zeros between them.
MAGIC = b"\xfd7zXZ\0"
# liblzma has a code for this, of which Python keeps nothing but these words.
TOO_MUCH = "Memory usage limit exceeded"


class TooMuchMemoryError(Exception):
    """A file takes more memory to unpack than MEMORY."""


class Unxz(ReadThrough):
    """The unpacked bytes of a file of xz."""

    def __init__(self, raw: IO[bytes]) -> None:
        super().__init__(raw)
        self.rest = b""
        self.decompressor: lzma.LZMADecompressor | None = begun()

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        data = b""
        while self.decompressor and not data:
            data = self.unpacked(self.decompressor, len(buffer))
        buffer[: len(data)] = data
        return len(data)

    def unpacked(
        self, decompressor: lzma.LZMADecompressor, most: int
    ) -> bytes:
        """Return the next bytes, or none where there are more to come behind a stream's end."""
        if decompressor.eof:
            self.decompressor = self.next_stream(decompressor.unused_data)
            return b""
        if decompressor.needs_input:
            self.rest = self.rest or self.raw.read(BLOCK)
            if not self.rest:
                raise EOFError
        packed, self.rest = self.rest, b""
        try:
            return decompressor.decompress(packed, most)
        except lzma.LZMAError as exc:
            if str(exc) == TOO_MUCH:
                raise TooMuchMemoryError from exc
            raise

    def next_stream(self, rest: bytes) -> lzma.LZMADecompressor | None:
        """Begin the stream that follows. None at the end of the file, and for what is no stream, as xz itself does."""
        rest = rest.lstrip(b"\0")
        while len(rest) < len(MAGIC):
            more = self.raw.read(BLOCK)
            if not more:
                break
            rest = (rest + more).lstrip(b"\0")
        self.rest = rest
        if not rest.startswith(MAGIC):
            return None
        return begun()


def begun() -> lzma.LZMADecompressor:
    return lzma.LZMADecompressor(memlimit=MEMORY)


def opened(raw: IO[bytes]) -> io.BufferedReader:
    return io.BufferedReader(Unxz(raw))
