# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Find in a line of a log how something failed, and at which component.

Pure: text in, words out. The patterns are those of the kernel, of protocols and of libraries, and of no single fault.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Optional, TypeVar

from ..._components.catalogue import COMPONENTS
from ..._components.tables import BINARIES, entry_of
from ..._model.how import How
from ..._record.masking import HEADING
from ..examination.peer_probes import peers_of

# A component, or how something failed
Name = TypeVar("Name", bound=str)


def status(codes: str) -> str:
    """Return a pattern of a status of HTTP, which is no duration and no number of a process."""
    before = (
        r"\b(?:HTTP(?:/\d\.\d)?|status|code|response|returned|error)\W{0,9}"
    )
    return (
        rf"{before}{codes}\b|\bGot {codes}: |\b{codes} (?-i:[A-Z][a-z]{{2}})"
    )


# What the keeper of an account says who does not let it in any more
LOCKED = r"account is (?:locked|disabled)|password (?:is|has) expired|\((?:1820|1862), "
# How something failed; the first that matches counts, so the more specific ones come first.
HOW = {
    How.FULL: [
        "no space left", "connection limit",
        r"(?:\b(?:is|are|disk|device|osds?|pools?|queue|table)[ _]|\(s\) )full\b", r"\bblocked\b",
        "pool limit", "too many (?:open files|connections)", "cannot allocate memory", "out of memory",
        "max_user_connections", "maximum allowed limit", "quota exceeded", r"\bE(?:NOSPC|MFILE|NFILE|NOMEM|DQUOT)\b",
    ],
    # An option of QEMU has this name as well.
    How.READ_ONLY: [r"read[- ]only(?!\W{1,4}(?:false|off)\b)", r"\bEROFS\b"],
    How.DENIED: [
        "(?:permission|access|command) denied", "permission error", "not permitted", r"\b(?:EACCES|EPERM)\b",
        r"ACCESS_REFUSED|NOT_ALLOWED - (?:access|vhost \S+ not found)", r"\((?:1130|3159), ",
        "unauthori[sz]ed", r"\bforbidden\b", "not authori[sz]ed", r"auth(?:entic|ori[sz])at\w+ (?:fail|error)",
        "requires authentication", "login was refused", "invalid credentials", "PermissionError", status("40[13]"),
        "rejected", "sudo: a (?:password|terminal) is required", "in the sudoers file",
        "credentials do not work", "no authentication information found", "check login credentials",
        LOCKED,
    ],
    How.UNTRUSTED: [
        "unable to get (?:local )?issuer certificate", "self[- ]signed certificate", r"unknown ca\b",
        "certificate signed by unknown authority", "wrong version number", "unsupported protocol",
        r"handshake failure|alert (?:certificate|protocol|access|decrypt|bad)",
        r"\bmismatch, certificate is not valid",
    ],
    How.REFUSED: ["connection ?refused", "ECONNREFUSED", "actively refused", "errno 111"],
    How.UNRESOLVED: [
        "name or service not known", "name resolution", "nodename nor servname",
        "no address associated with hostname", "lookup timed out", "unknown mysql server host",
    ],
    How.UNREACHABLE: [
        "no route to host", "network is unreachable", "EHOSTUNREACH", "ENETUNREACH", "can't contact",
        "unable to establish connection(?!.*(?:aborted|reset|closed|timed out))",
    ],
    How.SILENT: [
        # An option has this in its name.
        "timed[ -]?out", r"(?<!_)time ?out", "deadline", "did not respond", "no (?:reply|answer|response)",
        "ETIMEDOUT", status("504"), "not responding", "dead agent",
        "is down or inaccessible",
    ],
    How.BROKEN_OFF: [
        "connection (?:was )?(?:reset|aborted|closed|lost)", "broken pipe", "server has gone away", "lost connection",
        "unexpectedly closed connection", "too many heartbeats missed",
        "ECONNRESET", r"\bEPIPE\b", "end of file", "unexpected EOF", "remote end closed",
        # How RabbitMQ ends a connection, and how its client calls one that it makes again
        "CONNECTION_FORCED", "RecoverableConnectionError",
    ],
    How.MALFORMED: [
        "(?:parse|syntax) ?error", "(?:could not|failed to) (?:parse|decode)",
        "invalid (?:syntax|value|literal|option|format)", "unrecognized", "(?:bad|unknown) option", "malformed",
        "unsupported configuration", "incompatible with host", status("4(?:06|12|22)"),
        r"PRECONDITION_FAILED(?!.*(?:stopped|down|time))",
        r"libvirtError\W+(?:XML error|invalid argument|argument unsupported)(?!.*/etc/libvirt)",
        # That something is in another state is no wrong request.
        rf"^(?!.*(?:status must be|Invalid volume)).*(?:\bBadRequest\b|{status('400')})", "ConflictNovaUsingAttachment",
        # What a web service answers that has nothing at a path; else it names what it does not find.
        r"Not ?Found\W.{0,40}The (?:resource could not be found\.?(?!(?:\s|\\n)*\w)|requested URL was not found)",
        r"NotFound: Not Found \(HTTP 404\)",
        "could not find versioned identity endpoints(?!.*HTTP 50)",
        # The two ends are of different releases.
        "UnsupportedVersion", "IncompatibleObjectVersion", r"NoSuchMethod\b", "does not support RPC version",
        r"\bversion(?: \S+)? mismatch\b", "database needs upgrade",
        # How MySQL calls a question that another database, release or mode of it would answer
        r"\((?:1048|1049|1054|1055|1115|1146|1193|1231|1273|1364|1366|1406), |unknown (?:database|column)",
    ],
    How.MISSING: [
        "no such", "ENOENT", "not[ _]found", "does(?: not|n't) exist", "could not (?:be found|find)", "not present",
        status("404"), "unable to find", "RowNotFound", "due to a missing queue",
    ],
    How.CONFLICT: [
        "already exists", r"\bEEXIST\b", status("409"), r"\((?:1062|1451|1452), ",
        "constraint violation|to have identical values",
    ],
    How.ERROR: [
        "internal server error", status("50[0-3]"), "service unavailable", "bad gateway", "(?:input/output|I/O) error",
        "certificate has expired", "INTERNAL_ERROR",
    ],
}  # fmt: skip


