# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Runs the look at a live cloud with which a diagnosis of an operation begins.

It has the name of its module as the plugin run has, and for the same reason: no worker loads the SDK once more.
"""

from __future__ import annotations

from ansible_collections.stackproof.provision.plugins.action import local


class ActionModule(local.ActionModule):
    pass
