# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Find the names that the deployers of clouds give to units, containers, pods, logs and groups, in their own files.

A name may have parts that are only known on a cloud: they are a star in it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any

import yaml
from checkouts import Checkout

UNIT, JOURNAL, CONTAINER, POD, LOG, GROUP = "unit", "journal", "container", "pod", "log", "group"
JINJA = re.compile(r"\{\{.*?\}\}|\{%.*?%\}", re.DOTALL)
STARS = re.compile(r"\*+")
# A variable whose value follows from others is looked up this many times.
DEEPEST = 4


@dataclass(frozen=True)
class Fact:
    """A name that a deployer gives, and the file that does."""

    kind: str
    name: str
    path: str


Reader = Callable[[Checkout], Iterable[Fact]]


class Loader(yaml.SafeLoader):
    """Reads the YAML of Ansible, whose tags need not be understood here."""


Loader.add_multi_constructor(
    "", lambda loader, _suffix, node: loader.construct_scalar(node) if node.id == "scalar" else None
)


def starred(text: str) -> str:
    """Return a text of Jinja with a star for each part that is only known on a cloud."""
    return STARS.sub("*", JINJA.sub("*", text)).strip()


def is_said(name: str) -> bool:
    """Return whether a name has enough of its own to be one: a star alone fits everything."""
    return len(re.sub(r"\*|\.service$|\.log$", "", name.rpartition("/")[2])) > 2


def parsed(text: str) -> Any:
    """Return the content of a YAML file, or nothing if it is not one."""
    try:
        return yaml.load(text, Loader)
    except yaml.YAMLError:
        return None


def nodes(content: Any) -> Iterator[Any]:
    """Yield everything in the content of a YAML file, however deep."""
    yield content
    children = content.values() if isinstance(content, dict) else content if isinstance(content, list) else ()
    for child in children:
        yield from nodes(child)


def mappings(content: Any) -> Iterator[dict[str, Any]]:
    return (node for node in nodes(content) if isinstance(node, dict))


def strings(content: Any) -> Iterator[str]:
    return (node for node in nodes(content) if isinstance(node, str))


def entries(content: Any) -> Iterator[tuple[str, Any]]:
    """Yield every key of every mapping with its value."""
    for mapping in mappings(content):
        yield from ((str(key), value) for key, value in mapping.items())


# Ansible, and its variables


@dataclass
class Variables:
    """What the variables of a role may be, over all its files of defaults and of distributions."""

    values: dict[str, list[str]] = field(default_factory=dict)

    def add(self, content: Any) -> None:
        for name, value in content.items() if isinstance(content, dict) else ():
            one_by_one = value if isinstance(value, list) else [value]
            self.values.setdefault(str(name), []).extend(each for each in one_by_one if isinstance(each, str))

    def resolved(self, text: str, depth: int = DEEPEST) -> set[str]:
        """Return what a text of Jinja may become, with a star for what is not known."""
        match = re.search(r"\{\{\s*(\w+)\s*\}\}", text)
        if match is None or not depth:
            return {starred(text)}
        found: set[str] = set()
        for value in self.values.get(match[1]) or ["*"]:
            found |= self.resolved(text.replace(match[0], value), depth - 1)
        return found


SERVICE_MODULES = {
    prefix + module for prefix in ("", "ansible.builtin.") for module in ("service", "systemd", "systemd_service")
}
UNIT_NAME = re.compile(r"^[\w@.-]+\.service$")
UNIT_FILE = re.compile(r"/etc/systemd/system/([\w@.-]+\.service)\b")
LOGGER = re.compile(r"\blogger\b[^\"']*? -t (.+?)\"")


def units_of(names: Iterable[str], path: str) -> Iterator[Fact]:
    """Yield the units that services of these names are, without sockets and timers."""
    for name in names:
        unit = name if re.search(r"\.\w+$", name) else f"{name}.service"
        if UNIT_NAME.match(unit) and is_said(unit):
            yield Fact(UNIT, unit, path)