def compiled(
    table: Mapping[Name, Sequence[str]],
) -> tuple[tuple[Name, re.Pattern[str]], ...]:
    return tuple(
        (name, re.compile("|".join(patterns), re.IGNORECASE))
        for name, patterns in table.items()
        if patterns
    )


HOWS = compiled(HOW)
# A traceback in a message is a text with line feeds, or a list of such texts as Python writes it.
LINE_ENDS = re.compile(r"\\n|\n")
FRAME_IN_MESSAGE = re.compile(r"""[\s'",u\[]*File "[^"]*", line \d+""")
# The words by which lines call components, where they do not name an address
MENTIONS = compiled(
    {component.name: component.mentioned_as for component in COMPONENTS}
)
# A value of a component that others cannot use, by the words of who has met it
BAD_VALUES = compiled(
    {component.name: component.bad_values for component in COMPONENTS}
)
# What a service may not do on its own host, or has no more of: no other component has denied it.
ON_OWN_HOST = re.compile(
    r"\bsudo: |\bprivsep|\brootwrap|\bEACCES\b|\[Errno 13\] Permission denied: u?['\"]?/|unable to find a keyring on /"
    r"|error calling conf_read_file|RADOS object not found \(error (?:connecting|opening)"
    r"|error opening (?:default )?pool \S+: (?:\(2\)|No such)|Unknown CPU model|Failed to bind socket: Cannot assign"
    r"|qemu-img: (?:\S+: )?error while writing|No such file or directory: u?'[\w-]+'|env: \W[\w-]+\W: No such file"
    r"|failed to execute qemu-img"
    r"|\blink_stat\b|Load key \"|Host key verification failed|no matching (?:host key|key exchange|cipher|MAC)"
    r"|UNPROTECTED PRIVATE KEY|Could not resolve hostname|Unable to resolve address"
    # What TCP does not find is no file: it is one of certificates. A server on this host has a socket, which is one.
    r"|^(?!.*'localhost').*\[Errno 2\] No such file or directory(?!: )"
    r"|permission denied on key|\[Errno (?:1|11|12|24|98|99)\]|\bQueuePool limit of size|\bProxyError\b"
)
# A command that has ended with an error
COMMAND_FAILED = re.compile(
    r"\bExit code: -?\d+; Cmd: \[(?P<words>[^\]]{1,2000})\]"
)
# What another service has answered
BY_OTHER = re.compile(r"Remote error: |\bHTTP 50\d\b|InternalServerError")
# What a peer was denied itself when it did what it had been asked for
DENIED_TO_PEER = re.compile(
    r"libvirtError\b(?!.*connect socket).*(?:Permission denied|Operation not permitted)$"
    r"|Permission denied.{0,200}\(HTTP 50\d\)"
)
# neutron-server does not bind a port for an agent that it has not heard of for long.
DEAD_AGENT = re.compile(
    r"dead agent: .{0,500}?'binary': u?'(?P<binary>[\w-]+)'"
)
# The host of what sent back an error, is taken for dead, or does not carry a network
SENDING_HOST = re.compile(
    r"(?:dead agent: .{0,800}?'host': u?'|Error from last host: |Failed to bind port \S+ on host "
    r"|can live migrate to host: )(?P<host>[\w.-]+)"
)
# A command on another host, which a service does as its own user, or a copy of a file to there
BY_SSH = re.compile(
    r"\bCommand: (?:ssh(?: -[A-Za-z](?: \w+=\S+)?)* |(?:scp|rsync) (?:\S+ ){1,9}(?=\S+:/\S*\s*$))"
    r"(?:\w+@)?\[?(?P<place>[A-Za-z0-9][\w.:-]{0,60}?)(?:\]?:/| )"
)
# Work that a service does again and again. Its lines may have the id of a request that is long over.
PERIODIC_LOGGER = re.compile(r"^oslo[._]service\.periodic_task$")
PERIODIC = re.compile(
    r"^(?:Error during [A-Z]\w+\._?\w+:|Error updating resources for node )"
)
# The component that has sent back the error that a scheduler or conductor reports
SENDERS = compiled(
    {component.name: component.sends_back for component in COMPONENTS}
)

