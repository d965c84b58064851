# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Sweeps over the compute hosts of the lab: all well, one of them broken, and how the time grows with their number."""

from __future__ import annotations

import base64
import contextlib
import json
import os
import signal
import statistics
import subprocess
import time
import uuid
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree

import jsonschema
import pytest
from lab_under_test import GROUPS, INVENTORY, until
from runs_under_test import LIMIT, Outcome, command, directories, environment, play
from test_verify import assert_sound
from tree import ROOT

SCHEMA = json.loads((ROOT / "roles/report/files/sweep.schema.json").read_text())
STAGES = ["auth", "image", "network", "volume", "boot", "metadata"]
# Time of so many hosts, by that of one, where there is room for all of them at the same time
MOST = 1.3
PAIRS = 3


class Sweep(NamedTuple):
    status: int
    output: str
    directory: Path
    record: dict

    def run(self, target):
        return Outcome(self.status, self.output, (self.directory / target["directory"]).resolve())


def sweep(runs, *arguments, timeout=LIMIT, **variables):
    """Run acceptance to its end, and look at what holds of every sweep."""
    variables = {"cloud": "lab-admin", "runs": runs, **variables}
    status, output = play("acceptance", *arguments, timeout=timeout, **variables)
    directory = max(path.parent for path in Path(runs).glob("sweep-*/sweep.json"))
    record = json.loads((directory / "sweep.json").read_text())
    jsonschema.Draft202012Validator(SCHEMA).validate(record)
    assert (status == 0) == (record["verdict"]["result"] == "pass"), output
    assert "Traceback" not in output
    assert sorted(path.name for path in directory.iterdir()) == ["junit.xml", "sweep.html", "sweep.json"]
    done = Sweep(status, output, directory, record)
    for target in record["targets"]:
        assert_sound(done.run(target))
        assert f'href="../{target["run_id"]}/report.html"' in (directory / "sweep.html").read_text()
    return done


def cases(directory):
    """(class, name) of each case of a sweep's JUnit file, with failed, skipped or ok."""
    suite = ElementTree.parse(directory / "junit.xml").getroot()[0]
    ends = {True: "failed", False: "ok"}
    return {
        (case.get("classname"), case.get("name")): "skipped" if case.find("skipped") is not None else ends[
            case.find("failure") is not None
        ]
        for case in suite
    }  # fmt: skip


def test_every_compute_host_passes_and_is_judged_with_the_hosts_that_serve_it(runs):
    done = sweep(runs, "-i", str(INVENTORY))
    record, hosts = done.record, GROUPS["compute"]
    assert done.status == 0, done.output
    assert record["verdict"] == {"result": "pass", "reason": f"All {len(hosts)} targets passed.", "hosts": []}
    assert [target["host"] for target in record["targets"]] == hosts
    for target in record["targets"]:
        assert [(stage["stage"], stage["status"]) for stage in target["stages"]] == [(name, "ok") for name in STAGES]
        run = done.run(target).record
        assert done.run(target).stage("boot")["details"]["server"]["host"] == target["host"]
        assert run["created"] == run["deleted"] > 0
        # Of the compute hosts only its own is read; a sweep over all would read each of them for each.
        others = {name for group in ("controller", "network", "storage") for name in GROUPS[group]}
        assert {host["host"] for host in run["hosts"]} == {target["host"], "localhost"} | others
        assert "host checks passed" in run["verdict"]["reason"]
        guide = next(flow for flow in run["flows"] if flow["name"] == "ops_guide")
        assert sum(step["status"] == "seen" for step in guide["steps"]) > 40
    assert {check["status"] for check in record["preflight"]} == {"ok"}
    for name in hosts:
        assert f"nova-compute on {name} is alive" in {check["name"] for check in record["preflight"]}
    ends = cases(done.directory)
    assert set(ends.values()) == {"ok"}
    assert {name for of, name in ends if of == f"stackproof.{hosts[0]}"} == {*STAGES, "run"}
    assert "compute[1-2]" in done.output


