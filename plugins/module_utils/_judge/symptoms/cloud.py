# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Symptoms that the cloud itself tells: its answers, its services that are not heard, its message about the server."""

from __future__ import annotations

from ..._collect.logs.error_text import how_of, mentioned_in
from ..._components.tables import APIS, project_of
from ..._record.ids import hosts_by_name
from ..._record.shapes import symptom

# An API that does not answer may wait for another component, and one that answers with an error may have failed at
# another one. Without a look at its host or at logs nobody knows.
UNSEEN_WAITING, UNSEEN_FAILURE = 0.4, 0.6


def answers(record, stage):
    """The answers of the APIs to the stage's own requests. An API that answered later is well again."""
    last = {call["service"]: call for call in stage["calls"]}
    error = stage["error"] or {}
    symptoms = []
    is_blind = not (record["hosts"] or record.get("diagnosis"))
    for call in last.values():
        component, status = APIS.get(call["service"]), call["status"]
        if component is None or (status is not None and status < 500):
            continue
        request = f"{call['method']} {call['path']}"
        if status is not None:
            text = f"answered {status} to {request}"
            share = UNSEEN_FAILURE if is_blind else 1.0
            symptoms.append(symptom("answer", component, text, how="error", keyed=True, share=share))
            # The words are those of one answer.
            if call is stage["calls"][-1]:
                symptoms += passed_on(component, error.get("said") or "", share)
            continue
        how = how_of(error.get("message") or "") or "silent"
        share = UNSEEN_WAITING if how == "silent" and is_blind else 1.0
        text = f"did not answer {request}"
        symptoms.append(symptom("answer", component, text, how=how, keyed=True, share=share))
    return symptoms


def passed_on(component, said, share=1.0):
    """The components that an API names in its own words as those at which it failed itself."""
    peers = [peer for peer in mentioned_in(said) if project_of(peer) != project_of(component)]
    about = {"how": how_of(said), "keyed": True, "sure": len(peers) == 1, "share": share}
    return [symptom("failed at", component, f"says that it failed at {peer}", peer=peer, **about) for peer in peers]


def agents(record, _stage):
    """Services that the cloud does not hear any more, or that somebody has disabled."""
    names, symptoms = hosts_by_name(record), []
    looked_at = {host["host"] for host in record["hosts"]}
    for agent in record.get("agents") or []:
        host = names.get(agent["host"], agent["host"])
        if agent["state"] == "down":
            since = f" since {agent['heard']}" if agent["heard"] else ""
            text = f"is not heard by the cloud{since}"
            # Without a look at its host nobody knows whether another component keeps it from being heard.
            share = 1.0 if host in looked_at else 0.5
            symptoms.append(symptom("unheard", agent["component"], text, host=host, share=share))
        elif not agent["enabled"]:
            symptoms.append(symptom("disabled", agent["component"], "is disabled", host=host))
    return symptoms


def words_of_nova(record, stage):
    """Nova's own message about the server: it had nobody to give it to."""
    message = (stage["error"].get("said") or "") + stage["error"]["message"]
    if "No valid host" not in message:
        return []
    names, about = hosts_by_name(record), {"how": "missing", "keyed": True}
    away = [
        names.get(agent["host"], agent["host"])
        for agent in record.get("agents") or []
        if agent["component"] == "nova-compute" and (agent["state"] == "down" or not agent["enabled"])
    ]
    found = "found no valid host"
    return [
        symptom("failed at", "nova-scheduler", found, peer="placement-api", **about),
        *(symptom("failed at", "nova-scheduler", found, peer="nova-compute", peer_host=host, **about) for host in away),
    ]
