# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Matches the events of a run to the steps of a flow."""

from __future__ import annotations

import re
from collections import defaultdict

from .._collect.sources import SOURCES
from .._record import shapes
from .._record.levels import LEVELS
from . import order
from .components import is_beside
from .flow import TOKEN_CACHE, agrees, compiled, search
from .rivals import own_keys, rivals_in
from .status import status_of

# Some rules need the times of steps that others have shown: they have their turn later.
TURNS = 4


def turn_of(rule, part):
    """When a rule is applied: some need the times of steps that others have shown."""
    if part == "absent":
        return TURNS - 1
    return 2 if "window" in rule else 1 if "within" in rule else 0


def may_be_left_out(step):
    """Whether a cache may answer a step, or it may be proved not to happen."""
    return bool(step.get("cached") or step.get("absent"))


def rules_in(step):
    return step.get("observe") or []


def once(events):
    """Requests without those that a web server has logged again, in whole seconds, after the service itself."""
    return [one for one in events if one["kind"] == "http" and not one.get("began")] or events


def pattern_of(one):
    """The path of a request with what its ids are in place of the ids."""
    path = one["path"]
    for kind, ids in one["keys"].items():
        for text in ids:
            path = path.replace(text, f"<{kind}>")
    return re.sub(r"[0-9a-f]{8}-[0-9a-f-]{27}|[0-9a-f]{32}", "<id>", path)


