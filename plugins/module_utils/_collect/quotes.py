# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A line of a log as it may be shown to a reader: without secrets, on one line, and not long. Pure."""

from __future__ import annotations

import re

LONGEST = 300
# Stands for what was cut out of the middle of a line
CUT = " [...] "
# Characters that are looked at: the search for secrets takes the square of a line's length.
MOST = 1000
HIDDEN = "***"
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
# Values behind such a name that are no secrets: the class of an exception, a status of HTTP, whether there is a value
NO_VALUE = rf"{EXCEPTION}:|\d{{3}} [A-Z]|(?:yes|no|true|false|none|null)(?:[\s,;)}}\]'\"]|$)"
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
UUID = re.compile(r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}", re.IGNORECASE)
HEX = re.compile(r"(?<![0-9a-z])(?=\d*[a-f])[0-9a-f]{16,}(?![0-9a-z])", re.IGNORECASE)
WORD = re.compile(r"[A-Za-z0-9+/_~-]{16,}(?:={1,2}(?![\w./'\"-]))?")
# A part of a name: capitals, small letters, digits
PART = re.compile(r"[A-Z]?[a-z]+|[A-Z]+|\d+")
# The parts of a name are longer than this on the average, those of a key are shorter. What is shorter than this in all
# is no key. A path has names of a letter or two as well.
SHORT_PARTS, SHORTEST_KEY, SHORT_NAMES = 3, 10, 2.1


def quote_of(text, ids=()):
    """A line to be shown to a reader. ids: words that are no secrets, such as the run's own."""
    if len(text) > MOST:
        text = text[:MOST].rpartition(" ")[0]
    text = "".join(mark for mark in COLOUR.sub("", text) if mark.isprintable() or mark.isspace())
    text = " ".join(text.split())
    for pattern in SECRETS:
        text = without_values(pattern, text)
    for pattern in (HEX, WORD):
        text = pattern.sub(lambda match: match[0] if match[0] in ids or is_harmless(match[0]) else HIDDEN, text)
    # What a command said stands behind the command, which may be long.
    half = (LONGEST - len(CUT)) // 2
    return text if len(text) <= LONGEST else f"{text[:half]}{CUT}{text[-half:]}"


def without_values(pattern, text):
    """The text without the values that a pattern finds. A value may look like the name of another one."""
    place, shown, end = 0, [], 0
    while match := pattern.search(text, place):
        begin, place = match.start("value"), max(match.start("value"), match.start() + 1)
        if begin >= end:
            shown += [text[end:begin], HIDDEN]
        end = max(end, match.end("value"))
    return "".join([*shown, text[end:]])


def is_passphrase(word):
    """Whether a word has several words, with capitals, small letters and digits: names have two of the three."""
    kinds = ("[A-Z]", "[a-z]", "[0-9]")
    return "/" not in word and "-" in word and all(re.search(kind, word) for kind in kinds)


def is_harmless(word):
    """Whether a long word is an id, a path or a name, and no key: in a key letters and digits have no order."""
    word = UUID.sub("", word)
    if HEX.fullmatch(word) or "+" in word or word.endswith("=") or is_passphrase(word):
        return False
    for text in re.split(r"[/_~-]", word):
        parts = PART.findall(text)
        several_numbers = len([part for part in parts if part.isdigit()]) > 1
        if len(text) >= SHORTEST_KEY and (several_numbers or len(text) < SHORT_PARTS * len(parts)):
            return False
    parts = PART.findall(word)
    length = sum(map(len, parts))
    return length < SHORTEST_KEY or length >= SHORT_NAMES * len(parts)
