# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A symptom: one thing that is not as it should be, as a code with fields. _report/messages has its sentences."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Optional

from .chain import Link
from .how import How
from .words import Word

# The exception for a service that Keystone's catalog has no endpoint of, in the region that was asked for
NO_ENDPOINT = "EndpointNotFound"
# In the place of a peer's host: it is not known, but it is not that of the component which failed there.
ELSEWHERE = ""


class Kind(Word):
    """The kind of a symptom, which decides how much it counts."""

    STATE = "state"
    LINK = "link"
    RESTART = "restart"
    REPORT = "report"
    RESOURCE = "resource"
    REACH = "reach"
    FAILED_AT = "failed at"
    ERROR = "error"
    NOT_REPORTING = "not reporting"
    DISABLED = "disabled"
    ANSWER = "answer"
    CHANGE = "change"
    DIFFERENCE = "difference"
    STEP = "step"


class Code(Word):
    """What was found. Each has its sentence in _report/messages/symptoms.py."""

    UNIT_NOT_RUNNING = "unit_not_running"
    LINK_BROKEN = "link_broken"
    UNIT_CRASH_LOOP = "unit_crash_loop"
    UNIT_RESTARTED_DURING_RUN = "unit_restarted_during_run"
    UNIT_RESTARTED_BEFORE_RUN = "unit_restarted_before_run"
    OWN_REPORT = "own_report"
    DOMAIN_HALTED = "domain_halted"
    INTERFACE_ERROR = "interface_error"
    OSD_DOWN = "osd_down"
    CEPH_HEALTH = "ceph_health"
    COMMAND_HANGS = "command_hangs"
    CONSOLE_EMPTY = "console_empty"
    RESOURCE_EXHAUSTED = "resource_exhausted"
    PEER_UNREACHABLE = "peer_unreachable"
    PEER_NAMED = "peer_named"
    WRONG_ADDRESS = "wrong_address"
    OPTION_OF_PEER = "option_of_peer"
    CONNECTION_PENDING = "connection_pending"
    QUEUE_UNCONSUMED = "queue_unconsumed"
    QUEUE_BACKLOG = "queue_backlog"
    CERTIFICATE_EXPIRED = "certificate_expired"
    CERTIFICATE_EXPIRING = "certificate_expiring"
    CLOCK_OFFSET = "clock_offset"
    NAME_DUPLICATE = "name_duplicate"
    NAME_UNRESOLVED = "name_unresolved"
    NAME_ELSEWHERE = "name_elsewhere"
    MTU_SMALLER = "mtu_smaller"
    MTU_TOO_SMALL = "mtu_too_small"
    MTU_TOO_LARGE = "mtu_too_large"
    BACK_END_DOWN = "back_end_down"
    ADDRESS_MISSING = "address_missing"
    ADDRESS_DUPLICATE = "address_duplicate"
    LOGGED_FAILURE = "logged_failure"
    LOGGED_ERROR = "logged_error"
    API_NAMES_PEER = "api_names_peer"
    NO_VALID_HOST = "no_valid_host"
    PROVIDER_MISSING = "provider_missing"
    DHCP_NOT_CARRIED = "dhcp_not_carried"
    DHCP_UNANSWERED = "dhcp_unanswered"
    USER_DATA_UNANSWERED = "user_data_unanswered"
    METADATA_LOST = "metadata_lost"
    PATH_LOST = "path_lost"
    PATH_NARROW = "path_narrow"
    PATH_SHUT = "path_shut"
    PATH_OPEN = "path_open"
    PATH_LOST_OVER_IPV6 = "path_lost_over_ipv6"
    GUEST_WITHOUT_IPV6 = "guest_without_ipv6"
    GUEST_NAME_UNRESOLVED = "guest_name_unresolved"
    FOREIGN_RESOLVER = "foreign_resolver"
    SERVICE_NOT_REPORTING = "service_not_reporting"
    # Or behind, by an offset below zero
    SERVICE_AHEAD = "service_ahead"
    SERVICE_TAKEN_FOR_DOWN = "service_taken_for_down"
    SERVICE_DISABLED = "service_disabled"
    API_ERROR = "api_error"
    API_SILENT = "api_silent"
    METADATA_ANSWER = "metadata_answer"
    CONFIGURATION_CHANGED = "configuration_changed"
    CONFIGURATION_DIFFERS = "configuration_differs"
    STEP_MISSING = "step_missing"
    STAGE_PART = "stage_part"

    @property
    def kind(self) -> Kind:
        return KINDS[self]


