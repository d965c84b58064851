#!/usr/bin/python
# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: cache
short_description: Lists what labs have cached on this machine, and removes what none needs
version_added: 0.2.0
description:
  - The cache has root file systems, and what devstacks and clouds of kolla were built of. Each has a folder of its own,
    which another list of packages, another release or other sources do not use.
  - A folder is needed if a lab of this machine was made of it, running or not, or if O(asked) has it.
  - Meant for the role P(stackproof.lab.lab#role).
author: stackproof contributors (@stackproof)
options:
  folder:
    description: The folder of the cache.
    type: path
    required: true
  asked:
    description: Folders that the next lab would use.
    type: list
    elements: path
    default: []
  state:
    description: With V(pruned), folders that no lab needs are removed.
    type: str
    choices: [listed, pruned]
    default: listed
attributes:
  check_mode:
    description: Returns what would be removed.
    support: full
"""

EXAMPLES = r"""
- name: Remove what no lab needs
  stackproof.lab.cache:
    folder: /var/cache/stackproof
    state: pruned
"""

RETURN = r"""
folders:
  description:
    - Each cached folder with C(path), C(bytes), when it was C(made), the C(labs) that need it, and whether it is
      C(asked) for.
  returned: success
  type: list
  elements: dict
  sample:
    - path: /var/cache/stackproof/rootfs/2025.1-193ea65c127b
      bytes: 2340000000
      made: '2026-11-25'
      labs: [lab]
      asked: true
removed:
  description: The folders that were removed.
  returned: success
  type: list
  elements: str
  sample: []
"""

import contextlib
import fcntl
import os
import shutil
import time
from collections.abc import Collection, Iterator
from typing import Any

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.stackproof.lab.plugins.module_utils import _machine
from ansible_collections.stackproof.lab.plugins.module_utils._machine import LabError, read_claim

KINDS = ("rootfs", "devstack", "kolla")


class Name:
    """A lab of which only the folder is known."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.state = os.path.join(_machine.STATE_ROOT, name)


def needed() -> dict[str, list[str]]:
    """Return the names of the labs that were made of a cached folder, for each of these."""
    folders: dict[str, list[str]] = {}
    with contextlib.suppress(FileNotFoundError):
        for name in sorted(os.listdir(_machine.STATE_ROOT)):
            claim = read_claim(Name(name)) or {}
            for path in filter(None, [claim.get("rootfs"), *claim.get("shared", [])]):
                folders.setdefault(os.path.realpath(path), []).append(name)
    return folders


def size_of(path: str) -> int:
    """Return the bytes that a folder takes on the disk."""
    total = 0
    for top, _folders, files in os.walk(path):
        for name in files:
            with contextlib.suppress(OSError):
                total += os.lstat(os.path.join(top, name)).st_blocks * 512
    return total


def cached(folder: str, asked: Collection[str]) -> list[dict[str, Any]]:
    """Return each cached folder, with its size and age, and who needs it."""
    labs = needed()
    wanted = {os.path.realpath(path) for path in asked}
    found = []
    for path in cached_paths(folder):
        made = time.strftime("%Y-%m-%d", time.localtime(os.lstat(path).st_mtime))
        found.append(
            {
                "path": path,
                "bytes": size_of(path),
                "made": made,
                "labs": labs.get(path, []),
                "asked": path in wanted,
            }
        )
    return found


def cached_paths(folder: str) -> Iterator[str]:
    for kind in KINDS:
        top = os.path.join(folder, kind)
        if os.path.isdir(top):
            for name in sorted(os.listdir(top)):
                yield os.path.realpath(os.path.join(top, name))


@contextlib.contextmanager
def no_build(path: str) -> Iterator[None]:
    """Refuse while a build works beside a folder: the builds hold this lock."""
    top = os.open(os.path.dirname(path), os.O_RDONLY)
    try:
        fcntl.flock(top, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    except BlockingIOError:
        raise LabError(f"a build works in {os.path.dirname(path)}: try again when it has ended") from None
    finally:
        os.close(top)


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "folder": {"type": "path", "required": True},
            "asked": {"type": "list", "elements": "path", "default": []},
            "state": {"type": "str", "choices": ["listed", "pruned"], "default": "listed"},
        },
        supports_check_mode=True,
    )
    try:
        folders = cached(module.params["folder"], module.params["asked"])
        spare = [entry["path"] for entry in folders if not entry["labs"] and not entry["asked"]]
        removed = spare if module.params["state"] == "pruned" else []
        for path in [] if module.check_mode else removed:
            with no_build(path):
                shutil.rmtree(path)
    except (LabError, OSError) as exc:
        module.fail_json(msg=f"The cache of labs: {exc}")
    module.exit_json(changed=bool(removed), folders=folders, removed=removed)


if __name__ == "__main__":
    main()
