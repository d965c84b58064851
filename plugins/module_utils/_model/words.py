# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The words that a record has a fixed set of."""

from __future__ import annotations

from enum import Enum

# With this begins the reason where nova-compute has disabled its service by itself.
BY_ITSELF = "AUTO:"


class Word(str, Enum):
    """A word of a record. It equals its text, and prints as it."""

    def __str__(self) -> str:
        return str(self.value)


class Result(Word):
    """Result of a run, a sweep or a load test."""

    PASS = "pass"
    FAIL = "fail"
    INCOMPLETE = "incomplete"


class StageName(Word):
    """Name of a stage, in the order of a run."""

    AUTH = "auth"
    IMAGE = "image"
    NETWORK = "network"
    VOLUME = "volume"
    BOOT = "boot"
    METADATA = "metadata"
    DATAPLANE = "dataplane"
    JOURNEY = "journey"
    REMOVAL = "removal"


class StageStatus(Word):
    OK = "ok"
    FAILED = "failed"
    SKIPPED = "skipped"


class AttemptStatus(Word):
    """What came of an attempt to reach an address. unreadable: this machine may not make it."""

    ANSWERED = "answered"
    SILENT = "silent"
    UNREADABLE = "unreadable"


class StepStatus(Word):
    """Status of a step of a flow. The order is that of pages: what was seen first, what is missing last."""

    SEEN = "seen"
    CACHED = "cached"
    ABSENT = "absent"
    SKIPPED = "skipped"
    UNSEEN = "unseen"
    MISSING = "missing"


class HostStatus(Word):
    READ = "read"
    UNREACHABLE = "unreachable"
    UNREADABLE = "unreadable"


class CheckStatus(Word):
    OK = "ok"
    FAILED = "failed"
    NOT_APPLICABLE = "not_applicable"
    UNREADABLE = "unreadable"


class Severity(Word):
    """How bad a line of a log is by its own level."""

    ERROR = "error"
    WARNING = "warning"


class Level(Word):
    """How much a service logs, from the least to the most. Each service logs info; the others must be configured."""

    INFO = "info"
    DEBUG = "debug"
    MESSAGING = "messaging"

    @property
    def rank(self) -> int:
        return RANKS[self]


RANKS = {level: rank for rank, level in enumerate(Level)}


class Grade(Word):
    """How an event is known to belong to the run: by an id of the run, or by its time and place alone."""

    KEYED = "keyed"
    WINDOW = "window"


class Proof(Word):
    """What an event proves about a step: that it happened, that a cache answered, or that it did not have to happen."""

    OBSERVE = "observe"
    CACHED = "cached"
    ABSENT = "absent"


class View(Word):
    """Where a page shows a flow: each step of the boot, the boot in few steps, or the steps of another stage."""

    GUIDE = "guide"
    STORY = "story"
    STAGE = "stage"


class Since(Word):
    """How a step of the operations guide has changed since it was written."""

    SAME = "same"
    CHANGED = "changed"
    GONE = "gone"
    CACHED = "cached"
    NEW = "new"
