# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the catalogue knows, by what is asked for. A name that it does not have gets the answer of an empty entry."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

from .catalogue import COMPONENTS, PROJECTS
from .component import (
    NO_API,
    Api,
    Commands,
    Component,
    Port,
    Project,
    UrlScheme,
)

Entry = TypeVar("Entry", Component, Project)
Thing = TypeVar("Thing")

# In the name of a queue that each process has of its own, as oslo.messaging calls it
FANOUT = "_fanout_"


def owners(
    entries: Iterable[Entry], things_of: Callable[[Entry], Iterable[Thing]]
) -> dict[Thing, str]:
    """Return the name of the entry that each thing belongs to."""
    table: dict[Thing, str] = {}
    for entry in entries:
        table.update(dict.fromkeys(things_of(entry), entry.name))
    return table


def names_of(is_meant: Callable[[Component], bool]) -> list[str]:
    """Return the names of the components for which something is so, in the order of the catalogue."""
    return [component.name for component in COMPONENTS if is_meant(component)]


BY_NAME = {component.name: component for component in COMPONENTS}
PROJECTS_BY_NAME = {project.name: project for project in PROJECTS}
PROJECT_OF = owners(
    PROJECTS,
    lambda project: [component.name for component in project.components],
)
# The component that writes a log, by the name of the log where that is another one
WRITERS = {
    component.log_name: component.name
    for component in COMPONENTS
    if component.log_name
}
# Names in flows that stand for none of the components: the run itself, and what keeps its token
NO_COMPONENTS = ("client", "token-store")
# The component of each service in Keystone's catalog, by the type of the service
APIS = owners(COMPONENTS, lambda component: component.api.service_types)
# The component that each program is
PROGRAMS = owners(COMPONENTS, lambda component: component.programs)
# The servers of OVSDB, to all of which one library speaks
OVSDB_SERVERS = names_of(
    lambda component: (
        "OVSDB" in component.carries
        or any(port.speaks == "ovsdb" for port in component.ports)
    )
)
LIBRARIES = owners(COMPONENTS, lambda component: component.libraries)
# Where the APIs list a component by the name of another binary
BINARIES = owners(COMPONENTS, lambda component: component.reports_as)
# The component that consumes the queues of a topic
TOPICS = owners(COMPONENTS, lambda component: component.topics)
# The component that listens on a port, with what is spoken there
PORTS: dict[int, tuple[str, Port]] = {
    port.number: (name, port)
    for port, name in owners(
        COMPONENTS, lambda component: component.ports
    ).items()
}
URL_SCHEMES: dict[str, tuple[str, UrlScheme]] = {
    scheme.name: (name, scheme)
    for scheme, name in owners(
        COMPONENTS, lambda component: component.url_schemes
    ).items()
}
URL_PATHS = owners(COMPONENTS, lambda component: component.api.url_paths)
# The API that a section of settings is about, which has the name of its project
APIS_BY_PROJECT = {PROJECT_OF[api]: api for api in APIS.values()}
# The component that a section of settings is about, where it does not have the name of the project
SECTIONS = owners(COMPONENTS, lambda component: component.sections)
URL_OPTIONS = owners(COMPONENTS, lambda component: component.url_options)
# An option that gives others an address of its own host, with the component that reads it
OWN_ADDRESSES = owners(COMPONENTS, lambda component: component.own_addresses)
# Option that names the host of a component: the component, the option that names its port, and its usual port
HOST_OPTIONS = {
    option.host: (name, option.port, BY_NAME[name].ports[0].number)
    for option, name in owners(
        COMPONENTS, lambda component: component.host_options
    ).items()
}
# What carries the packets of a host's guests, by the back end of Neutron
CARRIERS = {"ovn": "ovn-controller", "agents": "neutron-l2-agent"}


def entry_of(name: str | None) -> Component:
    """Return what is known of a component."""
    return BY_NAME.get(name or "") or Component(name or "")


def answering_as(service: str | None) -> str | None:
    """Return the component that answers as a service of the catalog."""
    return None if service is None else APIS.get(service)


