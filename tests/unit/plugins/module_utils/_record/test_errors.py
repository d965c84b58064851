# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Failures that are no cloud's, put into words."""

from __future__ import annotations

import errno

from ansible_collections.stackproof.provision.plugins.module_utils._record import errors, waiting


def test_a_failure_of_files_names_the_file():
    error = errors.explain(OSError(errno.ENOSPC, "No space left on device", "run.json"), "writing")
    assert error["message"] == "writing: No space left on device: run.json"


def test_a_passed_deadline_says_what_was_awaited_and_how_it_was_at_last():
    error = errors.explain(waiting.DeadlinePassed("the server s to be active", "BUILD, spawning", 300.4), "booting")
    assert error["kind"] == "deadline"
    assert error["message"] == (
        "no end after 300 s of waiting for the server s to be active, at last it was BUILD, spawning"
    )
    assert error["hint"]


def test_a_failure_that_knows_its_words_keeps_them():
    exc = errors.StageError("build_failed", "it broke", resource="s", hint="Look there.", fault={"code": 500})
    error = errors.explain(exc, "something else")
    assert (error["message"], error["hint"], error["resource"]) == ("it broke", "Look there.", "s")
    assert error["details"] == {"fault": {"code": 500}}


def test_every_hint_is_a_sentence():
    assert all(hint[0].isupper() and hint[-1] in ".v" for hint in errors.HINTS.values())
