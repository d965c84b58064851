# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Mask secrets in the words of others, and bound their length: lines of logs, and what a cloud answers.

A secret is found by the words around it and by its form. Those of the run itself are known, and found exactly.
"""

from __future__ import annotations

import re
from collections.abc import Container
from typing import Any, TypeVar
from urllib.parse import quote

from .._model import codec

T = TypeVar("T")

# In characters. A quote is one line on a screen; a cloud's message is kept whole, as far as any service writes one.
LONGEST = 300
LONGEST_WORDS = 4096
# A traceback of a service has some ten thousand characters.
LONGEST_LOOK = 1 << 16
# Stands for what was cut out of the middle of a line
CUT = " [...] "
# Characters that are looked at: the search for secrets takes the square of a line's length.
MOST = 1000
HIDDEN = "***"
# How agents of Neutron log a command that failed, and what stands before what it said; its words are cut to so many
# characters.
COMMAND, STDERR, LONGEST_COMMAND = "Exit code: ", "; Stderr: ", 100
COLOUR = re.compile(r"\x1b\[[\d;]*[A-Za-z]")
# A value behind such a word is a secret, however the word is written; it may be part of a longer one.
SECRET_WORDS = (
    r"pass(?:word|wd|phrase|code)|(?<!by)pass(?![a-z])|pw(?![a-z])|(?<![a-z])(?:pwd|sig|salt|nonce)(?![a-z])"
    r"|secret|token|auth(?!ent|or(?!iz))|credential|creds|cookie|signature|hmac|session|fernet|user_?data"
    r"|(?<!mon)key(?!ston|word|board|pair|ring)"
)
# Names with such a word that are none of a secret: options that name a place or a kind, and classes of exceptions
EXCEPTION = r"[\w.]*(?:Error|Exception|Exceeded|Failed|Failure|NotFound|Timeout|Unauthorized|Forbidden)(?![\w.-])"
NO_SECRET = rf"{EXCEPTION}|[\w.-]*auth[_-](?:url|uri|type|plugin|section|strategy)(?![\w.-])"
# From its first letter on, so that a long one is looked at once
NAME = rf"(?<![\w.-])(?!{NO_SECRET})(?=[\w.-]*?(?:{SECRET_WORDS}))[\w.-]+"
# Values behind such a name that are no secrets: the class of an exception, a status of HTTP, whether there is a value,
# and a sentence about a token, which is no word itself
NO_VALUE = (
    rf"{EXCEPTION}:|\d{{3}} [A-Z]|(?:yes|no|true|false|none|null)(?:[\s,;)}}\]'\"]|$)"
    r"|(?<= token: )(?-i:[A-Z][a-z]+ [a-z]+ )"
)
# Quotes and brackets go on to their end or to that of the line.
QUOTED = r"[ub]?\\*(?:'(?:[^'\\]|\\.)*(?:'|$)|\"(?:[^\"\\]|\\.)*(?:\"|$))"
LISTED = r"[(\[{][^()\[\]{}]*(?:[)\]}]|$)"
SECRETS = [
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        # Between a name and its value is a sign, and perhaps a word such as Bearer. Of lists in lists each is looked at
        # alone.
        rf"{NAME}\\*['\"]?\s*(?:=>(?!\s+\w)|[=:](?!>)|%3[AD]|>(?=[^<>]*</))\s*"
        rf"(?:(?:Bearer|Basic|Digest|Token)\s+)?(?!{NO_VALUE})(?P<value>{QUOTED}|{LISTED}|[^\s(\[{{]\S*)",
        rf"(?<=['\"]){NAME}['\"],\s*(?P<value>[ub]?(?:'[^']*'|\"[^\"]*\"))",
        # A sentence has such a word and a blank as well; behind an option of a command, every word is a value.
        r"(?<![\w-])[\w-]*(?:password|passwd|passphrase|secret|token|bearer|basic|bindpw|identified by)\s+"
        rf"(?:(?:is|was)\s+)?(?P<value>{QUOTED}|(?!/)(?=\S*(?:\d|[^\w\s']\w))\S{{3,}})",
        rf"(?<!\S)(?=-){NAME}\s+(?P<value>{QUOTED}|(?!-)\S+)",
        r"(?<!\S)-p\s*(?P<value>(?![-/\s]|\d{1,5}(?!\S))\S+)",
        r"(?<!\S)(?:-u|--user)\s+[^\s:]+:(?P<value>\S+)",
        r"\b(?:set-)?cookie:\s*(?P<value>[^'\"]+)",
        # The user of a URL; a password may have a slash in it that nobody has encoded.
        r"(?<!http)(?<!https)://(?P<value>\S*)@",
        r"://(?P<value>[^\s/]*|[^\s/:@]*:(?!\d+[/?#])\S*)@",
        # The address of a mail
        r"(?<![\w.+-])(?P<value>[\w.+-]+@(?:[\w-]+\.)+[a-z]{2,})(?![\w.-])",
        # Tokens that are known by their beginning
        r"(?P<value>\b(?:gAAAA|eyJ)[\w.=-]{8,})",
    )
]
UUID = re.compile(
    r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}", re.IGNORECASE
)
HEX = re.compile(
    r"(?<![0-9a-z])(?=\d*[a-f])[0-9a-f]{16,}(?![0-9a-z])", re.IGNORECASE
)
WORD = re.compile(r"[A-Za-z0-9+/_~-]{16,}(?:={1,2}(?![\w./'\"-]))?")
# A part of a name: capitals, small letters, digits
PART = re.compile(r"[A-Z]?[a-z]+|[A-Z]+|\d+")
# The parts of a name are longer than this on the average, those of a key are shorter. What is shorter than this in all
# is no key. A path has names of a letter or two as well.
SHORT_PARTS, SHORTEST_KEY, SHORT_NAMES = 3, 10, 2.1


# A key in PEM, on lines of its own or with its line feeds written as \\n; one that was cut off goes on to the end.
KEY = re.compile(
    r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)",
    re.DOTALL,
)
# The frames of a traceback of Python, which are about a service's code; the line of the exception stands behind them.
HEADING = "Traceback (most recent call last):"
FRAMES = re.compile(
    rf"^([ \t]*){re.escape(HEADING)}\n(?:\1[ \t]+.*(?:\n|\Z))*", re.MULTILINE
)
# The secrets of this process's cloud: its password, its tokens
KNOWN: set[str] = set()
# A secret of fewer characters is replaced where it stands alone: it may be a part of any word.
SHORT = 8


def learn(*secrets: Any) -> None:
    """Replace these exactly from now on, whoever utters them, also as a part of a URL."""
    for secret in secrets:
        if isinstance(secret, str) and secret:
            KNOWN.update((secret, quote(secret, safe="")))


def is_unmistakable(secret: str) -> bool:
    """Return whether a text that has this secret in it can have it for no other reason.

    A password that is a plain word, such as admin, is the name of other things, too. Letters that are written in no way
    of a word are none.
    """
    if len(secret) < SHORT:
        return False
    if not secret.isalpha():
        return True
    is_word = secret.islower() or secret.isupper() or secret.istitle()
    return not is_word


def without_known(text: str, secrets: set[str] | None = None) -> str:
    """Replace the known secrets in a text."""
    for secret in sorted(
        KNOWN if secrets is None else secrets, key=len, reverse=True
    ):
        if secret not in text:
            continue
        alone = (
            re.escape(secret)
            if len(secret) >= SHORT
            else rf"(?<!\w){re.escape(secret)}(?!\w)"
        )
        text = re.sub(alone, HIDDEN, text)
    return text


def words_of(text: Any, longest: int = LONGEST_WORDS) -> str:
    """Return what a cloud or a user has said, as it may be written anywhere: masked, and cut to a length."""
    text = str(text)
    text = FRAMES.sub("", text[:LONGEST_LOOK]).replace(HEADING, "traceback:")
    looked_at = text[: 2 * longest]
    lines = without_known(KEY.sub(HIDDEN, looked_at)).splitlines()
    text_masked = "\n".join(
        masked(line) or (CUT.strip() if line.strip() else "") for line in lines
    )
    if len(looked_at) < len(text):
        # At its end a secret may have lost the half by which it is known.
        return text_masked[: longest - len(CUT)] + CUT.rstrip()
    return shortened(text_masked, longest)


def bounded(value: Any) -> Any:
    """Return data of a cloud without the known secrets, and with no text longer than a message."""
    unmistakable = set(filter(is_unmistakable, KNOWN))

    def copy(part: Any) -> Any:
        if isinstance(part, str):
            return without_known(shortened(part, LONGEST_WORDS), unmistakable)
        if isinstance(part, dict):
            return {copy(key): copy(inner) for key, inner in part.items()}
        if isinstance(part, (list, tuple)):
            return list(map(copy, part))
        return part

    return copy(value)


def bounded_copy(value: T) -> T:
    """Return an instance of the model whose texts are bounded so."""
    return codec.from_json(type(value), bounded(codec.to_json(value)))


def shortened(text: str, longest: int) -> str:
    """Cut a text in its middle: what a command said stands behind the command, which may be long."""
    half = (longest - len(CUT)) // 2
    return (
        text if len(text) <= longest else f"{text[:half]}{CUT}{text[-half:]}"
    )


def quote_of(text: str, ids: Container[str] = ()) -> str:
    """Return a line as it is shown to a reader. ids: words that are no secrets, such as the run's own."""
    return shortened(masked(without_command(text), ids), LONGEST)


