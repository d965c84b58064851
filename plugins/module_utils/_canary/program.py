# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The program of the service: PYTHON -m ..._canary.program before|stop|after|end SETTINGS."""

from __future__ import annotations

import sys

from .._record.errors import StageError
from . import after, before
from .service import settings_in

VERBS = {
    "before": before.prepare,
    "stop": before.interrupt,
    "after": after.conclude,
    "end": before.uninstall,
}


def main(arguments: list[str]) -> int:
    if len(arguments) != 2 or arguments[0] not in VERBS:
        sys.stderr.write(f"{__doc__}\n")
        return 2
    verb, path = arguments
    try:
        VERBS[verb](settings_in(path))
    except (StageError, OSError, ValueError, KeyError, RecursionError) as exc:
        sys.stderr.write(
            f"The canary could not do its work ({verb}, by {path}): {exc}\n"
        )
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
