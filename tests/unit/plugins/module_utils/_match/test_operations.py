# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What follows from the time range that was given with an operation on a live cloud."""

from __future__ import annotations

from dataclasses import replace

import as_json
import pytest
from ansible_collections.stackproof.provision.plugins.module_utils._match.follow import scope_of
from ansible_collections.stackproof.provision.plugins.module_utils._model.operation import Operation

BEGAN = 1795262490.0


@pytest.mark.parametrize(
    ("ended", "since", "until", "complete"),
    [
        (BEGAN + 60, None, None, True),
        (BEGAN + 60, BEGAN - 600, BEGAN + 600, True),
        (BEGAN + 60, BEGAN + 1, None, False),
        (BEGAN + 60, None, BEGAN + 59, False),
        # It is under way.
        (None, BEGAN, BEGAN + 3600, True),
        (None, None, BEGAN + 3599, False),
    ],
)
def test_no_step_is_missing_if_a_part_of_the_operation_is_left_out(ended, since, until, complete):
    operation = Operation(asked=BEGAN + 3600, ended=ended, since=since, until=until)
    record = replace(as_json.typed({}), started=BEGAN, operation=operation)
    assert scope_of(record, [], {}).complete is complete
