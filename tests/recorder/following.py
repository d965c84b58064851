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
LONG = 5


class Following:
    """of_old: gives a text of the old recording with what its ids and times are today."""

    def __init__(self, of_old):
        self.of_old, self.answers, self.long = of_old, [], {}

    def words(self, words):
        return [ANSWERED.sub(self._today, self.of_old(word)) for word in words]

    def answered(self, new, old):
        self.answers.append((TOKEN.findall(new), TOKEN.findall(self.of_old(old))))

    def _today(self, match):
        for new, old in self.answers:
            if match[0] in old and len(new) > old.index(match[0]):
                found = new[old.index(match[0])]
                if len(found) >= LONG:
                    self.long[found] = match[0]
                return found
        return match[0]

    def as_before(self, text):
        """A new text in which the long ones are called as in the old recording."""
        if not self.long:
            return text
        pattern = rf"(?<![0-9A-Za-z])(?:{'|'.join(map(re.escape, self.long))})(?![0-9A-Za-z])"
        return re.sub(pattern, lambda match: self.long[match[0]], text)
