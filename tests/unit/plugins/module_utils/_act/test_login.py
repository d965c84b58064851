# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The login by ssh: the key, the user who has it, by a real shell, and what an ssh client answers."""

from __future__ import annotations

import shutil
import stat
import subprocess

import pytest
from ansible_collections.stackproof.provision.plugins.module_utils._act import dataplane, login
from ansible_collections.stackproof.provision.plugins.module_utils._act.dataplane import Errand
from ansible_collections.stackproof.provision.plugins.module_utils._act.login import KeyPair
from ansible_collections.stackproof.provision.plugins.module_utils._act.showing import line_of
from ansible_collections.stackproof.provision.plugins.module_utils._model.details import FIRST
from ansible_collections.stackproof.provision.plugins.module_utils._record.errors import StageError

NONCE = "272b3bb0abec515ad4c8342a69d2b07f"
KEY = "ecdsa-sha2-nistp256 AAAAE2VjZHNh+/x="
needs_ssh_keygen = pytest.mark.skipif(shutil.which("ssh-keygen") is None, reason="this machine has no ssh-keygen")


@needs_ssh_keygen
def test_the_private_key_is_for_this_user_alone_and_is_made_once(tmp_path):
    path = tmp_path / "login_key"
    public_key = login.make_key(str(path))
    assert login.PUBLIC_KEY.fullmatch(public_key)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [file.name for file in tmp_path.iterdir()] == ["login_key"]
    assert login.make_key(str(path)) == public_key


@needs_ssh_keygen
def test_a_key_that_cannot_be_made_is_reported(tmp_path):
    with pytest.raises(StageError, match="ssh-keygen made no key"):
        login.make_key(str(tmp_path / "nowhere/login_key"))


@pytest.fixture
def homes(tmp_path, monkeypatch):
    """Return a function that gives users authorized keys, and returns the user whom the guest shows."""
    monkeypatch.setitem(dataplane.PATIENCE, FIRST, 0)

    def shown(**keys):
        lines = []
        for user, text in keys.items():
            (tmp_path / user / ".ssh").mkdir(parents=True)
            (tmp_path / user / ".ssh/authorized_keys").write_text(text)
            lines.append(f"{user}:x:1000:1000::{tmp_path / user}:/bin/sh\n")
        (tmp_path / "passwd").write_text("daemon:x:1:1:daemon:/nowhere:/bin/false\n" + "".join(lines))
        script = dataplane.script(FIRST, NONCE, Errand("192.0.2.1", key_pair=KeyPair("mine", KEY)))
        script = script.replace("/etc/passwd", str(tmp_path / "passwd")).replace("ping ", "false ")
        words = ["sh", "-c", f"{script}\nwait"]
        done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=True)
        return line_of(done.stdout, FIRST, login.CHECK, NONCE)["user"]

    return shown


def test_the_user_who_has_the_key_is_shown(homes):
    restricted = f'no-port-forwarding,command="echo Please log in as debian" {KEY} mine\n'
    assert homes(root=restricted, debian=f"ssh-rsa AAAA other\n{KEY} mine\n") == "debian"


def test_no_user_is_shown_where_nobody_has_the_key(homes):
    assert homes(debian="ssh-rsa AAAA other\n") == ""


def test_a_client_that_logs_in_is_told_the_name_of_the_guest():
    check = login.attempt(["printf", "guest-1\n"], "debian")
    assert (check.status.value, check.source, check.target) == ("ok", "client", "first")
    assert check.text == "logged in as debian with the key pair of the run; the guest calls itself guest-1"
    assert check.seconds > 0


@pytest.mark.parametrize(
    ("command", "text"),
    [
        (
            "echo 'debian@192.0.2.7: Permission denied (publickey).' >&2; exit 255",
            "debian@192.0.2.7: Permission denied",
        ),
        ("exit 255", "ssh ended with 255"),
    ],
)
def test_a_login_that_fails_has_the_words_of_the_client(command, text):
    check = login.attempt(["sh", "-c", command], "debian")
    assert check.status.value == "failed"
    assert check.text.startswith(f"no login as debian: {text}")


def test_a_client_that_hangs_is_ended(monkeypatch):
    monkeypatch.setattr(login, "COMMAND_SECONDS", 0.1)
    check = login.attempt(["sleep", "9"], "debian")
    assert (check.status.value, check.text) == ("failed", "no login as debian: no end after 0.1 s")


def test_the_command_trusts_no_other_key_and_asks_nobody():
    words = login.command("/run/key", "debian", "192.0.2.7")
    assert words[:6] == ["ssh", "-T", "-F", "/dev/null", "-i", "/run/key"]
    assert {"-oBatchMode=yes", "-oIdentitiesOnly=yes", "-oIdentityAgent=none"} < set(words)
    assert words[-2:] == ["debian@192.0.2.7", "uname -n"]


@pytest.mark.parametrize("user", ["-oProxyCommand=reboot", "a b", "", "None", "A;b", "x" * 33])
def test_what_a_guest_calls_a_user_may_be_no_user(user):
    assert login.USER.fullmatch(user) is None
