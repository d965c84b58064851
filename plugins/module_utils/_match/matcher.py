# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Matches the events of a run to the steps of a flow."""

from __future__ import annotations

import math
import re
from collections import defaultdict

from .._collect.sources import SOURCES
from .._components.tables import is_beside_instance, working_on_boots
from .._record import shapes
from .._record.levels import LEVELS
from . import order
from .flow import LEAD, TOKEN_CACHE, agrees, compiled, search
from .flow_types import PARTS
from .rivals import own_keys, rivals_in
from .status import status_of

# The rules are applied in turns, as some need the times of steps that others have shown.
TURNS = 4
# Services that send others the same requests as nova-compute
ALSO_ASK = working_on_boots() - {"nova-compute"}
LOOPBACK = {"127.0.0.1", "::1"}
NAME_OF_CALL = re.compile(r"\bmethod\b")
# The facts of a cloud that say how it works are looked up with an administrator's access or for hosts to read.
BY_ADMIN = 1


def turn_of(rule, part):
    if part == "absent":
        return TURNS - 1
    if "window" in rule:
        return 2
    return 1 if "within" in rule else 0


def may_be_left_out(step):
    """Whether a cache may answer a step, or it may be proved not to happen."""
    return bool(step.get("cached") or step.get("absent"))


def observe_rules(step):
    return step.get("observe") or []


def clients_of(events):
    """The addresses from which requests came."""
    return {event["client"] for event in events if event.get("client")}


def once(events):
    """The requests without those that a web server logged again, in whole seconds, after the service itself."""
    return [event for event in events if event["kind"] == "http" and not event.get("began")] or events


def pattern_of(request):
    """The path of a request, with the kind of each id in its place."""
    path = request["path"]
    for kind, ids in request["keys"].items():
        for text in ids:
            path = path.replace(text, f"<{kind}>")
    return re.sub(r"[0-9a-f]{8}-[0-9a-f-]{27}|[0-9a-f]{32}", "<id>", path)


def levels_of(events):
    """Service to the most detailed level at which it has logged something."""
    levels = {}
    for event in events:
        if event["source"] == "log":
            level = levels.get(event["service"], "info")
            levels[event["service"]] = max(level, event["level"] or "info", key=LEVELS.index)
    return levels


def is_within(event, interval):
    """Whether an event may lie in an interval; one without a time of its own always does."""
    first, last = interval
    slack = event["resolution_s"] + event["error_s"]
    return event.get("timeless") or first - slack <= event["at"] <= last + slack


