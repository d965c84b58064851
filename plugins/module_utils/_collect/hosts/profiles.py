# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Load the profiles of platforms: files that say where things are on the hosts of a cloud."""

from __future__ import annotations

import functools
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

try:
    import yaml

    HAS_YAML = True
except ImportError:
    HAS_YAML = False

from ..._components.catalogue import COMPONENTS
from ..._record.errors import StageError

OURS = Path(__file__).resolve().parents[4] / "roles/evidence/vars/platforms"
VARIABLE = "stackproof_platform_profile"
# Keys that every profile has, to the type of their values
NEEDED = {
    "groups": dict,
    "prefixes": dict,
    "pools": dict,
    "ceph_users": list,
    "dhcp_states": list,
    "dhcp_logs": dict,
    "metadata_logs": dict,
}
# The key that names the profile from which one takes what it does not say itself
LIKE = "like"
HINT = "docs/platforms.md explains how to write a profile."


def profile_of(platform: object) -> dict[str, Any]:
    """Return the profile of a platform: one of ours by its name, or a file by its path."""
    is_path = "/" in str(platform)
    path = Path(str(platform)) if is_path else OURS / f"{platform}.yml"
    try:
        return load(path, os.stat(path).st_mtime_ns)
    except FileNotFoundError:
        names = ", ".join(sorted(file.stem for file in OURS.glob("*.yml")))
        reason = (
            "there is no such file"
            if is_path
            else f"it is neither a path nor one of {names}"
        )
        raise wrong(platform, reason) from None
    except OSError as exc:
        raise wrong(platform, f"it cannot be read: {exc.strerror}") from None
    except (UnicodeDecodeError, yaml.YAMLError) as exc:
        reason = " ".join(str(exc).split())
        raise wrong(platform, f"it cannot be read: {reason}") from None


# A playbook asks for its profile with each task.
@functools.lru_cache(maxsize=8)
def load(path: Path, _changed: int) -> dict[str, Any]:
    content = yaml.safe_load(path.read_text(encoding="utf-8"))
    profile = content.get(VARIABLE) if isinstance(content, dict) else None
    if not isinstance(profile, dict):
        raise wrong(path, f"it has no mapping {VARIABLE}")
    if LIKE in profile:
        profile = over(model_of(path, profile[LIKE]), profile)
    for key, kind in NEEDED.items():
        if not isinstance(profile.get(key), kind):
            name = "mapping" if kind is dict else "list"
            raise wrong(
                path, f"its key {key} is not a {name}, which every profile has"
            )
    return completed(profile)


def model_of(path: Path, name: object) -> dict[str, Any]:
    """Return the profile of ours that another one is like."""
    if "/" in str(name):
        raise wrong(path, f"its key {LIKE} names no profile of ours")
    return profile_of(name)


def over(model: Mapping[str, Any], own: Mapping[str, Any]) -> dict[str, Any]:
    """Return a profile with the keys of its own in the place of those of its model, and within mappings, too."""
    merged = dict(model)
    for key, value in own.items():
        if key == LIKE:
            continue
        beneath = model.get(key)
        if isinstance(value, dict) and isinstance(beneath, dict):
            merged[key] = over(beneath, value)
        else:
            merged[key] = value
    return merged


def parts_of(groups: Iterable[str], platform: Mapping[str, Any]) -> list[str]:
    """Return the parts of the cloud that are on a host by the inventory."""
    own = set(groups)
    return [
        part
        for part, names in platform["groups"].items()
        if own.intersection(names)
    ]


def completed(profile: dict[str, Any]) -> dict[str, Any]:
    """Return a profile with the units and logs of components that it does not name and the catalogue does."""
    units, logs = profile.get("units") or [], profile.get("logs") or []
    # A list of another form is refused by the module that reads the hosts.
    if not (isinstance(units, list) and isinstance(logs, list)):
        return profile
    more_units = other_units(names_in(units, "component"))
    more_logs = other_logs(names_in(logs, "service"))
    return {
        **profile,
        "units": [*units, *more_units],
        "logs": [*logs, *more_logs],
    }


def other_units(named: set[str]) -> list[dict[str, Any]]:
    """Return the units of components that are not named already."""
    others = [
        component
        for component in COMPONENTS
        if component.units and component.name not in named
    ]
    return [
        {"component": component.name, "units": list(component.units)}
        for component in others
    ]


def other_logs(named: set[str]) -> list[dict[str, Any]]:
    """Return the logs of services that are not named already."""
    logs: list[dict[str, Any]] = []
    for component in COMPONENTS:
        service, log = component.log_name or component.name, component.log
        if log and service not in named:
            logs.append(
                {
                    "service": service,
                    "files": list(log.files),
                    "journals": list(log.journals),
                }
            )
    return logs


def names_in(entries: list[Any], key: str) -> set[str]:
    return {
        entry[key]
        for entry in entries
        if isinstance(entry, dict) and isinstance(entry.get(key), str)
    }


def wrong(platform: object, reason: str) -> StageError:
    message = f"stackproof_platform cannot be '{platform}': {reason}"
    return StageError("invalid", message, resource=str(platform), hint=HINT)