# What a service logs of the other host of a move
AT_DESTINATION = compiled(
    {component.name: component.moves_with for component in COMPONENTS}
)

# What only follows another error
REPEATS = compiled(
    {component.name: component.repeats for component in COMPONENTS}
)


def first_match(
    table: Sequence[tuple[str, re.Pattern[str]]], text: str
) -> str | None:
    """Return the first component of a table whose pattern a text has."""
    return next(
        (component for component, pattern in table if pattern.search(text)),
        None,
    )


def without_frames(text: str) -> str:
    """Return a message without the files and the source code of a traceback that was sent back in it."""
    if HEADING not in text:
        return text
    kept: list[str] = []
    is_behind_frame = False
    for line in LINE_ENDS.split(text):
        is_frame = FRAME_IN_MESSAGE.match(line) is not None
        is_source = is_behind_frame and line.startswith("  ")
        if not is_frame and not is_source:
            kept.append(line)
        is_behind_frame = is_frame
    return " ".join(kept).replace(HEADING, "")


def how_of(text: str) -> How | None:
    """Return how something failed by a line."""
    # What was sent back was an answer, whatever it quotes.
    if first_match(SENDERS, text) or DENIED_TO_PEER.search(text):
        return How.ERROR
    for how, pattern in HOWS:
        if pattern.search(text):
            # What the host of a move cannot take was right where the server ran.
            is_of_move = how is How.MALFORMED and is_at_destination(text)
            return How.ERROR if is_of_move else how
    # A value that cannot be used was an answer.
    if not first_match(BAD_VALUES, text):
        return None
    return How.ERROR


def is_about_locked_account(text: str) -> bool:
    """Return whether the keeper of an account has closed it: no password is wrong."""
    return re.search(LOCKED, text, re.IGNORECASE) is not None


def is_on_own_host(text: str) -> bool:
    """Return whether a service was denied something on its own host."""
    return ON_OWN_HOST.search(text) is not None and not is_at_destination(text)


def is_own_program(text: str, writer: str) -> bool:
    """Return whether a program failed that its writer runs as a part of itself, with what it was given."""
    command = COMMAND_FAILED.search(text)
    return command is not None and any(
        f"'{program}'" in command["words"]
        for program in entry_of(writer).daemons
    )


def was_sent_back(text: str) -> bool:
    """Return whether a line is about what another service met, and reported."""
    return (
        BY_OTHER.search(text) is not None
        or first_match(SENDERS, text) is not None
    )


def is_periodic(logger: str | None, text: str) -> bool:
    """Return whether a line is about periodic work, and not about the request whose id it may have."""
    return bool(PERIODIC_LOGGER.match(logger or "") or PERIODIC.match(text))


def is_repeat(text: str) -> bool:
    """Return whether an error only follows another one, and says nothing more."""
    return first_match(REPEATS, text) is not None


def is_at_destination(text: str) -> bool:
    """Return whether an error is about the host to which a server is moved, and not about the one that logged it."""
    return first_match(AT_DESTINATION, text) is not None


def peer_in(text: str) -> tuple[str | None, str | None]:
    """Return (component, address) that a line names as a sender, by a URL or by an address.

    A command on another host has its address alone.
    """
    agent = DEAD_AGENT.search(text)
    if agent:
        binary = agent.group("binary")
        return BINARIES.get(binary, binary), sending_host(text)
    sender = first_match(BAD_VALUES, text) or first_match(SENDERS, text)
    if sender:
        return sender, sending_host(text)
    peers = peers_of("", text)
    if peers:
        return peers[0].component, peers[0].address
    command = BY_SSH.search(text)
    return None, command.group("place") if command else None


def sending_host(text: str) -> str | None:
    found = SENDING_HOST.search(text)
    return found["host"] if found else None


def mentioned_in(text: str) -> list[str]:
    """Return the components that a line calls by their names."""
    return [
        component for component, pattern in MENTIONS if pattern.search(text)
    ]


class Named(NamedTuple):
    """Whom a line names: the component at which it failed, the address of that, and others."""

    peer: Optional[str]
    address: Optional[str]
    mentions: list[str]


def named_in(text: str, writer: str) -> Named:
    """Return whom a line names; its writer alone for what that was denied on its own host."""
    is_own = is_on_own_host(text) and not was_sent_back(text)
    if is_own or is_own_program(text, writer):
        return Named(writer, None, [])
    peer, address = peer_in(text)
    return Named(peer, address, mentioned_in(text))


def failure_in(text: str, writer: str) -> dict[str, Any]:
    """Return how and at whom a component failed, as an event of an error has it."""
    how = how_of(text)
    named = named_in(text, writer)
    failure: dict[str, Any] = {
        "how": None if how is None else how.value,
        "peer": named.peer,
        "peer_address": named.address,
        "mentions": named.mentions,
    }
    if is_at_destination(text):
        failure["at_destination"] = True
    return failure
