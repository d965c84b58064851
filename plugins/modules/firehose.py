#!/usr/bin/python
# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: firehose
short_description: 'Used by verify: records the messages that pass through RabbitMQ'
version_added: 0.1.0
description:
  - Switches RabbitMQ's tracing (its firehose) on for virtual hosts, and records sender, method and topic of messages.
  - Only time, method, topic and ids of a message are kept, never its content, because that holds tokens and passwords.
    They are in a directory below C(/run) that only root may read. Only the messages of one run are returned.
  - The recorder is a transient service of systemd, and the C(ExecStopPost) of the service undoes all changes.
    So tracing ends, and user, queue and directory are removed, when it is stopped, when it is killed, and at its
    deadline.
  - If tracing was already on, it stays on.
options:
  state:
    description: V(started) starts a recorder. V(stopped) stops it, undoes its changes, and returns the messages.
    type: str
    choices: [started, stopped]
    required: true
  run_id:
    description: The run to record. Several runs may be recorded in parallel.
    type: str
    required: true
  deadline:
    description: After how many seconds the recorder stops by itself. Its messages are then lost.
    type: int
    default: 1800
  vhosts:
    description:
      - The virtual hosts. Those that the broker does not have are left out.
      - C(vhost), its name in 0.1.0, is the same.
    type: list
    elements: str
    default: [/]
    aliases: [vhost]
  pythons:
    description: Paths of other interpreters to try if that of this module does not have Python's C(amqp).
    type: list
    elements: str
    default: []
  prefix:
    description: Words to put before C(rabbitmqctl), if it is in a container.
    type: list
    elements: str
    default: []
  wanted:
    description: The ids to look for, as M(stackproof.provision.flow_info) returns them. Without it nothing is returned.
    type: dict
    default: {}
notes:
  - Run it on one host of the broker, as root (C(become)).
  - Needs systemd there, and Python's C(amqp), which OpenStack's packages for RabbitMQ bring. Nothing is installed.
  - A traced broker has more work to do. C(docs/results.md) has figures from the lab.
author: stackproof contributors (@stackproof)
attributes:
  check_mode:
    description: Does nothing in check mode.
    support: full
seealso:
  - module: stackproof.provision.flow
    description: Uses the messages.
"""

EXAMPLES = r"""
- name: Start to record
  stackproof.provision.firehose:
    state: started
    run_id: "{{ run.run_id }}"
  become: true

- name: Stop, and return the messages
  stackproof.provision.firehose:
    state: stopped
    run_id: "{{ run.run_id }}"
    wanted: "{{ looked.wanted }}"
  become: true
"""

RETURN = r"""
events:
  description: The run's messages by this host's own clock, with C(at), C(action), C(topic), C(method), C(keys).
  returned: when O(state=stopped)
  type: list
  elements: dict
foreign:
  description: Whether tracing was on before, and so stays on.
  returned: success
  type: bool
why:
  description: Why there are no events, or not all of them.
  returned: when O(state=stopped)
  type: str
