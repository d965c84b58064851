# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Ask a host by commands that read something there, with the privilege and in the container that they need."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping, Sequence
from typing import IO, Any, Optional, TypeVar, Union, overload

from .._model.host import Unread
from .._record.masking import shortened

T = TypeVar("T")
# Makes something of the stream of what a command prints
Take = Callable[[IO[bytes]], Any]
# Runs a command, and returns its status, what Take made of its output or the text of all, and its errors
Execute = Callable[[list[str], Optional[Take]], tuple[int, Any, str]]

# Part of the cloud to the words before its commands, or to several lists of them
Prefixes = Mapping[str, Union[Sequence[str], Sequence[Sequence[str]]]]

SUDO = ("sudo", "-n")
# In seconds. A part of the cloud that hangs must not keep the rest from being read.
PATIENCE = 15
# Each of their commands starts a virtual machine first, which takes its time on a busy host. After one that does not
# end, the others would not either.
SLOW_TO_START = ("rabbitmqctl", "rabbitmq-diagnostics")
SLOW_START = 12
# Hundreds of megabytes of logs take longer to read, and are read while the others are, too.
LONG = 60
TIMED_OUT = 124
# The status of a shell that finds no such command
NO_COMMAND = 127
# grep and pgrep end with it where nothing matches; the output of a command without one is its status.
NO_MATCH = "exit status 1"
# In characters: enough for the program and what it was asked, but not for the names of all units of a host.
LONGEST_COMMAND = 120
LONGEST_OUTPUT = 300
# How docker and podman say that a container does not exist, and that it does not run
NO_CONTAINER = re.compile(
    r"no such container|no container with name", re.IGNORECASE
)
NOT_RUNNING = re.compile(
    r"container \S+ is (not running|paused)|container state improper",
    re.IGNORECASE,
)
# The last two are Ansible's own words.
REFUSALS = re.compile(
    r"sudo: .*(password|authentication|tty|terminal|privileges)|is not (allowed|in the sudoers)|may not run sudo"
    r"|(Missing|Incorrect) sudo password"
)
SUDO_ADVICE = "docs/security.md has the rules for sudo."
MISSING = re.compile(
    r"(command )?not found|No such file or directory: b?'|executable file not found"
)
# How a message begins, by the kind of what could not be read
REASONS = {
    "undeployed": "there is no container for",
    "refused": "sudo refuses",
    "missing": "there is no command for",
    "failed": "failed",
    "hung": "hangs",
    "absent": "was not collected",
}


class UnreadError(Exception):
    """A command that did not print what it should; output is what it printed instead."""

    def __init__(self, kind: str, command: Sequence[str], output: str) -> None:
        super().__init__(output)
        self.kind = kind
        self.command = " ".join(command)
        self.output = output

    def __str__(self) -> str:
        return f"{REASONS[self.kind]}: {shortened(self.command, LONGEST_COMMAND)}: {self.output}"

    @property
    def found_nothing(self) -> bool:
        """Return whether it is grep or pgrep, and nothing matches."""
        return self.kind == "failed" and self.output == NO_MATCH

    @property
    def is_undeployed(self) -> bool:
        """Return whether the host has no container for the command, so that it has no such part of the cloud."""
        return self.kind == "undeployed"

    @property
    def is_of_container(self) -> bool:
        """Return whether the command could not be run because its container does not exist or does not run."""
        return (
            self.is_undeployed or NOT_RUNNING.search(self.output) is not None
        )

    @property
    def is_of_absent_file(self) -> bool:
        return (
            self.kind == "failed"
            and "No such file or directory" in self.output
        )


