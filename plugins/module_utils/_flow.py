# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Flows: how a provisioning goes, as data. Loads them, says what to look for, and matches events to their steps.

PRIVATE to the collection: no promise is made to other users of this file.
"""

from __future__ import annotations

import functools
import os
import re
from collections import defaultdict

import yaml

try:
    import jmespath
    from jmespath.exceptions import JMESPathError, JMESPathTypeError

    HAS_JMESPATH = True
except ImportError:
    HAS_JMESPATH = False

from ._errors import StageError

SCHEMA = "stackproof.flow/1"
STATUSES = ("seen", "cached", "absent", "skipped", "unseen", "missing")
LEVELS = ("info", "debug", "messaging")
TIERS = (0, 1, 2, 3)
# A boot that began this long before another one may still be under way.
RIVALRY = 180
RIVALS = ('/servers" status: 202', "/servers => generated")
# How another boot's end is known: nova-compute says how long it took, and its guest then needs a while.
BUILT = "seconds to build instance"
TOOK = r"Took (?P<seconds>[\d.]+) seconds to build instance"
SETTLING = 60
# What is written of a message on the queue by who takes it: no id but the message's own
MESSAGES = ("received message ", "received reply msg_id", "Receive incoming message with id")
TOKEN_CACHE = 300
STEP_KEYS = {"id", "phase", "source", "target", "message", "kind", "numbers", "became", "today", "when", "unless"}
STEP_KEYS |= {"observe", "cached", "absent", "otherwise", "after", "before", "covers"}
RULE_KEYS = {
    "source",
    "service",
    "kind",
    "where",
    "says",
    "window",
    "within",
    "tier",
    "level",
    "pick",
    "edge",
    "text",
    "needs",
}


TURNS = 4
# An id of a request before the boot, and of something that other boots use as well
WEAK = {"asked", "shared"}


class FlowError(StageError):
    def __init__(self, path, why):
        super().__init__("config", f"the flow {path}: {why}", hint="docs/flows.md describes the format.")


# The one in C, where there is one, is seven times as fast.
LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@functools.cache
def load(path, above=()):
    """A flow, checked: what is wrong in a user's own file is said with its place. Flows share parts: change none."""
    if path in above:
        raise FlowError(path, "it extends itself")
    try:
        with open(path, encoding="utf-8") as file:
            flow = yaml.load(file, LOADER)  # noqa: S506 - it is a safe one
    except (OSError, yaml.YAMLError, UnicodeDecodeError) as exc:
        raise FlowError(path, " ".join(str(exc).split())) from exc
    if isinstance(flow, dict) and flow.get("schema") == SCHEMA and flow.get("extends"):
        flow = extended(load(os.path.join(os.path.dirname(path), str(flow["extends"])), (*above, path)), flow)
    check(path, flow)
    return flow


def extended(base, more):
    """A flow with steps between those of another one, or that tells the other's steps in fewer of its own."""
    steps, lifelines = more.get("steps") or [], more.get("lifelines") or []
    if not isinstance(lifelines, list):
        return {**base, **more}  # what is wrong is said by the check
    lifelines = list(dict.fromkeys([*base["lifelines"], *lifelines]))
    if not isinstance(steps, list) or not all(isinstance(step, dict) for step in steps):
        return {**base, **more, "lifelines": lifelines}
    if any("covers" in step for step in steps):
        return {**base, **more, "lifelines": lifelines, "base": base, "steps": steps}
    merged = [dict(step) for step in base["steps"]]
    for step in steps:
        ids = [str(one.get("id")) for one in merged]
        near = str(step.get("after", step.get("before")))
        merged.insert(ids.index(near) + ("after" in step) if near in ids else len(merged), step)
    return {**base, **more, "lifelines": lifelines, "steps": merged}


