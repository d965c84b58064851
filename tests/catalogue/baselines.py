# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Three answers that need no judge, to compare the judge with: what an operator would guess at first sight."""

from __future__ import annotations

from dataclasses import dataclass

from ansible_collections.stackproof.provision.plugins.module_utils._components.tables import writer_of

# States of a unit that are no reason to look at it
RUNNING = ("running", "on demand")


@dataclass(frozen=True)
class Guess:
    """A component and a host; either may be unknown."""

    component: str | None
    host: str | None


NOTHING = Guess(None, None)


def first_unit_not_running(record):
    """Return the first service, in the order of the record, that does not run."""
    for host in record.get("hosts") or []:
        for service in host["facts"].get("services") or []:
            if service["state"] not in RUNNING:
                return Guess(service["component"], host["host"])
    return NOTHING


def first_error(record):
    """Return the service that logged the first error after the run had begun."""
    errors = [error for error in record.get("errors") or [] if error["at"] >= record["started"]]
    if not errors:
        return NOTHING
    first = min(errors, key=lambda error: error["at"])
    return Guess(writer_of(first["service"]), first["host"])


def missing_step(record):
    """Return the component that is responsible for the first step that did not happen."""
    for flow in record.get("flows") or []:
        for step in flow["steps"] if flow["judged"] else []:
            if step["status"] == "missing":
                return Guess(step.get("responsible") or step["target"], step["host"])
    return NOTHING


# Their names in the tables
BASELINES = {
    "first unit that does not run": first_unit_not_running,
    "service of the first error": first_error,
    "component of the missing step": missing_step,
}