class Matcher:
    """Events of one run, ready to be matched with any flow.

    names: what {host}, {server} and so on stand for. facts: what a step's "when" is asked of. sources: the logs that
    were read, list of host, service, whole. told: what an administrator was told of other boots (see rivals_in).
    levels: service to the level at which it logs, where that is known better than by the events.
    logs_alone: nobody asked the API, so that none of its rules owes anything.
    caller_known: whether the host that has sent a request is known by its address.
    complete: whether all that happened had to be seen, so that a step can be missing.
    """

    def __init__(
        self, events, names, facts, sources, began, ended, told=None,
        levels=None, logs_alone=False, caller_known=True, complete=True,
    ):  # fmt: skip
        self.logs_alone, self.caller_known, self.complete = logs_alone, caller_known, complete
        self.names, self.facts, self.sources = names, facts, sources
        self.began, self.ended = began, ended
        self.index = defaultdict(list)
        for one in events:
            # An error is no step of any flow; the judge has them.
            if one["kind"] != "error":
                self.index[one["source"], one["service"]].append(one)
        self.rivals = rivals_in(self.index["log", "nova-api"], self.index["log", "nova-compute"], told)
        # Nova's web server may have a log of its own; either tells each request.
        asked = [source for source in sources if source["service"] == "nova-api"]
        hosts = {source["host"] for source in asked}
        self.rivals_known = bool(hosts) and hosts == {source["host"] for source in asked if source["whole"]}
        self.used = None
        self.levels = {}
        for one in events:
            if one["source"] == "log":
                level = self.levels.get(one["service"], "info")
                self.levels[one["service"]] = max(level, one["level"] or "info", key=LEVELS.index)
        self.levels.update(levels or {})

    def match(self, flow):
        """The steps of a flow as run.json has them."""
        if "base" in flow:
            return retold(flow["steps"], self.match(flow["base"]))
        steps = [self.basics(step, flow) for step in flow["steps"]]
        # A list of exchanges that may repeat themselves: each event shows one of them, in their order.
        self.used = set() if flow.get("exclusive") else None
        by_id = {step["id"]: step for step in steps}
        # What carries an id first: it says in which span of time other evidence counts.
        for turn in range(TURNS):
            for step, rules in zip(steps, flow["steps"]):
                if step["status"] == "skipped":
                    continue
                for part in ("observe", "cached", "absent"):
                    for rule in rules.get(part) or []:
                        if turn_of(rule, part) == turn:
                            step["evidence"] += [{**one, "proves": part} for one in self.evidence(rule, by_id, part)]
                choose(step)
        for step, rules in zip(steps, flow["steps"]):
            settle(step, rules, self)
        if self.complete:
            self.miss(steps, flow["steps"], by_id)
        return steps

    def miss(self, steps, rules_of_steps, by_id):
        """Find what is missing: owed, as all before it happened, not proved by what comes after it, and looked for."""
        happened = order.happened(steps)
        for step, rules in zip(steps, rules_of_steps):
            # What has no id of ours where it is logged may be there and not be known for ours.
            certain = step["owed_by"] != order.NOBODY and not any("window" in one for one in rules_in(rules))
            if step["status"] == "unseen" and step["id"] not in happened and certain:
                where = [place for rule in rules_in(rules) for place in self.owed(rule, by_id)]
                if where:
                    step.update(status="missing", reason=f"it is not in {' and '.join(dict.fromkeys(where))}")
        owed = {path[-1]["id"] for path in order.paths(steps)}
        for step in steps:
            if step["status"] == "missing" and step["id"] not in owed:
                step.update(status="unseen", reason="a step that it follows did not happen")

    def owed(self, rule, steps):
        """What was read to its end and would have shown it: a step that nothing after it proves is missing then."""
        if set(re.findall(r"\{(\w+)\}", rule.get("where", ""))) - set(self.names):
            return []  # the run has no such name, and nothing could have been found
        if rule.get("edge") == "later":
            return []  # what is only to be seen later may still come
        if self.logs_alone and (rule["source"] != "log" or rule.get("needs") == "asked" or "window" in rule):
            return []
        if not self.caller_known and "caller" in rule.get("where", ""):
            return []
        if rule["source"] == "api" and rule.get("kind") in ("http", "state"):
            return ["what the run itself saw"]  # it knows all its own requests, and looked at the state to the end
        sources = [source for source in self.sources if source["service"] == rule["service"]]
        here = [source for source in sources if source["host"] == self.names.get("host")]
        # Beside the instance there is one of each; what those of other hosts say does not matter.
        sources = here if here and is_beside(rule["service"]) else sources
        if rule["source"] != "log" or not sources or not all(source["whole"] for source in sources):
            return []
        if LEVELS.index(rule.get("level", "info")) > LEVELS.index(self.levels.get(rule["service"], "info")):
            return []
        if self.span(rule, steps) is None or self.candidates(rule, steps, sure=False):
            return []
        return [f"the log of {rule['service']} on {', '.join(sorted({source['host'] for source in sources}))}"]

    def others(self, explained):
        """Exchanges between services that no step of the flow just matched has shown, with what explains them."""
        found = {}
        for (source, service), events in sorted(self.index.items()):
            asked = [one for one in once(events) if one.get("client") and own_keys(one)]
            for one in asked if source == "log" and self.used is not None else ():
                if id(one) not in self.used:
                    what = f"{one['caller']} to {service}: {one['method']} {pattern_of(one)}"
                    found.setdefault(what, []).append(one)
        return [
            {"what": what, "count": len(events), "because": self.explanation(events[0], explained)}
            for what, events in found.items()
        ]

    def explanation(self, one, explained):
        for rule in explained:
            try:
                expression = compiled(rule["where"], self.names)
            except KeyError:
                continue  # the run has no such name
            if agrees(expression, one):
                return rule["because"]
        return None

    def basics(self, step, flow):
        applies = search(step["when"], self.facts) if "when" in step else True
        meaning = (flow.get("phases") or {}).get(step.get("phase")) or {}
        return shapes.step(
            step["id"],
            *(step[name] for name in ("source", "target", "message", "kind")),
            phase=step.get("phase"),
            stage=meaning.get("stage") or flow.get("stage") or "boot",
            repeats=bool(meaning.get("repeats")),
            owed_by=order.NOBODY if may_be_left_out(step) else step.get("owed_by", step["source"]),
            follows=[str(before) for before in step.get("follows") or ()],
            numbers=step.get("numbers") or {},
            became=step.get("became"),
            today=step.get("today"),
            status="unseen" if applies else "skipped",
            reason=None if applies else step.get("unless") or f"it needs {step['when']}",
        )

    def evidence(self, rule, steps, part):
        if part == "absent" and rule["source"] == "log":
            return self.proof_of_absence(rule, steps)
        found = self.candidates(rule, steps)
        if self.used is not None:
            found = [one for one in once(found) if id(one) not in self.used][:1]
            self.used.update(map(id, found))
        elif rule.get("pick") and found:
            found = [found[0 if rule["pick"] == "first" else -1]]
        return [self.told(rule, one) for one in found]

    def candidates(self, rule, steps, sure=True):
        """What a rule finds; if not sure, with what could as well be of others."""
        try:
            expression = compiled(rule["where"], self.names) if "where" in rule else None
        except KeyError:
            return []  # the run has no such name: no volume, or no host known
        within = self.span(rule, steps)
        if within is None:
            return []
        found = []
        for one in self.index[rule["source"], rule["service"]]:
            if rule.get("kind", one["kind"]) != one["kind"]:
                continue
            if "says" in rule and rule["says"] not in one["said"]:
                continue
            if "window" in rule and (rule["window"] not in one["window"] or own_keys(one)):
                continue
            if SOURCES[one["source"]].of_others and not self.is_ours(one, rule, sure):
                continue
            if rule.get("needs") and rule["needs"] not in one["keys"]:
                continue
            slack = one["resolution_s"] + one["error_s"]
            if not (one.get("timeless") or within[0] - slack <= one["at"] <= within[1] + slack):
                continue
            if expression is None or agrees(expression, one):
                found.append(one)
        return found

    def is_ours(self, one, rule, sure):
        """An event that may be of others is ours by an id, or because there was no other whose it could be."""
        if own_keys(one) or (rule.get("needs") == "asked" and "asked" in one["keys"]):
            return True
        return ("window" in rule or "shared" in one["keys"]) and (not sure or self.ours_alone(one))

    def span(self, rule, steps):
        """The time in which a rule's evidence may lie: between two steps, or anywhere in the run."""
        within = rule.get("within")
        if not within:
            return self.began - TOKEN_CACHE if rule.get("window") else self.began - 1, self.ended
        first, last = (steps.get(str(one)) if one is not None else None for one in within)
        if (within[0] is not None and (not first or first["at"] is None)) or (
            within[1] is not None and (not last or last["at"] is None)
        ):
            return None
        start = first["at"] - (first["error_s"] or 0) if first else self.began - TOKEN_CACHE
        end = max(last["at"], last["until"] or 0) + (last["error_s"] or 0) if last else self.ended
        return start, end

    @property
    def rivalry(self):
        """How many requests for other boots may have been under way during this one."""
        return sum(first <= self.ended and last >= self.began for first, last in self.rivals)

    def ours_alone(self, one):
        """Whether no other boot could have caused an event that carries no id."""
        return self.rivals_known and not any(first - 1 <= one["at"] <= last for first, last in self.rivals)

    def proof_of_absence(self, rule, steps):
        """A source that was read whole, on every host that has it, and does not show what would have shown it."""
        sources = [source for source in self.sources if source["service"] == rule["service"]]
        if not sources or not all(source["whole"] for source in sources):
            return []
        if LEVELS.index(rule.get("level", "info")) > LEVELS.index(self.levels.get(rule["service"], "info")):
            return []
        # Who does not know the span of time has looked at nothing, and what may be of others may be ours too.
        if self.span(rule, steps) is None or self.candidates(rule, steps, sure=False):
            return []
        where = ", ".join(sorted({source["host"] for source in sources}))
        text = rule.get("text") or f"the log of {rule['service']} was read whole and does not show it"
        about = {"level": rule.get("level", "info"), "host": where}
        return [shapes.evidence("log", rule["service"], text, rule.get("tier", SOURCES["log"].tier), **about)]

    def told(self, rule, one):
        """An event as the evidence of a step."""
        source = SOURCES[one["source"]]
        at = one["until"] if rule.get("edge") == "end" and one["until"] is not None else one["at"]
        # What is true later shows that it happened, but not when.
        if one.get("timeless") or rule.get("edge") == "later":
            times = {}
        else:
            until = None if at == one["until"] else one["until"]
            times = {"at": at, "until": until, "resolution_s": one["resolution_s"], "error_s": one["error_s"]}
        return shapes.evidence(
            source.name,
            one["service"],
            rule.get("text") or one["text"],
            rule.get("tier", source.tier),
            level=one["level"],
            grade="window" if source.of_others and not one["keys"].keys() - {"shared"} else "keyed",
            host=one["host"],
            **times,
        )


