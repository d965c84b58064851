# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Ways to make something wrong while everything runs.

Each restores what it changed, and waits until the cloud is healthy. A way takes the lab and is a context manager, like
those in ways_to_break.py.
"""

from __future__ import annotations

import contextlib
import time
from dataclasses import replace
from functools import partial
from shlex import quote

from breaking import REPORTING, edited, recovered, undone

# How long a service may take to come up with wrong settings. One that cannot is not waited for any longer.
SETTLING = 30
# The transient unit that holds a lock
HOLDER = "catalogue-holder"
SLEEP = "DO SLEEP(3600)"
# Sets, or with an empty value removes, an option in a section of an INI file
SET_OPTION = """
import sys
path, section, option, value = sys.argv[1:]
header, here, kept = "[" + section + "]", False, []
for line in open(path).read().splitlines():
    if line.startswith("["):
        here = line.strip() == header
    if here and line.partition("=")[0].strip() == option:
        continue
    kept.append(line)
    if line.strip() == header and value:
        kept.append(option + " = " + value)
        value = ""
if value:
    kept += [header, option + " = " + value]
open(path, "w").write("\\n".join(kept) + "\\n")
"""


def first(things):
    """Return the first of some things. next() alone would end a generator without a word where there are no things."""
    return next(iter(things))


def set_option(path, section, option, value):
    """The command that sets an option of a file; an empty value removes it."""
    return f"python3 -c {quote(SET_OPTION)} {path} {section} {option} {quote(value)}"


def sed(path, expression):
    return f"sed -i -E {quote(expression)} {path}"


# Settings


def settle(lab, part, since):
    """Wait until a service that was restarted works as far as its cloud can see, or until it had its time."""
    deadline = time.monotonic() + SETTLING
    while time.monotonic() < deadline and not is_up(lab, part, since):
        time.sleep(1)


def is_up(lab, part, since):
    if part.port:
        probe = f"curl --silent --output /dev/null --max-time 3 http://$(hostname -I | cut -d' ' -f1):{part.port}/"
        return lab.run(part.host, f"{probe} && echo up || true").strip() == "up"
    reporting = [unit for unit in part.services if unit in REPORTING]
    if not reporting or not hasattr(lab, "reports"):
        return time.time() > since + SETTLING / 3
    try:
        reports = lab.reports()
    except Exception:  # whatever the cloud answers while something is wrong in it
        return False
    return all(reports.get((unit, part.host), (False, 0))[1] > since + 1 for unit in reporting)


@contextlib.contextmanager
def set_wrong(lab, part, edits, path=None):
    """Commands change a file of settings, and the part restarts with it; then both are as before."""
    names = " ".join(part.services)
    path = path or part.settings
    kept = f"/root/kept-{path.strip('/').replace('/', '-')}"
    make = f"{' && '.join(edits)} && ! cmp --silent {path} {kept} && (systemctl restart {names} || true)"
    back = f"systemctl reset-failed {names}; systemctl restart {names}"
    reporting = [unit for unit in part.services if unit in REPORTING]
    with edited(lab, part.host, path, make, back, reporting) as since:
        settle(lab, part, since)
        yield


@contextlib.contextmanager
def set_by_new_file(lab, part, path, text):
    """A file that the part reads and that did not exist, such as a policy."""
    names = " ".join(part.services)
    restart = f"systemctl restart {names}"
    make = f"test ! -s {path} && printf '%s\\n' {quote(text)} > {path} && chmod 644 {path} && {restart}"
    reporting = [unit for unit in part.services if unit in REPORTING]
    with recovered(lab, part.host, reporting), kept_as_it_was(lab, part.host, path, restart):
        lab.run(part.host, make)
        settle(lab, part, time.time() - 1)
        yield


@contextlib.contextmanager
def kept_as_it_was(lab, host, path, restart):
    """A file that may not exist is as before at the end."""
    kept = f"/root/kept-{path.strip('/').replace('/', '-')}"
    lab.run(host, f"rm -f {kept}; test ! -e {path} || cp --preserve=all {path} {kept}")
    try:
        yield
    finally:
        lab.run(host, f"if test -e {kept}; then mv {kept} {path}; else rm -f {path}; fi; {restart}")


@contextlib.contextmanager
def renamed_peer(lab, part, edits, name, address):
    """The settings name a host that resolves to another address, on this host alone."""
    with edited(lab, part.host, "/etc/hosts", hosts_entry(name, address), "true"), set_wrong(lab, part, edits):
        yield


def hosts_entry(name, address):
    """The command that gives a name another address; the file may be a mount, which nothing can replace."""
    others = f"grep -vE '[[:space:]]{name}$' /etc/hosts"
    return f"text=$({others}; echo '{address} {name}') && printf '%s\\n' \"$text\" > /etc/hosts"


# Commands


@contextlib.contextmanager
def commanded(lab, host, make, back, restarted=None):
    """A command, and one that undoes it. restarted: a part that restarts after either, to know of it."""
    if restarted is None:
        with recovered(lab, host), undone(lab, host, make, back):
            yield
        return
    names = " ".join(restarted.services)
    restart = f"systemctl reset-failed {names}; systemctl restart {names}"
    reporting = [unit for unit in restarted.services if unit in REPORTING]
    with recovered(lab, restarted.host, reporting):
        try:
            with undone(lab, host, make, back):
                since = time.time()
                lab.run(restarted.host, f"{restart} || true")
                settle(lab, restarted, since)
                yield
        finally:
            lab.run(restarted.host, restart)


def by(host, make, back, restarted=None):
    return partial(commanded, host=host, make=make, back=back, restarted=restarted)


@contextlib.contextmanager
def kept_value(lab, host, get, put, value, restarted=None):
    """A value that is read first, and put back at the end. put: a command with {} for the value."""
    before = lab.run(host, get).strip().strip('"')
    with commanded(lab, host, put.format(quote(value)), put.format(quote(before)), restarted):
        yield


def external_id(host, name, value):
    """Another value for an external id of the host's Open vSwitch, such as ovn-remote."""
    get = f"ovs-vsctl --if-exists get open_vswitch . external_ids:{name}"
    return partial(
        kept_value, host=host, get=get, put=f"ovs-vsctl set open_vswitch . external_ids:{name}={{}}", value=value
    )


