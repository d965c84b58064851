# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Symptoms in the broker's queues: services that do not take what was sent to them."""

from __future__ import annotations

from ..._components.tables import consumer_of
from ..._model.broker import Queue
from ..._model.symptom import Code, Symptom
from ..case import Case


def stuck(case: Case) -> list[Symptom]:
    """Return the services of this cloud that do not empty their queues."""
    symptoms: list[Symptom] = []
    for host in case.record.hosts:
        for queue in host.examined.queues:
            symptoms += of_queue(case, queue)
    # Each node of a cluster lists the same queues.
    return list(dict.fromkeys(symptoms))


def of_queue(case: Case, queue: Queue) -> list[Symptom]:
    consumer = consumer_of(queue.name)
    if consumer is None:
        return []
    component, name = consumer
    place = None if name is None else case.names.get(name, name)
    if not is_there(case, component, place):
        return []
    if queue.consumers:
        return [
            Symptom(
                Code.QUEUE_BACKLOG,
                component,
                host=place,
                setting=queue.name,
                times=waiting(queue),
            )
        ]
    return unconsumed(case, component, place, queue)


def is_there(case: Case, component: str, place: str | None) -> bool:
    """Return whether a component is on a host: one that was taken away leaves its queues behind."""
    hosts = {
        host.host
        for host, service in case.services
        if service.component == component
    }
    return bool(hosts) and place in (None, *hosts)


def unconsumed(
    case: Case, component: str, place: str | None, queue: Queue
) -> list[Symptom]:
    code, name = Code.QUEUE_UNCONSUMED, queue.name
    if queue.ready:
        return [
            Symptom(
                code, component, host=place, setting=name, times=queue.ready
            )
        ]
    # Of several hosts none may have had to consume it.
    if place is None:
        return []
    return [
        Symptom(
            code,
            component,
            host=place,
            setting=name,
            share=case.weights.idle_queue,
        )
    ]


def waiting(queue: Queue) -> int:
    return queue.ready + queue.unacknowledged
