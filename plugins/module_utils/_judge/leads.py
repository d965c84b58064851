# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Where the words of an error lead: the command that shows the very thing that it names, and the host to run it on."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable
from dataclasses import dataclass, replace

from .._components.component import LATELY
from .._components.tables import (
    answering_as,
    component_at,
    depends_on,
    project_entry_of,
    project_of,
)
from .._model.finding import Advice, Reason
from .._model.how import How
from .._model.service import Service
from .._model.stage import Stage
from .._model.symptom import Symptom
from .case import Case

COMPUTE = "nova-compute"
DATABASE, KEYSTONE = "database", "keystone"
NEUTRON_SERVER = "neutron-server"
# How a connection fails that never came about
NO_WAY = (How.REFUSED, How.UNREACHABLE, How.SILENT)
# How those name the other end that could not connect: Python's libraries, libvirt, and whoever writes a URL
ENDS = tuple(
    map(
        re.compile,
        (
            r"host='(?P<place>[\w.:-]+)', port=(?P<port>\d+)",
            r"\bat '(?P<place>[\w.-]+):(?P<port>\d+)'",
            r"\w://(?:[^\s/@]+@)?(?P<place>[\w.-]+):(?P<port>\d+)",
            r"\b(?P<place>(?:\d+\.){3}\d+):(?P<port>\d+)\b",
            r"\bon (?P<place>[\w.-]+):(?P<port>\d+)\b",
        ),
    )
)
# Who listens on a port, and the rules of the firewall about it
LISTENING = "ss -lntp 'sport = :{port}'"
FIREWALL = "nft list ruleset | grep --word-regexp {port}"
# Quotes before and behind a path, plain ones and those of typographers
OPENED, CLOSED = r"['\"\u2018\u201c]", r"['\"\u2019\u201d:]*"
# A path to its end
PATH = r"(?P<path>/[\w./@-]+)(?![\w./@-])"
NO_ACCESS = "No such file or directory|Permission denied|Read-only file system|Exec format error"
# What shows the room that is left at a path, and who may get to it
ROOM, ACCESS = "df -h {path}; df -i {path}", "namei --long {path}"
# An answer that something is more than it may be by the options of a service, and what shows these
LIMITING = re.compile(
    r"^(?!.*\bflavor\b).*(?:exceed|maximum|too many|than the limit)",
    re.IGNORECASE | re.DOTALL,
)
LIMITS = "grep -rnisE '^[^#]*(max|limit|quota)' {folders}"
# Where a port is set that is not the usual one of any component
SET_TO = (
    "grep -rnsw {port} /etc --include=*.conf --include=*.cnf --include=*.ini"
)


@dataclass(frozen=True)
class LogCommands:
    """What shows a log where it is: in files, in the journal of a unit of systemd, or at the engine of a container."""

    files: str
    unit: str
    container: str


LATEST = LogCommands(
    "tail --lines=100 {files}",
    f"journalctl --unit {{service.unit}} {LATELY}",
    "{service.engine} logs --tail 50 {service.container}",
)
WITH_WORD = LogCommands(
    "grep --no-filename --fixed-strings {word} {files}",
    f"journalctl --unit {{service.unit}} --grep {{word}} {LATELY}",
    "{service.engine} logs {service.container} 2>&1 | grep --fixed-strings {word}",
)


@dataclass(frozen=True)
class Lead:
    """What to run where an error has some words. Their named groups are put into the command, quoted for a shell.

    command: on the host of the component that reports the error, or of another one. at: that other component. of_api: a
    command that needs the credentials of the cloud alone, and comes first. server: a service whose log says more.
    only_with_server: whether the words mean this only of that service, and of peers that depend on it.
    """

    words: re.Pattern[str]
    command: str = ""
    at: str | None = None
    of_api: str = ""
    server: str | None = None
    only_with_server: bool = False

    def found_in(self, symptom: Symptom) -> re.Match[str] | None:
        """Return where an error has the words, if they mean this of its peer."""
        others = (symptom.peer, *depends_on(symptom.peer))
        if self.only_with_server and self.server not in others:
            return None
        return self.words.search(symptom.quote or "")


