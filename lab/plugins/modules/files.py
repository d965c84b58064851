#!/usr/bin/python
# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: files
short_description: Writes whole trees of configuration files in one task
version_added: 0.1.0
description:
  - Renders every file below the named trees on the control node, those that end in C(.j2) as templates. It writes the
    files that differ, each in one step. The path of a file in its tree is its path on the host.
  - The owner is root. In a tree with a group of its own the mode is C(0640), or C(0750) if the source is executable. In
    a tree with the group V(root) it is C(0644) or C(0755).
  - Meant for the role P(stackproof.lab.lab#role), whose forty files would otherwise need a task each.
author: stackproof contributors (@stackproof)
options:
  source:
    description: The folder on the control node that holds the trees.
    type: path
  trees:
    description: Trees to write.
    type: list
    elements: dict
    suboptions:
      name:
        description: Folder below O(source).
        type: str
        required: true
      group:
        description: Group of the files on the host.
        type: str
        required: true
  files:
    description: The rendered files. Filled in on the control node; not for playbooks.
    type: list
    elements: dict
    suboptions:
      tree:
        description: The tree of the file.
        type: str
        required: true
      path:
        description: Its path on the host.
        type: path
        required: true
      content:
        description: Its content.
        type: str
        required: true
      group:
        description: Its group.
        type: str
        required: true
      mode:
        description: Its mode, in octal digits.
        type: str
        required: true
attributes:
  check_mode:
    description: Returns the files that it would write, and writes nothing.
    support: full
"""

EXAMPLES = r"""
- name: Configure the image service
  stackproof.lab.files:
    source: "{{ role_path }}/templates"
    trees:
      - {name: glance, group: glance}
"""

RETURN = r"""
paths:
  description: Files that were written.
  returned: success
  type: list
  elements: str
time:
  description: The time just before the first file was written, in seconds since 1970 by the host's clock.
  returned: success
  type: int
trees:
  description: Trees in which a file was written.
  returned: success
  type: list
  elements: str
"""

import grp
import os
import time

from ansible.module_utils.basic import AnsibleModule


def differs(path: str, content: bytes, gid: int, mode: int) -> bool:
    try:
        status = os.lstat(path)
        if (status.st_uid, status.st_gid, status.st_mode & 0o7777) != (0, gid, mode) or os.path.islink(path):
            return True
        with open(path, "rb") as file:
            return file.read() != content
    except FileNotFoundError:
        return True


def write(path: str, content: bytes, gid: int, mode: int) -> None:
    os.makedirs(os.path.dirname(path), exist_ok=True)
    new = path + ".lab-new"
    descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
        os.fchown(file.fileno(), 0, gid)
        os.fchmod(file.fileno(), mode)
    os.replace(new, path)


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "source": {"type": "path"},
            "trees": {
                "type": "list",
                "elements": "dict",
                "options": {"name": {"type": "str", "required": True}, "group": {"type": "str", "required": True}},
            },
            "files": {
                "type": "list",
                "elements": "dict",
                "options": {
                    "tree": {"type": "str", "required": True},
                    "path": {"type": "path", "required": True},
                    "content": {"type": "str", "required": True, "no_log": True},
                    "group": {"type": "str", "required": True},
                    "mode": {"type": "str", "required": True},
                },
            },
        },
        supports_check_mode=True,
    )
    paths: list[str] = []
    trees: list[str] = []
    begun = int(time.time())
    for file in module.params["files"] or []:
        try:
            gid = grp.getgrnam(file["group"]).gr_gid
            mode = int(file["mode"], 8)
            content = file["content"].encode()
            if differs(file["path"], content, gid, mode):
                paths.append(file["path"])
                if file["tree"] not in trees:
                    trees.append(file["tree"])
                if not module.check_mode:
                    write(file["path"], content, gid, mode)
        except (OSError, KeyError) as exc:
            module.fail_json(msg=f"{file['path']} cannot be written: {exc}")
    module.exit_json(changed=bool(paths), paths=paths, trees=trees, time=begun)


if __name__ == "__main__":
    main()
