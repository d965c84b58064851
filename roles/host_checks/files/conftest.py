# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Checks that the hosts agree with the API about an instance.

The instance is that of a run (STACKPROOF_RUN is its directory), or any instance (STACKPROOF_SERVER is its id, OS_CLOUD
its cloud). STACKPROOF_PLATFORM names the platform: packages, devstack, kolla, kolla_podman, osa, rhoso or kubernetes.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import shlex
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from importlib.machinery import ModuleSpec
from importlib.util import module_from_spec
from pathlib import Path

import pytest

COLLECTION = Path(__file__).resolve().parents[3]
# The modules import each other by the collection's name, wherever it is installed.
for name, places in (
    ("ansible_collections", []),
    ("ansible_collections.stackproof", []),
    ("ansible_collections.stackproof.provision", [str(COLLECTION)]),
):
    spec = ModuleSpec(name, None, is_package=True)
    spec.submodule_search_locations = places
    sys.modules[name] = module_from_spec(spec)

from ansible_collections.stackproof.provision.plugins.module_utils._collect.api.instance import look
from ansible_collections.stackproof.provision.plugins.module_utils._collect.commands import Host
from ansible_collections.stackproof.provision.plugins.module_utils._collect.hosts import all_facts
from ansible_collections.stackproof.provision.plugins.module_utils._collect.hosts.profiles import parts_of, profile_of
from ansible_collections.stackproof.provision.plugins.module_utils._judge.checks import why_silent
from ansible_collections.stackproof.provision.plugins.module_utils._match.places import is_on
from ansible_collections.stackproof.provision.plugins.module_utils._model.codec import from_json, to_json
from ansible_collections.stackproof.provision.plugins.module_utils._model.instance import Server

AT_ONCE = 16


def name_of(host):
    return host.backend.get_pytest_id().removeprefix("ansible://")


def read_platform():
    return profile_of(os.environ.get("STACKPROOF_PLATFORM") or "packages")


class Unreadable(Exception):
    """A check's facts could not be read, so it neither passes nor fails."""


class Reading:
    """The facts of a host about the instance. A fact that could not be read stops the checks that need it."""

    def __init__(self, host, platform):
        self.host = host
        self.name = name_of(host)
        variables = host.ansible.get_variables()
        self.parts = parts_of(variables.get("group_names", []), platform)
        self.address = variables.get("ansible_host", self.name)
        self.facts = {}
        self.unread = []
        self.undeployed = []
        self.broken = None

    def execute(self, words, take):
        done = self.host.run(shlex.join(["env", "LC_ALL=C", *words]))
        return done.rc, done.stdout if take is None else take(io.BytesIO(done.stdout_bytes)), done.stderr

    def read(self, instance, platform):
        return self.read_parts(self.parts, instance, platform)

    def read_parts(self, parts, instance, platform):
        reader = Host(self.execute, platform["prefixes"], options=platform.get("options"))
        try:
            self.facts.update(to_json(all_facts.read(reader, parts, instance, platform)))
        except Exception as exc:  # testinfra's backends raise errors of many kinds
            self.broken = why_silent(exc)
        self.unread = reader.unread
        self.undeployed = reader.undeployed
        return self

    @property
    def names(self):
        return {self.name, *self.facts.get("names", [])}

    def stop(self, reason):
        """End a check that can neither pass nor fail."""
        raise Unreadable(f"{self.name}: {reason}")

    def fact(self, name, *needed):
        """A fact, if no read that it needs has failed. needed: beginnings of their names in unread; by default all."""
        if self.broken:
            raise Unreadable(f"{self.name} cannot be reached: {self.broken}")
        for entry in self.undeployed:
            if not needed or entry.what.startswith(needed):
                pytest.skip(f"not applicable here, because there is no container for {entry.what}")
        for entry in self.unread:
            if not needed or entry.what.startswith(needed):
                self.stop(f"{entry.what}: {entry.reason}")
        return self.facts[name]


def pytest_addoption(parser):
    parser.addoption("--checks-file", help="write the results of all checks into this file, as JSON")


@pytest.fixture(scope="session")
def platform():
    return read_platform()


@pytest.fixture(scope="session")
def run_record():
    """The record of the run, if STACKPROOF_RUN names one."""
    directory = os.environ.get("STACKPROOF_RUN")
    return json.loads(Path(directory, "run.json").read_text()) if directory else None


@pytest.fixture(scope="session")
def record(run_record):
    """The record of the run; for an instance without a run, a record with the instance only."""
    server = os.environ.get("STACKPROOF_SERVER")
    if server:
        import openstack  # noqa: PLC0415 - only for an instance without a run

        admin = os.environ.get("STACKPROOF_ADMIN_CLOUD")
        cloud = openstack.connect()
        instance = look(cloud, server, admin and openstack.connect(cloud=admin))
        return {"instance": to_json(instance), "hosts": []}
    if run_record is None:
        pytest.exit(
            "Say which instance: STACKPROOF_RUN=<directory of a run>, or STACKPROOF_SERVER=<id> and OS_CLOUD.", 4
        )
    return run_record


@pytest.fixture(scope="session")
def instance(record):
    if not record.get("instance"):
        pytest.exit("The run has no facts about its instance: run verify with an inventory.", 4)
    return record["instance"]


@pytest.fixture(scope="session")
def server(instance):
    return instance["server"]


