# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Keep the compiled code of this collection beside its files, as Python does with all other code.

Ansible's own loader compiles what it loads of a collection each time that a program of Ansible starts. Here that is
half of the time until a run begins. A file that cannot be written, or that is older than its source, does no harm.

PRIVATE to the collection: no promise is made to other users of this file.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator, Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import (
    SOURCE_SUFFIXES,
    FileFinder,
    ModuleSpec,
    SourceFileLoader,
)
from types import ModuleType

OURS = "ansible_collections.stackproof.provision.plugins."


class Compiled(MetaPathFinder):
    """Find our files for Python's own loader. All else, and folders without a file, is left to Ansible's."""

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None,
        _target: ModuleType | None = None,
        /,
    ) -> ModuleSpec | None:
        if not path or not fullname.startswith(OURS):
            return None
        spec = FileFinder(
            path[0], (SourceFileLoader, SOURCE_SUFFIXES)
        ).find_spec(fullname)
        return spec if spec and spec.loader else None


@contextlib.contextmanager
def kept() -> Iterator[None]:
    """Keep the compiled code of what is imported within."""
    finder = Compiled()
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)
