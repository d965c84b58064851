# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Reports that sos makes on the hosts of a lab."""

from __future__ import annotations

import base64
import tarfile
from concurrent.futures import ThreadPoolExecutor
from io import BytesIO

AT_ONCE = 3
# What a report has of the kernel and of /usr is larger than all the rest, and nobody reads it. A command to a service
# that hangs may take 5 min otherwise, and each plugin has many.
COLLECT = (
    "rm -rf /root/sos-of-test && mkdir -p /root/sos-of-test && "
    "sos report --batch --quiet --build --all-logs --cmd-timeout 10 --tmp-dir /root/sos-of-test >/dev/null 2>&1; "
    "tar -C /root/sos-of-test --exclude='./*/sys' --exclude='./*/proc/kallsyms' --exclude='./*/usr' -cz . 2>/dev/null "
    "| base64 -w0; rm -rf /root/sos-of-test"
)


def collect(hosts, top):
    """Put the reports of hosts, by their names, into a folder. Return the names of those that have made none."""
    with ThreadPoolExecutor(AT_ONCE) as pool:
        reports = {name: pool.submit(host.run, COLLECT) for name, host in hosts.items()}
    missing = []
    for name, report in reports.items():
        packed = report.result().stdout
        if not packed:
            missing.append(name)
            continue
        with tarfile.open(fileobj=BytesIO(base64.b64decode(packed))) as archive:
            archive.extractall(top, filter=plain)
    return missing


def plain(member, path):
    """A file or a folder of an archive; a pipe, a socket or a link that leads out of it is left out."""
    return tarfile.data_filter(member, path) if member.isfile() or member.isdir() else None
