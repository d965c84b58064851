# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Log in to the first guest by ssh, with a key pair that is made for the run alone.

The stage boot makes the key pair, and the stage dataplane deletes its private key after the login.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from .._cloud.connection import answer_of
from .._model.details import CLIENT, FIRST, NetworkDetails, PathCheck
from .._model.words import CheckStatus, StageName
from .._record.errors import DeadlinePassed, StageError
from .._record.masking import words_of
from .._record.waiting import Deadline, Look, wait_until
from .console import read_console
from .networking import first_named
from .showing import line_of
from .stage import Named, Stage

CHECK = "login"
PORT = 22
PROGRAMS = ("ssh", "ssh-keygen")
# The guest names the user, and the name becomes a part of a command.
USER = re.compile(r"[a-z_][a-z0-9_-]{0,31}", re.ASCII)
PUBLIC_KEY = re.compile(r"ecdsa-sha2-nistp256 [A-Za-z0-9+/=]+", re.ASCII)
# In seconds: the guest runs for some time already, and its ssh server may still make its own keys.
PATIENCE = 30.0
CONNECT_SECONDS, COMMAND_SECONDS = 5, 15
LONGEST_ANSWER = 200
OPTIONS = (
    "BatchMode=yes",
    "IdentitiesOnly=yes",
    "IdentityAgent=none",
    # The host key of a guest that has just been made is not known.
    "StrictHostKeyChecking=no",
    "UserKnownHostsFile=/dev/null",
    "GlobalKnownHostsFile=/dev/null",
    f"ConnectTimeout={CONNECT_SECONDS}",
    "LogLevel=ERROR",
)

# The user who has the key depends on the image: cloud-init gives root a key that only refuses.
SCRIPT = r"""
login() {
  user=''
  while IFS=: read -r name secret number group comment home shell; do
    if grep -qs '^@KEY@' "$home/.ssh/authorized_keys"; then user=$name; break; fi
  done </etc/passwd
  show login ", \"user\": \"$user\""
}
"""


@dataclass(frozen=True)
class KeyPair:
    """A key pair by its name in Nova, and its public key."""

    name: str
    public_key: str

    @property
    def script(self) -> str:
        return SCRIPT.replace("@KEY@", self.public_key)


def missing_program() -> str | None:
    return next(
        (program for program in PROGRAMS if shutil.which(program) is None),
        None,
    )


def key_pair_for(stage: Stage[Any]) -> KeyPair | None:
    """Make the key pair of the run, if somebody can log in with it."""
    if (
        not (stage.params["dataplane_login"] and stage.resource("floating_ip"))
        or missing_program()
    ):
        return None
    name = f"{stage.run.mark}-key-pair"
    public_key = make_key(stage.run.login_key)
    nova = stage.cloud.compute

    def make() -> Named:
        answer_of(
            nova.post(
                "/os-keypairs",
                json={"keypair": {"name": name, "public_key": public_key}},
            )
        )
        return Named(name, name)

    def find() -> Any:
        listed = answer_of(nova.get("/os-keypairs"))["keypairs"]
        names = [entry["keypair"]["name"] for entry in listed]
        return first_named(name, [Named(known, known) for known in names])

    stage.create("key_pair", name, make, find)
    return KeyPair(name, public_key)


def make_key(path: str) -> str:
    """Make a private key, which only this user can read, and return its public key. One that is there is used."""
    if not os.path.exists(path):
        # Servers and clients of the last ten years have this kind.
        run(
            [
                "ssh-keygen",
                "-q",
                "-t",
                "ecdsa",
                "-b",
                "256",
                "-N",
                "",
                "-C",
                "",
                "-f",
                path,
            ]
        )
        with contextlib.suppress(FileNotFoundError):
            os.unlink(f"{path}.pub")
    done = run(["ssh-keygen", "-y", "-f", path])
    match = PUBLIC_KEY.match(done.stdout)
    if match is None:
        message = (
            f"ssh-keygen made no key: {words_of(done.stderr, LONGEST_ANSWER)}"
        )
        raise StageError(
            "invalid",
            message,
            hint="stackproof_dataplane_login=false leaves out the login.",
        )
    return match[0]


