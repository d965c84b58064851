# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What each stage knows when it ends: the details of its record, which later stages read.

A stage that failed or was skipped knows only a part, so JSON leaves out what is not known.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Optional

from .codec import Seconds, Time, omitted
from .words import AttemptStatus, CheckStatus, StageStatus


@dataclass(frozen=True)
class Details:
    """What any stage may know.

    reason: why it was skipped, or what the user has to know besides.
    found_without_answer: the names of resources that exist although the answer to their creation was lost.
    """

    reason: Optional[str] = omitted()
    found_without_answer: tuple[str, ...] = omitted(())


# auth


@dataclass(frozen=True)
class ServiceVersion:
    """The versions in the version document of a service."""

    service: str
    url: str
    version: Optional[str]
    min_microversion: Optional[str]
    max_microversion: Optional[str]


@dataclass(frozen=True)
class ClockDifference:
    """How far the cloud's clock is ahead of ours. consistent: whether the answers agree."""

    offset_s: float
    error_s: float
    answers: int
    consistent: bool


@dataclass(frozen=True)
class AuthDetails(Details):
    """The facts about the token, without the token itself. token: its kind.

    catalog: the types of the services that have a public and an internal endpoint in the region.
    """

    user: Optional[str] = omitted()
    user_domain: Optional[str] = omitted()
    project: Optional[str] = omitted()
    project_id: Optional[str] = omitted()
    project_domain: Optional[str] = omitted()
    roles: Optional[tuple[str, ...]] = omitted()
    issued: Optional[str] = omitted()
    expires: Optional[str] = omitted()
    region: Optional[str] = omitted()
    token: Optional[str] = omitted()
    catalog: Optional[tuple[str, ...]] = omitted()
    services: Optional[tuple[ServiceVersion, ...]] = omitted()
    clock: Optional[ClockDifference] = omitted()


@dataclass(frozen=True)
class Origin:
    """The part of AuthDetails by which a removal knows the cloud of the run."""

    project_id: Optional[str] = None
    region: Optional[str] = None


# image


@dataclass(frozen=True)
class Image:
    """An image as Glance describes it, in bytes, GiB and MiB."""

    size: Optional[int]
    virtual_size: Optional[int]
    disk_format: Optional[str]
    container_format: Optional[str]
    min_disk: int
    min_ram: int
    sha512: Optional[str]
    stores: tuple[str, ...]


@dataclass(frozen=True)
class ImageDetails(Details):
    """The image, and how it was chosen. verified: in what the cloud's image equals the uploaded file."""

    chosen: Optional[str] = omitted()
    stores_offered: Optional[tuple[str, ...]] = omitted()
    verified: Optional[tuple[str, ...]] = omitted()
    image: Optional[Image] = omitted()


# network


@dataclass(frozen=True)
class NetworkDetails(Details):
    """The maker of the port, and the addresses. no_security_group: why there is none.

    ipv6: how guests get their IPv6 addresses (slaac, or one of DHCPv6); only if a router of Neutron advertises them.
    fixed_ips, second_fixed_ips: of the ports that the run has made for its servers.
    """

    port: Optional[str] = omitted()
    floating_ip: Optional[str] = omitted()
    fixed_ips: Optional[tuple[str, ...]] = omitted()
    second_fixed_ips: Optional[tuple[str, ...]] = omitted()
    no_security_group: Optional[str] = omitted()
    ipv6: Optional[str] = omitted()


# volume


@dataclass(frozen=True)
class Volume:
    """encrypted: by its type. multiattach: whether several servers may have it at once, by its type as well."""

    size_gib: int
    type: Optional[str]
    zone: Optional[str]
    bootable: bool
    encrypted: bool = omitted(False)
    multiattach: bool = omitted(False)


