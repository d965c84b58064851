# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""How right diagnoses by logs alone are, on bundles whose fault is known: bundles.py FOLDER [--half SEED:0|1] [--show].

FOLDER has labels.json, a list of: bundle, kind (failing, or anything else for a run that worked), time_zone, ask (what
is asked by), fault (service); and each bundle as NAME.tar.xz, with NAME/HOST/var/log in it. The seed parts the
bundles, so that one half can be learned from and the other one measured.

Each run that worked is also read with logs that end in the middle of its boot: there nobody may be named.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tarfile
import tempfile
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import yaml
from ansible_collections.stackproof.provision.plugins.module_utils._collect.hosts import profiles
from ansible_collections.stackproof.provision.plugins.module_utils._collect.logs import line_formats
from ansible_collections.stackproof.provision.plugins.module_utils._diagnose import diagnosis
from ansible_collections.stackproof.provision.plugins.module_utils._match import flow
from ansible_collections.stackproof.provision.plugins.module_utils._record import clock
from ansible_collections.stackproof.provision.plugins.module_utils._record.errors import StageError
from ansible_collections.stackproof.provision.plugins.modules import bundle_info
from tree import ROLES

DEFAULTS = yaml.safe_load((ROLES / "diagnosis/defaults/main.yml").read_text())
FLOWS = [path.replace("{{ role_path }}", str(ROLES / "diagnosis")) for path in DEFAULTS["stackproof_flows"]]
PLATFORMS = ("packages", "kolla", "osa", "devstack")
# The projects of components whose names do not begin with them
PROJECTS = {"placement-api": "nova", "dnsmasq": "neutron", "ovsdb": "neutron"}


def services():
    every = [profiles.profile_of(platform) for platform in PLATFORMS]
    return [log for profile in every for log in profile["logs"]]


def diagnose(folder, label):
    """The record of a bundle's boot; None where no boot was found in it."""
    params = {
        "directory": str(folder), "services": services(), "flows": FLOWS, "time_zone": label["time_zone"],
        "time_zones": {}, **dict.fromkeys(bundle_info.ASKED), **label["ask"],
    }  # fmt: skip
    try:
        bundle = bundle_info.read(params)
    except StageError:
        return None
    return diagnosis.record_of(bundle, [flow.load(path) for path in FLOWS], "measured")[0]


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


def measured(folder, label):
    """(outcome, result, component, reason) of a bundle, and of what is left of it when it is cut."""
    rows = []
    with tempfile.TemporaryDirectory() as place:
        with tarfile.open(folder / f"{label['bundle']}.tar.xz") as archive:
            archive.extractall(place, filter="data")
        bundle = Path(place, label["bundle"])
        record = diagnose(bundle, label)
        rows.append((label["bundle"], label["kind"], *judged(record, label)))
        if label["kind"] != "failing" and record and record["verdict"]["result"] == "pass":
            cut(bundle, record, label, random.Random(label["bundle"]))
            less = diagnose(bundle, label)
            rows.append((label["bundle"], "cut off", *judged(less, {**label, "kind": "cut off"})))
    return rows


def judged(record, label):
    if record is None:
        return "no boot", None, None, None
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
    return outcome, verdict["result"], named, verdict["reason"]


def part_of(labels, half):
    """The labels of one half, as a seed parts them: SEED:0 or SEED:1."""
    if half is None:
        return labels
    seed, place = half.split(":")
    shuffled = sorted(labels, key=lambda label: label["bundle"])
    random.Random(seed).shuffle(shuffled)
    return shuffled[int(place) :: 2]


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
        for bundle, kind, outcome, _result, named, reason in rows:
            fault = faults[bundle] or {}
            print(f"{bundle} ({kind}; {fault.get('service')} {fault.get('file')}): {outcome}; {named}\n    {reason}")
    for kind, count in Counter(row[1] for row in rows).items():
        outcomes = Counter(row[2] for row in rows if row[1] == kind)
        print(f"{kind}: {count}: " + ", ".join(f"{outcome} {number}" for outcome, number in outcomes.most_common()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
