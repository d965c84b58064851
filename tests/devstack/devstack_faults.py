# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Faults that are made on a devstack with OVN, each with what a verdict on it has to say to be right."""

from __future__ import annotations

import contextlib
import time
from typing import Any, ClassVar

from breaking import PATIENCE, edited, frozen, limited, stopped
from devstack_under_test import HOST, OPERATOR
from keystoneauth1.exceptions import ClientException
from openstack.exceptions import SDKException
from truths import fault_of
from ways_to_break import commanded

RECOVERY = 240
CONDUCTOR, SCHEDULER, COMPUTE = "devstack@n-cond-cell1", "devstack@n-sch", "devstack@n-cpu"
OVN_AGENT = "devstack@q-ovn-agent"
LIBVIRT = ("libvirtd.socket", "libvirtd-ro.socket", "libvirtd-admin.socket", "libvirtd")
DATABASES = "ovn-ovsdb-server-nb ovn-ovsdb-server-sb ovn-northd"
METADATA = "neutron-ovn-metadata-agent"
# The database's client, as the user of all services
MYSQL = "mysql --defaults-file=$(getent passwd stack | cut -d: -f6)/.my.cnf"


class Devstack:
    """The host with root's rights, and the cloud as its administrator sees it: a lab of one host."""

    storage = None
    # A boot takes some 20 s there.
    given: ClassVar[dict[str, Any]] = {
        **OPERATOR,
        "boot_timeout": 90,
        "metadata_timeout": 40,
        "cleanup_timeout": 30,
        "host_checks_timeout": 60,
    }

    def __init__(self, host, admin):
        self.host, self.admin = host, admin
        self.admin.session.timeout = PATIENCE

    def run(self, _host, command):
        done = self.host.run(command)
        assert done.rc == 0, f"{command}: {done.stdout} {done.stderr}"
        return done.stdout

    def ill(self):
        units = self.run(HOST, "systemctl list-units --all --plain --no-legend 'devstack@*' 'ovn-*' libvirtd.service")
        for line in units.splitlines():
            unit, _load, active, *_rest = line.split()
            # stack.sh leaves some of Debian's own units stopped.
            if active == "failed" or (active != "active" and unit.startswith("devstack@")):
                yield f"{unit} is {active}"
        yield from self.ill_for_the_cloud()

    def ill_for_the_cloud(self):
        try:
            for service in self.admin.compute.get("/os-services").json()["services"]:
                if (service["state"], service["status"]) != ("up", "enabled"):
                    yield f"{service['binary']} is {service['state']} and {service['status']}"
            for agent in self.admin.network.get("/agents").json()["agents"]:
                if not agent["alive"]:
                    yield f"{agent['binary']} is not alive"
            if self.admin.image.get("/images?limit=1").status_code != 200:
                yield "glance-api does not answer"
            if self.admin.placement.get("/resource_providers").status_code != 200:
                yield "placement-api does not answer"
        except (SDKException, ClientException, KeyError, ValueError) as error:
            yield f"the cloud does not answer: {error}"

    def wait_until_well(self, _fresh=(), _since=None):
        deadline = time.monotonic() + RECOVERY
        while ill := list(self.ill()):
            assert time.monotonic() < deadline, f"not well after {RECOVERY} s: {'; '.join(ill)}"
            time.sleep(2)


def by(make):
    """A fault on the only host there is."""
    return lambda devstack: make(devstack, HOST)


def stopping(*units):
    return by(lambda devstack, host: stopped(devstack, host, *units))


def freezing(*units):
    return by(lambda devstack, host: frozen(devstack, host, *units))


def done(command, back):
    return by(lambda devstack, host: commanded(devstack, host, command, back))


def configured(path, edit, unit):
    """A file that is changed by sed and read anew by a unit; then both are as before."""
    anew = f"systemctl restart {unit}"
    return by(lambda devstack, host: edited(devstack, host, path, f"sed -i {edit} {path} && {anew}", anew))


@contextlib.contextmanager
def forbidden_to_insert(devstack):
    """The user of all services may insert nothing. Another user gives that right back."""
    client = f"{MYSQL} --skip-column-names --execute"
    keeper = "mysql --user=keeper --password=keeper --host=127.0.0.1 --execute"
    user = devstack.run(HOST, f"{client} 'SELECT CURRENT_USER()'").strip().replace("@", "'@'")
    anew = "systemctl restart 'devstack@n-*'"
    give = "GRANT ALL ON *.* TO 'keeper'@'%' IDENTIFIED BY 'keeper' WITH GRANT OPTION"
    make = f"{keeper} \"REVOKE INSERT ON *.* FROM '{user}'\" && {anew}"
    back = f"{keeper} \"GRANT INSERT ON *.* TO '{user}'\" && {anew}"
    devstack.run(HOST, f'{client} "{give}; {give.replace("%", "localhost")}"')
    try:
        with commanded(devstack, HOST, make, back):
            yield
    finally:
        devstack.run(HOST, f"{client} \"DROP USER 'keeper'@'%', 'keeper'@'localhost'\"")


FAULTS = {}


def fault(name, make, stage, components, steps="", **variables):
    FAULTS[name] = fault_of(name, make, stage, components, HOST if components else "", steps, **variables)


fault("ovn-controller-stopped", stopping("ovn-controller"), "boot", "ovn-controller", "N22")
fault("ovn-northd-frozen", freezing("ovn-northd"), "boot", "ovn-northd", "N21 N22")
fault(
    "ovn-databases-stopped",
    done(f"systemctl stop {DATABASES}", f"systemctl start {DATABASES}"),
    "network",
    "ovn-nb-db ovn-sb-db",
)
fault("ovn-agent-stopped", stopping(OVN_AGENT), "metadata", METADATA, "N26 52 53 53a")
fault(
    "ovn-agent-few-files",
    by(lambda devstack, host: limited(devstack, host, OVN_AGENT, 1024)),
    "metadata",
    METADATA,
    "N26 52 53 53a",
)
fault("cell-conductor-frozen", freezing(CONDUCTOR), "boot", "nova-conductor", "13 17 N8")
fault("scheduler-stopped", stopping(SCHEDULER), "boot", "nova-scheduler", "8 9 N5")
fault("compute-frozen", freezing(COMPUTE), "boot", "nova-compute", "13")
fault(
    "libvirtd-stopped",
    stopping(*LIBVIRT),
    "boot",
    "libvirt",
    "46 47",
)
fault(
    "neutron-password-wrong",
    configured("/etc/nova/nova-cpu.conf", r"'/^\[neutron\]/,/^\[/s/^password = .*/password = wrong/'", COMPUTE),
    "boot",
    "nova-compute keystone",
    "26 28 N9",
)
fault(
    "cell-queue-forbidden",
    done(
        "rabbitmqctl clear_permissions -p nova_cell1 stackrabbit; rabbitmqctl close_all_user_connections stackrabbit x",
        # Refused by the broker, a service ends for good.
        "rabbitmqctl set_permissions -p nova_cell1 stackrabbit '.*' '.*' '.*' && "
        f"systemctl reset-failed {COMPUTE} {CONDUCTOR}; systemctl restart {COMPUTE} {CONDUCTOR}",
    ),
    "boot",
    "rabbitmq",
    "13 14",
)
fault("database-insert-forbidden", forbidden_to_insert, "boot", "database nova-api", "5")
fault(
    "instances-disk-full",
    done(
        "mount -t tmpfs -o size=64k,mode=755,uid=$(id -u stack) tmpfs /opt/stack/data/nova/instances",
        "umount -l /opt/stack/data/nova/instances",
    ),
    "boot",
    "nova-compute",
    "46",
)
