# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The suspects of a failed run: components, on hosts, with the evidence against each."""

from __future__ import annotations

from .._match import order
from .._match.components import CARRIERS, LEANS_ON, STANDS_FOR, WORKERS, is_beside, lacking_with, writer_of
from .._normalise.places import back_end_of, host_of

# The order of the steps alone gives these weights. A component owed the step.
OWED = 2
# Added to that if the step is proved to be missing, or is missing but may have begun or may still come.
PROVED = 3
GIVEN_UP = 0.5
# A component was to take the step, carries it, is needed by the one that owed it, or works for the stage.
TARGET = 1
CARRIER = 1
LEANT_ON = 0.5
WORKER = 0.5


class Suspects:
    def __init__(self, record, stage, paths, steps):
        self.host = host_of(record)
        self.places = places_of(record)
        self.not_here = lacking_with(back_end_of(record))
        self.did_their_part = did_their_part(record, stage)
        self.suspects = {}
        self.kind = None
        # A step was seen so shortly before the end that what follows may only be slow; None if there was no such step.
        self.pause = order.pause(stage, steps)
        proof = self.proof(record, stage)
        for place, path in enumerate(paths):
            for number, step in enumerate(path):
                self.near_step(step, 1 / (1 + place + number), proof)
            for step in order.after(path[-1], steps):
                self.near(step["source"], step, WORKER, "was to go on")
        for component in WORKERS.get(stage["stage"], ()):
            self.near(component, None, WORKER, f"has a part in the stage {stage['stage']}")

    def proof(self, record, stage):
        """The weight of a step that is proved to be missing."""
        # Once Nova has given up, nobody owes the steps that were still under way.
        given_up = (stage.get("error") or {}).get("kind") == "build_failed"
        # Without a look at the hosts a step may have begun unseen, and one that was still under way may only be slow.
        looked_at = record["hosts"] or record.get("diagnosis")
        return PROVED if looked_at and self.pause is None and not given_up else GIVEN_UP

    def near_step(self, step, share, proof):
        """All components that a step needs are near it."""
        # Old records do not say who owed a step: it was the source.
        debtor = step.get("owed_by") or step["source"]
        if debtor in self.did_their_part:
            debtor = step["target"]
        if debtor not in self.did_their_part:
            weight = OWED + proof if step["status"] == "missing" else OWED
            self.near(debtor, step, weight * share, "owed what is lacking")
        for component in LEANS_ON.get(debtor, ()):
            self.near(component, step, LEANT_ON * share, f"is needed by {debtor}")
        self.near(step["target"], step, TARGET * share, "was to take what is lacking")
        for carrier in CARRIERS.get(step["kind"], ()):
            self.near(carrier, step, CARRIER * share, "carries what is lacking")

    def near(self, name, step, weight, why):
        """A component is near the step that is lacking, and so becomes a suspect."""
        for component in STANDS_FOR.get(name, [name]):
            if component in self.not_here:
                continue
            suspect = self.suspects.setdefault(
                component, {"component": component, "step": step, "base": 0, "role": why, "hosts": {}}
            )
            if weight > suspect["base"]:
                suspect.update(base=weight, role=why, step=step or suspect["step"])

    def point(self, component, host, weight, why):
        """Evidence against a component; it is passed over if that is not near, or lies beside another instance."""
        suspect = self.suspects.get(component)
        if suspect is None or (is_beside(component) and self.host and host and host != self.host):
            return
        suspect["hosts"].setdefault(host, []).append((weight, why, self.kind))

    def place_of(self, component):
        """The host of a component, if there is only one where it can have failed this run."""
        if is_beside(component):
            return self.host
        places = self.places.get(component, ())
        return next(iter(places)) if len(places) == 1 else None

    def ranked(self):
        """All suspects, the likeliest first: component, host, step, role, weight, why."""
        rows = []
        for suspect in self.suspects.values():
            for host in [host for host in suspect["hosts"] if host] or [None]:
                rows.append(self.row_of(suspect, host))
        return sorted(rows, key=lambda row: -row["weight"])

    def row_of(self, suspect, host):
        """A suspect on one host, by the pointers at it there and everywhere."""
        here = suspect["hosts"].get(host, []) if host else []
        pointers = sorted([*suspect["hosts"].get(None, []), *here], key=lambda pointer: -pointer[0])
        # Many pointers of a kind weigh no more than the heaviest of them.
        heaviest = {kind: weight for weight, _why, kind in reversed(pointers)}
        return {
            "component": suspect["component"],
            "host": host or self.place_of(suspect["component"]),
            "step": suspect["step"],
            "role": suspect["role"],
            "weight": round(suspect["base"] + sum(heaviest.values()), 2),
            "why": list(dict.fromkeys([*(why for _weight, why, _kind in pointers), suspect["role"]])),
        }


def did_their_part(record, stage):
    """The components that are shown to have done what the first lacking step asks of them."""
    if not asked_for_lease(stage):
        return set()
    return {"vm-instance", "dnsmasq"} if waits_unheard(record) else {"vm-instance"}


def asked_for_lease(stage):
    """Whether the guest has written that it asks for a lease, and never that it got one."""
    details = (stage.get("details") or {}).get("guest") or {}
    steps = {step["step"] for step in details.get("steps") or []}
    return stage["stage"] == "metadata" and "dhcp_start" in steps and "lease" not in steps


def waits_unheard(record):
    """Whether there is a dnsmasq that would have answered, and its log shows nothing of the guest."""
    ports = [port for host in record["hosts"] for port in (host["facts"].get("dhcp") or {}).values()]
    return any(port["processes"] and port["hosts"] and port["log"] == [] for port in ports)


def places_of(record):
    """Component to the hosts that have it."""
    places = {}
    for host in record["hosts"]:
        for service in host["facts"].get("services") or []:
            places.setdefault(service["component"], set()).add(host["host"])
    # A diagnosis knows only logs: a component is where it logs.
    if record.get("diagnosis"):
        for host in record["logs"]:
            for source in host["sources"]:
                places.setdefault(writer_of(source["service"]), set()).add(host["host"])
    return places