LEADS = (
    Lead(
        re.compile(r"[Ss]ecret not found.*?'(?P<secret>[0-9a-f-]{36})'"),
        "virsh secret-list; grep -rns rbd_secret_uuid /etc/nova /etc/cinder /etc/kolla/nova-compute",
    ),
    Lead(
        # QEMU has asked Ceph with the secret that libvirt gave it.
        re.compile(
            "error connecting: (?:Permission denied|Operation not permitted)"
        ),
        "virsh secret-list; grep -rnsE '^ *rbd_(user|secret_uuid)' /etc/nova /etc/kolla/nova-compute",
    ),
    Lead(
        re.compile(
            rf"domain {OPENED}(?P<domain>[\w.-]+){CLOSED} (?:already exists|is already defined)"
        ),
        "virsh list --all --uuid --name; virsh dominfo {domain}",
    ),
    Lead(
        re.compile(r"Table '(?P<base>[\w$-]+)\.[\w$-]+' doesn't exist"),
        "mysql --execute {tables}",
        at=DATABASE,
    ),
    Lead(
        re.compile(r"Unknown column '(?P<column>[\w$.]+)'"),
        at=DATABASE,
    ),
    Lead(
        re.compile(
            r"READ ONLY transaction|read-only option|\((?:1290|1792|1836), "
        ),
        "mysql --execute \"SHOW GLOBAL VARIABLES WHERE Variable_name IN ('read_only', 'super_read_only', "
        "'transaction_read_only', 'tx_read_only', 'innodb_read_only', 'init_connect')\"",
        at=DATABASE,
    ),
    Lead(
        re.compile(
            "server has gone away|Lost connection to MySQL|max_allowed_packet|Too many connections|wait_timeout"
        ),
        'mysql --execute "SHOW VARIABLES WHERE Variable_name IN '
        "('max_allowed_packet', 'max_connections', 'wait_timeout', 'net_read_timeout'); "
        "SHOW GLOBAL STATUS WHERE Variable_name IN "
        "('Aborted_clients', 'Aborted_connects', 'Threads_connected', 'Max_used_connections')\"",
        at=DATABASE,
    ),
    Lead(
        re.compile(
            r"Image (?P<image>[0-9a-f-]{36}) (?:is unacceptable|could not be found)"
        ),
        of_api="openstack image show {image}",
    ),
    Lead(
        re.compile("SignatureVerificationError|Signature verification"),
        "grep -rnsE '^ *(verify_glance_signatures|enable_certificate_validation)' {configuration}",
    ),
    Lead(
        # What a shell, and those that run commands of others, do not find
        re.compile(
            rf"(?:env: |exec: |sh: |executable: ){OPENED}?(?P<program>[\w.-]+){CLOSED}"
            rf".{{0,20}}(?:{NO_ACCESS}|not found)"
        ),
        "command -v {program}; ls -lL /usr/sbin/{program} /usr/bin/{program}",
    ),
    Lead(
        re.compile("PortBindingFailed|binding_failed"),
        of_api="openstack network agent list",
        server=NEUTRON_SERVER,
    ),
    Lead(
        re.compile("EndpointNotFound|[Ee]ndpoint for .{0,60} not found"),
        "grep -rnsE '^(region_name|os_region_name|valid_interfaces)' {configuration}",
        of_api="openstack catalog list",
    ),
    Lead(
        # Whom Keystone does not find: it may look for them elsewhere, as a domain may have settings of its own.
        re.compile(r"Could not find (?:user|group|project|domain): "),
        "mysql --execute 'SELECT domain_id, name FROM keystone.local_user; "
        "SELECT id, name, enabled FROM keystone.project; "
        "SELECT DISTINCT domain_id, `group` FROM keystone.whitelisted_config'",
        at=DATABASE,
    ),
    Lead(
        re.compile(r"address already in use|EADDRINUSE", re.IGNORECASE),
        "ss -lntp",
    ),
    Lead(
        re.compile(r"assign requested address|EADDRNOTAVAIL", re.IGNORECASE),
        "ip -brief address; ss --summary; sysctl net.ipv4.ip_local_port_range",
    ),
    Lead(
        re.compile(
            r"RBD connection was shutdown|\berrno 108\b|ESHUTDOWN|blocklisted",
            re.IGNORECASE,
        ),
        "ceph osd blocklist ls; ceph status",
        at="ceph-mon",
    ),
    Lead(
        # Open vSwitch makes this socket for each of its bridges.
        re.compile(r"unix:\S+/[\w-]+\.mgmt\b"),
        "ovs-vsctl --if-exists get Open_vSwitch . external-ids:ovn-bridge; ovs-vsctl list-br",
    ),
    Lead(
        # The rules of OVN's database about who may change what
        re.compile(r"RBAC rules for client"),
        "ovn-sbctl --no-leader-only list Connection; ovn-sbctl --no-leader-only list RBAC_Role; "
        "ovn-sbctl --no-leader-only list RBAC_Permission",
        at="ovn-sb-db",
    ),
    Lead(
        # What Neutron has written, and OVN cannot read
        re.compile(r"error parsing (?:actions|match)\b"),
        "ovn-nbctl --no-leader-only --columns=options list DHCP_Options; "
        "ovn-nbctl --no-leader-only --columns=match list ACL; grep -rns ^ovn_dhcp /etc/neutron",
        at="ovn-nb-db",
    ),
    Lead(
        # What QEMU does not find where its packages put it
        re.compile(
            rf"could not load (?:PC BIOS|option rom|VGA BIOS) {OPENED}(?P<file>[\w.-]+)"
        ),
        "ls -lL /usr/share/qemu/{file} /usr/share/qemu-kvm/{file} /usr/share/seabios/{file}",
    ),
    Lead(
        # Packages of QEMU have a part of it each.
        re.compile(r"[Uu]nable to load module [\w-]+"),
        "ls -l /usr/lib/*/qemu /usr/lib64/qemu-kvm",
    ),
    Lead(
        re.compile(
            r"Error creating namespace|[Cc]annot (?:open|create) network namespace"
        ),
        "ls -ld /run/netns; findmnt /run/netns; ip netns list",
    ),
    Lead(
        re.compile(rf"Failed to find some config files: {PATH}"),
        ACCESS,
    ),
    Lead(
        re.compile(rf"No space left on device.*?{OPENED}{PATH}"),
        ROOM,
    ),
    Lead(
        re.compile(rf"{OPENED}{PATH}.{{0,20}}No space left on device"),
        ROOM,
    ),
    Lead(
        re.compile(rf"(?:{NO_ACCESS})[^'\"/]{{0,20}}?{OPENED}{PATH}"),
        ACCESS,
    ),
    Lead(
        re.compile(
            rf"(?:{OPENED}|unix:){PATH}{CLOSED}[^'\"/]{{0,40}}?(?:{NO_ACCESS}|[Cc]onnection refused)"
        ),
        ACCESS,
    ),
    Lead(
        re.compile(
            r"\b401\b|Unauthorized|requires? authentication|[Ii]nvalid (?:user(?:name)?|token|credentials)"
            r"|[Aa]uthentication (?:failed|failure)"
        ),
        "grep -rnsE '^(\\[|auth_url|username|project_name|region_name)' {configuration}",
        server=KEYSTONE,
        only_with_server=True,
    ),
    Lead(
        re.compile(
            "privsep helper command exited|FailedToDropPrivileges|Unauthorized command"
            "|a password is required|is not allowed to execute|not in the sudoers"
        ),
        f"journalctl --grep 'sudo|privsep|rootwrap' {LATELY}; ls -l /etc/sudoers.d",
    ),
)


