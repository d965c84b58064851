# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Lists the catalogue of faults of a cloud: the half open with its truths, and of the half kept counts alone.

The cloud is that of LAB_DIRECTORY; only its inventory and its back end of Neutron are read.
"""

from __future__ import annotations

from collections import Counter

from catalogue import KEPT, OPEN, catalogue


def lines(faults):
    """Yield a line for each open fault, then the counts of both halves by class and kind."""
    for fault in sorted(faults, key=lambda fault: (fault.fault_class, fault.kind or "", fault.name)):
        if fault.half == OPEN:
            truth = ", ".join(sorted(fault.components)) or f"no component; {' and '.join(fault.reason)}"
            hosts = f" on {', '.join(sorted(fault.hosts))}" if fault.hosts else ""
            yield f"{fault.name}: {fault.kind or fault.fault_class}, {fault.moment}: {truth}{hosts}"
    yield ""
    for half, name in ((OPEN, "open"), (KEPT, "kept")):
        counts = Counter((fault.fault_class, fault.kind or "") for fault in faults if fault.half == half)
        for (fault_class, kind), number in sorted(counts.items()):
            yield f"{name}: {fault_class} {kind}: {number}".replace(" :", ":")


if __name__ == "__main__":
    print("\n".join(lines(catalogue().values())))
