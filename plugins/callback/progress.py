# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

DOCUMENTATION = r"""
name: progress
type: stdout
short_description: One line per finished task, and the seconds every play took
author: stackproof contributors (!UNKNOWN)
description:
  - Prints a line for every task that changed something, failed or took a second, with the time since the start, the
    duration and the hosts; with C(-v) also for quick and skipped tasks and for retries.
  - Prints the messages of debug tasks as they are, without characters that control the terminal.
  - On a terminal, shows the running task below the last line. Elsewhere, and with C(-v), announces a task at its start
    if its name contains "(about", as in "Build the image (about 4 minutes)".
  - Ends with the seconds of every play and the numbers of changes and failures.
options:
  timings_file:
    description: Write the seconds of every play and the numbers of changes and failures to this file, as JSON.
    type: path
    ini: [{section: callback_progress, key: timings_file}]
    env: [{name: STACKPROOF_TIMINGS}]
"""

import atexit
import dataclasses
import json
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import pairwise
from typing import Any

from ansible import constants as C
from ansible.plugins.callback import CallbackBase

COLORS = {
    "ok": C.COLOR_OK,
    "changed": C.COLOR_CHANGED,
    "skipped": C.COLOR_SKIP,
    "failed": C.COLOR_ERROR,
    "unreachable": C.COLOR_UNREACHABLE,
}
OUTPUTS = ("assertion", "stderr", "stdout", "module_stderr", "module_stdout")
# The end of an output says why a task failed.
LINES_OF_OUTPUT = 20
# With -v this often, tracebacks are shown.
TRACEBACKS_FROM = 3
# In seconds: a task that takes less and changes nothing has no line, and a play that takes less has no row.
QUICK = 1
# Strategies by which hosts do not wait for each other
FREE_STRATEGIES = ("free", "host_pinned")


@dataclass(frozen=True)
class Running:
    """A task at work on a host."""

    start: float
    name: str
    retries: int = 0


@dataclass
class Finished:
    """A task that has ended in the same way on some hosts, with the seconds of the slowest of them."""

    seconds: float = 0
    hosts: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Part:
    """A play, with its start or its duration."""

    name: str
    seconds: float


@dataclass(frozen=True)
class Counts:
    """The numbers of changes and of failures on all hosts."""

    changed: int
    failed: int


@dataclass(frozen=True)
class Timings:
    """The content of the timings file."""

    started: str
    seconds: float
    parts: list[Part]
    changed: int
    failed: int
    ok: bool


def as_text(value: Any) -> str:
    return (
        value
        if isinstance(value, str)
        else json.dumps(value, default=str, ensure_ascii=False, indent=2)
    )


def harmless(text: str) -> str:
    """Return a text that cannot control the terminal, nor turn the direction of writing.

    The words of a cloud or a guest may stand in it. module_utils has the same rule for messages; a copy of this file
    alone works as well.
    """
    return "".join(
        mark
        if mark.isprintable() or mark in "\n\t"
        else "\N{REPLACEMENT CHARACTER}"
        for mark in text
    )


def as_lines(value: Any) -> list[str]:
    """Split a value into lines that cannot control the terminal."""
    parts = value if isinstance(value, list) else [value]
    lines: list[str] = []
    for part in parts:
        lines += map(harmless, as_text(part).splitlines())
    return lines


def title(task: Any) -> str:
    """Return the name of a task, behind that of its role."""
    name = " ".join(as_lines(task.get_name()))
    role, colon, name_in_role = name.partition(" : ")
    if not colon or " " in role:
        return name
    return f"{role.rpartition('.')[2]} | {name_in_role}"


def cause_of(result: Any) -> list[str]:
    """Return the message of the first exception: ansible-core keeps it apart from the message of the result."""
    event: Any = getattr(getattr(result, "exception", None), "event", None)
    while getattr(event, "chain", None):
        event = getattr(event.chain, "event", None)
    return as_lines(getattr(event, "msg", None) or "")


