# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Bad input and faults: each is made to happen, and each ends with its own words, in time, with nothing left."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import uuid
from xml.etree import ElementTree

import pytest
from lab_under_test import GROUPS, INVENTORY
from machine import AS_ROOT
from runs_under_test import (
    LIMIT,
    Outcome,
    command,
    directories,
    environment,
    kill_all,
    left_of,
    play,
    start,
    verify,
    wait_for_end,
    wait_for_progress,
    wait_for_text,
    wait_for_watcher,
)
from test_verify import assert_sound
from tree import FLOWS

STAGES = ["auth", "image", "network", "volume", "boot", "metadata"]
IN_PARALLEL = STAGES[1:4]


def in_soak(*values):
    """A case like those beside it, of which make test runs some."""
    return pytest.param(*values, marks=pytest.mark.soak)


def in_each_stage():
    return [stage if stage == "boot" else in_soak(stage) for stage in STAGES]


def assert_failed(outcome, stage, kind, *words):
    """It failed in this stage, in these words, and what it had made is gone."""
    assert outcome.status == 2, outcome.output
    record = outcome.record
    error = outcome.stage(stage)["error"]
    assert error, record["verdict"]
    for word in words:
        assert word in error["message"]
    assert error["kind"] == kind
    assert error["hint"]
    assert (record["verdict"]["result"], record["verdict"]["stage"]) == ("fail", stage)
    assert error["message"].rstrip(".") in " ".join(outcome.output.split())
    assert record["created"] == record["deleted"]
    assert not record["leftovers"]
    last = STAGES.index("volume" if stage in IN_PARALLEL else stage)
    assert {outcome.stage(name)["status"] for name in STAGES[last + 1 :]} <= {"skipped"}
    assert_sound(outcome)
    return error


# Names that nobody has


@pytest.mark.parametrize(
    ("variables", "stage", "kind", "words"),
    [
        ({"cloud": "nowhere"}, "auth", "config", "known clouds: lab, lab-admin, lab-ldap"),
        in_soak({"services": ["identity", "dns"]}, "auth", "catalog", "the catalogue has no service dns; it has"),
        ({"image": "nope"}, "image", "not_found", "the cloud has no image nope"),
        ({"network": "nope"}, "network", "not_found", "the cloud has no network nope"),
        in_soak(
            {"floating_ip": True, "external_network": "nope"}, "network", "not_found", "the cloud has no network nope"
        ),
        ({"volume_type": "nope"}, "volume", "not_found", "the cloud has no volume type nope; it has"),
        ({"flavor": "nope", "volume": "none"}, "boot", "not_found", "the cloud has no flavor nope; it has probe"),
        in_soak(
            {"zone": "nope", "volume": "none"}, "boot", "invalid", "The requested availability zone is not available"
        ),
        in_soak({"volume": "empty", "attach": "root"}, "boot", "invalid", "an instance cannot boot from it"),
    ],
    ids=lambda value: value if isinstance(value, str) and " " not in value else "",
)
def test_what_does_not_exist_is_named_with_what_there_is(runs, variables, stage, kind, words):
    assert_failed(verify(runs, **variables), stage, kind, words)


@pytest.mark.parametrize(
    ("variables", "words"),
    [
        ({"run_id": "A"}, "'A' is not a run id"),
        ({"thresholds": [{"name": "x", "query": "a[", "max": 1}]}, "the threshold x has no valid query"),
        ({"thresholds": [{"name": "x", "query": "a"}]}, "the threshold x has neither max nor min"),
        ({"keep": "sometimes"}, "stackproof_keep cannot be 'sometimes': it is not one of never, on_failure, always"),
        ({"flows": ["/nonexistent/flow.yml"]}, "/nonexistent/flow.yml: "),
        ({"image_file": "/dev/null/nope"}, "stackproof_image_file cannot be '/dev/null/nope': Not a directory"),
    ],
)
def test_a_wrong_value_is_refused_before_anything_is_begun(runs, variables, words):
    status, output = play("verify", cloud="lab", runs=runs, **variables)
    assert status == 2, output
    assert words in output
    assert not list(runs.iterdir())


