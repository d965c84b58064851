# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Read the reports in a bundle: the facts, the stores and the examination of each host, as from a live one."""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

from ..._collect.chains import all_stores
from ..._collect.examination import (
    configuration,
    differences,
    machine,
    peer_probes,
    self_reports,
)
from ..._collect.examination.examine import (
    RawExamination,
    answer_of_broker,
    options_of,
)
from ..._collect.hosts import all_facts
from ..._model.bundle import Bundle
from ..._model.codec import to_json
from ..._model.facts import Facts
from ..._model.host import Host
from ..._model.instance import DescribedInstance
from ..layout import Place, hostname_of
from . import ceph, connections
from .answers import host_of
from .instance import described
from .report import COMMANDS, Report

# The components that make a host one with a part of the cloud
PARTS = {
    "compute": {"nova-compute"},
    "network": {"neutron-dhcp-agent", "neutron-l3-agent"},
    "ovn": {"ovn-nb-db", "ovn-sb-db", "ovn-northd"},
    "queue": {"rabbitmq"},
    "control": {"nova-api", "nova-conductor"},
}
# Keys the digests of settings, which are compared within one diagnosis and not kept
SALT = secrets.token_hex(16)


@dataclass(frozen=True)
class Reported:
    """What the reports in a bundle show: its hosts, and the instance if one is asked about."""

    hosts: tuple[Host, ...] = ()
    instance: DescribedInstance | None = None


def read(
    places: Iterable[Place],
    bundle: Bundle,
    profiles: Sequence[Mapping[str, Any]],
) -> Reported:
    """Return what the reports among some places show. profiles: of the platforms that their hosts may be of."""
    reports = newest_of(places)
    if not reports:
        return Reported()
    platform = joined(profiles)
    instance = described(
        list(reports.values()), bundle, platform["dhcp_states"]
    )
    found = {
        name: Reading(name, report, platform, bundle, instance)
        for name, report in reports.items()
    }
    raw = {name: reading.examination for name, reading in found.items()}
    groups = {name: reading.parts for name, reading in found.items()}
    # A file that was changed after the failure did not cause it; sos itself changes those whose passwords it masks.
    began = min(report.now for report in reports.values())
    passed = bundle.baseline.passed if bundle.baseline else None
    reference = differences.Reference(
        now=min(bundle.until, began), passed=passed
    )
    examined = differences.examined(
        raw, groups, dict.fromkeys(raw, 0.0), reference
    )
    hosts = [
        replace(reading.host, examination=examined[name])
        for name, reading in found.items()
    ]
    return Reported(tuple(hosts), instance)


def newest_of(places: Iterable[Place]) -> dict[str, Report]:
    """Return the reports by their hosts. Of several of one host, the newest shows how it is."""
    newest: dict[str, tuple[str, Report]] = {}
    for place in places:
        report = Report(place.top)
        if not place.whole_host or not report.has(COMMANDS):
            continue
        host = hostname_of(place.top) or place.name
        if host in newest:
            _name, known = newest[host]
            if known.now >= report.now:
                continue
        newest[host] = (place.name, report)
    return dict(newest.values())


def joined(profiles: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return one profile of all: a report does not name its platform."""
    platform: dict[str, Any] = {}
    for name in ("units", "dhcp_states", "ceph_users"):
        platform[name] = each_once(profiles, name)
    for name in ("dhcp_logs", "metadata_logs"):
        sources = [profile.get(name) or {} for profile in profiles]
        platform[name] = {
            "journals": each_once(sources, "journals"),
            "files": each_once(sources, "files"),
        }
    # The images in Ceph are not in a report.
    platform["pools"] = {"vms": [], "volumes": []}
    return platform


def each_once(sources: Iterable[Mapping[str, Any]], name: str) -> list[Any]:
    """Return what some sources list under a name, each entry once."""
    listed = chain.from_iterable(source.get(name) or () for source in sources)
    entries: list[Any] = []
    for entry in listed:
        if entry not in entries:
            entries.append(entry)
    return entries


class Reading:
    """A report while it is read."""

    def __init__(
        self,
        name: str,
        report: Report,
        platform: Mapping[str, Any],
        bundle: Bundle,
        instance: DescribedInstance | None,
    ) -> None:
        self.name = name
        self.report = report
        self.platform = platform
        self.bundle = bundle
        self.instance = instance
        self.asked = host_of(report)
        self.facts = self.read_facts()
        self.components = components_of(self.facts)
        self.parts = parts_of(self.components, report)
        if instance is not None:
            reading = all_facts.Reading(self.asked, instance, platform)
            self.facts = reading.add_to(self.facts, self.parts)
        self.stores = all_stores.read(self.asked, self.components, instance)
        self.examination = self.examine()

    def read_facts(self) -> Facts:
        """Return the facts of the host itself; those about Ceph are read where an instance is not."""
        with_ceph = ["ceph"] if ceph.has_answers(self.report) else []
        return all_facts.read(self.asked, with_ceph, None, self.platform)

    def examine(self) -> RawExamination:
        """Return what of an examination a report can show: all but what the host would have to try."""
        host, components, since = (
            self.asked,
            self.components,
            self.bundle.began,
        )
        files = host.attempt(
            "the files of settings", configuration.files, default={}
        )
        options = options_of(host, components, files)
        answer = answer_of_broker(host, components, options)
        own = [*self.facts.names, *self.facts.addresses]
        return RawExamination(
            reach=host.attempt(
                "the peers that answer", connections.answering, default=()
            ),
            pending=host.attempt(
                "the connections", peer_probes.pending, default=()
            ),
            reports=(*self_reports.read(host, components), *answer.reports),
            exhausted=tuple(machine.read(host, components, since)),
            files=files,
            packages=host.attempt(
                "the packages", configuration.packages, default={}
            ),
            digests=configuration.digests(options.all, SALT, own)
            if options.of_files
            else {},
            queues=answer.queues,
        )

    @property
    def host(self) -> Host:
        return Host(
            self.name,
            groups=tuple(self.parts),
            parts=tuple(self.parts),
            facts=to_json(self.facts),
            unread=tuple(self.asked.unread),
            stores=self.stores,
        )


def components_of(facts: Facts) -> set[str]:
    return {unit.component for unit in facts.services}


def parts_of(components: set[str], report: Report) -> list[str]:
    found = [part for part, own in PARTS.items() if own & components]
    return [*found, "ceph"] if ceph.has_answers(report) else found
