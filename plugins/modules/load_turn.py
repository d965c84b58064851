#!/usr/bin/python
# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: load_turn
short_description: 'Used by load: decides when an instance may begin'
version_added: 0.3.0
description:
  - With O(state=taken) it waits until the instance may begin, and returns whether it still may. With O(state=returned)
    its turn is free again.
  - Not more than O(parallel) instances have a turn at a time. An instance waits for O(before) others to end, and
    for O(after_s) seconds after its level began.
options:
  directory:
    description: Directory of the load test.
    type: path
    required: true
  target:
    description: Key of the instance.
    type: str
    required: true
  parallel:
    description: How many turns there are.
    type: int
    required: true
  before:
    description: How many other instances must have ended, which are those of the levels below.
    type: int
    default: 0
  after_s:
    description: How many seconds after the first instance of its level it may begin.
    type: float
    default: 0
  thresholds:
    description: Limits on the load test as it is until now. If one is broken, no further level is begun.
    type: list
    elements: dict
    default: []
  state:
    description: Whether the turn is taken or returned.
    type: str
    choices: [taken, returned]
    default: taken
author: stackproof contributors (@stackproof)
attributes:
  check_mode:
    description: In check mode there are no turns.
    support: full
seealso:
  - module: stackproof.provision.load
    description: Returns which instances there are.
"""

EXAMPLES = r"""
- name: Wait for a turn
  stackproof.provision.load_turn:
    directory: "{{ load.directory }}"
    target: "07"
    parallel: 4
"""

RETURN = r"""
waited_s:
  description: How long it waited, in seconds.
  returned: success
  type: float
  sample: 12.3
go:
  description: Whether the instance may begin. It may not once a limit is broken.
  returned: success
  type: bool
  sample: true
"""
