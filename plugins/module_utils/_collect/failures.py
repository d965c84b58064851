# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What a line of a log tells of a failure: how something failed, and at which component.

Pure: text in, words out. The patterns are those of the kernel, of protocols and of libraries, and of no single fault.
"""

from __future__ import annotations

import re

from .._components.catalogue import COMPONENTS
from .._model.how import How
from .examination.reach import peers_of


def status(codes):
    """A pattern of a status of HTTP, which is no duration and no number of a process."""
    before = r"\b(?:HTTP(?:/\d\.\d)?|status|code|response|returned|error)\W{0,9}"
    return rf"{before}{codes}\b|\b{codes} (?-i:[A-Z][a-z]{{2}})"


# How something failed, the first that fits: what says more stands before what says less.
HOW = {
    How.FULL: [
        "no space left", r"(?:\b(?:is|are|disk|device|osds?|pools?|queue|table)[ _]|\(s\) )full\b", r"\bblocked\b",
        "pool limit", "too many (?:open files|connections)", "cannot allocate memory", "out of memory",
        "max_user_connections", "quota exceeded", r"\bE(?:NOSPC|MFILE|NFILE|NOMEM|DQUOT)\b",
    ],
    How.READ_ONLY: ["read[- ]only", r"\bEROFS\b"],
    How.DENIED: [
        "(?:permission|access|command) denied", "not permitted", r"\b(?:EACCES|EPERM)\b", "ACCESS_REFUSED",
        "unauthori[sz]ed", r"\bforbidden\b", "not authori[sz]ed", r"auth(?:entic|ori[sz])at\w+ (?:fail|error)",
        "requires authentication", "login was refused", "invalid credentials", "PermissionError", status("40[13]"),
        "rejected",
    ],
    How.REFUSED: ["connection ?refused", "ECONNREFUSED", "actively refused", "errno 111"],
    How.UNREACHABLE: [
        "no route to host", "network is unreachable", "EHOSTUNREACH", "ENETUNREACH", "name or service not known",
        "name resolution", "nodename nor servname", "can't contact",
        "unable to establish connection(?!.*(?:aborted|reset|closed|timed out))",
    ],
    How.SILENT: [
        "timed[ -]?out", "time ?out", "deadline", "did not respond", "no (?:reply|answer|response)", "ETIMEDOUT",
        status("504"), "not responding",
    ],
    How.BROKEN_OFF: [
        "connection (?:was )?(?:reset|aborted|closed|lost)", "broken pipe", "server has gone away", "lost connection",
        "ECONNRESET", r"\bEPIPE\b", "end of file", "unexpected EOF", "remote end closed",
    ],
    How.MISSING: [
        "no such", "ENOENT", "not[ _]found", "does(?: not|n't) exist", "could not (?:be found|find)", "not present",
        status("404"), "unknown (?:database|column)",
    ],
    How.MALFORMED: [
        "(?:parse|syntax) ?error", "(?:could not|failed to) (?:parse|decode)",
        "invalid (?:syntax|value|literal|option|format)", "unrecognized", "(?:bad|unknown) option", "malformed",
        "unsupported configuration",
    ],
    How.ERROR: [
        "internal server error", status("50[0-3]"), "service unavailable", "bad gateway", "(?:input/output|I/O) error",
    ],
}  # fmt: skip


def compiled(table):
    return tuple((name, re.compile("|".join(patterns), re.IGNORECASE)) for name, patterns in table.items())


HOWS = compiled(HOW)
# The words by which lines call components, where they do not name an address
MENTIONS = compiled({component.name: component.mentioned_as for component in COMPONENTS if component.mentioned_as})
# Who has sent back the error that a scheduler or conductor reports
SENDERS = compiled({component.name: component.sends_back for component in COMPONENTS if component.sends_back})


def how_of(text: str) -> How | None:
    """Return how something failed by a line, or None."""
    return next((how for how, pattern in HOWS if pattern.search(text)), None)


def peer_in(text):
    """(component, address) that a line names as a sender, by a URL or by an address, or (None, None)."""
    senders = [(component, None) for component, pattern in SENDERS if pattern.search(text)]
    peers = senders or [peer[:2] for peer in peers_of("", text)]
    return peers[0] if peers else (None, None)


def mentioned_in(text):
    """The components that a line calls by their names."""
    return [component for component, pattern in MENTIONS if pattern.search(text)]
