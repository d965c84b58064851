# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Returns the values that a level gives a run, for the playbooks verify and acceptance."""

from __future__ import annotations

DOCUMENTATION = r"""
name: level_values
short_description: Finds the values that a level gives a run
version_added: 1.0.0
description:
  - A level names values of variables. A variable that is set anywhere else keeps its value.
  - A part of a level that needs a variable which is not set is left out. The last item names all such parts.
  - An unknown level has no values. The module that begins the run refuses it.
options:
  _terms:
    description: Name of the level. An empty one stands for none.
    type: list
    elements: str
    required: true
author: stackproof contributors (@stackproof)
"""

EXAMPLES = r"""
- name: Take the values of the level
  ansible.builtin.set_fact:
    "{{ item.name }}": "{{ item.value }}"
  loop: "{{ query('stackproof.provision.level_values', 'full') }}"
"""

RETURN = r"""
_list:
  description: The C(name) and the C(value) of each variable to set.
  type: list
  elements: dict
  sample:
    - {name: stackproof_router, value: always}
    - {name: stackproof_left_out, value: [{part: stackproof_floating_ip, needs: stackproof_external_network}]}
"""

from collections.abc import Mapping, Sequence
from typing import Any

from ansible.plugins.lookup import LookupBase
from ansible_collections.stackproof.provision.plugins.module_utils._model import (
    codec,
)
from ansible_collections.stackproof.provision.plugins.plugin_utils import (
    _levels,
)

# Where the playbooks keep the parts that are left out
LEFT_OUT = "stackproof_left_out"


class LookupModule(LookupBase):
    def run(
        self,
        terms: Sequence[str],
        variables: Mapping[str, Any] | None = None,
        **_options: Any,
    ) -> list[dict[str, Any]]:
        given = variables or {}
        (name,) = terms
        if name not in _levels.names_of_levels():
            return []
        level = _levels.read_level(name)
        taken = _levels.take(
            level,
            given,
            lambda variable: self._templar.template(given[variable]),
        )
        values = {**taken.values, LEFT_OUT: codec.to_json(taken.left_out)}
        return [
            {"name": variable, "value": value}
            for variable, value in values.items()
        ]
