# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a module says of itself, as ansible-doc reads it."""

from __future__ import annotations

import re

import yaml
from tree import ROOT


def block_of(module, name):
    """A block of a module's documentation: DOCUMENTATION or RETURN."""
    source = (ROOT / f"plugins/modules/{module}.py").read_text()
    return yaml.safe_load(re.search(rf'^{name} = r"""\n(.*?)"""', source, re.MULTILINE | re.DOTALL)[1])


def options_of(module):
    """The options of a module, those of the fragments of hosts and of the way to the cloud among them."""
    fragments = [(ROOT / f"plugins/doc_fragments/{name}.py").read_text() for name in ("_host", "_stage")]
    names = re.findall(r"^  (\w+):$", "".join(fragments), re.MULTILINE)
    return {*block_of(module, "DOCUMENTATION")["options"], *names}
