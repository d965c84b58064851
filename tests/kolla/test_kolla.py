# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A healthy cloud of kolla: the run passes, reads everything, and misses nothing."""

from __future__ import annotations

import collections

import pytest
from kolla_under_test import HOST, OPERATOR, WHOLE
from runs_under_test import verify

# With debug logs and the messages on the queue, as the lab configures kolla
LEAST_SEEN = 45


@pytest.fixture
def outcome(runs):
    return verify(runs, *WHOLE, **OPERATOR, floating_ip=True)


def test_a_run_passes_and_reads_everything(outcome):
    record = outcome.record
    assert record["verdict"]["result"] == "pass", record["verdict"]["reason"]
    (host,) = (host for host in record["hosts"] if host["host"] == HOST)
    assert host["unread"] == []
    checks = collections.Counter(check["status"] for check in host["checks"])
    assert set(checks) == {"ok", "not_applicable"}
    services = host["facts"]["services"]
    children = {service["component"] for service in services if service["unit"] == service.get("container")}
    assert children == {"dnsmasq", "metadata-proxy"}
    (flow,) = (flow for flow in record["flows"] if flow["name"] == "ops_guide")
    steps = collections.Counter(step["status"] for step in flow["steps"])
    assert steps["missing"] == 0
    assert steps["seen"] + steps["absent"] >= LEAST_SEEN