def retold(steps, base):
    """Steps that each stand for several of another flow: as sure as the least sure of what did happen."""
    by_id = {step["id"]: step for step in base}
    return [retold_step(step, [by_id[str(one)] for one in step["covers"]]) for step in steps]


def retold_step(step, covered):
    statuses = {one["status"] for one in covered}
    status = next(one for one in ("missing", "unseen", "seen", "cached", "absent", "skipped") if one in statuses)
    timed = sorted((one for one in covered if one["at"] is not None), key=lambda one: one["at"])
    lacking = (
        ", ".join(one["id"] for one in covered if one["status"] == status) if status in ("missing", "unseen") else ""
    )
    first = timed[0] if timed else dict.fromkeys(("at", "resolution_s", "error_s", "host"))
    until = max((one["until"] or one["at"] for one in timed), default=None)
    return shapes.step(
        step["id"],
        *(step[name] for name in ("source", "target", "message", "kind")),
        **{name: step.get(name) for name in ("phase", "became", "today")},
        stage=covered[0]["stage"],
        repeats=all(one["repeats"] for one in covered),
        numbers=step.get("numbers") or {},
        covers=[str(one) for one in step["covers"]],
        status=status,
        reason=f"of its steps {lacking}" if lacking else None,
        **{name: first[name] for name in ("at", "resolution_s", "error_s", "host")},
        until=until,
        duration_s=round(until - first["at"], 6) if timed else None,
        evidence=[dict(one["evidence"][0]) for one in covered if one["evidence"]],
    )


