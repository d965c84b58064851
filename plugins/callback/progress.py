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
import json
import os
import shutil
import sys
import tempfile
import time
from datetime import UTC, datetime
from itertools import pairwise

from ansible import constants as C
from ansible.plugins.callback import CallbackBase

COLORS = {
    "ok": C.COLOR_OK,
    "changed": C.COLOR_CHANGED,
    "skipped": C.COLOR_SKIP,
    "failed": C.COLOR_ERROR,
    "unreachable": C.COLOR_UNREACHABLE,
}


def as_text(value):
    return value if isinstance(value, str) else json.dumps(value, default=str, ensure_ascii=False, indent=2)


def harmless(text: str) -> str:
    """Return a text that cannot control the terminal, nor turn the direction of writing.

    The words of a cloud or a guest may stand in it. module_utils has the same rule for messages; a copy of this file
    alone works as well.
    """
    return "".join(mark if mark.isprintable() or mark in "\n\t" else "\N{REPLACEMENT CHARACTER}" for mark in text)


def as_lines(value):
    """Split a value into lines that cannot control the terminal."""
    parts = value if isinstance(value, list) else [value]
    return [harmless(line) for part in parts for line in as_text(part).splitlines()]


def title(task):
    role, colon, name = " ".join(as_lines(task.get_name())).partition(" : ")
    return f"{role.rpartition('.')[2]} | {name}" if colon and " " not in role else role + colon + name


def cause_of(result):
    """The message of the first exception: ansible-core keeps it apart from the message of the result."""
    event = getattr(getattr(result, "exception", None), "event", None)
    while getattr(event, "chain", None):
        event = getattr(event.chain, "event", None)
    return as_lines(getattr(event, "msg", None) or "")


def details(result, verbosity):
    """Lines about a failed result: the message, its cause and the ends of the outputs."""
    res = result.result
    if "censored" in res or res.get("_ansible_no_log"):
        return as_lines(res.get("censored", "the output is hidden by no_log"))
    message = as_lines(res.get("msg") or res.get("reason") or "no message")
    cause = cause_of(result)
    lines = [*message[:-1], message[-1] + (f" (rc {res['rc']})" if res.get("rc") else "")]
    if "\n".join(cause) not in "\n".join(message):
        lines += cause
    for key in ("assertion", "stderr", "stdout", "module_stderr", "module_stdout"):
        text = as_lines(res.get(key) or "")
        if key == "module_stderr" and verbosity < 3:
            text = [line for line in text if not line.startswith((" ", "Traceback "))]
        if text and text != message:
            lines.append(f"{key}, last 20 of {len(text)} lines:" if len(text) > 20 else f"{key}:")
            lines += [f"  {line}" for line in text[-20:]]
    trace = str(res.get("exception", ""))
    return lines + (as_lines(trace) if verbosity > 2 and "Traceback" in trace else [])


def where(result):
    """The host of a result. A loop that is delegated to many hosts has only a template as their name."""
    name = result.host.get_name()
    label = CallbackBase.host_label(result)
    return name if "{{" in label else label


