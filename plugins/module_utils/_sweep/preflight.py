# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Checks before a sweep: services and agents, endpoints, quotas. Pure: the answers of services come as arguments."""

from __future__ import annotations

import math

from .._record.clock import seconds_of

COMPUTE = "nova-compute"
# With this nova begins the reason where it has taken a host out of service by itself.
BY_ITSELF = "AUTO:"


def check(name, component, status="ok", reason=None, host=None):
    return {"name": name, "status": status, "reason": reason, "host": host, "component": component}


def age(text, now):
    """Seconds since a time as the services write it: in UTC, without a zone."""
    return now - seconds_of(text) if text else None


def heartbeat(name, host, component, alive, seconds, most):
    """The check of a service that reports itself: its API must call it alive, with a recent report if asked."""
    service = f"{name} on {host}"
    title = f"{service} is alive"
    heard = "was never heard of" if seconds is None else f"was last heard of {seconds:.0f} s ago"
    if not alive:
        return check(title, component, "failed", f"{service} is down, it {heard}", host)
    if seconds is None:
        # The service has just been set up: it counts as alive until its first report is late.
        return check(title, component, "ok", f"{service} is new, and has not reported itself yet", host)
    if most and seconds > most:
        return check(title, component, "failed", f"{service} is said to be up, but it {heard}", host)
    return check(title, component, "ok", f"{service} {heard}", host)


def is_switched_off(service):
    """Whether an operator has taken the service out of use; nova may do so by itself."""
    return service["status"] == "disabled" and not (service.get("disabled_reason") or "").startswith(BY_ITSELF)


def service_check(service, component, now, most):
    """A service of nova or cinder."""
    name, host = service["binary"], service["host"]
    if is_switched_off(service):
        why = service.get("disabled_reason") or "no reason is given"
        return check(f"{name} on {host} is alive", component, "ok", f"{name} on {host} is disabled: {why}", host)
    alive = heartbeat(name, host, component, service["state"] == "up", age(service["updated_at"], now), most)
    if alive["status"] == "ok" and service["status"] == "disabled":
        reason = f"{name} on {host} has disabled itself: {service['disabled_reason']}"
        return {**alive, "status": "failed", "reason": reason}
    return alive


def agent_checks(agents, now, most):
    if not agents:
        # Neutron does not refuse a plain user, but shows an empty list.
        reason = "neutron shows no agents; perhaps it would show them to an administrator"
        return [check("neutron tells its agents", "neutron", "unreadable", reason)]
    return [agent_check(agent, now, most) for agent in agents]


def agent_check(agent, now, most):
    name, host = agent["binary"], agent["host"]
    if not agent["admin_state_up"]:
        return check(f"{name} on {host} is alive", "neutron", "ok", f"{name} on {host} is disabled", host)
    return heartbeat(name, host, "neutron", agent["alive"], age(agent["heartbeat_timestamp"], now), most)


def compute_hosts(services):
    """(hosts to provision on, hosts left out and why) by the services of nova."""
    hosts, left_out = [], []
    computes = [service for service in services if service["binary"] == COMPUTE]
    for service in sorted(computes, key=lambda service: service["host"]):
        if is_switched_off(service):
            why = service.get("disabled_reason") or "no reason is given"
            left_out.append({"host": service["host"], "reason": f"disabled: {why}"})
        else:
            hosts.append(service["host"])
    return hosts, left_out


def mapped_checks(hosts, hypervisors):
    """A failed check for each host in no cell: its service reports itself, but it takes no instance."""
    mapped = {hypervisor["service"]["host"] for hypervisor in hypervisors}
    return [unmapped_check(host) for host in hosts if host not in mapped]


def unmapped_check(host):
    hint = "it is in no cell: nova-manage cell_v2 discover_hosts"
    reason = f"{COMPUTE} on {host} has no hypervisor; perhaps {hint}"
    return check(f"{host} is a hypervisor", "nova", "failed", reason, host)


def endpoint_checks(answers, wanted):
    """answers has (service, interfaces, URL, status of the answer or None, why there was none)."""
    return [endpoint_check(*answer, wanted) for answer in answers]


def endpoint_check(service, interfaces, url, status, why, wanted):
    name = f"{service} answers at {url}"
    if status is not None and status < 500:
        return check(name, service, "ok", f"{url} answers {status}")
    answer = f"answers {status}" if status else f"does not answer: {why}"
    reason = f"the {'/'.join(interfaces)} endpoint of {service}, {url}, {answer}"
    if status is None and not set(wanted) & set(interfaces):
        # Perhaps only hosts of the cloud can reach it.
        return check(name, service, "unreadable", f"{reason}; the sweep does not use it")
    return check(name, service, "failed", reason)


def most_at_once(at_once, hosts, values):
    """The number of runs at the same time: not more than there are targets."""
    return min(at_once, math.prod(max(1, len(chosen)) for chosen in (hosts, *values.values())))


def needs(at_once, flavor, options):
    """The resources that runs at the same time need together, by the names of the services' quotas."""
    has_network = options["network"] or options["values"].get("network")
    made = {
        ("nova", "instances"): 1,
        ("nova", "cores"): flavor["vcpus"],
        ("nova", "ram"): flavor["ram"],
        ("neutron", "security_group"): 1,
        # A network that the run makes has a port for DHCP beside the instance's.
        ("neutron", "port"): 1 if has_network else 2,
    }
    if not has_network:
        made.update({("neutron", "network"): 1, ("neutron", "subnet"): 1})
    if options["volume"] != "none":
        made.update({("cinder", "volumes"): 1, ("cinder", "gigabytes"): options["volume_size"]})
    if options["floating_ip"]:
        made.update({("neutron", "floatingip"): 1, ("neutron", "router"): 1})
        made["neutron", "port"] += 2
    return {quota: number * at_once for quota, number in made.items()}


def quota_check(component, name, need, limit, used):
    title = f"the quota of {name} is enough"
    # A limit below zero means that there is none.
    if limit < 0 or limit - used >= need:
        left = "no limit" if limit < 0 else f"{limit - used} of {limit} left"
        return check(title, component, "ok", f"{name}: {need} needed at the same time, {left}")
    reason = f"{name}: {need} are needed at the same time, but only {max(0, limit - used)} of {limit} are left"
    return check(title, component, "failed", f"{reason}; raise the quota or lower stackproof_at_once")


def absolute(limits, names):
    """{quota: (limit, used)} out of the limits of nova and cinder, whose names follow no rule."""
    return {quota: (limits[most], limits[used]) for quota, (most, used) in names.items() if most in limits}


NOVA_LIMITS = {
    "instances": ("maxTotalInstances", "totalInstancesUsed"),
    "cores": ("maxTotalCores", "totalCoresUsed"),
    "ram": ("maxTotalRAMSize", "totalRAMUsed"),
}
CINDER_LIMITS = {
    "volumes": ("maxTotalVolumes", "totalVolumesUsed"),
    "gigabytes": ("maxTotalVolumeGigabytes", "totalGigabytesUsed"),
}


def detailed(quota):
    """{quota: (limit, used)} out of the details of neutron; what is reserved counts as used."""
    return {name: (detail["limit"], detail["used"] + detail.get("reserved", 0)) for name, detail in quota.items()}


def quota_checks(component, needed, quotas):
    return [
        quota_check(component, name, number, *quotas[name])
        for (of, name), number in needed.items()
        if of == component and name in quotas
    ]
