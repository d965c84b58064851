# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The symptoms of a failed run: everything that is not as it should be, from every source, in one shape.

A record goes in; symptoms come out. A new kind of evidence is a function that returns symptoms, and a line here.

PRIVATE to the collection: no promise is made to other users of this package.
"""

from __future__ import annotations

from . import cloud, guest, hosts, logs, steps

READERS = (
    cloud.answers,
    cloud.agents,
    cloud.words_of_nova,
    hosts.states,
    hosts.words,
    hosts.ceph,
    hosts.ground,
    hosts.reach,
    hosts.hanging,
    hosts.changes,
    hosts.differences,
    logs.errors,
    guest.console,
    guest.metadata,
)


def of_record(record, stage, paths):
    """All symptoms of a run that failed in a stage. paths: the steps that are lacking, as order.paths has them."""
    return [symptom for reader in READERS for symptom in reader(record, stage)] + steps.owed(record, stage, paths)