@contextlib.contextmanager
def renamed_chassis(lab, host, controller, name):
    """The chassis has another name than before; the row of that name goes once it has its own again."""
    change = "ovs-vsctl set open_vswitch . external_ids:system-id={}"
    before = lab.run(host, "ovs-vsctl get open_vswitch . external_ids:system-id").strip().strip('"')
    with recovered(lab, host):
        try:
            with undone(lab, host, change.format(name), change.format(before)):
                yield
        finally:
            lab.run(host, "systemctl stop ovn-controller")
            lab.run(controller, f"ovn-sbctl --if-exists chassis-del {name}; ovn-sbctl --if-exists chassis-del {before}")
            lab.run(host, "systemctl start ovn-controller")


def other_bridge(host, name):
    """ovn-controller works on another bridge than the services that plug into it; it makes that bridge itself."""
    back = (
        "ovs-vsctl remove open_vswitch . external_ids ovn-bridge; systemctl restart ovn-controller; sleep 3;"
        f" ovs-vsctl --if-exists del-br {name}"
    )
    return by(host, f"ovs-vsctl set open_vswitch . external_ids:ovn-bridge={name}", back)


def dropping(host, rule, restarted=None):
    """A rule of iptables. rule: its chain and the rest."""
    return by(host, f"iptables --wait --insert {rule}", f"iptables --wait --delete {rule}", restarted)


def flow(host, bridge, match):
    """A flow that drops packets, above all others."""
    add = f"ovs-ofctl --protocols=OpenFlow13,OpenFlow15 add-flow {bridge} priority=65535,{match},actions=drop"
    remove = f"ovs-ofctl --protocols=OpenFlow13,OpenFlow15 --strict del-flows {bridge} priority=65535,{match}"
    return by(host, add, f"{remove} || true")


def starved(part, share):
    """The processor for a part is limited to a share of one, in percent."""
    return with_property(part, "CPUQuota", f"{share}%")


