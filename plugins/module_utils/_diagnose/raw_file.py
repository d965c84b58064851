# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The frame of a file that is read through another one."""

from __future__ import annotations

import io
from typing import IO


class ReadThrough(io.RawIOBase):
    """A file whose bytes are made of those of another one, which it closes. A class of it has readinto."""

    def __init__(self, raw: IO[bytes]) -> None:
        super().__init__()
        self.raw = raw

    def readable(self) -> bool:
        return True

    def fileno(self) -> int:
        return self.raw.fileno()

    def close(self) -> None:
        self.raw.close()
        super().close()