def choose(step):
    """The best time of a step: of what shows it itself, the finest, and of these the first."""
    timed = [one for one in step["evidence"] if one["at"] is not None and one["proves"] == "observe"]
    if not timed:
        return
    keyed = [one for one in timed if one["grade"] == "keyed"] or timed
    best = min(keyed, key=lambda one: (one["resolution_s"] + one["error_s"] > 0.5, one["at"]))
    step.update({name: best[name] for name in ("at", "until", "resolution_s", "error_s", "host")})
    step["duration_s"] = None if best["until"] is None else round(max(0, best["until"] - best["at"]), 6)


def settle(step, rules, matcher):
    if step["status"] == "skipped":
        return
    step["status"], step["reason"] = status_of(step["evidence"])
    if step["status"] == "cached":
        step["reason"] = step["reason"] or "served from a cache; the earlier message is the evidence"
    if step["status"] == "unseen" and rules.get("otherwise"):
        step.update(status="skipped", reason=rules["otherwise"])
    elif step["status"] == "unseen":
        step["reason"] = how_to_see(rules, matcher)
    if step["host"] is None and step["evidence"]:
        step["host"] = step["evidence"][0]["host"]


def how_to_see(rules, matcher):
    """What would show a step that nothing showed: which log, at which level, or which access."""
    read = {source["service"] for source in matcher.sources}
    ways = [SOURCES[rule["source"]].to_see(rule, matcher.levels, read) for rule in rules_in(rules)]
    unique = list(dict.fromkeys(filter(None, ways)))
    return "would be shown by " + ", or ".join(unique) if unique else "nothing that was read shows it"
