# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Causes as the model has them, with symptoms that are made by hand."""

from __future__ import annotations

from ansible_collections.stackproof.provision.plugins.module_utils._judge import world
from ansible_collections.stackproof.provision.plugins.module_utils._record import shapes


def cause(component, host, *found, kind=world.COMPONENT):
    """A cause with its symptoms, the weightiest first."""
    about = {"kind": kind, "component": component, "host": host, "score": 9.0, "confidence": 0.9}
    return {**about, "symptoms": list(found)}


def seen(kind, component="x", host="h", text="is not well", **more):
    return shapes.symptom(kind, component, text, host=host, **more)


def cut(component="nova-compute", host="c1", peer="rabbitmq", peer_host="ctl", only_from_here=True, **more):
    """A peer that does not answer a host."""
    about = {"peer": peer, "peer_host": peer_host, "how": "silent", "address": "10.0.0.1", "port": 5672, **more}
    return seen("reach", component, host, f"gets no connection to {peer}", only_from_here=only_from_here, **about)
