# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A sentence for each symptom, without its place: in a long form, and in shorter ones for headlines."""

from __future__ import annotations

from collections.abc import Callable

from ..._components.tables import component_at
from ..._judge.leads import NO_WAY, end_in
from ..._model.codec import iso_of
from ..._model.host import NARROW, PLAIN, SILENT, UNHEARD
from ..._model.how import How
from ..._model.symptom import NO_ENDPOINT, Code, Symptom
from . import links
from .words import AT_PEER, at_place, duration, place_of, plural

# The one with most details first
Forms = tuple[str, ...]
STATES = {
    How.STOPPED: ("stopped", "stopped {0} ago"),
    How.FAILED: ("failed", "failed {0} ago"),
    How.FROZEN: (
        "suspended by SIGSTOP or the freezer",
        "suspended by SIGSTOP or the freezer",
    ),
    How.PAUSED: ("its container is paused", "its container is paused"),
    How.UNHEALTHY: (
        "its container fails its health check",
        "its container fails its health check",
    ),
    How.STARTING: ("starting", "starting for {0}"),
    How.STOPPING: ("stopping", "stopping for {0}"),
}
# How systemd says that a service has ended
ENDS = {
    "signal": "killed by a signal",
    "oom-kill": "killed as its host was out of memory",
    "core-dump": "crashed with a dump of its memory",
    "watchdog": "killed by its watchdog",
    "timeout": "took too long",
    "resources": "systemd could not give it what it needs",
}
PROBES = {
    "silent": "no connection to {0}",
    "mute": "connected, but no reply from {0}",
    NARROW: "{0} gets small packets, and none of full size",
    "refused": "connection refused by {0}",
    "closed": "connection closed by {0}",
    PLAIN: "no TLS from {0}",
    "no such name": "the name of {0} does not resolve",
}
# How a connection of a component waits for its peer
PENDING = {
    SILENT: "waiting for a connection to {0}",
    UNHEARD: "no acknowledgement of what it sends to {0}",
}
# The component that is a guest itself
GUEST = "vm-instance"
# The component that keeps the service catalog
CATALOG = "keystone"
# What an answer of a status to the guest's request for metadata says of who sent it
METADATA = {
    401: "rejects the signature of the metadata agent; their secrets differ",
    403: "rejects the signature of the metadata agent; their secrets differ",
    404: "knows no instance with the guest's address",
    500: "failed to process the guest's request",
    502: "not available to its proxy",
    503: "not available for the guest's request",
    504: "timed out on the guest's request",
}

# Of a change that is no older the time of day is clear.
RECENT_S = 3600


def sentence(symptom: Symptom) -> str:
    """Return a symptom as a whole sentence, with its place."""
    return at_place(symptom.component, symptom.host, forms(symptom)[0])


def forms(symptom: Symptom) -> Forms:
    """Return what is wrong, in forms with less and less details."""
    return MESSAGES[symptom.code](symptom)


def unit_not_running(symptom: Symptom) -> Forms:
    plain, since = STATES[symptom.how or How.FAILED]
    text = since.format(duration(symptom.for_s)) if symptom.for_s else plain
    if symptom.restarts:
        # A service that systemd starts again and again is never seen as failed.
        text = (
            f"{text}, after {plural(symptom.restarts, 'restart')} by systemd"
        )
    text = ", ".join([text, *filter(None, map(ENDS.get, symptom.reported))])
    at = clock(symptom.since)
    detail = f"at {at}; {symptom.unit}" if at else symptom.unit
    return f"{text} ({detail})", text


def clock(at: float | None) -> str:
    """Return a time of the day, as 14:43:34 UTC; nothing where none is known."""
    return f"{(iso_of(at) or '')[11:19]} UTC" if at else ""


def unit_crash_loop(symptom: Symptom) -> Forms:
    text = (
        f"exits again and again: restarted {plural(symptom.restarts, 'time')}"
    )
    return f"{text} ({symptom.unit})", text


def restarted_during_run(symptom: Symptom) -> Forms:
    text = f"exited, restarted at {clock(symptom.since)}"
    return f"{text} ({symptom.unit})", text


def restarted_before_run(symptom: Symptom) -> Forms:
    text = f"restarted {duration(symptom.ago_s or 0)} before the stage failed"
    return f"{text} ({symptom.unit})", text


