# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The commands in the fenced blocks of pages, split into words as a shell does, and what they give Ansible."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

# A block without a language has commands, or an output, which begins with the summary of a run or is indented as one.
FENCED = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
IS_OUTPUT = re.compile(r"Run \d|\s")
SEPARATORS = {"&&", "||", "|", ";", "&"}
ASSIGNMENT = re.compile(r"[A-Za-z_]+=")
# Programs whose arguments are a command
PREFIXES = {"time", "env"}


@dataclass(frozen=True)
class Command:
    """A command of a page: its words, without variables of the environment before them."""

    page: str
    words: tuple[str, ...]

    @property
    def program(self) -> str:
        return self.words[0]

    def __str__(self) -> str:
        return f"{self.page}: {shlex.join(self.words)[:70]}"


@dataclass
class AnsibleCall:
    """What a command line gives Ansible."""

    names: list[str] = field(default_factory=list)
    variables: dict[str, Any] = field(default_factory=dict)
    module: str | None = None
    arguments: str = ""
    unknown: list[str] = field(default_factory=list)


def blocks(text: str, language: str = "") -> list[str]:
    """Return the fenced blocks of a language; those without one unless they are outputs."""
    found = [block for name, block in FENCED.findall(text) if name == language]
    return [block for block in found if language or not IS_OUTPUT.match(block)]


def outputs(text: str) -> list[str]:
    """Return the outputs that a page quotes, in their order."""
    return [block for name, block in FENCED.findall(text) if not name and IS_OUTPUT.match(block)]


def commands_of(page: str, text: str) -> Iterator[Command]:
    """Return the commands of a page in their order."""
    for block in blocks(text):
        for line in whole_lines(block):
            yield from (Command(page, words) for words in commands_in(line))


def whole_lines(block: str) -> Iterator[str]:
    """Return the lines of a block as a shell reads them: one goes on after a backslash, and within quotes."""
    line = ""
    for part in block.splitlines():
        line += part
        if is_whole(line):
            yield line
            line = ""
        else:
            line = line.removesuffix("\\") + "\n"
    assert not line, f"a command without an end: {line}"


def is_whole(line: str) -> bool:
    if line.endswith("\\"):
        return False
    try:
        words = shlex.split(line, comments=True)
    except ValueError:
        return False
    return not words or words[-1] not in SEPARATORS


def commands_in(line: str) -> Iterator[tuple[str, ...]]:
    """Return the words of each command in a line."""
    words: list[str] = []
    for word in [*separated(line), ";"]:
        if word not in SEPARATORS:
            words.append(word)
            continue
        command = without_prefixes(words)
        if command:
            yield tuple(command)
        words = []


def separated(line: str) -> list[str]:
    """Return the words of a line. A separator needs no space before it."""
    lexer = shlex.shlex(line, posix=True, punctuation_chars=";|&")
    lexer.whitespace_split = True
    return list(lexer)


def without_prefixes(words: list[str]) -> list[str]:
    """Return a command without what only sets its environment, or measures it."""
    start = 0
    while start < len(words) and (words[start] in PREFIXES or ASSIGNMENT.match(words[start])):
        start += 1
    return words[start:]


# What is given to Ansible

WITH_VALUE = {"-i", "--forks"}
ALONE = {"--check", "-b"}


def call_of(words: tuple[str, ...]) -> AnsibleCall:
    """Return what the words after ansible, or after ansible-playbook, give it."""
    call = AnsibleCall()
    rest = list(words)
    while rest:
        word = rest.pop(0)
        if word in WITH_VALUE:
            rest.pop(0)
        elif word == "-e":
            call.variables.update(variables_in(rest.pop(0)))
        elif word == "-m":
            call.module = rest.pop(0)
        elif word == "-a":
            call.arguments = rest.pop(0)
        elif word.startswith("-"):
            call.unknown += [] if word in ALONE else [word]
        else:
            call.names.append(word)
    return call


def variables_in(text: str) -> dict[str, Any]:
    """Return the variables of one -e: JSON, or a name and a value. Those of a file are the reader's own."""
    if text.startswith("@"):
        assert Path(text[1:]).suffix in (".yml", ".json"), text
        return {}
    if text.startswith("{"):
        return dict(json.loads(text))
    name, equals, value = text.partition("=")
    assert equals, f"no value: {text}"
    return {name: value}


def options_in(arguments: str) -> dict[str, Any]:
    """Return the options of -a: JSON, or pairs of names and values."""
    if arguments.startswith("{"):
        return dict(json.loads(arguments))
    return {name: value for name, _equals, value in (word.partition("=") for word in shlex.split(arguments))}
