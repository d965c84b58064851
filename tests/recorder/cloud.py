# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the services' APIs answer to requests about a run's resources and about themselves, and the guest's console.

Which requests are made is in the recording itself: each is made again. To have one more recorded, add a line with its
name, method and path, in the ids of the recording.
"""

from __future__ import annotations

import contextlib
import json
import re

from lab_under_test import GROUPS, HOSTS, connect
from runs_under_test import kept_run
from tree import RECORDED

from recorder.making import lines, old_lines
from recorder.names import UUID, Names, same_ids
from recorder.rewriting import Rewriting
from recorder.times import Shift

CONTROLLER = "http://{}".format(HOSTS[GROUPS["controller"][0]]["ansible_host"])
PORTS = {"keystone": 5000, "glance": 9292, "neutron": 9696, "nova": 8774, "cinder": 8776}
# Whose answers do not begin with the name of a service
OF = {
    "nova": ("server", "actions", "servers by name", "flavors"),
    "neutron": ("network", "networks", "subnet", "ports", "group"),
    "cinder": ("volume", "volumes"),
    "glance": ("images",),
    "keystone": ("token",),
}
# What the answers to a path's last part show, by the kind that a ledger has
SHOWN = {"server": "server", "network": "network", "subnet": "subnet", "group": "security_group", "volume": "volume"}
ADMINS = ("nova services", "nova hypervisors", "neutron agents", "cinder services")
# From here on the cloud was asked about itself, at another time.
ITSELF = "nova services"
CONSOLE = "consoles/probe.txt"


def cloud(making):
    before = old_lines("cloud/answers.jsonl")
    start = next(number for number, line in enumerate(before) if line["name"] == ITSELF)
    with kept_run(making.work / "cloud") as outcome:
        answers = of_run(making, outcome, before[:start])
    # Nothing is made any more.
    answers += of_itself(making, outcome, before[start:])
    making.write("cloud/answers.jsonl", lines(answers))


def of_run(making, outcome, before):
    record, path_of = outcome.record, {line["name"]: line["path"].split("/") for line in before}
    made = {resource["kind"]: resource["id"] for stage in record["stages"] for resource in stage["resources"]}
    server = json.loads(next(line["text"] for line in before if line["name"] == "server"))["server"]
    names = Names([
        (record["run_id"], re.search(r"\d{8}-\d{6}-[0-9a-f]{6}", server["name"])[0]),
        *((made[kind], path_of[name][-1]) for name, kind in SHOWN.items()),
        (plain(action_of(record)), plain(path_of["actions"][-1])),
        (project_of(record), path_of["volume"][2]),
    ])  # fmt: skip
    asked = ask_all(making, before, names, made["server"])
    console = making.member.compute.get_server_console_output(made["server"])["output"]
    console = "\n" + "".join(f"{line}\n" for line in console.splitlines() if line.startswith("probe"))
    for pair in same_ids(console.splitlines(), (RECORDED / CONSOLE).read_text().splitlines()):
        names.add(*pair)
    made_at = json.loads(next(answer["text"] for answer in asked if answer["name"] == "server"))["server"]["created"]
    rewrite = Rewriting(names, Shift(made_at.removesuffix("Z"), server["created"].removesuffix("Z")), making.secrets)
    making.write(CONSOLE, rewrite.text(console))
    return [rewrite(answer) for answer in asked]


def of_itself(making, outcome, before):
    """The moment is that at which a compute was last heard."""
    was = next(re.search(r"[0-9a-f]{32}", line["path"])[0] for line in before if line["name"] == "cinder services")
    names = Names([(project_of(outcome.record), was)])
    asked = ask_all(making, before, names)
    rewrite = Rewriting(names, Shift(heard(asked), heard(before)), making.secrets)
    return [rewrite(answer) for answer in asked]


def project_of(record):
    return next(stage["details"]["project_id"] for stage in record["stages"] if stage["stage"] == "auth")


def action_of(record):
    """The path by which the run itself has asked what Nova did."""
    paths = [call["path"] for stage in record["stages"] for call in stage["calls"]]
    return next(path for path in paths if "/os-instance-actions/" in path).rpartition("/")[2]


def plain(request):
    return re.search(UUID, request)[0]


def heard(answers):
    services = json.loads(next(answer["text"] for answer in answers if answer["name"] == ITSELF))["services"]
    return next(
        service["updated_at"]
        for service in services
        if (service["binary"], service["host"]) == ("nova-compute", "compute2")
    )


def ask_all(making, before, names, server=None):
    """Each request with today's answer; what has its place in the old answer gets its name."""
    admin, answers = connect("lab-admin", project_name="lab"), []
    for line in before:
        name = line["name"]
        path = names.back().text(line["path"])
        query = f"?device_id={server}" if name == "ports" else ""
        answer = ask(admin if name in ADMINS else making.member, line, path + query)
        shown = {key: answer.headers[key] for key in line["headers"] if key in answer.headers}
        answers.append({**line, "path": path, "status": answer.status_code, "headers": shown, "text": answer.text})
        with contextlib.suppress(ValueError):
            for pair in same_ids(json.loads(answer.text), json.loads(line["text"])):
                names.add(*pair)
    return answers


def ask(cloud, line, path):
    name = line["name"]
    service = next((owner for owner, its in OF.items() if name in its), name.split()[0])
    address = f"{CONTROLLER}:{PORTS[service]}{path}"
    session = cloud.session
    if name == "token":
        return session.post(address, json=credentials(cloud), authenticated=False, raise_exc=False)
    version = line["headers"].get("openstack-api-version")
    headers = {"OpenStack-API-Version": version} if version else {}
    public = name.endswith(("unauth", "versions")) or name.startswith("keystone")
    return session.get(address, headers=headers, authenticated=not public, raise_exc=False)


def credentials(cloud):
    auth = cloud.config.config["auth"]
    user = {"name": auth["username"], "password": auth["password"], "domain": {"name": auth["user_domain_name"]}}
    project = {"name": auth["project_name"], "domain": {"name": auth["project_domain_name"]}}
    identity = {"methods": ["password"], "password": {"user": user}}
    return {"auth": {"identity": identity, "scope": {"project": project}}}
