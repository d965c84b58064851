#!/usr/bin/python
# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: load_turn
short_description: 'Used by load: decides when an instance may start'
version_added: 1.0.0
description:
  - With O(state=taken) it waits until the instance may start, and returns whether it still may. With O(state=returned)
    it frees the turn.
  - At most O(parallel) instances have a turn in parallel. An instance waits for O(before) others to end, and until
    O(after_s) seconds after its level started.
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
    description: How many other instances, those of the levels below, must have ended.
    type: int
    default: 0
  after_s:
    description: How long after the first instance of its level it may start, in seconds.
    type: float
    default: 0
  thresholds:
    description: Limits on the load test so far. Once one is exceeded, no further level starts.
    type: list
    elements: dict
    default: []
  state:
    description: Whether to take or to return the turn.
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
    description: Defines the instances.
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
  description: Whether the instance may start. It may not once a limit is exceeded.
  returned: success
  type: bool
  sample: true
"""