class CallbackModule(CallbackBase):
    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "stdout"
    CALLBACK_NAME = "stackproof.provision.progress"

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self._zero = time.monotonic()
        self._started = datetime.now(UTC)
        self._parts = []  # (play, start)
        self._running = {}  # host: (start, task, retries)
        self._finished = {}  # (task, outcome): (seconds of the slowest host, hosts)
        self._items = {}  # host: lines about failed items
        self._announced = set()
        self._free = self._shown = False
        self._status = sys.stdout.isatty() and os.environ.get("TERM") != "dumb" and not self._display.verbosity
        atexit.register(self._erase)

    def _clock(self, now=None):
        return "  {:02d}:{:02d}  ".format(*divmod(int((now or time.monotonic()) - self._zero), 60))

    def _erase(self):
        if self._shown:
            self._shown = False
            self._display.display("\033[J", newline=False, screen_only=True)

    def _say(self, text, color=None):
        self._erase()
        self._display.display(text, color=color)
        sys.stdout.flush()

    def _draw(self):
        """Show the running task below the cursor, so that other output starts on a line of its own."""
        self._erase()
        if self._status and self._running:
            start, name, retries = list(self._running.values())[-1]
            hosts = ", ".join(host for host, run in self._running.items() if run[1:] == (name, retries))
            name += f" (retry {retries})" if retries else ""
            text = f"{self._clock(start)}... {name}  {hosts}"[: shutil.get_terminal_size().columns - 1]
            self._display.display(f"\n{text}\033[A\r", newline=False, screen_only=True)
            self._shown = True
        sys.stdout.flush()

    def _line(self, name, outcome, seconds, hosts):
        dull = outcome == "skipped" or (outcome == "ok" and seconds < 1)
        if not dull or self._display.verbosity or name in self._announced:
            text = f"{name:<46} {outcome:<11} {seconds:6.1f} s  {', '.join(sorted(hosts))}"
            self._say(self._clock() + text, COLORS.get(outcome, C.COLOR_WARN))

    def _flush(self):
        for (name, outcome), (seconds, hosts) in self._finished.items():
            self._line(name, outcome, seconds, hosts)
        self._finished.clear()

    def _finish(self, result, outcome, lines=()):
        now, host, name = time.monotonic(), result.host.get_name(), title(result.task)
        seconds = now - self._running.pop(host, (now,))[0]
        items = self._items.pop(host, None)
        self._erase()
        self._handle_warnings(result.result)
        if lines or self._free:
            self._line(name, outcome, seconds, [where(result)])
        else:
            longest, hosts = self._finished.get((name, outcome), (0, []))
            self._finished[name, outcome] = (max(longest, seconds), [*hosts, where(result)])
        shown = lines if "censored" in result.result else items or lines
        for line in shown:
            self._say(f"         {line}", COLORS.get(outcome, C.COLOR_WARN))
        self._draw()

    def v2_playbook_on_play_start(self, play):
        self._flush()
        self._announced.clear()
        self._free = str(getattr(play, "strategy", "")).rpartition(".")[2] in ("free", "host_pinned")
        name = harmless(play.get_name().strip())
        if not self._parts or self._parts[-1][0] != name:  # each batch of a serial play starts it again
            self._parts.append((name, time.monotonic()))
            self._say(f"{self._clock()}== {name}" + (" (check mode)" if getattr(play, "check_mode", False) else ""))

    def v2_playbook_on_task_start(self, *_task, **_is_conditional):
        if not self._free:
            self._flush()
            self._announced.clear()

    v2_playbook_on_handler_task_start = v2_playbook_on_task_start

    def v2_runner_on_start(self, host, task):
        name = title(task)
        self._running[host.get_name()] = (time.monotonic(), name, 0)
        if "(about" in name and not self._status and name not in self._announced:
            self._announced.add(name)
            self._say(f"{self._clock()}... {name}")
        self._draw()

    def v2_runner_retry(self, result):
        host, name = result.host.get_name(), title(result.task)
        start, name, retries = self._running.pop(host, (time.monotonic(), name, 0))
        self._running[host] = (start, name, retries + 1)
        if self._display.verbosity:
            self._say(f"{self._clock()}{name:<46} retry {retries + 1:<14}  {host}")
        self._draw()

    def v2_runner_on_ok(self, result):
        if result.task.action.rpartition(".")[2] != "debug":
            self._finish(result, "changed" if result.is_changed() else "ok")
            return
        self._running.pop(result.host.get_name(), None)
        self._erase()
        self._handle_warnings(result.result)
        loop = result.task.loop is not None and result.result.get("results")
        for res in loop or [result.result]:
            if not res.get("skipped"):
                self._say_debug(res, result.task)
        self._draw()

    def _say_debug(self, res, task):
        hidden = {*self._hide_in_debug, "item", res.get("ansible_loop_var")} - {task.args.get("var")}
        keys = [key for key in res if key not in hidden and not key.startswith("_ansible")]
        text = res.get("censored", res.get("msg", [f"{key}: {as_text(res[key])}" for key in keys]))
        for part in text if isinstance(text, list) else [text]:
            self._say(harmless(as_text(part)))

    def v2_runner_on_skipped(self, result):
        self._finish(result, "skipped")

    def v2_runner_item_on_failed(self, result):
        label = " ".join(as_lines(self._get_item_label(result.result)))
        lines = [f"  {line}" for line in details(result, self._display.verbosity)]
        self._items.setdefault(result.host.get_name(), []).extend([f"item {label}:", *lines])

    def v2_runner_on_failed(self, result, ignore_errors=False):
        outcome = "failed (ignored)" if ignore_errors else "failed"
        self._finish(result, outcome, details(result, self._display.verbosity))

    def v2_runner_on_unreachable(self, result):
        outcome = "unreachable (ignored)" if result.task.ignore_unreachable else "unreachable"
        self._finish(result, outcome, details(result, self._display.verbosity))

    def v2_on_file_diff(self, result):
        if result.result.get("diff") and result.is_changed():
            self._say(f"{title(result.task)}, {where(result)}\n{self._get_diff(result.result['diff'])}")
            self._draw()

    def v2_playbook_on_stats(self, stats):
        self._flush()
        now = time.monotonic()
        edges = pairwise([*self._parts, ("end", now)])
        parts = [(name, round(end - start, 1)) for (name, start), (_next, end) in edges]
        total = round(now - self._zero, 1)
        self._say_parts(parts, total)
        changed, failed = self._say_hosts(stats)
        if self.get_option("timings_file"):
            self._write(
                self.get_option("timings_file"),
                {
                    "started": self._started.isoformat(timespec="seconds"),
                    "seconds": total,
                    "parts": [{"name": name, "seconds": seconds} for name, seconds in parts],
                    "changed": changed,
                    "failed": failed,
                    "ok": not failed,
                },
            )

    def _say_parts(self, parts, total):
        long = [(name, seconds) for name, seconds in parts if seconds > 1]
        rows = [f"{name:<46} {seconds:8.1f}" for name, seconds in [*long, ("total", total)]]
        self._say("\n".join(["", f"{'part':<46}  seconds", *rows, "\n"]))

    def _say_hosts(self, stats):
        """Print how the hosts ended. Returns the numbers of changes and of failures."""
        hosts = {host: stats.summarize(host) for host in sorted(stats.processed)}
        for host, count in hosts.items():
            if count["failures"] or count["unreachable"]:
                self._say(f"{host}: {count['failures']} failed, {count['unreachable']} unreachable", C.COLOR_ERROR)
        changed = sum(count["changed"] for count in hosts.values())
        failed = sum(count["failures"] + count["unreachable"] for count in hosts.values())
        color = C.COLOR_CHANGED if changed else C.COLOR_OK
        if failed:
            color = C.COLOR_ERROR
        noun = "host" if len(hosts) == 1 else "hosts"
        self._say(f"{len(hosts)} {noun}: {changed or 'nothing'} changed, {failed} failed", color)
        return changed, failed

    def _write(self, path, data):
        try:
            with tempfile.TemporaryDirectory(prefix=".timings", dir=os.path.dirname(path)) as private:
                new = os.path.join(private, "new")
                with open(new, "w", encoding="utf-8", opener=lambda name, flags: os.open(name, flags, 0o600)) as stream:
                    json.dump(data, stream, indent=2)
                os.replace(new, path)
        except OSError as exc:
            self._display.warning(f"The timings file {path} cannot be written: {exc}")
