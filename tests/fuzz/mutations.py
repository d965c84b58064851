# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Values and texts that are changed by chance into what nobody expects."""

from __future__ import annotations

import copy

STRANGE = [
    None, True, False, 0, -1, 3.7, 1e308, float("inf"), float("nan"), 10**400, "", " ", "x", "\0", "\x1b[31mred",
    "\u202egnp", "\ufeff", "ü" * 9, "\udc80", "a" * 70_000, "..", "../../../etc/passwd", "/dev/zero", "'", '"', "$(id)",
    "{{ 1 + 1 }}", "!!python/object", "%s%n", "a\nb", "-", "latest", "(a+)+$", "[?", "1970-01-01T00:00:00+00:00",
    "0001-01-01T00:00:00", "9999-12-31T23:59:59.999999+00:00", "2026-11-24 24:61:61", "NaN", "1e999", [], {}, [[]],
    [None], {"": ""}, {"a": {"b": [1]}}, ["x"] * 300,
]  # fmt: skip
# Texts with a secret, in forms by which it is known; written so that a search for secrets does not take them for some
SECRETS = [
    "password" + "={}",
    "'auth_token': '{}'",
    "X-Auth-Token: {}",
    "mysql://nova:{}" + "@10.0.0.1/nova",
    "--key={}",
]
PLANTED = "plantedTr0ub4dor3"
BYTES = [
    b"\0",
    b"\xff",
    b"\xf0\x9f",
    b"\r",
    b"\n\n",
    b"\x1b]0;x\x07",
    b"\xe2\x80\xae",
    b"{",
    b"]",
    b'"',
    b"%",
    b"9" * 400,
]


def mutated(value, chance):
    """A copy of a value of JSON with one to five changes."""
    whole = [copy.deepcopy(value)]
    for _time in range(chance.choice((1, 1, 1, 2, 3, 5))):
        change(*chance.choice(list(places(whole))), chance)
    return whole[0]


def places(value):
    """All places in a value, as (container, key)."""
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in list(pairs):
        yield value, key
        yield from places(inner)


def change(container, key, chance):
    """One change at a place."""
    how = chance.randrange(8)
    if how == 0 and isinstance(container, dict):
        del container[key]
    elif how == 1 and isinstance(container, list):
        container.insert(key, copy.deepcopy(container[key]))
    elif how == 2 and isinstance(container, dict):
        container[chance.choice(("base", "x", "", "id", "\u202e"))] = chance.choice(STRANGE)
    elif how == 3:
        container[key] = [container[key]]
    elif how == 4 and isinstance(container[key], str):
        container[key] = mutated_bytes(container[key].encode(errors="replace"), chance).decode(errors="replace")
    elif how == 5 and isinstance(container[key], (int, float)):
        container[key] = -container[key]
    else:
        container[key] = copy.deepcopy(chance.choice(STRANGE))


def mutated_bytes(text, chance):
    """A text with one to five changes, of bytes or of lines."""
    for _time in range(chance.choice((1, 1, 2, 5))):
        place = chance.randrange(len(text) + 1)
        length = chance.choice((0, 1, 2, 10, 200, 5000))
        what = chance.choice((b"", chance.choice(BYTES), chance.randbytes(3), text[place : place + length] * 2))
        text = text[:place] + what + text[place + length :]
    return text if chance.random() < 0.9 else text[: chance.randrange(len(text) + 1)]
