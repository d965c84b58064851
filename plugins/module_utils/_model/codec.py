# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Convert the dataclasses of a record to JSON and back. The annotation of each field is its only definition."""

from __future__ import annotations

import dataclasses
import functools
import math
import re
import types
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timezone
from enum import Enum
from typing import Annotated, Any, Optional, TypeVar, Union, cast

T = TypeVar("T")
Decoder = Callable[[Any, str], Any]
Encoder = Callable[[Any], Any]

# X | None is a type of its own from Python 3.10 on.
UNIONS = (Union, getattr(types, "UnionType", Union))
# In seconds, a year: no run takes longer, and sums of such numbers stay finite.
LONGEST = 366 * 86400
# In characters: a message quotes no more of a wrong value.
LONGEST_QUOTE = 60
# As records write a time. JSON of others may have another offset or no fraction.
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{6})?([+-]\d\d:\d\d|Z)")


@dataclass(frozen=True)
class Moment:
    """Mark a number of seconds since the epoch that JSON has as a time in ISO 8601."""


@dataclass(frozen=True)
class Range:
    """Mark a number that lies between two others."""

    least: float
    most: float


@dataclass(frozen=True)
class Pattern:
    """Mark a text that matches a regular expression as a whole."""

    text: str


@dataclass(frozen=True)
class Exactly:
    """Mark a text that can only be this one."""

    text: str


@dataclass(frozen=True)
class Key:
    """Mark a field that has another name in the JSON of others."""

    name: str


@dataclass(frozen=True)
class Schema:
    """Mark a value with keywords of JSON Schema.

    The schema of a record has them, but the codec does not check them: what a hostile cloud answers may break them, and
    the record of that run must still be read.
    """

    keywords: tuple[tuple[str, Any], ...]


def schema(**keywords: Any) -> Schema:
    return Schema(tuple(keywords.items()))


# In memory a number of seconds since the epoch, in JSON a time with microseconds in UTC
Time = Annotated[float, Moment()]
# A duration
Seconds = Annotated[float, Range(0, LONGEST)]
# A text that says something
Text = Annotated[str, schema(minLength=1)]
Count = Annotated[int, schema(minimum=0)]
# A number that is not negative
Positive = Annotated[float, schema(minimum=0)]
Share = Annotated[float, schema(minimum=0, maximum=1)]


class MalformedError(ValueError):
    """A JSON value that does not have the shape of what it should be."""

    def __init__(self, path: str, expected: str, value: Any) -> None:
        quote = repr(value)
        short = (
            quote
            if len(quote) <= LONGEST_QUOTE
            else f"{quote[:LONGEST_QUOTE]}..."
        )
        super().__init__(
            f"{path or 'the record'}: must be {expected}, not {short}"
        )


def omitted(default: Any = None) -> Any:
    """Return a field that JSON leaves out while it has its default."""
    # It is called in the body of a dataclass, which pylint cannot see here.
    return dataclasses.field(default=default, metadata={"omitted": True})  # pylint: disable=invalid-field-call


def key_of(name: str, hint: Any) -> str:
    """Return the key that a field has in JSON."""
    keys = (
        mark.name for mark in typing.get_args(hint) if isinstance(mark, Key)
    )
    return next(keys, name)


def from_json(kind: type[T], data: Any, path: str = "") -> T:
    """Return an instance of a dataclass from plain JSON data. Raise MalformedError, which names the wrong place."""
    value: T = decoder_of(cast(Any, kind))(data, path)
    return value


def to_json(value: Any) -> Any:
    """Return a dataclass as plain JSON data."""
    return encoder_of(cast(Any, type(value)))(value)


@functools.cache
def hints_of(kind: type[Any]) -> dict[str, Any]:
    return typing.get_type_hints(kind, include_extras=True)


# Decoders


