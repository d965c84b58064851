# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The next thing to do: look at the culprit, allow more time, or give more access."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain
from operator import attrgetter

from .._collect.api.refused import sought_in
from .._components.component import LATELY
from .._components.tables import answering_as, commands_of, entry_of
from .._model.chain import Link
from .._model.codec import minute_of
from .._model.event import CONTROL_NODE
from .._model.finding import Advice, Cause, Reason
from .._model.flow import FollowedFlow
from .._model.host import Host
from .._model.how import How
from .._model.record import Record
from .._model.service import RUNNING, Service
from .._model.shortage import Sought
from .._model.symptom import Code, Kind, Symptom
from .._model.words import CheckStatus, HostStatus, Level
from .advice_for_request import COMPUTES
from .case import Case
from .evidence import (
    SETTINGS,
    by_weight,
    is_cut_off,
    recent_change,
)
from .leads import (
    LATEST,
    command,
    folders_of,
    followed,
    lead,
    log_command,
    log_of,
    on_each,
    way,
)
from .own_errors import images_of
from .repair import repair_of, unit_of, units_of
from .symptoms.guest import INSTANCE
from .symptoms.reach import is_wrong_endpoint
from .weights import WEIGHTS

# Commands for what no component alone shows, with the fields of the symptom in them
COMMANDS = {
    Code.CERTIFICATE_EXPIRED: "openssl s_client -connect {address}:{port} < /dev/null | openssl x509 -noout -dates",
    Code.CERTIFICATE_EXPIRING: "openssl s_client -connect {address}:{port} < /dev/null | openssl x509 -noout -dates",
    Code.CLOCK_OFFSET: "timedatectl; chronyc tracking",
    Code.NAME_DUPLICATE: "hostname --fqdn; openstack compute service list",
    Code.NAME_UNRESOLVED: "getent ahosts {setting}",
    Code.NAME_ELSEWHERE: "getent ahosts {setting}",
    Code.MTU_SMALLER: "ip -statistics link show {path}",
    Code.MTU_TOO_SMALL: "ip -statistics link show {path}",
    Code.MTU_TOO_LARGE: "grep --extended-regexp '(physnet_mtu|path_mtu)' --recursive /etc/neutron",
}
# What a component shows itself, where something else has reported it
BY_COMPONENT = (Code.BACK_END_DOWN, Code.COMMAND_HANGS)
EXPIRY = (Code.CERTIFICATE_EXPIRED, Code.CERTIFICATE_EXPIRING)
CERTIFICATE_IN_FILE = "openssl x509 -noout -dates -in {path}"
KERNEL: dict[How | None, str] = {
    How.FULL: "sysctl net.netfilter.nf_conntrack_count net.netfilter.nf_conntrack_max",
    How.DENIED: "journalctl --dmesg --grep 'DENIED|avc:'",
}
CREDENTIALS = (
    "grep --line-number --extended-regexp "
    "'^\\[|^(user|password|key|auth|rbd_|transport_url|connection)' {path}"
)
LOGIN = "grep -rnsE '^ *{options}' {folders}"
# Files with keys, of which no content is printed
KEYS = re.compile(r"keyring$|/\.ssh/")
CONTENT = "grep --invert-match --extended-regexp '^(#|$)' {path}"
DATABASE_USER = re.compile(r"user '([\w-]+)'@")

# The part of a cloud, as profiles name them, in whose container a program is
PART_OF_PROGRAM = {
    "virsh": "libvirt",
    "ovs-vsctl": "ovs",
    "ovs-ofctl": "ovs",
    "ovs-appctl": "ovs",
    "ovn-nbctl": "ovn_nb",
    "ovn-sbctl": "ovn_sb",
    "ovn-trace": "ovn_sb",
    "ceph": "ceph",
    "rbd": "ceph",
    "rabbitmqctl": "queue",
    "rabbitmq-diagnostics": "queue",
    "mysql": "database",
}
# What shows the state of a unit; and of one that systemd takes to be running, with what ends that state
STATE = "systemctl status {0.unit}; {1}"
SUSPENDED = "ps -e -o pid,stat,unit,args | grep {0}; systemctl thaw {0}; systemctl kill --signal=SIGCONT {0}"
# The states of services that only the engine of containers knows
OF_ENGINE = (How.PAUSED.value, How.UNHEALTHY.value)

