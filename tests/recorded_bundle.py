# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The logs of a recorded boot, as somebody has collected them from the hosts."""

from __future__ import annotations

import re
import uuid
from datetime import datetime, timezone
from types import SimpleNamespace

from ansible_collections.stackproof.provision.plugins.module_utils._collect.logs import line_formats
from tree import RECORDED

ANSWERED = (
    "2026-11-21 20:13:27.230 820 DEBUG oslo_messaging._drivers.amqpdriver [-] received reply msg_id: "
    "83c2af4be4894ed697cf086f7dcbb5f4 __call__ /usr/lib/python3/dist-packages/oslo_messaging/_drivers/amqpdriver.py:594"
)
PROVISIONED = (
    "2026-11-21 14:43:34.000 2229 DEBUG neutron.db.provisioning_blocks [None req-b228015a-0dae-4cff-9709-7833ca62c0e6 "
    "- - - - - -] Provisioning complete for port af65584b-2706-4cfa-b540-f8f67310cbfc triggered by entity DHCP."
)
LOGS = RECORDED / "followed/logs"
# The boot that is in these logs, and how far its host is to the east
BOOT = SimpleNamespace(
    server="593bff83-ecde-4bff-b038-2774dcc49b76",
    request="req-cde46fff-5e77-4a4c-ac81-ad543be792ff",
    client="req-03b40d4a-6468-4371-a2d5-864347bcb436",
    port="af65584b-2706-4cfa-b540-f8f67310cbfc",
    volume="1f49c276-3851-46fe-83a0-b2cb778ef860",
    zones={"compute2": 19800},
)


class Bundle:
    """Collected logs of the recorded boot, laid out and damaged as a test says."""

    def __init__(self, top):
        self.top, self.lines, self.boot = top, {}, BOOT
        top.mkdir()
        for path in sorted(LOGS.rglob("*.log")):
            host, _var, _log, *rest = path.relative_to(LOGS).parts
            self.lines[host, "/".join(rest)] = path.read_text(errors="surrogateescape").splitlines()
        # Not all lines were recorded, and no boot goes on without these two.
        self.lines["compute2", "nova/nova-compute.log"].insert(18, ANSWERED)
        rpc = self.lines["controller1", "neutron/neutron-rpc-server.log"]
        rpc.insert(next(number for number, line in enumerate(rpc) if line > PROVISIONED), PROVISIONED)

    def times(self, host, lines):
        """Each line with its time; one without any has that of the line before it."""
        at = None
        for line in lines:
            parsed = line_formats.parse(line, 1795272180.0, BOOT.zones.get(host, 0))
            at = parsed.at if parsed and parsed.at is not None else at
            yield at, line

    def stop(self, moment):
        """Have nothing happen after a time of the day; the logs go on, without a word on the boot."""
        placement = "controller1", "placement/placement-api.log"
        asked = next(line for line in self.lines[placement] if " status: " in line)
        self.cut(moment)
        self.add("controller1", "nova/nova-api.log", "2026-11-21 14:53:00.000 7 INFO nova [-] a")
        # Somebody else is served.
        self.add(
            *placement, re.sub(r"[0-9a-f]{8}-[0-9a-f-]{27}", str(uuid.UUID(int=7)), asked).replace("14:43", "14:53")
        )

    def cut(self, moment):
        """Have the logs end at a time of the day."""
        last = datetime.fromisoformat(f"2026-11-21T{moment}+00:00").timestamp()
        for (host, name), lines in self.lines.items():
            self.lines[host, name] = [line for at, line in self.times(host, lines) if at is None or at <= last]

    def add(self, host, name, *lines):
        self.lines.setdefault((host, name), []).extend(lines)

    def without(self, *names):
        self.lines = {key: lines for key, lines in self.lines.items() if not any(name in key[1] for name in names)}

    def write(self, layout="{host}/var/log/{name}"):
        for (host, name), lines in self.lines.items():
            path = self.top / layout.format(host=host, name=name, base=name.rpartition("/")[2])
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("a", errors="surrogateescape") as stream:
                stream.write("\n".join([*lines, ""]))
        return str(self.top)

    def write_syslog(self, name="messages"):
        """All in one file, as a server for syslog has it of all hosts."""
        entries = []
        for (host, path), lines in self.lines.items():
            program = path.rpartition("/")[2].removesuffix(".log")
            for at, line in self.times(host, lines):
                stamp = datetime.fromtimestamp(at or 1795271880, timezone.utc)
                entries.append((stamp, f"{stamp:%Y-%m-%dT%H:%M:%S.%f}+00:00 {host} {program}[7]: {line}"))
        (self.top / name).write_text("".join(f"{line}\n" for _stamp, line in sorted(entries)), errors="surrogateescape")
        return str(self.top)
