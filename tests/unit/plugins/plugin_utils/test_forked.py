# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A module in a fork: its result, however it ends, and that nothing of it stays."""

from __future__ import annotations

import json
import logging
import os
import signal
import sys
import time
from types import SimpleNamespace

import pytest
import yaml
from ansible_collections.stackproof.provision.plugins.module_utils._match import flow
from ansible_collections.stackproof.provision.plugins.plugin_utils import _forked as forked
from tree import FLOWS, ROOT

RUN = "stackproof.provision.run"
# Other tests may have left threads; where a task is run there are none.
pytestmark = pytest.mark.filterwarnings("ignore:This process .* is multi-threaded")


@pytest.fixture
def module_of(monkeypatch):
    """Return a function that runs a function as if it were a module's main."""

    def start(main):
        monkeypatch.setattr(forked, "load", lambda _module: SimpleNamespace(main=main))
        return forked.Forked(RUN, {})

    return start


def is_gone(module):
    try:
        os.waitpid(module._process, os.WNOHANG)
    except ChildProcessError:
        return True
    return False


def test_a_module_gets_its_arguments_and_its_result_comes_back(tmp_path):
    args = {"runs": str(tmp_path), "run_id": "one", "cloud": "x", "_ansible_check_mode": True}
    module = forked.Forked(RUN, args)
    result = module.result()
    assert (result["directory"], result["changed"]) == (str(tmp_path / "one"), True)
    assert "failed" not in result
    assert not list(tmp_path.iterdir())
    assert is_gone(module)


def test_the_modules_of_a_run_are_loaded_before_it_begins():
    routes = yaml.safe_load((ROOT / "meta/runtime.yml").read_text())["plugin_routing"]["modules"]
    here = {"run", *(name for name, route in routes.items() if "action_plugin" in route)}
    # Those of other playbooks, of a sweep or a load as a whole, and of the hosts
    others = {"bundle_info", "capacity_info", "comparison", "diagnosis", "history", "load", "preflight", "sweep"}
    others |= {"evidence_info", "stuck_info"}
    assert set(forked.MODULES) == here - others
    assert all(f"{forked.COLLECTION}.modules.{name}" in sys.modules for name in forked.MODULES)


def test_a_fork_finds_the_flows_by_whatever_path():
    before = flow.load_flow.cache_info().misses
    for path in FLOWS.glob("*.yml"):
        flow.load(str(path.parent / ".." / path.parent.name / path.name))
    assert flow.load_flow.cache_info().misses == before


def test_an_option_that_is_none_is_refused_as_ever(tmp_path):
    result = forked.Forked(RUN, {"runs": str(tmp_path), "nonsense": 1}).result()
    assert result["failed"] is True
    assert "nonsense" in result["msg"]


def test_what_a_module_makes_of_its_memory_is_its_own(module_of):
    seen = []
    module_of(lambda: seen.append(1) or print("{}")).result()
    assert seen == []


def test_an_error_that_nobody_caught_is_a_result(module_of):
    def broken():
        raise ValueError("ö" * 3)

    result = module_of(broken).result()
    assert result["failed"] is True
    assert result["msg"].startswith(
        f"{RUN}: ValueError: ööö. This is a defect of stackproof.provision: please report it"
    )
    assert "in broken" in result["exception"]


def test_a_module_that_somebody_interrupts_is_no_defect(module_of):
    def interrupted():
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(5)

    result = module_of(interrupted).result()
    assert (result["failed"], result["msg"].partition(". ")[0]) == (True, f"{RUN}: interrupted by SIGINT")


@pytest.mark.parametrize("before", ["", '{"changed": tr'])
def test_a_module_that_was_killed_is_said(module_of, before):
    def killed():
        print(before, flush=True)
        os.kill(os.getpid(), signal.SIGKILL)

    result = module_of(killed).result()
    assert result == {"failed": True, "msg": f"the process of {RUN} was ended by SIGKILL"}


def test_a_module_without_a_result_is_said(module_of):
    assert module_of(lambda: None).result() == {"failed": True, "msg": f"the process of {RUN} ended without a result"}


def test_a_module_begins_with_signals_as_a_new_process_has_them_and_without_ansibles_log(module_of, monkeypatch):
    monkeypatch.setattr(logging.root, "handlers", [logging.NullHandler()])

    def look():
        numbers = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)
        named = [signal.getsignal(number) in (signal.SIG_DFL, signal.default_int_handler) for number in numbers]
        print(json.dumps({"signals": named, "handlers": len(logging.root.handlers)}))

    before = signal.signal(signal.SIGTERM, lambda *_given: None)
    try:
        assert module_of(look).result() == {"signals": [True, True, True], "handlers": 0}
    finally:
        signal.signal(signal.SIGTERM, before)


def test_a_task_whose_time_is_over_ends_its_module(module_of):
    def too_late(*_given):
        raise TimeoutError

    before = signal.signal(signal.SIGALRM, too_late)
    module = module_of(lambda: time.sleep(60))
    signal.setitimer(signal.ITIMER_REAL, 0.3)
    begun = time.monotonic()
    try:
        with pytest.raises(TimeoutError):
            module.result()
    finally:
        signal.signal(signal.SIGALRM, before)
    assert time.monotonic() - begun < 20
    assert is_gone(module)


def test_modules_work_beside_each_other(module_of, tmp_path):
    def main():
        # Each of them waits for what the other one leaves.
        (tmp_path / str(os.getpid())).touch()
        while len(list(tmp_path.iterdir())) < 2:
            time.sleep(0.01)
        print(json.dumps({"process": os.getpid()}))

    begun = [module_of(main), module_of(main)]
    found = [result["process"] for result in forked.results_of(begun)]
    assert found == [module._process for module in begun]
    assert all(map(is_gone, begun))


def test_if_waiting_for_one_ends_early_so_do_the_others(module_of, monkeypatch):
    begun = [module_of(signal.pause), module_of(signal.pause)]

    def break_off():
        begun[0].stop()
        raise KeyboardInterrupt

    monkeypatch.setattr(begun[0], "result", break_off)
    with pytest.raises(KeyboardInterrupt):
        forked.results_of(begun)
    assert all(map(is_gone, begun))
