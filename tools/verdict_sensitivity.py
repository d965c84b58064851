# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Print how much the verdicts on recorded faults depend on each number of the judge.

verdict_sensitivity.py [NAME]...

Each number is changed to half, 0.8, 1.25 and 2 times its value, alone, and each recorded fault is judged with it. A row
says of how many verdicts the component or the host changes, and by how much a confidence changes at most. NAME is the
beginning of the numbers' names, such as strength; by default all are changed.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

TESTS = Path(__file__).resolve().parents[1] / "tests"
sys.path.insert(0, str(TESTS))

import tree

if "ansible_collections.stackproof.provision" not in sys.modules:
    tree.import_collections_by_name()

import failed_runs
from ansible_collections.stackproof.provision.plugins.module_utils._judge.culprit import finding
from ansible_collections.stackproof.provision.plugins.module_utils._judge.weights import (
    WEIGHTS,
    Parts,
    Weights,
)
from ansible_collections.stackproof.provision.plugins.module_utils._model import codec
from ansible_collections.stackproof.provision.plugins.module_utils._model.record import Record
from ansible_collections.stackproof.provision.plugins.module_utils._record.run import read_record

FACTORS = (0.5, 0.8, 1.25, 2.0)
# Runs with a fault that are whole records
WHOLE = ("removed",)


class Number(NamedTuple):
    """A number of the judge: the field of the weights, and its place in there."""

    field: str
    key: Any = None
    part: str | None = None

    @property
    def name(self) -> str:
        words = [self.field]
        if self.key is not None:
            words.append(" ".join(map(str, self.key)) if isinstance(self.key, tuple) else str(self.key))
        elif self.part is not None and self.field == "parts":
            words.append("not known")
        return ", ".join([*words, *filter(None, [self.part])])


class Outcome(NamedTuple):
    """What a verdict names, and how likely that is. Without a name it is the likelihood of the first suspect."""

    component: str | None
    host: str | None
    confidence: float

    @property
    def place(self) -> tuple[str | None, str | None]:
        return self.component, self.host


@dataclass(frozen=True)
class Effect:
    """What a changed number does to the verdicts."""

    number: Number
    factor: float
    changed: int
    confidence: float


def numbers(weights: Weights) -> Iterator[Number]:
    """Yield each number of the judge; those that are 0 would stay so."""
    for field in fields(weights):
        value = getattr(weights, field.name)
        places = value.items() if isinstance(value, Mapping) else [(None, value)]
        for key, entry in places:
            names = Parts._fields if isinstance(entry, Parts) else (None,)
            for part in names:
                if getattr(entry, part) if part else entry:
                    yield Number(field.name, key, part)


def with_factor(weights: Weights, number: Number, factor: float) -> Weights:
    """Return the weights with one number that is changed by a factor."""
    value = getattr(weights, number.field)
    if isinstance(value, Mapping):
        changed: Any = MappingProxyType({**value, number.key: scaled(value[number.key], number.part, factor)})
    else:
        changed = scaled(value, number.part, factor)
    return replace(weights, **{number.field: changed})


def scaled(value: Any, part: str | None, factor: float) -> Any:
    if part is not None:
        return value._replace(**{part: getattr(value, part) * factor})
    return max(1, round(value * factor)) if isinstance(value, int) else value * factor


def recorded_faults() -> dict[str, Record]:
    """Return the recorded runs with a fault, as they are and where no host was read."""
    data = {name: failed_runs.run_of(name) for name in failed_runs.NAMES}
    data.update({f"{name}, without hosts": failed_runs.blind(failed_runs.run_of(name)) for name in failed_runs.NAMES})
    faults = {name: codec.from_json(Record, record) for name, record in data.items()}
    faults.update({name: read_record(str(tree.RECORDED / name)).as_removal for name in WHOLE})
    return faults


def outcome(record: Record, weights: Weights) -> Outcome:
    found = finding(record, weights)
    if found is None:
        return Outcome(None, None, 0.0)
    if found.cause is not None:
        return Outcome(*found.cause.place, found.cause.confidence)
    return Outcome(None, None, found.suspects[0].confidence if found.suspects else 0.0)


def effects(records: Mapping[str, Record], chosen: Sequence[str] = ()) -> Iterator[Effect]:
    """Yield what each change of each number does."""
    before = {name: outcome(record, WEIGHTS) for name, record in records.items()}
    for number in numbers(WEIGHTS):
        if chosen and not number.name.startswith(tuple(chosen)):
            continue
        for factor in FACTORS:
            weights = with_factor(WEIGHTS, number, factor)
            after = {name: outcome(record, weights) for name, record in records.items()}
            changed = sum(after[name].place != before[name].place for name in records)
            confidence = max(abs(after[name].confidence - before[name].confidence) for name in records)
            yield Effect(number, factor, changed, confidence)


def main(chosen: Sequence[str]) -> None:
    records = recorded_faults()
    print(f"{len(records)} verdicts\n")
    print("| number | times | verdicts that change | largest change of confidence |")
    print("|---|---|---|---|")
    for effect in effects(records, chosen):
        print(f"| {effect.number.name} | {effect.factor:g} | {effect.changed} | {effect.confidence:.3f} |")


if __name__ == "__main__":
    main(sys.argv[1:])
