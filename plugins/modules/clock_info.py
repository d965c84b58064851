#!/usr/bin/python
# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: clock_info
short_description: 'Used by verify: measures the offset of a host''s clock'
version_added: 0.1.0
description:
  - Asks the host for its time several times, and takes the answer that came back soonest.
  - The host's time lies between question and answer, so half of the time between them is the error.
extends_documentation_fragment: [stackproof.provision._attributes.reads]
author: stackproof contributors (@stackproof)
seealso:
  - module: stackproof.provision.evidence
    description: Writes the offset into the record.
"""

EXAMPLES = r"""
- name: Measure the host's clock
  stackproof.provision.clock_info:
  register: clock
"""

RETURN = r"""
offset_s:
  description: How far the host's clock is ahead of the control node's, in seconds.
  returned: success
  type: float
error_s:
  description: By how much RV(offset_s) may be wrong.
  returned: success
  type: float
began:
  description: When the measurement began, in seconds since 1970 by the control node's clock.
  returned: success
  type: float
"""
