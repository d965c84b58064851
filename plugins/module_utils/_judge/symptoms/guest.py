# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Symptoms that the guest shows: what it wrote on its console, and how it was answered."""

from __future__ import annotations

from ..._components.tables import entry_of, project_of
from ..._match.places import host_of
from ..._record.shapes import symptom

# A cloud has the one or the other, and what it does not have is no suspect.
METADATA_AGENTS = entry_of("neutron-metadata-proxy").run_by
REFUSED = "refuses the signature: its secret and that of the metadata agent differ"
# Status of an answer to the guest: the components that it points at, how they failed, and why
METADATA = {
    401: (["nova-api-metadata"], "denied", REFUSED),
    403: (["nova-api-metadata"], "denied", REFUSED),
    404: (METADATA_AGENTS, "missing", "knows no instance with the guest's address"),
    500: (["nova-api-metadata"], "error", "failed at the guest's request"),
    502: (METADATA_AGENTS, "refused", "is not there for its proxy"),
    503: ((*METADATA_AGENTS, "nova-api-metadata"), "refused", "was not there for the guest's request"),
    504: (["nova-api-metadata"], "silent", "let the guest's request wait in vain"),
}


def console(record, stage):
    """The lines that the guest wrote on its console, and those that it did not write."""
    details = (stage.get("details") or {}).get("guest")
    if stage["stage"] != "metadata" or details is None:
        return []  # nobody could read the console
    here = host_of(record)
    if not details.get("lines"):
        text = "wrote nothing on its console: it may have no kernel"
        return [symptom("words", "vm-instance", text, host=here, how="silent")]
    if not asked_for_lease(stage):
        return []
    if waits_unheard(record):
        text = "sent DHCP requests that the data network did not carry: dnsmasq runs, knows it and heard nothing of it"
        about = {"host": here, "peer": "data network", "peer_host": here, "how": "silent", "keyed": True}
        return [symptom("failed at", "vm-instance", text, **about)]
    text = "got no answer to its DHCP requests"
    peers = ("data network", "dnsmasq", "ovn-controller")
    return [
        symptom("failed at", "vm-instance", text, host=here, peer=peer, how="silent", keyed=True, sure=False)
        for peer in peers
    ]


def metadata(record, stage):
    """The answers to the guest when it asked for its metadata."""
    if stage["stage"] != "metadata":
        return []
    steps = ((stage["details"] or {}).get("guest") or {}).get("steps") or []
    statuses = [step.get("http_status") for step in steps if step["step"] == "no_metadata"]
    for host in record["hosts"]:
        for proxies in (host["facts"].get("metadata") or {}).values():
            statuses += [request["status"] for proxy in proxies for request in proxy["requests"] or []]
    symptoms = []
    for status in dict.fromkeys(statuses):
        components, how, why = METADATA.get(status, ((), None, None))
        about = {"how": how, "keyed": True, "sure": len({project_of(component) for component in components}) == 1}
        symptoms += [symptom("answer", component, f"{why} ({status})", **about) for component in components]
    return symptoms


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
