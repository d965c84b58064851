# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A name that the cloud does not have, and the names that it has."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from ansible_collections.stackproof.provision.plugins.module_utils._act.choices import not_found
from ansible_collections.stackproof.provision.plugins.module_utils._record.masking import LONGEST_WORDS


@pytest.mark.parametrize(
    ("names", "offered"),
    [
        ([], "none"),
        (["b", "a", "b", None, "", 5], "a, b"),
        ([f"image-{number:02}" for number in range(12)], "image-09, and 2 more"),
    ],
)
def test_names_that_the_cloud_has_are_listed_and_counted(names: list[object], offered: str) -> None:
    record = not_found("image", "nope", (SimpleNamespace(name=name) for name in names)).record
    assert (record["kind"], record["resource"]) == ("not_found", "nope")
    assert record["message"].startswith("the cloud has no image nope; it has ")
    assert record["message"].endswith(offered)
    assert record["hint"].startswith("Look at the name or id")


def test_long_names_make_no_longer_message_than_any_other() -> None:
    error = not_found("image", "nope", [SimpleNamespace(name="x" * 100_000)])
    assert len(error.record["message"]) <= LONGEST_WORDS