KINDS = {
    Code.UNIT_NOT_RUNNING: Kind.STATE,
    Code.LINK_BROKEN: Kind.LINK,
    Code.UNIT_CRASH_LOOP: Kind.STATE,
    Code.UNIT_RESTARTED_DURING_RUN: Kind.STATE,
    Code.UNIT_RESTARTED_BEFORE_RUN: Kind.RESTART,
    Code.OWN_REPORT: Kind.REPORT,
    Code.DOMAIN_HALTED: Kind.ERROR,
    Code.INTERFACE_ERROR: Kind.REPORT,
    Code.OSD_DOWN: Kind.REPORT,
    Code.CEPH_HEALTH: Kind.REPORT,
    Code.COMMAND_HANGS: Kind.REPORT,
    Code.CONSOLE_EMPTY: Kind.REPORT,
    Code.RESOURCE_EXHAUSTED: Kind.RESOURCE,
    Code.PEER_UNREACHABLE: Kind.REACH,
    Code.PEER_NAMED: Kind.REACH,
    Code.WRONG_ADDRESS: Kind.LINK,
    Code.OPTION_OF_PEER: Kind.LINK,
    Code.CONNECTION_PENDING: Kind.REACH,
    Code.QUEUE_UNCONSUMED: Kind.NOT_REPORTING,
    Code.QUEUE_BACKLOG: Kind.NOT_REPORTING,
    Code.CERTIFICATE_EXPIRED: Kind.REPORT,
    Code.CERTIFICATE_EXPIRING: Kind.REPORT,
    Code.CLOCK_OFFSET: Kind.RESOURCE,
    Code.NAME_DUPLICATE: Kind.REPORT,
    Code.NAME_UNRESOLVED: Kind.REPORT,
    Code.NAME_ELSEWHERE: Kind.REPORT,
    Code.MTU_SMALLER: Kind.REPORT,
    Code.MTU_TOO_SMALL: Kind.REPORT,
    Code.MTU_TOO_LARGE: Kind.REPORT,
    Code.BACK_END_DOWN: Kind.FAILED_AT,
    Code.ADDRESS_MISSING: Kind.REPORT,
    Code.ADDRESS_DUPLICATE: Kind.REPORT,
    Code.LOGGED_FAILURE: Kind.FAILED_AT,
    Code.LOGGED_ERROR: Kind.ERROR,
    Code.API_NAMES_PEER: Kind.FAILED_AT,
    Code.NO_VALID_HOST: Kind.FAILED_AT,
    Code.PROVIDER_MISSING: Kind.NOT_REPORTING,
    Code.DHCP_NOT_CARRIED: Kind.FAILED_AT,
    Code.DHCP_UNANSWERED: Kind.FAILED_AT,
    Code.USER_DATA_UNANSWERED: Kind.FAILED_AT,
    Code.METADATA_LOST: Kind.FAILED_AT,
    Code.PATH_LOST: Kind.FAILED_AT,
    Code.PATH_NARROW: Kind.FAILED_AT,
    Code.PATH_SHUT: Kind.FAILED_AT,
    Code.PATH_OPEN: Kind.REPORT,
    Code.PATH_LOST_OVER_IPV6: Kind.FAILED_AT,
    Code.GUEST_WITHOUT_IPV6: Kind.FAILED_AT,
    Code.GUEST_NAME_UNRESOLVED: Kind.FAILED_AT,
    Code.FOREIGN_RESOLVER: Kind.REPORT,
    Code.SERVICE_NOT_REPORTING: Kind.NOT_REPORTING,
    Code.SERVICE_AHEAD: Kind.REPORT,
    Code.SERVICE_TAKEN_FOR_DOWN: Kind.REPORT,
    Code.SERVICE_DISABLED: Kind.DISABLED,
    Code.API_ERROR: Kind.ANSWER,
    Code.API_SILENT: Kind.ANSWER,
    Code.METADATA_ANSWER: Kind.ANSWER,
    Code.CONFIGURATION_CHANGED: Kind.CHANGE,
    Code.CONFIGURATION_DIFFERS: Kind.DIFFERENCE,
    Code.STEP_MISSING: Kind.STEP,
    Code.STAGE_PART: Kind.STEP,
}


