# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Looks for secrets in a file, a tree or a tarball: known ones, and text that looks like one.

A finding has file and line, never the secret itself. The tests and tools/check-tarball use it.
"""

from __future__ import annotations

import base64
import fnmatch
import gzip
import io
import json
import os
import re
import tarfile
import zlib
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

# The names of secrets, and random values: long, with a digit, not an expression, and not a UUID, which for libvirt and
# Ceph is only the name of a secret.
CALLED = rb"(?:pass(?:word|wd|phrase)|secret|hmac_keys?|api_key|admin_pass|adminPass|auth_token)"
UUID = rb"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b"
# An exception after the name of its logger, such as auth_token, is no secret.
NO_CLASS = rb"(?!(?-i:(?:[a-z]\w*\.)+[A-Z][A-Za-z]+)(?![A-Za-z0-9_+/=.!%^*~-]))"
CHANCE = rb"(?!" + UUID + rb")(?=[A-Za-z_+/=.!%^*~-]*\d)[A-Za-z0-9_+/=.!%^*~-]{8,}"
# Between a name and its value, in a file of settings, in JSON and in Python
IS = rb"\\?[\"']?\s*[:=]\s*b?\\?[\"']?"
PATTERNS = {
    "a Fernet token": rb"(?<![A-Za-z0-9_-])gAAAA[A-Za-z0-9_-]{40,}",
    "a private key": rb"-----BEGIN (?:[A-Z]+ )*PRIVATE KEY-----(?:\\r|\\n|\s)*[A-Za-z0-9+/=]{6}",
    "a key of Ceph": rb"(?<![A-Za-z0-9+/])AQ[A-Za-z0-9+/]{36}==",
    "a token in a header": rb"(?i)\bx-(?:auth|subject|service)-token\b" + IS + rb"(?!\{SHA256\})[A-Za-z0-9_.-]{12,}",
    "a signature in a header": rb"(?i)\bx-trace-hmac\b" + IS + rb"[0-9a-f]{40}",
    "a password": rb"(?i)(?<![A-Za-z0-9])(?:[a-z0-9]+_)*" + CALLED + IS + NO_CLASS + CHANCE + rb"(?![\w(\[{])",
    "a password in a URL": rb"(?i)\b[a-z][a-z0-9+.-]*://[^\s/:@\"'<>{}$]*:[^\s/:@\"'<>{}$]+@[\w\[]",
}  # fmt: skip
GENERAL = {what: re.compile(pattern) for what, pattern in PATTERNS.items()}
# Findings in the repository that are not secrets
OURS = [
    ("*test_secret_scan.py", "*", "they are planted, to be found"),
    ("*recorder/test_rewriting.py", "*", "they are planted, to be taken out"),
    ("*test_span_info.py", "a password in a URL", "made up, for a test that it is not told"),
    ("*_cloud/test_connection.py", "a password in a URL", "made up, for a test that it is left out"),
    ("*test_logged_errors.py", "a password", "made up, for a test that it stays on its host"),
    ("*logs/test_reader.py", "a password", "made up, for a test that it stays on its host"),
    ("*logs/test_reader.py", "a token in a header", "made up, for a test that it stays on its host"),
    ("*test_bundle_info.py", "a password", "made up, for a test that it is not told"),
    ("*hosts/compute2*.jsonl", "a password", "the name of an object in the emulator, which has the secret"),
    ("*faults.py", "a key of Ceph", "made up, for a host that Ceph is to refuse"),
]
# Shorter words are in many files by chance.
SHORTEST = 6
# The most bytes of a file, and the deepest archive in archives; a file beyond is reported.
MOST, DEEPEST = 256 << 20, 4


class Finding(NamedTuple):
    file: str
    line: int
    what: str

    def __str__(self):
        return f"{self.file}:{self.line}: {self.what}"


class Scanner:
    """known: name to a secret. allowed: list of (pattern of files, what may be in them, why it is no secret)."""

    def __init__(self, known=None, allowed=()):
        self.allowed, self.used = list(allowed), set()
        self.known = {name: forms(secret) for name, secret in (known or {}).items() if len(secret) >= SHORTEST}

    def scan(self, place):
        """All findings in a file, below a folder, or in an archive."""
        place = Path(place)
        if not place.exists():
            raise FileNotFoundError(place)
        files = [place] if place.is_file() else sorted(walk(place))
        found = []
        for path in files:
            name = path.name if path == place else str(path.relative_to(place))
            with path.open("rb") as stream:
                found += self.content(name, stream.read(MOST + 1))
        return [one for one in found if not self.is_allowed(one)]

    def content(self, name, content, depth=0):
        if len(content) > MOST or depth > DEEPEST:
            return [Finding(name, 0, "not looked at: it is too large, or packed too often")]
        # The files in an archive are scanned with their names in it.
        found = [] if is_archive(content) else list(self.lines(name, content))
        unpacked = unpack(content)
        if unpacked is not None:
            for inner, more in members(unpacked):
                found += self.content(f"{name}!{inner}" if inner else name, more, depth + 1)
        return found

    def lines(self, name, content):
        # The name of a file may hold a secret, too.
        for number, text in ((0, os.fsencode(name)), (None, content)):
            for what, pattern in [*GENERAL.items(), *self.known_in(text)]:
                for match in pattern.finditer(text):
                    line = text.count(b"\n", 0, match.start()) + 1 if number is None else number
                    yield Finding(name, line, what)

    def known_in(self, text):
        """A pattern for each known secret in a text. Whether it is there at all is tested in a faster way."""
        for name, written in self.known.items():
            there = sorted((form for form in written if form in text), key=len, reverse=True)
            if there:
                yield f"the secret {name}", re.compile(b"|".join(map(re.escape, there)))

    def is_allowed(self, one):
        for number, (files, what, _why) in enumerate(self.allowed):
            if fnmatch.fnmatchcase(one.file, files) and what in ("*", one.what):
                self.used.add(number)
                return True
        return False

    @property
    def unused(self):
        """Allowed findings that did not occur: they would hide later ones."""
        return [self.allowed[number] for number in range(len(self.allowed)) if number not in self.used]


def walk(folder):
    """All files, hidden ones too; a link is not followed, as it may lead anywhere."""
    for directory, folders, names in os.walk(folder):
        folders.sort()
        paths = [Path(directory, name) for name in names]
        yield from (path for path in paths if path.is_file() and not path.is_symlink())


def forms(secret):
    """How a secret may be written: as it is, in JSON, in a URL, and in base64 wherever it begins there."""
    text = secret.encode()
    # Of base64, only the part that does not depend on the text around it
    shifted = [base64.b64encode(b"\0" * shift + text)[(8 * shift + 5) // 6 : (8 * (shift + len(text))) // 6]
               for shift in range(3)]  # fmt: skip
    found = {text, json.dumps(secret)[1:-1].encode(), quote(secret, safe="").encode(), *shifted}
    return {one for one in found if len(one) >= SHORTEST}


def unpack(content):
    """The unpacked content of a file, or None."""
    if content[:2] == b"\x1f\x8b":
        try:
            with gzip.open(io.BytesIO(content)) as stream:
                return stream.read(MOST + 1)
        except (OSError, EOFError, zlib.error):
            return None
    return content if is_archive(content) else None


def is_archive(content):
    return content[257:262] == b"ustar"


def members(content):
    """(name, content) of the files in an archive; any other content alone."""
    if not is_archive(content):
        return [("", content)]
    with tarfile.open(fileobj=io.BytesIO(content)) as archive:
        return [(one.name, archive.extractfile(one).read(MOST + 1)) for one in archive if one.isfile()]


def known_of(lab):
    """The secrets of a lab, by name. UUIDs name a secret and are not secrets themselves."""
    found = {}
    for name, which in (("secrets.yml", r"\w+"), ("clouds.yaml", "password")):
        path = Path(lab, name)
        lines = path.read_text().splitlines() if path.exists() else []
        pairs = [re.match(rf"\s*({which}): *\"?([^\"]+?)\"? *$", line) for line in lines]
        for number, pair in enumerate(pairs, 1):
            if pair and not re.fullmatch(UUID.decode(), pair[2]):
                found[f"{pair[1]} ({name}, line {number})"] = pair[2]
    return found