def link_broken(symptom: Symptom) -> Forms:
    return (
        links.broken(symptom.link)
        if symptom.link
        else ("a link of its chain is broken",)
    )


def reported(symptom: Symptom) -> Forms:
    text = "; ".join(symptom.reported)
    # What stands behind the first semicolon is a detail.
    short = text.partition("; ")[0]
    return (text, short) if short != text else (text,)


def domain_halted(symptom: Symptom) -> Forms:
    state, reason = symptom.reported
    return (
        f"the domain of the instance is {state} ({reason})",
        f"the domain of the instance is {state}",
    )


def interface_error(symptom: Symptom) -> Forms:
    return (
        f"cannot create the interface {symptom.path} of the instance",
        "cannot create the instance's interface",
    )


def osd_down(symptom: Symptom) -> Forms:
    names = ", ".join(f"osd.{number}" for number in symptom.reported)
    verb = "is" if len(symptom.reported) == 1 else "are"
    number = f"{len(symptom.reported)} OSDs are down"
    return (
        f"{names} {verb} down, as Ceph reports",
        f"{names} {verb} down",
        number,
    )


def ceph_health(symptom: Symptom) -> Forms:
    return (
        f"Ceph reports: {'; '.join(symptom.reported)}",
        f"Ceph reports: {symptom.reported[0]}",
    )


def command_hangs(symptom: Symptom) -> Forms:
    return f"no answer: {symptom.command} hangs", "does not answer commands"


def console_empty(symptom: Symptom) -> Forms:
    if symptom.component != GUEST:
        return ("its guest wrote nothing on the console",)
    text = "wrote nothing on its console"
    return f"{text}; it may have no kernel", text


def peer_unreachable(symptom: Symptom) -> Forms:
    text = PROBES.get(
        symptom.probe or "", f"{symptom.probe} from {{0}}"
    ).format(symptom.peer)
    elsewhere = "; other hosts reach it" if symptom.only_from_here else ""
    return f"{text} at {symptom.address}:{symptom.port}{elsewhere}", text


def peer_named(symptom: Symptom) -> Forms:
    return (
        f"its configuration names {symptom.peer} at {symptom.address}:{symptom.port}",
    )


def wrong_address(symptom: Symptom) -> Forms:
    is_catalog = symptom.component == CATALOG
    who = "the service catalog" if is_catalog else "its configuration"
    place = f"{symptom.address}:{symptom.port}"
    if symptom.probe == PLAIN:
        text = f"{who} has {symptom.setting} at https://{place}"
        return f"{text}, which does not speak TLS", text
    text = f"{who} names {place} for {symptom.setting}"
    return f"{text}, which is not there", text


def option_of_peer(symptom: Symptom) -> Forms:
    text = f"its option {symptom.setting} differs from similar hosts, and it fails at {symptom.peer}"
    return (
        f"{text} ({symptom.path})",
        text,
        f"its option {symptom.setting} differs from similar hosts",
    )


def connection_pending(symptom: Symptom) -> Forms:
    text = PENDING[symptom.probe or SILENT].format(symptom.peer)
    return f"{text} at {symptom.address}:{symptom.port}", text


def queue_unconsumed(symptom: Symptom) -> Forms:
    text = f"its queue {symptom.setting} has no consumer"
    # The queue of a fanout has a long name.
    forms = (text, "one of its queues has no consumer")
    return (
        (f"{text}; {waiting(symptom.times)} there", *forms)
        if symptom.times
        else forms
    )


def waiting(messages: int) -> str:
    return "1 message waits" if messages == 1 else f"{messages} messages wait"


def queue_backlog(symptom: Symptom) -> Forms:
    return (
        f"{plural(symptom.times or 0, 'message')} not finished in its queue {symptom.setting}",
    )


def certificate(symptom: Symptom) -> Forms:
    verb = "expired" if symptom.code == Code.CERTIFICATE_EXPIRED else "expires"
    text = (
        f"its TLS certificate {verb} on {(iso_of(symptom.since) or '')[:10]}"
    )
    if symptom.path:
        return f"{text} ({symptom.path})", text
    return f"{text} ({symptom.address}:{symptom.port})", text


def clock_offset(symptom: Symptom) -> Forms:
    offset = symptom.offset_s or 0.0
    text = f"the clock of its host is {duration(abs(offset))} {'ahead' if offset > 0 else 'behind'}"
    return f"{text}, compared with the other hosts", text