def details(result: Any, verbosity: int) -> list[str]:
    """Return lines about a failed result: the message, its cause and the ends of the outputs."""
    res = result.result
    if "censored" in res or res.get("_ansible_no_log"):
        hidden = res.get("censored", "the output is hidden by no_log")
        return as_lines(hidden)
    reason = res.get("msg") or res.get("reason") or "no message"
    message = as_lines(reason)
    cause = cause_of(result)
    lines = with_status(message, res.get("rc"))
    if "\n".join(cause) not in "\n".join(message):
        lines += cause
    for key in OUTPUTS:
        output = output_of(res, key, verbosity)
        if output != message:
            lines += end_of(key, output)
    if verbosity < TRACEBACKS_FROM:
        return lines
    trace = str(res.get("exception", ""))
    if "Traceback" in trace:
        lines += as_lines(trace)
    return lines


def with_status(message: list[str], status: int | None) -> list[str]:
    """Return the lines of a message, with the exit status of a command behind the last one."""
    if not status:
        return list(message)
    return [*message[:-1], f"{message[-1]} (rc {status})"]


def output_of(res: dict[str, Any], key: str, verbosity: int) -> list[str]:
    """Return the lines of an output. The frames of a module's traceback are shown only on request."""
    lines = as_lines(res.get(key) or "")
    if key != "module_stderr" or verbosity >= TRACEBACKS_FROM:
        return lines
    return [line for line in lines if not line.startswith((" ", "Traceback "))]


def end_of(name: str, output: list[str]) -> list[str]:
    """Return the end of an output, below its name; nothing if it is empty."""
    if not output:
        return []
    count = len(output)
    heading = (
        f"{name}, last {LINES_OF_OUTPUT} of {count} lines:"
        if count > LINES_OF_OUTPUT
        else f"{name}:"
    )
    return [heading, *indented(output[-LINES_OF_OUTPUT:])]


def indented(lines: Iterable[str]) -> list[str]:
    return [f"  {line}" for line in lines]


def where(result: Any) -> str:
    """Return the host of a result. A loop that is delegated to many hosts has only a template as their name."""
    name: str = result.host.get_name()
    label: str = CallbackBase.host_label(result)
    return name if "{{" in label else label


def color_of(outcome: str) -> str:
    color: str = COLORS.get(outcome, C.COLOR_WARN)
    return color


def color_at_end(counts: Counts) -> str:
    if counts.failed:
        return color_of("failed")
    return color_of("changed" if counts.changed else "ok")


def durations(parts: Sequence[Part], now: float) -> list[Part]:
    """Return the parts with their durations instead of their starts."""
    edges = pairwise([*parts, Part("end", now)])
    return [
        Part(part.name, round(following.seconds - part.seconds, 1))
        for part, following in edges
    ]


def open_private(name: str, flags: int) -> int:
    return os.open(name, flags, 0o600)


