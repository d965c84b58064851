# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The file of secrets: made once, added to, read by nobody else."""

from __future__ import annotations

import base64
import os
import stat
import struct
import time
import uuid

import pytest
import yaml
from ansible_collections.stackproof.lab.plugins.modules import secrets as module

NAMES = {"passwords": ["admin", "nova_user"], "uuids": ["fsid"], "ceph_keys": ["ceph_admin"]}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "secrets.yml"


def load(path):
    return yaml.safe_load(path.read_text())


def test_makes_each_kind(call, path):
    result = call(module, path=str(path), **NAMES)
    assert (result["changed"], result["made"]) == (True, ["admin", "ceph_admin", "fsid", "nova_user"])
    secrets = load(path)
    assert set(secrets) == {"admin", "nova_user", "fsid", "ceph_admin"}
    assert len(bytes.fromhex(secrets["admin"])) == 16
    assert secrets["admin"] != secrets["nova_user"]
    assert uuid.UUID(secrets["fsid"]).version == 4


@pytest.mark.parametrize(("cipher", "number", "size"), [({}, 1, 16), ({"ceph_cipher": "aes256k"}, 2, 32)])
def test_ceph_key_is_one_that_ceph_takes(call, path, cipher, number, size):
    call(module, path=str(path), ceph_keys=["ceph_admin"], **cipher)
    key = base64.b64decode(load(path)["ceph_admin"], validate=True)
    kind, seconds, nanoseconds, length = struct.unpack("<HIIH", key[:12])
    assert (kind, nanoseconds, length, len(key)) == (number, 0, size, 12 + size)
    assert abs(seconds - time.time()) < 60


def test_only_the_owner_may_read(call, path):
    before = os.umask(0)
    try:
        call(module, path=str(path), **NAMES)
    finally:
        os.umask(before)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert os.listdir(path.parent) == ["secrets.yml"]


def test_second_run_changes_nothing(call, path):
    call(module, path=str(path), **NAMES)
    before = (path.read_text(), path.stat().st_mtime_ns, path.stat().st_ino)
    result = call(module, path=str(path), **NAMES)
    assert (result["changed"], result["made"]) == (False, [])
    assert (path.read_text(), path.stat().st_mtime_ns, path.stat().st_ino) == before


def test_missing_ones_are_added_and_the_others_stay(call, path):
    call(module, path=str(path), **NAMES)
    before = load(path)
    result = call(module, path=str(path), passwords=["admin", "redis"], uuids=["osd"])
    after = load(path)
    assert result["made"] == ["osd", "redis"]
    assert set(after) == set(before) | {"osd", "redis"}
    assert {name: after[name] for name in before} == before


def test_the_result_holds_no_secret(call, path):
    result = call(module, path=str(path), **NAMES)
    assert not any(secret in str(result) for secret in load(path).values())


def test_check_mode_makes_none(call, path):
    result = call(module, check=True, path=str(path), **NAMES)
    assert (result["changed"], len(result["made"])) == (True, 4)
    assert not path.exists()


def test_missing_folder_is_named(call, tmp_path):
    path = str(tmp_path / "missing" / "secrets.yml")
    result = call(module, path=path, **NAMES)
    assert result["failed"]
    assert f"{path} cannot be written" in result["msg"]


def test_what_cannot_be_read_is_not_made_anew(call, tmp_path):
    result = call(module, path=str(tmp_path), **NAMES)
    assert result["failed"]
    assert f"{tmp_path} cannot be read" in result["msg"]
