# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A healthy cloud of kolla with each access that an operator may have, and its boots diagnosed afterwards."""

from __future__ import annotations

import base64
import tarfile
import tempfile
from io import BytesIO
from pathlib import Path

import pytest
from canary_under_test import ended_on
from healthy_runs import assert_healthy, methods_on_the_queue, statuses
from kolla_under_test import OPERATOR, PLATFORM, USER, WHOLE, WITHOUT_TIMES
from lab_under_test import HOSTS, until
from runs_under_test import Outcome, kept_run, play, verify
from test_acceptance import sweep
from test_verify import assert_passed, assert_sound

# With debug logs and the messages on the queue, as the lab configures kolla
LEAST_SEEN = 45
PORT = 80


@pytest.fixture(scope="module")
def whole(module_runs):
    """A run with all that an operator may give it: hosts, administrator, floating IP, messages of the queue."""
    return verify(module_runs, *WHOLE, **OPERATOR, floating_ip=True, tcp_port=PORT, firehose=True)


def test_a_run_passes_and_reads_everything(runs):
    outcome = verify(runs, *WHOLE, **OPERATOR, floating_ip=True, tcp_port=PORT)
    assert_healthy(outcome, WITHOUT_TIMES)
    seen = statuses(outcome, "ops_guide")
    assert seen["seen"] + seen["absent"] >= LEAST_SEEN


def test_containers_that_agents_start_are_services(whole):
    services = [service for host in whole.record["hosts"] for service in host["facts"].get("services") or ()]
    children = {service["component"] for service in services if service["unit"] == service.get("container")}
    assert "metadata-proxy" in children


def test_the_messages_of_the_queue_are_seen(whole):
    assert_healthy(whole, WITHOUT_TIMES)
    assert methods_on_the_queue(whole) >= {"schedule_and_build_instances", "build_and_run_instance"}


def test_a_plain_user_passes_without_the_hosts(runs):
    assert_passed(verify(runs, **USER))


def test_acceptance_boots_on_each_host(runs):
    given = {name: value for name, value in OPERATOR.items() if name != "admin_cloud"}
    done = sweep(runs, *WHOLE, **{**given, "cloud": "kolla-admin"})
    assert done.status == 0, done.output
    assert len(done.record["targets"]) == len(HOSTS)
    for target in done.record["targets"]:
        assert_sound(done.run(target))


def test_a_server_that_works_is_found_to_work_by_its_id(runs, tmp_path):
    with kept_run(runs, *WHOLE, **OPERATOR) as kept:
        server = kept.record["instance"]["server"]["id"]
        clouds = {"cloud": "kolla", "admin_cloud": "kolla-admin", "platform": PLATFORM}
        status, output = play("diagnose", *WHOLE, **clouds, server_id=server, diagnoses=tmp_path)
    assert status == 0, output
    record = Outcome(status, output, (tmp_path / "latest").resolve()).record
    assert record["verdict"]["result"] == "pass", record["verdict"]
    assert record["verdict"]["reason"].startswith("No fault was found: the server stackproof-")
    assert not any(check["status"] == "failed" for host in record["hosts"] for check in host["checks"])


def test_a_boot_is_diagnosed_by_the_logs_of_the_hosts_alone(whole, kolla_hosts, tmp_path):
    server = next(r["id"] for stage in whole.record["stages"] for r in stage["resources"] if r["kind"] == "server")
    # Keystone's debug log has tokens, so the copy is gone at the end.
    with tempfile.TemporaryDirectory() as bundle:
        for name, host in kolla_hosts.items():
            packed = host.check_output("tar -C /var/log/kolla/ -cz . | base64 --wrap=0")
            with tarfile.open(fileobj=BytesIO(base64.b64decode(packed))) as archive:
                archive.extractall(Path(bundle, name), filter="data")
        status, output = play("diagnose", bundle=bundle, server_id=server, diagnoses=tmp_path)
    assert status == 0, output
    done = Outcome(status, output, (tmp_path / "latest").resolve())
    assert done.record["verdict"]["result"] == "pass", output
    assert statuses(done, "ops_guide")["seen"] > 0


@pytest.mark.soak
@pytest.mark.usefixtures("canary")
def test_a_canary_on_a_host_of_the_cloud_passes(kolla):
    until("a run of the canary", lambda: ended_on(kolla), 300)
    assert {record["verdict"]["result"] for record in ended_on(kolla)} == {"pass"}
