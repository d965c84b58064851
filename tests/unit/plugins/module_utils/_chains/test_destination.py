# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The chain of the host to which a server could not move, in a record of a real cloud with two compute hosts."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from typing import Any

import pytest
from ansible_collections.stackproof.provision.plugins.module_utils._chains.all_chains import walked
from ansible_collections.stackproof.provision.plugins.module_utils._model.chain import Chain, LinkState
from ansible_collections.stackproof.provision.plugins.module_utils._model.codec import from_json
from ansible_collections.stackproof.provision.plugins.module_utils._model.record import Record
from tree import RECORDED

Json = dict[str, Any]
Change = Callable[[Json], None]
OF_TWO: Json = json.loads((RECORDED / "chains" / "guest_path.json").read_text())
SOURCE, DESTINATION = "compute1", "compute2"


def chains_of(*changes: Change, action: str = "migrate") -> dict[str, Chain]:
    record = copy.deepcopy(OF_TWO)
    failed = record["stages"].pop()
    actions = [{"action": action, "request_id": None}]
    leg = {"operation": "move", "status": "failed", "actions": actions, "host_before": SOURCE}
    record["stages"].append({**failed, "stage": "journey", "details": {"legs": [leg]}})
    for change in changes:
        change(record)
    return {chain.name: chain for chain in walked(from_json(Record, record), "journey")}


def agent(record: Json, host: str) -> Json:
    found: Json = next(one for one in record["agents"] if (one["component"], one["host"]) == ("neutron-l2-agent", host))
    return found


def mapped_elsewhere(host: str) -> Change:
    return lambda record: agent(record, host).update(physical={"other": "br-ex"})


def test_a_host_that_does_not_carry_the_network_cannot_take_its_servers() -> None:
    link = chains_of(mapped_elsewhere(DESTINATION))["destination_port"].broken
    assert link is not None
    assert (link.code, link.owner, link.host) == ("destination_agent_carries_network", "neutron-l2-agent", DESTINATION)
    assert (link.found, link.expected) == ("other", "public")


@pytest.mark.parametrize("changes", [[], [mapped_elsewhere(SOURCE)]])
def test_a_host_that_can_take_them_holds(changes: list[Change]) -> None:
    chain = chains_of(*changes)["destination_port"]
    assert chain.broken is None
    assert LinkState.HOLDS in {link.state for link in chain.links}


def test_what_does_not_move_has_no_destination() -> None:
    assert chains_of(action="rebuild") == {}
