# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Faults, each with what a verdict on it has to say to be right, and how verdicts compare with that."""

from __future__ import annotations

import copy
import hashlib
import json
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace

import yaml
from ansible_collections.stackproof.provision.plugins.module_utils._match import flow, follow
from ansible_collections.stackproof.provision.plugins.module_utils._model.codec import from_json, to_json
from ansible_collections.stackproof.provision.plugins.module_utils._model.record import Record
from ansible_collections.stackproof.provision.plugins.module_utils._report.messages.verdict import of_record
from tree import FLOWS

# The same component by its unit, by its log, and in the flows.
ALSO = [
    {"slapd", "ldap"},
    {"nova-metadata", "nova-api-metadata"},
    {"placement", "placement-api"},
    {"rgw", "ceph-rgw"},
    {"openvswitch", "ovsdb"},
    {"guest", "vm-instance"},
    {"data-network", "data network"},
]


@dataclass(frozen=True)
class Fault:
    """What is broken and how, and the truth: the stage that fails, who broke, where, and the first step not delivered.

    Steps are ids of the flows; none where the stage that fails lies before the boot. Without components nobody is to be
    named. Stage None: the cloud works all the same. During: the text in the run's progress at which the fault is made;
    before the run where it is empty.
    """

    name: str
    make: Callable
    stage: str | None
    components: frozenset
    hosts: frozenset
    steps: frozenset = frozenset()
    variables: dict = field(default_factory=dict)
    during: str = ""

    @property
    def truth(self):
        attributes = {name: value for name, value in asdict(self).items() if name not in ("make", "variables")}
        return {name: sorted(value) if isinstance(value, frozenset) else value for name, value in attributes.items()}


def with_other_names(components):
    """Components with the other names that they have."""
    return components.union(*(names for names in ALSO if names & components))


def fault_of(name, make, stage, components, hosts, steps="", /, *, during="", **variables):
    """A fault whose components, hosts and steps are words of a text."""
    components, hosts, steps = (frozenset(text.split()) for text in (components, hosts, steps))
    return Fault(name, make, stage, with_other_names(components), hosts, steps, variables, during)


def half_of(seed, name):
    """The half of a fault, by a hash of a seed and its name: what is learnt is learnt from the open one."""
    return "kept" if hashlib.sha256(f"{seed} {name}".encode()).digest()[0] % 2 else "open"


def order_of_steps():
    order = []
    for name in ("ops_guide", "modern"):
        for step in yaml.safe_load((FLOWS / f"{name}.yml").read_text())["steps"]:
            place = len(order)
            if "after" in step:
                place = order.index(step["after"]) + 1
            elif "before" in step:
                place = order.index(step["before"])
            order.insert(place, step["id"])
    return order


def is_near(step, steps, order):
    places = [order.index(expected) for expected in steps]
    return step in order and any(abs(order.index(step) - place) <= 1 for place in places)


def compare(fault, record):
    """One row of the table of confusion: what was said, and which parts of it are right."""
    verdict = record["verdict"]
    broken = fault.stage is not None
    judgement = {name: verdict.get(name) for name in ("result", "stage", "component", "host", "step")}
    alike = {
        "result": judgement["result"] == ("fail" if broken else "pass"),
        "stage": judgement["stage"] == fault.stage,
        "component": not broken or judgement["component"] in (fault.components or {None}),
        "host": not broken or judgement["host"] in (fault.hosts or {None}),
        "step": not fault.steps or is_near(judgement["step"], fault.steps, order_of_steps()),
    }
    less = compare_less(fault, record)
    return {
        "fault": fault.name, "expected": fault.truth, "said": judgement, "alike": alike, "less": less,
        "reason": verdict["reason"], "evidence": verdict["evidence"],
    }  # fmt: skip


# What would have been said with less access


def with_less(record, tier):
    """The verdict that the same run gets without a look into the hosts: of a plain user (0) or an administrator (1)."""
    record = copy.deepcopy(record)
    record.update(hosts=[], logs=[], errors=[])
    if tier == 0:
        record.update(agents=[], other_boots=None)
        # A run that failed before its boot has none.
        instance = record.get("instance")
        if instance:
            instance.update(claimed_on=[], allocations=None)
            instance["server"]["host"] = None
            for port in instance["ports"]:
                port["host"] = None
    flows = [flow.load(str(FLOWS / f"{name}.yml")) for name in ("ops_guide", "modern")]
    whole = from_json(Record, record)
    followed, _events = follow.follow(whole, flows, {})
    return to_json(of_record(replace(whole, flows=tuple(followed))))


def compare_less(fault, record):
    """Of each tier without the hosts: whether the stage is right, no other host is named, and the culprit is told."""
    rows = {}
    for tier in (0, 1):
        verdict = with_less(record, tier)
        suspects = {suspect["component"] for suspect in verdict.get("alternatives") or []} | {verdict["component"]}
        rows[f"tier {tier}"] = {
            "stage": verdict["stage"] == fault.stage,
            "host": verdict["host"] is None or verdict["host"] in fault.hosts,
            "suspects": not fault.components or fault.stage is None or bool(suspects & fault.components),
        }
    return rows


def note(path, row):
    """Add a row to the table, in the place of an earlier one of the same fault."""
    path.parent.mkdir(parents=True, exist_ok=True)
    rows = json.loads(path.read_text()) if path.exists() else []
    rows = [earlier for earlier in rows if earlier["fault"] != row["fault"]] + [row]
    path.write_text(json.dumps(rows, indent=1))


def as_markdown(rows):
    lines = [
        "| fault | component | named | host | named | step | named | with less access |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        cells = [row["fault"]]
        for name, expected in (("component", "components"), ("host", "hosts"), ("step", "steps")):
            mark = "" if row["alike"][name] else " (wrong)"
            cells += [", ".join(row["expected"][expected]), f"{row['said'][name] or 'none'}{mark}"]
        wrong = [
            f"{tier}: {name} wrong" for tier, parts in row["less"].items() for name, right in parts.items() if not right
        ]
        lines.append(f"| {' | '.join([*cells, ', '.join(wrong) or 'right'])} |")
    return "\n".join([*lines, "", *counted(rows)])


def counted(rows):
    """How often each part of a verdict is right."""
    parts = [f"{name} {sum(row['alike'][name] for row in rows)}" for name in rows[0]["alike"]] if rows else []
    less = sum(all(all(parts.values()) for parts in row["less"].values()) for row in rows)
    return [f"Of {len(rows)} verdicts are right: {', '.join(parts)}; with less access {less}."]


def assert_all_noted(path, faults):
    """Show what was noted of these faults as a table, as it is; none may lack."""
    rows = [row for row in json.loads(path.read_text()) if row["fault"] in faults]
    print("\n" + as_markdown(sorted(rows, key=lambda row: list(faults).index(row["fault"]))))
    assert {row["fault"] for row in rows} == set(faults)