@functools.cache
def decoder_of(hint: Any) -> Decoder:
    """Return the function that reads a value of this annotation."""
    if dataclasses.is_dataclass(hint):
        return dataclass_decoder(cast("type[Any]", hint))
    if isinstance(hint, type) and issubclass(hint, Enum):
        return functools.partial(decode_enum, hint)
    origin = typing.get_origin(hint)
    if origin is None:
        return plain_decoder(hint)
    arguments = typing.get_args(hint)
    if origin is Annotated:
        return marked_decoder(arguments[0], arguments[1:])
    if origin in UNIONS:
        return optional_decoder(arguments)
    if origin is tuple:
        return functools.partial(decode_list, decoder_of(arguments[0]))
    return functools.partial(decode_mapping, decoder_of(arguments[1]))


def dataclass_decoder(kind: type[Any]) -> Decoder:
    hints = hints_of(cast(Any, kind))
    keys = {name: key_of(name, hint) for name, hint in hints.items()}
    required = [
        keys[field.name]
        for field in dataclasses.fields(kind)
        if is_required(field)
    ]
    decoders = {
        keys[name]: (name, decoder_of(hint)) for name, hint in hints.items()
    }

    def decode(data: Any, path: str) -> Any:
        if not isinstance(data, Mapping):
            raise MalformedError(path, "an object", data)
        for key in required:
            if key not in data:
                raise MalformedError(path, f"an object with {key}", dict(data))
        prefix = f"{path}." if path else ""
        values = {}
        for key in decoders.keys() & data.keys():
            name, decode_value = decoders[key]
            values[name] = decode_value(data[key], prefix + key)
        return kind(**values)

    return decode


def is_required(field: dataclasses.Field[Any]) -> bool:
    return (
        field.default is dataclasses.MISSING
        and field.default_factory is dataclasses.MISSING
    )


def decode_enum(kind: type[Enum], data: Any, path: str) -> Enum:
    try:
        return kind(data)
    except ValueError:
        choices = ", ".join(str(member.value) for member in kind)
        raise MalformedError(path, f"one of {choices}", data) from None


def decode_list(decode: Decoder, data: Any, path: str) -> tuple[Any, ...]:
    if not isinstance(data, (list, tuple)):
        raise MalformedError(path, "a list", data)
    return tuple(
        decode(item, f"{path}[{number}]") for number, item in enumerate(data)
    )


def decode_mapping(decode: Decoder, data: Any, path: str) -> dict[str, Any]:
    if not is_object(data):
        raise MalformedError(path, "an object", data)
    return {key: decode(value, f"{path}.{key}") for key, value in data.items()}


def is_object(data: Any) -> bool:
    """Return whether data may be an object of JSON, whose keys are texts."""
    if not isinstance(data, Mapping):
        return False
    return all(isinstance(key, str) for key in data)


def optional_decoder(arguments: tuple[Any, ...]) -> Decoder:
    # Only Optional is used: a value of two kinds would have no one encoding.
    inner = decoder_of(arguments[0])

    def decode(data: Any, path: str) -> Any:
        return None if data is None else inner(data, path)

    return decode


def marked_decoder(hint: Any, marks: tuple[Any, ...]) -> Decoder:
    for mark in marks:
        if isinstance(mark, Moment):
            return decode_time
        if isinstance(mark, Range):
            return functools.partial(decode_number, hint, mark)
        if isinstance(mark, Pattern):
            return functools.partial(decode_matching, re.compile(mark.text))
        if isinstance(mark, Exactly):
            return functools.partial(decode_exactly, mark.text)
    return decoder_of(hint)


def decode_time(data: Any, path: str) -> float:
    """Return a time as seconds since the epoch."""
    if not isinstance(data, str) or not TIME.fullmatch(data):
        raise MalformedError(
            path, "a time such as 2026-11-21T14:43:34.000123+00:00", data
        )
    try:
        return datetime.fromisoformat(data.replace("Z", "+00:00")).timestamp()
    except (ValueError, OverflowError):
        raise MalformedError(path, "a time that exists", data) from None


def decode_number(kind: type[Any], mark: Range, data: Any, path: str) -> Any:
    number = plain_decoder(kind)(data, path)
    if not mark.least <= number <= mark.most:
        raise MalformedError(
            path, f"a number from {mark.least:g} to {mark.most:g}", data
        )
    return number


