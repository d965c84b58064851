# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Reads the definitions of the variables: the argument specs of the roles, and those of the playbooks.

Values are checked by them before a run creates anything, and roles pass their variables to their modules by them.

PRIVATE to the collection: no promise is made to other users of this file.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import yaml
from ansible.module_utils.common import validation
from ansible_collections.stackproof.provision.plugins.module_utils._act import (
    options,
)

COLLECTION = os.path.dirname(
    os.path.dirname(os.path.dirname(os.path.realpath(__file__)))
)
PREFIX = "stackproof_"
SPECS = "meta/argument_specs.yml"
TIMEOUTS = "stackproof_timeouts"
# The playbooks set these for the roles.
SET_BY_PLAYBOOKS = frozenset(
    {
        "stackproof_begun",
        "stackproof_broke_off",
        "stackproof_folder",
        "stackproof_phase",
        "stackproof_platform_profile",
        "stackproof_read_hosts",
        "stackproof_run_dir",
        "stackproof_swept",
    }
)
# No run has these roles. Ansible checks their variables itself as soon as they begin.
WITHOUT_RUN = frozenset({"canary", "diagnosis"})
# Its variables are options of two modules, so its tasks name them.
TASKS_NAME_OPTIONS = frozenset({"diagnosis"})
# Variables whose option has another name than they have without the prefix and the name of their role
OTHER_OPTIONS = {
    TIMEOUTS: "timeout",
    "stackproof_volume": "source",
    "stackproof_volume_type": "volume_type",
    "stackproof_volume_zone": "availability_zone",
    "stackproof_zone": "availability_zone",
    "stackproof_dataplane_path": "path",
    "stackproof_dataplane_name": "dataplane_name",
    "stackproof_dataplane_volume": "dataplane_volume",
    "stackproof_dataplane_login": "dataplane_login",
}
# Type to its check, and to what a refusal calls it. Any other type takes a text.
TYPES: dict[str, tuple[Callable[[Any], Any], str]] = {
    "bool": (validation.check_type_bool, "true or false"),
    "float": (validation.check_type_float, "a number"),
    "int": (validation.check_type_int, "a whole number"),
    "list": (validation.check_type_list, "a list"),
}

# The modules that begin runs. No other playbook is refused for a value that it does not use: it may be there to clean
# up.
BEGIN_RUNS = frozenset({"preflight", "run"})

# One needs the other.
JOURNEY, DATAPLANE = "stackproof_journey", "stackproof_dataplane"
EVACUATE_FROM = "stackproof_evacuate_from"
# Operations that need a server whose root disk is no volume
WITHOUT_ROOT_VOLUME = {
    "boot_snapshot": "an image of such a server has no data",
    "reattach_volume": "no server can do without its root disk",
}

# The definition of a variable, as Ansible has it
Spec = Mapping[str, Any]


def read_specs(path: str) -> dict[str, dict[str, Spec]]:
    """Return the definitions in a file of argument specs, by entry point and variable."""
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    with open(path, encoding="utf-8") as stream:
        entries = yaml.load(stream, Loader=loader)["argument_specs"]
    return {
        entry: spec.get("options") or {} for entry, spec in entries.items()
    }


def role_specs(
    role: str, collection: str = COLLECTION
) -> dict[str, dict[str, Spec]]:
    return read_specs(os.path.join(collection, "roles", role, SPECS))


def playbook_specs(collection: str = COLLECTION) -> dict[str, dict[str, Spec]]:
    """Return the variables that only playbooks take, by playbook."""
    return read_specs(os.path.join(collection, "playbooks", SPECS))


@functools.cache
def variables(
    collection: str = COLLECTION, without: frozenset[str] = frozenset()
) -> dict[str, Spec]:
    """Return the definition of each variable, but for some roles and playbooks. A playbook's counts before a role's."""
    found: dict[str, Spec] = {}
    for role in sorted(
        set(os.listdir(os.path.join(collection, "roles"))) - without
    ):
        for options_of_entry in role_specs(role, collection).values():
            found.update(options_of_entry)
    for playbook, own in playbook_specs(collection).items():
        if playbook not in without:
            found.update(own)
    return found


def variables_of_run(collection: str = COLLECTION) -> dict[str, Spec]:
    """Return the definition of each variable that a user may give a run."""
    found = variables(collection, WITHOUT_RUN)
    return {
        name: spec
        for name, spec in found.items()
        if name not in SET_BY_PLAYBOOKS
    }


def is_given(value: object) -> bool:
    """Return whether a value counts: an empty one stands for the default."""
    return value is not None and value != ""


def problems(
    values: Mapping[str, Any], collection: str = COLLECTION
) -> Iterator[str]:
    """Find the values that no run can use; each yields its variable, the value, and what is allowed instead."""
    definitions = variables_of_run(collection)
    for name in sorted(definitions.keys() & values.keys()):
        spec, value = definitions[name], values[name]
        if not is_given(value):
            continue
        why = why_not(spec, value) or options.beyond_limits(name, value)
        if why:
            shown = (
                "the value given" if spec.get("no_log") else f"{value!r:.80}"
            )
            yield f"{name} cannot be {shown}: {why}"
    if is_given(values.get(JOURNEY)):
        yield from problems_of_journey(values)


def problems_of_journey(values: Mapping[str, Any]) -> Iterator[str]:
    """Find what a journey needs, and the other values do not give it."""
    try:
        operations = validation.check_type_list(values[JOURNEY])
    except TypeError:
        # That it is no list has been said.
        return
    if operations and not is_true(values.get(DATAPLANE)):
        yield f"{JOURNEY} needs {DATAPLANE}: a second guest measures for how long the first one does not answer"
    yield from problems_of_images(operations)
    if "evacuate" in operations:
        yield from problems_of_evacuation(values)
    if values.get("stackproof_attach") == "root":
        yield from problems_of_root_volume(operations)
    if values.get("stackproof_volume") == "none":
        yield from problems_without_volume(operations)


