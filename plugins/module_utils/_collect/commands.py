# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Runs commands that read something on a host: lists of words, with the privilege and in the container they need."""

from __future__ import annotations

import re

from .._record.masking import shortened

SUDO = ("sudo", "-n")
# A part of the cloud that hangs must not keep the rest from being read.
PATIENCE = 15
# Hundreds of megabytes of logs take longer to read, and are read while the others are, too.
LONG = 60
TIMED_OUT = 124
# In characters: enough for the program and what it was asked, but not for the names of all units of a host.
LONGEST_COMMAND = 120
# The last two are Ansible's own words.
REFUSALS = re.compile(
    r"sudo: .*(password|authentication|tty|terminal|privileges)|is not (allowed|in the sudoers)|may not run sudo"
    r"|(Missing|Incorrect) sudo password"
)
SUDO_ADVICE = "docs/security.md has the rules for sudo."
MISSING = re.compile(r"(command )?not found|No such file or directory: b?'|executable file not found")


class UnreadError(Exception):
    """A command that did not print what it should; output is what it printed instead."""

    def __init__(self, kind, command, output):
        super().__init__(output)
        self.kind, self.command, self.output = kind, " ".join(command), output

    def __str__(self):
        words = {"refused": "sudo refuses", "missing": "there is no command for", "failed": "failed", "hung": "hangs"}
        return f"{words[self.kind]}: {shortened(self.command, LONGEST_COMMAND)}: {self.output}"


class Host:
    """A host that is asked. execute(words, take) runs a command there and returns its status, output and errors.

    The output is that which take makes of the stream of what the command prints; without it, the text of all.
    patience: after how many seconds a command counts as hung.
    """

    def __init__(self, execute, prefixes=None, patience=PATIENCE, sudo=None):
        self.execute = execute
        self.prefixes = prefixes or {}
        self.patience = patience
        self.unread = []
        self._sudo = sudo

    def patient(self):
        """This host for commands that may take long, such as those that read logs, with a list unread of its own."""
        return Host(self.execute, self.prefixes, max(self.patience, LONG), sudo=self._sudo)

    @property
    def sudo(self):
        if self._sudo is None:
            self._sudo = () if self.execute(["id", "-u"], None)[1].strip() == "0" else SUDO
        return self._sudo

    def ask(self, part, *words, root=True, despite=None, take=None):
        """Run a command and return its output. part (libvirt, ceph, dhcp, metadata, ovs or logs) names its container.

        despite: the output counts in spite of errors if each of their lines has this text.
        take: makes something of the stream of a long output, which is returned instead.
        """
        prefix = list(self.prefixes.get(part) or [])
        # Only root may enter a container, even if anybody may run the command inside it.
        command = [*(self.sudo if root or prefix else ()), *prefix, *words]
        status, out, errors = self.execute(["timeout", str(self.patience), *command], take)
        if status == TIMED_OUT:
            raise UnreadError("hung", command, f"no answer after {self.patience} s")
        if status == 0 or (despite and errors.strip() and all(despite in line for line in errors.splitlines())):
            return out
        printed = errors or (out if take is None else "")
        output = " ".join(printed.split())[:300] or f"exit status {status}"
        if REFUSALS.search(output):
            raise UnreadError("refused", command, output)
        named = any(program in output for program in (words[0], *prefix[:1]))
        missing = status == 127 or (status != 2 and MISSING.search(output) and named)
        raise UnreadError("missing" if missing else "failed", command, output)

    def attempt(self, what, read, *arguments, default=None):
        """Read one of several things; if it cannot be read, note that in unread and go on."""
        try:
            return read(self, *arguments)
        except UnreadError as exc:
            self.unread.append({"what": what, "kind": exc.kind, "command": exc.command, "why": str(exc)})
        # The XML parser raises a SyntaxError.
        except (ValueError, LookupError, TypeError, AttributeError, SyntaxError) as exc:
            why = f"an answer of an unknown form: {type(exc).__name__}: {exc}"
            self.unread.append({"what": what, "kind": "strange", "command": read.__name__, "why": why})
        return default


def processes(host, part, pattern):
    """(id, words of the command line) of each process whose command line matches."""
    command = ["pgrep", "--full", "--list-full", "--", pattern]
    try:
        output = host.ask(part, *command, root=False)
    except UnreadError as exc:
        if exc.kind != "failed" or exc.output != "exit status 1":
            raise
        output = ""
    lines = [line.partition(" ") for line in output.splitlines()]
    # pgrep leaves out itself, but not the process that called it.
    matching = [(int(number), words.split()) for number, _space, words in lines if " ".join(command) not in words]
    if not matching:
        check_sight(host, part)
    return matching


def check_sight(host, part):
    """Raise if this user cannot see the processes of others: then it proves nothing that none was found."""
    visible = ["test", "-r", "/proc/1/cmdline"]
    try:
        host.ask(part, *visible, root=False)
    except UnreadError as exc:
        if exc.kind == "failed" and exc.output == "exit status 1":
            reason = (
                "this user sees no processes of others (/proc has hidepid): add it to the group of that mount's gid"
            )
            raise UnreadError("failed", visible, reason) from None
        raise


def addresses_of(host):
    return host.ask(None, "hostname", "--all-ip-addresses", root=False).split()