def started(content: Any, variables: Variables) -> Iterator[str]:
    """Yield the units that tasks start, write or name."""
    for key, value in entries(content):
        if key in SERVICE_MODULES and isinstance(value, dict):
            yield from variables.resolved(str(value.get("name", "")))
        elif key == "systemd_services" and isinstance(value, list):
            for service in mappings(value):
                yield from variables.resolved(str(service.get("service_name", "")))
    for text in strings(content):
        yield from UNIT_FILE.findall(text)
        if UNIT_NAME.match(text):
            yield text


def mapped(content: Any) -> Iterator[str]:
    """Yield the services that a role maps to groups. One of uWSGI needs no name of its own: it is called as its key."""
    for key, value in entries(content):
        if not key.endswith("_services") or not isinstance(value, dict):
            continue
        for name, service in value.items():
            if isinstance(service, dict) and service.get("service_en") is not False:
                yield str(service.get("service_name", name))


def openstack_ansible(checkout: Checkout) -> Iterator[Fact]:
    """Yield the units, identifiers and groups of a role or of the inventory."""
    files = list(checkout.files(r"^(defaults|vars|tasks|handlers|templates|playbooks|inventory/env\.d)/"))
    variables = Variables()
    for path, text in files:
        if path.startswith(("defaults/", "vars/")):
            variables.add(parsed(text))
    for path, text in files:
        if path.startswith("templates/"):
            yield from (Fact(JOURNAL, name, path) for tag in LOGGER.findall(text) for name in variables.resolved(tag))
            continue
        content = parsed(text)
        yield from units_of(mapped(content), path)
        yield from units_of(started(content, variables), path)
        if path.startswith("inventory/"):
            yield from groups_of_skeletons(content, path)


def groups_of_skeletons(content: Any, path: str) -> Iterator[Fact]:
    """Yield the groups that the inventory of OpenStack-Ansible makes."""
    for part in ("component_skel", "container_skel", "physical_skel"):
        skeleton = content.get(part) if isinstance(content, dict) else None
        for name, group in (skeleton or {}).items():
            above = (group or {}).get("belongs_to") or []
            yield from (Fact(GROUP, each, path) for each in (name, *above))


# kolla-ansible, and the images of kolla

KOLLA_LOGS = "/var/log/kolla"
KOLLA_LOG = re.compile(rf"{KOLLA_LOGS}/[\w*./@-]+\.log\b")
SET = re.compile(r"\{%-? set (\w+) = '([^']*)' -?%\}")
# These read the logs of others, by patterns.
READERS_OF_LOGS = re.compile(r"/roles/(cron|fluentd|common|prometheus)/")
LOG_DIRECTORY = re.compile(rf"^log_dir = ({KOLLA_LOGS}/\S+)$", re.MULTILINE)
LOG_FILE = re.compile(r"^log_file = ([\w.-]+)$", re.MULTILINE)
# What starts a program, by the end of a file's name: of a container, or of a script in it
COMMANDS = {
    "json.j2": re.compile(r'"command": "([\w-]+)'),
    "sh.j2": re.compile(r"^(?:exec )?([a-z]+-[\w-]+) \\$", re.MULTILINE),
}
KOLLA_UNIT = re.compile(r"'(kolla-)' \+ name \+ '(-container\.service)'")
CHILD = re.compile(r"^NAME=\$\{KOLLA_NAME\}(_\w+_)\$", re.MULTILINE)


def kolla(checkout: Checkout) -> Iterator[Fact]:
    """Yield the containers, their units, the logs and the groups."""
    files = list(checkout.files(r"^ansible/(roles|group_vars|inventory|module_utils)/|^docker/neutron/neutron-base/"))
    containers = list(containers_of_kolla(files))
    yield from containers
    for path, text in files:
        for before, behind in KOLLA_UNIT.findall(text):
            yield from (Fact(UNIT, f"{before}{fact.name}{behind}", path) for fact in containers)
        yield from (Fact(CONTAINER, f"*{child}*", path) for child in CHILD.findall(text))
        if path.startswith("ansible/inventory/"):
            yield from (Fact(GROUP, name, path) for name in re.findall(r"^\[([\w-]+)", text, re.MULTILINE))
        if not READERS_OF_LOGS.search(f"/{path}"):
            yield from (Fact(LOG, name, path) for name in KOLLA_LOG.findall(literal(text)) if is_said(name))
    yield from logs_of_programs(files)
    yield from logs_of_uwsgi(files)


