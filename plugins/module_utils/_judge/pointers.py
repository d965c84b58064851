# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Evidence against suspects: each function reads one kind of it, and gives it the weight that it deserves."""

from __future__ import annotations

from .._collect.log_formats import QUEUE_UNREACHABLE
from .._match.components import LEANS_ON, SPEAKS_TO, is_beside, writer_of
from .._record.ids import hosts_by_name
from .suspects import asked_for_lease, waits_unheard

# The component behind each service of the catalogue
APIS = {
    "identity": "keystone",
    "image": "glance-api",
    "compute": "nova-api",
    "network": "neutron-server",
    "volume": "cinder-api",
    "block-storage": "cinder-api",
    "block-store": "cinder-api",
    "volumev3": "cinder-api",
    "placement": "placement-api",
}
STATES = {
    "stopped": "is stopped",
    "failed": "has failed, and does not run",
    "frozen": "is frozen: its processes are stopped by a signal",
    "activating": "is starting",
    "deactivating": "is stopping",
}
# Part of an exception's class, a component that it points at, and the weight
HINTS = (
    ("libvirt", "libvirt", 6),
    ("Hypervisor", "libvirt", 6),
    ("rados.", "ceph-mon", 4),
    ("rbd.", "ceph-mon", 4),
    ("VirtualInterface", "neutron-l2-agent", 2),
    ("VirtualInterface", "ovn-controller", 2),
    ("PortBindingFailed", "neutron-l2-agent", 3),
    ("PortBindingFailed", "ovn-controller", 3),
    ("PortBindingFailed", "neutron-server", 3),
    ("DBConnection", "database", 4),
    ("OperationalError", "database", 4),
    ("ldap.", "ldap", 5),
    ("SERVER_DOWN", "ldap", 5),
    ("NoValidHost", "placement-api", 3),
)
# A component that raised one of these waited in vain for another one.
VICTIM = (
    "MessagingTimeout",
    "DeadlinePassed",
    "ConnectTimeout",
    "ReadTimeout",
    "GatewayTimeout",
    "VirtualInterfaceCreate",
)
# These say only that something else had failed before.
AFTERWARDS = ("MaxRetriesExceeded", "RescheduledException", "BuildAbortException")
# A component that another one refuses is itself to blame, or its key is wrong.
REFUSED = ("Permission",)
# Weights
GONE = 10
UNHEARD = 6
# A component that it needs may keep a service from being heard: without a look at its host nobody knows.
UNHEARD_ONLY = 2.5
NO_ANSWER = 6
SERVER_ERROR = 3
KEYED_ERROR = 4
ERROR = 1
# The library by which a component asked another one has raised the exception.
ASKED = 5


def answers(suspects, _record, stage):
    """The answers of the APIs to the stage's own requests."""
    # An API that answered later is well again.
    last = {call["service"]: call for call in stage["calls"]}
    for call in last.values():
        component, status = APIS.get(call["service"]), call["status"]
        if component is None or (status is not None and status < 500):
            continue  # no flow knows this service, or it did answer
        suspects.near(component, None, 0.5, "was asked")
        request = f"{call['method']} {call['path']}"
        if status is None:
            suspects.point(component, None, NO_ANSWER, f"did not answer {request}")
        else:
            suspects.point(component, None, SERVER_ERROR, f"answered {status} to {request}")


def units(suspects, record, _stage):
    """Services that should run and do not."""
    for host in record["hosts"]:
        for service in host["facts"].get("services") or []:
            if service["state"] in STATES:
                since = f" since {service['for_s']:.0f} s" if service["for_s"] and service["state"] != "frozen" else ""
                why = f"{STATES[service['state']]}{since} ({service['unit']})"
                suspects.point(service["component"], host["host"], GONE, why)


def agents(suspects, record, _stage):
    """Services that the cloud itself does not hear any more, or that somebody has disabled."""
    names = hosts_by_name(record)
    looked_at = {host["host"] for host in record["hosts"]}
    for agent in record.get("agents") or []:
        host = names.get(agent["host"], agent["host"])
        if agent["state"] == "down":
            weight = UNHEARD if host in looked_at else UNHEARD_ONLY
            suspects.point(agent["component"], host, weight, f"is not heard by the cloud since {agent['heard']}")
        elif not agent["enabled"]:
            suspects.point(agent["component"], host, 2, "is disabled")


def ceph(suspects, record, _stage):
    """Ceph's own health, and its silence."""
    for host in record["hosts"]:
        facts = host["facts"].get("ceph") or {}
        down = sorted(number for number, is_up in (facts.get("osds") or {}).items() if not is_up)
        if down:
            suspects.point("ceph-osd", None, 8, f"{', '.join(down)} is down, as Ceph says")
        names = sorted((facts.get("health") or {}).get("checks") or {})
        for component, prefixes in (("ceph-mon", ("MON",)), ("ceph-osd", ("OSD", "PG", "SLOW"))):
            problems = [name for name in names if name.startswith(prefixes)]
            if problems:
                suspects.point(component, None, 2, f"is not well, as Ceph says: {', '.join(problems)}")
        for unread in host["unread"]:
            # The command may begin with sudo, and with the way into a container.
            if unread["kind"] == "hung" and {"ceph", "rbd"} & set(unread["command"].split()):
                why = f"does not answer: {unread['command']} hangs"
                suspects.point("ceph-mon", None, 4, why)
                suspects.point("ceph-osd", None, 3, why)


