# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The token of a run: found by the next stage, by nobody with other credentials, and gone with its process."""

from __future__ import annotations

import json
import os
import re
import signal
from pathlib import Path

import pytest
from ansible_collections.stackproof.provision.plugins.module_utils._cloud import token_cache
from ansible_collections.stackproof.provision.plugins.module_utils._record import masking, shared_memory


@pytest.fixture
def token_path():
    path = shared_memory.make()
    yield path
    os.close(int(path.rpartition("/")[2]))


def stage(connect, token_path, **options):
    """Take a token or get one, and leave it, as a stage does. Returns the token."""
    connection = connect(**options)
    token_cache.take(token_path, connection.session.auth)
    token = connection.session.get_token()
    token_cache.put(token_path, connection.session.auth)
    return token


def test_the_token_is_in_a_file_without_a_name_in_this_process(token_path):
    assert re.fullmatch(rf"/proc/{os.getpid()}/fd/\d+", token_path)
    assert os.readlink(token_path).startswith("/memfd:stackproof")
    assert not os.get_inheritable(int(token_path.rpartition("/")[2]))


def test_the_token_is_used_again_with_the_same_credentials(cloud, connect, token_path):
    assert stage(connect, token_path) == stage(connect, token_path) == cloud.tokens[0]
    assert len(cloud.tokens) == 1


@pytest.mark.parametrize("change", [{"password": "other"}, {"username": "other"}, {"project_name": "other"}])
def test_other_credentials_do_not_find_it(cloud, connect, token_path, know_cloud, change):
    stage(connect, token_path)
    entry = cloud.entry()
    entry["auth"].update(change)
    know_cloud(small=entry)
    connection = connect()
    token_cache.take(token_path, connection.session.auth)
    assert not connection.session.auth.get_auth_state()


def test_another_cloud_does_not_find_it(cloud, connect, token_path, know_cloud):
    stage(connect, token_path)
    entry = cloud.entry()
    entry["auth"]["auth_url"] = entry["auth"]["auth_url"].replace("127.0.0.1", "localhost")
    know_cloud(small=entry)
    connection = connect()
    token_cache.take(token_path, connection.session.auth)
    assert not connection.session.auth.get_auth_state()


def test_a_token_that_is_about_to_expire_is_renewed(cloud, connect, token_path):
    cloud.token_life /= 3600
    stage(connect, token_path)
    cloud.token_life *= 3600
    assert stage(connect, token_path) == cloud.tokens[1]
    assert stage(connect, token_path) == cloud.tokens[1]


def test_a_renewed_token_replaces_the_old_one(cloud, connect, token_path):
    stage(connect, token_path)
    cloud.expire_tokens()
    connection = connect()
    token_cache.take(token_path, connection.session.auth)
    list(connection.network.networks())
    token_cache.put(token_path, connection.session.auth)
    assert stage(connect, token_path) == cloud.tokens[0]
    assert len(Path(token_path).read_text()) == len(json.dumps(json.loads(Path(token_path).read_text())))


@pytest.mark.parametrize("text", ["", "{", "[]", "null", '{"credentials": 1}', '{"state": 1}', "\udcff"])
def test_a_file_with_anything_else_in_it_is_empty(cloud, connect, token_path, text):
    Path(token_path).write_bytes(text.encode(errors="surrogateescape"))
    assert stage(connect, token_path) == cloud.tokens[0]


def test_another_file_under_the_same_path_is_neither_read_nor_written(cloud, connect, token_path, tmp_path):
    token = stage(connect, token_path)
    copy = tmp_path / "copy"
    copy.write_text(Path(token_path).read_text())
    with copy.open() as stream:
        path = f"/proc/{os.getpid()}/fd/{stream.fileno()}"
        assert stage(connect, path) != token
    assert token in copy.read_text()
    assert cloud.tokens[1] not in copy.read_text()


@pytest.mark.usefixtures("cloud")
def test_a_file_of_another_user_is_neither_read_nor_written(connect, token_path, monkeypatch):
    """Root could open it, and would give a token to whoever wrote its path into a run."""
    token = stage(connect, token_path)
    kept = Path(token_path).read_text()
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    assert stage(connect, token_path) != token
    assert Path(token_path).read_text() == kept


@pytest.mark.parametrize("path", ["", "/proc/1/fd/none", "/nonexistent/token"])
def test_without_a_file_every_stage_gets_a_token_of_its_own(cloud, connect, path):
    assert stage(connect, path) != stage(connect, path)
    assert len(cloud.tokens) == 2


def test_the_token_never_comes_to_a_disk(cloud, connect, token_path, tmp_path, nothing_secret):
    token = stage(connect, token_path)
    assert token in Path(token_path).read_text()
    (tmp_path / "clouds.yaml").unlink()
    nothing_secret(cloud, tmp_path)


def test_later_processes_of_the_run_learn_the_secrets_of_the_earlier_ones(cloud, connect, token_path):
    token = stage(connect, token_path)
    masking.KNOWN.clear()
    shared_memory.learn_secrets(token_path)
    assert {token, cloud.password} <= masking.KNOWN


@pytest.mark.usefixtures("cloud")
def test_a_refused_password_is_learned_by_later_processes(connect, token_path, know_cloud, cloud):
    entry = cloud.entry()
    entry["auth"]["password"] = "a-wrong-passw0rd"
    know_cloud(small=entry)
    token_cache.put(token_path, connect().session.auth)
    masking.KNOWN.clear()
    shared_memory.learn_secrets(token_path)
    assert "a-wrong-passw0rd" in masking.KNOWN


@pytest.fixture
def other_process():
    """Another process that keeps a token: its number, and the path."""
    ready, tell = os.pipe()
    process = os.fork()
    if not process:
        os.write(tell, shared_memory.make().encode())
        signal.pause()
    yield process, os.read(ready, 100).decode()
    os.kill(process, signal.SIGKILL)
    os.waitpid(process, 0)


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded")
def test_it_is_gone_with_its_process(other_process, cloud, connect):
    process, path = other_process
    assert str(process) in path
    assert stage(connect, path) == stage(connect, path)
    os.kill(process, signal.SIGKILL)
    os.waitid(os.P_PID, process, os.WEXITED | os.WNOWAIT)
    assert not os.path.exists(path)
    assert stage(connect, path) == cloud.tokens[1]