def containers_of_kolla(files: Iterable[tuple[str, str]]) -> Iterator[Fact]:
    """Yield the containers of each role. Some are called as the project, which the role names in its variables."""
    projects: dict[str, Variables] = {}
    for path, text in files:
        if re.fullmatch(r"ansible/roles/[\w-]+/vars/main\.yml", path):
            projects.setdefault(role_of(path), Variables()).add(parsed(text))
    for path, text in files:
        if not re.fullmatch(r"ansible/roles/[\w-]+/defaults/main\.yml", path):
            continue
        variables = projects.get(role_of(path), Variables())
        for key, value in entries(parsed(text)):
            names = variables.resolved(value) if key == "container_name" and isinstance(value, str) else ()
            yield from (Fact(CONTAINER, name, path) for name in names if is_said(name))


def literal(text: str) -> str:
    """Return a template with its own constants in place, and a star for each other expression."""
    for name, value in SET.findall(text):
        text = re.sub(rf"\{{\{{\s*{name}\s*\}}\}}", value, text)
    return JINJA.sub("*", text)


def role_of(path: str) -> str:
    return path.split("/")[2]


def logs_of_programs(files: Sequence[tuple[str, str]]) -> Iterator[Fact]:
    """Yield the logs of the programs of OpenStack: each is called as its program, in the directory of its role."""
    ours = [(path, text) for path, text in files if path.startswith("ansible/roles/")]
    directories: dict[str, str] = {}
    for path, text in ours:
        directories.update((role_of(path), directory) for directory in LOG_DIRECTORY.findall(text))
    for path, text in ours:
        directory = directories.get(role_of(path))
        yield from (Fact(LOG, f"{directory}/{name}", path) for name in log_names(path, text) if directory)


def log_names(path: str, text: str) -> list[str]:
    """Return the names of logs that a file gives: as such, or by the program that it starts."""
    command = COMMANDS.get(".".join(path.split(".")[-2:]))
    programs = command.findall(text) if command else []
    return [*LOG_FILE.findall(text), *(f"{program}.log" for program in programs)]


def logs_of_uwsgi(files: Iterable[tuple[str, str]]) -> Iterator[Fact]:
    """Yield the logs of requests of the services that a role starts in uWSGI."""
    for path, text in files:
        if "service-uwsgi-config" not in text or "/tasks/" not in path:
            continue
        for task in mappings(parsed(text)):
            service = (task.get("vars") or {}).get("service_name") if isinstance(task.get("vars"), dict) else None
            looped = [each.get("name") for each in mappings(task.get("loop") or task.get("with_items"))]
            names = looped if service == "{{ item.name }}" else [service]
            yield from (Fact(LOG, f"{KOLLA_LOGS}/{role_of(path)}/{name}-uwsgi.log", path) for name in names if name)


# Red Hat OpenStack Services on OpenShift: compute nodes by Ansible, the rest by operators in Go

CONTAINER_NAME = re.compile(r"^ContainerName=([\w-]+)$", re.MULTILINE)
DEFINITIONS = ("edpm_container_standalone_container_defs", "edpm_container_standalone_quadlet_defs")
OLD_DEFINITION = re.compile(r"^([\w-]+)\.json$")
SIDECAR = re.compile(r"^NAME_PREFIX=([\w-]+)$", re.MULTILINE)
# The roles that start a container make a unit of this name for it.
EDPM_UNIT = "edpm_*.service"


def edpm(checkout: Checkout) -> Iterator[Fact]:
    """Yield the containers of compute nodes, and the units of these and of the host."""
    for path, text in checkout.files(r"^roles/[\w-]+/(defaults|tasks|handlers|templates)/"):
        for name in (*CONTAINER_NAME.findall(text), *defined(text if path.endswith(".yml") else "")):
            yield Fact(CONTAINER, name, path)
            yield Fact(UNIT, EDPM_UNIT.replace("*", name), path)
        yield from (Fact(CONTAINER, f"{prefix}-*", path) for prefix in SIDECAR.findall(text))
        if path.endswith(".yml"):
            content = parsed(text)
            yield from units_of(started(content, Variables()), path)
            yield from units_of(listed(content), path)


