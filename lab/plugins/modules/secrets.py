#!/usr/bin/python
# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: secrets
short_description: Makes the passwords and keys of a lab once
version_added: 0.1.0
description:
  - Keeps a YAML file of random secrets that only its owner may read. Missing secrets are added, the others stay.
  - The secrets themselves are not returned.
  - Meant for the role P(stackproof.lab.lab#role).
author: stackproof contributors (@stackproof)
options:
  path:
    description: The file.
    type: path
    required: true
  passwords:
    description: Names of secrets that are passwords.
    type: list
    elements: str
    default: []
  uuids:
    description: Names of secrets that are UUIDs.
    type: list
    elements: str
    default: []
  ceph_keys:
    description: Names of secrets that are keys of Ceph users.
    type: list
    elements: str
    default: []
  ceph_cipher:
    description: The cipher of these keys. Ceph 20.2 takes V(aes) for insecure, and older ones know no other.
    type: str
    choices: [aes, aes256k]
    default: aes
attributes:
  check_mode:
    description: Says whether secrets are missing and makes none.
    support: full
"""

EXAMPLES = r"""
- name: Make what is missing
  stackproof.lab.secrets:
    path: .lab/secrets.yml
    passwords: [admin]
    ceph_keys: [ceph_admin]
"""

RETURN = r"""
made:
  description: Names of the secrets that were made.
  returned: success
  type: list
  elements: str
"""

import base64
import contextlib
import os
import secrets
import struct
import time
import uuid
from collections.abc import Callable, Mapping
from typing import Any

from ansible.module_utils.basic import AnsibleModule

# Cipher to the number of its type, and to the length of its keys
CIPHERS = {"aes": (1, 16), "aes256k": (2, 32)}


def ceph_key(cipher: str) -> str:
    """Return a cephx key as ceph-authtool makes it: its type, a time, a length, and random bytes."""
    number, length = CIPHERS[cipher]
    head = struct.pack("<HIIH", number, int(time.time()), 0, length)
    return base64.b64encode(head + secrets.token_bytes(length)).decode()


# Kind of secret to what makes one, out of the module's parameters
MAKERS: dict[str, Callable[[Mapping[str, Any]], str]] = {
    "passwords": lambda _params: secrets.token_hex(16),
    "uuids": lambda _params: str(uuid.uuid4()),
    "ceph_keys": lambda params: ceph_key(params["ceph_cipher"]),
}


def parse(text: str) -> dict[str, str]:
    """Return the secrets in a file that holds one 'name: "value"' per line, which is YAML too."""
    values: dict[str, str] = {}
    for line in text.splitlines():
        name, separator, value = line.partition(": ")
        if separator and not line.startswith("#"):
            values[name] = value.strip('"')
    return values


def read(path: str) -> dict[str, str]:
    try:
        with open(path, encoding="utf-8") as file:
            return parse(file.read())
    except FileNotFoundError:
        return {}


def write(path: str, values: Mapping[str, str]) -> None:
    """Replace the file of secrets as a whole. It is never readable for others."""
    lines = ["# Secrets of the lab. Made once; nothing reads them from anywhere else."]
    lines += [f'{name}: "{value}"' for name, value in sorted(values.items())]
    # A file that an interrupted run left behind may have another mode.
    with contextlib.suppress(FileNotFoundError):
        os.unlink(path + ".new")
    descriptor = os.open(path + ".new", os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")
    os.replace(path + ".new", path)


def make_missing(params: Mapping[str, Any], values: Mapping[str, str]) -> dict[str, str]:
    """Return a new secret for each name that has none."""
    made: dict[str, str] = {}
    for kind, maker in MAKERS.items():
        missing = [name for name in params[kind] if name not in values]
        made.update({name: maker(params) for name in missing})
    return made


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "path": {"type": "path", "required": True},
            "passwords": {"type": "list", "elements": "str", "default": [], "no_log": False},
            "uuids": {"type": "list", "elements": "str", "default": []},
            "ceph_keys": {"type": "list", "elements": "str", "default": [], "no_log": False},
            "ceph_cipher": {"type": "str", "choices": list(CIPHERS), "default": "aes"},
        },
        supports_check_mode=True,
    )
    path = module.params["path"]
    try:
        values = read(path)
    except OSError as exc:
        module.fail_json(msg=f"{path} cannot be read: {exc}")
    made = make_missing(module.params, values)
    if made and not module.check_mode:
        try:
            write(path, {**values, **made})
        except OSError as exc:
            module.fail_json(msg=f"{path} cannot be written: {exc}")
    changed = bool(made)
    if os.path.exists(path):
        changed = module.set_mode_if_different(path, 0o600, changed)
    module.exit_json(changed=changed, made=sorted(made))


if __name__ == "__main__":
    main()