@pytest.mark.soak
def test_flows_that_vanish_while_a_run_goes_on_do_not_keep_it_from_its_end(runs, tmp_path):
    flow = shutil.copy(FLOWS / "ops_guide.yml", tmp_path)
    process = start(runs, "-i", str(INVENTORY), flows=[flow])
    wait_for_progress(runs, "boot")
    os.remove(flow)
    output, _errors = process.communicate(timeout=LIMIT)
    outcome = Outcome(process.returncode, output, (runs / "latest").resolve())
    assert outcome.status == 2, output
    verdict = outcome.record["verdict"]
    assert verdict["result"] == "incomplete"
    assert f"{flow}: [Errno 2] No such file or directory" in verdict["reason"]
    assert outcome.record["created"] == outcome.record["deleted"] > 0
    assert (outcome.directory / "report.html").exists()
    assert_sound(outcome)


def test_a_store_that_is_none_is_named_with_those_there_are(runs, tmp_path):
    (tmp_path / "file.raw").write_bytes(b"x")
    outcome = verify(runs, image_file=tmp_path / "file.raw", image_store="tape")
    assert_failed(outcome, "image", "not_found", "the cloud has no image store tape; it has ceph, rgw")


def test_a_name_that_several_networks_have_is_ambiguous(runs, member):
    networks = [member.network.create_network(name="lab-test-twice") for _one in range(2)]
    try:
        assert_failed(verify(runs, network="lab-test-twice"), "network", "ambiguous", "lab-test-twice")
    finally:
        for network in networks:
            member.network.delete_network(network)


@pytest.mark.soak
def test_without_an_external_network_there_is_no_floating_ip(runs, admin, member):
    network = admin.network.create_network(name="lab-test-second-external", is_router_external=True)
    try:
        several = verify(runs, floating_ip=True)
    finally:
        admin.network.delete_network(network)
    assert_failed(several, "network", "ambiguous", "lab-test-second-external, public")
    given = member.network.create_network(name="lab-test-inner")
    try:
        inner = verify(runs, floating_ip=True, external_network="lab-test-inner")
    finally:
        member.network.delete_network(given)
    assert_failed(inner, "network", "invalid", "the network lab-test-inner is not external")


# Users who may not


@pytest.fixture
def stranger(admin, tmp_path):
    """Makes a user with a role in a project, both of their own; returns the environment that logs in as the user."""
    domain = admin.identity.find_domain("Default").id
    project = admin.identity.create_project(name=f"lab-test-{uuid.uuid4().hex[:8]}", domain_id=domain)
    user = admin.identity.create_user(
        name=project.name, password="correct", domain_id=domain, default_project_id=project.id
    )

    def log_in(role, password="correct"):
        if role:
            admin.identity.assign_project_role_to_user(project, user, admin.identity.find_role(role))
        auth = dict(admin.config.config["auth"], username=user.name, password=password, project_name=project.name)
        path = tmp_path / "clouds.yaml"
        path.write_text(json.dumps({"clouds": {"stranger": {"auth": auth, "region_name": "RegionOne"}}}))
        path.chmod(0o600)
        return {"OS_CLIENT_CONFIG_FILE": str(path)}

    log_in.project = project
    yield log_in
    admin.identity.delete_user(user)
    neutron = admin.network
    for group in neutron.security_groups(project_id=project.id):
        neutron.delete_security_group(group)
    admin.identity.delete_project(project)


def test_a_wrong_password(runs, stranger):
    outcome = verify(runs, cloud="stranger", env=stranger("member", password="wrong"))
    error = assert_failed(outcome, "auth", "unauthorized", "401")
    assert error["request_id"]
    assert "wrong" not in (outcome.directory / "run.json").read_text()


