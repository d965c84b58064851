# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Hostile input, made by chance from a seed, with the fixtures of the unit tests.

Each test says how many cases it makes, the same ones each time. FUZZ_SEED chooses others, and with FUZZ_SECONDS all
tests together go on for so long instead. A case that fails prints its number: FUZZ_CASE=number makes it alone.
"""

from __future__ import annotations

import itertools
import os
import random
import signal
import sys
import time
from importlib.util import module_from_spec, spec_from_file_location

import pytest
from tree import ROOT

# So many tests share the time.
TESTS = 11
# No case takes so many seconds, whatever the input.
LONGEST = 120


def load_fixtures(folder):
    """Make the fixtures of a folder of unit tests those of these tests."""
    name = f"fixtures_of_{folder.replace('/', '_')}"
    spec = spec_from_file_location(name, ROOT / "tests" / folder / "conftest.py")
    sys.modules[name] = module = module_from_spec(spec)
    spec.loader.exec_module(module)
    globals().update({key: value for key, value in vars(module).items() if not key.startswith("_")})


for folder in ("unit", "unit/plugins", "unit/plugins/modules"):
    load_fixtures(folder)


class Hang(BaseException):
    """A case took too long. What catches every Exception must not catch this."""


def hang(*_args):
    raise Hang(f"the case took more than {LONGEST} s")


def numbers(count):
    """The numbers of the cases to make."""
    wanted, seconds = os.environ.get("FUZZ_CASE"), os.environ.get("FUZZ_SECONDS")
    if wanted:
        return [int(wanted)]
    if not seconds:
        return range(count)
    end = time.monotonic() + float(seconds) / TESTS
    return itertools.takewhile(lambda _number: time.monotonic() < end, itertools.count())


@pytest.fixture
def cases(request, capsys):
    """The cases of a test, each a source of chance."""
    seed, test = os.environ.get("FUZZ_SEED", "1"), request.node.originalname
    (count,) = request.node.get_closest_marker("cases").args
    before, made = signal.signal(signal.SIGALRM, hang), []

    def make():
        for number in numbers(count):
            request.node.user_properties[:] = [("case", f"FUZZ_SEED={seed} FUZZ_CASE={number}")]
            signal.alarm(LONGEST)
            yield random.Random(f"{seed}:{test}:{number}")
            signal.alarm(0)
            made.append(number)
        assert made, "no case was made in time"

    yield make()
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)
    with capsys.disabled():
        print(f" {len(made)} cases", end="")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item):
    report = yield
    if report.failed and item.user_properties:
        report.sections.append(("The case", f"{item.user_properties[0][1]} pytest {item.nodeid}"))
    return report
