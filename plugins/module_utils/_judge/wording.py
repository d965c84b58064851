# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A cause in words: its headline, what speaks for it, and the step that was owed."""

from __future__ import annotations

from .._report.finding import UNIT, place_of
from .world import RESTART

LONGEST_HEADLINE = 100
# What says most about a cause in a line stands first.
HEADLINES = ("state", "words", "ground", "reach", "failed at", "error", "unheard", "answer", "change")
TELLING = (*HEADLINES, "owed", "restart")
# A service that starts, or that has ended and runs again, and a failure of which nobody knows how: anything else about
# the same component says more.
SAYS_NOTHING = ("activating", "deactivating", "restarted", None)
# A change of settings is told beside what it did, if it counts at least this part of one of this moment.
FRESH = 0.25
# So many reasons are listed.
MOST = 10


def telling(cause):
    """The symptoms that say something of a cause, the weightiest first, each sentence once."""
    chosen = {}
    for symptom in cause["symptoms"]:
        if symptom["kind"] in TELLING and symptom["component"] != "client" and symptom["how"] != "part":
            chosen.setdefault(about(symptom), symptom)
    return list(chosen.values())


def about(symptom):
    """A symptom as a sentence without its end: who, where, and what."""
    return said(symptom["component"], symptom["host"], symptom["text"])


def said(component, host, text):
    place = place_of(component, host) if component else ""
    return f"{place}{text}" if text.startswith(":") else f"{place} {text}".strip()


def is_of(symptom, cause):
    return symptom["component"] == cause["component"] and symptom["host"] in (None, cause["host"])


def why(cause):
    """The facts that speak for a cause. That a step is lacking is none of its own, and is told if there is no other."""
    told = telling(cause)
    facts = [symptom for symptom in told if symptom["kind"] != "owed"]
    return list(dict.fromkeys(about(symptom) for symptom in facts or told))[:MOST]


def headline(cause, step, pause):
    """A cause in at most 100 characters: the one that is named, or a restart that is over."""
    if cause and cause["kind"] == RESTART:
        client = next(s["component"] for s in cause["symptoms"] if s["kind"] in ("failed at", "reach"))
        place = place_of(cause["component"], cause["host"])
        return cut_off(f"nobody is named: a restart of {place} had ended connections of {client}")
    if cause:
        # The next command names the unit.
        text = said(cause["component"], cause["host"], UNIT.sub("", main_reason(cause)))
        whole = text + and_changed(cause)
        return whole if len(whole) <= LONGEST_HEADLINE else cut_off(text)
    if step is None:
        return None
    if pause is not None:
        return cut_off(f"nobody is named: step {step['id']} is late, and may only be slow")
    return cut_off(f"nobody is named: step {step['id']} is lacking, and nothing that could be read says surely why")


def cut_off(text):
    return text if len(text) <= LONGEST_HEADLINE else f"{text[: LONGEST_HEADLINE - 3].rstrip()}..."


# What a component does to another one that failed at it, and what that one meets
DOES = {
    "refused": ("refuses connections of", "is refused connections by"),
    "silent": ("does not answer", "gets no answer from"),
    "denied": ("denies access to", "is denied access by"),
    "error": ("answers with errors to", "gets errors from"),
    "full": ("has no room for", "finds no room at"),
    "read-only": ("lets nothing be written by", "may not write to"),
    "broken off": ("breaks off connections with", "loses its connections with"),
    "missing": ("has not what is asked for by", "does not find what it needs at"),
    "unreachable": ("cannot be reached by", "cannot reach"),
    "malformed": ("does not understand", "is not understood by"),
    None: ("is at fault for", "failed at"),
}


def main_reason(cause):
    """The fault of a cause in a few words: its own symptom, or else that of others which failed at it."""
    for symptom in by_weight(cause):
        does, meets = DOES.get(symptom["how"], DOES[None])
        if is_of(symptom, cause):
            return f"{meets} {symptom['peer']}" if symptom["kind"] == "failed at" else symptom["text"]
        if symptom["peer"] == cause["component"]:
            return f"{does} {place_of(symptom['component'], symptom['host'])}"
    first = (telling(cause) or cause["symptoms"])[0]
    if is_of(first, cause) or first["component"] is None:
        return first["text"]
    return f"is needed by {place_of(first['component'], first['host'])}, which {first['text']}"


def by_weight(cause):
    """The symptoms that a headline may tell: the cause's own first, and changes of its settings last."""
    shown = [symptom for symptom in telling(cause) if symptom["kind"] in HEADLINES]

    def order(symptom):
        place, says_nothing = HEADLINES.index(symptom["kind"]), symptom["how"] in SAYS_NOTHING
        return (symptom["kind"] == "change", not is_of(symptom, cause), says_nothing, place)

    return sorted(shown, key=order)


def and_changed(cause):
    """That its settings are new, if it is not said already."""
    shown = by_weight(cause)
    new = any(symptom["kind"] == "change" and symptom["share"] >= FRESH for symptom in shown)
    is_said = shown and (shown[0]["kind"] == "change" or shown[0]["how"] in ("stopped", "frozen"))
    return "; its settings were changed" if new and not is_said else ""


def owed(step, pause):
    """The step that was owed, as a sentence."""
    lacks = "did not happen" if step["status"] == "missing" else "was not seen to happen"
    late = "" if pause is None else f", {pause:.1f} s after another one: it may be slow"
    return f"step {step['id']} ({step['message']}) {lacks}{late}"
