# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Finds in lines the requests that failed: what each asked for, who answered, and which others it has made. Pure.

A line is that of related.py. A request fails if an API answers 5xx to it, or if a service logs an error for it.
"""

from __future__ import annotations

import re

# Texts of lines that may be of a request that failed. Each access log writes the status in its own way.
ACCESS = (" status: ", 'HTTP/1.1" ', 'HTTP/1.0" ', "(HTTP/1.1 ", "returned with HTTP ")
FAILED = (" ERROR ", " CRITICAL ", *(f"{text}5" for text in ACCESS))
REFUSED = tuple(f"{text}4" for text in ACCESS)
# Errors without an id may be of a request if they are so near to it, in seconds.
NEAR = 2.0
# A client that only looks for a thing asks so, and is told 404 if there is none.
LOOKING = ("GET", "HEAD", "OPTIONS")


def requests_in(lines):
    """The requests that lines tell of, by the time at which they began; those that one has made itself are in it."""
    by_id = {}
    for line in lines:
        if line["requests"]:
            by_id.setdefault(line["requests"][-1], []).append(line)
    roots = roots_of(by_id)
    groups = {}
    for name in by_id:
        groups.setdefault(root_of(name, roots), []).append(name)
    found = [request_of(root, sorted(names), by_id) for root, names in groups.items()]
    return sorted(found, key=lambda request: (request["at"], request["id"]))


def roots_of(by_id):
    """Request to the one that has made it: by the id that is handed on, or by an error that names the other's id."""
    makers = {}
    for name, lines in by_id.items():
        for line in lines:
            for maker in line["requests"][:-1]:
                if maker in by_id and maker != name:
                    makers[name] = maker
            named = line["names"] if line["failed"] else ()
            for made in named:
                if made in by_id and made != name:
                    makers.setdefault(made, name)
    return makers


def root_of(name, makers):
    """The first request of a chain; two that name each other are no chain."""
    seen = [name]
    while makers.get(seen[-1]) not in (None, *seen):
        seen.append(makers[seen[-1]])
    return seen[-1]


def request_of(root, names, by_id):
    lines = sorted((line for name in names for line in by_id[name]), key=lambda line: line["at"])
    answers = answers_in(lines)
    # Of several answers that of the API which the client itself has asked tells what was asked for.
    own = [answer for answer in answers if answer["id"] == root]
    first = min(own or answers, key=lambda answer: (answer["method"] in LOOKING, answer["at"]), default=None)
    owner = next((line["owner"] for line in by_id[root] if line["owner"]), None)
    return {
        "id": root,
        "ids": names,
        "at": min(line["at"] - line["seconds"] for line in lines),
        "until": max(line["at"] for line in lines),
        **{name: (first or lines[0])[name] for name in ("service", "host")},
        **{name: first and first[name] for name in ("method", "path", "status")},
        "owner": owner,
        # Whether a client stands behind it. A service that does something by itself asks others as a user of its own.
        "asked": bool(owner or own),
        "answers": answers,
        "errors": sum(line["failed"] for line in lines),
        "resources": {kind: sorted(texts) for kind, texts in resources_in(lines).items()},
    }


def resources_in(lines):
    """Kind to the ids of the resources that lines name."""
    resources = {}
    for line in lines:
        for kind, texts in line["ids"].items():
            resources.setdefault(kind, set()).update(texts)
    return resources


def answers_in(lines):
    """The answers of APIs by time, each kind once. Where a line has no method, another one of its request has it."""
    asked = [(line["requests"][-1], line["http"]["path"], line) for line in lines if line["http"]]
    methods = {(name, path): line["http"]["method"] for name, path, line in asked if line["http"]["method"]}
    answers = {}
    for name, path, line in asked:
        if line["http"]["status"]:
            about = {"service": line["service"], "host": line["host"], "method": methods.get((name, path))}
            about.update(path=path, status=line["http"]["status"])
            when = {"id": name, "at": line["at"], "seconds": line["seconds"]}
            answers.setdefault(tuple(about.values()), {**about, **when})
    return list(answers.values())


def is_sign(line):
    """Whether a line is a sign that its request failed or was refused."""
    return bool(line["requests"]) and (line["failed"] or is_bad(**(line["http"] or {"method": None, "status": None})))


def is_failure(line):
    """Whether a line is a sign that its request failed, and was not only refused."""
    return line["failed"] or ((line["http"] or {}).get("status") or 0) >= 500


def is_bad(method, status, **_path):
    """Whether an answer is a failure or a refusal. What is not there need not be removed, and may be looked for."""
    harmless = method in LOOKING or (status == 404 and method in ("DELETE", None))
    return status is not None and (status >= 500 or (status >= 400 and not harmless))


def has_failed(request):
    return bool(request["errors"]) or any(answer["status"] >= 500 for answer in request["answers"])


def is_denied(request):
    """Whether the client itself was told of the failure."""
    return (request["status"] or 0) >= 500


def is_told(request):
    """Whether the logs tell what became of a request."""
    return request["status"] is not None or has_failed(request)


def is_refused(request):
    """Whether a client was refused what it wanted to have changed."""
    return not has_failed(request) and is_bad(request["method"], request["status"])


def is_removal(request):
    return request["method"] == "DELETE"


def is_like(request):
    """What two requests that fail in the same way have in common."""
    path = re.sub(r"[0-9a-f]{8}-[0-9a-f-]{27}|[0-9a-f]{32}|\d+", "*", request["path"] or "")
    return request["service"], request["method"], path.partition("?")[0], request["status"]


def wanted(found):
    """The option of log_info that says which lines to look for."""
    began, until = min(request["at"] for request in found), max(request["until"] for request in found)
    return {
        "keys": {"request": sorted({name for request in found for name in request["ids"]})},
        "phrases": [],
        "windows": [],
        "began": began - NEAR,
        "since": began - NEAR,
        "until": until + NEAR,
        "errors": True,
    }