@contextlib.contextmanager
def without_compute_service(host, name, admin):
    """A compute host whose service has stopped, from when nova knows it until it is back."""

    def state():
        answer = admin.compute.get("/os-services", params={"binary": "nova-compute", "host": name}).json()
        return answer["services"][0]["state"]

    host.check_output("systemctl stop nova-compute")
    try:
        until(f"nova knows that {name} is down", lambda: state() == "down", 90, 2)
        yield
    finally:
        host.check_output("systemctl start nova-compute")
        until(f"{name} is back", lambda: state() == "up", 90, 2)


@pytest.mark.soak
def test_a_broken_host_is_named_and_does_not_keep_the_others_from_passing(runs, lab_hosts, admin):
    good, bad = GROUPS["compute"][:2]
    with without_compute_service(lab_hosts[bad], bad, admin):
        done = sweep(runs, volume="none")
    assert done.status == 2, done.output
    verdict, targets = done.record["verdict"], {target["host"]: target for target in done.record["targets"]}
    assert (verdict["result"], verdict["hosts"]) == ("fail", [bad])
    assert verdict["reason"].startswith(f"1 of 2 targets did not pass. {bad}: boot")
    assert f"Preflight: nova-compute on {bad} is down; it last reported " in verdict["reason"]
    assert (targets[good]["result"], targets[bad]["result"], targets[bad]["stage"]) == ("pass", "fail", "boot")
    assert "No valid host was found" in targets[bad]["reason"]
    ends = cases(done.directory)
    assert (ends[f"stackproof.{bad}", "boot"], ends[f"stackproof.{bad}", "metadata"]) == ("failed", "skipped")
    assert (ends[f"stackproof.{good}", "boot"], ends[f"stackproof.{good}", "metadata"]) == ("ok", "ok")
    assert ends["stackproof.preflight", f"nova-compute on {bad} is alive"] == "failed"


@pytest.mark.soak
def test_without_libvirt_a_host_is_broken_though_its_service_lives(runs, lab_hosts, admin):
    """nova-compute then takes the host out of service by itself, which is no reason to leave it out."""
    bad = GROUPS["compute"][0]
    lab_hosts[bad].check_output("systemctl stop libvirtd.socket libvirtd-ro.socket libvirtd-admin.socket libvirtd")
    try:
        done = sweep(runs, volume="none", boot_timeout=60)
    finally:
        lab_hosts[bad].check_output("systemctl start libvirtd.socket libvirtd-ro.socket libvirtd-admin.socket libvirtd")
        until(
            f"{bad} is back in service",
            lambda: (
                [service.status for service in admin.compute.services(binary="nova-compute", host=bad)] == ["enabled"]
            ),
            180,
            3,
        )
    assert done.status == 2, done.output
    assert done.record["verdict"]["hosts"] == [bad]
    assert {target["host"]: target["result"] for target in done.record["targets"]}[GROUPS["compute"][1]] == "pass"


@pytest.mark.soak
def test_one_value_of_something_after_the_other_without_naming_hosts(runs):
    done = sweep(runs, cloud="lab", targets=[], sweep={"volume_type": ["ceph", "nope"], "zone": ["nova"]})
    assert done.status == 2, done.output
    targets = {target["name"]: target for target in done.record["targets"]}
    assert list(targets) == ["volume type ceph, zone nova", "volume type nope, zone nova"]
    assert [target["result"] for target in targets.values()] == ["pass", "fail"]
    assert "the cloud has no volume type nope" in done.record["verdict"]["reason"]
    assert done.record["verdict"]["hosts"] == ["volume type nope, zone nova"]
    # A plain user is not told which services there are.
    unread = [check["reason"] for check in done.record["preflight"] if check["status"] == "unreadable"]
    assert any("asking for its services" in reason for reason in unread)
    assert {check["status"] for check in done.record["preflight"]} == {"ok", "unreadable"}


@pytest.mark.soak
def test_check_mode_looks_at_all_and_makes_nothing(runs):
    status, output = play("acceptance", "--check", cloud="lab-admin", runs=runs)
    assert status == 0, output
    assert not list(runs.iterdir())
    status, output = play("acceptance", "--check", cloud="lab-admin", runs=runs, flavor="lab-test-nope")
    assert status == 2
    for host in GROUPS["compute"]:
        assert f"{host}: boot: the cloud has no flavor lab-test-nope" in output
    assert not list(runs.iterdir())