"""

import inspect
import json
import os
import re
import shutil
import sys
from collections.abc import Mapping
from typing import Any

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.stackproof.provision.plugins.module_utils._collect.recorders import (
    firehose,
    recorded_messages,
)
from ansible_collections.stackproof.provision.plugins.module_utils._model.codec import (
    to_json,
)
from ansible_collections.stackproof.provision.plugins.module_utils._model.queue import (
    RecordedMessages,
)

PLACE = "/run"
RUN_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9-]{0,62}")


def start(module: AnsibleModule, name: str, directory: str) -> dict[str, Any]:
    params = module.params
    if os.path.isdir(directory):
        return {"changed": False, "foreign": was_traced(directory)}
    python = interpreter(module)
    os.mkdir(directory, 0o700)
    config = {
        "name": name,
        "seconds": params["deadline"],
        "vhosts": params["vhosts"],
        "prefix": params["prefix"],
    }
    program = os.path.join(directory, "firehose.py")
    for path, text in (
        (program, inspect.getsource(firehose)),
        (os.path.join(directory, "config.json"), json.dumps(config)),
    ):
        with open(
            path, "w", encoding="utf-8", opener=firehose.private
        ) as file:
            file.write(text)
    properties = {
        "Type": "notify",
        "NotifyAccess": "main",
        "RuntimeMaxSec": params["deadline"],
        "ExecStopPost": f"{python} {program} restore {directory}",
        "MemoryMax": "512M",
        "Nice": 10,
    }
    words = [f"--property={key}={value}" for key, value in properties.items()]
    systemd_run = [
        module.get_bin_path("systemd-run", required=True),
        "--quiet",
        "--collect",
        f"--unit={name}",
    ]
    recorder = [python, program, "record", directory]
    status, _out, errors = module.run_command(
        [*systemd_run, *words, "--setenv=HOME=/root", *recorder]
    )
    if status:
        undo(module, name, directory)
        log = module.run_command(
            [
                "journalctl",
                "--quiet",
                "--output=cat",
                "--lines=20",
                f"--unit={name}",
            ]
        )[1]
        reasons = [line for line in log.splitlines() if "Error" in line]
        module.fail_json(
            msg=f"the recorder did not start: {reasons[-1] if reasons else errors.strip()}"
        )
    return {"changed": True, "foreign": was_traced(directory)}


def interpreter(module: AnsibleModule) -> str:
    """Return the first interpreter that has amqp."""
    candidates: list[str] = [sys.executable, *module.params["pythons"]]
    chosen = next(
        (python for python in candidates if has_amqp(module, python)), ""
    )
    if not chosen:
        module.fail_json(
            msg="No Python on this host has the module amqp, with which OpenStack's services reach RabbitMQ (tried: "
            f"{', '.join(candidates)}). Run this on a host of the broker that has it (Debian's package is "
            "python3-amqp), or name the services' own interpreter (queue_pythons in the file of the platform)."
        )
    return chosen


def has_amqp(module: AnsibleModule, python: str) -> bool:
    return (
        os.access(python, os.X_OK)
        and module.run_command([python, "-c", "import amqp"])[0] == 0
    )


def was_traced(directory: str) -> bool:
    """Return whether tracing was on before the recorder began."""
    with open(os.path.join(directory, "found.json"), encoding="utf-8") as file:
        return bool(json.load(file)["foreign"])


def stop(module: AnsibleModule, name: str, directory: str) -> dict[str, Any]:
    if not os.path.isdir(directory):
        reason = "the recorder had ended before: at its deadline, or with the broker"
        return {"changed": False, **to_json(RecordedMessages(reason=reason))}
    recorded = recorded_in(
        directory, module.params["wanted"].get("keys") or {}
    )
    undo(module, name, directory)
    return {"changed": True, **to_json(recorded)}


def recorded_in(directory: str, keys: Mapping[str, Any]) -> RecordedMessages:
    """Return what was recorded, as far as that can be read."""
    foreign, reason = False, None
    events: list[dict[str, Any]] = []
    try:
        foreign = was_traced(directory)
        path = os.path.join(directory, "messages")
        with open(path, encoding="utf-8") as lines:
            events = [
                event.to_json()
                for event in recorded_messages.read(lines, keys)
            ]
        if os.path.getsize(path) >= firehose.KEPT:
            reason = f"more than {firehose.KEPT >> 20} MiB were recorded, and the rest not"
    except OSError as exc:
        reason = f"the recorder has not begun: {exc.strerror}"
    return RecordedMessages(foreign, tuple(events), reason)


def undo(module: AnsibleModule, name: str, directory: str) -> None:
    """Let systemd stop the recorder and undo its changes; undo them here if systemd has no such service any more."""
    module.run_command(["systemctl", "stop", f"{name}.service"])
    if os.path.exists(os.path.join(directory, "config.json")):
        with open(
            os.path.join(directory, "config.json"), encoding="utf-8"
        ) as file:
            config = json.load(file)
        try:
            firehose.restore(directory, config)
        except SystemExit as exc:
            shutil.rmtree(directory)
            module.fail_json(
                msg=f"the changes for the recorder {name} could not be undone: {exc}"
            )


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "state": {
                "type": "str",
                "choices": ["started", "stopped"],
                "required": True,
            },
            "run_id": {"type": "str", "required": True},
            "deadline": {"type": "int", "default": 1800},
            "vhosts": {
                "type": "list",
                "elements": "str",
                "default": ["/"],
                "aliases": ["vhost"],
            },
            "pythons": {"type": "list", "elements": "str", "default": []},
            "prefix": {"type": "list", "elements": "str", "default": []},
            "wanted": {"type": "dict", "default": {}},
        },
        supports_check_mode=True,
    )
    run_id = module.params["run_id"]
    if not RUN_ID.fullmatch(run_id):
        module.fail_json(
            msg=f"{run_id!r} is not a run id: letters, digits and hyphens"
        )
    if module.params["deadline"] <= 0:
        module.fail_json(
            msg=f"deadline cannot be {module.params['deadline']}: the recorder must end by itself"
        )
    if os.geteuid():
        module.fail_json(msg="only root may trace the broker: set become")
    if module.check_mode:
        module.exit_json(
            changed=False,
            **to_json(
                RecordedMessages(reason="in check mode nothing is recorded")
            ),
        )
    name = firehose.MARK + run_id
    act = {"started": start, "stopped": stop}[module.params["state"]]
    result = act(module, name, os.path.join(PLACE, name))
    if result["foreign"]:
        module.warn("tracing of the broker was on before, and stays on")
    module.exit_json(**result)


if __name__ == "__main__":
    main()
