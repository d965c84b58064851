# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""All that is known of a run, as events of one shape, in one order of time.

An event: at, until, error_s, host, service, source, kind, level, keys, text, resolution_s, and the fields of its kind.
Times are seconds since the epoch by the control node's clock: here, and nowhere else, are the hosts' clocks corrected.
"""

from __future__ import annotations

import re

from .._collect import log_formats
from .._record.clock import seconds_of
from .places import hosts_by_address, hosts_by_name

CONTROL_NODE = "localhost"
# A cut-off second of nova's and neutron's database
WHOLE_SECOND = 1.0
SPAN_FIELDS = ("method", "path", "function", "verb", "table")
REQUESTED = re.compile(r"^req-[0-9a-f-]{36}$")


def keys_of(record):
    """Kind to the ids by which a run is known outside its record: request is of the boot, asked of any other."""
    instance = record.get("instance") or {}
    boot = stage_of(record, "boot")
    calls = [call for stage in record["stages"] for call in stage["calls"]]
    # Polls are known by the server's id, and need no key each.
    asked = [call["request_id"] for call in calls if call["method"] != "GET" and call["request_id"]]
    booted = {
        call["request_id"] for call in boot["calls"] if call["path"].endswith(("/servers", "/os-volume_attachments"))
    }
    networks = [network["id"] for network in instance.get("networks", [])]
    routers = [router for network in instance.get("networks", []) for router in network["routers"]]
    ports = [port["id"] for port in instance.get("ports", [])]
    made = {
        "request": [boot["details"].get("request_id"), *(one for one in asked if one in booted)],
        "asked": [one for one in asked if one not in booted],
        "server": [server_of(record)],
        "port": ports,
        "tap": [f"tap{port[:11]}" for port in ports],
        "network": networks,
        "subnet": [subnet["id"] for network in instance.get("networks", []) for subnet in network["subnets"]],
        "router": routers,
        "volume": instance.get("volumes", []),
        "image": [(instance.get("image") or {}).get("id")],
    }
    return told_apart({kind: {text for text in texts if text} for kind, texts in made.items()}, record)


def server_of(record):
    instance, boot = record.get("instance") or {}, stage_of(record, "boot")
    return (instance.get("server") or boot["details"].get("server") or {}).get("id")


def told_apart(keys, record):
    """The same keys, those of things that other boots may use as well under a name of their own."""
    own = {one["id"] for stage in record["stages"] for one in stage["resources"] if one["made"]}
    # Nova makes the port of an instance for it alone.
    own |= set().union(*(keys[kind] for kind in ("request", "asked", "server", "port", "tap")))
    shared = set().union(*keys.values()) - own
    apart = {**{kind: texts & own for kind, texts in keys.items()}, "shared": shared}
    return {kind: sorted(texts) for kind, texts in apart.items() if texts}


def stage_of(record, name):
    empty = {"stage": name, "status": "skipped", "details": {}, "calls": [], "waits": []}
    return next((stage for stage in record["stages"] if stage["stage"] == name), empty)


def event(at, service, kind, text, **more):
    return {
        "at": at,
        "until": None,
        "error_s": 0.0,
        "resolution_s": 1e-6,
        "host": CONTROL_NODE,
        "service": service,
        "source": "api",
        "kind": kind,
        "level": None,
        "keys": {},
        "said": [],
        "window": [],
        "text": text,
        **more,
    }


def keys_in(text, keys):
    """The run's ids in a text of ours, such as a path."""
    words = set(re.split(r"[^\w.:-]", text))
    found = {kind: [one for one in texts if one in words] for kind, texts in keys.items()}
    return {kind: texts for kind, texts in found.items() if texts}


def of_record(record):
    """What the run itself saw: its requests, the states it waited for, the console, and the API's words."""
    keys = keys_of(record)
    found = [from_call(call, stage["stage"], keys) for stage in record["stages"] for call in stage["calls"]]
    found += [one for stage in record["stages"] for one in from_waits(stage, keys)]
    found += from_details(record, keys)
    return found + from_instance(record)


def from_call(call, stage, keys):
    at, request = seconds_of(call["started"]), call["request_id"]
    mine = keys_in(call["path"], keys)
    if request and REQUESTED.match(request):
        mine["request" if request in keys.get("request", ()) else "asked"] = [request]
    return event(
        at,
        call["service"],
        "http",
        f"{call['method']} {call['path']}: {call['status'] or 'no answer'}",
        until=at + call["seconds"],
        keys=mine,
        stage=stage,
        **{name: call[name] for name in ("method", "path", "status", "seconds")},
    )


def from_waits(stage, keys):
    server = {"server": keys["server"]} if "server" in keys else {}
    return [
        event(
            seconds_of(state["at"]),
            stage["stage"],
            "state",
            f"{wait['for']}: {state['state']}",
            resolution_s=state["resolution_s"] or 1e-6,
            keys=server,
            state=state["state"],
        )
        for wait in stage["waits"]
        for state in wait["states"]
    ]