def check(path, flow):
    if not isinstance(flow, dict) or flow.get("schema") != SCHEMA:
        raise FlowError(path, f"it does not begin with schema: {SCHEMA}")
    lacking = {"name", "title", "lifelines", "steps"} - set(flow)
    if lacking:
        raise FlowError(path, f"it lacks {', '.join(sorted(lacking))}")
    for name in ("lifelines", "steps"):
        if not isinstance(flow[name], list):
            raise FlowError(path, f"{name} is no list")
    check_expression(path, "counted", flow.get("counted", "@"))
    for rule in flow.get("others") or ():
        if not isinstance(rule, dict) or {"where", "because"} - set(rule):
            raise FlowError(path, "a rule of others needs where and because")
        check_expression(path, "others", rule["where"])
    ids = {str(step["id"]) for step in flow["steps"] if isinstance(step, dict) and "id" in step}
    seen = set()
    for number, step in enumerate(flow["steps"], 1):
        where = f"step {step.get('id', number)}" if isinstance(step, dict) else f"step {number}"
        check_step(path, where, step, flow, ids)
        if str(step["id"]) in seen:
            raise FlowError(path, f"{where} is there twice")
        seen.add(str(step["id"]))
        for part in ("observe", "cached", "absent"):
            rules = step.get(part) or []
            if not isinstance(rules, list) or not all(isinstance(rule, dict) for rule in rules):
                raise FlowError(path, f"{where}: {part} is no list of rules")
            for rule in rules:
                check_rule(path, where, rule, ids)


def check_step(path, where, step, flow, ids):
    if not isinstance(step, dict) or {"id", "source", "target", "message", "kind"} - set(step):
        raise FlowError(path, f"{where} needs id, source, target, message and kind")
    if set(step) - STEP_KEYS:
        raise FlowError(path, f"{where} has {', '.join(sorted(set(step) - STEP_KEYS))}, which is not known")
    for end in ("source", "target"):
        if step[end] not in flow["lifelines"]:
            raise FlowError(path, f"{where}: {step[end]} is no lifeline")
    known = {str(one["id"]) for one in flow["base"]["steps"]} if "base" in flow else ids
    unknown = {str(one) for one in step.get("covers") or ()} - known
    if unknown:
        raise FlowError(path, f"{where} covers {', '.join(sorted(unknown))}, which are no steps")
    for name in ("after", "before"):
        if name in step and str(step[name]) not in ids:
            raise FlowError(path, f"{where} comes {name} {step[name]}, which is no step")
    check_expression(path, where, step.get("when", "@"))


def check_expression(path, where, text):
    """Whether an expression is understood; what it finds in an event is another matter."""
    try:
        jmespath.compile(filled(text, defaultdict(lambda: "x"))).search({})
    except JMESPathTypeError:
        pass  # an event may have what nothing has not
    except (JMESPathError, TypeError) as exc:
        raise FlowError(path, f"{where} has an expression that is not understood: {exc}") from exc


def check_rule(path, where, rule, ids):
    if set(rule) - RULE_KEYS:
        raise FlowError(path, f"{where} has a rule with {', '.join(sorted(set(rule) - RULE_KEYS))}, which is not known")
    if "source" not in rule or "service" not in rule:
        raise FlowError(path, f"{where} has a rule without source and service")
    if rule.get("level", "info") not in LEVELS or rule.get("tier", 0) not in TIERS:
        raise FlowError(path, f"{where} has a rule of the level {rule.get('level')} and the tier {rule.get('tier')}")
    within = rule.get("within") or [None, None]
    if not isinstance(within, list) or len(within) != 2:
        raise FlowError(path, f"{where} has a rule within something that is not two steps")
    unknown = [str(one) for one in within if one is not None and str(one) not in ids]
    if unknown:
        raise FlowError(path, f"{where} has a rule within {', '.join(unknown)}, which are no steps")
    check_expression(path, where, rule.get("where", "@"))
    try:
        re.compile(rule.get("says", ""))
    except (TypeError, re.error) as exc:
        raise FlowError(path, f"{where} has a rule that is not understood: {exc}") from exc


def turn_of(rule, part):
    """When a rule is applied: some need the times of steps that others have shown."""
    if part == "absent":
        return TURNS - 1
    return 2 if "window" in rule else 1 if "within" in rule else 0


def rules_of(step):
    return [rule for part in ("observe", "cached", "absent") for rule in step.get(part) or []]


def agrees(expression, one):
    """What an expression finds in an event: nothing, where it asks for what the event has not."""
    try:
        return expression.search(one)
    except JMESPathTypeError:
        return None


def filled(text, names):
    """A rule with the run's own names in it: {host} is the instance's host, {server} its id, and so on."""
    return re.sub(r"\{(\w+)\}", lambda match: str(names[match[1]]), text)