def defined(text: str) -> Iterator[str]:
    """Yield the containers that tasks define; early releases name a file for each."""
    for key, value in entries(parsed(text)):
        if key in DEFINITIONS and isinstance(value, dict):
            yield from map(str, value)
        elif key == "edpm_container_manage_config_patterns" and isinstance(value, str):
            yield from OLD_DEFINITION.findall(value)


def listed(content: Any) -> Iterator[str]:
    """Yield the services of the host that a role lists by their bare names."""
    for key, value in entries(content):
        if key.endswith("_services") and isinstance(value, list):
            yield from (each for each in value if isinstance(each, str) and re.fullmatch(r"[\w-]+", each))


GO_CONSTANT = re.compile(r"^\s*(?:const )?(\w+)(?: string)? = \"([^\"]+)\"$", re.MULTILINE)
GO_NAME = re.compile(r"^\s*Name:\s*(?P<words>[\w.\"+ -]+),\n(?=(?P<behind>(?:.*\n){3}))", re.MULTILINE)
GO_OBJECT = re.compile(r"ObjectMeta: metav1\.ObjectMeta\{\s*Name:\s*([\w.\"+ -]+),")
GO_ASSIGNED = r"\b{0} :?= ([\w.\" +-]+)$"
COMPONENT = "ComponentName"
OF_CONTAINER = re.compile(r"^\s*(Command|Args|Image):|^\s*TerminationMessagePolicy:", re.MULTILINE)


def operator(checkout: Checkout) -> Iterator[Fact]:
    """Yield the pods with their containers that an operator makes."""
    files = dict(checkout.files(r"^(internal|pkg|api/v\w+)/.*(?<!_test)\.go$"))
    constants = {path: dict(GO_CONSTANT.findall(text)) for path, text in files.items()}
    for path, text in files.items():
        if not re.search(r"/(deployment|statef?ul?e?set|daemonset)\.go$", path):
            continue
        words = GoWords(path, text, constants)
        pods = {pod for each in GO_OBJECT.findall(text) for pod in words.resolved(each)}
        names = [match["words"] for match in GO_NAME.finditer(text) if OF_CONTAINER.search(match["behind"])]
        containers = {name for each in names for name in words.resolved(each)}
        yield from (Fact(POD, f"{pod}/{name}", path) for pod in pods for name in containers)


@dataclass(frozen=True)
class GoWords:
    """The expressions of a file of Go that are texts."""

    path: str
    text: str
    constants: Mapping[str, Mapping[str, str]]

    def resolved(self, words: str, depth: int = DEEPEST) -> set[str]:
        """Return what an expression may be; nothing if it is not known."""
        found = {""}
        for part in words.split("+"):
            found = {before + value for before in found for value in self.value(part.strip(), depth)}
        return found

    def value(self, word: str, depth: int) -> set[str]:
        if word.startswith('"'):
            return {word.strip('"')}
        if word == "instance.Name":
            return {self.instance()}
        constant = self.constant(word)
        if constant or not depth:
            return {constant} if constant else set()
        assigned = re.findall(GO_ASSIGNED.format(re.escape(word)), self.text, re.MULTILINE)
        return {value for each in assigned for value in self.resolved(each, depth - 1)}

    def constant(self, word: str) -> str | None:
        """Return a constant: first of the same folder, then of the package that the word names, then of any."""
        package, _dot, name = word.rpartition(".")
        order = sorted(self.constants, key=lambda path: (not self.is_beside(path), f"/{package}/" not in path))
        return next((self.constants[path][name] for path in order if name in self.constants[path]), None)

    def instance(self) -> str:
        """Return how an operator's instances are called: as the folder of their kind, with more between its words."""
        folders = PurePosixPath(self.path).parts[1:-1]
        if len(folders) > 1:
            return f"{folders[0]}*-{folders[1]}"
        own = next((names for path, names in self.constants.items() if self.is_beside(path) and COMPONENT in names), {})
        return f"{own.get(COMPONENT, folders[0].removesuffix('api'))}*"

    def is_beside(self, path: str) -> bool:
        return PurePosixPath(self.path).parent == PurePosixPath(path).parent