def from_details(record, keys):
    """Nova's own events of the server, the token, and what the guest wrote on its console."""
    found = []
    auth, boot, metadata = (stage_of(record, name) for name in ("auth", "boot", "metadata"))
    if auth["details"].get("token"):
        token = auth["details"]["token"]
        at = seconds_of(auth["started"])
        found.append(event(at, "token", "fact", f"the token is of the kind {token}", token=token))
    for one in boot["details"].get("events") or []:
        if one.get("start_time"):
            mine = {"server": keys.get("server", []), "request": keys.get("request", [])}
            ends = seconds_of(one["finish_time"]) if one.get("finish_time") else None
            text = f"nova's event {one['event']}: {one.get('result') or 'under way'}"
            found.append(
                event(
                    seconds_of(one["start_time"]), "nova", "server_event", text, until=ends, keys=mine,
                    resolution_s=WHOLE_SECOND, event=one["event"], result=one.get("result"),
                )
            )  # fmt: skip
    return found + from_console(boot, metadata, keys)


def from_console(boot, metadata, keys):
    """What the guest wrote, in the guest's own time: its uptime, moved to the clock of who read it.

    A line that was there at one look and not at the one before was written in between: each allows a range for the
    moment at which the guest's clock was zero, and together they allow what all ranges share. Where all was there at
    once, it is known only that the guest began after the boot was asked for.
    """
    guest = metadata["details"].get("guest") or {}
    steps = {step["step"]: step for step in guest.get("steps") or []}
    looks = [state for wait in metadata["waits"][:1] for state in wait["states"]]
    if not (steps and looks and boot.get("started")):
        return []
    ranges = []
    for look in looks:
        step = steps.get(look["state"].split()[0]) if look["resolution_s"] else None
        if step:
            high = seconds_of(look["at"]) - step["uptime"]
            ranges.append((high - look["resolution_s"], high))
    newest = max(step["uptime"] for step in steps.values())
    ranges = ranges or [(seconds_of(boot["started"]), seconds_of(looks[-1]["at"]) - newest)]
    # The newest line at a look is the one named, so that ranges may miss each other by the time between two lines.
    low, high = max(one[0] for one in ranges), min(one[1] for one in ranges)
    low, high = (low, high) if low <= high else (min(one[0] for one in ranges), max(one[1] for one in ranges))
    zero, error = (low + high) / 2, (high - low) / 2
    return [
        event(
            zero + step["uptime"], "guest", "console", f"the guest wrote {name} after {step['uptime']} s",
            source="console", resolution_s=0.01, error_s=error, keys={"server": keys.get("server", [])},
            step=name, status=step.get("http_status"),
        )
        for name, step in steps.items()
    ]  # fmt: skip


def from_instance(record):
    """What the API says of the instance, its ports, and to an administrator of its place."""
    instance = record.get("instance")
    if not instance:
        return []
    server, asked = instance["server"], seconds_of(instance["asked"])
    mine = {"server": [server["id"]]}
    found = [
        event(
            seconds_of(server["created"]), "nova", "fact", "nova's entry of the server", keys=mine,
            resolution_s=WHOLE_SECOND, fact="created",
        )
    ]  # fmt: skip
    for port in instance["ports"]:
        about = {**mine, "port": [port["id"]]}
        fields = {"status": port.get("status"), "binding": port.get("kind"), "on": port.get("host")}
        if port.get("created"):
            found.append(
                event(
                    seconds_of(port["created"]), "neutron", "fact", "neutron's entry of the port", keys=about,
                    resolution_s=WHOLE_SECOND, fact="port created",
                )
            )  # fmt: skip
        at = seconds_of(port["updated"]) if port.get("updated") else asked
        text = f"the port is {port.get('status')} in revision {port.get('revision')}"
        found.append(
            event(at, "neutron", "fact", text, keys=about, resolution_s=WHOLE_SECOND, fact="port state", **fields)
        )
    if instance.get("allocations"):
        text = "placement holds an allocation for the server"
        found.append(event(asked, "placement", "fact", text, keys=mine, fact="allocation", timeless=True))
    return found