def component_at(port: int) -> str | None:
    """Return the component that listens on a port."""
    return PORTS[port][0] if port in PORTS else None


def is_encrypted(port: int) -> bool:
    return port in PORTS and PORTS[port][1].encrypted


def depends_on(name: str | None) -> tuple[str, ...]:
    return entry_of(name).depends_on


def dependents_of(name: str) -> set[str]:
    return set(names_of(lambda component: name in component.depends_on))


def project_of(name: str | None) -> str:
    """Return the project of a component, by the name of its folders; no name has none."""
    if name is None:
        return ""
    return PROJECT_OF.get(name, name.partition("-")[0])


def project_entry_of(name: str | None) -> Project:
    """Return what is known of the project of a component."""
    project = project_of(name)
    return PROJECTS_BY_NAME.get(project) or Project(project)


def enabling(name: str) -> str | None:
    """Return the command that puts a disabled service back, if its API can disable it."""
    text = project_entry_of(name).enabling
    return text and text.format(component=name)


def writer_of(log: str) -> str:
    """Return the component that writes a log."""
    return WRITERS.get(log, log)


def is_beside_instance(name: str | None) -> bool:
    """Return whether each instance has one of its own, by the name of a component or of its log."""
    return entry_of(writer_of(name or "")).is_beside_instance


def missing_with(back_end: str | None) -> set[str]:
    """Return the components that a cloud with this back end of Neutron does not have; none if it is not known."""
    if not back_end:
        return set()
    return set(
        names_of(
            lambda component: (
                component.network_back_end not in (None, back_end)
            )
        )
    )


def stands_for(name: str) -> list[str]:
    """Return the components that a name in a flow stands for: itself, and those that run it as a process of theirs."""
    return [] if name in NO_COMPONENTS else [name, *entry_of(name).run_by]


def working_on_boots() -> set[str]:
    """Return the services that work on a boot under its own request id, and so ask the same APIs."""
    return set(names_of(lambda component: component.works_on_boot))


def workers_of(stage: str) -> list[str]:
    """Return the components that have a part in a stage that no flow follows."""
    return names_of(lambda component: stage in component.stages)


def carriers_of(kind: str) -> list[str]:
    """Return the components that carry a message of this kind."""
    return names_of(lambda component: kind in component.carries)


def answering_calls_of(project: str) -> list[str]:
    """Return the components that answer the calls of a project's services over the queue."""
    return names_of(
        lambda component: (
            component.answers_calls and project_of(component.name) == project
        )
    )


def consumer_of(queue: str) -> tuple[str, str | None] | None:
    """Return the component that consumes a queue, and the host whose queue it is; None for one of nobody known.

    Queues for answers and those that each process has of its own come and go with their process.
    """
    topic, _dot, host = queue.partition(".")
    if topic not in TOPICS or FANOUT in host:
        return None
    # A back end of cinder-volume is named host@back end.
    return TOPICS[topic], host.partition("@")[0] or None


def meant_by_exception(exception: str) -> list[str]:
    """Return the components that an exception is about, by the words in its class."""
    return names_of(
        lambda component: any(
            word in exception for word in component.exceptions
        )
    )


def share_of_healthy_runs(
    log: str, logger: str | None, exception: str | None
) -> float:
    """Return the share of healthy runs on the labs in which the writer of a log has such an error."""
    for error in entry_of(writer_of(log)).usual_errors:
        if (error.logger, error.exception) == (logger, exception):
            return error.share
    return 0.0


def commands_of(name: str | None) -> Commands:
    return entry_of(name).commands


def api_of(project: str) -> Api:
    apis = (
        component.api
        for component in COMPONENTS
        if project_of(component.name) == project
    )
    return next((api for api in apis if api.service_types), NO_API)


def service_type_of(project: str) -> str | None:
    """Return the most usual type of the service behind which the API of a project stands."""
    return next(iter(api_of(project).service_types), None)


def api_stage_of(project: str) -> str:
    """Return the stage of a run that asks the API of a project."""
    return api_of(project).stage
