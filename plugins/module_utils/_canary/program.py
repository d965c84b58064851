# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The program of the service: PYTHON -m ..._canary.program before|stop|after|end SETTINGS."""

from __future__ import annotations

import json
import sys
from typing import Any

from .._record.errors import StageError
from .._record.ledger import regular
from . import after, before, end, stop

# What the role writes, and of which kind it is
SETTINGS = {
    **dict.fromkeys(("runs", "metrics", "turn", "templates"), str),
    **dict.fromkeys(("slices", "keep_passed", "keep_failed"), int),
    "cleanup": list,
}
VERBS = {"before": before.prepare, "stop": stop.interrupt, "after": after.conclude, "end": end.take_leave}


def settings_in(path: str) -> dict[str, Any]:
    """Return the settings of the canary, or say which of them is missing or of another kind."""
    with open(path, encoding="utf-8", opener=regular) as stream:
        settings = json.load(stream)
    if not isinstance(settings, dict):
        raise ValueError("the settings are not an object")
    odd = [name for name, kind in SETTINGS.items() if not isinstance(settings.get(name), kind)]
    if odd or not all(isinstance(word, str) for word in settings["cleanup"]):
        raise ValueError(f"settings that are missing, or of another kind: {', '.join(odd or ['cleanup'])}")
    return settings


def main(arguments: list[str]) -> int:
    if len(arguments) != 2 or arguments[0] not in VERBS:
        sys.stderr.write(f"{__doc__}\n")
        return 2
    verb, path = arguments
    try:
        VERBS[verb](settings_in(path))
    except (StageError, OSError, ValueError, KeyError, RecursionError) as exc:
        sys.stderr.write(f"The canary could not do its work ({verb}, by {path}): {exc}\n")
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
