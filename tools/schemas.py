# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Generate the JSON Schemas of records, and their tables in the documentation, from the dataclasses of _model.

schemas.py writes them. schemas.py NAME prints the schema of one, such as run. The annotations of the fields are the
shapes. A class's docstring begins with its description; "name: text" describes a field, "name, name: text" several.
"""

from __future__ import annotations

import dataclasses
import functools
import json
import re
import sys
import typing
from collections.abc import Mapping
from enum import Enum
from pathlib import Path
from typing import Any, cast

ROOT = Path(__file__).resolve().parents[1]
sys.path.append(str(ROOT / ".venv/collections"))

from ansible_collections.stackproof.provision.plugins.module_utils._model import codec
from ansible_collections.stackproof.provision.plugins.module_utils._model.comparison import Comparison
from ansible_collections.stackproof.provision.plugins.module_utils._model.flow import Step
from ansible_collections.stackproof.provision.plugins.module_utils._model.history import CloudHistory, History
from ansible_collections.stackproof.provision.plugins.module_utils._model.host import Check
from ansible_collections.stackproof.provision.plugins.module_utils._model.inventory import Inventory
from ansible_collections.stackproof.provision.plugins.module_utils._model.load import LoadTest
from ansible_collections.stackproof.provision.plugins.module_utils._model.record import Record
from ansible_collections.stackproof.provision.plugins.module_utils._model.stage import Call, Stage
from ansible_collections.stackproof.provision.plugins.module_utils._model.sweep import Sweep
from ansible_collections.stackproof.provision.plugins.module_utils._model.verdict import Verdict
from ansible_collections.stackproof.provision.plugins.module_utils._record.run import OPTIONAL, STAGES

Node = dict[str, Any]

RECORDS: dict[str, type[Any]] = {
    "run": Record,
    "sweep": Sweep,
    "load": LoadTest,
    "history": History,
    "inventory": Inventory,
    "comparison": Comparison,
}
# The table of a record has the keys of this class instead. Those of history.json are few; those of each of its clouds
# are what a reader asks for.
TABLES: dict[str, type[Any]] = {**RECORDS, "history": CloudHistory}
FOLDER = ROOT / "roles/report/files"
RECORD_PAGE = ROOT / "docs/record.md"

LICENCE = "Copyright (c) 2026, stackproof contributors; SPDX-License-Identifier: GPL-3.0-or-later"
TIME: Node = {"type": "string", "pattern": r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}\+00:00$"}
PLAIN: dict[Any, Node] = {
    str: {"type": "string"},
    bool: {"type": "boolean"},
    int: {"type": "integer"},
    float: {"type": "number"},
    Any: {},
}
NULL: Node = {"type": "null"}
# A table of keys: its head, and its rows as far as the next empty line
TABLE = re.compile(r"(\| key \|.*\n\|-.*\n)(?:\|.*\n)+")
MOST_STAGES = len(STAGES) + len(OPTIONAL)


def fields(**properties: Node) -> Node:
    """Return the schema of an object some of whose fields are like this."""
    return {"properties": properties}


# What the fields of one object have to do with each other, which no annotation of a field can say
CONDITIONS: dict[type[Any], tuple[Node, ...]] = {
    Record: (
        {
            "if": fields(finished=NULL),
            "then": fields(duration_s=NULL, verdict=fields(result={"const": "incomplete"})),
            "else": fields(duration_s={"type": "number"}, stages={"minItems": len(STAGES)}),
        },
        fields(stages={"maxItems": MOST_STAGES}),
    ),
    Verdict: ({"if": fields(result={"const": "pass"}), "then": fields(stage=NULL, step=NULL)},),
    Stage: (
        {
            "if": fields(status={"const": "failed"}),
            "then": fields(error={"type": "object"}),
            "else": fields(error=NULL),
        },
        {
            "if": fields(started=NULL),
            "then": fields(status={"const": "skipped"}, finished=NULL, duration_s=NULL, calls={"maxItems": 0}),
            "else": fields(finished={"type": "string"}, duration_s={"type": "number"}),
        },
    ),
    Call: ({"if": fields(status=NULL), "then": {"required": ["error"], **fields(error={"type": "string"})}},),
    Check: ({"if": fields(status={"const": "ok"}), "else": fields(reason={"type": "string", "minLength": 1})},),
    Step: (
        {
            "if": fields(status={"enum": ["seen", "cached", "absent"]}),
            "then": fields(evidence={"minItems": 1}),
        },
    ),
}


# Descriptions


def described(kind: type[Any]) -> tuple[str, dict[str, str]]:
    """Return the description of a class, and those of its fields by their names."""
    text = docstring_of(kind)
    names = [field.name for field in dataclasses.fields(kind)]
    name = "|".join(sorted(map(re.escape, names), key=len, reverse=True))
    # A description ends where the next one begins.
    parts = re.split(rf"(?:(?<=\. )|^)((?:{name})(?:, (?:{name}))*): ", text)
    fields = {}
    for listed, description in zip(parts[1::2], parts[2::2]):
        for each in listed.split(", "):
            fields[each] = description.strip()
    return parts[0].strip(), fields


def docstring_of(kind: type[Any]) -> str:
    """Return the docstring of a class in one line; empty if it has none of its own."""
    text = " ".join((kind.__doc__ or "").split())
    # A dataclass or an enum without one gets one from Python.
    return "" if text.startswith(f"{kind.__name__}(") else text


def sentence(text: str) -> str:
    """Return a description that begins with a capital letter."""
    return text[:1].upper() + text[1:]


# Schemas


class Schema:
    """The schema of a class. Other classes and enums that it uses are its definitions."""

    def __init__(self, kind: type[Any]) -> None:
        self.definitions: dict[str, Node] = {}
        self.classes: dict[str, type[Any]] = {}
        self.root = self.object_of(kind)

    def object_of(self, kind: type[Any]) -> Node:
        """Return the schema of a dataclass: closed, with the fields that JSON always has as required ones."""
        text, texts = described(kind)
        hints = codec.hints_of(cast(Any, kind))
        properties, required = {}, []
        for field in dataclasses.fields(kind):
            hint = hints[field.name]
            key = codec.key_of(field.name, hint)
            # JSON leaves out a flag that is false.
            is_flag = field.metadata.get("omitted") and field.default is False
            node: Node = {"const": True} if is_flag else self.node_of(hint)
            properties[key] = {**node, "description": sentence(texts[field.name])} if field.name in texts else node
            if not field.metadata.get("omitted"):
                required.append(key)
        whole: Node = {"description": text} if text else {}
        whole.update(type="object", required=required, additionalProperties=False, properties=properties)
        if kind in CONDITIONS:
            whole["allOf"] = list(CONDITIONS[kind])
        return whole

    def node_of(self, hint: Any) -> Node:
        """Return the schema of an annotation."""
        if hint in PLAIN:
            return dict(PLAIN[hint])
        if dataclasses.is_dataclass(hint):
            return self.reference(cast("type[Any]", hint))
        if isinstance(hint, type) and issubclass(hint, Enum):
            return self.reference(hint)
        origin, arguments = typing.get_origin(hint), typing.get_args(hint)
        if origin is typing.Annotated:
            return self.marked(arguments[0], arguments[1:])
        if origin in codec.UNIONS:
            return optional(self.node_of(arguments[0]))
        if origin is tuple:
            return {"type": "array", "items": self.node_of(arguments[0])}
        if isinstance(origin, type) and issubclass(origin, Mapping):
            return self.mapping(*arguments)
        return {"type": "array", "items": self.node_of(arguments[0])}

    def mapping(self, key: Any, value: Any) -> Node:
        node = {"type": "object", "additionalProperties": self.node_of(value) or True}
        names = self.node_of(key)
        return node if names == PLAIN[str] else {**node, "propertyNames": names}

    def marked(self, hint: Any, marks: tuple[Any, ...]) -> Node:
        """Return the schema of an annotation with marks for the codec."""
        for mark in marks:
            if isinstance(mark, codec.Moment):
                self.definitions["time"] = TIME
                return {"$ref": "#/$defs/time"}
            if isinstance(mark, codec.Exactly):
                return {"const": mark.text}
            if isinstance(mark, codec.Pattern):
                return {"type": "string", "pattern": f"^{mark.text}$"}
            if isinstance(mark, codec.Range):
                return {**self.node_of(hint), "minimum": mark.least, "maximum": mark.most}
        keywords = [dict(mark.keywords) for mark in marks if isinstance(mark, codec.Schema)]
        return functools.reduce(with_keywords, keywords, self.node_of(hint))

    def reference(self, kind: type[Any]) -> Node:
        name = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", kind.__name__).lower()
        if self.classes.setdefault(name, kind) is not kind:
            raise SystemExit(f"two classes have the name {name}: {kind} and {self.classes[name]}")
        if name not in self.definitions:
            self.definitions[name] = {}  # so that a class which has itself in it comes to an end
            self.definitions[name] = self.enum_of(kind) if issubclass(kind, Enum) else self.object_of(kind)
        return {"$ref": f"#/$defs/{name}"}

    @staticmethod
    def enum_of(kind: type[Enum]) -> Node:
        values: Node = {"enum": [member.value for member in kind]}
        text = docstring_of(kind)
        return {"description": text, **values} if text else values


def with_keywords(node: Node, keywords: Node) -> Node:
    """Return a schema with more keywords. JSON has lists where Python has tuples."""
    values = keywords.get("enum")
    return {**node, **keywords} if values is None else {"enum": list(values)}


def optional(node: Node) -> Node:
    """Return the schema of a value that may be null."""
    if isinstance(node.get("enum"), list):
        return {**node, "enum": [*node["enum"], None]}
    if isinstance(node.get("type"), str):
        return {**node, "type": [node["type"], "null"]}
    return {"oneOf": [node, {"type": "null"}]}


def schema_of(name: str) -> Node:
    """Return the whole schema of a record, by the name of its file."""
    schema = Schema(RECORDS[name])
    version = schema.root["properties"]["schema"].get("const", f"stackproof.{name}")
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"urn:{version.replace('.', ':').replace('/', ':')}",
        "$comment": LICENCE,
        "title": f"{name}.json of stackproof.provision",
        **schema.root,
        "$defs": dict(sorted(schema.definitions.items())),
    }


def text_of(name: str) -> str:
    return json.dumps(schema_of(name), indent=2) + "\n"


# Tables


def table_of(kind: type[Any]) -> str:
    """Return the rows of a table of the keys of a class."""
    _text, texts = described(kind)
    hints = codec.hints_of(cast(Any, kind))
    rows = [f"| `{codec.key_of(name, hint)}` | {texts[name].rstrip('.')} |\n" for name, hint in hints.items()]
    return "".join(rows)


def table_of_run() -> str:
    """Return the rows of the table of a run: each key, whether it is always there, and what is open below it."""
    schema = schema_of("run")
    _text, texts = described(Record)
    rows = []
    for key, node in schema["properties"].items():
        there = "always" if key in schema["required"] else ""
        listed = ", ".join(f"`{place}`" for place in openings(node, schema["$defs"]))
        rows.append(f"| `{key}` | {there} | {texts[key].rstrip('.')} | {listed} |\n")
    return "".join(rows)


def openings(node: Node, definitions: Mapping[str, Node], place: str = "") -> list[str]:
    """Return the places in a schema that take any field, as keys with dots."""
    if "$ref" in node:
        return openings(definitions[node["$ref"].rpartition("/")[2]], definitions, place)
    if node.get("additionalProperties") is True:
        return [place]
    found = []
    for below in (*node.get("oneOf", ()), node.get("items"), node.get("additionalProperties")):
        found += openings(below, definitions, place) if below else []
    for key, below in node.get("properties", {}).items():
        found += openings(below, definitions, f"{place}.{key}".lstrip("."))
    return found


def with_table(text: str, section: str, rows: str) -> str:
    """Return a page with the rows of the table in one of its sections."""
    before, heading, after = text.partition(f"\n## {section}\n")
    head = TABLE.search(after)
    if head is None:
        raise SystemExit(f"no table of keys in the section {section}")
    return before + heading + after[: head.start()] + head[1] + rows + after[head.end() :]


def record_page() -> str:
    """Return docs/record.md with the tables of all records; each is in the section of its file."""
    text = with_table(RECORD_PAGE.read_text(encoding="utf-8"), "run.json", table_of_run())
    text = with_table(text, "The verdict", table_of(Verdict))
    for name in (name for name in RECORDS if name != "run"):
        text = with_table(text, f"{name}.json", table_of(TABLES[name]))
    return text


def files() -> dict[Path, str]:
    """Return the texts of all files that are made here."""
    schemas = {FOLDER / f"{name}.schema.json": text_of(name) for name in RECORDS}
    return {**schemas, RECORD_PAGE: record_page()}


def main(arguments: list[str]) -> None:
    if arguments:
        sys.stdout.write(text_of(arguments[0]))
        return
    for path, text in files().items():
        path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