class Matcher:
    """Events of one run, ready to be matched with any flow.

    names: what {host}, {server} and so on stand for. facts: what the "when" of a step asks for. sources: the logs that
    were read, list of host, service, whole. other_boots: an administrator's answer about other boots (see rivals_in).
    levels: service to the level at which it logs, where that is known better than by the events.
    logs_alone: nobody asked the API, so that a step is not missing for want of its answers.
    caller_known: whether the host that has sent a request is known by its address.
    complete: whether all that happened had to be seen, so that a step can be missing.
    settled: what happened later than this may have effects that came after the logs were read.
    """

    def __init__(
        self,
        events,
        names,
        facts,
        sources,
        began,
        ended,
        other_boots=None,
        levels=None,
        logs_alone=False,
        caller_known=True,
        complete=True,
        settled=math.inf,
    ):
        self.names, self.facts, self.sources = names, facts, sources
        self.began, self.ended = began, ended
        self.levels = {**levels_of(events), **(levels or {})}
        self.logs_alone, self.caller_known, self.complete = logs_alone, caller_known, complete
        self.settled = settled
        self.used = None
        self.index = defaultdict(list)
        for event in events:
            # Errors show no step of a flow; they are for the judge.
            if event["kind"] != "error":
                self.index[event["source"], event["service"]].append(event)
        clients = {service: clients_of(events) for (source, service), events in self.index.items() if source == "log"}
        self.proxied = {service for service, addresses in clients.items() if addresses and addresses <= LOOPBACK}
        # An older oslo.messaging writes that a message is sent, and not which.
        sent = [event for event in events if event["source"] == "log" and event.get("action") in ("call", "cast")]
        self.nameless = bool(sent) and not any(event["method"] for event in sent)
        host = names.get("host")
        self.beside = sorted({source["service"] for source in sources if source["host"] == host} & ALSO_ASK)
        self.rivals = rivals_in(self.index["log", "nova-api"], self.index["log", "nova-compute"], other_boots)
        # The web server of nova-api may have a log of its own: of each host, one of the two is enough.
        asked = [source for source in sources if source["service"] == "nova-api"]
        hosts = {source["host"] for source in asked}
        self.rivals_known = bool(hosts) and hosts == {source["host"] for source in asked if source["whole"]}

    def match(self, flow):
        """The steps of a flow as run.json has them."""
        if "base" in flow:
            return retold(flow["steps"], self.match(flow["base"]))
        steps = [self.new_step(definition, flow) for definition in flow["steps"]]
        by_id = {step["id"]: step for step in steps}
        # In a list of exchanges that may repeat themselves each event shows one step, in their order.
        self.used = set() if flow.get("exclusive") else None
        for turn in range(TURNS):
            for step, definition in zip(steps, flow["steps"]):
                if step["status"] == "unseen":
                    self.apply_rules(step, definition, turn, by_id)
                    choose_time(step)
        for step, definition in zip(steps, flow["steps"]):
            settle(step, definition, self)
        if self.complete:
            self.mark_missing(steps, flow["steps"], by_id)
        return steps

    def new_step(self, definition, flow):
        """A step before any rule was applied."""
        status, reason, evidence = self.part_in_run(definition)
        meaning = (flow.get("phases") or {}).get(definition.get("phase")) or {}
        owed_by = definition.get("owed_by", definition["source"])
        return shapes.step(
            definition["id"],
            *(definition[name] for name in ("source", "target", "message", "kind")),
            phase=definition.get("phase"),
            stage=meaning.get("stage") or flow.get("stage") or "boot",
            repeats=bool(meaning.get("repeats")),
            owed_by=order.NOBODY if may_be_left_out(definition) else owed_by,
            follows=[str(before) for before in definition.get("follows") or ()],
            numbers=definition.get("numbers") or {},
            became=definition.get("became"),
            today=definition.get("today"),
            status=status,
            reason=reason,
            evidence=evidence,
        )

    def part_in_run(self, definition):
        """(status, reason, evidence) of a step before any rule was applied: whether it is a part of this run at all."""
        if "when" not in definition or search(definition["when"], self.facts):
            return "unseen", None, []
        instead = definition.get("instead")
        if instead is None:
            return "skipped", definition.get("unless") or f"it needs {definition['when']}", []
        # The cloud itself has shown that it does this in another way.
        shown = shapes.evidence("api", "network", instead, BY_ADMIN, proves="absent")
        return "absent", instead, [shown]

    def apply_rules(self, step, definition, turn, steps):
        """Add the evidence of the rules that have this turn to a step."""
        for part in PARTS:
            for rule in definition.get(part) or []:
                if turn_of(rule, part) == turn:
                    step["evidence"] += [{**item, "proves": part} for item in self.evidence(rule, steps, part)]

    def mark_missing(self, steps, definitions, by_id):
        """Mark each step that was owed, as all before it happened, was looked for, and is not proved by a later one."""
        happened = order.happened(steps)
        for step, definition in zip(steps, definitions):
            rules = observe_rules(definition)
            # An event that is logged without an id of ours, or whose sender or name is hidden, may be there unknown.
            unsure = any(
                "window" in rule or self.hidden_name(rule) or (self.caller_known and self.hidden_caller(rule))
                for rule in rules
            )
            late = any((by_id[before]["at"] or 0) > self.settled for before in step["follows"])
            certain = step["owed_by"] != order.NOBODY and not unsure and not late
            if step["status"] == "unseen" and step["id"] not in happened and certain:
                places = [place for rule in rules for place in self.silent_places(rule, by_id)]
                if places:
                    step.update(status="missing", reason=f"it is not in {' and '.join(dict.fromkeys(places))}")
        owed = {path[-1]["id"] for path in order.paths(steps)}
        for step in steps:
            if step["status"] == "missing" and step["id"] not in owed:
                step.update(status="unseen", reason="a step that it follows did not happen")

    def silent_places(self, rule, steps):
        """The places that would show what a rule looks for, were read to their end, and do not show it."""
        if not self.must_be_shown(rule):
            return []
        if rule["source"] == "api" and rule.get("kind") in ("http", "state"):
            return ["what the run itself saw"]  # it knows all its own requests, and looked at the state to the end
        if rule["source"] != "log":
            return []
        sources = self.sources_of(rule)
        here = [source for source in sources if source["host"] == self.names.get("host")]
        if here and is_beside_instance(rule["service"]):
            sources = here
        if not self.is_silent(rule, steps, sources):
            return []
        return [f"the log of {rule['service']} on {hosts_of(sources)}"]

    def must_be_shown(self, rule):
        """Whether what a rule looks for would have been seen if it happened."""
        where = rule.get("where", "")
        if set(re.findall(r"\{(\w+)\}", where)) - set(self.names):
            return False  # the run has no such name, and nothing could have been found
        if rule.get("edge") == "later":
            return False  # it may still come
        if self.logs_alone and (rule["source"] != "log" or rule.get("needs") == "asked" or "window" in rule):
            return False
        return self.hidden(rule) is None

    def hidden(self, rule):
        """Why no event may tell what a rule asks of it, if so; else None."""
        caller = self.hidden_caller(rule) or self.only_caller(rule)
        if caller:
            return f"it is not known who sent such requests: {caller}"
        return self.hidden_name(rule) or self.without_requests(rule)

    def without_requests(self, rule):
        """Why the lack of a request in a log proves nothing: some web servers log none."""
        if rule["source"] != "log" or rule.get("kind") != "http":
            return None
        shown = any(event["kind"] == "http" for event in self.index["log", rule["service"]])
        shows = any(source.get("requests") for source in self.sources_of(rule))
        return None if shown or shows else f"the log of {rule['service']} shows no request at all"

    def hidden_name(self, rule):
        """Why a message in a log does not tell what it calls, if a rule wants to know it; else None."""
        asked = rule["source"] == "log" and rule.get("kind") == "rpc" and NAME_OF_CALL.search(rule.get("where", ""))
        if asked and self.nameless:
            return "the services log their messages without the names of what they call"
        return None

    def hidden_caller(self, rule):
        """Why the address that a request came from does not tell who asked, if a rule wants to know it; else None."""
        if "caller" not in rule.get("where", ""):
            return None
        if not self.caller_known:
            return "the addresses of the hosts are not known"
        if rule["service"] in self.proxied:
            return f"a proxy in front of {rule['service']} hides the address"
        return f"{', '.join(self.beside)} and nova-compute have one address" if self.beside else None

    def only_caller(self, rule):
        """Why the lack of a request by somebody proves nothing: the requests of all may have come by a balancer."""
        callers = {event["caller"] for event in self.index["log", rule["service"]] if event.get("client")}
        if "caller" in rule.get("where", "") and len(callers) == 1 and callers != {self.names.get("host")}:
            return f"all requests to {rule['service']} came from {callers.pop()}, as from a balancer"
        return None

    def sources_of(self, rule):
        return [source for source in self.sources if source["service"] == rule["service"]]

    def is_silent(self, rule, steps, sources):
        """Whether logs would show what a rule looks for, were read whole, and do not show it."""
        if not sources or not all(source["whole"] for source in sources):
            return False
        if LEVELS.index(rule.get("level", "info")) > LEVELS.index(self.levels.get(rule["service"], "info")):
            return False
        if self.hidden_name(rule):
            return False
        # Without the interval nothing was looked at, and an event that may be of others may be ours too.
        return self.interval(rule, steps) is not None and not self.candidates(rule, steps, sure=False)

    def others(self, explained):
        """Exchanges between services that no step of the flow just matched has shown, with what explains them."""
        if self.used is None:
            return []
        exchanges = {}
        # A call that the run made before it had a catalog is of no service; a line is always of the log of one.
        logged = sorted((service, events) for (source, service), events in self.index.items() if source == "log")
        for service, events in logged:
            for request in once(events):
                if id(request) not in self.used and request.get("client") and own_keys(request):
                    what = f"{request['caller']} to {service}: {request['method']} {pattern_of(request)}"
                    exchanges.setdefault(what, []).append(request)
        return [
            {"what": what, "count": len(requests), "because": self.explanation(requests[0], explained)}
            for what, requests in exchanges.items()
        ]

    def explanation(self, request, explained):
        for rule in explained:
            try:
                expression = compiled(rule["where"], self.names)
            except KeyError:
                continue  # the run has no such name
            if agrees(expression, request):
                return rule["because"]
        return None

    def evidence(self, rule, steps, part):
        """The evidence that a rule gives for a part of a step."""
        if part == "absent" and rule["source"] == "log":
            return self.proof_of_absence(rule, steps)
        events = self.candidates(rule, steps)
        if self.used is not None:
            events = [event for event in once(events) if id(event) not in self.used][:1]
            self.used.update(map(id, events))
        elif rule.get("pick") and events:
            events = [events[0 if rule["pick"] == "first" else -1]]
        return [evidence_of(event, rule) for event in events]

    def candidates(self, rule, steps, sure=True):
        """The events that a rule takes; if not sure, also those that could as well be of others."""
        try:
            expression = compiled(rule["where"], self.names) if "where" in rule else None
        except KeyError:
            return []  # the run has no such name: no volume, or no host known
        interval = self.interval(rule, steps)
        if interval is None or self.hidden_caller(rule):
            return []
        events = [
            event
            for event in self.index[rule["source"], rule["service"]]
            if self.fits(event, rule, sure) and is_within(event, interval)
        ]
        return events if expression is None else [event for event in events if agrees(expression, event)]

    def fits(self, event, rule, sure):
        """Whether an event is of the kind that a rule asks for, and of this boot."""
        if rule.get("kind", event["kind"]) != event["kind"]:
            return False
        if "says" in rule and rule["says"] not in event["said"]:
            return False
        if "window" in rule and (rule["window"] not in event["window"] or own_keys(event)):
            return False
        if rule.get("needs") and rule["needs"] not in event["keys"]:
            return False
        return not SOURCES[event["source"]].of_others or self.is_ours(event, rule, sure)

    def is_ours(self, event, rule, sure):
        """Whether an event that may be of others is ours: by an id, or because there was no other boot to cause it."""
        if own_keys(event) or (rule.get("needs") == "asked" and "asked" in event["keys"]):
            return True
        return ("window" in rule or "shared" in event["keys"]) and (not sure or self.ours_alone(event))

    def interval(self, rule, steps):
        """The time in which a rule's evidence may lie: between two steps, or anywhere in the run. None if unknown."""
        within = rule.get("within")
        if not within:
            return self.began - (TOKEN_CACHE if rule.get("window") else LEAD), self.ended
        if any(name is not None and not has_time(steps.get(str(name))) for name in within):
            return None
        first, last = (None if name is None else steps[str(name)] for name in within)
        start = first["at"] - (first["error_s"] or 0) if first else self.began - TOKEN_CACHE
        end = max(last["at"], last["until"] or 0) + (last["error_s"] or 0) if last else self.ended
        return start, end

    @property
    def rivalry(self):
        """How many requests for other boots may have been under way during this one."""
        return sum(first <= self.ended and last >= self.began for first, last in self.rivals)

    def ours_alone(self, event):
        """Whether no other boot could have caused an event that carries no id."""
        return self.rivals_known and not any(first - 1 <= event["at"] <= last for first, last in self.rivals)

    def proof_of_absence(self, rule, steps):
        """The evidence of a log that was read whole on every host that has it, and shows nothing where it had to."""
        sources = self.sources_of(rule)
        if not self.is_silent(rule, steps, sources):
            return []
        return [
            shapes.evidence(
                "log",
                rule["service"],
                rule.get("text") or f"the log of {rule['service']} was read whole and does not show it",
                rule.get("tier", SOURCES["log"].tier),
                level=rule.get("level", "info"),
                host=hosts_of(sources),
            )
        ]