class CallbackModule(CallbackBase):
    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "stdout"
    CALLBACK_NAME = "stackproof.provision.progress"

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._zero = time.monotonic()
        self._started = datetime.now(UTC)
        self._parts: list[Part] = []
        self._running: dict[str, Running] = {}
        # By task and outcome
        self._finished: dict[tuple[str, str], Finished] = {}
        # Lines about failed items, by host
        self._items: dict[str, list[str]] = {}
        self._announced: set[str] = set()
        self._free = False
        self._shown = False
        can_show = sys.stdout.isatty() and os.environ.get("TERM") != "dumb"
        self._status = can_show and not self._display.verbosity
        atexit.register(self._erase)

    def _clock(self, now: float | None = None) -> str:
        seconds = int((now or time.monotonic()) - self._zero)
        return "  {:02d}:{:02d}  ".format(*divmod(seconds, 60))

    def _erase(self) -> None:
        if self._shown:
            self._shown = False
            self._display.display("\033[J", newline=False, screen_only=True)

    def _say(self, text: str, color: str | None = None) -> None:
        self._erase()
        self._display.display(text, color=color)
        sys.stdout.flush()

    def _draw(self) -> None:
        """Show the running task below the cursor, so that other output starts on a line of its own."""
        self._erase()
        if self._status and self._running:
            width = shutil.get_terminal_size().columns - 1
            self._display.display(
                f"\n{self._status_line()[:width]}\033[A\r",
                newline=False,
                screen_only=True,
            )
            self._shown = True
        sys.stdout.flush()

    def _status_line(self) -> str:
        """Return the newest running task, with the hosts that it runs on."""
        newest = list(self._running.values())[-1]
        state = (newest.name, newest.retries)
        hosts = ", ".join(
            host
            for host, run in self._running.items()
            if (run.name, run.retries) == state
        )
        retry = f" (retry {newest.retries})" if newest.retries else ""
        return f"{self._clock(newest.start)}... {newest.name}{retry}  {hosts}"

    def _line(
        self, name: str, outcome: str, seconds: float, hosts: Iterable[str]
    ) -> None:
        is_dull = outcome == "skipped" or (outcome == "ok" and seconds < QUICK)
        if (
            is_dull
            and not self._display.verbosity
            and name not in self._announced
        ):
            return
        text = f"{name:<46} {outcome:<11} {seconds:6.1f} s  {', '.join(sorted(hosts))}"
        self._say(self._clock() + text, color_of(outcome))

    def _flush(self) -> None:
        for (name, outcome), finished in self._finished.items():
            self._line(name, outcome, finished.seconds, finished.hosts)
        self._finished.clear()

    def _finish(
        self, result: Any, outcome: str, lines: Sequence[str] = ()
    ) -> None:
        now = time.monotonic()
        host = result.host.get_name()
        name = title(result.task)
        running = self._running.pop(host, None)
        seconds = now - running.start if running else 0.0
        items = self._items.pop(host, None)
        self._erase()
        self._handle_warnings(result.result)
        if lines or self._free:
            self._line(name, outcome, seconds, [where(result)])
        else:
            finished = self._finished.setdefault((name, outcome), Finished())
            finished.seconds = max(finished.seconds, seconds)
            finished.hosts.append(where(result))
        shown = lines if "censored" in result.result else items or lines
        for line in shown:
            self._say(f"         {line}", color_of(outcome))
        self._draw()

    def v2_playbook_on_play_start(self, play: Any) -> None:
        self._flush()
        self._announced.clear()
        strategy = str(getattr(play, "strategy", ""))
        self._free = strategy.rpartition(".")[2] in FREE_STRATEGIES
        name = harmless(play.get_name().strip())
        # Each batch of a serial play starts it again.
        if self._parts and self._parts[-1].name == name:
            return
        self._parts.append(Part(name, time.monotonic()))
        mode = " (check mode)" if getattr(play, "check_mode", False) else ""
        self._say(f"{self._clock()}== {name}{mode}")

    def v2_playbook_on_task_start(
        self, *_task: Any, **_is_conditional: Any
    ) -> None:
        if not self._free:
            self._flush()
            self._announced.clear()

    v2_playbook_on_handler_task_start = v2_playbook_on_task_start

    def v2_runner_on_start(self, host: Any, task: Any) -> None:
        name = title(task)
        self._running[host.get_name()] = Running(time.monotonic(), name)
        if (
            "(about" in name
            and not self._status
            and name not in self._announced
        ):
            self._announced.add(name)
            self._say(f"{self._clock()}... {name}")
        self._draw()

    def v2_runner_retry(self, result: Any) -> None:
        host = result.host.get_name()
        name = title(result.task)
        before = self._running.pop(host, Running(time.monotonic(), name))
        retries = before.retries + 1
        self._running[host] = dataclasses.replace(before, retries=retries)
        if self._display.verbosity:
            self._say(f"{self._clock()}{name:<46} retry {retries:<14}  {host}")
        self._draw()

    def v2_runner_on_ok(self, result: Any) -> None:
        module = result.task.action.rpartition(".")[2]
        if module != "debug":
            outcome = "changed" if result.is_changed() else "ok"
            self._finish(result, outcome)
            return
        self._running.pop(result.host.get_name(), None)
        self._erase()
        self._handle_warnings(result.result)
        items = [result.result]
        if result.task.loop is not None:
            items = result.result.get("results") or items
        for item in items:
            if not item.get("skipped"):
                self._say_debug(item, result.task)
        self._draw()

    def _say_debug(self, res: dict[str, Any], task: Any) -> None:
        text = res.get("censored", res.get("msg"))
        if text is None and "msg" not in res:
            text = self._variables_in(res, task)
        for part in text if isinstance(text, list) else [text]:
            self._say(harmless(as_text(part)))

    def _variables_in(self, res: dict[str, Any], task: Any) -> list[str]:
        """Return a line for each variable that a debug task shows."""
        hidden = {
            *self._hide_in_debug,
            "item",
            res.get("ansible_loop_var"),
        } - {task.args.get("var")}
        keys = [
            key
            for key in res
            if key not in hidden and not key.startswith("_ansible")
        ]
        return [f"{key}: {as_text(res[key])}" for key in keys]

    def v2_runner_on_skipped(self, result: Any) -> None:
        self._finish(result, "skipped")

    def v2_runner_item_on_failed(self, result: Any) -> None:
        label = " ".join(as_lines(self._get_item_label(result.result)))
        lines = self._items.setdefault(result.host.get_name(), [])
        lines.append(f"item {label}:")
        lines += indented(details(result, self._display.verbosity))

    def v2_runner_on_failed(
        self, result: Any, ignore_errors: bool = False
    ) -> None:
        outcome = "failed (ignored)" if ignore_errors else "failed"
        self._finish(result, outcome, details(result, self._display.verbosity))

    def v2_runner_on_unreachable(self, result: Any) -> None:
        outcome = (
            "unreachable (ignored)"
            if result.task.ignore_unreachable
            else "unreachable"
        )
        self._finish(result, outcome, details(result, self._display.verbosity))

    def v2_on_file_diff(self, result: Any) -> None:
        if result.result.get("diff") and result.is_changed():
            self._say(
                f"{title(result.task)}, {where(result)}\n{self._get_diff(result.result['diff'])}"
            )
            self._draw()

    def v2_playbook_on_stats(self, stats: Any) -> None:
        self._flush()
        now = time.monotonic()
        parts = durations(self._parts, now)
        total = round(now - self._zero, 1)
        self._say_parts(parts, total)
        counts = self._say_hosts(stats)
        path = self.get_option("timings_file")
        if path:
            started = self._started.isoformat(timespec="seconds")
            timings = Timings(
                started,
                total,
                parts,
                counts.changed,
                counts.failed,
                ok=not counts.failed,
            )
            self._write(path, timings)

    def _say_parts(self, parts: Sequence[Part], total: float) -> None:
        shown = [part for part in parts if part.seconds > QUICK]
        rows = [
            f"{part.name:<46} {part.seconds:8.1f}"
            for part in [*shown, Part("total", total)]
        ]
        self._say("\n".join(["", f"{'part':<46}  seconds", *rows, "\n"]))

    def _say_hosts(self, stats: Any) -> Counts:
        """Print how the hosts ended. Returns the numbers of changes and of failures."""
        changed = 0
        failed = 0
        for host in sorted(stats.processed):
            count = stats.summarize(host)
            failures = count["failures"] + count["unreachable"]
            if failures:
                self._say(
                    f"{host}: {count['failures']} failed, {count['unreachable']} unreachable",
                    C.COLOR_ERROR,
                )
            changed += count["changed"]
            failed += failures
        counts = Counts(changed, failed)
        number = len(stats.processed)
        noun = "host" if number == 1 else "hosts"
        self._say(
            f"{number} {noun}: {changed or 'nothing'} changed, {failed} failed",
            color_at_end(counts),
        )
        return counts

    def _write(self, path: str, timings: Timings) -> None:
        try:
            with tempfile.TemporaryDirectory(
                prefix=".timings", dir=os.path.dirname(path)
            ) as private:
                new = os.path.join(private, "new")
                with open(
                    new, "w", encoding="utf-8", opener=open_private
                ) as stream:
                    json.dump(dataclasses.asdict(timings), stream, indent=2)
                os.replace(new, path)
        except OSError as exc:
            self._display.warning(
                f"The timings file {path} cannot be written: {exc}"
            )