def problems_of_images(operations: Sequence[str]) -> Iterator[str]:
    images = [one for one in operations if one in options.WITH_IMAGE]
    if len(images) > 1:
        yield f"{JOURNEY} has {' and '.join(images)}, and a run makes one image of its server"


def problems_without_volume(operations: Sequence[str]) -> Iterator[str]:
    for operation in options.WITH_VOLUME:
        if operation in operations:
            yield f"{JOURNEY} has {operation}, which needs a volume, and stackproof_volume is none"


def problems_of_root_volume(operations: Sequence[str]) -> Iterator[str]:
    """Find the operations that a server cannot stand whose root disk is a volume."""
    for operation, why in WITHOUT_ROOT_VOLUME.items():
        if operation in operations:
            yield f"{JOURNEY} has {operation}, and stackproof_attach is root: {why}"


def problems_of_evacuation(values: Mapping[str, Any]) -> Iterator[str]:
    """Find what an evacuation lacks: its host is named twice, as the operator is to take it down."""
    host = values.get(EVACUATE_FROM)
    if not is_given(host):
        yield f"{JOURNEY} has evacuate, which needs {EVACUATE_FROM}: the host that you take down meanwhile"
    elif values.get("stackproof_host") != host:
        yield f"{EVACUATE_FROM} is {host!r:.80}, and stackproof_host has to be the same: the server starts there"
    elif values.get("stackproof_second_host") == host:
        yield f"{EVACUATE_FROM} and stackproof_second_host are {host!r:.80}: the second guest has to outlive that host"


def is_true(value: object) -> bool:
    """Return whether a value is one that Ansible takes for true."""
    try:
        return bool(validation.check_type_bool(value))
    except TypeError:
        return False


def why_not(spec: Spec, value: Any, what: str = "it") -> str | None:
    """Return why a value does not fit a definition; None if it does. what: the value, in the reason."""
    kind = spec.get("type", "str")
    # A text may stand for a list of texts or numbers, with commas, but holds no dictionaries.
    holds_none = spec.get("elements") == "dict" and not isinstance(value, list)
    wanted = "a list" if holds_none else not_of_type(kind, value)
    if wanted:
        return f"{what} is not {wanted}"
    # Those of a list are of its elements.
    if "choices" in spec and kind != "list" and value not in spec["choices"]:
        return f"{what} is not one of {', '.join(spec['choices'])}"
    return why_not_inside(spec, value)


def why_not_inside(spec: Spec, value: Any) -> str | None:
    """Return why a part of a dictionary or of a list does not fit; None if all do."""
    kind = spec.get("type")
    if kind == "dict" and "options" in spec:
        options = spec["options"]
        return first(
            why_not_key(options, key, part) for key, part in value.items()
        )
    if kind == "list" and "elements" in spec:
        return why_not_element(spec, value)
    return None


def why_not_element(spec: Spec, value: Any) -> str | None:
    element = {"type": spec["elements"]}
    # A definition without options leaves the keys of its dictionaries to the module.
    for name in ("options", "choices"):
        if name in spec:
            element[name] = spec[name]
    items = validation.check_type_list(value)
    return first(why_not(element, item, f"{item!r:.40}") for item in items)


def why_not_key(known: Mapping[str, Spec], key: str, value: Any) -> str | None:
    if key not in known:
        return f"it has no key {key!r}; its keys are {', '.join(known)}"
    return (
        why_not(known[key], value, f"its {key}") if is_given(value) else None
    )


def not_of_type(kind: str, value: Any) -> str | None:
    """Return what a value of this type is, if this one is none."""
    if kind == "raw":
        return None
    if kind == "dict":
        if isinstance(value, Mapping):
            return None
        return "a dictionary"
    if kind not in TYPES:
        if isinstance(value, (Mapping, list)):
            return "a text"
        return None
    check, name = TYPES[kind]
    try:
        check(value)
    except (TypeError, ValueError, OverflowError):
        return name
    return None


def first(reasons: Iterable[str | None]) -> str | None:
    return next(filter(None, reasons), None)


def option_of(variable: str, role: str) -> str:
    """Return the name of the option of a role's module that takes a variable."""
    return OTHER_OPTIONS.get(variable) or variable.removeprefix(
        PREFIX
    ).removeprefix(f"{role}_")


@functools.cache
def options_of_task(path: str, module: str) -> dict[str, str]:
    """Return option to variable for a task in a file of the collection: none unless its module has its role's name."""
    place = os.path.relpath(os.path.realpath(path), COLLECTION)
    entry = os.path.splitext(os.path.basename(place))[0]
    if (
        place != os.path.join("roles", module, "tasks", f"{entry}.yml")
        or module in TASKS_NAME_OPTIONS
    ):
        return {}
    variables = role_specs(module).get(entry, {})
    return {
        option_of(variable, module): variable
        for variable, spec in variables.items()
        # What is required stands in the task: its reader sees what it needs.
        if not spec.get("required")
    }


def options_given(
    path: str, module: str, value_of: Callable[[str], Any]
) -> dict[str, Any]:
    """Return the options that a task takes from variables. value_of returns the value of a variable."""
    given = {}
    for option, variable in options_of_task(path, module).items():
        value = value_of(variable)
        if variable == TIMEOUTS:
            value = value.get(module) if isinstance(value, Mapping) else None
        if is_given(value):
            given[option] = value
    return given
