# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""How something failed: the one list of words for it."""

from __future__ import annotations

from typing import Optional

from .words import Word


class How(Word):
    """How something failed.

    The first ones are those of a request to a peer, in the order in which a line of a log is searched for them: what
    says more stands before what says less. Weights are in _judge/weights.py, sentences in _report/messages.
    """

    FULL = "full"
    READ_ONLY = "read-only"
    DENIED = "denied"
    UNTRUSTED = "untrusted"
    REFUSED = "refused"
    UNRESOLVED = "unresolved"
    UNREACHABLE = "unreachable"
    SILENT = "silent"
    BROKEN_OFF = "broken off"
    MALFORMED = "malformed"
    MISSING = "missing"
    CONFLICT = "conflict"
    ERROR = "error"
    # A service
    STOPPED = "stopped"
    FAILED = "failed"
    FROZEN = "frozen"
    PAUSED = "paused"
    UNHEALTHY = "unhealthy"
    STARTING = "activating"
    STOPPING = "deactivating"
    RESTARTED = "restarted"
    # What a component reports about itself
    ALARM = "alarm"
    WARNING = "warning"
    DOWN = "down"
    LINK = "link"
    ADDRESS = "address"
    # A resource of a host
    NO_SPACE = "no space"
    NO_MEMORY = "no memory"
    KILLED = "killed"
    DISK_ERROR = "disk error"
    NOT_EXECUTABLE = "not executable"
    # A step that no evidence shows, while nothing proves that it did not happen
    UNSEEN = "unseen"

    @classmethod
    def of(cls, text: Optional[str]) -> Optional[How]:
        """Return the member with this text; None for a text that this version does not know."""
        return next((how for how in cls if how.value == text), None)


# How a request to a peer can fail
AT_PEER = (
    How.FULL,
    How.READ_ONLY,
    How.DENIED,
    How.UNTRUSTED,
    How.REFUSED,
    How.UNRESOLVED,
    How.UNREACHABLE,
    How.SILENT,
    How.BROKEN_OFF,
    How.MALFORMED,
    How.MISSING,
    How.CONFLICT,
    How.ERROR,
)
# How a unit of systemd or a container does not run
STATES = (
    How.STOPPED,
    How.FAILED,
    How.FROZEN,
    How.PAUSED,
    How.UNHEALTHY,
    How.STARTING,
    How.STOPPING,
)