def wanted(flows):
    """What to look for in logs, by all rules: phrases in lines that are ours, and texts in those that have no id."""
    phrases = [{"service": "nova-compute", "says": TOOK}]
    windows = [{"service": "nova-api", "text": text} for text in RIVALS] + [{"service": "nova-compute", "text": BUILT}]
    for flow in flows:
        for rule in (rule for step in flow.get("base", flow)["steps"] for rule in rules_of(step)):
            if rule["source"] == "log" and rule.get("says"):
                phrases.append({"service": rule["service"], "says": rule["says"]})
            if rule["source"] == "log" and rule.get("window"):
                windows.append({"service": rule["service"], "text": rule["window"]})
            if rule["source"] == "log" and rule.get("kind") == "rpc":
                windows += [{"service": rule["service"], "text": text} for text in MESSAGES]
    unique = lambda pairs: [dict(pair) for pair in sorted({tuple(sorted(one.items())) for one in pairs})]  # noqa: E731
    return {"phrases": unique(phrases), "windows": unique(windows)}


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


def own_keys(one):
    """The ids in an event that belong to this boot alone."""
    return one["keys"].keys() - WEAK


def rivals_in(asked, built):
    """When other boots were under way, as (first, last): from their request until their guest has settled."""
    posts = [one for one in asked if set(RIVALS) & set(one["window"])]
    mine = [one for one in posts if one["keys"]]
    # Nova and its web server both log a request, and the second knows no id: one line of it is our own.
    own = sorted(
        (one for one in posts if one.get("began") and not one["keys"]),
        key=lambda one: min([abs(one["at"] - my["at"]) for my in mine] or [9e9]),
    )
    ours = (
        own[:1]
        if own and mine and any(abs(own[0]["at"] - my["at"]) <= 1 + own[0]["resolution_s"] for my in mine)
        else []
    )
    others = [one for one in posts if not one["keys"] and one not in ours]
    ends = [one for one in built if BUILT in one["window"] and not one["keys"]]
    return [(one["at"], end_of(one, ends)) for one in others]


def end_of(post, ends):
    """A boot took as long as nova-compute says in its last line; a request without one may still be under way."""
    fitting = [one["until"] for one in ends if one["until"] and -2 <= one["at"] - post["at"] <= 15]
    return max(fitting) + SETTLING if fitting else post["at"] + RIVALRY


