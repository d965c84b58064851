# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Stages that go in parallel: which of them do, with what options, and what comes of a failure."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import pytest
from ansible_collections.stackproof.provision.plugins.action import stages as plugin

ALL = ["image", "network", "volume"]
HERE = {"ansible_python_interpreter": sys.executable}


@pytest.fixture
def go(monkeypatch, tmp_path):
    """Return a function that runs the action; the processes that it began, batch by batch, are its attribute begun."""
    monkeypatch.setattr(plugin.ActionBase, "run", lambda *_args: {})

    def run(results=None, variables=None, **args):
        run.begun = []
        given = results or {}

        def result_of(module, options):
            stage = module.rpartition(".")[2]
            run.options[stage] = options
            return given.get(stage, {"changed": False, "record": {"stage": stage}})

        def finished(begun):
            run.begun.append([module.rpartition(".")[2] for module, _options in begun])
            return [result_of(*one) for one in begun]

        action = object.__new__(plugin.ActionModule)
        action._task = SimpleNamespace(
            args={"run_dir": str(tmp_path), "stages": ALL, **args}, async_val=0, environment=[]
        )
        action._connection = SimpleNamespace(transport="local", become=None)
        action._templar = SimpleNamespace(template=lambda value: value)
        action._update_module_args = lambda _name, options, _variables: options.update(_ansible_verbosity=0)
        action.perform = lambda module, options, _variables, _following: finished([(module, options)])[0]
        monkeypatch.setattr(plugin, "Forked", lambda module, options: (module, options))
        monkeypatch.setattr(plugin, "results_of", finished)
        return action.run(task_vars={**HERE, **(variables or {})})

    run.options = {}
    return run


def test_all_go_in_parallel(go):
    result = go()
    assert go.begun == [ALL]
    assert result == {"changed": False, "records": [{"stage": stage} for stage in ALL]}


def test_one_goes_after_the_other_where_that_is_asked_for(go):
    go(parallel=False)
    assert go.begun == [["image"], ["network"], ["volume"]]


def test_one_goes_after_the_other_where_no_module_can_be_forked(go):
    go(variables={"ansible_python_interpreter": "/usr/bin/python3.9"})
    assert go.begun == [["image"], ["network"], ["volume"]]


def test_a_volume_made_from_the_image_waits_for_it(go):
    go(variables={"stackproof_volume": "image"})
    assert go.begun == [["image", "network"], ["volume"]]


def test_each_stage_gets_what_its_role_gets(go, tmp_path):
    variables = {"stackproof_volume_size": 3, "stackproof_network_cidr": "10.0.0.0/24", "stackproof_tcp_port": 8022}
    go(variables={**variables, "stackproof_timeouts": {"volume": 7}}, cloud="lab")
    common = {"run_dir": str(tmp_path), "cloud": "lab", "_ansible_verbosity": 0}
    assert go.options["image"] == common
    assert go.options["network"] == {**common, "cidr": "10.0.0.0/24", "tcp_port": 8022}
    assert go.options["volume"] == {**common, "size": 3, "timeout": 7}


def test_a_cloud_that_is_a_dictionary_is_kept_out_of_logs(go):
    cloud = {"auth": {"password": "secret"}}
    go(cloud=cloud)
    assert all(options["_cloud"] == cloud and "cloud" not in options for options in go.options.values())


def test_the_first_failure_counts_in_the_order_of_the_stages(go):
    failed = {
        "volume": {"failed": True, "msg": "volume: no", "error": {"kind": "quota"}},
        "network": {"failed": True, "msg": "network: no", "error": {"kind": "refused"}, "changed": True},
    }
    result = go(failed)
    assert result == {"failed": True, "msg": "network: no", "error": {"kind": "refused"}, "changed": True}


def test_nothing_follows_a_failure(go):
    result = go({"image": {"failed": True, "msg": "image: no"}}, parallel=False)
    assert go.begun == [["image"]]
    assert result["failed"] is True


def test_a_stage_that_needs_others_is_refused(go):
    result = go(stages=["boot", "image"])
    assert result == {"failed": True, "msg": "the stages image, network, volume go in parallel, not boot"}
