# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The proof that a guest is asked for, and the signs of it on its console."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from .._model.codec import iso_of
from .._model.details import GuestProof, GuestReport, GuestStep
from .._record.errors import StageError
from .._record.masking import words_of
from .._record.run import is_seconds

# It needs only a shell and sed, and curl or wget. A guest without IPv4 to the outside asks at an address of each link
# for IPv6, too: curl wants the sign between both as a URL has it, the wget of busybox as it is, and others cannot.
USER_DATA = """#!/bin/sh
# Made by stackproof.provision: shows on the console what this guest has read.
path=openstack/latest/meta_data.json ipv6=fe80::a9fe:a9fe
get() { curl -sf -m 10 "http://$1/$path" || wget -q -O - "http://$2/$path"; } 2>/dev/null
document=$(get 169.254.169.254 169.254.169.254)
while read -r name to rest; do
  if [ "$to" = 00000000 ]; then routed=1; fi
done </proc/net/route
for link in $(sed '/ lo$/d; s/.* //' /proc/net/if_inet6 2>/dev/null); do
  if [ -z "$document$routed" ]; then document=$(get "[$ipv6%25$link]" "[$ipv6%$link]"); fi
done
value() { printf %s "$document" | tr '\\n' ' ' | sed -n 's/.*"'"$1"'": *"\\([^"]*\\)".*/\\1/p'; }
read -r up rest </proc/uptime
nonce=$(value stackproof_nonce)
echo "stackproof-guest: {\\"uptime\\": $up, \\"user_data\\": \\"@NONCE@\\", \\"metadata\\": \\"$nonce\\"}"
"""

# Lines on consoles about a guest's way to its metadata, as (step, pattern). Those of the lab's probe guest are tested
# with that guest; those of busybox' udhcpc (as in cirros), dhclient and cloud-init follow the output of these programs.
PATTERNS = [
    (step, re.compile(pattern))
    for step, pattern in (
        ("lease", r'"step": "lease".*"address": "(?P<value>[\d.]+)"'),
        (
            "address6",
            r'"step": "address6".*"address": "(?P<value>[0-9a-f:]+)"',
        ),
        ("lease", r"udhcpc: lease of (?P<value>[\d.]+) obtained"),
        ("lease", r"bound to (?P<value>[\d.]+)"),
        (
            "lease",
            r"ci-info: \|\s*(?!lo\b)\S+\s*\|\s*True\s*\|\s*(?P<value>\d+\.[\d.]+)\s*\|",
        ),
        ("no_lease", r'"step": "no_lease"'),
        (
            "no_lease",
            r"udhcpc: no lease|No DHCPOFFERS received|No working leases",
        ),
        (
            "no_metadata",
            r'"step": "no_metadata".*"reason": "(?P<value>[^"]*)"',
        ),
        (
            "no_metadata",
            r"Calling 'http://(?:169\.254\.169\.254|\[fe80::a9fe:a9fe)\S*' failed \[[^]]*\]: (?P<value>.*)",
        ),
        ("no_metadata", r"(?P<value>failed to read iid from metadata)"),
        (
            "lease_request",
            r'"step": "dhcp_start"|udhcpc: sending discover|udhcpc: broadcasting discover|DHCPDISCOVER',
        ),
        (
            "no_user_data",
            r'"step": "no_user_data".*"reason": "(?P<value>[^"]*)"',
        ),
    )
]
NO_ROUTE = re.compile("no route to host|network is unreachable", re.IGNORECASE)
PROBE = re.compile(r"^probe: (\{.*\})")
OWN = re.compile(r"stackproof-guest: (\{.*\})")
# A guest may write anything on its console, as it is not ours. An error of cloud-init has some 300 characters.
LONGEST_TEXT = 512
# The number of steps that are kept. The probe guest writes some twenty, and one more every ten seconds without a lease.
MOST_STEPS = 1000
# Any number that the guest counts. A disk is its largest: 8 EiB are more than any has.
LARGEST_COUNT = 1 << 63
# One word: the state of a wait begins with it, and is compared with it word by word.
STEP_NAME = re.compile(r"[\w-]{1,64}", re.ASCII)
HINTS = {
    "no_console": "Check whether the compute host keeps consoles, whether the image boots at all, and whether it has a"
    " console on its serial port.",
    "no_lease": "Look at the port's binding. With agents, look at the DHCP agent of the network, its dnsmasq, and the"
    " way between compute host and network host; with OVN, at ovn-controller on the compute host. Of a network with"
    " IPv6 alone, look at what the router advertises.",
    "no_metadata": "Look at the metadata proxy of the network: with agents, neutron-metadata-agent and its proxy in the"
    " DHCP or router namespace of a network host; with OVN, the metadata agent of the compute host and its proxy in"
    " ovnmeta-<network>. Look at nova-api-metadata behind them.",
    "wrong_metadata": "Look at the proxy's shared secret and the headers it adds, and for a second instance with the"
    " same address.",
    "no_user_data": "Look at the request for user_data in the metadata service's log; an image without a program that"
    " runs user data cannot pass.",
    "no_proof": "Read the console: openstack console log show. The image needs a program that runs user data, such as"
    " cloud-init, and a console on its serial port.",
}