def name_duplicate(symptom: Symptom) -> Forms:
    return (
        f"its host has the name {symptom.setting}, which another host has, too",
    )


def name_unresolved(symptom: Symptom) -> Forms:
    _here, usual = symptom.reported
    text = f"the name {symptom.setting} does not resolve on its host"
    return f"{text}; on others it is {usual}", text


def name_elsewhere(symptom: Symptom) -> Forms:
    here, usual = symptom.reported
    text = f"the name {symptom.setting} resolves to {here} on its host"
    return f"{text}, and to {usual} on others", text


def link_smaller(symptom: Symptom) -> Forms:
    size, usual = symptom.sizes
    text = f"the link {symptom.path} has an MTU of {size}, on similar hosts {usual}"
    return with_drops(text, symptom.times)


def link_too_small(symptom: Symptom) -> Forms:
    size, needed = symptom.sizes
    text = f"the link {symptom.path} has an MTU of {size}, and the network needs {needed}"
    return with_drops(text, symptom.times)


def network_too_large(symptom: Symptom) -> Forms:
    size, needed = symptom.sizes
    text = f"the network needs an MTU of {needed} between hosts, and all their links have {size}"
    return (text,)


def with_drops(text: str, packets: int | None) -> Forms:
    if not packets:
        return (text,)
    return f"{text}; {plural(packets, 'packet')} dropped", text


def back_end_down(symptom: Symptom) -> Forms:
    if symptom.unit is None:
        return (
            f"no server is up behind {symptom.setting} ({symptom.probe})",
            f"no server is up behind {symptom.setting}",
        )
    text = f"the server {symptom.unit} behind {symptom.setting} is down"
    return f"{text} ({symptom.probe})", text


def address_missing(symptom: Symptom) -> Forms:
    return (
        f"no host has the virtual address {symptom.address}, and nothing answers there",
        "its virtual address is lost",
    )


def address_duplicate(symptom: Symptom) -> Forms:
    hosts = " and ".join(symptom.reported)
    return (
        f"{hosts} both have the virtual address {symptom.address}",
        f"two hosts have {symptom.address}",
    )


def logged_failure(symptom: Symptom) -> Forms:
    if class_of(symptom.exception or "") == NO_ENDPOINT:
        # The peer was not even asked. The catalog is Keystone's, but the endpoint that it lacks is that of another.
        owner = "" if symptom.peer == CATALOG else f" of {symptom.peer}"
        text = f"finds no endpoint{owner} in the catalog"
        return f"{text} ({NO_ENDPOINT})", text
    text = at_peer(symptom)
    if not symptom.exception:
        return (text,)
    return (
        f"{text} ({symptom.exception})",
        f"{text} ({class_of(symptom.exception)})",
        text,
    )


def at_peer(symptom: Symptom) -> str:
    """Return how a component failed at its peer."""
    how = symptom.how if symptom.how in AT_PEER else None
    return AT_PEER[how].failed.format(whom(symptom))


def whom(symptom: Symptom) -> str:
    """Return the peer, or the place that an error names if no component usually listens there."""
    end = end_in(symptom.quote or "") if symptom.how in NO_WAY else None
    if end is None or component_at(int(end["port"])) is not None:
        return f"{symptom.peer}"
    return f"{end['place']}:{end['port']}"


def class_of(exception: str) -> str:
    return exception.rpartition(".")[2]


def logged_error(symptom: Symptom) -> Forms:
    if symptom.exception:
        whole = f"{symptom.logger} logged {symptom.exception}"
        return (
            whole,
            f"logged {symptom.exception}",
            f"logged {class_of(symptom.exception)}",
        )
    return f"{symptom.logger} logged an error", "logged an error"


def api_names_peer(symptom: Symptom) -> Forms:
    return (f"reports a failure at {symptom.peer}",)


def no_valid_host(_symptom: Symptom) -> Forms:
    return ("found no valid host",)


def provider_missing(_symptom: Symptom) -> Forms:
    short = "not reporting to Placement"
    return f"{short}, which has no inventory of its host", short


def dhcp_not_carried(_symptom: Symptom) -> Forms:
    short = "its DHCP requests are lost on the data network"
    return f"{short}: dnsmasq runs, knows its port and received none", short