def decode_matching(pattern: re.Pattern[str], data: Any, path: str) -> str:
    if pattern.fullmatch(decode_text(data, path)):
        return str(data)
    raise MalformedError(path, f"a text like {pattern.pattern}", data)


def decode_exactly(text: str, data: Any, path: str) -> str:
    if data != text:
        raise MalformedError(path, text, data)
    return text


def plain_decoder(kind: Any) -> Decoder:
    return PLAIN[kind]


def decode_text(data: Any, path: str) -> str:
    if not isinstance(data, str):
        raise MalformedError(path, "a text", data)
    return data


def decode_flag(data: Any, path: str) -> bool:
    if not isinstance(data, bool):
        raise MalformedError(path, "true or false", data)
    return data


def decode_whole(data: Any, path: str) -> int:
    if not isinstance(data, int) or isinstance(data, bool):
        raise MalformedError(path, "a whole number", data)
    return data


def decode_float(data: Any, path: str) -> float:
    """Return a number that others can be compared with: JSON of others may have NaN, or 10**400."""
    if not isinstance(data, (int, float)) or isinstance(data, bool):
        raise MalformedError(path, "a number", data)
    try:
        if math.isfinite(data):
            return data
    except OverflowError:
        pass
    raise MalformedError(path, "a finite number", data)


def decode_anything(data: Any, _path: str) -> Any:
    return data


PLAIN: dict[Any, Decoder] = {
    str: decode_text,
    bool: decode_flag,
    int: decode_whole,
    float: decode_float,
    Any: decode_anything,
    type(None): decode_anything,
}


# Encoders


@functools.cache
def encoder_of(kind: Any) -> Encoder:
    """Return the function that writes a value of this class."""
    if dataclasses.is_dataclass(kind):
        return dataclass_encoder(cast("type[Any]", kind))
    if isinstance(kind, type) and issubclass(kind, Enum):
        return encode_enum
    if kind in (tuple, list):
        return encode_list
    return encode_mapping if kind is dict else encode_itself


def dataclass_encoder(kind: type[Any]) -> Encoder:
    hints = hints_of(cast(Any, kind))
    keys = {name: key_of(name, hint) for name, hint in hints.items()}
    timed = {name for name, hint in hints.items() if is_time(hint)}
    defaults = {
        field.name: default_of(field) for field in dataclasses.fields(kind)
    }

    def encode(value: Any) -> dict[str, Any]:
        data = {}
        for name, key in keys.items():
            default = defaults[name]
            item = getattr(value, name)
            if default is ALWAYS or item != default:
                data[key] = iso_of(item) if name in timed else to_json(item)
        return data

    return encode


# The default of a field that JSON has in any case
ALWAYS = object()


def default_of(field: dataclasses.Field[Any]) -> Any:
    """Return the value with which JSON leaves out a field."""
    if not field.metadata.get("omitted"):
        return ALWAYS
    return field.default


def is_time(hint: Any) -> bool:
    return hint in (Time, Optional[Time])


def minute_of(seconds: float) -> str:
    """Return seconds since the epoch as a reader writes a time: 2026-11-21 14:43 UTC."""
    at = datetime.fromtimestamp(seconds, timezone.utc)
    return f"{at:%Y-%m-%d %H:%M} UTC"


@typing.overload
def iso_of(seconds: float) -> str: ...


@typing.overload
def iso_of(seconds: None) -> None: ...


def iso_of(seconds: float | None) -> str | None:
    """Return seconds since the epoch as records write a time; None stays None."""
    if seconds is None:
        return None
    return datetime.fromtimestamp(seconds, timezone.utc).isoformat(
        timespec="microseconds"
    )


def encode_enum(value: Any) -> Any:
    return value.value


def encode_list(value: Any) -> list[Any]:
    return list(map(to_json, value))


def encode_mapping(value: Any) -> dict[str, Any]:
    return {key: to_json(item) for key, item in value.items()}


def encode_itself(value: Any) -> Any:
    return value