def has_time(step):
    return step is not None and step["at"] is not None


def hosts_of(sources):
    return ", ".join(sorted({source["host"] for source in sources}))


def evidence_of(event, rule):
    """An event as the evidence that a rule takes it for."""
    source = SOURCES[event["source"]]
    return shapes.evidence(
        source.name,
        event["service"],
        rule.get("text") or event["text"],
        rule.get("tier", source.tier),
        level=event["level"],
        grade="window" if source.of_others and not event["keys"].keys() - {"shared"} else "keyed",
        host=event["host"],
        **times_of(event, rule),
    )


def times_of(event, rule):
    # A fact that is true later shows that something happened, but not when.
    if event.get("timeless") or rule.get("edge") == "later":
        return {}
    at, until = event["at"], event["until"]
    if rule.get("edge") == "end" and until is not None:
        at = until
    return {
        "at": at,
        "until": None if at == until else until,
        "resolution_s": event["resolution_s"],
        "error_s": event["error_s"],
    }


def retold(definitions, steps):
    """Steps that each stand for several steps of another flow."""
    by_id = {step["id"]: step for step in steps}
    return [retold_step(definition, [by_id[str(name)] for name in definition["covers"]]) for definition in definitions]


def retold_step(definition, covered):
    """A step that is as sure as the least sure of those that it covers and that did happen."""
    statuses = {step["status"] for step in covered}
    status = next(
        status for status in ("missing", "unseen", "seen", "cached", "absent", "skipped") if status in statuses
    )
    reason = None
    if status in ("missing", "unseen"):
        reason = f"of its steps {', '.join(step['id'] for step in covered if step['status'] == status)}"
    timed = sorted((step for step in covered if step["at"] is not None), key=lambda step: step["at"])
    first = timed[0] if timed else dict.fromkeys(("at", "resolution_s", "error_s", "host"))
    until = max((step["until"] or step["at"] for step in timed), default=None)
    return shapes.step(
        definition["id"],
        *(definition[name] for name in ("source", "target", "message", "kind")),
        **{name: definition.get(name) for name in ("phase", "became", "today")},
        stage=covered[0]["stage"],
        repeats=all(step["repeats"] for step in covered),
        numbers=definition.get("numbers") or {},
        covers=[str(name) for name in definition["covers"]],
        status=status,
        reason=reason,
        **{name: first[name] for name in ("at", "resolution_s", "error_s", "host")},
        until=until,
        duration_s=round(until - first["at"], 6) if timed else None,
        evidence=[dict(step["evidence"][0]) for step in covered if step["evidence"]],
    )


