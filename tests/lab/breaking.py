# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""How a part of the lab is broken for a while: stopped, frozen, cut off, or told something wrong.

Each way is a context manager that puts everything back and waits until the cloud says that what it broke is well.
"""

from __future__ import annotations

import contextlib
import time
import urllib.error
import urllib.request
from datetime import datetime, timezone
from typing import Any, ClassVar

from lab_under_test import GROUPS, HOSTS, connect, on_the_lab
from openstack.exceptions import SDKException
from test_services import PORTS, SERVICES, SHARED

RECOVERY = 180
# What is asked while a service is frozen would otherwise be waited for without end.
PATIENCE = 20
APIS = [port for port in PORTS["controller"] if port in (5000, 9292, 8778, 8774, 8775, 9696, 8776)]
# As the cloud names those who report to it; of the others only systemd tells.
REPORTING = {
    "nova-conductor",
    "nova-scheduler",
    "nova-compute",
    "cinder-scheduler",
    "cinder-volume",
    "neutron-dhcp-agent",
    "neutron-l3-agent",
    "neutron-metadata-agent",
    "neutron-openvswitch-agent",
}


# A boot takes some 15 s on the lab, and the guest then 7 s until it has its metadata. One that hangs need not be waited
# for; one that goes through may take longer at times.
SHORT = {
    "auth_timeout": 15,
    "image_timeout": 30,
    "network_timeout": 20,
    "volume_timeout": 20,
    "boot_timeout": 60,
    "metadata_timeout": 25,
    "cleanup_timeout": 15,
    "host_checks_timeout": 60,
}


def units_of(host):
    """The services that the lab promises on a host."""
    groups = {group for group, members in GROUPS.items() if host in members}
    own = [unit for group, units in SERVICES.items() if group in groups for unit in units]
    return own + [unit for homes, units in SHARED.items() if groups & set(homes) for unit in units]


class Lab:
    """The hosts by name, with root's rights, and the cloud as its administrator sees it."""

    # The variables of a run on it
    given: ClassVar[dict[str, Any]] = {
        "cloud": "lab",
        "admin_cloud": "lab-admin",
        "image": "probe",
        "volume_type": "ceph",
        **SHORT,
    }

    def __init__(self, hosts):
        self.hosts = hosts
        self.storage = next(host for name, host in hosts.items() if "ceph-mon@a" in units_of(name))
        self.admin = connect("lab-admin")
        self.admin.session.timeout = PATIENCE

    def run(self, host, command):
        done = self.hosts[host].run(command)
        assert done.rc == 0, f"{host}: {command}: {done.stdout} {done.stderr}"
        return done.stdout

    def reports(self):
        """Who reports to the cloud: (binary, host) with whether it counts as alive and when it last did."""
        reports = {}
        for service in answer(self.admin.compute, "/os-services", "services"):
            up = service["state"] == "up" and service["status"] == "enabled"
            reports[service["binary"], service["host"]] = (up, moment(service["updated_at"]))
        for agent in answer(self.admin.network, "/agents", "agents"):
            reports[agent["binary"], agent["host"]] = (agent["alive"], moment(agent["heartbeat_timestamp"]))
        for service in answer(self.admin.block_storage, "/os-services", "services"):
            reports[service["binary"], service["host"].partition("@")[0]] = (
                service["state"] == "up",
                moment(service["updated_at"]),
            )
        return reports

    def ill(self, fresh=(), since=None):
        """What is not well, in words; those named in fresh must have reported since then."""
        for host in self.hosts:
            units = units_of(host)
            states = self.hosts[host].run("systemctl is-active " + " ".join(units)).stdout.split()
            yield from (f"{unit} on {host} is {state}" for unit, state in zip(units, states) if state != "active")
        yield from (f"nothing answers on port {port}" for port in APIS if not answers(port))
        for group in GROUPS["storage"]:
            health = self.hosts[group].run("timeout 20 ceph health").stdout
            if not health.startswith("HEALTH_OK"):
                yield f"ceph: {health.strip() or 'no answer'}"
        try:
            reports = self.reports()
        except (SDKException, OSError, KeyError, ValueError) as error:
            yield f"the cloud does not say who is up: {error}"
            return
        yield from (f"{binary} of {host} is not up" for (binary, host), (up, _at) in reports.items() if not up)
        for reporter in fresh:
            if reporter not in reports or reports[reporter][1] < since:
                yield f"{reporter[0]} of {reporter[1]} has not reported since"

    def wait_until_well(self, fresh=(), since=None):
        deadline = time.monotonic() + RECOVERY
        while ill := list(self.ill(fresh, since)):
            assert time.monotonic() < deadline, f"the lab is not well after {RECOVERY} s: {'; '.join(ill)}"
            time.sleep(2)


def answer(service, path, key):
    response = service.get(path)
    if response.status_code != 200:
        raise SDKException(f"{path}: {response.status_code}")
    return response.json()[key]