def without_command(text: str) -> str:
    """Return what a command said with its first words: agents of Neutron log all words of it, which may be many."""
    raised, begins, rest = text.partition(COMMAND)
    command, mark, said = rest.partition(STDERR)
    if len(command) <= LONGEST_COMMAND or not mark:
        return text
    words = command[:LONGEST_COMMAND].rpartition(" ")[0]
    return f"{raised}{begins}{words}{CUT.rstrip()}{mark}{said}"


def masked(text: str, ids: Container[str] = ()) -> str:
    """Return a line without its secrets, and without characters that are not text."""
    if len(text) > MOST:
        text = text[:MOST].rpartition(" ")[0]
    text = "".join(
        mark
        for mark in COLOUR.sub("", text)
        if mark.isprintable() or mark.isspace()
    )
    text = " ".join(without_known(text).split())
    for pattern in SECRETS:
        text = without_values(pattern, text)
    for pattern in (HEX, WORD):
        text = pattern.sub(
            lambda match: (
                match[0]
                if match[0] in ids or is_harmless(match[0])
                else HIDDEN
            ),
            text,
        )
    return text


def without_values(pattern: re.Pattern[str], text: str) -> str:
    """Return the text without the values that a pattern finds. A value may look like the name of another one."""
    place, shown, end = 0, [], 0
    while match := pattern.search(text, place):
        begin, place = (
            match.start("value"),
            max(match.start("value"), match.start() + 1),
        )
        if begin >= end:
            shown += [text[end:begin], HIDDEN]
        end = max(end, match.end("value"))
    return "".join([*shown, text[end:]])


def is_passphrase(word: str) -> bool:
    """Return whether a word has several words, with capitals, small letters and digits: names have two of the three."""
    kinds = ("[A-Z]", "[a-z]", "[0-9]")
    return (
        "/" not in word
        and "-" in word
        and all(re.search(kind, word) for kind in kinds)
    )


def is_harmless(word: str) -> bool:
    """Return whether a long word is an id, a path or a name, and no key: in a key letters and digits have no order."""
    word = UUID.sub("", word)
    if HEX.fullmatch(word):
        return False
    if "+" in word or word.endswith("="):
        return False
    if is_passphrase(word):
        return False
    if any(map(is_disorderly, re.split(r"[/_~-]", word))):
        return False
    parts = PART.findall(word)
    length = sum(map(len, parts))
    return length < SHORTEST_KEY or length >= SHORT_NAMES * len(parts)


def is_disorderly(text: str) -> bool:
    """Return whether a piece of a word is as long as a key, and has letters and digits in no order."""
    if len(text) < SHORTEST_KEY:
        return False
    parts = PART.findall(text)
    numbers = [part for part in parts if part.isdigit()]
    if len(numbers) > 1:
        return True
    return len(text) < SHORT_PARTS * len(parts)