def of_hosts(record):
    """What the hosts knew when they were read, as far as it has a time, or shows that something happened before."""
    keys, found = keys_of(record), []
    evidence = record.get("evidence")
    asked = seconds_of(evidence["finished"]) if evidence else None
    # Each host was asked at some time in between.
    slow = asked - seconds_of(evidence["started"]) if evidence else 0.0
    for host in record["hosts"]:
        facts = host["facts"]
        about = {"host": host["host"], "source": "host"}
        # When it was asked is known by the control node's clock, and all else by the host's own.
        then = None if asked is None else asked + (host["clock_offset_s"] or 0)
        found += from_domain(facts.get("domain"), keys, then, about)
        for port, interface in (facts.get("interfaces") or {}).items():
            found += from_interface(port, interface, then, slow, about)
        for port, dhcp in (facts.get("dhcp") or {}).items():
            found += from_dhcp(port, dhcp, then, about)
        for port, proxies in (facts.get("metadata") or {}).items():
            found += from_proxies(port, proxies, about)
        found += from_ceph(facts.get("ceph"), keys, then, facts.get("zone_s") or 0, about)
    return [corrected(one, record["hosts"]) for one in found]


def from_domain(domain, keys, asked, about):
    process = (domain or {}).get("process")
    if not process:
        return []
    mine = {"server": keys.get("server", [])}
    started, when = process["started"], {"resolution_s": 0.01}
    if started is None:
        # It had ended before its start could be read.
        started, when = asked, {"timeless": True}
    text = "the emulator's process of the instance was started"
    found = [event(started, "libvirt", "fact", text, keys=mine, fact="process", **when, **about)]
    for disk in domain["disks"]:
        text = f"the domain's disk {disk['target']} is {disk['protocol'] or disk['type']} {disk['source']}"
        volume = {"volume": [one for one in keys.get("volume", []) if one in str(disk["source"])]}
        more = volume if volume["volume"] else {}
        found.append(
            event(
                started, "libvirt", "fact", text, keys={**mine, **more}, fact="disk", protocol=disk["protocol"],
                **when, **about,
            )
        )  # fmt: skip
    monitors = {ip_of(one) for disk in domain["disks"] for one in disk.get("monitors") or []}
    for peer in process.get("connections") or []:
        is_monitor = ip_of(peer) in monitors and peer.rpartition(":")[2] in ("3300", "6789")
        what = "monitor" if is_monitor else "osd"
        text = f"the emulator holds a connection to {peer}, of a Ceph {what.replace('osd', 'daemon')}"
        found.append(event(asked, "qemu", "fact", text, keys=mine, fact=what, timeless=True, **about))
    return found


def ip_of(peer):
    """The address before a port: libvirt and ss write that of IPv6 each in its way."""
    return peer.rpartition(":")[0].strip("[]").removeprefix("::ffff:")


def from_interface(port, interface, asked, slow, about):
    if not interface:
        return []
    mine = {"port": [port]}
    text = f"{interface['name']} lies on {interface['bridge']} with tag {interface['tag']}"
    found = [event(asked, "openvswitch", "fact", text, keys=mine, fact="interface", timeless=True, **about)]
    flows = interface.get("flows") or {}
    if flows.get("count"):
        text = f"{flows['count']} flows for the port"
        at, error = asked - slow / 2 - (flows.get("oldest_s") or 0), slow / 2 + 1.0
        found.append(
            event(at, "openvswitch", "fact", text, keys=mine, fact="flows", resolution_s=1.0, error_s=error, **about)
        )
    return found


def from_dhcp(port, dhcp, asked, about):
    found, mine = [], {"port": [port]}
    dhcp = dhcp or {}
    if dhcp.get("hosts"):
        text = "dnsmasq's file of hosts has the port's MAC address and its IP address"
        found.append(event(asked, "dnsmasq", "fact", text, keys=mine, fact="host file", timeless=True, **about))
    if dhcp.get("leases"):
        text = "dnsmasq has leased the address"
        found.append(event(asked, "dnsmasq", "fact", text, keys=mine, fact="lease", timeless=True, **about))
    for line in dhcp.get("log") or []:
        found.append(
            event(
                line["at"], "dnsmasq", "dhcp", f"DHCP {line['kind']}", keys=mine, resolution_s=line["resolution_s"],
                message=line["kind"], **about,
            )
        )  # fmt: skip
    return found


def from_proxies(port, proxies, about):
    return [
        event(
            request["at"] - request.get("seconds", 0),
            "metadata-proxy",
            "http",
            f"GET {request['path']}: {request['status']}",
            until=request["at"],
            keys={"port": [port]},
            resolution_s=max(request["resolution_s"], 0.001),
            method="GET",
            path=request["path"],
            status=request["status"],
            **about,
        )
        for proxy in proxies or []
        for request in proxy["requests"] or []
    ]  # fmt: skip


