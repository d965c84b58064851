#!/usr/bin/python
# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: metadata
short_description: Sixth stage of a run, asks the guest what it has read
version_added: 0.1.0
description:
  - Reads the console until the guest has shown that it read the server's metadata and its user data.
  - With a floating IP, also sends the guest a ping and opens a TCP connection.
  - No console output, no lease, no metadata, wrong metadata and no user data are different findings.
extends_documentation_fragment:
  - stackproof.provision._stage.cloud
  - stackproof.provision._stage.run
  - stackproof.provision._stage.attributes
options:
  guest:
    description:
      - Whom to ask. With V(none) nobody is asked, and the stage is skipped, as the verdict says. That is for instances
        without a guest, as some drivers of nova make them.
    type: str
    choices: [console, none]
    default: console
  tcp_port:
    description: The guest's port that a TCP connection is opened to. A refusal by the guest proves the way, too.
    type: int
    default: 22
  timeout:
    description: How long the stage may take, in seconds.
    type: float
    default: 300
"""

EXAMPLES = r"""
- name: Ask the guest
  stackproof.provision.metadata:
    run_dir: "{{ run.directory }}"
    timeout: 600
"""

RETURN = r"""
record:
  description: The stage's record, as in C(run.json).
  returned: success
  type: dict
  contains:
    details:
      description: The guest's steps with its own times, and how it was reached.
      type: dict
      returned: always
error:
  description:
    - What went wrong, on what, what the cloud said, and what to look at; C(kind) is one of V(no_console), V(no_lease),
      V(no_metadata), V(wrong_metadata), V(no_user_data), V(no_proof) and V(unreachable), or of those that all stages
      have.
  returned: failure
  type: dict
"""

from ansible_collections.stackproof.provision.plugins.module_utils._act import guest, reach
from ansible_collections.stackproof.provision.plugins.module_utils._act.stage import run_stage
from ansible_collections.stackproof.provision.plugins.module_utils._cloud.connection import answer_of
from ansible_collections.stackproof.provision.plugins.module_utils._record.errors import DeadlinePassed, StageError

# A console is read by the compute host for us, which costs more than a look at a state.
CONSOLE_PERIOD = 0.5


def read_console(nova, server_id):
    answer = nova.post(f"/servers/{server_id}/action", json={"os-getConsoleOutput": {}}, repeat=True)
    if answer.status_code == 404:
        return ""  # the guest has not been started yet, or keeps no console
    return answer_of(answer)["output"] or ""


def follow_guest(stage, server, nonces):
    """Wait for the guest's proof. What it showed is in the details, whatever the end."""
    nova = stage.cloud.compute

    def look():
        seen = guest.read(read_console(nova, server["id"]), nonces)
        stage.details["guest"] = seen
        if guest.is_wrong(seen, server["id"], nonces):
            raise finding(seen, server, nonces)
        return guest.is_proved(seen), guest.progress(seen), seen

    try:
        stage.wait("the guest to show that it read metadata and user data", look, CONSOLE_PERIOD)
    except DeadlinePassed:
        raise finding(stage.details["guest"], server, nonces) from None


def finding(seen, server, nonces):
    kind, message, hint = guest.finding(seen, server["id"], nonces)
    return StageError(kind, f"the server {server['name']}: {message}", resource=server["name"], hint=hint)


def reach_guest(stage, address, port):
    """Ping and TCP from here; what this machine may not send is said, not guessed."""
    stage.begin(f"reaching the guest at {address}")
    reached = stage.details["reached"] = {"address": address}
    for way, attempt in (("ping", lambda: reach.ping(address)), ("tcp", lambda: reach.tcp(address, port))):
        try:
            stage.wait(f"an answer of {address} by {way}", lambda act=attempt, to=way: answered(reached, to, act()))
        except DeadlinePassed:
            message = f"the guest is up, but {address} does not answer {way}"
            hint = "Look at the security group, the router's gateway and the L3 agent, and this machine's way there."
            raise StageError("unreachable", message, resource=address, hint=hint) from None


def answered(reached, way, outcome):
    reached[way] = outcome
    return outcome["status"] != "silent", outcome["said"], outcome


def act(stage):
    run = stage.run
    if stage.params["guest"] == "none":
        stage.details["reason"] = "the guest is not to be asked"
        return "skipped"
    server, boot = run.resource("server"), run.stage("boot")
    if stage.check:
        return None
    if server is None:
        raise StageError("invalid", "there is no server yet", hint="Run the stage boot of this run first.")
    follow_guest(stage, server, guest.nonces(run.id, run.record["started"]))
    stage.details["lease_is_port_address"] = guest.lease_matches(
        stage.details["guest"], boot["details"].get("server", {}).get("fixed_ips", [])
    )
    network = run.stage("network") or {"details": {}}
    address = network["details"].get("floating_ip")
    if address:
        reach_guest(stage, address, stage.params["tcp_port"])
    return None


def main():
    options = {
        "guest": {"type": "str", "choices": ["console", "none"], "default": "console"},
        "tcp_port": {"type": "int", "default": 22},
    }
    run_stage("metadata", act, options, timeout=300)


if __name__ == "__main__":
    main()