@dataclass(frozen=True)
class VolumeDetails(Details):
    """The volume. requested_type, requested_zone, requested_size_gib: what was asked for."""

    requested_type: Optional[str] = omitted()
    requested_zone: Optional[str] = omitted()
    requested_size_gib: Optional[int] = omitted()
    volume: Optional[Volume] = omitted()


# boot


@dataclass(frozen=True)
class Flavor:
    """A flavor, with its memory in MiB and its disk in GiB."""

    name: str
    ram: int
    vcpus: int
    disk: int


@dataclass(frozen=True)
class Server:
    """The place and the addresses of an active server. host: known to administrators; host_id: its hash."""

    id: str
    zone: Optional[str]
    host: Optional[str]
    host_id: Optional[str]
    launched: Optional[str]
    ports: tuple[str, ...]
    fixed_ips: tuple[str, ...]


@dataclass(frozen=True)
class ServerEvent:
    """An event of the compute service. Its times have no zone, as Nova writes them. error: why it failed, as Nova says.

    host: where it was done, by Nova's name of the host.
    """

    event: str
    start_time: Optional[str] = omitted()
    finish_time: Optional[str] = omitted()
    result: Optional[str] = omitted()
    host: Optional[str] = omitted()
    host_id: Optional[str] = omitted()
    error: Optional[str] = omitted()

    @property
    def is_of_compute(self) -> bool:
        """Return whether nova-compute has done it. nova-conductor only passes on what failed elsewhere."""
        return self.event.startswith("compute_")


@dataclass(frozen=True)
class BootDetails(Details):
    """The server. attach: when the run's volume is attached. trace: the id by which OSProfiler knows the boot.

    requested_zone, requested_host: where the server was to run, if the user chose that.
    """

    flavor: Optional[Flavor] = omitted()
    attach: Optional[str] = omitted()
    request_id: Optional[str] = omitted()
    trace: Optional[str] = omitted()
    requested_zone: Optional[str] = omitted()
    requested_host: Optional[str] = omitted()
    server: Optional[Server] = omitted()
    events: Optional[tuple[ServerEvent, ...]] = omitted()


# metadata


# The steps by which a guest of the lab has an address
ADDRESSED = frozenset({"lease", "address6"})


@dataclass(frozen=True)
class GuestStep:
    """A step that the lab's probe guest shows on its console, with its own time."""

    step: str
    uptime: Optional[Seconds] = omitted()
    attempts: Optional[int] = omitted()
    http_status: Optional[int] = omitted()
    address: Optional[str] = omitted()
    server: Optional[str] = omitted()
    reason: Optional[str] = omitted()
    name: Optional[str] = omitted()
    size_bytes: Optional[int] = omitted()
    serial: Optional[str] = omitted()


@dataclass(frozen=True)
class GuestProof:
    """What the run's user data shows on the console: the nonces that the guest has read."""

    uptime: Optional[Seconds]
    user_data: Optional[str]
    metadata: Optional[str]


@dataclass(frozen=True)
class GuestReport:
    """What a guest shows on its console.

    metadata, user_data: whether the guest has read those of this run. uuid, nonce: from the metadata that it was given.
    no_lease, lease_request, no_metadata, no_user_data: what the last line about it says, or true where it has no text.
    address6: the address by which it does without IPv4.
    """

    lines: int
    steps: tuple[GuestStep, ...]
    lease: Optional[str]
    metadata: bool
    user_data: bool
    own: Optional[GuestProof]
    no_lease: Any = omitted()
    lease_request: Any = omitted()
    no_metadata: Any = omitted()
    no_user_data: Any = omitted()
    address6: Optional[str] = omitted()
    uuid: Optional[str] = omitted()
    nonce: Optional[str] = omitted()


@dataclass(frozen=True)
class Attempt:
    """An attempt to reach an address. text: what came of it. seconds: until the answer."""

    status: AttemptStatus
    text: str
    seconds: Optional[Seconds]


@dataclass(frozen=True)
class Reached:
    """The last attempts to reach the guest. mac: whose answer to ARP this machine got."""

    address: str
    ping: Optional[Attempt] = omitted()
    tcp: Optional[Attempt] = omitted()
    mac: Optional[str] = omitted()