def as_name(value: Any) -> str | None:
    """Return the name of a step, or None if it is not one word."""
    return (
        value
        if isinstance(value, str) and STEP_NAME.fullmatch(value)
        else None
    )


def as_text(value: Any) -> str | None:
    """Return the beginning of a text, or None for anything else."""
    return value[:LONGEST_TEXT] if isinstance(value, str) else None


def as_words(value: Any) -> str | None:
    """Return a text that is shown to readers, without secrets, or None for anything else."""
    return words_of(value, LONGEST_TEXT) if isinstance(value, str) else None


def as_count(value: Any) -> int | None:
    """Return a whole number of things or bytes, or a status, or None for anything else."""
    is_count = (
        isinstance(value, int)
        and not isinstance(value, bool)
        and 0 <= value < LARGEST_COUNT
    )
    return value if is_count else None


def as_uptime(value: Any) -> float | None:
    """Return the seconds that a guest has run, or None if none of ours can have run so long."""
    return value if is_seconds(value) else None


Readers = Mapping[str, Callable[[Any], Any]]

# The fields of a line of the probe guest that are kept, and how each is read
PROBE_FIELDS: Readers = {
    "step": as_name,
    "uptime": as_uptime,
    "attempts": as_count,
    "http_status": as_count,
    "address": as_text,
    "server": as_text,
    "reason": as_words,
    "name": as_text,
    "size_bytes": as_count,
    "serial": as_text,
}
METADATA_FIELDS: Readers = {"uuid": as_text, "nonce": as_text}


@dataclass(frozen=True)
class Nonces:
    """Two words that no other run has: the guest finds one in its metadata and one in its user data."""

    metadata: str
    user_data: str


class Finding(NamedTuple):
    """The first thing that a guest did not do."""

    kind: str
    message: str
    hint: str


def nonces(run_id: str, started: float) -> Nonces:
    """Return the nonces of a run. Every stage of the run gets the same ones."""
    began = iso_of(started)
    return Nonces(
        metadata=nonce("metadata", run_id, began),
        user_data=nonce("user_data", run_id, began),
    )


def nonce(name: str, run_id: str, started: str) -> str:
    return hashlib.sha256(f"{name} {run_id} {started}".encode()).hexdigest()[
        :32
    ]


def user_data(nonce: str) -> str:
    return USER_DATA.replace("@NONCE@", nonce)


def read(console: str, wanted: Nonces) -> GuestReport:
    """Return the guest's steps on a console, and whether it shows that the guest has read the nonces."""
    reading = Reading(wanted)
    lines = console.splitlines()
    for line in lines:
        reading.read(line)
    return reading.report(len(lines))


