# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Words that texts for users do not use, each with the words of the trade for it."""

from __future__ import annotations

import re

# A pattern that must not appear, and what to write instead
DIALECT = {
    r"tells?|told|retold": "reports, shows, distinguishes; or name the key or the file",
    r"said": "reported, answered, logged",
    r"anew": "again, restarted, recreated, regenerated",
    r"in vain": "timed out, failed",
    r"nobody|somebody|everybody": "no component identified; or name the actor",
    r"accus(?:es?|ed)": "blames; or name the component",
    r"go(?:es|ing)? on|went on": "continues, resumes, is in progress",
    r"under way": "in progress",
    r"hand(?:s|ed)? out": "offers, has, returns",
    r"whoever|whatever": "any, each, even if",
    r"ha(?:s|ve) it not": "does not have",
    r"ow(?:ed|es)": "missing, did not happen, responsible for",
    r"(?:is|are) lacking": "missing",
    r"lean(?:s|ing)? on": "depends on",
    r"(?:is|are|was|were|be) well(?! known)": "healthy, up, passed",
    r"(?:is|are|was|were) none": "no ...; or rewrite the sentence",
    r"so many": "a number of, the number of, N",
    r"of which": "rewrite as two sentences",
    r"strangers?": "third-party, held-out",
    r"at once": "in parallel, concurrently; immediately; together",
    r"at the same time": "in parallel, concurrently",
    r"for ever": "indefinitely, without end",
    r"unless given": "Defaults to ...",
    r"the ways? (?:to|from|between)": "path, connection",
    r"(?:own|only|cloud's|guest's) words?": "reports, answers, logs",
    r"br(?:oke|oken|eaks?) off": "interrupted, ended early",
    r"but for": "except",
    r"(?:the|its|their|a) begin": "start",
    r"merge of|merges? sweeps": "combined sweep, combine",
    r"knees?": "saturation point",
    r"(?:a|the|each|this|its) load(?! test| balanc|-)": "load test",
    r"(?:is|are) as sharp": "resolution",
    r"took no more|takes no more": "rate limiting",
    r"brothers": "the other targets",
}
WORDS = re.compile(rf"(?<![\w-])({'|'.join(DIALECT)})(?![\w-])", re.IGNORECASE)


def dialect_in(text: str) -> list[str]:
    """Return each word of the dialect with the words around it, and what to write instead."""
    text = " ".join(text.split())
    found = []
    for match in WORDS.finditer(text):
        instead = next(better for word, better in DIALECT.items() if re.fullmatch(word, match[1], re.IGNORECASE))
        found.append(f"...{text[max(match.start() - 40, 0) : match.end() + 30]}... ({instead})")
    return found
