# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Failures that are no cloud's, put into words."""

from __future__ import annotations

import errno

import pytest
from ansible_collections.stackproof.provision.plugins.module_utils._cloud import errors as cloud_errors
from ansible_collections.stackproof.provision.plugins.module_utils._record import errors, waiting
from keystoneauth1 import exceptions as keystone


def test_a_failure_of_files_names_the_file():
    error = errors.explain(OSError(errno.ENOSPC, "No space left on device", "run.json"), "writing")
    assert error["message"] == "writing: No space left on device: run.json"


def test_a_passed_deadline_says_what_was_awaited_and_how_it_was_at_last():
    error = errors.explain(waiting.DeadlinePassed("the server s to be active", "BUILD, spawning", 300.4), "booting")
    assert error["kind"] == "deadline"
    assert error["message"] == ("waited 300 s for the server s to be active; the last state was BUILD, spawning")
    assert error["hint"]


def test_a_failure_that_knows_its_words_keeps_them():
    exc = errors.StageError("build_failed", "it broke", resource="s", hint="Look there.", fault={"code": 500})
    error = errors.explain(exc, "something else")
    assert (error["message"], error["hint"], error["resource"]) == ("it broke", "Look there.", "s")
    assert error["details"] == {"fault": {"code": 500}}


def test_an_error_without_a_hint_is_a_sentence_all_the_same():
    assert errors.sentence(errors.StageError("odd", "it broke").record) == "it broke."


def test_every_hint_is_a_sentence():
    assert all(hint[0].isupper() and hint[-1] in ".v" for hint in errors.HINTS.values())


class Failed(Exception):
    pass


class Module:
    """A module whose failure a test can look at."""

    def fail_json(self, **result):
        self.result = result
        raise Failed


@pytest.mark.parametrize(
    ("exc", "words"),
    [
        (errors.StageError("conflict", "two work on it.", hint="Wait."), "two work on it. Wait."),
        (errors.StageError("strange", "an odd answer"), "an odd answer."),
        (OSError(errno.ENOSPC, "No space left on device", "a"), "filing it: No space left on device: a. Look at the"),
        (KeyError("clock"), "filing it: KeyError: 'clock'. This is a defect of stackproof.provision: please report"),
    ],
    ids=["foreseen", "without a hint", "files", "a defect"],
)
def test_whatever_goes_wrong_in_a_module_is_one_sentence_and_a_hint(exc, words):
    module = Module()
    with pytest.raises(Failed), errors.failing(module, "filing it"):
        raise exc
    assert module.result["msg"].startswith(words)
    assert (module.result["exception"] is not None) == isinstance(exc, KeyError)


def test_a_module_that_asks_the_cloud_tells_its_words():
    module, exc = Module(), keystone.ConnectFailure("refused")
    with pytest.raises(Failed), cloud_errors.failing(module, "asking"):
        raise exc
    assert module.result["msg"].startswith("asking: the client reported: refused. Check whether the service runs")
    with pytest.raises(Failed), errors.failing(module, "asking"):
        raise exc
    assert "ConnectFailure: refused. This is a defect" in module.result["msg"]


@pytest.mark.parametrize("way_out", [SystemExit, KeyboardInterrupt, errors.Interrupted])
def test_a_module_that_ends_or_is_interrupted_has_not_failed(way_out):
    with pytest.raises(way_out), errors.failing(Module(), "filing it"):
        raise way_out


@pytest.mark.parametrize("mark", ["\x1b[31m", "\u202e", "\x9b", "\udc80", "\0"])
def test_no_word_of_a_cloud_controls_the_terminal(mark):
    error = errors.StageError("quota", f"the cloud answered: {mark}no", hint="Wait\nnow.").record
    assert errors.sentence(error) == f"the cloud answered: \N{REPLACEMENT CHARACTER}{mark[1:]}no. Wait\nnow."
