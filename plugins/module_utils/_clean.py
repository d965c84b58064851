# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Removes what one run has made, with a connection of its own, and keeps the account in its record.

PRIVATE to the collection: no promise is made to other users of this file.
"""

from __future__ import annotations

from . import _cloud, _removal, _wallet
from ._waiting import Deadline


def clean(run, params):
    """Remove all of a run and write down what was removed and what stays. Returns what stays."""
    deadline = Deadline(params["timeout"])
    calls, samples, said = [], [], set()

    def say(text):
        if text not in said:
            said.add(text)
            run.say("cleanup", text)

    cloud = _cloud.connect(params, calls, samples, deadline)
    _wallet.take(run.wallet, cloud.session.auth)
    left = _removal.remove_all(cloud, run, deadline, say)
    run.record["kept"] = False
    _removal.settle_account(run, left)
    run.save()
    return left


def keep(run):
    """Write down that what the run has made is meant to stay."""
    run.record["kept"] = True
    _removal.settle_account(run, [])
    run.save()