CONSOLE = "openstack console log show {0}"

# What shows cells that are disabled
CELLS = "nova-manage cell_v2 list_cells"
SCHEDULER = "nova-scheduler"
METADATA_API = "nova-api-metadata"
SECRETS = (
    "grep -rns metadata_proxy_shared_secret /etc/neutron /etc/nova /etc/kolla"
)
NETWORK, DHCP_AGENT = "data network", "neutron-dhcp-agent"


def advice_for(
    cause: Cause | None,
    restart: Cause | None,
    suspects: Sequence[Cause],
    case: Case,
) -> Advice | None:
    """Return the next thing to do. restart: one that is over; suspects: the causes, if none is named."""
    advice = next_thing(cause, restart, suspects, case)
    return for_reader(advice, case.record)


def advice_for_check(host: Host, record: Record) -> Advice | None:
    """Return the command that shows more of the first check of a host that failed."""
    failed = [
        check for check in host.checks if check.status is CheckStatus.FAILED
    ]
    where = None if host.host == CONTROL_NODE else host.host
    advice = command(failed[0].command, where) if failed else None
    return for_reader(advice, record)


def for_reader(advice: Advice | None, record: Record) -> Advice | None:
    """Return the advice as it is run where its programs are, and at any time after the run."""
    if advice is None:
        return None
    since = f"--since '{minute_of(record.started - WEIGHTS.logs_before_s)}'"
    timed = with_commands(
        advice, lambda text, _host: text.replace(LATELY, since)
    )
    return in_container(timed, record.hosts)


def with_commands(
    advice: Advice, changed: Callable[[str, str | None], str]
) -> Advice:
    """Return the advice with each of its commands changed. changed: gets a command and its host."""
    mend = advice.repair
    return replace(
        advice,
        command=advice.command and changed(advice.command, advice.host),
        then=advice.then and with_commands(advice.then, changed),
        repair=mend
        and replace(mend, command=changed(mend.command, mend.host)),
    )


def in_container(advice: Advice, hosts: Sequence[Host]) -> Advice:
    """Return the advice with its programs run in the containers in which they are."""
    known = {host.host: host.prefixes for host in hosts}

    def contained(text: str, host: str | None) -> str:
        prefixes = known.get(host or "")
        if not prefixes:
            return text
        commands = text.split("; ")
        return "; ".join(behind_prefix(each, prefixes) for each in commands)

    return with_commands(advice, contained)


def behind_prefix(text: str, prefixes: Mapping[str, Sequence[str]]) -> str:
    """Return a command with the words that its program needs before it on this platform."""
    program, _blank, rest = text.partition(" ")
    part = PART_OF_PROGRAM.get(program, "")
    if part not in prefixes:
        return text
    prefix = shlex.join(prefixes[part])
    if part == "database":
        # Its root has a password there.
        return f"{prefix.replace(' exec ', ' exec -it ')} {program} --user root --password {rest}"
    return f"{prefix} {text}"


def next_thing(
    cause: Cause | None,
    restart: Cause | None,
    suspects: Sequence[Cause],
    case: Case,
) -> Advice | None:
    if restart:
        return Advice(Reason.RUN_AGAIN)
    if cause:
        return command_for(cause, case)
    if case.pause_s is not None:
        return Advice(Reason.ALLOW_MORE_TIME)
    if not suspects or suspects[0].confidence < case.weights.suspect:
        return access(case) or log_of_last_api(case)
    if is_without_host(case):
        cells = command(CELLS, case.host_of("nova-conductor"))
        request = case.stage.details.get("request_id")
        looked = followed(cells, log_of(SCHEDULER, case, request))
        return Advice(Reason.SHOW_STATE, COMPUTES, then=looked)
    first = suspects[0]
    # More logs may decide, but a service that does not run is looked at before that.
    if does_not_run(first):
        return state_of(first, case)
    # What speaks for a suspect is no proof: its state and its log say more than that.
    return access(case) or shown_of(first, case)