def run(words: Sequence[str]) -> subprocess.CompletedProcess[str]:
    # A module's run_command is not at hand here.
    # pylint: disable-next=ansible-bad-function
    return subprocess.run(
        words,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
        encoding="utf-8",
        errors="replace",
        timeout=COMMAND_SECONDS,
    )


def check(
    stage: Stage[Any], nonce: str, server: str, is_open: bool
) -> PathCheck:
    """Return whether the client logs in to the first guest. is_open: whether the security group opens the port."""
    address = stage.details_of(StageName.NETWORK, NetworkDetails).floating_ip
    if address is None:
        return inapplicable(
            "the run has no floating IP, at which the client reaches the guest"
        )
    reason = why_not(stage, is_open)
    if reason:
        return inapplicable(reason)
    line = (
        line_of(read_console(stage.cloud.compute, server), FIRST, CHECK, nonce)
        or {}
    )
    user = str(line.get("user"))
    if not USER.fullmatch(user):
        return inapplicable("no user of the guest has the key pair")
    return log_in(stage, user, address)


def why_not(stage: Stage[Any], is_open: bool) -> str | None:
    program = missing_program()
    if not stage.params["dataplane_login"]:
        return "stackproof_dataplane_login is false"
    if program:
        return f"this machine has no program {program}"
    if not is_open:
        return f"the security group does not open TCP port {PORT}"
    return (
        None
        if os.path.exists(stage.run.login_key)
        else "the stage boot has made no key pair"
    )


def inapplicable(reason: str) -> PathCheck:
    return PathCheck(
        CHECK, CLIENT, FIRST, CheckStatus.NOT_APPLICABLE, f"no login: {reason}"
    )


def log_in(stage: Stage[Any], user: str, address: str) -> PathCheck:
    """Try to log in until that works, or the guest has had its time."""
    stage.begin(f"logging in to the guest at {address}")
    words = command(stage.run.login_key, user, address)
    last = PathCheck(CHECK, CLIENT, FIRST, CheckStatus.FAILED, "")

    def look() -> Look:
        nonlocal last
        last = attempt(words, user)
        return last.status is CheckStatus.OK, last.text, None

    with contextlib.suppress(DeadlinePassed):
        wait_until(
            f"a login as {user} at {address}",
            look,
            Deadline(PATIENCE),
            stage.waits,
            lambda _text: None,
        )
    return last


def command(key: str, user: str, address: str) -> list[str]:
    """Return the command that logs in, and asks the guest for its name."""
    options = [f"-o{option}" for option in OPTIONS]
    return [
        "ssh",
        "-T",
        "-F",
        "/dev/null",
        "-i",
        key,
        *options,
        f"{user}@{address}",
        "uname -n",
    ]


def attempt(words: Sequence[str], user: str) -> PathCheck:
    started = time.monotonic()
    try:
        done = run(words)
    except subprocess.TimeoutExpired:
        text = f"no login as {user}: no end after {COMMAND_SECONDS} s"
        return PathCheck(CHECK, CLIENT, FIRST, CheckStatus.FAILED, text)
    if done.returncode != 0:
        reason = (
            words_of(" ".join(done.stderr.split()), LONGEST_ANSWER)
            or f"ssh ended with {done.returncode}"
        )
        return PathCheck(
            CHECK,
            CLIENT,
            FIRST,
            CheckStatus.FAILED,
            f"no login as {user}: {reason}",
        )
    name = words_of(done.stdout.strip(), LONGEST_ANSWER)
    text = f"logged in as {user} with the key pair of the run; the guest calls itself {name}"
    seconds = round(time.monotonic() - started, 6)
    return PathCheck(CHECK, CLIENT, FIRST, CheckStatus.OK, text, seconds)
