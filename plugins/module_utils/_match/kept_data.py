# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Keep what was parsed of a text beside Python's own compiled code.

Parsing the flows takes longer than all else that Python does until a run begins. A file is named by the text that it
was made of, so none is ever out of date. One that cannot be read or written does no harm.
"""

from __future__ import annotations

import contextlib
import hashlib
import marshal
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from .._record.run import replaced

FOLDER = Path(__file__).parent / "__pycache__"


def parsed(text: str, parse: Callable[[str], Any]) -> Any:
    """Return what parse makes of a text: plain values, as it made them the first time."""
    path = path_of(text)
    with contextlib.suppress(OSError, ValueError, EOFError, TypeError):
        return marshal.loads(path.read_bytes())
    data = parse(text)
    if not sys.dont_write_bytecode and os.access(FOLDER, os.W_OK):
        keep(path, data)
    return data


def path_of(text: str) -> Path:
    digest = hashlib.sha256(text.encode()).hexdigest()
    return FOLDER / f"{digest}.{sys.implementation.cache_tag}.data"


def keep(path: Path, data: Any) -> None:
    """Write a file as a whole or not at all: another process may read it in the meantime."""
    try:
        content = marshal.dumps(data)
    except ValueError:  # it has a date, for example
        return
    with contextlib.suppress(OSError), replaced(str(path)) as file:
        file.write(content)