def advice_for_suspect(suspect: Cause, case: Case) -> Advice | None:
    """Return what shows whether it is this suspect."""
    advice = shown_of(suspect, case)
    return for_reader(advice, case.record)


def shown_of(suspect: Cause, case: Case) -> Advice | None:
    """Return what the words of its errors lead to; without any, its state and its log."""
    return by_words(suspect, case) or state_of(suspect, case)


def is_without_host(case: Case) -> bool:
    """Return whether Nova found no host for a request, and what it was asked for does not say why."""
    error = case.stage.error
    return (
        error is not None
        and sought_in(error) == Sought.HOST
        and not lacks_administrator(case)
    )


def does_not_run(cause: Cause) -> bool:
    """Return whether the unit of a suspect itself is not running."""
    return any(
        symptom.code == Code.UNIT_NOT_RUNNING and cause.shows(symptom)
        for symptom in cause.symptoms
    )


def command_for(cause: Cause, case: Case) -> Advice | None:
    """Return the command that shows more, and where to run it: by what is wrong, or else the state of the service."""
    shown = by_weight(cause)
    advice = by_symptom(shown[0], cause, case) if shown else None
    advice = (
        advice
        or changed_option(cause, case)
        or with_changed_file(
            by_words(cause, case) or state_of(cause, case), cause, case
        )
    )
    return advice and replace(advice, repair=repair_of(cause, case))


def by_words(cause: Cause, case: Case) -> Advice | None:
    """Return what the words of an error lead to that shows what is wrong, and not only who is concerned."""
    shown = by_weight(cause)
    if shown and shown[0].kind == Kind.STATE:
        # Its last words may name what it does not find.
        own = filter(cause.shows, shown)
        return followed(state_of(cause, case), first_lead(own, case))
    return first_lead(shown, case)


def first_lead(symptoms: Iterable[Symptom], case: Case) -> Advice | None:
    """Return what the words of the first of several errors lead to whose words lead anywhere."""
    leads = map(partial(lead, case=case), symptoms)
    return next(filter(None, leads), None)


def by_rejection(symptom: Symptom, cause: Cause, case: Case) -> Advice | None:
    """Return the command that shows with which credentials a component was rejected, or which rights it lacks."""
    return credentials(symptom, cause, case) or followed(
        login(symptom, cause), rights(symptom, case)
    )


def by_way(symptom: Symptom, case: Case) -> Advice:
    """Return the commands that show where a connection is cut."""
    return way(symptom.host, symptom.address or "", symptom.port or 0, case)


def by_link(link: Link, cause: Cause, case: Case) -> Advice | None:
    """Return the command that shows a broken link, and the state of its component."""
    shown = command(link.command, link.reader)
    if shown and is_gone(link, case):
        return with_kept(shown, cause, case)
    return followed(shown, state_of(cause, case))


def is_gone(link: Link, case: Case) -> bool:
    """Return whether what shows a broken link has been removed by the run, or is a flow for what it has removed."""
    is_of_run = link.lacks_flow and bool(case.removed)
    return is_of_run or case.is_about_removed(link.command)


def with_kept(shown: Advice, cause: Cause, case: Case) -> Advice | None:
    """Return the state of the cause, and what shows more where the run leaves what it has created."""
    kept = Advice(Reason.KEEP, then=shown)
    state = command(commands_of(cause.component).state, cause.host)
    looked = state or state_of(cause, case)
    return followed(looked, kept)


def changed_option(cause: Cause, case: Case) -> Advice | None:
    """Return the command that shows the option that was changed just now and that other hosts have otherwise."""
    change = recent_change(cause, case.weights)
    if change is None or change.setting is None:
        return None
    return by_option(change, change.path or "", change.setting, case)


def with_changed_file(
    advice: Advice | None, cause: Cause, case: Case
) -> Advice | None:
    """Return the advice with what shows a file that was changed, if that may be why a component does not work."""
    change = recent_change(cause, case.weights)
    if advice is None or change is None or not change.path:
        return advice
    if is_searched(change.path, advice):
        return advice
    return followed(advice, command(content_of(change.path), change.host))


