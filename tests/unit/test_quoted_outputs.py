# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Each output that these pages quote is what the code of today prints for a recorded run of the lab.

QUOTED has for each page, in its order, how each of its outputs is produced. Commands are held by test_commands.py.
"""

from __future__ import annotations

import pytest
import recorded_outputs as recorded
from page_commands import outputs
from tree import ROOT

DHCP_AGENT_STOPPED = "dhcp-agent-stopped"
QUOTED = {
    "README.md": [lambda: recorded.verdict(recorded.read(recorded.TUTORIAL))],
    "docs/first-verdict.md": [
        lambda: recorded.summary(recorded.DEMO),
        lambda: recorded.verdict(recorded.read(recorded.TUTORIAL)),
    ],
    "docs/boot-failed.md": [
        lambda: recorded.verdict(recorded.read(recorded.TUTORIAL)),
        lambda: recorded.path(recorded.failed("osd-stopped")),
        lambda: recorded.verdict(recorded.failed_without_hosts(DHCP_AGENT_STOPPED)),
        lambda: recorded.verdict(recorded.read("runs/20261121-073057-d8aefd")),
        lambda: recorded.verdict(recorded.read("runs/20261121-065330-a90299")),
        lambda: recorded.verdict(recorded.read("runs/20261121-065405-617d6b")),
    ],
    "docs/drain-a-host.md": [],
    "docs/accept-a-region.md": [],
}


@pytest.mark.parametrize("page", QUOTED)
def test_every_output_on_the_page_is_printed_by_the_code(page):
    printed = ["\n".join(produce()) + "\n" for produce in QUOTED[page]]
    assert outputs((ROOT / page).read_text()) == printed
