# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The symptoms of a failed run: everything that is not as it should be, from every source, in one shape.

A case goes in; symptoms come out. A new kind of evidence is a function that returns symptoms, and a line here; a new
code of _model/symptom.py has its sentence in _report/messages/symptoms.py.

PRIVATE to the collection: no promise is made to other users of this package.
"""

from __future__ import annotations

from collections.abc import Callable

from ..._model.symptom import Symptom
from ..case import Case
from . import (
    chains,
    cloud,
    configuration,
    dataplane,
    fronts,
    guest,
    hosts,
    instance,
    logs,
    queues,
    reach,
    steps,
    surroundings,
)

READERS: tuple[Callable[[Case], list[Symptom]], ...] = (
    cloud.answers,
    cloud.agents,
    cloud.no_valid_host,
    chains.breaks,
    hosts.states,
    hosts.reports,
    hosts.ceph,
    hosts.mute,
    hosts.resources,
    instance.domains,
    instance.interfaces,
    reach.probes,
    reach.pending,
    queues.stuck,
    surroundings.clocks,
    surroundings.duplicate_names,
    surroundings.certificates,
    surroundings.links,
    fronts.names,
    fronts.back_ends,
    fronts.addresses,
    configuration.changes,
    configuration.differences,
    configuration.options_of_peers,
    logs.errors,
    guest.console,
    guest.metadata,
    guest.user_data,
    guest.lost_metadata,
    dataplane.paths,
    steps.missing,
)


def of_case(case: Case) -> list[Symptom]:
    """Return all symptoms of a run that failed in a stage."""
    found: list[Symptom] = []
    for reader in READERS:
        found += reader(case)
    return found
