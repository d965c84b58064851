# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Programs of others that users bring to a lab, and whether they work there: strangers.py WORK [SUITE ...].

The lab is that of OS_CLIENT_CONFIG_FILE. WORK is a folder for their files and logs. Each test that fails stands in
known.yml with the reason, or else this fails.
"""

from __future__ import annotations

import re
import shutil
import sys
import time
from pathlib import Path

import yaml
from suites import SUITES, connected

KNOWN = yaml.safe_load((Path(__file__).parent / "known.yml").read_text())


def reason_of(suite, test):
    """Why a test is known to fail, or None."""
    return next((why for pattern, why in KNOWN.get(suite, {}).items() if re.search(pattern, test)), None)


def unused(suite, failed):
    """Patterns of known failures that did not occur: they would hide later ones."""
    return [pattern for pattern in KNOWN.get(suite, {}) if not any(re.search(pattern, test) for test in failed)]


def tell(suite, results, seconds):
    """Print how the tests of a suite ended. Returns those whose failure is not known."""
    count = {result: list(results.values()).count(result) for result in ("ok", "failed", "skipped")}
    failed = [test for test, result in results.items() if result == "failed"]
    print(
        f"{suite:<8} {count['ok']:>4} ok  {count['failed']:>3} failed  {count['skipped']:>3} skipped  {seconds:>5.0f} s"
    )
    for test in failed:
        print(f"         {test}: {reason_of(suite, test) or 'NOT KNOWN: see the log'}")
    # This fails nothing, as another lab may still have the failure.
    for pattern in unused(suite, failed):
        print(f"         {pattern}: stands in known.yml, and no test of it has failed")
    return [test for test in failed if not reason_of(suite, test)]


def main(arguments):
    unknown = set(arguments[1:]) - set(SUITES)
    if not arguments or unknown:
        sys.exit(f"{__doc__}\nThe suites are {', '.join(SUITES)}.")
    work = Path(arguments[0]).resolve()
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    cloud, bad = connected("lab-admin"), False
    for suite in arguments[1:] or SUITES:
        begun = time.monotonic()
        results = SUITES[suite](cloud, work)
        bad |= bool(tell(suite, results, time.monotonic() - begun)) or not results
    print(f"logs: {work}")
    sys.exit(bad)


if __name__ == "__main__":
    main(sys.argv[1:])
