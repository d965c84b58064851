# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Commands that read something on a host: as lists of words, with the privilege and in the container they need."""

from __future__ import annotations

import re

SUDO = ("sudo", "-n")
# A part of the cloud that hangs must not keep the rest from being read.
PATIENCE = 15
TIMED_OUT = 124
REFUSALS = re.compile(
    r"sudo: .*(password|authentication|tty|terminal|privileges)|is not (allowed|in the sudoers)|may not run sudo"
)
MISSING = re.compile(r"(command )?not found|No such file or directory: b?'|executable file not found")


class UnreadError(Exception):
    """A command that did not say what it should: which one, why, and what it said instead."""

    def __init__(self, kind, command, said):
        super().__init__(said)
        self.kind, self.command, self.said = kind, " ".join(command), said

    def __str__(self):
        words = {"refused": "sudo refuses", "missing": "there is no command for", "failed": "failed", "hung": "hangs"}
        return f"{words[self.kind]}: {self.command}: {self.said}"


class Host:
    """A host that is asked. execute(words) runs a command there and returns its status, output and errors.

    patience: after how many seconds a command counts as hung.
    """

    def __init__(self, execute, prefixes=None, patience=PATIENCE, sudo=None):
        self.execute, self.prefixes, self.patience = execute, prefixes or {}, patience
        self.unread = []
        self._sudo = sudo

    def patient(self):
        """This host for what may take long, such as to read its logs. What that could not read is told apart."""
        return Host(self.execute, self.prefixes, sudo=self._sudo)

    @property
    def sudo(self):
        if self._sudo is None:
            self._sudo = () if self.execute(["id", "-u"])[1].strip() == "0" else SUDO
        return self._sudo

    def ask(self, part, *words, root=True, despite=None):
        """What a command prints. part (libvirt, ceph, dhcp, metadata or ovs) says whose container it may be in.

        despite: what each line of its errors has to hold for what it printed to count all the same.
        """
        prefix = list(self.prefixes.get(part) or [])
        # To look into a container needs root, whoever may run the command in it.
        command = [*(self.sudo if root or prefix else ()), *prefix, *words]
        status, out, errors = self.execute(["timeout", str(self.patience), *command])
        if status == TIMED_OUT:
            raise UnreadError("hung", command, f"no answer after {self.patience} s")
        if status == 0 or (despite and errors.strip() and all(despite in line for line in errors.splitlines())):
            return out
        said = " ".join((errors or out).split())[:300] or f"exit status {status}"
        if REFUSALS.search(said):
            raise UnreadError("refused", command, said)
        named = any(program in said for program in (words[0], *prefix[:1]))
        missing = status == 127 or (status != 2 and MISSING.search(said) and named)
        raise UnreadError("missing" if missing else "failed", command, said)

    def attempt(self, what, read, *arguments, default=None):
        """Read one thing of several: where it cannot be read, say so in unread and go on."""
        try:
            return read(self, *arguments)
        except UnreadError as exc:
            self.unread.append({"what": what, "kind": exc.kind, "command": exc.command, "why": str(exc)})
        # The parser of XML raises a SyntaxError.
        except (ValueError, LookupError, TypeError, AttributeError, SyntaxError) as exc:
            why = f"an answer of an unknown form: {type(exc).__name__}: {exc}"
            self.unread.append({"what": what, "kind": "strange", "command": read.__name__, "why": why})
        return default


def processes(host, part, pattern):
    """Process id and command line, as a list of words, of those whose command line matches."""
    command = ["pgrep", "--full", "--list-full", "--", pattern]
    try:
        said = host.ask(part, *command, root=False)
    except UnreadError as exc:
        if exc.kind != "failed" or exc.said != "exit status 1":
            raise
        said = ""
    lines = [line.partition(" ") for line in said.splitlines()]
    # It passes over itself, but not over what has called it.
    found = [(int(number), words.split()) for number, _space, words in lines if " ".join(command) not in words]
    if not found:
        check_sight(host, part)
    return found


def check_sight(host, part):
    """Who sees no process must be somebody who can see those of others."""
    visible = ["test", "-r", "/proc/1/cmdline"]
    try:
        host.ask(part, *visible, root=False)
    except UnreadError as exc:
        if exc.kind == "failed" and exc.said == "exit status 1":
            said = "this user sees no processes of others (/proc has hidepid): add it to the group of that mount's gid"
            raise UnreadError("failed", visible, said) from None
        raise


def addresses_of(host):
    return host.ask(None, "hostname", "--all-ip-addresses", root=False).split()
