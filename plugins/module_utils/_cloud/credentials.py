# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The secrets in a cloud's configuration, found by the names of its keys and in its URLs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from .._record.errors import StageError

# The keys whose values may be a secret of digits alone. A code is that of OpenID Connect: openstacksdk has many keys
# such as image_status_code_retries, which are none.
PASSWORD = r"pass|secret|otp|^(?:authorization_)?code$"
DIGITS_MAY_BE_SECRET = re.compile(PASSWORD, re.IGNORECASE)
# The keys whose values are secret
SECRET = re.compile(
    rf"{PASSWORD}|token|key$|^code_verifier$|credential_id", re.IGNORECASE
)
NUMBER = re.compile(r"[+-]?\d+(?:\.\d*)?|true|false", re.IGNORECASE)
# The user of a URL, whose password may have any character in it that nobody has encoded
USER_OF_URL = re.compile(r"://([^\s\"'<>]*)@")
NO_SECRETS = (None, "", True, False)


def leaves(value: Any, key: str = "") -> Iterator[tuple[str, Any]]:
    """Yield each value in dictionaries and lists, behind the key that it stands under."""
    if isinstance(value, dict):
        for name, part in value.items():
            yield from leaves(part, str(name))
    elif isinstance(value, (list, tuple)):
        for part in value:
            yield from leaves(part, key)
    else:
        yield key, value


def is_secret(key: str) -> bool:
    return bool(SECRET.search(key))


def is_setting(key: str, value: Any) -> bool:
    """Return whether a value is a number or a yes or no, under a key that has nothing to do with a password."""
    is_number = bool(NUMBER.fullmatch(str(value)))
    return is_number and not DIGITS_MAY_BE_SECRET.search(key)


def secrets_of(config: dict[str, Any]) -> list[str]:
    """Return the secrets in a cloud's configuration, also those in its URLs."""
    found: list[str] = []
    for key, value in leaves(config):
        if (
            is_secret(key)
            and value not in NO_SECRETS
            and not is_setting(key, value)
        ):
            found.append(str(value))
        found += secrets_of_url(str(value))
    return found


def secrets_of_url(url: str) -> list[str]:
    """Return the user and the password of a URL, together and apart; nothing if it has none."""
    match = USER_OF_URL.search(url)
    if not match:
        return []
    user = match[1]
    # A slash in a password ends the host of a URL: then a part of it stands where a host should.
    texts = [user, *re.split("[/@]", user)]
    passwords = [text.partition(":")[2] for text in texts]
    return [*texts, *passwords]


def check_url(url: Any) -> None:
    """Refuse a URL in which a password ends the host, before a request goes to where it leads."""
    match = USER_OF_URL.search(url) if isinstance(url, str) else None
    if match and "/" in match[1]:
        hint = "Write user and password under username and password, or encode the password: / is %2F, @ is %40."
        raise StageError(
            "config",
            "a user and a password in auth_url make it no URL",
            hint=hint,
        )


def kind_of(token: str) -> str:
    """Return the kind of a token, by its first characters. The token itself is stored nowhere."""
    # A Fernet token begins with its version, 0x80, and a time of eight bytes, of which the first four are 0.
    if token.startswith("gAAAA"):
        return "fernet"
    if token.startswith("eyJ"):
        return "jws"
    return "unknown"
