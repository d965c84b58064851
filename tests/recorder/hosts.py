# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the API and the hosts of the lab say of one instance.

Which commands are asked is in the recordings themselves: each is asked again. To have one more recorded, add a line
with its words, in the ids of the recording.
"""

from __future__ import annotations

import contextlib
import json
import re
import shlex
from typing import NamedTuple

from lab_under_test import lab_host
from runs_under_test import play

from recorder.following import Following
from recorder.making import ask, lines, old, old_lines, pretty
from recorder.names import Names, same_ids
from recorder.rewriting import Rewriting
from recorder.times import Shift

HOST, NETWORK, STORAGE = "compute2", "network1", "storage1"
# With this version Nova shows what a flavor has.
VERSION = "2.47"


class Asked(NamedTuple):
    """On which host the commands of a file are asked, and as whom."""

    host: str
    user: str = ""


FILES = {
    "compute1": Asked("compute1"),
    "compute2": Asked(HOST),
    "containers": Asked(NETWORK),
    "network1": Asked(NETWORK),
    "network1-odd": Asked(NETWORK),
    "refused": Asked(HOST, "nobody"),
    "root": Asked(HOST, "root"),
    "storage1": Asked(STORAGE),
    "storage1-odd": Asked(STORAGE),
}
SHOW = (
    "NRestarts,ExecMainStatus,Id,LoadState,ActiveState,FreezerState,SubState,UnitFileState,"
    "StateChangeTimestampMonotonic,ActiveEnterTimestampMonotonic"
)


def hosts(making):
    making.write("hosts/units.jsonl", lines(map(units_of, making.lab.hosts)))
    with making.only_on(HOST):
        outcome = making.run("hosts", cloud="lab", keep="always")
    try:
        record_instance(making, outcome)
    finally:
        status, output = play("cleanup", cloud="lab", run_dir=outcome.directory)
        assert status == 0, output


def record_instance(making, outcome):
    before = old("cloud/instance.json")
    (server,) = (line["id"] for line in outcome.ledger if line.get("kind") == "server" and line.get("id"))
    now = of_instance(making, server)
    rewrite = rewriting_of(making, now, before)
    making.write("cloud/instance.json", pretty(rewrite(now)))
    for name, asked in FILES.items():
        making.write(f"hosts/{name}.jsonl", lines(answers_of(name, asked, rewrite)))
    with without_dhcp(making, now["network"]["id"]):
        making.write("hosts/stopped.jsonl", lines(answers_of("stopped", Asked(NETWORK), rewrite)))


def of_instance(making, server):
    """What the API shows to a member and to an administrator, and what is made of it."""
    admin, member = making.lab.admin, making.member
    now = {}
    for who, cloud in (("member", member), ("admin", admin)):
        shown = cloud.compute.get(f"/servers/{server}", microversion=VERSION).json()["server"]
        network = cloud.network.get(f"/ports?device_id={server}").json()["ports"][0]["network_id"]
        now[who] = {"server": without_links(shown)}
        now[who]["ports"] = cloud.network.get(f"/ports?network_id={network}").json()["ports"]
    image = now["member"]["server"]["image"] = {"id": shown["image"]["id"]}
    now["admin"]["server"]["image"] = image
    now["network"] = admin.network.get(f"/networks/{network}").json()["network"]
    now["subnets"] = admin.network.get(f"/subnets?network_id={network}").json()["subnets"]
    now["image"] = member.image.get(f"/images/{image['id']}").json()
    options = {"cloud": "lab", "server": server}
    now["instance"] = ask("localhost", "instance", **options)["instance"]
    now["seen_by_admin"] = ask("localhost", "instance", **options, admin_cloud="lab-admin")["instance"]
    return now


def without_links(server):
    return {name: value for name, value in server.items() if name != "links"}


def rewriting_of(making, now, before):
    """The server was made when the old one was: by that the tests know which lines of logs are read."""
    runs = [re.search(r"\d{8}-\d{6}-[0-9a-f]{6}", state["instance"]["server"]["name"])[0] for state in (now, before)]
    names = Names([tuple(runs)])
    for part in ("instance", "member", "admin"):
        for pair in same_ids(now[part], before[part]):
            names.add(*pair)
    for pair in same_ids(now, before):
        names.add(*pair)
    made = [state["instance"]["server"]["created"].removesuffix("Z") for state in (now, before)]
    return Rewriting(names, Shift(*made), making.secrets)


def answers_of(name, asked, rewrite):
    """Each command of the old recording with today's answer, in the ids of the old one."""
    following, rows = Following(rewrite.back), []
    host = lab_host(asked.host)
    for line in old_lines(f"hosts/{name}.jsonl"):
        words = following.words(line["words"])
        answer = host.run(shlex.join([*prefix(asked.user), "env", "LC_ALL=C", *words]))
        following.answered(words, answer.stdout, line["out"])
        out = without_pools(answer.stdout) if "dump" in words else answer.stdout
        rows.append({"words": words, "status": answer.rc, "out": out, "errors": answer.stderr})
    return [rewrite(json.loads(following.as_before(json.dumps(row)))) for row in rows]


def without_pools(text):
    """What Ceph says of its OSDs; the rest is long, and nobody asks for it."""
    dump = json.loads(text)
    return json.dumps({name: value for name, value in dump.items() if name != "pools"}) + "\n"


def prefix(user):
    return ["sudo", "-n", "-u", user, "--"] if user else []


@contextlib.contextmanager
def without_dhcp(making, network):
    """The agent is stopped, and the processes of a network have ended; when it starts, it starts them again."""
    making.lab.run(NETWORK, "systemctl stop neutron-dhcp-agent")
    try:
        # The brackets keep the command from finding itself.
        making.lab.run(NETWORK, f"pkill --full '[/]{network}/'; pkill --full '[/]{network}.conf'; sleep 1")
        yield
    finally:
        making.lab.run(NETWORK, "systemctl start neutron-dhcp-agent")


def units_of(host):
    before = next(line for line in old_lines("hosts/units.jsonl") if line["host"] == host)
    names = list(before["show"])
    run = lab_host(host).check_output
    shown = run(shlex.join(["systemctl", "show", "--all", f"--property={SHOW}", "--", *names]))
    states = run("ps -e -o unit=,stat=").splitlines()
    blocks = [block + "\n" for block in shown.strip().split("\n\n")]
    assert len(blocks) == len(names), shown
    up = run("cat /proc/uptime")
    return {"host": host, "show": dict(zip(names, blocks)), "ps": "\n".join(sorted(set(states))) + "\n", "uptime": up}
