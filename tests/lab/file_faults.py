# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Files runs with faults, with the truth and what the hosts knew, for whoever judges them.

PYTHONPATH=.venv/collections:tests python tests/lab/file_faults.py FOLDER FAULT...
"""

from __future__ import annotations

import contextlib
import json
import shutil
import signal
import sys
import tempfile
import traceback
from pathlib import Path

import pytest
from fault_runs import end, hosts_now, lab_as_root, run_with
from faults import FAULTS


def file_run(lab, fault, folder):
    """Leave a run with a fault in a folder, together with the truth and what the hosts knew."""
    place = folder / fault.name
    if place.exists():
        shutil.rmtree(place)

    def afterwards(outcome):
        shutil.copytree(outcome.directory, place, ignore=shutil.ignore_patterns("watched"))
        (place / "output.txt").write_text(outcome.output)
        (place / "truth.json").write_text(json.dumps(fault.truth | {"variables": fault.variables}, indent=1))
        services, logs = hosts_now(lab, outcome.record)
        (place / "services.json").write_text(json.dumps(services, indent=1))
        for host, files in logs.items():
            for path, lines in files.items():
                target = place / "logs" / host / path.removeprefix("/var/log/").replace("/", "-")
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_text("".join(lines))

    with tempfile.TemporaryDirectory() as runs:
        return run_with(lab, fault, Path(runs), afterwards)._replace(directory=place)


def main():
    signal.signal(signal.SIGTERM, end)
    folder = Path(sys.argv[1])
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    lab = lab_as_root()
    failed = []
    for name in sys.argv[2:]:
        try:
            outcome = file_run(lab, FAULTS[name], folder)
            verdict = outcome.record["verdict"]
            print(f"{name}: {outcome.record['duration_s']} s, {verdict['stage']}: {verdict['reason']}", flush=True)
        except (Exception, pytest.fail.Exception):  # what was waited for in vain is no Exception
            failed.append(name)
            traceback.print_exc()
            with contextlib.suppress(OSError):
                (folder / f"{name}.failed").write_text(traceback.format_exc())
    sys.exit(bool(failed))


if __name__ == "__main__":
    main()
