# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Finds in a directory of logs what was asked about: a boot, any other request, a resource, or all that failed."""

from __future__ import annotations

import math
import re
from typing import NamedTuple

from .._collect.logs.line_formats import REQUEST
from .._record.errors import StageError
from . import boots, related, requests
from .bundle_read import unread_hint, where

UUID = re.compile(related.UUID)
# So many requests are read whole. In an outage thousands fail, and most of them in the same way.
MOST = 200
# What a project asked for so many seconds before a boot or after the removal, such as its network, may belong to it.
NEAR = 600
# An answer that nobody logged may be in the lines of another request that is so near, in seconds.
BESIDE = 5


class Found(NamedTuple):
    """The boot with its keys and lines, if there is one, and the requests that are judged besides."""

    boot: dict | None
    keys: dict
    lines: list
    requests: list


def answer(bundle, request=None, server=None, resource=None, since=None, until=None):
    """What is found for the id or the time that was given."""
    near = until or since
    if server:
        return of_server(bundle, server, near)
    if request:
        return of_request(bundle, request, near)
    if resource:
        return of_resource(bundle, resource, near)
    return of_time(bundle, since or -math.inf, until or math.inf, near)


def ids_given(given):
    """The ids as logs write them. Of a part of an id only lines would be found, and nothing that follows from them."""
    ids = {name: text.strip() if text else None for name, text in given.items()}
    for name, form in (("server_id", UUID), ("request_id", REQUEST)):
        text = (ids[name] or "").lower()
        text = f"req-{text}" if form is REQUEST and UUID.fullmatch(text) else text
        if text and not form.fullmatch(text):
            message = f"{ids[name]!r} is not a {name.replace('_', ' ')}"
            raise StageError(
                "invalid", message, resource=ids[name], hint="Give the whole id, of 32 digits and letters a to f."
            )
        ids[name] = text or None
    return ids


def request_in(error):
    """The request that the text names which a client has printed."""
    names = REQUEST.findall(error)
    if not names:
        hint = "Give the time in which it happened instead: -e stackproof_since=... -e stackproof_until=..."
        raise StageError("invalid", "the error names no request: there is no req-... in it", hint=hint)
    return names[-1]


def of_server(bundle, server, near):
    boot, keys, lines = boots.with_server(bundle, server, near)
    return Found(boot, keys, lines, around(bundle, boot, keys, lines))


def of_request(bundle, request, near):
    found = boots.with_request(bundle, request, near)
    if found:
        return Found(*found, [])
    asked = read_whole(bundle, [request], near)
    if asked and not any(requests.is_told(request) for request in asked):
        asked += beside(bundle, asked, near)
    return without_boot(bundle, asked)


def beside(bundle, asked, near):
    """What failed at the same time at the same service, for the same user or for nobody knows whom."""
    since, until = min(request["at"] for request in asked) - BESIDE, max(request["until"] for request in asked) + BESIDE
    owners, services = {request["owner"] for request in asked} | {None}, {request["service"] for request in asked}
    failed = failed_in(bundle, since, until, near)
    return [request for request in failed if request["owner"] in owners and request["service"] in services]


def of_resource(bundle, resource, near):
    """All requests that name a resource; of a server what is found of any server."""
    lines = boots.named_lines(bundle, resource, near)
    if any(resource in line["ids"].get("server", ()) for line in lines):
        return of_server(bundle, resource, near)
    names = dict.fromkeys(name for line in lines for name in line["requests"][-1:])
    if not names:
        services = ", ".join(sorted({line["service"] for line in lines}))
        message = f"no line that names {resource} has the id of a request; {services} name it"
        raise StageError("not_found", message, hint="Give the time in which it happened instead.")
    return without_boot(bundle, read_whole(bundle, names, near))


def of_time(bundle, since, until, near):
    """The requests that failed in a time, and of the boots the first one that failed."""
    failed = failed_in(bundle, since, until, near)
    there = related.boots_in(bundle.lines_with(related.TEXTS, near))
    there = [boot for boot in there if since <= boot["at"] <= until]
    if not (there or failed):
        message = f"no request failed in that time, and no server was booted. {where(bundle)}"
        raise StageError("not_found", message, hint=unread_hint(bundle))
    unbuilt = [boot for boot in there if boot["outcome"] != "built"]
    of_failed = [boot for boot in unbuilt if boot["outcome"] == "failed"]
    if failed and not of_failed and len(unbuilt) != 1:
        return without_boot(bundle, failed)
    boot = of_failed[0] if failed and of_failed else boots.chosen(there)
    boot, keys, lines = boots.whole(bundle, boot, near)
    return Found(boot, keys, lines, others(failed, keys))


def around(bundle, boot, keys, lines):
    """The requests that failed near a boot, or until the server was removed, and that may concern it.

    If there are none, those of others that were told of a failure: they count if the boot went well.
    """
    of_server = [line for line in lines if keys["server"] & set(line["ids"].get("server", ()))]
    removed = [line["at"] + NEAR for line in of_server if "deleted" in line["marks"]]
    failed = failed_in(bundle, boot["at"] - NEAR, min([boot["at"] + related.FAR, *removed]), boot["at"])
    owners = {line["owner"] for line in lines if keys["request"] & set(line["requests"])} - {None}
    projects = {project for _user, project in owners}
    of_others = others(failed, keys)
    concerning = [request for request in of_others if may_concern(request, keys, projects)]
    denied = [request for request in of_others if request["asked"] and requests.is_denied(request)]
    return concerning or [{**request, "of_others": True} for request in denied]


def may_concern(request, keys, projects):
    """Whether a request may have to do with a boot: it is about a resource of its, or of its project and about none."""
    if not request["asked"] or (requests.is_removal(request) and not requests.is_denied(request)):
        return False
    servers = set(request["resources"].get("server", ()))
    if servers:
        return bool(servers & keys["server"])
    about = {text for texts in request["resources"].values() for text in texts}
    owner = request["owner"] or (None, None)
    return bool(about & (keys["port"] | keys["volume"] | keys["shared"])) or not projects or owner[1] in projects


def others(failed, keys):
    """The requests that are not those of the boot itself."""
    return [request for request in failed if not keys["request"] & set(request["ids"])]


def failed_in(bundle, since, until, near):
    """The requests that failed, or were refused, in a time."""
    lines = bundle.lines_with([*requests.FAILED, *requests.REFUSED], near)
    signs = [line for line in lines if requests.is_sign(line) and since <= line["at"] <= until]
    # If there are more than are read, those that failed come before those that were refused.
    signs.sort(key=lambda line: (not requests.is_failure(line), line["at"]))
    names = dict.fromkeys(name for line in signs for name in line["requests"])
    found = read_whole(bundle, names, near) if names else []
    return [request for request in found if requests.has_failed(request) or requests.is_refused(request)]


def read_whole(bundle, names, near):
    """The requests of these ids, with all their lines, and those that their errors name as having failed them."""
    if len(names) > MOST:
        bundle.doubt(f"{MOST} of {len(names)} requests were read: ask for a shorter time")
    lines = bundle.lines_with(list(names)[:MOST], near)
    made = dict.fromkeys(name for line in lines if line["failed"] for name in line["names"] if name not in names)
    if made:
        more = bundle.lines_with(list(made)[:MOST], near)
        lines += [line for line in more if line["requests"] and line["requests"][-1] in made]
    return requests.requests_in(lines)


def without_boot(bundle, found):
    if not found:
        raise StageError("not_found", f"no line has it as its own request. {where(bundle)}", hint=unread_hint(bundle))
    keys = {"request": {name for request in found for name in request["ids"]}}
    return Found(None, keys, [], found)
