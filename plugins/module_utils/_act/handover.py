# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Hand the run's volume over: the first guest writes to it, the second one reads it, and the first one gets it back.

If its type is for several servers at once, the first guest keeps it meanwhile.
"""

from __future__ import annotations

import re
from typing import Any

from .._model.details import FIRST, SECOND, BootDetails, PathCheck
from .._model.stage import Resource
from .._model.words import CheckStatus, StageName
from .._record.clock import Stopwatch
from .._record.errors import DeadlinePassed, StageError
from .._record.waiting import Look
from . import volumes
from .console import console_pace, read_console
from .showing import Line, filled, line_of, passed
from .stage import Stage

CHECK = "volume"
WRITTEN, READ = "written", "read"
# In looks of a second each. The first guest has the volume since its boot or soon after; the second one waits for as
# long as a stage may take.
LOOKS = {FIRST: 120, SECOND: 3600}
# A virtio disk shows the beginning of the volume's id, others show all of it.
SERIAL_LENGTH = 20
# In KiB. It is near the end of the smallest volume, and so behind most images that a volume is made from.
OFFSET, SIZE = 1020 * 1024, 1024
SUM = re.compile("[0-9a-f]{64}", re.ASCII)
SHOWN_DIGITS = 12

# It needs grep, dd and sha256sum.
SCRIPT = r"""
find_disk() {
  looks=0 disk=''
  while [ $looks -lt @LOOKS@ ]; do
    file=$(grep -ls '@SERIAL@' /sys/block/*/serial /sys/block/*/device/vpd_pg80 2>/dev/null | head -n 1)
    if [ -n "$file" ]; then disk=${file#/sys/block/} disk=${disk%%/*}; return; fi
    sleep 1
    looks=$((looks + 1))
  done
}
digest() { sha256sum 2>/dev/null | sed 's/ .*//'; }
write_volume() {
  dd if=/dev/urandom of=/tmp/stackproof-volume bs=1024 count=@SIZE@ 2>/dev/null
  if dd if=/tmp/stackproof-volume of="/dev/$disk" bs=1024 seek=@OFFSET@ conv=notrunc 2>/dev/null && sync; then
    sum=$(digest </tmp/stackproof-volume)
  fi
}
read_volume() { sum=$(dd if="/dev/$disk" bs=1024 skip=@OFFSET@ count=@SIZE@ 2>/dev/null | digest); }
hand_over() {
  find_disk
  sum=''
  if [ -n "$disk" ]; then @DO@; fi
  show @CHECK@ ", \"disk\": \"$disk\", \"sum\": \"$sum\""
}
hand_over &
"""
PARTS = {FIRST: ("write_volume", WRITTEN), SECOND: ("read_volume", READ)}


def script(guest: str, volume: str) -> str:
    """Return what a guest is to do with the volume of an id."""
    command, check = PARTS[guest]
    values = {
        "LOOKS": LOOKS[guest],
        "SERIAL": volume[:SERIAL_LENGTH],
        "SIZE": SIZE,
        "OFFSET": OFFSET,
        "DO": command,
        "CHECK": check,
    }
    return filled(SCRIPT, values)


def volume_for(stage: Stage[Any], attach: str | None) -> Resource | None:
    """Return the volume that the guests can hand over: no server can do without its root disk."""
    is_asked = stage.params["dataplane_volume"] and attach != "root"
    if not is_asked:
        return None
    return stage.resource("volume")


def check(stage: Stage[Any], nonce: str, first: str, second: str) -> PathCheck:
    """Return whether the second guest reads what the first one wrote to the volume. first, second: the servers."""
    attach = stage.details_of(StageName.BOOT, BootDetails).attach
    volume = volume_for(stage, attach)
    if volume is None:
        return inapplicable(why_not(stage, attach))
    written = await_line(stage, nonce, first, FIRST, WRITTEN)
    if not SUM.fullmatch(str(written.get("sum"))):
        return inapplicable(unwritten(written))
    is_shared = volumes.is_multiattach(stage)
    watch = Stopwatch()
    if not is_shared:
        volumes.detach(stage, first, volume)
    volumes.attach(stage, second, volume)
    found = await_line(stage, nonce, second, SECOND, READ)
    seconds = watch.seconds()
    give_back(stage, volume, first, second, is_shared)
    return compared(
        str(written["sum"]), str(found.get("sum")), seconds, is_shared
    )


def why_not(stage: Stage[Any], attach: str | None) -> str:
    if not stage.params["dataplane_volume"]:
        return "stackproof_dataplane_volume is false"
    return (
        "it is the root disk of the first guest"
        if attach == "root"
        else "the run has none"
    )


def unwritten(line: Line) -> str:
    if not line.get("disk"):
        return "the first guest shows no disk with its id"
    return "the first guest cannot write to it, or has no sha256sum"


def inapplicable(reason: str) -> PathCheck:
    return PathCheck(
        CHECK,
        FIRST,
        SECOND,
        CheckStatus.NOT_APPLICABLE,
        f"no volume was handed over: {reason}",
    )


def give_back(
    stage: Stage[Any],
    volume: Resource,
    first: str,
    second: str,
    is_shared: bool,
) -> None:
    """Leave the volume with the first guest alone."""
    if is_shared:
        volumes.detach(stage, second, volume, status=volumes.IN_USE)
    else:
        volumes.detach(stage, second, volume)
        volumes.attach(stage, first, volume)


def await_line(
    stage: Stage[Any], nonce: str, server: str, guest: str, name: str
) -> Line:
    """Return what a guest shows once it has written to the volume, or read it."""
    nova = stage.cloud.compute

    def look() -> Look:
        line = line_of(read_console(nova, server), guest, name, nonce)
        return line is not None, "nothing yet" if line is None else name, line

    try:
        found: Line = stage.wait(
            f"the {guest} guest to show what it has {name}", look, console_pace
        )
    except DeadlinePassed:
        hint = "Read its console: openstack console log show. Look for the volume's id in the log of nova-compute."
        message = (
            f"the {guest} guest did not show what it has {name} on the volume"
        )
        raise StageError("volume_unread", message, hint=hint) from None
    return found


def compared(
    written: str, found: str, seconds: float, is_shared: bool
) -> PathCheck:
    is_same = found == written
    begin = "both have the volume" if is_shared else "the volume came"
    text = f"{begin} with what was written to it (1 MiB, SHA-256 {written[:SHOWN_DIGITS]}...)"
    if not SUM.fullmatch(found):
        text = "the volume cannot be read"
    elif not is_same:
        text = f"the volume has other content (SHA-256 {found[:SHOWN_DIGITS]}... and not {written[:SHOWN_DIGITS]}...)"
    return PathCheck(CHECK, FIRST, SECOND, passed(is_same), text, seconds)
