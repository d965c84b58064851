# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The patterns of flows: what they find, which are refused, and that none of the others is slow."""

from __future__ import annotations

import random
import re
import time

import pytest
import yaml
from ansible_collections.stackproof.provision.plugins.module_utils._collect.logs.phrases import Pattern
from ansible_collections.stackproof.provision.plugins.module_utils._match.rivals import TOOK
from ansible_collections.stackproof.provision.plugins.module_utils._record.errors import StageError
from tree import FLOWS, RECORDED

# Each of these takes Python's re longer than anybody waits for, on a line that is made for it.
SLOW = [
    "(a+)+$",
    "(a*)*$",
    "(a|aa)+$",
    "(a|a)*$",
    "(a|a?)+$",
    "([a-z]+)*$",
    "(?:a{1,9}){1,9}(?:a{1,9}){1,9}b",
    "((x{0,10}){0,10}){0,10}y",
    "(?:x?){40}x{40}y",
    "a?" * 30 + "a" * 30,
    "(?:a|a)" * 30 + "b",
    ".*.*.*.*=",
    ".*a.*a.*a.*a=",
    r"\w*\w*\w*\w*=",
    r"\s+\s+\s+\s+x",
    r"(\w+\s?)*=",
    r"(a*)b?\1\1c",
    "(?=(a+))a*b?a+c",
    "^(([a-z])+.)+[A-Z]([a-z])+$",
    "a{1,200}a{1,200}a{1,200}b",
    r"[^=]+" + r"\b" * 200 + "=",
    r"[^=]+" + r"\b" * 200 + r"\B",
    "[^=]+" + "".join(f"(?P<a{number}>)" for number in range(50)) + "=",
]
# The most work that a pattern of the plain kind can make, as far as we know
BUSY = [
    r"\w+=",
    r"(?P<a>\w+)=",
    r"[^=]*=",
    r"a+b" * 100,
    ".*".join("a" * 100),
    ".*".join([r"\w+ "] * 70) + "=\\w+",
    "a" * 499 + "b",
    "a{4000}b",
    r"\w+ " * 100 + "=",
    r"\w+$",
    "x*" + "a{200}" * 80 + "b",
    "|".join(["a" * 60 + "b"] * 8),
]
LINES = ["a" * 4096, "a " * 2048, "a" * 4095 + "!", "x" * 4096, "ab" * 2048, " " * 4096, "a=" * 2048, "aab " * 1024]


@pytest.mark.parametrize("text", [*SLOW, *BUSY], ids=range(len(SLOW) + len(BUSY)))
def test_a_pattern_is_refused_or_quick_on_a_line_made_for_it(text):
    try:
        pattern = Pattern(text)
    except StageError:
        assert text in SLOW
        return
    for line in LINES:
        began = time.process_time()
        pattern.search(line)
        assert time.process_time() - began < 1, line[:8]


def test_those_that_may_take_forever_are_refused_but_where_anything_may_come_between():
    taken = [text for text in SLOW if is_taken(text)]
    assert taken == [".*.*.*.*=", ".*a.*a.*a.*a="]
    assert all(is_taken(text) for text in BUSY)


def is_taken(text):
    try:
        return bool(Pattern(text))
    except StageError:
        return False


# The longest line that is read of a log
LONGEST_LINE = 16384
# As many alternatives as may repeat something, and those that are repeated most without being counted
BUSIEST = [
    "|".join(f"(?P<{name}>[^=]*)=" for name in "abcdefgh"),
    "|".join([r"\w+="] * 8),
    "|".join(["a{9000}b"] * 8),
    "|".join(["a{32}" * 3 + "b"] * 29),
    "|".join(["a?b"] * 125),
]


@pytest.mark.parametrize("text", BUSIEST, ids=range(len(BUSIEST)))
@pytest.mark.parametrize("mark", ["a", "x", "ab"])
def test_a_pattern_is_quick_on_the_longest_line(text, mark):
    pattern, line = Pattern(text), (mark * LONGEST_LINE)[:LONGEST_LINE]
    began = time.process_time()
    pattern.search(line)
    # Ten times what it takes on a slow machine
    assert time.process_time() - began < 10


@pytest.mark.parametrize(
    ("text", "values"),
    [
        # Nothing in it is repeated: it may stand anywhere.
        ("b{3}=", {}),
        ("one|b{1,9}=", {}),
        ("x.*b=", {}),
        ("b+=", None),
        ("x.*b+=", None),
        ("x+ .*b=", None),
        # One alternative that is looked for everywhere is enough.
        ("y+=|bbb=", {}),
    ],
)
def test_what_may_be_repeated_without_end_is_looked_for_at_the_beginning_of_a_line_only(text, values):
    assert Pattern(text).search("x" + " " * 5000 + "bbb=") == values
    assert Pattern(text).search("x" + " " * 4000 + "bbb=") == {}


@pytest.mark.parametrize("text", ["a+$", r"a+\b", "a+", r"xa+\b"])
def test_the_end_of_what_is_looked_at_is_not_the_end_of_the_line(text):
    assert Pattern(text).search("x" * 4090 + "a" * 5000) is None


PIECES = [
    "a",
    "b",
    " ",
    "=",
    r"\w",
    r"\d",
    "[ab]",
    "[^a]",
    ".",
    r"\.",
    "+",
    "*",
    "?",
    "{2}",
    "{1,9}",
    "{0,}",
    ".*",
    "|",
]
PIECES += ["(?P<name>", ")", "^", "$", r"\b"]