@pytest.fixture(scope="session")
def hosts(request):
    """All hosts that are checked, by name, each with one connection for all commands."""
    by_name = {name_of(host): host for host in map(host_of, request.session.items) if host}
    with tempfile.TemporaryDirectory(prefix="stackproof-") as folder:
        shared = [path for number, host in enumerate(by_name.values()) if (path := share(host, f"{folder}/{number}"))]
        yield by_name
        for path in filter(os.path.exists, shared):
            # The path names the connection, but ssh wants the name of a host as well.
            end = ["ssh", "-O", "exit", "-o", f"ControlPath={path}", "there"]
            subprocess.run(end, capture_output=True, check=False)


def share(host, path):
    """Let all commands of a host use one connection: testinfra opens one for each command without a control path."""
    connected = host.backend.ansible_runner.get_host(host.backend.host)
    if not connected or connected.backend.NAME != "ssh" or connected.backend.controlpath:
        return None
    connected.backend.controlpath = path
    return path


@pytest.fixture(scope="session")
def readings(hosts, instance, platform):
    """All hosts, read at the same time."""
    chosen = [Reading(host, platform) for host in hosts.values()]
    with ThreadPoolExecutor(AT_ONCE) as pool:
        return list(pool.map(lambda reading: reading.read(instance, platform), chosen))


@pytest.fixture
def here(host, readings):
    """The reading of this check's host."""
    return next(reading for reading in readings if reading.name == name_of(host))


@pytest.fixture(scope="session")
def homes(readings, server):
    """The compute hosts with the name that nova gives to the server's host: exactly one, if all is well."""
    known = from_json(Server, server)
    return [reading for reading in readings if "compute" in reading.parts and is_on(known, reading.names)]


@pytest.fixture
def not_applicable():
    """Skip a check that does not apply to this cloud, with the reason."""
    return lambda reason: pytest.skip(f"not applicable here, because {reason}")


@pytest.fixture
def waited_for(record, not_applicable):
    """A check of what the guest has done applies only if the run has waited for it."""
    stages = {stage["stage"]: stage["status"] for stage in record.get("stages") or ()}
    if stages.get("metadata") == "skipped":
        not_applicable("nobody has waited for the guest")


@pytest.fixture
def reached(record, not_applicable):
    """The MAC that answered ARP for a floating IP when the run reached the guest by it."""

    def mac_of(address):
        details = [stage["details"].get("reached") or {} for stage in record.get("stages") or ()]
        macs = [reached["mac"] for reached in details if reached.get("address") == address and reached.get("mac")]
        return macs[0] if macs else not_applicable(f"the machine that ran this is not on the network of {address}")

    return mac_of


@pytest.fixture
def networks_of_ovn(instance, not_applicable):
    """The instance's networks that OVN serves, by id. A check of them does not apply to a cloud without OVN."""
    networks = {network["id"]: network for network in instance["networks"] if network["distributed"]}
    if not networks:
        not_applicable("the cloud's networks are not OVN's")
    return networks


def pytest_configure(config):
    config.addinivalue_line("markers", "part(name): the part of the cloud that a host must have for this check")
    config.addinivalue_line("markers", "shown_by(command): what shows more of a failed check, on its host")


def pytest_collection_modifyitems(config, items):
    """Leave out the checks of parts of the cloud that a host does not have."""
    platform = read_platform()
    chosen = [item for item in items if concerns(item, platform)]
    config.hook.pytest_deselected(items=[item for item in items if item not in chosen])
    items[:] = chosen


def concerns(item, platform):
    host, marker = host_of(item), item.get_closest_marker("part")
    if not (host and marker):
        return True
    return marker.args[0] in parts_of(host.ansible.get_variables().get("group_names", []), platform)


def host_of(item):
    """The host that testinfra runs a test for; None for a test that is not about a single host."""
    callspec = getattr(item, "callspec", None)
    return callspec.params.get("_testinfra_host") if callspec else None


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    report = yield
    skipped = str(call.excinfo.value) if report.skipped else None
    if skipped != "elsewhere" and (call.when == "call" or (call.when == "setup" and call.excinfo)):
        item.config.stash.setdefault(CHECKS, []).append(as_check(item, call, report))
    return report


CHECKS = pytest.StashKey()


def as_check(item, call, report):
    """A check as run.json has it."""
    host = host_of(item)
    status, reason = "ok", None
    if report.skipped:
        status, reason = "not_applicable", str(call.excinfo.value)
    elif report.failed:
        status = "unreadable" if call.excinfo.errisinstance(Unreadable) else "failed"
        # pytest adds the values of the assertion to its message.
        reason = str(call.excinfo.value).partition("\nassert")[0].removeprefix("AssertionError: ")
    check = {
        "host": host and name_of(host),
        "check": item.function.__doc__.strip().rstrip("."),
        "status": status,
        "reason": reason,
        "seconds": round(call.duration, 3),
    }
    command = shown_by(item) if status == "failed" else None
    return {**check, "command": command} if command else check


def shown_by(item):
    """The command that shows more of a check, with the ids of the instance in it."""
    marker, instance = item.get_closest_marker("shown_by"), item.funcargs.get("instance")
    if not (marker and instance):
        return None
    ids = {"server": instance["server"]["id"]}
    for port in instance["ports"][:1]:
        ids.update(port=port["id"], network=port["network"])
    with contextlib.suppress(KeyError):  # an instance without a port
        return marker.args[0].format(**ids)
    return None


def pytest_sessionfinish(session):
    path = session.config.getoption("--checks-file")
    if path:
        Path(path).write_text(json.dumps(session.config.stash.get(CHECKS, [])), encoding="utf-8")
