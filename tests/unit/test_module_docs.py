# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What ansible-doc shows: the stages can be told from the rest, and samples have the shape of results."""

from __future__ import annotations

import json

import jsonschema
import pytest
from module_docs import block_of
from tree import ROOT

SCHEMA = json.loads((ROOT / "roles/report/files/run.schema.json").read_text())
STAGES = {
    "auth": "First",
    "image": "Second",
    "network": "Third",
    "volume": "Fourth",
    "boot": "Fifth",
    "metadata": "Sixth",
    "dataplane": "Seventh",
    "journey": "Eighth",
}
HOST_TRUTHS = (
    "domain_info",
    "ovs_port_info",
    "ovn_port_info",
    "dhcp_lease_info",
    "metadata_proxy_info",
    "log_info",
    "rbd_info",
)
ENDS = ("run", "cleanup", "report", "preflight", "sweep", "host_checks", "diagnosis", "instance", "capacity_info")
# A compute host that is left out, the lines of a sweep's end, and the errors of two stages were not recorded.
WITHOUT_SAMPLE = {("preflight", "excluded"), ("sweep", "summary"), ("image", "error"), ("network", "error")}


def assert_valid(value, definition):
    jsonschema.Draft202012Validator({**SCHEMA["$defs"][definition], "$defs": SCHEMA["$defs"]}).validate(value)


@pytest.mark.parametrize(("module", "ordinal"), STAGES.items())
def test_a_stage_says_which_it_is_and_which_are_beside_it(module, ordinal):
    document = block_of(module, "DOCUMENTATION")
    assert document["short_description"].startswith(f"{ordinal} stage of a run: ")
    order = ["run", *STAGES, "report"]
    place = order.index(module)
    beside = [entry["module"].rpartition(".")[2] for entry in document["seealso"]]
    assert beside[:2] == [order[place - 1], order[place + 1]]
    assert f"P(stackproof.provision.{module}#role)" in " ".join(document["notes"])


def test_no_other_module_looks_like_a_stage():
    modules = {path.stem for path in (ROOT / "plugins/modules").glob("*.py")}
    for module in modules - set(STAGES):
        assert "stage of a run" not in block_of(module, "DOCUMENTATION")["short_description"]
    for module in HOST_TRUTHS:
        assert block_of(module, "DOCUMENTATION")["short_description"].startswith("Asks a host: ")


@pytest.mark.parametrize("module", STAGES)
def test_the_sample_of_a_stage_is_a_record_by_the_schema(module):
    parts = block_of(module, "RETURN")["record"]["contains"]
    assert_valid({**{name: part["sample"] for name, part in parts.items()}, "error": None}, "stage")
    assert parts["stage"]["sample"] == module


@pytest.mark.parametrize("module", ["auth", "volume", "boot", "metadata"])
def test_the_sample_of_an_error_is_one_by_the_schema(module):
    assert_valid(block_of(module, "RETURN")["error"]["sample"], "failure")


@pytest.mark.parametrize("module", ["report", "diagnosis"])
def test_the_sample_of_a_verdict_is_one_by_the_schema(module):
    assert_valid(block_of(module, "RETURN")["verdict"]["sample"], "verdict")


@pytest.mark.parametrize("module", [*STAGES, *ENDS, *HOST_TRUTHS])
def test_what_operators_read_has_a_sample(module):
    parts = block_of(module, "RETURN")
    without = {name for name, part in parts.items() if "sample" not in part and "contains" not in part}
    assert {(module, name) for name in without} == {pair for pair in WITHOUT_SAMPLE if pair[0] == module}
