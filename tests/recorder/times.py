# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Moves all times of a recording by the same number of whole seconds, in whatever form they are written.

So a new recording begins when the old one did. Whole seconds, because many logs have no parts of them.
"""

from __future__ import annotations

import re
from datetime import datetime, timedelta

MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
MONTH = "|".join(MONTHS)
CLOCK = r"\d\d:\d\d:\d\d"
TIME = re.compile(
    rf"""(?<!\d)(?:
        (?P<iso>\d{{4}}-\d\d-\d\d[T\ ]{CLOCK})
        | (?P<web>\d\d/(?:{MONTH})/\d{{4}}:{CLOCK})
        | (?P<long>(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)\ (?:{MONTH})\ [\ \d]\d\ {CLOCK}\ \d{{4}})
        | (?P<short>(?:{MONTH})\ [\ \d]\d\ {CLOCK})
        | (?P<run>\d{{8}}-\d{{6}}(?=-[0-9a-f]{{6}}))
        | (?P<micro>1\d{{15}}(?!\d))
        | (?P<epoch>1\d{{9}}(?!\d))
    )""",
    re.VERBOSE,
)
FORMS = {"web": "%d/%b/%Y:%H:%M:%S", "long": "%a %b %d %H:%M:%S %Y", "run": "%Y%m%d-%H%M%S"}
# Older and later times are no part of what was recorded: when an API's version was made, or what a number means else.
NEAR = timedelta(days=40)
EPOCH = datetime(1970, 1, 1)


class Shift:
    """Moves times near the moment of a new recording to those near an old one's; both are text in ISO 8601, in UTC."""

    def __init__(self, new, old):
        self.new = datetime.fromisoformat(new).replace(microsecond=0, tzinfo=None)
        self.by = datetime.fromisoformat(old).replace(microsecond=0, tzinfo=None) - self.new

    def back(self):
        return Shift((self.new + self.by).isoformat(), self.new.isoformat())

    def is_near(self, moment):
        return abs(moment - self.new) < NEAR

    def moved(self, moment):
        return moment + self.by if self.is_near(moment) else moment

    def number(self, value):
        """Seconds since 1970, where they are near; any other number as it is."""
        if isinstance(value, bool) or not 0 < value < 4e9 or not self.is_near(EPOCH + timedelta(seconds=value)):
            return value
        by = int(self.by.total_seconds())
        return value + by if isinstance(value, int) else round(value + by, 6)

    def text(self, text):
        return TIME.sub(self._written, text)

    def _written(self, match):
        form, written = match.lastgroup, match[0]
        if form == "epoch":
            return str(int(self.number(int(written))))
        if form == "micro":
            return f"{int(self.number(int(written[:10])))}{written[10:]}"
        try:
            return self._of_calendar(form, written)
        except ValueError:  # digits that look like a time
            return written

    def _of_calendar(self, form, written):
        if form == "iso":
            moment = datetime.fromisoformat(written)
            return self.moved(moment).isoformat(written[10]) if self.is_near(moment) else written
        if form == "short":
            moment = datetime.strptime(f"{self.new.year} {written}", "%Y %b %d %H:%M:%S")
            later = self.moved(moment)
            return f"{MONTHS[later.month - 1]} {later.day:2d} {later:%H:%M:%S}"
        moment = datetime.strptime(written, FORMS[form])
        later = self.moved(moment).strftime(FORMS[form])
        return re.sub(r" 0(\d) ", r"  \1 ", later) if form == "long" else later