def test_a_user_without_a_role_gets_no_token(runs, stranger):
    assert_failed(verify(runs, cloud="stranger", env=stranger(None)), "auth", "unauthorized", "401")


def test_a_reader_may_make_nothing(runs, stranger):
    outcome = verify(runs, cloud="stranger", env=stranger("reader"))
    error = assert_failed(outcome, "network", "forbidden", "403")
    assert "network" not in {line["kind"] for line in outcome.ledger if line["event"] == "made"}
    assert error["request_id"].startswith("req-")


@pytest.mark.parametrize(
    ("service", "quota", "stage", "variables"),
    [
        ("network", {"networks": 0}, "network", {}),
        ("volume", {"volumes": 0}, "volume", {}),
        ("compute", {"instances": 0}, "boot", {"volume": "none"}),
        in_soak("network", {"security_groups": 1}, "network", {}),
        in_soak("network", {"routers": 0}, "network", {"floating_ip": True}),
        in_soak("network", {"floating_ips": 0}, "network", {"floating_ip": True}),
        in_soak("network", {"ports": 0}, "network", {"port": "precreated"}),
        in_soak("volume", {"gigabytes": 0}, "volume", {}),
        in_soak("compute", {"ram": 1}, "boot", {"volume": "none"}),
    ],
)
def test_an_exceeded_quota(runs, admin, stranger, service, quota, stage, variables):
    env = stranger("member")
    getattr(admin, f"set_{service}_quotas")(stranger.project.id, **quota)
    outcome = verify(runs, cloud="stranger", env=env, **variables)
    error = assert_failed(outcome, stage, "quota", "uota")
    assert error["request_id"].startswith("req-")


# What the cloud cannot do


@pytest.fixture
def picky_flavor(admin):
    """A flavor that no host can take."""
    flavor = admin.compute.create_flavor(name="lab-test-picky", ram=128, vcpus=1, disk=1)
    admin.compute.create_flavor_extra_specs(flavor, {"resources:PCI_DEVICE": "1"})
    yield flavor.name
    admin.compute.delete_flavor(flavor)


def test_no_valid_host_ends_the_wait_at_once_with_the_fault(runs, picky_flavor):
    outcome = verify(runs, flavor=picky_flavor, volume="none")
    error = assert_failed(outcome, "boot", "build_failed", "No valid host was found")
    assert error["details"]["fault"]["code"] == 500
    assert error["request_id"] == outcome.stage("boot")["details"]["request_id"]
    assert outcome.stage("boot")["duration_s"] < 60  # and not the five minutes that a boot may take


@pytest.mark.soak
def test_an_image_that_is_none_is_refused_by_the_cloud(runs, tmp_path):
    path = tmp_path / "broken.qcow2"
    path.write_bytes(os.urandom(1 << 20))
    outcome = verify(runs, image_file=path, volume="none", boot_timeout=60, metadata_timeout=10)
    assert outcome.status == 2
    assert outcome.record["verdict"]["stage"] == "image", outcome.record["verdict"]
    assert_sound(outcome)


@pytest.mark.soak
def test_an_image_that_does_not_boot_shows_no_console(runs, tmp_path):
    path = tmp_path / "noise.raw"
    path.write_bytes(os.urandom(1 << 20))
    outcome = verify(runs, image_file=path, volume="none", metadata_timeout=5)
    assert_failed(outcome, "metadata", "no_console", "its console shows nothing")


@pytest.mark.soak
def test_a_guest_that_gets_no_lease(runs, member):
    neutron = member.network
    network = neutron.create_network(name="lab-test-no-dhcp")
    try:
        neutron.create_subnet(network_id=network.id, ip_version=4, cidr="192.168.93.0/24", is_dhcp_enabled=False)
        outcome = verify(runs, network="lab-test-no-dhcp", volume="none", metadata_timeout=15)
    finally:
        neutron.delete_network(network)
    assert_failed(outcome, "metadata", "no_lease", "asked for a lease and got none")


