# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Commands of an old recording, as they are to be asked of today's instance.

Many a command has in its words what an earlier one has answered: the number of a process, of a port of the switch, the
id of a disk in Ceph. What stands in its place in the new answer is asked for now.
"""

from __future__ import annotations

import re

TOKEN = re.compile(r"[0-9A-Za-z]+")
# What a command can have out of an answer
ANSWERED = re.compile(r"(?<![0-9A-Za-z-])(?:[0-9a-f]{10,16}|\d+)(?![0-9A-Za-z-])")
# Shorter ones are in too much that means something else: they keep their new form in the recording.
LONG = 4


class Following:
    """of_old: gives a text of the old recording with what its ids and times are today."""

    def __init__(self, of_old):
        self.of_old, self.answers, self.long = of_old, [], {}

    def words(self, words):
        return [ANSWERED.sub(self._today, self.of_old(word)) for word in words]

    def answered(self, words, new, old):
        new, old = TOKEN.findall(new), TOKEN.findall(self.of_old(old))
        if "pgrep" in words:  # what follows the number is as long as the process's words
            new, old = new[:1], old[:1]
        if len(new) == len(old):
            self.answers.insert(0, (new, old))
        if "pgrep" in words and new and old:
            self._same(new[0], old[0])

    def _today(self, match):
        for new, old in self.answers:
            if match[0] in old:
                return self._same(new[old.index(match[0])], match[0])
        return match[0]

    def _same(self, new, old):
        if len(new) >= LONG and new != old:
            self.long[new] = old
        return new

    def as_before(self, text):
        """A new text in which the long ones are called as in the old recording."""
        if not self.long:
            return text
        pattern = rf"(?<![0-9A-Za-z])(?:{'|'.join(map(re.escape, self.long))})(?![0-9A-Za-z])"
        return re.sub(pattern, lambda match: self.long[match[0]], text)
