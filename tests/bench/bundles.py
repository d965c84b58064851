# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""How right diagnoses by logs alone are, on bundles whose fault is known: bundles.py FOLDER [--half SEED:0|1] [--show].

FOLDER has labels.json, a list of: bundle, kind (failing, or anything else for a run that worked), time_zone, ask (what
is asked by), fault (service); and each bundle as NAME.tar.xz, with NAME/HOST/var/log in it. The seed parts the
bundles, so that one half can be learned from and the other one measured. Beside each verdict stands the baseline: the
service of the first line of an error in the time of the run.

Each run that worked is also read with logs that end in the middle of its boot: there nobody may be named.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import sys
import tarfile
import tempfile
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import NamedTuple

import yaml
from ansible_collections.stackproof.provision.plugins.module_utils._collect.hosts import profiles
from ansible_collections.stackproof.provision.plugins.module_utils._collect.logs import line_formats
from ansible_collections.stackproof.provision.plugins.module_utils._diagnose import diagnosis
from ansible_collections.stackproof.provision.plugins.module_utils._match import flow
from ansible_collections.stackproof.provision.plugins.module_utils._model.codec import to_json
from ansible_collections.stackproof.provision.plugins.module_utils._record import clock
from ansible_collections.stackproof.provision.plugins.module_utils._record.errors import StageError
from ansible_collections.stackproof.provision.plugins.modules import bundle_info
from tree import ROLES

DEFAULTS = yaml.safe_load((ROLES / "diagnosis/defaults/main.yml").read_text())
FLOWS = [path.replace("{{ role_path }}", str(ROLES / "diagnosis")) for path in DEFAULTS["stackproof_flows"]]
PLATFORMS = ("packages", "kolla", "osa", "devstack", "rhoso", "kubernetes")
# The level of oslo.log in a line of an error
ERROR = re.compile(" (?:ERROR|CRITICAL) ")
# The projects of components whose names do not begin with them
PROJECTS = {"placement-api": "nova", "dnsmasq": "neutron", "ovsdb": "neutron"}


def services():
    every = [profiles.profile_of(platform) for platform in PLATFORMS]
    return [log for profile in every for log in profile["logs"]]


def diagnose(folder, label):
    """The record of a bundle's boot; None where no boot was found in it."""
    params = {
        "directory": str(folder), "services": services(), "flows": FLOWS, "time_zone": label["time_zone"],
        "platforms": [], "baseline": None, "time_zones": {}, **dict.fromkeys(bundle_info.ASKED), **label["ask"],
    }  # fmt: skip
    try:
        bundle = bundle_info.read(params)
    except StageError:
        return None
    record, _events = diagnosis.record_of(bundle, [flow.load(path) for path in FLOWS], "measured")
    return to_json(record)


def first_error(folder, label):
    """The project whose service logged the first error in the time of the run; None where no service did."""
    since, until = (clock.seconds_of(label["window"][name]) for name in ("since", "until"))
    found = []
    for path in filter(Path.is_file, folder.rglob("*.log")):
        for line in path.read_text(errors="surrogateescape").splitlines():
            parsed = line_formats.parse(line, since, zone_of(label["time_zone"])) if ERROR.search(line) else None
            if parsed and parsed.failed and parsed.at and since <= parsed.at <= until:
                found.append((parsed.at, path.parent.name))
                break
    return min(found, default=(None, None))[1]


def cut(folder, record, label, chance):
    """Keep of each log what was written before a moment of the boot."""
    begin = clock.seconds_of(record["started"])
    moment = begin + record["diagnosis"]["build_s"] * chance.uniform(0.1, 0.9)
    for path in filter(Path.is_file, folder.rglob("*")):
        kept = []
        for line in path.read_text(errors="surrogateescape").splitlines(keepends=True):
            parsed = line_formats.parse(line, begin, zone_of(label["time_zone"]))
            if parsed and parsed.at and parsed.at > moment:
                break
            kept.append(line)
        path.write_text("".join(kept), errors="surrogateescape")