@pytest.mark.soak
def test_an_interrupted_sweep_cleans_up_behind_all_that_was_going_on(runs):
    """Of two targets one is in the middle, and one waits for its turn."""
    process = subprocess.Popen(
        command("acceptance", cloud="lab-admin", runs=runs, volume="none", at_once=1),
        env=environment(),
        stdout=subprocess.DEVNULL,
        start_new_session=True,
    )
    until("a run goes on", lambda: [path for path in runs.glob("*/progress.jsonl") if "boot" in path.read_text()], 90)
    os.killpg(process.pid, signal.SIGINT)
    process.wait(timeout=60)
    records = until("all runs have ended", lambda: ended(runs), 90)
    assert [(record["verdict"]["result"], record["leftovers"]) for record in records] == [("incomplete", [])]
    assert records[0]["created"] == records[0]["deleted"] > 0
    whole = json.loads(next(runs.glob("sweep-*/sweep.json")).read_text())
    jsonschema.Draft202012Validator(SCHEMA).validate(whole)
    assert whole["verdict"]["result"] == "incomplete"


def ended(runs):
    """The records of all runs in a folder, once all of them have ended."""
    paths = [directory / "run.json" for directory in directories(runs)]
    records = [json.loads(path.read_text()) for path in paths if path.exists()]
    return all(record["finished"] for record in records) and records


@pytest.mark.soak
def test_two_hosts_take_hardly_longer_than_one(runs):
    hosts, seconds = GROUPS["compute"], {1: [], 2: []}
    for _pair in range(PAIRS):
        for number, took in seconds.items():
            begun = time.monotonic()
            done = sweep(runs, "-i", str(INVENTORY), targets=hosts[:number])
            took.append(time.monotonic() - begun)
            assert done.status == 0, done.output
            print({stage["stage"]: stage["median_s"] for stage in done.record["stages"]})
    single, double = (statistics.median(took) for took in seconds.values())
    print(f"a sweep over one host {single:.1f} s, over two {double:.1f} s: {double / single:.2f} times; {seconds}")
    assert double <= MOST * single


# Hosts without a hypervisor


@contextlib.contextmanager
def fake_computes(controller, admin, number):
    """So many compute hosts with the fake driver, as soon as nova has them and neutron binds ports there; then none."""
    prefix = f"fake-{uuid.uuid4().hex[:6]}"
    agents = admin.network.get("/agents", params={"binary": "neutron-openvswitch-agent"}).json()["agents"]
    (ovs_agent,) = [ovs_agent for ovs_agent in agents if ovs_agent["host"] == GROUPS["compute"][0]]
    agent = json.dumps(ovs_agent)
    script = (Path(__file__).parent / "fake_computes.py").read_text()
    for name, text in ((f"{prefix}.py", script), (f"{prefix}.json", agent)):
        controller.run_expect([0], "echo %s | base64 -d > %s", base64.b64encode(text.encode()).decode(), f"/tmp/{name}")
    start = "systemd-run --unit=%s --property=KillMode=control-group python3 /tmp/%s.py %s %s /tmp/%s.json"
    controller.run_expect([0], start, prefix, prefix, prefix, str(number), prefix)

    def ours(things):
        return [thing for thing in things if thing["host"].startswith(prefix)]

    def services():
        return ours(admin.compute.get("/os-services", params={"binary": "nova-compute"}).json()["services"])

    def their_agents():
        return ours(admin.network.get("/agents").json()["agents"])

    def ready():
        hypervisors = ours(
            [hypervisor["service"] for hypervisor in admin.compute.get("/os-hypervisors/detail").json()["hypervisors"]]
        )
        alive = [ovs_agent for ovs_agent in their_agents() if ovs_agent["alive"]]
        up = [service for service in services() if service["state"] == "up" and service["updated_at"]]
        return len(up) == len(hypervisors) == len(alive) == number

    try:
        until(f"{number} fake computes are there", ready, 60 + 6 * number, 3)
        yield sorted(service["host"] for service in services())
    finally:
        controller.run("systemctl stop %s; rm -rf /tmp/%s /tmp/%s.py /tmp/%s.json", *[prefix] * 4)
        for service in services():
            admin.compute.delete(f"/os-services/{service['id']}")
        for ovs_agent in their_agents():
            admin.network.delete(f"/agents/{ovs_agent['id']}")


