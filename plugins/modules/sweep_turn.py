#!/usr/bin/python
# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: sweep_turn
short_description: 'Used by acceptance: limits how many targets run in parallel'
version_added: 0.1.0
description:
  - With O(state=taken) it waits until one of the turns is free, and takes it. With O(state=returned) it frees the turn.
    The turns belong to one C(ansible-playbook), and end with it.
  - Together with the strategy P(ansible.builtin.host_pinned#strategy) a target starts when another one ends. With
    C(serial) it would wait for the slowest of its batch, and C(throttle) limits tasks, not targets.
options:
  directory:
    description: Directory of the sweep.
    type: path
    required: true
  target:
    description: Key of the target.
    type: str
    required: true
  parallel:
    description: How many turns there are.
    type: int
    default: 4
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
  - module: stackproof.provision.sweep
    description: Defines the targets.
"""

EXAMPLES = r"""
- name: Wait for a turn
  stackproof.provision.sweep_turn:
    directory: "{{ sweep.directory }}"
    target: compute1
"""

RETURN = r"""
waited_s:
  description: How long it waited, in seconds.
  returned: success
  type: float
"""