def dhcp_unanswered(_symptom: Symptom) -> Forms:
    return ("no answer to its DHCP requests",)


def user_data_unanswered(_symptom: Symptom) -> Forms:
    short = "no answer to its request for user data"
    return (
        f"{short}, though it has its metadata: the one fits into a packet, and the other may not",
        short,
    )


def metadata_lost(_symptom: Symptom) -> Forms:
    text = "gets no metadata, though the proxy has sent them"
    return f"{text}: they may not fit into a packet on their way", text


def path_lost(symptom: Symptom) -> Forms:
    return (
        f"its packets to {symptom.reported[0]} are lost on the data network",
        "its packets are lost",
    )


def path_narrow(symptom: Symptom) -> Forms:
    largest, needed = symptom.sizes
    short = f"its packets over {largest} bytes are lost"
    return (
        f"{short} between it and {symptom.reported[0]}; its interface sends {needed}",
        short,
    )


def path_shut(symptom: Symptom) -> Forms:
    short = f"TCP port {symptom.port} does not answer"
    return f"{short}, though the security group opens it", short


def path_open(symptom: Symptom) -> Forms:
    short = f"lets TCP port {symptom.port} in"
    return f"{short}, which the security group does not open", short


def path_lost_over_ipv6(_symptom: Symptom) -> Forms:
    short = "its packets over IPv6 are lost"
    return f"{short}, and those over IPv4 are not", short


def guest_without_ipv6(_symptom: Symptom) -> Forms:
    short = "it has no IPv6 address"
    return f"{short}, which Neutron gave its port", short


def guest_name_unresolved(_symptom: Symptom) -> Forms:
    short = "it cannot resolve the other guest's name"
    return f"{short} by the resolver that DHCP gave", short


def foreign_resolver(symptom: Symptom) -> Forms:
    short = f"gives guests the resolver {symptom.reported[0]}"
    return f"{short}, which is neither its own nor the subnet's", short


def service_not_reporting(symptom: Symptom) -> Forms:
    text = "not reporting to the cloud"
    return (
        (f"{text} since {symptom.last_report}", text)
        if symptom.last_report
        else (text,)
    )


def service_ahead(symptom: Symptom) -> Forms:
    # As minutes, by which a time zone is recognized
    minutes = (symptom.offset_s or 0) / 60
    where = "ahead" if minutes > 0 else "behind"
    text = f"reports to the cloud with a time that is {abs(minutes):.0f} min {where}"
    return f"{text}, so that it counts as dead", text


def service_taken_for_down(symptom: Symptom) -> Forms:
    agent = place_of(symptom.peer, symptom.peer_host)
    short = f"reports {agent} as down"
    return f"{short}, which reported at {symptom.last_report}", short


def service_disabled(_symptom: Symptom) -> Forms:
    return ("disabled in its API",)


def api_error(symptom: Symptom) -> Forms:
    return (
        f"answered {symptom.status} to {symptom.request}",
        f"answered {symptom.status}",
    )


def api_silent(symptom: Symptom) -> Forms:
    at = f" at {symptom.address}" if symptom.address else ""
    if symptom.how == How.REFUSED:
        plain = "connection refused"
        return f"{plain}{at} ({symptom.request})", f"{plain}{at}", plain
    plain = "did not answer"
    return (
        f"{plain} {symptom.request}{at}",
        f"{plain} {symptom.request}",
        plain,
    )


def metadata_answer(symptom: Symptom) -> Forms:
    return (f"{METADATA[symptom.status or 0]} ({symptom.status})",)


def configuration_changed(symptom: Symptom) -> Forms:
    path = symptom.path or ""
    ago_s = symptom.ago_s or 0
    ago = f"changed {duration(ago_s)} ago"
    at = clock(symptom.since)
    # Who reads it later does not know how long ago that is. What is older has to have its day, too.
    is_of_today = at and ago_s < RECENT_S
    changed = f"changed at {at}" if is_of_today else ago
    forms = (
        f"configuration {ago}{f', at {at}' if at else ''}: {path}",
        f"{path.rpartition('/')[2]} {changed}",
        f"configuration {changed}",
    )
    if symptom.setting is None:
        return forms
    whole, short, shortest = forms
    option = symptom.setting
    return (
        f"{whole} ({option} differs from similar hosts)",
        f"{short}, {option} differs",
        short,
        shortest,
    )


