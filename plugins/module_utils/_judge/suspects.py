# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The suspects of a failed run: components, on hosts, with what speaks against each."""

from __future__ import annotations

from .._match import order
from .._match.components import CARRIERS, LEANS_ON, STANDS_FOR, WORKERS, is_beside, writer_of
from .._normalise.places import host_of

# What the order of the steps alone says against who owed the first of them, whose lack is proved, who should have
# taken it, what it goes through, what who owed it needs, and who does the stage's work somewhere
OWED, PROVED, GIVEN_UP, TARGET, CARRIER, LEANT_ON, WORKER = 2, 3, 0.5, 1, 1, 0.5, 0.5


class Suspects:
    def __init__(self, record, stage, paths, steps):
        self.host = host_of(record)
        self.places = places_of(record)
        self.found = {}
        self.kind = None
        # A step was seen so shortly before the end that what follows may only be slow; None if there was no such step.
        self.pause = order.pause(stage, steps)
        # Once Nova has given up, nobody owes what was still under way.
        given_up = (stage.get("error") or {}).get("kind") == "build_failed"
        # What the API alone does not show may have been begun on a host that nobody looked at, and what was still under
        # way may only be slow.
        looked_at = record["hosts"] or record.get("diagnosis")
        proved = PROVED if looked_at and self.pause is None else GIVEN_UP
        for place, path in enumerate(paths):
            for number, step in enumerate(path):
                near = 1 / (1 + place + number)
                proof = 0 if step["status"] != "missing" else GIVEN_UP if given_up else proved
                # A run of before this was told has no other who owed it than the source.
                who = step.get("owed_by") or step["source"]
                self.near(who, step, (OWED + proof) * near, "owed what is lacking")
                for component in LEANS_ON.get(who, ()):
                    self.near(component, step, LEANT_ON * near, f"is needed by {who}")
                self.near(step["target"], step, TARGET * near, "was to take what is lacking")
                for carrier in CARRIERS.get(step["kind"], ()):
                    self.near(carrier, step, CARRIER * near, "carries what is lacking")
            for step in order.after(path[-1], steps):
                self.near(step["source"], step, WORKER, "was to go on")
        for component in WORKERS.get(stage["stage"], ()):
            self.near(component, None, WORKER, f"has a part in the stage {stage['stage']}")

    def near(self, name, step, weight, why):
        """A component is near what is lacking."""
        for component in STANDS_FOR.get(name, [name]):
            one = self.found.setdefault(
                component, {"component": component, "step": step, "base": 0, "role": why, "hosts": {}}
            )
            if weight > one["base"]:
                one.update(base=weight, role=why, step=step or one["step"])

    def point(self, component, host, weight, why):
        """Something speaks against a component; what is not near, or beside another instance, is passed over."""
        one = self.found.get(component)
        if one is None or (is_beside(component) and self.host and host and host != self.host):
            return
        one["hosts"].setdefault(host, []).append((weight, why, self.kind))

    def place_of(self, component):
        """Where a component is, if there is only one place where it can have failed this run."""
        if is_beside(component):
            return self.host
        places = self.places.get(component, ())
        return next(iter(places)) if len(places) == 1 else None

    def ranked(self):
        """All suspects, the likeliest first: component, host, step, weight, why."""
        rows = []
        for one in self.found.values():
            everywhere = one["hosts"].get(None, [])
            for host in [host for host in one["hosts"] if host] or [None]:
                pointers = everywhere + (one["hosts"][host] if host else [])
                ordered = sorted(pointers, key=lambda pointer: -pointer[0])
                # Many errors are no more than one.
                heaviest = {kind: weight for weight, _why, kind in reversed(ordered)}
                where = host or self.place_of(one["component"])
                rows.append(
                    {
                        "component": one["component"],
                        "host": where,
                        "step": one["step"],
                        "role": one["role"],
                        "weight": round(one["base"] + sum(heaviest.values()), 2),
                        "why": list(dict.fromkeys([*(why for _weight, why, _kind in ordered), one["role"]])),
                    }
                )
        return sorted(rows, key=lambda row: -row["weight"])


def places_of(record):
    """Component to the hosts that have it."""
    found = {}
    for host in record["hosts"]:
        for service in host["facts"].get("services") or []:
            found.setdefault(service["component"], set()).add(host["host"])
    # Where only logs are known, who logs somewhere is there.
    for host in record["logs"] if record.get("diagnosis") else ():
        for source in host["sources"]:
            found.setdefault(writer_of(source["service"]), set()).add(host["host"])
    return found