def test_what_is_made_by_chance_is_refused_or_quick_and_finds_what_python_finds():
    chance, taken, hits = random.Random(16), 0, 0
    lines = ["a" * 2000, "ab " * 700, "a=b" * 700]
    for _pattern in range(20000):
        text = "".join(chance.choices(PIECES, k=chance.randint(2, 12)))
        if not is_taken(text):
            continue
        taken, pattern = taken + 1, Pattern(text)
        began = time.process_time()
        for line in lines:
            pattern.search(line)
        assert time.process_time() - began < 1, text
        for _line in range(5):
            line = "".join(chance.choices("ab =.1", k=10))
            assert (pattern.search(line) is None) == (re.search(text, line) is None), (text, line)
            hits += pattern.search(line) is not None
    assert (taken > 1000, hits > 1000) == (True, True), (taken, hits)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("(a+)+$", "'(a+)+$' cannot be in it"),
        ("(?P<x>a+)+", "'+' cannot be in it, or not at this place"),
        (r"(?P<x>a)\1", r"'\\1' cannot be in it"),
        ("(?:a|b)c", "'(?:a|b)c' cannot be in it"),
        ("(?i)a", "'(?i)a' cannot be in it"),
        ("a*?b", "'?b' cannot be in it"),
        ("a{,3}b", "'{,3}b' cannot be in it"),
        ("[ab", "'[ab' cannot be in it"),
        (r"\x41", r"'\\x41' cannot be in it"),
        (".+b", ".+ must be followed by a character that it does not take, not by b"),
        (r"\w+\d", r"\w+ must be followed by a character that it does not take, not by \d"),
        ("a?b?c", "a? must be followed by a character that it does not take, not by b?"),
        ("a+b{0,3}c", "a+ must be followed by a character that it does not take, not by b{0,3}"),
        (r"[\w.]+\.", r"[\w.]+ must be followed by a character that it does not take, not by \."),
        (r"\w+.*b", r"\w+ must be followed by a character that it does not take, not by .*"),
        ("(?P<x>a.*b)", ".* cannot be in a group"),
        ("(?P<x>a|b)", "| cannot be in a group"),
        ("(?P<x>a", "missing ), unterminated subpattern"),
        ("a)", "unbalanced parenthesis"),
        ("a{3,2}", "min repeat greater than max repeat"),
        ("a{99999999999}", "the repetition number is too large"),
        ("a" * 501, "it has 501 characters, and 500 are the most"),
        (
            "a+b|" * 125,
            "125 of its alternatives repeat something without end or more than 32 times, and 8 are the most",
        ),
        ("|".join(["a{33}b"] * 9), "9 of its alternatives repeat something"),
        ("|".join(["a{0,33}b"] * 9), "9 of its alternatives repeat something"),
        ("|".join(["a{2,}b"] * 9), "9 of its alternatives repeat something"),
    ],
)
def test_what_is_not_of_the_plain_kind_is_said(text, why):
    with pytest.raises(StageError) as caught:
        Pattern(text)
    assert str(caught.value).startswith(f"the pattern {text[:500]!r}: ")
    assert why in str(caught.value)
    assert caught.value.record["hint"] == "docs/flows.md lists the patterns that there are."


@pytest.mark.parametrize(
    ("text", "line", "values"),
    [
        ("plain", "a plain line", {}),
        ("plain", "another", None),
        (r"Took (?P<seconds>[\d.]+) s", "Took 1.5 s", {"seconds": "1.5"}),
        (r"Took (?P<seconds>[\d.]+) s", "Took x s, Took 2 s", {"seconds": "2"}),
        (r"\w+=(?P<who>[\w.-]+),", 'dn="cn=nova-1,dc=x"', {"who": "nova-1"}),
        ("Port .* is up.*now", "Port 1 is up, and now", {}),
        ("Port .* is up.*now", "now Port 1 is up", None),
        ("a.*a", "a", None),
        ("a.*a", "aa", {}),
        (r"one|t(?P<x>\w)o|three", "two three", {"x": "w"}),
        ("one|two", "three", None),
        ("^a.*b$", "a b", {}),
        ("^a.*b$", "a b ", None),
        ("a.*^b", "a b", None),
        (r"\bup\b", "set up", {}),
        (r"\bup\b", "setup", None),
        (r"call\(\) \[x\]\.\.\.", "call() [x]...", {}),
        ("a{3}b ?c", "aaabc", {}),
        ("a{3}b ?c", "aab c", None),
        ("[]a]+-[^]a]", "]a]-x", {}),
        ("", "anything", {}),
    ],
)
def test_what_a_pattern_finds(text, line, values):
    groups = Pattern(text).search(line)
    assert groups == values
    match = re.search(text, line)
    assert (match and {k: v for k, v in match.groupdict().items() if v}) == values


def shipped():
    flows = [yaml.safe_load(path.read_text()) for path in sorted(FLOWS.glob("*.yml"))]
    rules = (
        rule
        for flow in flows
        for step in flow["steps"]
        for part in ("observe", "cached", "absent")
        for rule in step.get(part) or ()
    )
    return sorted({TOOK, *(rule["says"] for rule in rules if "says" in rule)})


def test_what_comes_with_the_collection_finds_in_recorded_logs_what_python_finds():
    logs = sorted((RECORDED / "followed/logs").rglob("*.log"))
    lines = [line for path in logs for line in path.read_text(errors="replace").splitlines()]
    hits = 0
    for text in shipped():
        pattern, python = Pattern(text), re.compile(text)
        for line in lines:
            match = python.search(line)
            assert pattern.search(line) == (match and match.groupdict()), (text, line)
            hits += match is not None
    assert (len(shipped()) > 40, len(lines) > 300, hits > 60) == (True, True, True), (len(lines), hits)
