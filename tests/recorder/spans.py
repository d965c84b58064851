# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The report that OSProfiler's own library gives of a boot, without what was passed and without most of equal spans."""

from __future__ import annotations

import json

import yaml
from lab_under_test import DIRECTORY, GROUPS

from recorder.making import WHOLE, old, pretty
from recorder.names import same_ids
from recorder.reports import fewer_spans, planted
from recorder.thinning import before_it_was_followed, fewer_polls

HOST = "compute1"
CONTROLLER = GROUPS["controller"][0]
OPTIONS = {"cloud": "lab-ldap", "admin_cloud": "lab-admin", "image": "probe", "volume_type": "ceph"}
SHOW = (
    "export OSPROFILER_CONNECTION_STRING=$(sed -n 's/^connection_string *= *//p' /etc/nova/nova.conf);"
    " osprofiler trace show --json {}"
)


def spans(making):
    key = yaml.safe_load((DIRECTORY / "secrets.yml").read_text())["osprofiler"]
    with making.only_on(HOST):
        record = making.run("spans", *WHOLE, **OPTIONS, profiler_key=key).record
    trace = next(stage["details"]["trace"] for stage in record["stages"] if stage["stage"] == "boot")
    report = json.loads(making.lab.run(CONTROLLER, SHOW.format(trace)))
    rewrite = making.rewriting(record, old("spans/run.json"))
    thinned = planted(fewer_spans(report))
    for pair in same_ids(thinned, old("spans/report.json")):
        rewrite.names.add(*pair)
    making.write("spans/run.json", pretty(rewrite(without_checks(before_it_was_followed(fewer_polls(record))))))
    making.write("spans/report.json", json.dumps(rewrite(thinned), separators=(",", ":")))


def without_checks(record):
    return {**record, "hosts": [{**host, "checks": []} for host in record["hosts"]]}
