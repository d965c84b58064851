# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Symptoms in the flow: steps that are owed, and proved to be missing or not seen."""

from __future__ import annotations

from ..._components.tables import carriers_of, workers_of
from ..._record.clock import seconds_between
from ..._record.shapes import symptom
from .. import dict_order as order
from .guest import did_their_part


def owed(record, stage, paths):
    """The steps that are lacking, the nearest first, each with who owed it and who was to take it."""
    done, proof = did_their_part(record, stage), is_proof(record, stage)
    symptoms = []
    for place, path in enumerate(paths):
        for number, step in enumerate(path):
            symptoms.append(
                symptom(
                    "owed",
                    debtor_of(step, done),
                    "owed what is lacking",
                    peer=None if step["target"] in done else step["target"],
                    how="missing" if proof and step["status"] == "missing" else "unseen",
                    carriers=carriers_of(step["kind"]),
                    share=1 / (1 + place + number),
                )
            )
    text = f"has a part in the stage {stage['stage']}"
    return symptoms + [symptom("owed", name, text, how="part") for name in workers_of(stage["stage"])]


def debtor_of(step, done):
    """The component that owed a step, if it did not do its part. Old records do not say it: it was the source."""
    names = (step.get("owed_by") or step["source"], step["target"])
    return names[0] if names[0] not in done else next((name for name in names if name not in done), None)


def is_proof(record, stage):
    """Whether a step that is missing says anything: without a look at the hosts it may have begun unseen.

    If Nova gave up while steps were still under way, nobody owes these; if it gave up because it had waited, they are.
    """
    steps = order.judged_steps(record, stage["stage"])
    looked_at = record["hosts"] or record.get("diagnosis")
    return bool(looked_at) and not gave_up_early(record, stage, steps) and order.pause(stage, steps) is None


# Errors that end a stage before its time: Nova has given up the server, or an API has failed
ENDING = ("build_failed", "service", "unreachable")


def gave_up_early(record, stage, steps):
    """Whether the stage has ended so soon after the last step that nobody had waited for the next."""
    outcome = ((record.get("diagnosis") or {}).get("boot") or {}).get("outcome")
    if (stage.get("error") or {}).get("kind") not in ENDING and outcome != "failed":
        return False
    last = order.last_seen(steps)
    times = sorted(error["at"] for error in record.get("errors") or [] if error["keyed"] and error.get("at"))
    given_up = times[0] if times else stage.get("finished")
    return not (last and given_up) or seconds_between(last["at"], given_up) < order.PAUSE