def is_searched(path: str, advice: Advice | None) -> bool:
    """Return whether an advice shows the lines that matter of a file of settings, or searches its folder for them."""
    if advice is None:
        return False
    words = {*str(advice.command).split()}
    folder = path.rpartition("/")[0]
    is_shown = path in words or {"grep", folder} <= words
    return is_shown or is_searched(path, advice.then)


def content_of(path: str) -> str:
    """Return the command that shows a file of configuration. No keys are printed."""
    quoted = shlex.quote(path)
    unit = unit_of(path)
    if unit:
        return f"systemctl cat {unit}"
    return (
        f"ls -l {quoted}" if KEYS.search(path) else CONTENT.format(path=quoted)
    )


def state_of(cause: Cause, case: Case) -> Advice | None:
    """Return the command that shows whether a component works: by its unit, or by what it reports itself."""
    if cause.component == INSTANCE:
        return of_guest(case)
    if cause.host is None and cause.component == NETWORK:
        return at_all_ends(case)
    overview = commands_of(cause.component).overview
    return of_unit(cause, case) or command(
        overview, cause.host or case.instance_host
    )


def at_all_ends(case: Case) -> Advice | None:
    """Return what shows the network on the hosts between which the guests' packets go."""
    ends = (case.instance_host, case.second_host, case.host_of(DHCP_AGENT))
    text = str(commands_of(NETWORK).overview)
    return on_each(ends, text) or command(text)


def secrets_of_metadata(cause: Cause, case: Case) -> Advice | None:
    """Return what shows the secret of the agents beside that of Nova: only both together say which one is wrong."""
    return on_each((cause.host, case.host_of(METADATA_API)), SECRETS)


def of_guest(case: Case) -> Advice | None:
    """Return what shows why a guest does nothing: its image, and its console, for which it has to be there."""
    instance = case.record.instance
    if instance is None:
        return Advice(Reason.KEEP)
    console = Advice(Reason.SHOW_STATE, CONSOLE.format(instance.server.id))
    if case.is_about_removed(console.command):
        console = Advice(Reason.KEEP, then=console)
    return followed(command("; ".join(images_of(case))), console)


def by_symptom(symptom: Symptom, cause: Cause, case: Case) -> Advice | None:
    if symptom.link is not None:
        shown = by_link(symptom.link, cause, case)
        # What another component has logged is no better than the link.
        own = filter(cause.shows, cause.symptoms)
        looked = followed(first_lead(own, case), shown)
        return with_changed_file(looked, cause, case)
    if symptom.code in COMMANDS:
        return by_code(symptom)
    at_address = by_address(symptom, cause, case)
    if at_address is not None:
        return at_address
    if symptom.code is Code.METADATA_ANSWER and symptom.how is How.DENIED:
        return secrets_of_metadata(cause, case)
    if symptom.is_denied:
        shown = by_rejection(symptom, cause, case)
        return with_changed_file(shown, cause, case)
    if symptom.kind == Kind.REPORT or symptom.code in BY_COMPONENT:
        return by_component(symptom, cause)
    return by_file(symptom, cause, case) or by_place(symptom, case)


def by_address(symptom: Symptom, cause: Cause, case: Case) -> Advice | None:
    """Return what shows whether an address is wrong, or where the way to it is cut."""
    if is_wrong_endpoint(symptom):
        return command("openstack endpoint list")
    if is_of_no_host(symptom, case):
        return by_endpoint(symptom, cause, case)
    if is_cut_off(symptom) and cause.shows(symptom):
        return by_way(symptom, case)
    return None


def is_of_no_host(symptom: Symptom, case: Case) -> bool:
    """Return whether an API does not answer at an address that no known host has: it may be shared, or a wrong one."""
    place = str(symptom.address).rpartition(":")[0].strip("[]")
    is_silent = symptom.code is Code.API_SILENT
    return is_silent and case.host_at(place) is None


def by_endpoint(symptom: Symptom, cause: Cause, case: Case) -> Advice | None:
    """Return what shows at which address the catalog has an API, and where its service listens."""
    kind = entry_of(symptom.component).api.service_types[0]
    listed = command(f"openstack endpoint list --service {kind}")
    addresses = command("ip -brief address; ss -lntp", cause.host)
    return followed(listed, followed(addresses, state_of(cause, case)))


