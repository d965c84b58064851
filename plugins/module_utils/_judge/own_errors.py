# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A stage that failed at what the run itself asked for: no component is to blame, and a command shows what is wrong."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterable
from http import HTTPStatus

from .._collect.api.refused import is_about_zone
from .._components.tables import answering_as
from .._model.details import BootDetails, VolumeDetails
from .._model.finding import Advice
from .._model.stage import Call, Stage
from .._model.symptom import Symptom
from .._model.words import StageName
from .case import Case
from .leads import command, followed, limits, log_of
from .symptoms.cloud import NO_VALID_HOST, is_token_rejected

# Errors of these kinds are about what the run itself asked for.
KINDS = (
    "config", "catalog", "files", "tls", "unauthorized", "forbidden", "not_found", "ambiguous", "quota", "invalid",
    "conflict", "internal", "interrupted",
)  # fmt: skip
# What shows more than the hint of an error, which stands beside it
COMMANDS: dict[str | None, str] = {
    "unauthorized": "openstack token issue",
    "forbidden": "openstack role assignment list --names --auth-user --auth-project",
    "catalog": "openstack catalog list; openstack endpoint list",
}
REFUSALS = ("unauthorized", "forbidden")
# The kinds of what an API may get wrong, too
ANSWERED = ("tls", "not_found", "invalid")
REFUSED = (
    HTTPStatus.UNAUTHORIZED,
    HTTPStatus.FORBIDDEN,
    HTTPStatus.CONFLICT,
)
# What a web service answers that has nothing at a path which the others have; else it names what it does not find.
NO_ROUTE = re.compile(
    r"(?:(?:404 )?Not Found:? )?The (?:resource could not be found|requested URL was not found)"
)
# What an answer names by its id, and how the client calls it where that is not the same
NAMED = re.compile(
    r"\b(?P<kind>snapshot|volume|image|network|port|subnet|flavor|router)s? ['\"(]?"
    "(?P<id>[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12})",
    re.IGNORECASE,
)
KINDS_OF_CLIENT = {"snapshot": "volume snapshot"}
CERTIFICATES = "openssl s_client -connect {0} -showcerts < /dev/null"


def is_own_error(stage: Stage) -> bool:
    """Return whether the run itself is wrong. Nova also calls a move a bad request that finds no host."""
    error = stage.error
    if error is None or NO_VALID_HOST in error.message:
        return False
    of_cloud = (
        is_default_zone(stage),
        is_token_rejected(stage),
        NO_ROUTE.match(error.answer or ""),
    )
    return error.kind in KINDS and not any(of_cloud)


def is_default_zone(stage: Stage) -> bool:
    """Return whether an API does not know a zone that it has put into the request itself: the run chose none."""
    error = stage.error
    is_about = error is not None and is_about_zone(error)
    return is_about and "requested_zone" not in stage.details


def is_refusal(case: Case) -> bool:
    """Return whether the cloud did not know who asked or forbade it, or refuses what it has just made for the run.

    Where a server runs only an administrator may say: any cloud forbids that.
    """
    kind = case.stage.error_kind
    if kind == "conflict":
        return is_about_own(case)
    return kind in REFUSALS and not chooses_host(case.stage)


def may_be_of_cloud(case: Case) -> bool:
    """Return whether an API has answered, or shown its certificate, and may be why it did so itself."""
    return is_refusal(case) or case.stage.error_kind in ANSWERED


def is_loss(case: Case) -> bool:
    """Return whether the cloud does not have any more what it has made for the run."""
    return case.stage.error_kind == "not_found" and is_about_own(case)


def is_about_own(case: Case) -> bool:
    """Return whether the error of the stage names something that the run has created."""
    message = case.stage.error_message
    return any(identity in message for identity in case.made)


def chooses_host(stage: Stage) -> bool:
    """Return whether the run asks for a host by its name, or behind that of a zone."""
    zone = str(stage.details.get("requested_zone"))
    return "requested_host" in stage.details or ":" in zone


def refused_by(case: Case, symptoms: Iterable[Symptom]) -> set[str]:
    """Return the components that refused a request of the failed stage: its APIs, and those that they asked."""
    refusing = {symptom.peer for symptom in symptoms if symptom.is_denied}
    refusing.update(answering_as(call.service) for call in refused(case.stage))
    return set(filter(None, refusing))


def refused(stage: Stage) -> list[Call]:
    return [call for call in stage.calls if call.status in REFUSED]


def advice_for_own_error(case: Case) -> Advice | None:
    """Return the command that shows what the run asked for, or as whom."""
    kind = case.stage.error_kind
    show = SHOWN.get(kind)
    text = show(case) if show else COMMANDS.get(kind)
    written = of_request(case) if is_refusal(case) else None
    return followed(limits(case), followed(command(text), written))


def of_request(case: Case) -> Advice | None:
    """Return the command that shows what a service wrote of the request that it refused: it does not answer why."""
    for call in refused(case.stage)[-1:]:
        return log_of(answering_as(call.service), case, call.request_id)
    return None


def refused_values(case: Case) -> str | None:
    """Return the commands that show what a refused request was about."""
    stage = case.stage
    if stage.stage is StageName.VOLUME:
        volume = case.details(VolumeDetails)
        if volume is None or volume.requested_type is None:
            return None
        return show_command("volume type", volume.requested_type)
    if stage.stage is not StageName.BOOT:
        return None
    server = case.details(BootDetails)
    commands = named_in(stage)
    if server and server.flavor:
        commands.append(show_command("flavor", server.flavor.name))
    commands += images_of(case)
    return "; ".join(commands) or None


def named_in(stage: Stage) -> list[str]:
    """Return the commands that show what the cloud names in its answer."""
    commands: list[str] = []
    for match in NAMED.finditer(stage.error_message):
        kind = match["kind"].lower()
        noun = KINDS_OF_CLIENT.get(kind, kind)
        commands.append(show_command(noun, match["id"]))
    return commands


def images_of(case: Case) -> list[str]:
    """Return the commands that show the images of a run that are still there."""
    return [
        show_command("image", resource.id)
        for resource in case.record.resources
        if resource.kind == "image" and resource.id not in case.removed
    ]


def show_command(kind: str, name: str) -> str:
    """Return the command by which the client shows a resource."""
    return f"openstack {kind} show {shlex.quote(name)}"


def certificates(case: Case) -> str | None:
    """Return the command that shows the certificates of the address that was asked last."""
    asked = [call.host for call in case.stage.calls if call.host]
    return CERTIFICATES.format(asked[-1]) if asked else None


# What shows more of an error of some kind than one command for all of them
SHOWN: dict[str | None, Callable[[Case], str | None]] = {
    "invalid": refused_values,
    "tls": certificates,
}