@dataclass(frozen=True)
class MetadataDetails(Details):
    guest: Optional[GuestReport] = omitted()
    lease_is_port_address: Optional[bool] = omitted()
    reached: Optional[Reached] = omitted()


# dataplane

# The guests of a run, and the machine that runs the playbook
FIRST, SECOND, CLIENT = "first", "second", "client"


@dataclass(frozen=True)
class PathCheck:
    """What one guest found on its way to the other, or elsewhere.

    source, target: the guests, first or second; no target for what is outside the run. The source of a login is the
    client. value: what was measured, such as the largest packet, in bytes. expected: what it should be.
    resolvers: those that DHCP gave the guest.
    """

    check: str
    source: str
    target: Optional[str]
    status: CheckStatus
    text: str
    seconds: Optional[Seconds] = omitted()
    value: Optional[float] = omitted()
    expected: Optional[float] = omitted()
    resolvers: tuple[str, ...] = omitted(())


@dataclass(frozen=True)
class DataplaneDetails(Details):
    """The second server, whether it is on another host than the first, and what each guest found.

    spread: None where the user cannot see the hosts. guest: what the second guest showed; only where it did not come as
    far as the first one.
    """

    request_id: Optional[str] = omitted()
    server: Optional[Server] = omitted()
    spread: Optional[bool] = omitted()
    checks: Optional[tuple[PathCheck, ...]] = omitted()
    guest: Optional[GuestReport] = omitted()


# journey


# Nova looks for another host for these. For a resize it takes the same one only if its settings say so.
MOVES = ("live-migration", "migrate", "resize", "evacuate")
# Operations in which Nova chooses a host, and which move no server from one to another
PLACED = ("shelve", "boot_snapshot")


# The kind of the failure of a journey after which the first guest does not answer the second one
NO_ANSWER = "no_answer"


@dataclass(frozen=True)
class ServerAction:
    """A request to Nova to do something with a server. action: as Nova's list of actions calls it."""

    action: str
    request_id: Optional[str] = omitted()


@dataclass(frozen=True)
class Leg:
    """An operation on the first server after its boot.

    actions: what was requested for it, in this order. started: when it began. seconds: until the server was as it
    should be. failed: the event of Nova's that failed. host_before, host_after: known to administrators; moved: whether
    the hash of the host has changed. lost: packets of the second guest that were not answered. outage_s: for how long.
    """

    operation: str
    status: StageStatus
    request_id: Optional[str] = omitted()
    actions: tuple[ServerAction, ...] = omitted(())
    started: Optional[Time] = omitted()
    seconds: Optional[Seconds] = omitted()
    failed: Optional[ServerEvent] = omitted()
    host_before: Optional[str] = omitted()
    host_after: Optional[str] = omitted()
    moved: Optional[bool] = omitted()
    lost: Optional[int] = omitted()
    outage_s: Optional[Seconds] = omitted()

    @property
    def requested(self) -> list[str]:
        """Return the names of its actions."""
        return [action.action for action in self.actions]

    @property
    def is_move(self) -> bool:
        """Return whether Nova looked for another host."""
        return not set(self.requested).isdisjoint(MOVES)


@dataclass(frozen=True)
class JourneyDetails(Details):
    """The operations in their order. request_id: of the last one."""

    request_id: Optional[str] = omitted()
    legs: tuple[Leg, ...] = omitted(())

    @property
    def ends_with_move(self) -> bool:
        """Return whether the last operation looked for another host."""
        return any(leg.is_move for leg in self.legs[-1:])

    @property
    def ends_anywhere(self) -> bool:
        """Return whether Nova chose a host in the last operation, for the server or for one of its snapshot."""
        placed = any(leg.operation in PLACED for leg in self.legs[-1:])
        return placed or self.ends_with_move