def by_file(symptom: Symptom, cause: Cause, case: Case) -> Advice | None:
    """Return what shows a whole file that has changed: what in it is wrong nobody knows, but the service may say it."""
    if symptom.kind != Kind.CHANGE or symptom.setting is not None:
        return None
    return followed(state_of(cause, case), by_place(symptom, case))


def by_component(symptom: Symptom, cause: Cause) -> Advice | None:
    """Return the command by which a component shows what it has reported."""
    if symptom.path is not None and symptom.setting is not None:
        shown = option_command(symptom.path, symptom.setting)
        return command(f"{shown}; ip -brief address", symptom.host)
    commands = commands_of(symptom.component)
    texts: dict[How | None, str | None] = {
        How.DENIED: commands.rights,
        How.FULL: commands.limits,
    }
    usual = commands.state or commands.overview
    return command(texts.get(symptom.how) or usual, symptom.host or cause.host)


def by_place(symptom: Symptom, case: Case) -> Advice | None:
    """Return the command that shows the option, the file or the part of the kernel that a symptom is about."""
    path = symptom.path
    if path is None:
        text = (
            KERNEL.get(symptom.how) if symptom.kind == Kind.RESOURCE else None
        )
        return command(text, symptom.host) or limits_of_peer(symptom, case)
    if symptom.setting is not None and (
        symptom.kind in SETTINGS or symptom.code is Code.OPTION_OF_PEER
    ):
        return by_option(symptom, path, symptom.setting, case)
    return by_path(symptom, path)


def by_code(symptom: Symptom) -> Advice | None:
    """Return the command that shows what a symptom is about, where no component reports it."""
    is_file = symptom.code in EXPIRY and symptom.path is not None
    text = CERTIFICATE_IN_FILE if is_file else COMMANDS[symptom.code]
    words = {
        "address": symptom.address,
        "port": symptom.port,
        "setting": symptom.setting,
        "path": symptom.path,
    }
    quoted = {name: shlex.quote(str(word)) for name, word in words.items()}
    return command(text.format(**quoted), symptom.host)


def by_option(symptom: Symptom, path: str, option: str, case: Case) -> Advice:
    """Return the command that shows an option where it is odd, and on a host of the same kind.

    option: its section in brackets, and its name.
    """
    shown = option_command(path, option)
    others = [
        Advice(Reason.SHOW_STATE, shown, other)
        for other in case.hosts_like(symptom.host)
    ]
    first = next(iter(others), None)
    return Advice(Reason.SHOW_STATE, shown, symptom.host, then=first)


def option_command(path: str, option: str) -> str:
    """Return the command that shows one option: of a file, or of the settings of Open vSwitch."""
    section, _blank, name = option.rpartition(" ")
    if not path.startswith("/"):
        key = shlex.quote(f"external-ids:{name}")
        return f"ovs-vsctl get open . {key}"
    lines = f"/^{re.escape(section)}/,/^\\[/" if section else ""
    script = shlex.quote(f"{lines}{{/^{name}/p}}")
    return f"sed --quiet {script} {shlex.quote(path)}"


def by_path(symptom: Symptom, path: str) -> Advice | None:
    """Return the command that shows a disk or a changed file."""
    quoted = shlex.quote(path)
    if symptom.kind == Kind.RESOURCE and path.startswith("/"):
        return command(
            f"df -h {quoted}; df -i {quoted}; findmnt --target {quoted}; ls -ld {quoted}",
            symptom.host,
        )
    if symptom.kind == Kind.CHANGE:
        return command(content_of(path), symptom.host)
    return None


def credentials(symptom: Symptom, cause: Cause, case: Case) -> Advice | None:
    """Return the command that shows what a component identifies itself with, if that file has changed recently."""
    change = recent_change(cause, case.weights)
    if change is None or not cause.shows(symptom):
        return None
    option = changed_option(cause, case)
    if option is not None:
        return option
    return command(credentials_in(change.path or ""), change.host)


def credentials_in(path: str) -> str:
    """Return the command that shows the credentials in a file of settings, or whose a file with a key is."""
    if KEYS.search(path):
        return content_of(path)
    quoted = shlex.quote(path)
    return CREDENTIALS.format(path=quoted)