@dataclass(frozen=True)
class Symptom:
    """One thing that is not as it should be, at a component on a host.

    peer: the component at which it failed. own: whether it names an id of the run; another may be of anybody.
    certain: whether it points at this component or peer alone. share: how much of a symptom of its kind it counts.
    answered: whether the peer itself answered. only_from_here: whether the peer answers other hosts.
    carriers: the components that carry the message of a missing step. times: how many messages
    wait, or packets were dropped.
    offset_s: by how much a clock is ahead. sizes: the MTU of a link, or the largest packet, and what it should be.
    The fields after these are what its sentence needs.
    """

    code: Code
    component: Optional[str]
    host: Optional[str] = None
    how: Optional[How] = None
    peer: Optional[str] = None
    peer_host: Optional[str] = None
    own: bool = False
    certain: bool = True
    share: float = 1.0
    quote: Optional[str] = None
    at: Optional[float] = None
    answered: bool = False
    only_from_here: bool = False
    carriers: tuple[str, ...] = ()
    step: Optional[str] = None
    unit: Optional[str] = None
    times: Optional[int] = None
    for_s: Optional[float] = None
    restarts: int = 0
    ago_s: Optional[float] = None
    since: Optional[float] = None
    last_report: Optional[str] = None
    request: Optional[str] = None
    status: Optional[int] = None
    address: Optional[str] = None
    port: Optional[int] = None
    probe: Optional[str] = None
    exception: Optional[str] = None
    logger: Optional[str] = None
    path: Optional[str] = None
    setting: Optional[str] = None
    command: Optional[str] = None
    reported: tuple[str, ...] = ()
    offset_s: Optional[float] = None
    sizes: tuple[int, ...] = ()
    link: Optional[Link] = None

    @property
    def kind(self) -> Kind:
        return self.code.kind

    @property
    def is_denied(self) -> bool:
        """Return whether a peer does not let the component in."""
        return self.kind == Kind.FAILED_AT and self.how == How.DENIED

    @property
    def place(self) -> tuple[Optional[str], Optional[str]]:
        return self.component, self.host

    @property
    def peer_place(self) -> tuple[Optional[str], Optional[str]]:
        return self.peer, self.peer_host

    @property
    def identity(self) -> tuple[object, ...]:
        """Return what tells it from other symptoms: what was found and where, and not how certain that is."""
        if self.code in ONE_PER_PLACE:
            return self.code, *self.place
        return tuple(
            getattr(self, field.name)
            for field in fields(self)
            if field.name not in NOT_IDENTITY
        )

    @property
    def source(self) -> tuple[object, ...]:
        """Return the line of a log that it was found in, which may name several peers; otherwise its identity."""
        if self.at is None:
            return self.identity
        return self.component, self.host, self.at, self.quote


# What was found once at a place, whatever peers it may be about
ONE_PER_PLACE = frozenset(
    {Code.STEP_MISSING, Code.NO_VALID_HOST, Code.DHCP_UNANSWERED}
)
NOT_IDENTITY = frozenset(
    {
        "how",
        "peer_host",
        "own",
        "certain",
        "share",
        "quote",
        "at",
        "answered",
        "only_from_here",
        "carriers",
        "restarts",
    }
)
