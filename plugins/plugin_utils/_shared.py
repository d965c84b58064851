# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What each module of a run would make for itself: the decoder of a record, our flows, the template of the report.

PRIVATE to the collection: no promise is made to other users of this file.
"""

from __future__ import annotations

import contextlib
from pathlib import Path

from ansible_collections.stackproof.provision.plugins.module_utils._match import (
    flow,
)
from ansible_collections.stackproof.provision.plugins.module_utils._model import (
    codec,
)
from ansible_collections.stackproof.provision.plugins.module_utils._model.record import (
    Record,
)
from ansible_collections.stackproof.provision.plugins.module_utils._record import (
    errors,
)
from ansible_collections.stackproof.provision.plugins.module_utils._report import (
    frame,
)

ROLES = Path(__file__).parents[2] / "roles"


def prepare() -> None:
    # It takes longer than reading a record.
    codec.decoder_of(Record)
    if flow.HAS_LIBRARIES:
        load_flows()
    if frame.HAS_JINJA2:
        frame.load(ROLES / "report/templates/report.html.j2")


def load_flows() -> None:
    for path in (ROLES / "flow/files/flows").glob("*.yml"):
        # The module that uses the flow reports it
        with contextlib.suppress(errors.StageError):
            flow.load(str(path))
