# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A trace is read with the host's own library, from where the host's own file says."""

from __future__ import annotations

import json
import sys
from types import ModuleType

import pytest
from ansible_collections.stackproof.provision.plugins.modules import span_info as module
from tree import RECORDED

REPORT = json.loads((RECORDED / "spans" / "report.json").read_text())
PLACE = "redis://:planted-password@10.0.0.1:6379"
CONFIG = f"[DEFAULT]\ndebug = true\ndebug = false\n[profiler]\nenabled = True\nconnection_string = {PLACE}\n"


@pytest.fixture
def library(monkeypatch):
    """The host's library: its attribute asked says what was asked of it, and report is what it answers."""
    package, drivers, base, opts = (
        ModuleType(f"osprofiler{end}") for end in ("", ".drivers", ".drivers.base", ".opts")
    )
    config, cfg = ModuleType("oslo_config"), ModuleType("oslo_config.cfg")
    cfg.CONF, config.cfg = object(), cfg
    package.asked, package.report = [], REPORT

    class Driver:
        def __init__(self, where):
            package.asked.append(where)

        def get_report(self, trace):
            package.asked.append(trace)
            if isinstance(package.report, Exception):
                raise package.report
            return package.report

    base.get_driver, package.drivers, drivers.base, package.opts = Driver, drivers, base, opts
    # Without its options the library's own drivers do not begin.
    opts.set_defaults = lambda conf: package.asked.append(conf is cfg.CONF)
    for library in (package, drivers, base, opts, config, cfg):
        monkeypatch.setitem(sys.modules, library.__name__, library)
    return package


@pytest.fixture
def config(tmp_path):
    path = tmp_path / "nova.conf"
    path.write_text(CONFIG)
    return str(path)


@pytest.mark.parametrize("check", [False, True])
def test_the_spans_of_the_trace_are_told(call, library, config, check):
    result = call(module, check=check, trace="a-trace", config=config)
    assert (result["changed"], result.get("failed")) == (False, None)
    assert library.asked == [True, PLACE, "a-trace"]
    assert len(result["spans"]) > 10
    assert "planted" not in json.dumps(result["spans"])


def test_a_host_without_the_library_is_said(call, monkeypatch, config):
    monkeypatch.setitem(sys.modules, "osprofiler", None)
    assert "osprofiler" in call(module, trace="a-trace", config=config)["msg"]


@pytest.mark.usefixtures("library")
@pytest.mark.parametrize("text", [None, "", "[DEFAULT]\n", "[profiler]\nenabled = false\n", "no file of settings"])
def test_a_file_that_names_no_place_is_said(call, tmp_path, text):
    path = tmp_path / "nova.conf"
    if text is not None:
        path.write_text(text)
    result = call(module, trace="a-trace", config=str(path))
    assert result["failed"]
    assert f"{path} does not name the place" in result["msg"]


def test_a_place_that_does_not_answer_is_said_without_its_password(call, library, config):
    library.report = RuntimeError(f"no way to {PLACE}")
    result = call(module, trace="a-trace", config=config)
    assert result["msg"] == "the spans could not be read from redis: RuntimeError"
    assert "planted" not in json.dumps({**result, "invocation": None})