def with_property(part, name, value):
    """A property of control groups, such as a limit, for the units of a part that runs."""

    def limited(to):
        return "; ".join(f"systemctl set-property --runtime {unit} {name}={to}" for unit in part.services)

    left = " ".join(f"/run/systemd/system.control/{unit}.service.d/50-{name}.conf" for unit in part.services)
    return by(part.host, limited(value), f"{limited('')}; rm -f {left}; systemctl daemon-reload")


@contextlib.contextmanager
def workers_frozen(lab, part, most=1):
    """Processes that share the work of a service do nothing; systemd sees a service that runs. most: how many."""
    unit = part.services[0]
    pick = (
        f"main=$(systemctl show --property=MainPID --value {unit});"
        f' workers=$(pgrep --parent $main | head -n {most}); test -n "$workers"; kill -STOP $workers; echo $workers'
    )
    with recovered(lab, part.host):
        workers = " ".join(lab.run(part.host, pick).split())
        try:
            yield
        finally:
            lab.run(part.host, f"kill -CONT {workers}")


# The database


@contextlib.contextmanager
def held(lab, host, statement, mysql):
    """A connection to the database that keeps a lock open."""
    client = f"{mysql} --execute {quote(f'{statement}; {SLEEP}')}"
    make = f"systemd-run --quiet --unit={HOLDER} --setenv=HOME=/root /bin/sh -c {quote(client)} && sleep 1"
    # The server does not see that the client is gone while it sleeps.
    asleep = f"SELECT id FROM information_schema.processlist WHERE info='{SLEEP}'"
    kill = f'for id in $({mysql} -BN --execute "{asleep}"); do {mysql} --execute "KILL $id"; done'
    back = f"{kill}; systemctl stop {HOLDER}.service; systemctl reset-failed {HOLDER}.service; true"
    with commanded(lab, host, f"{make} && systemctl is-active {HOLDER}", back):
        yield


def sql(mysql, statement):
    return f"{mysql} --execute {quote(statement)}"


def changed_rows(site, make, back, restarted=None):
    return by(site.controller, sql(site.mysql, make), sql(site.mysql, back), restarted)


@contextlib.contextmanager
def fewer_rights(lab, host, user, rights, mysql, restarted):
    """A user of the database has only some rights on what is its own."""
    shown = f"{mysql} --batch --skip-column-names --execute \"SHOW GRANTS FOR {user}@'%'\""
    grants = [line for line in lab.run(host, shown).splitlines() if "USAGE" not in line]
    fewer = [line.replace("ALL PRIVILEGES", rights) for line in grants]
    revoke = f"REVOKE ALL PRIVILEGES, GRANT OPTION FROM {user}@'%'"
    make = sql(mysql, "; ".join([revoke, *fewer, "FLUSH PRIVILEGES"])) + f"; {sql(mysql, f'KILL USER {user}')} || true"
    back = sql(mysql, "; ".join([*grants, "FLUSH PRIVILEGES"])) + f"; {sql(mysql, f'KILL USER {user}')} || true"
    restart = f"; systemctl restart {' '.join(restarted)}"
    with recovered(lab, host), undone(lab, host, make, back + restart):
        yield


# The cloud's API


@contextlib.contextmanager
def moved_endpoint(lab, host, service, find, put, restarted=None):
    """The catalog names another address for a service. find, put: texts of its URL."""
    identity = lab.admin.identity
    service_id = first(one.id for one in identity.services() if one.type == service)
    before = {endpoint.id: endpoint.url for endpoint in identity.endpoints(service_id=service_id)}
    back = with_restarts([restarted] if restarted else [])
    with recovered(lab, host):
        try:
            for endpoint, url in before.items():
                identity.update_endpoint(endpoint, url=url.replace(find, put))
            back(lab)
            yield
        finally:
            for endpoint, url in before.items():
                identity.update_endpoint(endpoint, url=url)
            back(lab)


def with_restarts(parts):
    def restart(lab):
        for part in parts:
            names = " ".join(part.services)
            since = time.time()
            lab.run(part.host, f"systemctl reset-failed {names}; systemctl restart {names} || true")
            settle(lab, part, since)

    return restart


