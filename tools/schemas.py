# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Generate the JSON Schemas of records, and their tables in docs/record.md, from the dataclasses of _model.

schemas.py writes them. schemas.py NAME prints the schema of one, such as run. The annotations of the fields are the
shapes. A class's docstring begins with its description; "name: text" describes a field, "name, name: text" several.
"""

from __future__ import annotations

import dataclasses
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
from ansible_collections.stackproof.provision.plugins.module_utils._model.history import CloudHistory, History
from ansible_collections.stackproof.provision.plugins.module_utils._model.load import LoadTest
from ansible_collections.stackproof.provision.plugins.module_utils._model.record import Record
from ansible_collections.stackproof.provision.plugins.module_utils._model.sweep import Sweep

Node = dict[str, Any]

RECORDS: dict[str, type[Any]] = {"sweep": Sweep, "load": LoadTest, "history": History}
# That of a run is still written by hand: its places that are open have more detail than the model.
PRINTED: dict[str, type[Any]] = {**RECORDS, "run": Record}
FOLDER = ROOT / "roles/report/files"
TABLES = ROOT / "docs/record.md"

LICENCE = "Copyright (c) 2026, stackproof contributors; SPDX-License-Identifier: GPL-3.0-or-later"
TIME: Node = {"type": "string", "pattern": r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}\+00:00$"}
PLAIN: dict[Any, Node] = {
    str: {"type": "string"},
    bool: {"type": "boolean"},
    int: {"type": "integer"},
    float: {"type": "number"},
    Any: {},
}
# The rows of a table with a head, as far as the next empty line
TABLE = re.compile(r"(\| key \| what it holds \|\n\|---\|---\|\n)(?:\|.*\n)+")


# Descriptions


def described(kind: type[Any]) -> tuple[str, dict[str, str]]:
    """Return the description of a class, and those of its fields by their names."""
    text = " ".join((kind.__doc__ or "").split())
    names = [field.name for field in dataclasses.fields(kind)]
    name = "|".join(sorted(map(re.escape, names), key=len, reverse=True))
    # A description ends where the next one begins.
    parts = re.split(rf"(?:(?<=\. )|^)((?:{name})(?:, (?:{name}))*): ", text)
    fields = {}
    for listed, description in zip(parts[1::2], parts[2::2]):
        for each in listed.split(", "):
            fields[each] = description.strip()
    return parts[0].strip(), fields


def sentence(text: str) -> str:
    """Return a description that begins with a capital letter."""
    return text[:1].upper() + text[1:]


# Schemas


class Schema:
    """The schema of a class. Other classes and enums that it uses are its definitions."""

    def __init__(self, kind: type[Any]) -> None:
        self.definitions: dict[str, Node] = {}
        self.root = self.object_of(kind)

    def object_of(self, kind: type[Any]) -> Node:
        """Return the schema of a dataclass: closed, with the fields that JSON always has as required ones."""
        text, texts = described(kind)
        hints = codec.hints_of(cast(Any, kind))
        properties, required = {}, []
        for field in dataclasses.fields(kind):
            hint = hints[field.name]
            key = codec.key_of(field.name, hint)
            node = self.node_of(hint)
            properties[key] = {**node, "description": sentence(texts[field.name])} if field.name in texts else node
            if not field.metadata.get("omitted"):
                required.append(key)
        return {
            "description": text,
            "type": "object",
            "required": required,
            "additionalProperties": False,
            "properties": properties,
        }

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
            return {"type": "object", "additionalProperties": self.node_of(arguments[1]) or True}
        return {"type": "array", "items": self.node_of(arguments[0])}

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
        return self.node_of(hint)

    def reference(self, kind: type[Any]) -> Node:
        name = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", kind.__name__).lower()
        if name not in self.definitions:
            self.definitions[name] = {}  # so that a class which has itself in it comes to an end
            self.definitions[name] = self.enum_of(kind) if issubclass(kind, Enum) else self.object_of(kind)
        return {"$ref": f"#/$defs/{name}"}

    @staticmethod
    def enum_of(kind: type[Enum]) -> Node:
        text = " ".join((kind.__doc__ or "").split())
        return {"description": text, "enum": [member.value for member in kind]}


def optional(node: Node) -> Node:
    """Return the schema of a value that may be null."""
    if isinstance(node.get("type"), str):
        return {**node, "type": [node["type"], "null"]}
    return {"oneOf": [node, {"type": "null"}]}


def schema_of(name: str) -> Node:
    """Return the whole schema of a record, by the name of its file."""
    schema = Schema(PRINTED[name])
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


def with_tables(text: str) -> str:
    """Return the documentation with the tables of all records; each stands in the section of its file."""
    for name, kind in RECORDS.items():
        before, heading, section = text.partition(f"\n## {name}.json\n")
        head = TABLE.search(section)
        if head is None:
            raise SystemExit(f"{TABLES} has no table of {name}.json")
        table = head[1] + table_of(CLOUD if kind is History else kind)
        text = before + heading + section[: head.start()] + table + section[head.end() :]
    return text


# The keys of history.json are few; those of each of its clouds are what a reader asks for.
CLOUD: type[Any] = CloudHistory


def files() -> dict[Path, str]:
    """Return the texts of all files that are made here."""
    schemas = {FOLDER / f"{name}.schema.json": text_of(name) for name in RECORDS}
    return {**schemas, TABLES: with_tables(TABLES.read_text(encoding="utf-8"))}


def main(arguments: list[str]) -> None:
    if arguments:
        sys.stdout.write(text_of(arguments[0]))
        return
    for path, text in files().items():
        path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