class Reading:
    """What the lines of a console have shown so far."""

    def __init__(self, wanted: Nonces) -> None:
        self.wanted = wanted
        self.steps: list[GuestStep] = []
        # Name of a sign in PATTERNS to what the last line with it says
        self.signs: dict[str, Any] = {}
        self.own: GuestProof | None = None
        self.uuid: str | None = None
        self.nonce: str | None = None
        self.metadata = self.user_data = False

    def read(self, line: str) -> None:
        self.read_step(line)
        for sign, pattern in PATTERNS:
            match = pattern.search(line)
            if match:
                self.signs[sign] = (
                    as_words(match.groupdict().get("value")) or True
                )
        self.read_proof(line)

    def read_step(self, line: str) -> None:
        """Add the step that a line of the lab's probe guest shows, with the guest's own time."""
        record = object_in(line, PROBE)
        values = fields_of(record, PROBE_FIELDS)
        if "step" not in values:
            return
        step = GuestStep(**values)
        if step.step == "metadata":
            self.read_metadata(record)
        if len(self.steps) < MOST_STEPS:
            self.steps.append(step)

    def read_metadata(self, record: dict[str, Any]) -> None:
        """Note the server that the metadata is about, and the nonce in it. An odd value does not replace a good one."""
        meta = record.get("meta")
        nonce = (
            meta.get("stackproof_nonce") if isinstance(meta, dict) else None
        )
        values = fields_of(
            {"uuid": record.get("uuid"), "nonce": nonce}, METADATA_FIELDS
        )
        self.uuid = values.get("uuid", self.uuid)
        self.nonce = values.get("nonce", self.nonce)

    def read_proof(self, line: str) -> None:
        """Note the nonces that a line shows.

        The script in the user data shows both, the probe guest that of the metadata.
        """
        record = object_in(line, OWN)
        if record:
            self.own = GuestProof(
                uptime=as_uptime(record.get("uptime")),
                user_data=as_text(record.get("user_data")),
                metadata=as_text(record.get("metadata")),
            )
        if (
            self.own is not None
            and self.own.user_data == self.wanted.user_data
        ):
            self.user_data = True
        if self.wanted.metadata in (
            self.own and self.own.metadata,
            self.nonce,
        ):
            self.metadata = True

    def report(self, lines: int) -> GuestReport:
        return GuestReport(
            lines=lines,
            steps=tuple(self.steps),
            lease=self.signs.get("lease"),
            metadata=self.metadata,
            user_data=self.user_data,
            own=self.own,
            no_lease=self.signs.get("no_lease"),
            lease_request=self.signs.get("lease_request"),
            no_metadata=self.signs.get("no_metadata"),
            no_user_data=self.signs.get("no_user_data"),
            address6=self.signs.get("address6"),
            uuid=self.uuid,
            nonce=self.nonce,
        )


def object_in(line: str, pattern: re.Pattern[str]) -> dict[str, Any]:
    """Return the JSON object that a line shows, or an empty one if it shows none."""
    match = pattern.search(line)
    if match is None:
        return {}
    try:
        found: dict[str, Any] = json.loads(match[1])
    except (ValueError, RecursionError):
        return {}
    return found


def fields_of(record: dict[str, Any], readers: Readers) -> dict[str, Any]:
    """Return the fields of a record that have a value of their kind."""
    values = {
        name: reader(record.get(name)) for name, reader in readers.items()
    }
    return {name: value for name, value in values.items() if value is not None}


def is_stranded(seen: GuestReport) -> bool:
    """Return whether the guest has an address, and reports that nothing routes to its metadata."""
    return (
        bool(seen.lease) and NO_ROUTE.search(str(seen.no_metadata)) is not None
    )


def is_proved(seen: GuestReport) -> bool:
    return seen.metadata and seen.user_data


def lacks_lease(seen: GuestReport) -> bool:
    """Return whether the guest has reported that it got no lease, and none since then."""
    return bool(seen.no_lease) and not seen.lease