def command(text: str | None, host: str | None = None) -> Advice | None:
    """Return the advice to run a command on a host; a client of the API runs where its credentials are."""
    if not text:
        return None
    return Advice(Reason.SHOW_STATE, text, None if is_of_api(text) else host)


def is_of_api(text: str) -> bool:
    """Return whether a command is a client of the API, which runs where its credentials are."""
    return text.startswith("openstack ")


def followed(advice: Advice | None, last: Advice | None) -> Advice | None:
    """Return an advice with another one behind it."""
    if advice is None:
        return last
    return replace(advice, then=followed(advice.then, last))


def lead(symptom: Symptom, case: Case) -> Advice | None:
    """Return what to run by the words of an error; None where they name nothing that a command would show."""
    if symptom.how in NO_WAY:
        tried = way_in(symptom, case)
        if tried is not None:
            return tried
    followed = (follow(given, symptom, case) for given in LEADS)
    return next(filter(None, followed), None)


def follow(given: Lead, symptom: Symptom, case: Case) -> Advice | None:
    """Return a lead with what an error names, and what its place has; None where the error does not have its words."""
    match = given.found_in(symptom)
    if match is None:
        return None
    text = filled(given.command, match, symptom)
    if given.at is not None:
        own = version_of_schema(symptom, case) if is_of_schema(match) else None
        shown = command(text, case.host_of(given.at))
        return replace(shown, then=own) if shown else own
    of_api = command(filled(given.of_api, match, symptom))
    shown = command(text, symptom.host)
    return followed(followed(of_api, shown), log_of(given.server, case))


