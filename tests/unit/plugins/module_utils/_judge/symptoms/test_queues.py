# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Queues that a service of the cloud does not empty."""

from __future__ import annotations

import as_json
import pytest
from ansible_collections.stackproof.provision.plugins.module_utils._judge.symptoms import queues
from ansible_collections.stackproof.provision.plugins.module_utils._judge.weights import WEIGHTS
from ansible_collections.stackproof.provision.plugins.module_utils._model.symptom import Code, Kind
from cases_by_hand import case_of


def host(name, *components, examination=None, **facts):
    services = [{"component": one, "unit": f"{one}.service", "state": "running"} for one in components]
    return as_json.host(name, facts={"services": services, **facts}, examination=examination)


COMPUTE = host("compute1", "nova-compute", names=["compute1", "compute1.example.org"])


def found(name, ready=0, unacknowledged=0, consumers=0, nodes=1):
    queue = {"name": name, "ready": ready, "unacknowledged": unacknowledged, "consumers": consumers}
    brokers = [
        host(f"c{number}", "rabbitmq", "nova-conductor", examination={"queues": [queue]}) for number in range(nodes)
    ]
    return queues.stuck(case_of([COMPUTE, *brokers]))


@pytest.mark.parametrize("name", ["compute.compute1", "compute.compute1.example.org"])
def test_messages_without_a_consumer_are_reported_at_the_service_that_should_take_them(name):
    (symptom,) = found(name, ready=3)
    assert (symptom.kind, symptom.code) == (Kind.NOT_REPORTING, Code.QUEUE_UNCONSUMED)
    assert (symptom.component, symptom.host) == ("nova-compute", "compute1")
    assert (symptom.setting, symptom.times, symptom.share) == (name, 3, 1.0)


def test_an_empty_queue_without_a_consumer_counts_less():
    (symptom,) = found("compute.compute1")
    assert (symptom.times, symptom.share) == (None, WEIGHTS.idle_queue)


def test_a_queue_of_all_hosts_counts_only_with_messages():
    (symptom,) = found("conductor", ready=1)
    assert (symptom.component, symptom.host) == ("nova-conductor", None)
    assert found("conductor") == []


def test_work_that_is_not_finished_is_reported_with_its_number():
    (symptom,) = found("compute.compute1", ready=60, unacknowledged=40, consumers=1)
    assert (symptom.code, symptom.times) == (Code.QUEUE_BACKLOG, 100)


@pytest.mark.parametrize(
    "name", ["compute.gone", "cinder-volume.compute1@ceph", "scheduler", "notifications.info", "x"]
)
def test_a_queue_of_a_service_that_is_not_there_shows_nothing(name):
    assert found(name, ready=5) == []


def test_each_node_of_a_cluster_reports_the_same_queue():
    assert len(found("compute.compute1", ready=3, nodes=3)) == 1
