# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Examine a host: everything of the second look, read in parallel."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from ..._components.tables import APIS, dependents_of
from ..._model.broker import Queue
from ..._model.codec import omitted
from ..._model.host import Exhausted, OwnReport, PendingConnection, Reach
from ..._model.question import Endpoint, Question
from ..._model.reach import BackEnd, Certificate, ResolvedName
from ..commands import Host
from . import (
    addresses,
    balancers,
    broker,
    certificates,
    configuration,
    database,
    machine,
    peer_probes,
    self_reports,
)
from . import names as resolved
from .configuration import Option, SettingsFile
from .peer_probes import NamedPeers

PARTS_AT_ONCE = 8
VIRT_TYPE = ("nova", "libvirt", "virt_type")
DATABASE_CLIENTS = dependents_of("database")
OVN_REMOTE = (
    "ovs-vsctl",
    "--timeout=4",
    "--if-exists",
    "get",
    "open",
    ".",
    "external-ids:ovn-remote",
)


@dataclass(frozen=True)
class RawExamination:
    """The findings of a host as it returns them, before they are compared with those of others.

    digests: name of each option to the digest of its value. packages: name to version.
    """

    reach: tuple[Reach, ...] = ()
    pending: tuple[PendingConnection, ...] = ()
    reports: tuple[OwnReport, ...] = ()
    exhausted: tuple[Exhausted, ...] = ()
    files: Mapping[str, SettingsFile] = field(default_factory=dict)
    packages: Mapping[str, str] = field(default_factory=dict)
    digests: Mapping[str, str] = field(default_factory=dict)
    queues: tuple[Queue, ...] = omitted(())
    certificates: tuple[Certificate, ...] = omitted(())
    names: tuple[ResolvedName, ...] = omitted(())
    back_ends: tuple[BackEnd, ...] = omitted(())


def examine(
    host: Host, components: set[str], own: Iterable[str], question: Question
) -> RawExamination:
    """Return the findings of a host. components: those on it. own: its names and addresses."""
    with ThreadPoolExecutor(PARTS_AT_ONCE) as pool:
        locks = pool.submit(locks_of, host, components)
        back_ends = pool.submit(balancers.read, host)
        reports = pool.submit(self_reports.read, host, components)
        exhausted = pool.submit(machine.read, host, components, question.since)
        files = pool.submit(
            host.attempt,
            "the files of settings",
            configuration.files,
            default={},
        )
        packages = pool.submit(
            host.attempt, "the packages", configuration.packages, default={}
        )
        pending = pool.submit(
            host.attempt, "the connections", peer_probes.pending, default=()
        )
    options = options_of(host, components, files.result())
    peers = peers_of(components, options.all, question.endpoints)
    # These need what the settings name.
    with ThreadPoolExecutor(PARTS_AT_ONCE) as pool:
        reach = pool.submit(peer_probes.probes, peers)
        names = pool.submit(resolved.read, host, peers, question.hosts)
        expiring = pool.submit(certificates.read, host, components, peers)
        answer = pool.submit(answer_of_broker, host, components, options)
        accelerator = pool.submit(accelerator_of, host, components, options)
    return RawExamination(
        reach=reach.result(),
        pending=pending.result(),
        reports=(
            *reports.result(),
            *locks.result(),
            *answer.result().reports,
            *accelerator.result(),
            *addresses.own(host, components, options.of_files, own),
        ),
        exhausted=tuple(exhausted.result()),
        files=files.result(),
        packages=packages.result(),
        # Without its settings a host would seem to differ in all of them.
        digests=configuration.digests(options.all, question.salt, own)
        if options.of_files
        else {},
        queues=answer.result().queues,
        certificates=expiring.result(),
        names=names.result(),
        back_ends=back_ends.result(),
    )


def locks_of(host: Host, components: set[str]) -> list[OwnReport]:
    """Return who waits for whom in the database, where it is on the host."""
    if "database" not in components:
        return []
    found: list[OwnReport] = host.attempt(
        "the locks of the database", database.read, default=[]
    )
    return found


def answer_of_broker(
    host: Host, components: set[str], options: Options
) -> broker.Answer:
    """Return what the broker answers, where it is on the host."""
    if "rabbitmq" not in components:
        return broker.Answer()
    return broker.read(host, broker.accounts_in(options.of_files))


def accelerator_of(
    host: Host, components: set[str], options: Options
) -> list[OwnReport]:
    """Return whether the host lacks the accelerator that its settings ask for, where these could be read."""
    if "nova-compute" not in components or not options.of_files:
        return []
    named = [
        (option.project, option.section, option.name)
        for option in options.of_files
    ]
    kinds = [
        option.value
        for option, name in zip(options.of_files, named)
        if name == VIRT_TYPE
    ]
    found: list[OwnReport] = host.attempt(
        "the accelerator", machine.accelerator, kinds, default=[]
    )
    return found


@dataclass(frozen=True)
class Options:
    """The options of a host. remotes: what no file has, in the form of options."""

    of_files: list[Option]
    remotes: list[Option]

    @property
    def all(self) -> list[Option]:
        return [*self.of_files, *self.remotes]


def options_of(
    host: Host, components: set[str], files: Mapping[str, SettingsFile]
) -> Options:
    projects = configuration.projects_of(components)
    options = host.attempt(
        "the settings", configuration.settings, files, projects, default=[]
    )
    remotes: list[Option] = []
    if "ovn-controller" in components:
        remotes = host.attempt("the databases of OVN", ovn_remote, default=[])
    return Options(options, remotes)


def peers_of(
    components: set[str],
    options: Iterable[Option],
    endpoints: Iterable[Endpoint],
) -> NamedPeers:
    """Return the peers that the settings and the catalogue name.

    A database counts connections that nobody logs in to, and bars a host with many of them until one does. So it is
    left out on hosts whose services never log in to it, though their settings name it.
    """
    peers = peer_probes.peers_in(options)
    for endpoint in endpoints:
        for peer in peer_probes.peers_of(
            "", endpoint.url, APIS.get(endpoint.service)
        ):
            peers.setdefault(peer, set()).add("catalogue")
    if components & DATABASE_CLIENTS:
        return peers
    return {
        peer: named_by
        for peer, named_by in peers.items()
        if peer.component != "database"
    }


def ovn_remote(host: Host) -> list[Option]:
    """Return a peer that no file names, in the form of an option: Open vSwitch knows the databases of OVN."""
    remote = host.ask("ovs", *OVN_REMOTE).strip()
    return [
        Option("ovn", "Open vSwitch", "external-ids", "ovn-remote", remote)
    ]
