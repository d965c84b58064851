# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Look for secrets in a file, a tree or a tarball: known ones, and text that looks like one.

A finding has file and line, never the secret itself. The tests and tools/tarballs.py use it.
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
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

# The pattern of files, what may be in them, and why it is no secret
Allowed = tuple[str, str, str]

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
OURS: list[Allowed] = [
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
    ("*test_broker.py", "a password in a URL", "made up, for a test that only user and virtual host are kept"),
    ("*test_last_words.py", "a password in a URL", "made up, for a test that it is left out"),
    ("*wrong_contents.py", "a key of Ceph", "made up, for a host that Ceph is to refuse"),
    ("*operations_third_fresh.py", "a key of Ceph", "made up, for a host that Ceph is to refuse"),
]
# Shorter words are in many files by chance.
SHORTEST = 6
# The most bytes of a file, and the deepest archive in archives; a file beyond is reported.
MOST, DEEPEST = 256 << 20, 4
# The bytes with which a file in gzip begins
GZIP = b"\x1f\x8b"


class Finding(NamedTuple):
    file: str
    line: int
    what: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.what}"


class Scanner:
    """A search for secrets. known: secrets by their names. allowed: what is found and is no secret."""

    def __init__(self, known: Mapping[str, str] | None = None, allowed: Iterable[Allowed] = ()) -> None:
        self.allowed = list(allowed)
        # The indices of those that were found
        self.used: set[int] = set()
        self.known: dict[str, set[bytes]] = {}
        for name, secret in (known or {}).items():
            if len(secret) >= SHORTEST:
                self.known[name] = forms(secret)

    def scan(self, place: str | os.PathLike[str]) -> list[Finding]:
        """Return all findings in a file, below a folder, or in an archive."""
        place = Path(place)
        if not place.exists():
            raise FileNotFoundError(place)
        files = [place] if place.is_file() else sorted(walk(place))
        found: list[Finding] = []
        for path in files:
            name = path.name if path == place else str(path.relative_to(place))
            with path.open("rb") as stream:
                found += self.content(name, stream.read(MOST + 1))
        return [one for one in found if not self.is_allowed(one)]

    def content(self, name: str, content: bytes, depth: int = 0) -> list[Finding]:
        if len(content) > MOST or depth > DEEPEST:
            return [Finding(name, 0, "not looked at: it is too large, or packed too often")]
        # The files in an archive are scanned with their names in it.
        found = [] if is_archive(content) else list(self.lines(name, content))
        unpacked = unpack(content)
        if unpacked is not None:
            for inner, more in members(unpacked):
                found += self.content(f"{name}!{inner}" if inner else name, more, depth + 1)
        return found

    def lines(self, name: str, content: bytes) -> Iterator[Finding]:
        """Yield the findings in the name of a file, which counts as line 0, and in its lines."""
        for what, _start in self.matches(os.fsencode(name)):
            yield Finding(name, 0, what)
        for what, start in self.matches(content):
            yield Finding(name, content.count(b"\n", 0, start) + 1, what)

    def matches(self, text: bytes) -> Iterator[tuple[str, int]]:
        """Yield what looks like a secret in a text, and where it begins."""
        for what, pattern in [*GENERAL.items(), *self.known_in(text)]:
            for match in pattern.finditer(text):
                yield what, match.start()

    def known_in(self, text: bytes) -> Iterator[tuple[str, re.Pattern[bytes]]]:
        """Yield a pattern for each known secret in a text. A faster test comes first."""
        for name, written in self.known.items():
            found = [form for form in written if form in text]
            if found:
                longest_first = sorted(found, key=len, reverse=True)
                yield f"the secret {name}", re.compile(b"|".join(map(re.escape, longest_first)))

    def is_allowed(self, one: Finding) -> bool:
        for number, (files, what, _why) in enumerate(self.allowed):
            if fnmatch.fnmatchcase(one.file, files) and what in ("*", one.what):
                self.used.add(number)
                return True
        return False

    @property
    def unused(self) -> list[Allowed]:
        """Return allowed findings that did not occur: they would hide later ones."""
        return [allowed for number, allowed in enumerate(self.allowed) if number not in self.used]


def walk(folder: Path) -> Iterator[Path]:
    """Yield all files, hidden ones too; a link is not followed, as it may lead anywhere."""
    for directory, folders, names in os.walk(folder):
        folders.sort()
        paths = [Path(directory, name) for name in names]
        yield from (path for path in paths if path.is_file() and not path.is_symlink())


def forms(secret: str) -> set[bytes]:
    """Return each form of a secret: as it is, in JSON, in a URL, and in base64 wherever it begins there."""
    text = secret.encode()
    in_json = json.dumps(secret)[1:-1].encode()
    in_url = quote(secret, safe="").encode()
    in_base64 = [base64_of(text, shift) for shift in range(3)]
    found = {text, in_json, in_url, *in_base64}
    return {one for one in found if len(one) >= SHORTEST}


def base64_of(text: bytes, shift: int) -> bytes:
    """Return base64 of a text behind some other bytes, as far as it does not depend on the text around it."""
    encoded = base64.b64encode(b"\0" * shift + text)
    begin = (8 * shift + 5) // 6
    end = (8 * (shift + len(text))) // 6
    return encoded[begin:end]


def unpack(content: bytes) -> bytes | None:
    """Return the unpacked content of a file, or None."""
    if content[:2] != GZIP:
        return content if is_archive(content) else None
    try:
        with gzip.open(io.BytesIO(content)) as stream:
            return stream.read(MOST + 1)
    except (OSError, EOFError, zlib.error):
        return None


def is_archive(content: bytes) -> bool:
    return content[257:262] == b"ustar"


def members(content: bytes) -> list[tuple[str, bytes]]:
    """Return (name, content) of the files in an archive; any other content alone."""
    if not is_archive(content):
        return [("", content)]
    with tarfile.open(fileobj=io.BytesIO(content)) as archive:
        files = [(one.name, archive.extractfile(one)) for one in archive if one.isfile()]
        return [(name, stream.read(MOST + 1)) for name, stream in files if stream]


def known_of(lab: str | os.PathLike[str]) -> dict[str, str]:
    """Return the secrets of a lab, by name."""
    return {
        **secrets_in(Path(lab, "secrets.yml"), r"\w+"),
        **secrets_in(Path(lab, "clouds.yaml"), "password"),
    }


def secrets_in(path: Path, keys: str) -> dict[str, str]:
    """Return the values of some keys of a file, by key and line. UUIDs name a secret and are not secrets themselves."""
    if not path.exists():
        return {}
    pattern = re.compile(rf"\s*({keys}): *\"?([^\"]+?)\"? *$")
    found: dict[str, str] = {}
    for number, line in enumerate(path.read_text().splitlines(), 1):
        pair = pattern.match(line)
        if pair and not re.fullmatch(UUID.decode(), pair[2]):
            found[f"{pair[1]} ({path.name}, line {number})"] = pair[2]
    return found
