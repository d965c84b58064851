# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reports of OSProfiler without most of equal spans, and without what was passed."""

from __future__ import annotations

import json

from recorder.names import blank

# What was passed to a function, asked of a database or answered by either
PASSED = ("query", "params", "args", "kwargs", "result")
PLANTED = "planted"
# So many spans of the same form stay below one other.
MOST = 3
# Neutron's own functions are hundreds: each stays once in a report, or where it leads to something else.
INNER = "neutron.db"


def fewer_spans(node, known_forms=None):
    """Without most of the spans that look like others below the same one."""
    seen, kept, known_forms = {}, [], set() if known_forms is None else known_forms
    for child in sorted(node["children"], key=lambda span: span["info"]["started"]):
        form = json.dumps([child["info"]["name"], child["info"].get("service"), *forms(child["info"])])
        seen[form] = seen.get(form, 0) + 1
        if seen[form] <= MOST and (tells(child) or form not in known_forms):
            known_forms.add(form)
            kept.append(fewer_spans(child, known_forms))
    return {**node, "children": kept}


def tells(node):
    return node["info"]["name"] != INNER or any(map(tells, node["children"]))


def forms(info):
    """What a span was about, without ids and numbers."""
    for name, payload in info.items():
        if name.endswith("-start"):
            about = payload.get("info") or {}
            request, statement = about.get("request") or {}, (about.get("db") or {}).get("statement") or ""
            function = (about.get("function") or {}).get("name")
            yield [request.get("method"), blank(request.get("path") or ""), " ".join(statement.split()[:3]), function]


def planted(data):
    """The same with a word in the place of whatever was passed."""
    if isinstance(data, dict):
        return {name: hidden(value) if name in PASSED else planted(value) for name, value in data.items()}
    return [planted(item) for item in data] if isinstance(data, list) else data


def hidden(value):
    return dict.fromkeys(value, PLANTED) if isinstance(value, dict) else PLANTED
