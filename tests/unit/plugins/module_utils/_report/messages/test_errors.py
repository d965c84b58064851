# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The errors of a time in which all went well, as a sentence."""

from __future__ import annotations

import functools

import pytest
from ansible_collections.stackproof.provision.plugins.module_utils._model.codec import from_json
from ansible_collections.stackproof.provision.plugins.module_utils._model.record import LoggedError
from ansible_collections.stackproof.provision.plugins.module_utils._report.messages.errors import errors_sentence
from cases_by_hand import logged

as_error = functools.partial(from_json, LoggedError)


@pytest.mark.parametrize(
    ("usual", "order"),
    [
        # Those of the run come first,
        ((None, None, None), "x.Own; x.Old; x.New"),
        # and before them those that were never logged while all worked.
        ((1.0, 1.0, 0.0), "x.New; x.Own; x.Old"),
    ],
)
def test_errors_that_are_new_come_first(usual, order):
    names = ("x.Old", "x.Own", "x.New")
    errors = [
        as_error(logged("nova-compute", exception=name, own=name == "x.Own", usual=share))
        for name, share in zip(names, usual)
    ]
    words = errors_sentence(errors).replace("nova-compute (h1): ", "")
    assert words == f" Errors were logged in that time: {order}."


def test_an_error_of_any_healthy_run_is_left_out():
    """Open vSwitch asks for the tap of a guest that has gone."""
    usual = as_error(logged("openvswitch", logger="netdev_linux"))
    assert errors_sentence([usual]) == ""
    assert errors_sentence([usual, as_error(logged("openvswitch", logger="bridge"))]).endswith(": ovsdb (h1): bridge.")