def errors(suspects, record, _stage):
    """Errors in the logs: of this run, or of anybody while it ran."""
    for error in record.get("errors") or []:
        suspects.kind = "errors"
        component = writer_of(error["service"])
        kind = error["exception"] or ""
        why = f"logged an error of {error['logger']}" + (f": {kind}" if kind else "")
        if kind == QUEUE_UNREACHABLE:
            suspects.point(component, error["host"], 3, "cannot reach RabbitMQ")
            suspects.point("rabbitmq", None, 2, f"cannot be reached by {component} on {error['host']}")
            continue
        if any(word in kind for word in AFTERWARDS):
            continue
        refused = any(word in kind for word in REFUSED)
        hints = [(other, weight) for word, other, weight in HINTS if word in kind and not refused]
        asked = SPEAKS_TO.get((error.get("raised_in") or "").partition(".")[0])
        if asked and asked not in {other for other, _weight in hints}:
            hints.append((asked, ASKED))
        if not any(word in kind for word in VICTIM):
            # A component that failed at another one is less to blame.
            own = error["keyed"] and all(other == component for other, _weight in hints)
            suspects.point(component, error["host"], KEYED_ERROR if own else ERROR, why)
        suspects.kind = "hints"
        for other, weight in hints:
            if other != component:
                where = error["host"] if is_beside(other) else None
                suspects.point(other, where, weight if error["keyed"] else 1, f"is what {component} failed at: {kind}")


def faults(suspects, record, stage):
    """Nova's own message about the instance."""
    message = (stage["error"].get("said") or "") + stage["error"]["message"]
    if "No valid host" not in message:
        return
    suspects.point("placement-api", None, 3, "had no host for the instance")
    suspects.point("nova-scheduler", None, 1, "found no valid host")
    agents_of_nova = [agent for agent in record.get("agents") or [] if agent["component"] == "nova-compute"]
    if any(agent["state"] == "down" or not agent["enabled"] for agent in agents_of_nova):
        suspects.near("nova-compute", None, 2, "was to take the instance")
        for component in LEANS_ON["nova-compute"]:
            suspects.near(component, None, 0.25, "is needed by nova-compute")


# A cloud has the one or the other, and what it does not have is no suspect.
METADATA_AGENTS = ("neutron-metadata-agent", "neutron-ovn-metadata-agent")
# Status of an answer to the guest: the components that it points at, the weight, and why
METADATA = {
    401: (["nova-api-metadata"], 5, "refuses the signature: its secret and that of the metadata agent differ"),
    403: (["nova-api-metadata"], 5, "refuses the signature: its secret and that of the metadata agent differ"),
    404: (METADATA_AGENTS, 4, "knows no instance with the guest's address"),
    500: (["nova-api-metadata"], 4, "failed at the guest's request"),
    502: (METADATA_AGENTS, 3, "is not there for its proxy"),
    503: (METADATA_AGENTS, 3, "is not there for its proxy"),
    504: (["nova-api-metadata"], 3, "let the guest's request wait in vain"),
}


def metadata(suspects, record, stage):
    """The answers to the guest when it asked for its metadata."""
    if stage["stage"] != "metadata":
        return
    steps = ((stage["details"] or {}).get("guest") or {}).get("steps") or []
    statuses = [step.get("http_status") for step in steps if step["step"] == "no_metadata"]
    for host in record["hosts"]:
        for proxies in (host["facts"].get("metadata") or {}).values():
            statuses += [request["status"] for proxy in proxies for request in proxy["requests"] or []]
    for status in dict.fromkeys(statuses):
        components, weight, why = METADATA.get(status, ((), 0, None))
        for component in components:
            suspects.point(component, None, weight, f"{why} ({status})")


def guest(suspects, record, stage):
    """The lines that the guest wrote on its console, and those that it did not write."""
    if stage["stage"] != "metadata":
        return
    details = (stage["details"] or {}).get("guest")
    if details is None:
        return  # nobody could read the console
    if not details.get("lines"):
        suspects.point("vm-instance", None, 4, "wrote nothing on its console: it may have no kernel")
    elif asked_for_lease(stage) and waits_unheard(record):
        why = "does not carry the guest's DHCP requests: dnsmasq runs, knows the guest and heard nothing of it"
        suspects.point("data network", suspects.host, 5, why)
    elif asked_for_lease(stage):
        suspects.point("data network", suspects.host, 3, "carries no answer to the guest's DHCP requests")
        for component in ("dnsmasq", "ovn-controller"):
            suspects.point(component, None, 2, "did not answer the guest")