@pytest.mark.soak
def test_a_metadata_service_that_is_down(runs, lab_hosts):
    host = lab_hosts[GROUPS["network"][0]]
    host.check_output("systemctl stop neutron-metadata-agent")
    try:
        outcome = verify(runs, volume="none", metadata_timeout=15)
    finally:
        host.check_output("systemctl start neutron-metadata-agent")
    assert_failed(outcome, "metadata", "no_metadata", "the guest got no metadata")


@pytest.mark.soak
def test_metadata_that_is_not_the_servers_own(runs):
    """A guest that shows the word of another run: a kept server, judged by a run that says it began at another time."""
    kept = verify(runs, volume="none", keep="always")
    assert kept.status == 0, kept.output
    wait_for_watcher(kept.directory)
    record = kept.record
    record["stages"] = [stage for stage in record["stages"] if stage["stage"] != "metadata"]
    record.update(started="2026-01-01T00:00:00.000000+00:00", finished=None)
    (kept.directory / "run.json").write_text(json.dumps(record))
    outcome = verify(runs, run_id=kept.directory.name, volume="none")
    assert_failed(outcome, "metadata", "wrong_metadata", "metadata that is not its own")


def test_a_deadline_says_what_was_waited_for_and_how_far_it_came(runs):
    outcome = verify(runs, volume="none", boot_timeout=3)
    assert_failed(outcome, "boot", "deadline", "to be active", "the last state was BUILD")
    assert outcome.stage("boot")["waits"][0]["timed_out"] is True


@pytest.mark.soak
def test_a_floating_ip_behind_a_group_that_lets_nothing_in(runs):
    outcome = verify(runs, floating_ip=True, network_rules=[], volume="none", metadata_timeout=15)
    assert_failed(outcome, "metadata", "unreachable", "does not answer ping")


# The run's own folder


def in_a_mount_of_our_own(options, runs, **variables):
    """Run verify where its folder lies on a small or read-only file system, which only this process sees."""
    script = f'mount -t tmpfs -o {options} none "$1" && shift && exec "$@"'
    verify_command = command("verify", cloud="lab", runs=runs, **variables)
    return subprocess.run(
        [*AS_ROOT, "unshare", "--mount", "sh", "-c", script, "sh", str(runs), *verify_command],
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=120,
        check=False,
    )


def test_a_folder_that_cannot_be_written(runs):
    done = in_a_mount_of_our_own("ro", runs)
    assert done.returncode == 2
    assert "Read-only file system" in done.stdout
    assert "Look at the free space and the permissions" in done.stdout


@pytest.mark.soak
def test_a_full_disk_stops_the_run_and_what_was_made_is_gone(runs, admin, storage):
    done = in_a_mount_of_our_own("size=48k", runs, run_id="full-disk", volume="none")
    assert done.returncode == 2
    assert "No space left on device" in done.stdout
    assert "Traceback" not in done.stdout
    assert not left_of([runs / "full-disk"], admin, storage)


# Ends that nobody planned


@pytest.mark.parametrize("stage", in_each_stage())
def test_an_interrupted_playbook_cleans_up_behind_itself(runs, stage):
    process = start(runs)
    wait_for_progress(runs, stage)
    os.killpg(process.pid, signal.SIGINT)
    process.communicate(timeout=60)
    outcome = wait_for_end(runs)
    record = outcome.record
    assert record["verdict"]["result"] == "incomplete"
    assert record["created"] == record["deleted"]
    assert not record["leftovers"]
    assert_sound(outcome)


@pytest.mark.parametrize("stage", in_each_stage())
def test_what_a_killed_run_leaves_is_found_by_cleanup(runs, admin, storage, stage):
    process = start(runs)
    wait_for_progress(runs, stage)
    kill_all(process, runs)
    record = json.loads((runs / "latest" / "run.json").read_text())
    assert record["verdict"]["result"] == "incomplete"
    assert record["finished"] is None
    status, output = play("cleanup", runs=runs)
    assert status == 0, output
    assert not left_of(directories(runs), admin, storage)


