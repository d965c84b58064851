# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The programs of others, each as a function that runs it on a lab and says how each of its tests ended."""

from __future__ import annotations

import configparser
import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path

import openstack

HERE = Path(__file__).parent
BIN = Path(sys.executable).parent
LOOKS = 30
# The client's words, in their order; after "until VALUE:" they are said until that is answered. The last ones remove
# what the others have made.
CLIENT = """
token issue
catalog list
image list
image show probe
flavor list
network create stranger
subnet create --network stranger --subnet-range 192.168.77.0/24 stranger
router create stranger
router add subnet stranger stranger
router set --external-gateway public stranger
security group create stranger
security group rule create --protocol icmp stranger
volume create --size 1 stranger
server create --image probe --flavor probe --network stranger --security-group stranger --wait stranger
server show stranger
console log show stranger
server add volume stranger stranger
until in-use: volume show --column status --format value stranger
server remove volume stranger stranger
until available: volume show --column status --format value stranger
server image create --wait --name stranger stranger
server stop stranger
until SHUTOFF: server show --column status --format value stranger
server start stranger
until ACTIVE: server show --column status --format value stranger
server delete --wait stranger
image delete stranger
volume delete stranger
router remove subnet stranger stranger
router delete stranger
network delete stranger
security group delete stranger
"""
TEMPEST = (
    r"tempest\.(api\.identity\.v3|api\.image\.v2|api\.compute\.servers\.test_server_actions|api\.volume\.test_"
    r"|api\.network\.test_|scenario\.test_server_basic_ops)"
)
TEMPEST_LINE = re.compile(r"^\{\d+\} (.+?)(?: \[[\d.]+s\])? \.\.\. (ok|FAILED|SKIPPED)", re.MULTILINE)


def run(words, log, **environment):
    """The status and the output of a command, which is also added to a log."""
    done = subprocess.run(
        [str(word) for word in words],
        capture_output=True,
        text=True,
        check=False,
        cwd=log.parent,
        env={**os.environ, **environment},
    )
    with log.open("a") as file:
        file.write(f"$ {' '.join(map(str, words))}\n{done.stdout}{done.stderr}\n")
    return done.returncode, done.stdout


def client(_cloud, work):
    """python-openstackclient"""
    results = {}
    for line in CLIENT.strip().splitlines():
        wanted, _colon, words = line.removeprefix("until ").rpartition(": ")
        for _time in range(LOOKS):
            status, output = run([BIN / "openstack", "--os-cloud", "lab", *words.split()], work / "client.log")
            well = status == 0 and wanted in ("", output.strip())
            if well or not wanted:
                break
            time.sleep(1)
        results[line] = "ok" if well else "failed"
    return results


def modules(_cloud, work):
    """Ansible's collection openstack.cloud"""
    # The repository's own settings are not meant.
    (work / "ansible.cfg").touch()
    environment = {
        "ANSIBLE_STDOUT_CALLBACK": "ansible.posix.json",
        "ANSIBLE_CONFIG": f"{work}/ansible.cfg",
        "OS_CLOUD": "lab",
    }
    _status, output = run([BIN / "ansible-playbook", HERE / "modules.yml"], work / "modules.log", **environment)
    tasks = json.loads(output[output.index("{") :])["plays"][0]["tasks"]
    return {
        task["task"]["name"]: "failed" if any(host.get("failed") for host in task["hosts"].values()) else "ok"
        for task in tasks
    }


def rally(cloud, work):
    """Rally's scenario that boots and deletes servers"""
    config = work / "rally.conf"
    config.write_text(f"[database]\nconnection = sqlite:///{work}/rally.sqlite\n")
    auth = cloud.config.config["auth"]
    admin = {
        key: auth[key] for key in ("username", "password", "project_name", "user_domain_name", "project_domain_name")
    }
    spec = {"openstack": {"auth_url": auth["auth_url"], "region_name": "RegionOne", "admin": admin}}
    (work / "deployment.json").write_text(json.dumps(spec))
    rally_command = [BIN / "rally", "--config-file", config]
    for words in (
        ["db", "recreate"],
        ["deployment", "create", "--name", "lab", "--filename", work / "deployment.json"],
    ):
        run([*rally_command, *words], work / "rally.log")
    run([*rally_command, "task", "start", HERE / "boot_and_delete.json"], work / "rally.log")
    _status, output = run([*rally_command, "task", "report", "--json"], work / "rally.log")
    results = {}
    for task in json.loads(output)["tasks"]:
        for subtask in task["subtasks"]:
            for workload in subtask["workloads"]:
                failed = sum(bool(turn["error"]) for turn in workload["data"])
                (name,) = workload["scenario"]
                results[name] = "failed" if failed or not workload["data"] else "ok"
    return results


def tempest(cloud, work):
    """Tempest: identity, image, server actions, volume, network, and the scenario server basic ops"""
    run([BIN / "tempest", "init", "tempest"], work / "tempest.log")
    place = work / "tempest"
    with (place / "etc/tempest.conf").open("w") as file:
        configuration(cloud, place).write(file)
    words = [
        BIN / "tempest",
        "run",
        "--config-file",
        place / "etc/tempest.conf",
        "--concurrency",
        "2",
        "--regex",
        TEMPEST,
    ]
    status, output = run(words, place / "tempest.log")
    results = {name: result.lower() for name, result in TEMPEST_LINE.findall(output)}
    # It may break off without a line of a test that failed.
    if status and "failed" not in results.values():
        results[f"tempest run (status {status})"] = "failed"
    return results


def configuration(cloud, place):
    """What Tempest has to know of the lab."""
    auth = cloud.config.config["auth"]
    image, flavor = cloud.image.find_image("probe"), cloud.compute.find_flavor("probe")
    config = configparser.ConfigParser(interpolation=None)
    config.read_dict(
        {
            "DEFAULT": {"log_dir": place / "logs"},
            "oslo_concurrency": {"lock_path": place / "tempest_lock"},
            "auth": {
                "use_dynamic_credentials": True,
                "admin_username": auth["username"],
                "admin_password": auth["password"],
                "admin_project_name": auth["project_name"],
                "admin_domain_name": "Default",
            },
            "identity": {"uri_v3": auth["auth_url"], "region": "RegionOne", "v3_endpoint_type": "public"},
            "compute": {
                "image_ref": image.id,
                "image_ref_alt": image.id,
                "flavor_ref": flavor.id,
                "flavor_ref_alt": flavor.id,
            },
            # The guest has no sshd, the hosts have no console proxy, and no host may copy a disk to another one.
            "validation": {"run_validation": False},
            "compute-feature-enabled": {
                "vnc_console": False,
                "resize": False,
                "cold_migration": False,
                "live_migration": False,
            },
            "network": {
                "public_network_id": cloud.network.find_network("public").id,
                "floating_network_name": "public",
            },
            "network-feature-enabled": {
                "api_extensions": ",".join(extension.alias for extension in cloud.network.extensions())
            },
            "volume": {"catalog_type": "block-storage", "build_timeout": 120},
            "volume-feature-enabled": {"backup": False},
            "service_available": {"swift": False},
        }
    )
    return config


def connected(cloud):
    return openstack.connect(cloud=cloud)


SUITES = {"client": client, "modules": modules, "rally": rally, "tempest": tempest}