def is_of_schema(match: re.Match[str]) -> bool:
    """Return whether an error names a table or a column that its database lacks."""
    return not match.groupdict().keys().isdisjoint(("base", "column"))


def filled(text: str, match: re.Match[str], symptom: Symptom) -> str:
    """Return a command with what an error names, and the folders with the settings of its component."""
    named = match.groupdict()
    statement = f"SHOW TABLES IN `{named.get('base')}`"
    return text.format(
        configuration=folders_of(symptom.component),
        tables=shlex.quote(statement),
        **{name: shlex.quote(word) for name, word in named.items()},
    )


def limits(case: Case) -> Advice | None:
    """Return what shows the limits in the settings of the API that was asked last, if its answer speaks of one.

    Some of those of Nova are read on the host of the server.
    """
    error = case.stage.error
    api = asked_last(case.stage)
    if error is None or not LIMITING.search(error.answer or ""):
        return None
    text = LIMITS.format(folders=folders_of(api))
    hosts = [case.host_of(api)]
    if project_of(api) == project_of(COMPUTE):
        hosts.append(case.instance_host)
    return on_each(hosts, text)


def on_each(hosts: Iterable[str | None], text: str) -> Advice | None:
    """Return the advice to run a command on each host that is known."""
    shown: Advice | None = None
    for host in dict.fromkeys(filter(None, hosts)):
        shown = followed(shown, command(text, host))
    return shown


def asked_last(stage: Stage) -> str | None:
    """Return the API that a stage has asked last."""
    last = next(reversed(stage.calls), None)
    return answering_as(last.service) if last else None


def folders_of(component: str | None) -> str:
    """Return the folders in which a component has its settings, also where it is deployed in containers."""
    folders = project_entry_of(component).configuration
    return " ".join([*folders, f"/etc/kolla/{component}"])


def version_of_schema(symptom: Symptom, case: Case) -> Advice | None:
    """Return the command that shows which tables a component expects, run in its container if it has one."""
    version = project_entry_of(symptom.component).schema_version
    if version is None:
        return None
    for _host, service in case.units(symptom.component, symptom.host):
        if service.container:
            inside = f"{service.engine} exec {service.container} "
            version = inside + version.replace("; ", f"; {inside}")
            break
    return command(version, symptom.host)


def log_of(
    server: str | None, case: Case, word: str | None = None
) -> Advice | None:
    """Return the command that shows the log of a service, or its lines with a word."""
    for host, service in case.units(server)[:1]:
        return command(log_command(service, host, case, word), host)
    return None


def log_command(
    service: Service, host: str, case: Case, word: str | None = None
) -> str:
    """Return the command that shows a log where it was read, or else of its container or unit."""
    commands = WITH_WORD if word else LATEST
    files = case.log_files(service.component, host)
    text = commands.container if service.container else commands.unit
    return (commands.files if files else text).format(
        service=service,
        files=shlex.join(files),
        word=shlex.quote(word or ""),
    )


def way_in(symptom: Symptom, case: Case) -> Advice | None:
    """Return the advice for a connection that did not come about, by the place and the port that an error names."""
    end = end_in(symptom.quote or "")
    return end and way(symptom.host, end["place"], int(end["port"]), case)


def end_in(text: str) -> re.Match[str] | None:
    """Return the place and the port of the other end of a connection that an error names, if it names one."""
    found = (pattern.search(text) for pattern in ENDS)
    return next(filter(None, found), None)


def way(here: str | None, place: str, port: int, case: Case) -> Advice:
    """Return the command that tries a connection, and the one that shows who listens at its other end."""
    attempt = f"nc -v -z -w 3 {shlex.quote(place)} {port}"
    if component_at(port) is None:
        # No component listens there by default: somebody has set it.
        attempt = f"{attempt}; {SET_TO.format(port=port)}"
    rules = FIREWALL.format(port=port)
    listening = LISTENING.format(port=port)
    there = case.host_at(place)
    if there == here:
        return Advice(
            Reason.SHOW_STATE, f"{attempt}; {listening}; {rules}", here
        )
    other_end = command(there and f"{listening}; {rules}", there)
    return Advice(
        Reason.SHOW_STATE, f"{attempt}; {rules}", here, then=other_end
    )