def rhoso(checkout: Checkout) -> Iterator[Fact]:
    yield from edpm(checkout)
    yield from operator(checkout)


# OpenStack-Helm

WORKLOAD = re.compile(
    r"^kind: (?:Deployment|DaemonSet|StatefulSet)\n(?:apiVersion: .*\n)?"
    r"metadata:\n(?:(?:\s*#|\{\{).*\n)*\s+name: (.+)$",
    re.MULTILINE,
)
POD_SPEC = re.compile(r"^ +containers:\n(?P<body>.*?)(?:^ +volumes:|\Z)", re.MULTILINE | re.DOTALL)
POD_CONTAINER = re.compile(r"^ {8}- name: ([\w-]+)$", re.MULTILINE)
HELM_GROUP = re.compile(r"^ +(k8s_\w+|primary):$", re.MULTILINE)
HELM_LOG = re.compile(r"\bfile:(/var/log/[\w/.-]+\.log)")
GO_TEMPLATE = re.compile(r"\{\{-?\s*(\$\w+)[^}]*\}\}")
PRINTED = r"{0} := printf \"([^\"]+)\" ([^}}]+?) *-?\}}\}}"


def openstack_helm(checkout: Checkout) -> Iterator[Fact]:
    """Yield the pods with their containers, and the groups of its own installation of Kubernetes."""
    files = r"^[\w-]+/(templates/.*\.ya?ml|values\.yaml)$|^doc/source/install/kubernetes\.rst$"
    for path, text in checkout.files(files):
        if path.endswith(".rst"):
            yield from (Fact(GROUP, name, path) for name in HELM_GROUP.findall(text))
        if path.endswith("/values.yaml"):
            yield from (Fact(LOG, name, path) for name in HELM_LOG.findall(text))
        pods = {pod for name in WORKLOAD.findall(text) for pod in printed(name.strip(), text)}
        bodies = "".join(match["body"] for match in POD_SPEC.finditer(text))
        for name in sorted(set(POD_CONTAINER.findall(bodies))):
            yield from (Fact(POD, f"{pod}/{name}", path) for pod in pods)


def printed(name: str, text: str) -> set[str]:
    """Return the name of a workload; of one that is printed, what is written between its variables."""
    match = GO_TEMPLATE.match(name)
    if match is None:
        return {name} if re.fullmatch(r"[\w-]+", name) else set()
    found = set()
    for form, arguments in re.findall(PRINTED.format(re.escape(match[1])), text):
        name_shown = form
        for argument in arguments.split():
            name_shown = name_shown.replace("%s", argument.strip('"') if argument.startswith('"') else "*", 1)
        found.add(name_shown)
    return found


# devstack

RUN_PROCESS = re.compile(r"^\s*run_process \"?([\w${}-]+)\"?", re.MULTILINE)
SHELL_VARIABLE = re.compile(r"\$\w+|\$\{\w+\}")
START_SERVICE = re.compile(r"\b(?:re)?start_service ([\w-]+)")


def devstack(checkout: Checkout) -> Iterator[Fact]:
    """Yield the units of the processes that devstack runs, and those of packages that it starts."""
    for path, text in checkout.files(r"^(lib|functions)"):
        processes = [SHELL_VARIABLE.sub("*", name) for name in RUN_PROCESS.findall(text)]
        yield from (Fact(UNIT, f"devstack@{name}.service", path) for name in processes if is_said(name))
        yield from (Fact(UNIT, f"{name}.service", path) for name in START_SERVICE.findall(text))


# By the profile that describes them
READERS: dict[str, Reader] = {
    "devstack": devstack,
    "kolla": kolla,
    "kubernetes": openstack_helm,
    "osa": openstack_ansible,
    "rhoso": rhoso,
}
