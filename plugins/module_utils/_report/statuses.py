# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The look of a step's status, on the page and in the diagrams: order, colour, words and arrows in one table."""

from __future__ import annotations

from dataclasses import dataclass

from .._model.words import Result, StepStatus

# Words of the result of a run, a sweep or a load test
RESULTS = {
    Result.PASS: "Passed",
    Result.FAIL: "Failed",
    Result.INCOMPLETE: "Incomplete",
}


@dataclass(frozen=True)
class Look:
    """The look of a status.

    colour, shape: of its mark on the page, by the names in style.css. meaning: for the legend of the diagram.
    ink, dashes, is_crossed: of its arrow in the diagram, by the names in sequence/style.py.
    mermaid, plantuml: its arrow in these languages.
    """

    status: StepStatus
    colour: str
    shape: str
    meaning: str
    ink: str
    dashes: str
    is_crossed: bool
    mermaid: str
    plantuml: str

    @property
    def is_filled(self) -> bool:
        """Return whether the diagram fills the mark of its step: it does so for what must be noticed."""
        return self.status in (StepStatus.SEEN, StepStatus.MISSING)


# In the order in which pages count them
LOOKS = (
    Look(StepStatus.SEEN, "good", "filled", "this run shows it", "seen", "none", False, "->>", "-[#1A5FB4]>"),
    Look(
        StepStatus.CACHED, "cached", "half", "an earlier answer served again", "grey", "9 5", False,
        "-->>", "-[#7B8592]->",
    ),
    Look(
        StepStatus.ABSENT, "soft", "hollow", "this cloud goes without it", "grey", "none", True,
        "-->>", "-[#7B8592]->x",
    ),
    Look(
        StepStatus.SKIPPED, "soft", "hollow", "not requested of this run", "faint", "none", False,
        "-->>", "-[#C3CAD4]->",
    ),
    Look(
        StepStatus.UNSEEN, "warn", "hollow", "nothing that was read shows it", "seen", "0.1 6", False,
        "-->>", "-[#6FB1FF]->",
    ),
    Look(StepStatus.MISSING, "bad", "diamond", "it should be there", "bad", "none", True, "-x", "-[#C01C28]>x"),
)  # fmt: skip
LOOK_OF = {look.status: look for look in LOOKS}
# A step with such a number is one of the operations guide.
IN_GUIDE = "table"
# What only the time and the place of an event show is counted beside the statuses, after what is seen.
WINDOW = "window"
COUNTED = (
    StepStatus.SEEN.value,
    WINDOW,
    *(look.status.value for look in LOOKS[1:]),
)
# Statuses of a step that is no part of what this cloud did
UNUSED = frozenset({StepStatus.ABSENT, StepStatus.SKIPPED})