def choose_time(step):
    """The best time of a step: of the evidence that shows the step itself, the finest, and of these the first."""
    timed = [item for item in step["evidence"] if item["at"] is not None and item["proves"] == "observe"]
    if not timed:
        return
    keyed = [item for item in timed if item["grade"] == "keyed"] or timed
    best = min(keyed, key=lambda item: (item["resolution_s"] + item["error_s"] > 0.5, item["at"]))
    step.update({name: best[name] for name in ("at", "until", "resolution_s", "error_s", "host")})
    step["duration_s"] = None if best["until"] is None else round(max(0, best["until"] - best["at"]), 6)


def settle(step, definition, matcher):
    """Give a step its status by all its evidence, and the reason if it was not seen."""
    if step["status"] != "unseen":
        return
    step["status"], step["reason"] = status_of(step["evidence"])
    if step["status"] == "cached":
        step["reason"] = step["reason"] or "served from a cache; the earlier message is the evidence"
    if step["status"] == "unseen" and definition.get("otherwise"):
        step.update(status="skipped", reason=definition["otherwise"])
    elif step["status"] == "unseen":
        step["reason"] = how_to_see(definition, matcher)
    if step["host"] is None and step["evidence"]:
        step["host"] = step["evidence"][0]["host"]


def how_to_see(definition, matcher):
    """Say which log, at which level, or which access would show a step that nothing showed."""
    read = {source["service"] for source in matcher.sources}
    rules = observe_rules(definition)
    ways = [SOURCES[rule["source"]].to_see(rule, matcher.levels, read) for rule in rules]
    unique = list(dict.fromkeys(filter(None, ways)))
    if unique:
        return "would be shown by " + ", or ".join(unique)
    return next(filter(None, map(matcher.hidden, rules)), None) or "nothing that was read shows it"
