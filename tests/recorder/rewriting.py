# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What becomes of all that is recorded on its way into the repository: ids, times and secrets."""

from __future__ import annotations

import re

from recorder.names import Names
from recorder.times import Shift

# What stands for a secret that was taken out
MASK = "masked"
# The value is what a name, or a header, is followed by.
SECRETS = [
    re.compile(r"gAAAA[A-Za-z0-9_=-]{20,}"),
    re.compile(r"(?<![A-Za-z0-9+/])AQ[A-Za-z0-9+/]{36}=="),
    re.compile(r"(?i)(?<=x-instance-id-signature: )[0-9a-f]+"),
    re.compile(r"(?<=\{SHA256\})[0-9a-f]{64}"),
    re.compile(r"(?<=://)[^\s/:@\"'<>{}$]*:[^\s/:@\"'<>{}$]+(?=@[\w\[])"),
    re.compile(r"(?i)(?:(?<=password=)|(?<=password\": \")|(?<=\"secret\": \"))[^\s\"',}]+"),
    # The emulator has its disks' keys on its command line, encrypted.
    re.compile(r'(?<="data":")[A-Za-z0-9+/=]+(?=","keyid")|(?<="iv":")[A-Za-z0-9+/=]+(?=")'),
]


class Rewriting:
    """Of one recording: names: how ids are called; shift: how times are moved; secrets: words that are taken out."""

    def __init__(self, names, shift, secrets=()):
        self.names, self.shift = names, shift
        words = sorted({secret for secret in secrets if len(secret) > 5}, key=len, reverse=True)
        self.secrets = [*SECRETS, *([re.compile("|".join(map(re.escape, words)))] if words else [])]

    @classmethod
    def of(cls, new, old, secrets=()):
        """That of two records of runs."""
        return cls(Names.of(new, old), Shift(new["started"], old["started"]), secrets)

    def text(self, text):
        for secret in self.secrets:
            text = secret.sub(MASK, text)
        # A run's id has its time in it: it is named first, and then not moved.
        named = re.split(r"(\b\d{8}-\d{6}-[0-9a-f]{6}\b)", text)
        return "".join(self._part(part, bool(place % 2)) for place, part in enumerate(named))

    def _part(self, text, is_run):
        if is_run and text in self.names.known:
            return self.names.known[text]
        return self.names.text(self.shift.text(text))

    def back(self, text):
        """An old text, with what its ids and times are today."""
        return self.shift.back().text(self.names.back().text(text))

    def __call__(self, data):
        """The same for whatever JSON can hold."""
        if isinstance(data, str):
            return self.text(data)
        if isinstance(data, dict):
            return {self.text(key): self(value) for key, value in data.items()}
        if isinstance(data, list):
            return [self(item) for item in data]
        if isinstance(data, (int, float)):
            return self.shift.number(data)
        return data