class Host:
    """A host that is asked.

    execute: runs a command there. prefixes: part of the cloud to the words before its commands, or to several lists of
    words, of which the first counts whose container runs. options: part of the cloud to the words behind its programs.
    patience: after how many seconds a command counts as hung. clock: returns its time. unread: what could not be read
    so far. undeployed: what the host has no container for. is_mute: whether a program that is slow to start has hung.
    """

    def __init__(
        self,
        execute: Execute,
        prefixes: Prefixes | None = None,
        patience: float = PATIENCE,
        sudo: tuple[str, ...] | None = None,
        clock: Callable[[], float] = time.time,
        options: Mapping[str, Sequence[str]] | None = None,
    ) -> None:
        self.execute = execute
        self.options = options or {}
        self.prefixes = prefixes or {}
        self.patience = patience
        self.unread: list[Unread] = []
        self.undeployed: list[Unread] = []
        self.is_mute = False
        self._sudo = sudo
        self.clock = clock

    def patient(self) -> Host:
        """Return this host for commands that may take long, such as those that read logs, with an empty unread."""
        return Host(
            self.execute,
            self.prefixes,
            max(self.patience, LONG),
            self._sudo,
            self.clock,
            self.options,
        )

    @property
    def sudo(self) -> tuple[str, ...]:
        if self._sudo is None:
            _status, user, _errors = self.execute(["id", "-u"], None)
            self._sudo = () if user.strip() == "0" else SUDO
        return self._sudo

    def privilege(self, root: bool, prefix: Sequence[str]) -> tuple[str, ...]:
        """Return the words that make a command one of root."""
        # Only root may enter a container, even if anybody may run the command inside it.
        return self.sudo if root or prefix else ()

    @overload
    def ask(
        self,
        part: str | None,
        *words: str,
        root: bool = ...,
        despite: str | None = ...,
    ) -> str: ...

    @overload
    def ask(
        self,
        part: str | None,
        *words: str,
        root: bool = ...,
        despite: str | None = ...,
        take: Callable[[IO[bytes]], T],
    ) -> T: ...

    def ask(
        self,
        part: str | None,
        *words: str,
        root: bool = True,
        despite: str | None = None,
        take: Take | None = None,
    ) -> Any:
        """Run a command and return its output. part (libvirt, ceph, metadata, ovs, database) names its container.

        despite: the output counts in spite of errors if each of their lines has this text.
        take: makes something of the stream of a long output, which is returned instead.
        """
        asked = (words[0], *self.options.get(part or "", ()), *words[1:])
        failures: list[UnreadError] = []
        for prefix in ways_of(self.prefixes, part):
            try:
                return self.ask_by(prefix, asked, root, despite, take)
            except UnreadError as exc:
                if not exc.is_of_container:
                    raise
                failures.append(exc)
        # A container that is there and does not run says more than one that is not there.
        raise min(failures, key=lambda failure: failure.is_undeployed)

    def patience_with(self, program: str, command: Sequence[str]) -> float:
        """Return for how many seconds a program is waited for. After one that has hung, its like are not tried."""
        if program not in SLOW_TO_START:
            return self.patience
        if self.is_mute:
            raise UnreadError("hung", command, "the one before it hangs")
        return max(self.patience, SLOW_START)

    def ask_by(
        self,
        prefix: Sequence[str],
        words: Sequence[str],
        root: bool,
        despite: str | None,
        take: Take | None,
    ) -> Any:
        """Run a command behind a prefix."""
        command = [*self.privilege(root, prefix), *prefix, *words]
        patience = self.patience_with(words[0], command)
        status, out, errors = self.execute(
            ["timeout", str(patience), *command], take
        )
        if status == TIMED_OUT:
            self.is_mute |= words[0] in SLOW_TO_START
            raise UnreadError("hung", command, f"no answer after {patience} s")
        if status == 0 or has_only(errors, despite):
            return out
        # take may have made something else of it.
        text = out if take is None else ""
        printed = " ".join((errors or text).split())
        reason = printed[:LONGEST_OUTPUT] or f"exit status {status}"
        if prefix and NO_CONTAINER.search(reason):
            raise UnreadError("undeployed", command, reason)
        raise UnreadError(
            kind_of(status, reason, (words[0], *prefix[:1])), command, reason
        )

    @overload
    def attempt(
        self, what: str, read: Callable[..., T], *arguments: Any
    ) -> Optional[T]: ...

    @overload
    def attempt(
        self, what: str, read: Callable[..., T], *arguments: Any, default: Any
    ) -> T: ...

    def attempt(
        self,
        what: str,
        read: Callable[..., Any],
        *arguments: Any,
        default: Any = None,
    ) -> Any:
        """Read one of several things; if it cannot be read, note that in unread and go on."""
        try:
            return read(self, *arguments)
        except UnreadError as exc:
            noted = self.undeployed if exc.is_undeployed else self.unread
            noted.append(Unread(exc.kind, what, str(exc), command=exc.command))
        # The XML parser raises a SyntaxError.
        except (
            ValueError,
            LookupError,
            TypeError,
            AttributeError,
            SyntaxError,
        ) as exc:
            reason = (
                f"an answer of an unknown form: {type(exc).__name__}: {exc}"
            )
            self.unread.append(
                Unread("strange", what, reason, command=read.__name__)
            )
        return default


def ways_of(prefixes: Prefixes, part: str | None) -> list[list[str]]:
    """Return the lists of words that may be put before a command of a part of the cloud; an empty one for none."""
    found = prefixes.get(part or "") or []
    ways = [list(map(str, way)) for way in found if not isinstance(way, str)]
    return ways or [list(map(str, found))]


def has_only(errors: str, text: str | None) -> bool:
    """Return whether there are errors, and each of their lines has a text."""
    if text is None or not errors.strip():
        return False
    return all(text in line for line in errors.splitlines())


def kind_of(status: int, output: str, programs: tuple[str, ...]) -> str:
    """Return why a command failed: refused, missing or failed. programs: those that it would have run."""
    if REFUSALS.search(output):
        return "refused"
    if status == NO_COMMAND:
        return "missing"
    is_named = any(program in output for program in programs)
    # grep ends with 2 if a file is missing.
    return (
        "missing"
        if status != 2 and is_named and MISSING.search(output)
        else "failed"
    )


def processes(
    host: Host, part: str | None, pattern: str
) -> list[tuple[int, list[str]]]:
    """Return the id and the words of the command line of each process whose command line matches."""
    command = ["pgrep", "--full", "--list-full", "--", pattern]
    try:
        output = host.ask(part, *command, root=False)
    except UnreadError as exc:
        if not exc.found_nothing:
            raise
        output = ""
    matching = []
    for line in output.splitlines():
        number, _space, words = line.partition(" ")
        # pgrep leaves out itself, but not the process that called it.
        if " ".join(command) not in words:
            matching.append((int(number), words.split()))
    if not matching:
        check_sight(host, part)
    return matching


def check_sight(host: Host, part: str | None) -> None:
    """Raise if this user cannot see the processes of others: then it proves nothing that none was found."""
    visible = ["test", "-r", "/proc/1/cmdline"]
    try:
        host.ask(part, *visible, root=False)
    except UnreadError as exc:
        if not exc.found_nothing:
            raise
        reason = "this user sees no processes of others (/proc has hidepid): add it to the group of that mount's gid"
        raise UnreadError("failed", visible, reason) from None


def addresses_of(host: Host) -> list[str]:
    return host.ask(None, "hostname", "--all-ip-addresses", root=False).split()