def configuration_differs(symptom: Symptom) -> Forms:
    path = symptom.path or ""
    about = f"{symptom.setting} in" if symptom.setting else "the mode of"
    what = f"{about} {path}"
    short = f"{about} {path.rpartition('/')[2]}"
    return (
        f"{what} differs from similar hosts",
        f"{short} differs from similar hosts",
        f"{short} differs",
    )


def step_missing(symptom: Symptom) -> Forms:
    return (f"its step {symptom.step} did not happen, for no known reason",)


def stage_part(_symptom: Symptom) -> Forms:
    return ("works for the failed stage",)


MESSAGES: dict[Code, Callable[[Symptom], Forms]] = {
    Code.UNIT_NOT_RUNNING: unit_not_running,
    Code.LINK_BROKEN: link_broken,
    Code.UNIT_CRASH_LOOP: unit_crash_loop,
    Code.UNIT_RESTARTED_DURING_RUN: restarted_during_run,
    Code.UNIT_RESTARTED_BEFORE_RUN: restarted_before_run,
    Code.OWN_REPORT: reported,
    Code.DOMAIN_HALTED: domain_halted,
    Code.INTERFACE_ERROR: interface_error,
    Code.OSD_DOWN: osd_down,
    Code.CEPH_HEALTH: ceph_health,
    Code.COMMAND_HANGS: command_hangs,
    Code.CONSOLE_EMPTY: console_empty,
    Code.RESOURCE_EXHAUSTED: reported,
    Code.PEER_UNREACHABLE: peer_unreachable,
    Code.PEER_NAMED: peer_named,
    Code.WRONG_ADDRESS: wrong_address,
    Code.OPTION_OF_PEER: option_of_peer,
    Code.CONNECTION_PENDING: connection_pending,
    Code.QUEUE_UNCONSUMED: queue_unconsumed,
    Code.QUEUE_BACKLOG: queue_backlog,
    Code.CERTIFICATE_EXPIRED: certificate,
    Code.CERTIFICATE_EXPIRING: certificate,
    Code.CLOCK_OFFSET: clock_offset,
    Code.NAME_DUPLICATE: name_duplicate,
    Code.NAME_UNRESOLVED: name_unresolved,
    Code.NAME_ELSEWHERE: name_elsewhere,
    Code.MTU_SMALLER: link_smaller,
    Code.MTU_TOO_SMALL: link_too_small,
    Code.MTU_TOO_LARGE: network_too_large,
    Code.BACK_END_DOWN: back_end_down,
    Code.ADDRESS_MISSING: address_missing,
    Code.ADDRESS_DUPLICATE: address_duplicate,
    Code.LOGGED_FAILURE: logged_failure,
    Code.LOGGED_ERROR: logged_error,
    Code.API_NAMES_PEER: api_names_peer,
    Code.NO_VALID_HOST: no_valid_host,
    Code.PROVIDER_MISSING: provider_missing,
    Code.DHCP_NOT_CARRIED: dhcp_not_carried,
    Code.DHCP_UNANSWERED: dhcp_unanswered,
    Code.USER_DATA_UNANSWERED: user_data_unanswered,
    Code.METADATA_LOST: metadata_lost,
    Code.PATH_LOST: path_lost,
    Code.PATH_NARROW: path_narrow,
    Code.PATH_SHUT: path_shut,
    Code.PATH_OPEN: path_open,
    Code.PATH_LOST_OVER_IPV6: path_lost_over_ipv6,
    Code.GUEST_WITHOUT_IPV6: guest_without_ipv6,
    Code.GUEST_NAME_UNRESOLVED: guest_name_unresolved,
    Code.FOREIGN_RESOLVER: foreign_resolver,
    Code.SERVICE_NOT_REPORTING: service_not_reporting,
    Code.SERVICE_AHEAD: service_ahead,
    Code.SERVICE_TAKEN_FOR_DOWN: service_taken_for_down,
    Code.SERVICE_DISABLED: service_disabled,
    Code.API_ERROR: api_error,
    Code.API_SILENT: api_silent,
    Code.METADATA_ANSWER: metadata_answer,
    Code.CONFIGURATION_CHANGED: configuration_changed,
    Code.CONFIGURATION_DIFFERS: configuration_differs,
    Code.STEP_MISSING: step_missing,
    Code.STAGE_PART: stage_part,
}