def traits_of(placement, host):
    """A function that adds traits to those of a host, by set.union, or takes them away, by set.difference."""
    provider = placement.get(f"/resource_providers?name={host}").json()["resource_providers"][0]["uuid"]
    path = f"/resource_providers/{provider}/traits"

    def put(change, *traits):
        held = placement.get(path, microversion="1.6").json()
        body = held | {"traits": sorted(change(set(held["traits"]), traits))}
        placement.put(path, json=body, microversion="1.6").raise_for_status()

    return put


def moment(text):
    """A time of the cloud's, which is always UTC, as seconds."""
    parsed = datetime.fromisoformat(text) if text else datetime.fromtimestamp(0)
    return parsed.replace(tzinfo=timezone.utc).timestamp()


def answers(port):
    url = f"http://{on_the_lab(HOSTS[GROUPS['controller'][0]]['ansible_host'])}:{port}/"
    try:
        urllib.request.urlopen(url, timeout=5).close()
    except urllib.error.HTTPError:
        return True  # a refusal is an answer
    except OSError:
        return False
    return True


@contextlib.contextmanager
def recovered(lab, host, units=()):
    """Wait at the end until the lab is well, and until these units have reported to the cloud again."""
    try:
        yield
    finally:
        since = time.time()
        lab.wait_until_well([(unit, host) for unit in units if unit in REPORTING], since)


@contextlib.contextmanager
def undone(lab, host, command, back):
    lab.run(host, command)
    try:
        yield
    finally:
        lab.run(host, back)


@contextlib.contextmanager
def stopped(lab, host, *units):
    """Units that are stopped; a socket that would start its service again has to be named first."""
    names = " ".join(units)
    services = " ".join(unit for unit in units if not unit.endswith(".socket"))
    with recovered(lab, host, units):
        command = f"systemctl stop {names}"
        with undone(lab, host, command, f"systemctl reset-failed {services}; systemctl start {names}"):
            yield


@contextlib.contextmanager
def frozen(lab, host, *units):
    """Units whose every process, with all children, does nothing; connections to them stay open."""
    names = " ".join(units)
    with (
        recovered(lab, host, units),
        undone(lab, host, f"systemctl kill --signal=STOP {names}", f"systemctl kill --signal=CONT {names}"),
    ):
        yield


@contextlib.contextmanager
def killed(lab, host, unit):
    """A unit that dies once, and that systemd starts again."""
    with recovered(lab, host, [unit]):
        lab.run(host, f"systemctl kill --signal=KILL {unit}")
        yield


@contextlib.contextmanager
def cut_off(lab, host, port, units=()):
    """Packets between a host and a port of others are lost, without a word to either."""
    rules = [f"OUTPUT --protocol tcp --dport {port} --jump DROP", f"INPUT --protocol tcp --sport {port} --jump DROP"]
    make, back = (" && ".join(f"iptables --wait {verb} {rule}" for rule in rules) for verb in ("--insert", "--delete"))
    with recovered(lab, host, units), undone(lab, host, make, back):
        yield


@contextlib.contextmanager
def unplugged(lab, host, device):
    with recovered(lab, host), undone(lab, host, f"ip link set {device} down", f"ip link set {device} up"):
        yield


@contextlib.contextmanager
def edited(lab, host, path, edit, then, units=()):
    """A file that is changed by a command, and has its content again at the end; yields the time before the change.

    then: the command that follows when it has its content again.
    """
    kept = f"/root/kept-{path.strip('/').replace('/', '-')}"
    with recovered(lab, host, units):
        lab.run(host, f"cp --preserve=all {path} {kept}")
        since = time.time()
        try:
            lab.run(host, edit)
            yield since
        finally:
            lab.run(host, f"cat {kept} > {path} && rm {kept} && {then}")


@contextlib.contextmanager
def changed(lab, host, path, edit, units=()):
    """A file that is changed by a command, and read anew by the units; then both are as before."""
    restart = f"systemctl restart {' '.join(units)}" if units else "true"
    with edited(lab, host, path, f"{edit} && {restart}", restart, units) as since:
        if units:
            lab.wait_until_well([(unit, host) for unit in units if unit in REPORTING], since)
        yield


def drop_in(unit, text):
    """(command, command that undoes it) for settings of a unit, which only the second one starts anew."""
    folder = f"/run/systemd/system/{unit}.service.d"
    make = f"mkdir -p {folder} && printf '[Service]\\n{text}\\n' > {folder}/zz.conf && systemctl daemon-reload"
    return (
        make,
        f"rm {folder}/zz.conf; systemctl daemon-reload; systemctl reset-failed {unit}; systemctl restart {unit}",
    )


@contextlib.contextmanager
def limited(lab, host, unit, limit):
    """A unit that may open only so many files."""
    make, back = drop_in(unit, f"LimitNOFILE={limit}")
    with recovered(lab, host), undone(lab, host, f"{make} && systemctl restart {unit}", back):
        yield
