# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The entries of the catalogue: a project with its components, and what is known of each."""

from __future__ import annotations

from dataclasses import dataclass

# How a command asks for the logs of the last minutes. A verdict has the time of its run instead.
LATELY = "--since -15min"


@dataclass(frozen=True)
class Api:
    """What a component answers as a service of Keystone's catalog.

    service_types: its types there, the most usual first. stage: the stage of a run that asks it. url_paths: the first
    part of the path in its URL, where all services share one port.
    """

    service_types: tuple[str, ...]
    stage: str = "boot"
    url_paths: tuple[str, ...] = ()


# That of a component that is not in the catalog
NO_API = Api(service_types=())


@dataclass(frozen=True)
class Port:
    """A TCP port on which a component listens.

    speaks: the protocol that a probe may begin with; tcp is a probe that only connects. encrypted: a client begins with
    TLS, whatever the scheme of its URL.
    """

    number: int
    speaks: str = "tcp"
    encrypted: bool = False


@dataclass(frozen=True)
class UrlScheme:
    """A scheme of URLs that only this component has, with the port if the URL has none."""

    name: str
    port: int
    speaks: str


@dataclass(frozen=True)
class OwnAddress:
    """An option with an address of its own host. actions: those of Nova for which others use it."""

    section: str
    name: str
    actions: tuple[str, ...]

    @property
    def option(self) -> str:
        return f"[{self.section}] {self.name}"


@dataclass(frozen=True)
class HostOption:
    """An option that names the component's host, and the option that names its port; by default its first port."""

    host: str
    port: str


@dataclass(frozen=True)
class UsualError:
    """An error that a component logs in healthy runs, too: in this share of those on the labs."""

    logger: str
    exception: str | None
    share: float


@dataclass(frozen=True)
class Commands:
    """What an operator runs to learn more.

    state: shows what the component reports about itself. rights: shows what it permits to whom. rights_of_user: the
    same for {user} alone. limits: shows how much it grants to whom. overview: shows how it is, where no unit of systemd
    does. connections: shows where it connects to, as far as a database says that and not its settings.
    """

    state: str | None = None
    rights: str | None = None
    rights_of_user: str | None = None
    limits: str | None = None
    overview: str | None = None
    connections: str | None = None


@dataclass(frozen=True)
class Log:
    """Where a component logs: files by patterns of the shell, and units or identifiers of the journal."""

    files: tuple[str, ...] = ()
    journals: tuple[str, ...] = ()


@dataclass(frozen=True)
class Component:
    """A component of a cloud. Only the name is needed; each other field is left out where there is nothing to say.

    Its place in a cloud:

    depends_on: the components that it needs: the failure of one of them may be all that is wrong with it.
    is_beside_instance: each instance has one of its own, and those beside other instances have nothing to do with it.
    network_back_end: only clouds with this back end of Neutron have it.
    only_where_present: a cloud need not have it, and it is no suspect where no host has a unit of it.
    run_by: the components that start it as a process of theirs; flows may name it for them.

    What it works for:

    stages: the stages that it has a part in, where no flow follows them.
    works_on_boot: it works on a boot under the boot's own request id, and asks the same APIs as nova-compute.
    carries: the kinds of messages that it carries between others.
    answers_calls: the services of its project call it over the queue.
    api: what it answers as a service of Keystone's catalog.

    How it is recognised:

    log_name: the name of its log, if it is another one. reports_as: the binaries by which the APIs list it.
    mentioned_as: patterns of the words by which logs call it. sends_back: texts before an error that it has sent back.
    moves_with: patterns of errors that it logs of the host to which it moves a server. repeats: patterns of errors that
    only follow others, and say nothing more.
    bad_values: patterns of a value of its that others cannot use.
    libraries: Python libraries that speak to it: an exception that they raise is about its answer.
    exceptions: words in the class of an exception that is about it.
    ports, url_schemes: where it listens. url_options: options whose URL is its own. host_options: see HostOption.
    own_addresses: options that give others an address of the host it runs on.
    sections: the sections of settings in which others have what they need to reach it, besides its project's name.
    login_options: a pattern of the options by which others log in at it.
    programs: the programs that it runs as. starts: the programs that it starts. daemons: those that it starts to serve
    for it, with options and files of its own.
    health_checks: the first words of Ceph's health checks that are about it.
    usual_errors: errors that it logs in healthy runs, too.

    Where a platform's profile does not name it:

    units: its units of systemd, as patterns. log: where it logs.

    commands: what an operator runs to learn more.
    """

    name: str
    depends_on: tuple[str, ...] = ()
    is_beside_instance: bool = False
    network_back_end: str | None = None
    only_where_present: bool = False
    run_by: tuple[str, ...] = ()
    stages: tuple[str, ...] = ()
    works_on_boot: bool = False
    carries: tuple[str, ...] = ()
    answers_calls: bool = False
    topics: tuple[str, ...] = ()
    api: Api = NO_API
    log_name: str | None = None
    reports_as: tuple[str, ...] = ()
    mentioned_as: tuple[str, ...] = ()
    sends_back: tuple[str, ...] = ()
    moves_with: tuple[str, ...] = ()
    repeats: tuple[str, ...] = ()
    bad_values: tuple[str, ...] = ()
    libraries: tuple[str, ...] = ()
    exceptions: tuple[str, ...] = ()
    ports: tuple[Port, ...] = ()
    url_schemes: tuple[UrlScheme, ...] = ()
    url_options: tuple[str, ...] = ()
    host_options: tuple[HostOption, ...] = ()
    own_addresses: tuple[OwnAddress, ...] = ()
    sections: tuple[str, ...] = ()
    login_options: str | None = None
    programs: tuple[str, ...] = ()
    starts: tuple[str, ...] = ()
    daemons: tuple[str, ...] = ()
    health_checks: tuple[str, ...] = ()
    usual_errors: tuple[UsualError, ...] = ()
    units: tuple[str, ...] = ()
    log: Log | None = None
    commands: Commands = Commands()


@dataclass(frozen=True)
class Project:
    """A project with its components.

    name: the name of its folders, such as /etc/<name> and /var/log/<name>; empty for what has none.
    configuration: its folders below /etc. has_options: the files there have the form of oslo.config, and hosts are
    compared by their options. Both need the same words in roles/evidence/files/sudoers/examination.
    packages: patterns of its packages, by whose versions hosts are compared.
    schema_version: the command that shows the version of the tables in its database.
    enabling: the command that puts a disabled service of it in service again, with {component}.
    """

    name: str
    components: tuple[Component, ...] = ()
    configuration: tuple[str, ...] = ()
    has_options: bool = False
    packages: tuple[str, ...] = ()
    schema_version: str | None = None
    enabling: str | None = None