def zone_of(text):
    """Seconds east of UTC."""
    sign = -1 if text.startswith("-") else 1
    hours, minutes = text.lstrip("+-").split(":")
    return sign * (int(hours) * 3600 + int(minutes) * 60)


class Row(NamedTuple):
    """The verdict on a bundle. first: the project that logged the first error, by which the baseline goes."""

    bundle: str
    kind: str
    outcome: str
    component: str | None
    reason: str | None
    first: str | None


def measured(folder, label):
    """The verdicts on a bundle, and on what is left of it when it is cut."""
    name = label["bundle"]
    with tempfile.TemporaryDirectory() as place:
        with tarfile.open(folder / f"{name}.tar.xz") as archive:
            archive.extractall(place, filter="data")
        bundle = Path(place, name)
        first = first_error(bundle, label)
        record = diagnose(bundle, label)
        rows = [Row(name, label["kind"], *judged(record, label), first)]
        if label["kind"] != "failing" and record and record["verdict"]["result"] == "pass":
            cut(bundle, record, label, random.Random(name))
            rows.append(Row(name, "cut off", *judged(diagnose(bundle, label), {**label, "kind": "cut off"}), first))
    return rows


def judged(record, label):
    """The outcome, the component and the reason of a verdict."""
    if record is None:
        return "no boot", None, None
    verdict = record["verdict"]
    named = verdict["component"]
    if label["kind"] != "failing":
        outcome = f"named {named}" if named else verdict["result"]
    elif verdict["result"] != "fail":
        outcome = verdict["result"]
    elif named is None:
        outcome = "nobody named"
    else:
        project = PROJECTS.get(named, named.partition("-")[0])
        outcome = "right" if project == label["fault"]["service"] else "wrong"
    return outcome, named, verdict["reason"]


def by_first_error(row, fault):
    """The outcome of the baseline."""
    if row.kind != "failing":
        return "named somebody" if row.first else "pass"
    if row.first is None:
        return "pass"
    return "right" if row.first == fault["service"] else "wrong"


def part_of(labels, half):
    """The labels of one half, as a seed parts them: SEED:0 or SEED:1."""
    if half is None:
        return labels
    seed, place = half.split(":")
    shuffled = sorted(labels, key=lambda label: label["bundle"])
    random.Random(seed).shuffle(shuffled)
    return shuffled[int(place) :: 2]


def show(name, rows, faults):
    outcomes = Counter(row.outcome for row in rows)
    baseline = Counter(by_first_error(row, faults[row.bundle]) for row in rows)
    print(f"{name}: {len(rows)}: {listed(outcomes)}; baseline: {listed(baseline)}")


def listed(outcomes):
    return ", ".join(f"{outcome} {number}" for outcome, number in outcomes.most_common())


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition(":")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--half", help="SEED:0 or SEED:1: one half of the bundles")
    parser.add_argument("--show", action="store_true", help="show the verdict on each bundle, and not the sums alone")
    options = parser.parse_args()
    labels = part_of(json.loads((options.folder / "labels.json").read_text()), options.half)
    faults = {label["bundle"]: label["fault"] for label in labels}
    with ProcessPoolExecutor(2) as pool:
        rows = [row for rows in pool.map(measured, [options.folder] * len(labels), labels) for row in rows]
    if options.show:
        for row in rows:
            fault = faults[row.bundle] or {}
            print(f"{row.bundle} ({row.kind}; {fault.get('service')} {fault.get('file')}; first error: {row.first})")
            print(f"    {row.outcome}; {row.component}: {row.reason}")
    for kind in dict.fromkeys(row.kind for row in rows):
        show(kind, [row for row in rows if row.kind == kind], faults)
    show("failing, no line of an error", [row for row in rows if row.kind == "failing" and not row.first], faults)
    return 0


if __name__ == "__main__":
    sys.exit(main())