@pytest.fixture
def bare_network(lab_project_admin):
    """A network whose use costs next to nothing: no DHCP."""
    neutron = lab_project_admin.network
    network = neutron.create_network(name=f"lab-test-{uuid.uuid4().hex[:6]}", is_shared=True)
    neutron.create_subnet(network_id=network.id, ip_version=4, cidr="192.168.94.0/23", is_dhcp_enabled=False)
    yield network.name
    neutron.delete_network(network)


@pytest.fixture(scope="module")
def many_hosts(lab_hosts, admin):
    """Compute hosts with nova's fake driver, which boots at once: FAKE_COMPUTES of them, by default a hundred."""
    number, controller = int(os.environ.get("FAKE_COMPUTES", "100")), lab_hosts[GROUPS["controller"][0]]
    with fake_computes(controller, admin, number) as hosts:
        memory = controller.check_output("ps -o pss= -C python3 --sort -pss").split()
        print(f"{number} fake computes, memory of each (KiB, shared parts shared out): {memory[1:4]} to {memory[-3:]}")
        yield hosts


# What is measured on them is the services' time and our own.
ON_MANY = {"volume": "none", "guest": "none", "follow": False}


@pytest.mark.soak
def test_the_time_for_each_host_does_not_grow_with_their_number(runs, many_hosts, bare_network):
    number, seconds = len(many_hosts), {}
    for part in (number // 4, number):
        begun, spent = time.monotonic(), os.times()
        options = {**ON_MANY, "network": bare_network}
        done = sweep(runs, "--forks", "4", targets=many_hosts[:part], at_once=4, timeout=60 + 20 * part, **options)
        assert done.status == 0, done.output
        took, now = time.monotonic() - begun, os.times()
        own = now.children_user + now.children_system - spent.children_user - spent.children_system
        seconds[part] = took / part
        print(f"{part} hosts: {took:.1f} s, {took / part:.2f} s and {own / part:.2f} s of the processor for each")
        assert len(done.output.splitlines()) < 60 + 20 * part
    assert seconds[number] <= MOST * seconds[number // 4]


@pytest.mark.soak
def test_four_slices_in_parallel_share_a_sweep_and_are_combined_into_one_verdict(runs, many_hosts, bare_network):
    """As four control nodes would: each with its own folder of runs. They share their cores with all of the cloud."""
    number, folders, begun = len(many_hosts), [Path(runs) / f"node{part}" for part in range(1, 5)], time.monotonic()
    options = {**ON_MANY, "cloud": "lab-admin", "network": bare_network, "targets": many_hosts, "at_once": 1}
    nodes = [
        subprocess.Popen(
            command("acceptance", "--forks", "2", runs=folder, sweep_id="shared", slice=f"{part}/4", **options),
            env=environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        for part, folder in enumerate(folders, start=1)
    ]
    outputs = [node.communicate(timeout=60 + 20 * number)[0] for node in nodes]
    assert [node.returncode for node in nodes] == [0] * 4, outputs
    took, merging = time.monotonic() - begun, time.monotonic()
    status, output = play("merge", runs=runs, sweeps=folders, sweep_id="shared")
    assert status == 0, output
    print(f"{number} hosts in four slices: {took:.1f} s; combined in {time.monotonic() - merging:.1f} s")
    record = json.loads((Path(runs) / "sweep-shared/sweep.json").read_text())
    jsonschema.Draft202012Validator(SCHEMA).validate(record)
    assert sorted(target["host"] for target in record["targets"]) == many_hosts
    assert record["verdict"] == {"result": "pass", "reason": f"All {number} targets passed.", "hosts": []}