class Matcher:
    """Events of one run, ready to be matched with any flow.

    names: what {host}, {server} and so on stand for. facts: what a step's "when" is asked of. sources: what was read,
    list of host, service, whole.
    """

    def __init__(self, events, names, facts, sources, began, ended):
        self.names, self.facts, self.sources = names, facts, sources
        self.began, self.ended = began, ended
        self.index = defaultdict(list)
        for one in events:
            self.index[one["source"], one["service"]].append(one)
        self.rivals = rivals_in(self.index["log", "nova-api"], self.index["log", "nova-compute"])
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

    def match(self, flow):
        """The steps of a flow as run.json has them."""
        if "base" in flow:
            return retold(flow["steps"], self.match(flow["base"]))
        steps = [dict(self.basics(step)) for step in flow["steps"]]
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
        return steps

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
                expression = jmespath.compile(filled(rule["where"], self.names))
            except KeyError:
                continue  # the run has no such name
            if agrees(expression, one):
                return rule["because"]
        return None

    def basics(self, step):
        applies = jmespath.search(step["when"], self.facts) if "when" in step else True
        return {
            "id": str(step["id"]),
            "phase": step.get("phase"),
            "source": step["source"],
            "target": step["target"],
            "message": step["message"],
            "kind": step["kind"],
            "numbers": step.get("numbers") or {},
            "became": step.get("became"),
            "today": step.get("today"),
            "status": "unseen" if applies else "skipped",
            "reason": None if applies else step.get("unless") or f"it needs {step['when']}",
            "at": None,
            "until": None,
            "duration_s": None,
            "resolution_s": None,
            "error_s": None,
            "host": None,
            "evidence": [],
        }

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
            expression = jmespath.compile(filled(rule["where"], self.names)) if "where" in rule else None
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
            if one["source"] == "log" and not self.is_ours(one, rule, sure):
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
        """What a log tells is ours by an id, or because there was no other whose it could be."""
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
        return [
            {
                "source": "log",
                "service": rule["service"],
                "tier": rule.get("tier", 2),
                "level": rule.get("level", "info"),
                "grade": "keyed",
                "at": None,
                "until": None,
                "host": where,
                "text": rule.get("text") or f"the log of {rule['service']} was read whole and does not show it",
                "resolution_s": None,
                "error_s": None,
            }
        ]

    def told(self, rule, one):
        # What is true later shows that it happened, but not when.
        timeless = one.get("timeless")
        at = one["until"] if rule.get("edge") == "end" and one["until"] is not None else one["at"]
        timeless = timeless or rule.get("edge") == "later"
        return {
            "source": one["source"],
            "service": one["service"],
            "tier": rule.get("tier", 0 if one["source"] in ("api", "console") else 2),
            "level": one["level"],
            "grade": "window" if one["source"] == "log" and not one["keys"].keys() - {"shared"} else "keyed",
            "at": None if timeless else at,
            "until": None if timeless or at == one["until"] else one["until"],
            "host": one["host"],
            "text": rule.get("text") or one["text"],
            "resolution_s": None if timeless else one["resolution_s"],
            "error_s": None if timeless else one["error_s"],
        }


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
    return {
        **{name: step.get(name) for name in ("phase", "source", "target", "message", "kind", "became", "today")},
        "id": str(step["id"]),
        "numbers": step.get("numbers") or {},
        "covers": [str(one) for one in step["covers"]],
        "status": status,
        "reason": f"of its steps {lacking}" if lacking else None,
        **{name: first[name] for name in ("at", "resolution_s", "error_s", "host")},
        "until": until,
        "duration_s": round(until - first["at"], 6) if timed else None,
        "evidence": [dict(one["evidence"][0]) for one in covered if one["evidence"]],
    }


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


def status_of(evidence, tier=3, level="messaging", window=True):
    """(status, reason) by the evidence that an access of this tier, and logs of this level, would have."""
    allowed = [
        one["proves"]
        for one in evidence
        if one["tier"] <= tier
        and LEVELS.index(one["level"] or "info") <= LEVELS.index(level)
        and (window or one["grade"] == "keyed")
    ]
    for part, status in (("observe", "seen"), ("absent", "absent"), ("cached", "cached")):
        if part in allowed:
            return status, None
    return "unseen", None


def how_to_see(rules, matcher):
    """What would show a step that nothing showed: which log, at which level, or which access."""
    ways = []
    for rule in rules.get("observe") or []:
        if rule["source"] == "log":
            read = [source for source in matcher.sources if source["service"] == rule["service"]]
            level = rule.get("level", "info")
            if not read:
                ways.append(f"the log of {rule['service']}")
            elif LEVELS.index(level) > LEVELS.index(matcher.levels.get(rule["service"], "info")):
                setting = "debug = true" if level == "debug" else "oslo.messaging at DEBUG"
                ways.append(f"{rule['service']} with {setting}")
        elif rule["source"] == "host":
            ways.append(f"ssh to the host of {rule['service']}")
        elif rule.get("tier") == 1:
            ways.append("an administrator's cloud")
    unique = list(dict.fromkeys(ways))
    return "would be shown by " + ", or ".join(unique) if unique else "nothing that was read shows it"


def coverage(steps, counted="@"):
    """How many steps are seen, cached and so on with the access of each tier, and of tier 2 at each level of logs.

    counted is an expression that says which steps count.
    """
    steps = [step for step in steps if jmespath.search(counted, step) is not None]
    rows = []
    for tier in TIERS:
        for level in LEVELS if tier >= 2 else (None,):
            counts = dict.fromkeys([*STATUSES, "window"], 0)
            for step in steps:
                if step["status"] == "skipped":
                    counts["skipped"] += 1
                    continue
                status = status_of(step["evidence"], tier, level or "messaging")[0]
                sure = status_of(step["evidence"], tier, level or "messaging", window=False)[0]
                # What only an event without an id shows is counted apart.
                counts["window" if status == "seen" and sure != status else status] += 1
            rows.append({"tier": tier, "level": level, "of": len(steps), **counts})
    return rows