def test_a_killed_playbook_is_cleaned_up_by_the_watching_process(runs):
    process = start(runs)
    wait_for_progress(runs, "boot")
    process.kill()
    process.wait()
    outcome = wait_for_end(runs)
    assert outcome.record["created"] == outcome.record["deleted"] > 0


@pytest.mark.soak
def test_what_cannot_be_removed_is_named_with_the_reason_and_goes_with_a_later_cleanup(runs, admin, storage):
    """The administrator locks the server while the guest still boots: its owner cannot delete it any more."""
    process = start(runs, volume="none", cleanup_timeout=5)
    wait_for_progress(runs, "metadata")
    outcome = Outcome(0, "", (runs / "latest").resolve())
    server = next(line for line in outcome.ledger if (line["event"], line["kind"]) == ("made", "server"))
    admin.compute.lock_server(server["id"])
    try:
        output = process.communicate(timeout=120)[0]
    finally:
        admin.compute.unlock_server(server["id"])
    assert process.returncode == 2, output
    record = outcome.record
    left = next(leftover for leftover in record["leftovers"] if leftover["kind"] == "server")
    assert (left["id"], left["name"]) == (server["id"], server["name"])
    assert "is locked" in left["reason"]
    assert (record["verdict"]["result"], record["verdict"]["stage"]) == ("fail", "removal")
    assert f"this could not be removed: {left['name']} ({left['reason']})" in record["verdict"]["reason"]
    assert f"left: server {left['name']}: {left['reason']}" in output
    assert record["created"] - record["deleted"] == len(record["leftovers"])
    suite = ElementTree.parse(outcome.directory / "junit.xml").getroot()[0]
    assert [case.get("name") for case in suite if case.find("failure") is not None] == ["nothing left"]
    assert_sound(outcome._replace(output=output))
    status, output = play("cleanup", run_dir=outcome.directory)
    assert status == 0, output
    assert not left_of([outcome.directory], admin, storage)
    assert (outcome.record["created"], outcome.record["leftovers"]) == (outcome.record["deleted"], [])


@pytest.mark.soak
def test_a_removal_that_fails_is_followed_to_whoever_kept_it_from_its_end(runs, lab_hosts, admin, storage):
    host = lab_hosts[GROUPS["controller"][0]]
    process = start(runs, "-i", str(INVENTORY), volume_type="ceph", cleanup_timeout=15)
    wait_for_text(runs, '"stage": "metadata", "text": "ok')
    host.check_output("systemctl stop cinder-volume")
    try:
        output = process.communicate(timeout=LIMIT)[0]
    finally:
        host.check_output("systemctl start cinder-volume")
    verdict = json.loads((runs / "latest/run.json").read_text())["verdict"]
    assert (verdict["stage"], verdict["component"], verdict["step"][0]) == ("removal", "cinder-volume", "D"), output
    assert process.returncode == 2
    assert "FAIL: cinder-volume on" in output
    status, output = play("cleanup", run_dir=runs / "latest")
    assert status == 0, output
    assert not left_of([(runs / "latest").resolve()], admin, storage)


@pytest.mark.soak
def test_runs_side_by_side_do_not_meet_and_a_second_process_on_one_of_them_is_sent_away(runs):
    processes = [start(runs, volume="none", **more) for more in ({"run_id": "same-run"}, {}, {})]
    wait_for_progress(runs, "boot", run="same-run")
    status, output = play("verify", cloud="lab", runs=runs, run_id="same-run", volume="none")
    outputs = [process.communicate(timeout=300)[0] for process in processes]
    assert [process.returncode for process in processes] == [0, 0, 0], "\n".join(outputs)
    assert len(directories(runs)) == 3
    assert status == 2
    assert "another process works on the run same-run" in output
