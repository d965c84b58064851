# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The numbers of the model: how strongly symptoms speak, and for whom. None of them belongs to a component."""

from __future__ import annotations

# How strongly a symptom of each kind speaks for its cause, as a logarithm of odds
STRENGTH = {
    "state": 7.0, "words": 5.0, "ground": 4.5, "reach": 5.0, "answer": 4.0, "unheard": 3.5, "failed at": 4.0,
    "error": 4.0, "change": 3.0, "difference": 1.5, "disabled": 1.5, "owed": 5.0,
    "restart": 0.0,
}  # fmt: skip
# What differs from that, by how
SHADES = {
    ("state", "activating"): 0.6,
    ("state", "deactivating"): 0.6,
    ("state", "restarted"): 0.5,
    ("words", "warning"): 0.4,
    ("words", "error"): 0.5,
    # A component that waited in vain has broken nothing.
    ("error", "silent"): 0.2,
    ("owed", "unseen"): 0.4,
    ("owed", "part"): 0.1,
}
# A symptom without an id of the run may be of anybody.
UNKEYED = 0.4
# A line that names several components points at each of them a little.
UNSURE = 0.5
# How much of a failure at a peer is the peer's, and how much that of the component that failed there
PARTS = {
    "refused": (0.9, 0.15), "silent": (0.8, 0.1), "error": (0.9, 0.15), "denied": (0.6, 0.4), "full": (0.9, 0.3),
    "broken off": (0.7, 0.2), "missing": (0.5, 0.4), "read-only": (0.9, 0.2), "unreachable": (0.8, 0.4),
    "malformed": (0.4, 0.7), None: (0.6, 0.4),
}  # fmt: skip
# Ways of failing that an answer has as well: who says that something is missing was reached, and did not find it
ANSWERED = ("missing", "malformed", None)
# A component explains what is wrong with those that need it, less surely than what is wrong with itself.
LEANT_ON = 0.4
# An error that says nothing of another component seldom comes from one.
BEHIND_ERROR = 0.15
# The parts in a step that is lacking of those whom its debtor needs, of its receiver, and of its carrier
BEHIND_DEBTOR, TARGET, CARRIER = 0.2, 0.25, 0.25
# The part of a component in what is wrong with it if it has failed at another one, and the part of that one
VICTIM, PASSED_ON = 0.5, 0.6
# The parts of the two ends of a way, if the peer is reached by other hosts, and if it is not
ENDS, REACHED_BY_NOBODY = (0.4, 0.2), (0.15, 0.9)
# Each further symptom of a kind counts so much of the one before it.
REPEATED = 0.3
# Kinds that lie at a component, and may come from another one that it needs; a service that was stopped or frozen was
# so by somebody, and one that has failed maybe for want of another.
MAY_COME_FROM_OTHERS = ("owed", "unheard", "disabled", "error", "answer")
FOR_WANT = ("failed", "activating")
# How a connection fails that a restart of the peer has ended
ENDED = ("broken off",)
# A component that has no part in what failed needs more evidence, and so does one behind those that the run only met.
FAR, BEHIND = -2.5, -1.2
# The score of a cause that nobody has thought of
UNKNOWN = 3.0
TEMPERATURE = 0.8
