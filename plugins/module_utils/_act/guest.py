# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The proof that a guest is asked for, and the signs of it on its console."""

from __future__ import annotations

import hashlib
import json
import re
from typing import Any

from .._record.masking import words_of
from .._record.run import is_seconds

# It needs only a shell and sed, and curl or wget.
USER_DATA = """#!/bin/sh
# Made by stackproof.provision: shows on the console what this guest has read.
url=http://169.254.169.254/openstack/latest/meta_data.json
document=$(curl -sf -m 10 $url 2>/dev/null || wget -q -O - $url 2>/dev/null)
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
        ("lease", r"udhcpc: lease of (?P<value>[\d.]+) obtained"),
        ("lease", r"bound to (?P<value>[\d.]+)"),
        ("lease", r"ci-info: \|\s*(?!lo\b)\S+\s*\|\s*True\s*\|\s*(?P<value>\d+\.[\d.]+)\s*\|"),
        ("no_lease", r'"step": "no_lease"'),
        ("no_lease", r"udhcpc: no lease|No DHCPOFFERS received|No working leases"),
        ("no_metadata", r'"step": "no_metadata".*"reason": "(?P<value>[^"]*)"'),
        ("no_metadata", r"Calling 'http://169\.254\.169\.254\S*' failed \[[^]]*\]: (?P<value>.*)"),
        ("no_metadata", r"(?P<value>failed to read iid from metadata)"),
        ("asks", r'"step": "dhcp_start"|udhcpc: sending discover|udhcpc: broadcasting discover|DHCPDISCOVER'),
        ("no_user_data", r'"step": "no_user_data".*"reason": "(?P<value>[^"]*)"'),
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
    " way between compute host and network host; with OVN, at ovn-controller on the compute host.",
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
    return value if isinstance(value, str) and STEP_NAME.fullmatch(value) else None


def as_text(value: Any) -> str | None:
    """Return the beginning of a text, or None for anything else."""
    return value[:LONGEST_TEXT] if isinstance(value, str) else None


def as_words(value: Any) -> str | None:
    """Return a text that is shown to readers, without secrets, or None for anything else."""
    return words_of(value, LONGEST_TEXT) if isinstance(value, str) else None


def as_count(value: Any) -> int | None:
    """Return a whole number of things or bytes, or a status, or None for anything else."""
    is_count = isinstance(value, int) and not isinstance(value, bool) and 0 <= value < LARGEST_COUNT
    return value if is_count else None


def as_uptime(value: Any) -> float | None:
    """Return the seconds that a guest has run, or None if none of ours can have run so long."""
    return value if is_seconds(value) else None


# The fields of a line of the probe guest that are kept, and how each is read
PROBE_FIELDS = {
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
METADATA_FIELDS = {"uuid": as_text, "meta": as_text}
OWN_FIELDS = {"uptime": as_uptime, "user_data": as_text, "metadata": as_text}


def nonces(run_id, started):
    """Two words that no other run has. Every stage of the run gets the same ones."""
    return {
        name: hashlib.sha256(f"{name} {run_id} {started}".encode()).hexdigest()[:32]
        for name in ("metadata", "user_data")
    }


def user_data(nonce):
    return USER_DATA.replace("@NONCE@", nonce)


def read(console, wanted):
    """The guest's steps on a console, and whether it shows that the guest has read the nonces."""
    lines = console.splitlines()
    seen = {"lines": len(lines), "steps": [], "lease": None, "metadata": False, "user_data": False, "own": None}
    for line in lines:
        read_step(line, seen)
        for step, pattern in PATTERNS:
            match = pattern.search(line)
            if match:
                key = "lease" if step == "lease" else f"last_{step}"
                seen[key] = as_words(match.groupdict().get("value")) or True
        read_proof(line, seen, wanted)
    return seen


def object_in(line: str, pattern: re.Pattern[str]) -> dict[str, Any]:
    """Return the JSON object that a line shows, or an empty one if it shows none."""
    match = pattern.search(line)
    try:
        return json.loads(match[1]) if match else {}
    except (ValueError, RecursionError):
        return {}


