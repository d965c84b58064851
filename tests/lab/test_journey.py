# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What is done with a server after its boot is followed to its end."""

from __future__ import annotations

import contextlib
from pathlib import Path

import pytest
from breaking import Lab
from faults import COMPUTE
from lab_under_test import INVENTORY, NETWORK, until
from runs_under_test import Outcome, start, verify, wait_for_text
from test_dataplane import assert_followed, assert_ipv6_passes, found, legs_of, run_of_two
from test_verify import assert_passed

# A soft reboot, a suspension and a snapshot give the guest a new device of the same name. Open vSwitch without its
# kernel module takes it for the old one: no packet reaches the guest any more.
FOLLOWED = ["live_migrate", "resize", "migrate", "resize_revert", "rebuild", "hard_reboot", "stop", "pause", "shelve"]
JOURNEY = [*FOLLOWED, "boot_snapshot"]
OF_VOLUMES = ["extend_volume", "reattach_volume"]
IN_A_ROW = 10
# dnsmasq is a resolver as well, and OVN gives its guests none.
RESOLVED = "not_applicable" if NETWORK == "ovn" else "ok"


@pytest.mark.soak
def test_a_server_survives_what_is_done_with_it(runs):
    given = {"cloud": "lab-admin", "image": "probe", "volume": "none", "dataplane": True, "journey": JOURNEY}
    outcome = verify(runs, "-i", str(INVENTORY), **given, journey_timeout=900)
    assert_passed(outcome)
    legs = {leg["operation"]: leg for leg in legs_of(outcome)}
    assert list(legs) == JOURNEY
    for operation in FOLLOWED:
        assert_followed(outcome, operation)
    assert {name for name, leg in legs.items() if leg["moved"]} >= {"live_migrate", "migrate"}
    assert legs["live_migrate"]["outage_s"] < legs["migrate"]["outage_s"]


@pytest.mark.soak
@pytest.mark.parametrize("_turn", range(IN_A_ROW))
def test_all_that_guests_and_operations_prove_passes_in_a_row(_turn, runs):
    """Two guests with a volume, a floating IP and both versions of IP, and then a life."""
    given = {"volume": "empty", "attach": "after", "floating_ip": True, "network_ipv6": "slaac"}
    operations = [*OF_VOLUMES, *JOURNEY]
    outcome = run_of_two(runs, cloud="lab-admin", **given, journey=operations, journey_timeout=1200)
    assert_ipv6_passes(outcome)
    named = {("login", "client"): "ok", ("volume", "first"): "ok", ("name", "second"): RESOLVED}
    assert {check: found(outcome, *check)["status"] for check in named} == named
    assert [leg["operation"] for leg in legs_of(outcome)] == operations
    for operation in [*OF_VOLUMES, *FOLLOWED]:
        assert_followed(outcome, operation)


@contextlib.contextmanager
def dead(lab, host):
    """A compute host without nova-compute and guests, as Nova knows. It starts before Nova takes it back."""
    (service,) = lab.admin.compute.services(binary="nova-compute", host=host)

    def declare(is_down):
        answer = lab.admin.compute.put(f"/os-services/{service.id}", json={"forced_down": is_down}, microversion="2.53")
        return answer.status_code == 200

    lab.run(host, "systemctl stop nova-compute; virsh list --name | xargs --no-run-if-empty --max-args 1 virsh destroy")
    assert declare(True)
    try:
        yield
    finally:
        lab.run(host, "systemctl start nova-compute")
        # Nova does not take it back before it has removed what it has of evacuated servers.
        until(f"{host} to be taken back", lambda: declare(False), 90, 2)


@pytest.mark.soak
def test_a_server_leaves_a_host_that_is_dead(lab, runs):
    given = {"cloud": "lab-admin", "image": "probe", "volume": "none", "dataplane": True, "journey": ["evacuate"]}
    here = {"host": COMPUTE, "evacuate_from": COMPUTE}
    process = start(runs, "-i", str(INVENTORY), **given, **here, journey_timeout=300)
    wait_for_text(runs, f"waiting for the compute service of {COMPUTE} to be down", 180)
    with dead(lab, COMPUTE):
        wait_for_text(runs, f"waiting for the compute service of {COMPUTE} to be up", 150)
    output = process.communicate(timeout=300)[0]
    outcome = Outcome(process.returncode, output, (Path(runs) / "latest").resolve())
    assert_passed(outcome)
    (leg,) = legs_of(outcome)
    assert (leg["operation"], leg["moved"], leg["host_before"]) == ("evacuate", True, COMPUTE)
    assert leg["outage_s"] > 0
    assert_followed(outcome, "evacuate")
    assert lab.run(COMPUTE, "virsh list --all --name").strip() == ""


@pytest.fixture(scope="module")
def lab(lab_hosts):
    return Lab(lab_hosts)