def login(symptom: Symptom, cause: Cause) -> Advice | None:
    """Return the commands that show as whom a component logs in at its peer, and where else it has that from."""
    options = entry_of(symptom.peer).login_options
    if options is None:
        return None
    component = symptom.component
    shown = LOGIN.format(options=options, folders=folders_of(component))
    texts = filter(None, (shown, commands_of(component).connections))
    hosts = filter(None, (symptom.host, cause.host))
    return command("; ".join(texts), next(hosts, None))


def rights(symptom: Symptom, case: Case) -> Advice | None:
    """Return the command that shows what a peer lets a component do."""
    commands = commands_of(symptom.peer)
    text = commands.rights
    user = DATABASE_USER.search(symptom.quote or "")
    if user and commands.rights_of_user:
        text = commands.rights_of_user.format(user=user[1])
    return command(text, symptom.peer_host or case.host_of(symptom.peer))


def limits_of_peer(symptom: Symptom, case: Case) -> Advice | None:
    """Return the command that shows how much a peer grants that had no room for what a component sent."""
    texts: dict[How | None, str | None] = {
        How.FULL: commands_of(symptom.peer).limits
    }
    return command(
        texts.get(symptom.how),
        symptom.peer_host or case.host_of(symptom.peer),
    )


def of_unit(cause: Cause, case: Case) -> Advice | None:
    """Return the command that shows the state of its unit and its log; None if no host has such a unit."""
    for host, service in units_of(cause, case)[:1]:
        if is_known_by_engine(service):
            return command(state_of_container(service), host)
        if service.state == How.FROZEN:
            return command(SUSPENDED.format(service.unit), host)
        if service.state != RUNNING:
            # Why it has ended only its journal says.
            return command(
                STATE.format(service, LATEST.unit.format(service=service)),
                host,
            )
        shown = command(
            STATE.format(service, log_command(service, host, case)), host
        )
        # Its log alone may say nothing.
        overview = commands_of(cause.component).overview
        return followed(shown, command(overview, host))
    return None


def state_of_container(service: Service) -> str:
    """Return the command that shows a container whose engine alone knows its state."""
    shown = f"ps --all --filter name=^{service.container}$"
    return (
        f"{service.engine} {shown}; {LATEST.container.format(service=service)}"
    )


def is_known_by_engine(service: Service) -> bool:
    """Return whether the engine of a container shows the state of a service, and not systemd."""
    if not service.container:
        return False
    if service.container == service.unit:
        return True
    return service.state in OF_ENGINE


def access(case: Case) -> Advice | None:
    """Return the access that would show more."""
    if lacks_administrator(case):
        return Advice(Reason.GIVE_ADMIN_CLOUD)
    if not case.record.hosts:
        return Advice(Reason.GIVE_INVENTORY)
    unread = sorted(
        host.host
        for host in case.record.hosts
        if host.status != HostStatus.READ
    )
    if unread:
        return Advice(Reason.MAKE_HOSTS_READABLE, hosts=tuple(unread))
    return more_logs(case.record.flows)


def log_of_last_api(case: Case) -> Advice | None:
    """Return the log of the service that the stage asked last."""
    asked = map(attrgetter("service"), reversed(case.stage.calls))
    return log_of(answering_as(next(asked, None)), case)


def lacks_administrator(case: Case) -> bool:
    """Return whether only an administrator can see why the cloud does not have what was asked for."""
    error = case.stage.error
    sought = sought_in(error) if error else None
    is_read = case.record.capacity is not None or bool(case.record.agents)
    return sought in (Sought.HOST, Sought.BACKEND) and not is_read


def more_logs(flows: Sequence[FollowedFlow]) -> Advice | None:
    """Return the logs that services would have to write besides, by the levels of the evidence that they gave."""
    if not flows:
        return None
    steps = chain.from_iterable(map(attrgetter("steps"), flows))
    shown = chain.from_iterable(map(attrgetter("evidence"), steps))
    levels = set(map(attrgetter("level"), shown))
    if Level.MESSAGING in levels:
        return None
    if Level.DEBUG in levels:
        return Advice(Reason.LOG_MESSAGING)
    return Advice(Reason.LOG_DEBUG)