@contextlib.contextmanager
def endpoint_off(lab, host, service):
    """The catalog leaves a service out."""
    identity = lab.admin.identity
    service_id = first(one.id for one in identity.services() if one.type == service)
    endpoints = [endpoint.id for endpoint in identity.endpoints(service_id=service_id)]
    with recovered(lab, host):
        try:
            for endpoint in endpoints:
                identity.update_endpoint(endpoint, is_enabled=False)
            yield
        finally:
            for endpoint in endpoints:
                identity.update_endpoint(endpoint, is_enabled=True)


@contextlib.contextmanager
def without_role(lab, host, user, role, restarted):
    """A service's user lacks a role in the project of the services."""
    identity = lab.admin.identity
    ids = (identity.find_project("service"), identity.find_user(user), identity.find_role(role))
    restart = f"systemctl restart {' '.join(restarted)}"
    with recovered(lab, host):
        try:
            identity.unassign_project_role_from_user(*ids)
            lab.run(host, f"systemctl restart memcached && {restart}")
            yield
        finally:
            identity.assign_project_role_to_user(*ids)
            lab.run(host, f"systemctl restart memcached && {restart}")


@contextlib.contextmanager
def other_password(lab, host, user, path, restarted):
    """Keystone has another password for a service's user than the service's settings."""
    identity = lab.admin.identity
    account = identity.find_user(user)
    shown = f"sed -n '/^\\[keystone_authtoken\\]/,/^\\[/s/^password *= *//p' {path} | head -n 1"
    before = lab.run(host, shown).strip()
    restart = f"systemctl restart memcached && systemctl restart {' '.join(restarted)}"
    with recovered(lab, host):
        try:
            identity.update_user(account, password=f"{before}-another")
            lab.run(host, restart)
            yield
        finally:
            identity.update_user(account, password=before)
            lab.run(host, restart)


@contextlib.contextmanager
def agent_down(lab, host, binary):
    """An administrator has taken an agent out of service."""
    network = lab.admin.network
    agent = first(one for one in network.agents() if (one.binary, one.host) == (binary, host))
    with recovered(lab, host):
        network.put(f"/agents/{agent.id}", json={"agent": {"admin_state_up": False}}).raise_for_status()
        try:
            yield
        finally:
            network.put(f"/agents/{agent.id}", json={"agent": {"admin_state_up": True}}).raise_for_status()


@contextlib.contextmanager
def computes_off(lab, hosts, reason, forced=False):
    """An administrator has taken computes out of service, or has forced them down."""
    compute = lab.admin.compute
    services = [one for one in compute.services(binary="nova-compute") if one.host in hosts]
    off, on = ({"forced_down": True}, {"forced_down": False}) if forced else (
        {"status": "disabled", "disabled_reason": reason}, {"status": "enabled"},
    )  # fmt: skip
    with recovered(lab, hosts[0]):
        try:
            for service in services:
                compute.put(f"/os-services/{service.id}", json=off, microversion="2.53").raise_for_status()
            yield
        finally:
            for service in services:
                compute.put(f"/os-services/{service.id}", json=on, microversion="2.53").raise_for_status()


@contextlib.contextmanager
def volume_service_off(lab, host, binary):
    """An administrator has disabled a service of Cinder."""
    volumes = lab.admin.block_storage
    listed = volumes.get("/os-services").json()["services"]
    named = first(one["host"] for one in listed if one["binary"] == binary)
    with recovered(lab, host):
        volumes.put("/os-services/disable", json={"binary": binary, "host": named}).raise_for_status()
        try:
            yield
        finally:
            volumes.put("/os-services/enable", json={"binary": binary, "host": named}).raise_for_status()


def in_settings(part, *edits, path=None):
    """The way set_wrong for a part. edits: (section, option, value), or an expression of sed."""
    path = path or part.settings
    commands = [sed(path, edit) if isinstance(edit, str) else set_option(path, *edit) for edit in edits]
    return partial(set_wrong, part=replace(part, settings=path), edits=commands)


class Unhurried:
    """A lab that is not waited for, as another fault of it is still to be undone."""

    def __init__(self, lab):
        self.lab = lab

    def __getattr__(self, name):
        return getattr(self.lab, name)

    def wait_until_well(self, *_expected):
        """Leave it to the fault that is undone last."""


@contextlib.contextmanager
def both(lab, first, second):
    """Two faults that do not depend on each other."""
    with first(lab), second(Unhurried(lab)):
        yield