def is_of_another(seen: GuestReport, server_id: str) -> bool:
    """Return whether the metadata is about another server."""
    return seen.uuid is not None and seen.uuid != server_id


def is_wrong(seen: GuestReport, server_id: str, wanted: Nonces) -> bool:
    """Return whether the guest was given the metadata of another server. Then it is useless to wait longer."""
    if seen.metadata:
        return False
    if is_of_another(seen, server_id):
        return True
    read_by_guest = seen.own.metadata if seen.own else None
    return bool(read_by_guest) and read_by_guest != wanted.metadata


def progress(seen: GuestReport) -> str:
    """Return the progress of the guest, in a few words."""
    if is_proved(seen):
        return "both read"
    if seen.metadata:
        return "metadata read"
    if seen.lease:
        return f"lease of {seen.lease}"
    if seen.address6:
        return f"address {seen.address6}"
    if seen.steps:
        return seen.steps[-1].step
    return (
        f"{seen.lines} lines on the console"
        if seen.lines
        else "no console output"
    )


def finding(seen: GuestReport, server_id: str, wanted: Nonces) -> Finding:
    """Return the first thing that did not happen."""
    if not seen.lines:
        kind, message = "no_console", "its console shows nothing"
    elif is_wrong(seen, server_id, wanted):
        owner = (
            f", that of {seen.uuid}" if is_of_another(seen, server_id) else ""
        )
        kind, message = (
            "wrong_metadata",
            f"the guest was given metadata that is not its own{owner}",
        )
    elif is_proved(seen):
        kind, message = (
            "no_lease",
            "the guest read its metadata over IPv6, and got no lease over IPv4",
        )
    elif seen.user_data:
        kind, message = finding_of_user_data(seen)
    elif seen.metadata:
        reason = because(seen.no_user_data)
        kind, message = (
            "no_user_data",
            f"the guest read its metadata, but did not run its user data{reason}",
        )
    else:
        kind, message = finding_of_network(seen)
    return Finding(kind, message, HINTS[kind])


def unproved(
    name: str, seen: GuestReport, server_id: str, wanted: Nonces
) -> StageError:
    """Return the error of a guest that has not shown all within its time. name: its server, in words."""
    kind, message, hint = finding(seen, server_id, wanted)
    return StageError(kind, f"{name}: {message}", hint=hint)


def finding_of_user_data(seen: GuestReport) -> tuple[str, str]:
    """Return what is missing of a guest that has run its user data."""
    if not (seen.own and seen.own.metadata):
        return (
            "no_metadata",
            "the guest runs its user data, perhaps from a config drive, but gets no metadata",
        )
    # The user data came the same way, so the service answers, but its metadata lacks this run's nonce.
    return (
        "wrong_metadata",
        "the guest read its user data, but no metadata of this run",
    )


def finding_of_network(seen: GuestReport) -> tuple[str, str]:
    """Return what is missing of a guest that has read nothing."""
    if seen.no_metadata:
        return (
            "no_metadata",
            f"the guest got no metadata{because(seen.no_metadata)}",
        )
    if seen.lease:
        return (
            "no_metadata",
            f"the guest has a lease of {seen.lease}, but shows no metadata",
        )
    if seen.address6:
        return (
            "no_metadata",
            f"the guest has the address {seen.address6}, but shows no metadata",
        )
    if seen.no_lease or seen.lease_request:
        return "no_lease", "the guest asked for a lease and got none"
    return (
        "no_proof",
        f"its console has {seen.lines} lines, and none is about a lease or metadata",
    )


def because(reason: Any) -> str:
    return f": {reason}" if isinstance(reason, str) else ""


def lease_matches(seen: GuestReport, fixed_ips: Iterable[str]) -> bool | None:
    """Return whether the guest's address is that of its port, or None if the console shows none."""
    address = seen.lease or seen.address6
    return address in fixed_ips if address else None
