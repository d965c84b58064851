# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Examines a host: everything of the second look, read at the same time."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from . import configuration, machine, peer_probes, self_reports

PARTS_AT_ONCE = 6
DATABASE_CLIENTS = {
    "keystone", "glance-api", "placement-api", "nova-api", "nova-api-metadata", "nova-conductor", "nova-scheduler",
    "neutron-server", "cinder-api", "cinder-scheduler", "cinder-volume",
}  # fmt: skip
OVN_REMOTE = ("ovs-vsctl", "--timeout=4", "--if-exists", "get", "open", ".", "external-ids:ovn-remote")


def examine(host, services, own, asked):
    """The findings of a host.

    services: the facts about its services; own: its names and addresses; asked: the salt of digests, since when the
    kernel's errors count, and the URLs of the catalogue.
    """
    components = {service["component"] for service in services}
    with ThreadPoolExecutor(PARTS_AT_ONCE) as pool:
        parts = {
            "words": pool.submit(self_reports.read, host, components),
            "ground": pool.submit(machine.read, host, components, asked["since"]),
            "files": pool.submit(host.attempt, "the files of settings", configuration.files, default={}),
            "packages": pool.submit(host.attempt, "the packages", configuration.packages, default={}),
            "hanging": pool.submit(host.attempt, "the connections", peer_probes.hanging, default=[]),
        }
        found = {name: part.result() for name, part in parts.items()}
    projects = configuration.projects_of(components)
    options = host.attempt("the settings", configuration.settings, found["files"], projects, default=[])
    remotes = host.attempt("the databases of OVN", ovn_remote, default=[]) if "ovn-controller" in components else []
    return {
        **found,
        "reach": peer_probes.probes(peers_of(components, [*options, *remotes], asked["urls"])),
        # Without its settings a host would seem to differ in all of them.
        "digests": configuration.digests([*options, *remotes], asked["salt"], own) if options else {},
    }


def peers_of(components, options, urls):
    """The peers that the settings and the catalogue name.

    A database counts connections that nobody logs in to, and bars a host with many of them until one does. So it is
    left out on hosts whose services never log in to it, though their settings name it.
    """
    peers = peer_probes.peers_in(options)
    for url in urls:
        for peer in peer_probes.peers_of("", url):
            peers.setdefault(peer, set()).add("catalogue")
    has_clients = bool(components & DATABASE_CLIENTS)
    return {peer: named_by for peer, named_by in peers.items() if peer[0] != "database" or has_clients}


def ovn_remote(host):
    """A peer that no file names, in the form of an option: Open vSwitch itself knows the databases of OVN."""
    return [("ovn", "Open vSwitch", "external-ids", "ovn-remote", host.ask("ovs", *OVN_REMOTE).strip())]