def fields_of(record: dict[str, Any], readers: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of a record that have a value of their kind."""
    values = {name: reader(record.get(name)) for name, reader in readers.items()}
    return {name: value for name, value in values.items() if value is not None}


def read_step(line: str, seen: dict[str, Any]) -> None:
    """Add the step that a line of the lab's probe guest shows, with the guest's own time."""
    record = object_in(line, PROBE)
    step = fields_of(record, PROBE_FIELDS)
    if "step" not in step:
        return
    if step["step"] == "metadata":
        meta = record.get("meta")
        nonce = meta.get("stackproof_nonce") if isinstance(meta, dict) else None
        seen.update(fields_of({"uuid": record.get("uuid"), "meta": nonce}, METADATA_FIELDS))
    if len(seen["steps"]) < MOST_STEPS:
        seen["steps"].append(step)


def read_proof(line: str, seen: dict[str, Any], wanted: dict[str, str]) -> None:
    """Note the nonces that a line shows: the user data's script shows both, the probe guest that of the metadata."""
    record = object_in(line, OWN)
    if record:
        seen["own"] = {name: reader(record.get(name)) for name, reader in OWN_FIELDS.items()}
    own = seen["own"] or {}
    seen["user_data"] = seen["user_data"] or own.get("user_data") == wanted["user_data"]
    read_by_guest = (own.get("metadata"), seen.get("meta"))
    seen["metadata"] = seen["metadata"] or wanted["metadata"] in read_by_guest


def is_stranded(seen):
    """Whether the guest has an address, and says that nobody routes to its metadata."""
    return bool(seen["lease"]) and NO_ROUTE.search(str(seen.get("last_no_metadata"))) is not None


def is_proved(seen):
    return seen["metadata"] and seen["user_data"]


def is_wrong(seen, server_id, wanted):
    """Whether the guest was given the metadata of another server. Then it is useless to wait longer."""
    if seen["metadata"]:
        return False
    other = seen.get("uuid") not in (None, server_id)
    return other or (seen["own"] or {}).get("metadata") not in (None, "", wanted["metadata"])


def progress(seen):
    """The progress of the guest, in a few words."""
    if seen["user_data"] and seen["metadata"]:
        return "both read"
    if seen["metadata"]:
        return "metadata read"
    if seen["lease"]:
        return f"lease of {seen['lease']}" if isinstance(seen["lease"], str) else "lease"
    if seen["steps"]:
        return seen["steps"][-1]["step"]
    return f"{seen['lines']} lines on the console" if seen["lines"] else "no console output"


def finding(seen, server_id, wanted):
    """The first thing that did not happen, as (kind, message, hint)."""
    if not seen["lines"]:
        kind, message = "no_console", "its console shows nothing"
    elif is_wrong(seen, server_id, wanted):
        whose = f", that of {seen['uuid']}" if seen.get("uuid") not in (None, server_id) else ""
        kind, message = "wrong_metadata", f"the guest was given metadata that is not its own{whose}"
    elif seen["user_data"] and not (seen["own"] or {}).get("metadata"):
        kind, message = "no_metadata", "the guest runs its user data, perhaps from a config drive, but gets no metadata"
    elif seen["user_data"]:
        # The user data came the same way, so the service answers, but its metadata lacks this run's nonce.
        kind, message = "wrong_metadata", "the guest read its user data, but no metadata of this run"
    elif seen["metadata"]:
        reason = seen.get("last_no_user_data")
        kind, message = "no_user_data", "the guest read its metadata, but did not run its user data" + because(reason)
    elif seen.get("last_no_metadata"):
        kind, message = "no_metadata", "the guest got no metadata" + because(seen["last_no_metadata"])
    elif seen["lease"]:
        kind, message = "no_metadata", f"the guest has a lease of {seen['lease']}, but shows no metadata"
    elif seen.get("last_no_lease") or seen.get("last_asks"):
        kind, message = "no_lease", "the guest asked for a lease and got none"
    else:
        kind, message = "no_proof", f"its console has {seen['lines']} lines, and none is about a lease or metadata"
    return kind, message, HINTS[kind]


def because(reason):
    return f": {reason}" if isinstance(reason, str) else ""


def lease_matches(seen, fixed_ips):
    """Whether the lease is the port's address, or None if the console does not show which lease it is."""
    return seen["lease"] in fixed_ips if isinstance(seen["lease"], str) else None
