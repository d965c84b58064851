# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Flow files that anybody may have written: each is refused with its reason, or followed."""

from __future__ import annotations

import as_json
import pytest
import yaml
from ansible_collections.stackproof.provision.plugins.module_utils._match import flow, follow
from ansible_collections.stackproof.provision.plugins.module_utils._record.errors import StageError
from mutations import mutated, mutated_bytes
from tree import FLOWS

FILES = {path.name: path.read_bytes() for path in sorted(FLOWS.glob("*.yml"))}
PARSED = {name: yaml.load(text, yaml.CSafeLoader) for name, text in FILES.items()}


def written(chance):
    name = chance.choice(list(FILES))
    if chance.random() < 0.3:
        return name, mutated_bytes(FILES[name], chance)
    # Most changes of a whole flow are at steps that look alike: a few of them are enough.
    steps = chance.sample(PARSED[name]["steps"], min(5, len(PARSED[name]["steps"])))
    return name, yaml.safe_dump(mutated({**PARSED[name], "steps": steps}, chance), allow_unicode=True).encode()


def loaded_or_refused(path):
    """Return (flow, None), or (None, the error) if it is refused."""
    try:
        return flow.load(str(path)), None
    except StageError as refusal:
        return None, refusal


@pytest.mark.cases(400)
def test_a_flow_is_refused_or_followed(cases, tmp_path, followed):
    for name, text in FILES.items():
        (tmp_path / name).write_bytes(text)
    record = as_json.typed(followed.record)
    for chance in cases:
        name, text = written(chance)
        path = tmp_path / f"own-{name}"
        path.write_bytes(text)
        loaded, refusal = loaded_or_refused(path)
        if refusal:
            assert refusal.record["kind"] in ("config", "invalid")
            continue
        follow.wanted(record, [loaded])
        follow.follow(record, [loaded], {"log": followed.logs})
