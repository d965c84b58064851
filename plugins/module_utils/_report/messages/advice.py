# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What to do next, as a sentence or as a command to copy."""

from __future__ import annotations

from ..._model.finding import Advice, Condition, Reason, Repair

TEXTS = {
    Reason.RUN_AGAIN: "run it again: the services have reconnected since",
    Reason.KEEP: "run it again with -e stackproof_keep=on_failure",
    Reason.ALLOW_MORE_TIME: (
        'give the stage more time (-e \'{"stackproof_timeouts": {"boot": 900}}\'), '
        "and check whether the cloud is overloaded"
    ),
    Reason.GIVE_INVENTORY: (
        "give an inventory of the cloud's hosts (-i), so that their services and logs can be read"
    ),
    Reason.GIVE_ADMIN_CLOUD: (
        "give an administrator's cloud (stackproof_admin_cloud), which shows what each host lacks for this request"
    ),
    Reason.LOOK_AT_SLOWEST: "look at the slowest requests and waits on the page, and whether the cloud is overloaded",
    Reason.LOG_DEBUG: "let the services log with debug = true, and oslo.messaging at DEBUG",
    Reason.LOG_MESSAGING: "let the services log oslo.messaging at DEBUG, or record the queue (stackproof_firehose)",
}
CONDITIONS = {
    Condition.FILE_IS_RIGHT: "after correcting {0}",
    Condition.NOT_INTENDED: "if that is not intended",
    Condition.NEEDED: "if the request is to be satisfied",
    Condition.REMADE: "to have it made again",
}


def advice(given: Advice | None, here: str | None = None) -> str | None:
    """Return an advice for readers. here: the host on which they are already."""
    if given is None:
        return None
    if given.reason == Reason.SHOW_STATE:
        then = advice(given.then, given.host)
        return "; ".join(filter(None, [in_place(given, here), then]))
    if given.reason == Reason.KEEP and given.then:
        return f"{TEXTS[Reason.KEEP]}, and with the ids of that run: {advice(given.then, here)}"
    if given.reason == Reason.MAKE_HOSTS_READABLE:
        return f"make {', '.join(given.hosts)} readable"
    return TEXTS[given.reason]


def repair(given: Advice | None) -> str | None:
    """Return the command that puts right what is wrong, and on what condition it does."""
    if given is None or given.repair is None:
        return None
    condition = CONDITIONS[given.repair.condition]
    return f"{condition.format(given.repair.path)}, {in_place(given.repair)}"


def in_place(given: Advice | Repair, here: str | None = None) -> str | None:
    """Return a command with the host to run it on, if that is another one."""
    if given.host in (None, here):
        return given.command
    return f"on {given.host}: {given.command}"