def from_ceph(ceph, keys, asked, zone, about):
    found = []
    for image in (ceph or {}).get("images") or []:
        if not image.get("exists"):
            continue
        name = f"{image['pool']}/{image['name']}"
        mine = keys_in(image["name"].replace("_disk", "").replace("volume-", ""), keys)
        cloned = f", a clone of {image['parent']}" if image.get("parent") else ""
        if image.get("created"):
            # Ceph says it in the time of the host that was asked.
            at = log_formats.spelled(image["created"], zone)
            text = f"{name} was made{cloned}"
            found.append(
                event(
                    at, "ceph", "fact", text, keys=mine, resolution_s=WHOLE_SECOND, fact="image", pool=image["pool"],
                    clone=bool(image.get("parent")), **about,
                )
            )  # fmt: skip
        for watcher in image.get("watchers") or []:
            text = f"{name} is watched from {watcher}"
            found.append(event(asked, "ceph", "fact", text, keys=mine, fact="watcher", timeless=True, **about))
    return found


def of_logs(record, logs):
    """The events that were read out of logs, host to what was read, with the names of the hosts that asked."""
    known = hosts_by_address(logs)
    found = []
    for host, read in logs.items():
        for logged in read["events"]:
            common = event(logged["at"], logged["service"], logged["kind"], "")
            one = {**common, **logged, "host": host, "source": "log", "until": None, "error_s": 0.0}
            one["text"] = words_of(one, known)
            if one["kind"] == "http":
                one["caller"] = known.get(one.get("client"), one.get("client"))
                if one.get("seconds") is not None:
                    one.update(span(one))
            elif one.get("seconds"):
                # A line that says how long something took is written at its end.
                one.update(at=one["at"] - float(one["seconds"]), until=one["at"])
            found.append(corrected(one, record["hosts"]))
    return found


def of_queue(record, queue, logs):
    """The messages that the recorders of the queue have kept, host to what was read, told of who sent or took them."""
    known = hosts_by_address(logs)
    found = []
    for host, read in queue.items():
        for kept in read["events"]:
            common = event(kept["at"], kept["service"], kept["kind"], "")
            one = corrected({**common, **kept, "host": host, "source": "queue"}, record["hosts"])
            found.append({**one, "host": known.get(one["client"], host)})
    return found


def of_spans(record, spans):
    """The spans of the boot's trace, each by the clock of the host that it is of."""
    trace = stage_of(record, "boot")["details"].get("trace")
    known = hosts_by_name(record)
    return [
        corrected(
            {
                **event(one["at"], one["service"], one["kind"], words_of_span(one)),
                **{name: one[name] for name in ("until", "caller", "name", *SPAN_FIELDS) if name in one},
                "host": known.get(one["host"], one["host"] or asked),
                "source": "span",
                "keys": {"trace": [trace]},
            },
            record["hosts"],
        )
        for asked, read in spans.items()
        for one in read["spans"]
    ]


def words_of_span(one):
    asked = f", asked by {one['caller']}" if one["kind"] == "http" and one["caller"] else ""
    return " ".join([one["name"] or "span", *filter(None, (one.get(name) for name in SPAN_FIELDS))]) + asked


def span(one):
    """When a request began and ended: a line is written at its end, but uwsgi and Apache write when it came."""
    seconds = one["seconds"]
    if one.get("began"):
        return {"until": one["at"] + seconds}
    return {"at": one["at"] - seconds, "until": one["at"]}


def words_of(one, known):
    if one["kind"] == "http":
        who = known.get(one.get("client"), one.get("client"))
        asked = f", asked by {who}" if who else ""
        return f"{one.get('method') or 'request'} {one['path']}: {one.get('status') or 'begun'}{asked}"
    if one["kind"] == "rpc":
        return " ".join(str(part) for part in (one["action"], one.get("method"), one.get("topic")) if part)
    if one["kind"] == "error":
        return f"an error of {one['logger']}" + (f": {one['exception']}" if one["exception"] else "")
    return ""


def corrected(one, hosts):
    """The same event by the control node's clock."""
    host = next((host for host in hosts if host["host"] == one["host"]), None)
    offset = host and host["clock_offset_s"]
    if offset is None:
        return one
    until = None if one["until"] is None else one["until"] - offset
    return {**one, "at": one["at"] - offset, "until": until, "error_s": one["error_s"] + (host["clock_error_s"] or 0)}


def joined(events):
    """Events of the run and those of the queue that belong to them: who takes a message knows its id, and no more."""
    about = [one for one in events if one["kind"] == "rpc" and one.get("message")]
    # What an earlier request of ours sent, such as the one for a network, is no message of the boot.
    ours = {one["message"] for one in about if set(one["keys"]) - {"asked", "shared"}}
    methods = {one["message"]: one["method"] for one in events if one.get("message") and one.get("method")}
    found = []
    for one in events:
        if one["kind"] != "rpc" or not one.get("message"):
            found.append(one)
            continue
        named = {**one, "method": one.get("method") or methods.get(one["message"])}
        if one["message"] in ours:
            named["keys"] = {**one["keys"], "message": [one["message"]]}
        found.append({**named, "text": words_of(named, {})})
    return sorted(found, key=lambda one: one["at"])
