# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The next thing to do: a command that shows more, patience, another run, or more access."""

from __future__ import annotations

from dataclasses import replace

import as_json
import pytest
from ansible_collections.stackproof.provision.plugins.module_utils._judge import advice, advice_for_request
from ansible_collections.stackproof.provision.plugins.module_utils._model import codec
from ansible_collections.stackproof.provision.plugins.module_utils._model.chain import Link, LinkState
from ansible_collections.stackproof.provision.plugins.module_utils._model.finding import Advice, Reason, Suspect
from ansible_collections.stackproof.provision.plugins.module_utils._model.flow import Evidence
from ansible_collections.stackproof.provision.plugins.module_utils._model.how import How
from ansible_collections.stackproof.provision.plugins.module_utils._model.shortage import (
    Answer,
    Explanation,
    Shortage,
    Sought,
)
from ansible_collections.stackproof.provision.plugins.module_utils._model.shortage import Reason as ShortageReason
from ansible_collections.stackproof.provision.plugins.module_utils._model.stage import Resource
from ansible_collections.stackproof.provision.plugins.module_utils._model.symptom import Code, Kind, Symptom
from ansible_collections.stackproof.provision.plugins.module_utils._model.words import Level
from ansible_collections.stackproof.provision.plugins.module_utils._report.messages import links
from ansible_collections.stackproof.provision.plugins.module_utils._report.messages.advice import advice as in_words
from cases_by_hand import call, case_of, cause, cut, error, flow, seen
from cases_by_hand import stage as a_stage


def with_units(name, *units):
    """A host with a service of the component x for each unit."""
    return as_json.host(
        name, facts={"services": [{"component": "x", "unit": unit, "state": "running"} for unit in units]}
    )


HOST = as_json.host("a")
LEFT = {"kind": "network", "id": "1d", "name": "n", "reason": "it is there"}
SUSPECTS = [cause("ceph-osd", None), cause("vm-instance", None)]


def waiting(pause, hosts=()):
    """Return a case whose last step was seen so long before the end of the stage; no step was if that is None."""
    at = None if pause is None else f"2026-11-21T12:01:{40 - pause:09.6f}+00:00"
    steps = [
        as_json.step("1", "a", "b", "m", "DB", status="seen", at=at),
        as_json.step("2", "a", "b", "m", "DB", status="seen", at=at, follows=["1"]),
    ]
    return case_of(hosts, a_stage(error=error("deadline")), flows=[flow(steps)] if pause is not None else [])


def container(unit, state):
    service = {"component": "x", "unit": unit, "state": state, "container": "nova_x", "engine": "docker"}
    return as_json.host("a", facts={"services": [service]}, prefixes={"ovs": ["docker", "exec", "ovs"]})


@pytest.mark.parametrize(
    ("unit", "state", "program"),
    [
        ("kolla-nova_x-container.service", "stopped", "systemctl status kolla-nova_x-container.service; journalctl"),
        ("kolla-nova_x-container.service", "paused", "docker ps --all --filter name=^nova_x$; docker logs"),
        ("kolla-nova_x-container.service", "unhealthy", "docker ps --all --filter name=^nova_x$; docker logs"),
        ("nova_x", "stopped", "docker ps --all --filter name=^nova_x$; docker logs"),
    ],
)
def test_a_container_is_shown_by_its_engine_where_systemd_does_not_know_it(unit, state, program):
    given = advice.advice_for(cause("x", "a"), None, (), case_of([container(unit, state)]))
    assert given.command.startswith(program)


@pytest.mark.parametrize(
    ("command", "there"),
    [
        ("ip -details link show; ovs-vsctl show", "ip -details link show; docker exec ovs ovs-vsctl show"),
        ("mysql --execute 'SELECT 1'", "docker exec -it db mysql --user root --password --execute 'SELECT 1'"),
        ("df -h /", "df -h /"),
    ],
)
def test_a_program_of_a_container_is_run_in_it(command, there):
    prefixes = {"ovs": ["docker", "exec", "ovs"], "database": ["docker", "exec", "db"]}
    case = case_of([as_json.host("a", prefixes=prefixes)])
    assert advice.in_container(Advice(Reason.SHOW_STATE, command, "a"), case.record.hosts).command == there
    assert advice.in_container(Advice(Reason.SHOW_STATE, command, "b"), case.record.hosts).command == command


MON, OSD = (f"ceph {command}; ceph health detail" for command in ("status", "osd tree"))
SUSPECT_MON = cause("ceph-mon", None)
RESTARTED = cause("ceph-mon", "h", suspect=Suspect.RESTART)


@pytest.mark.parametrize(
    ("cause", "restart", "pause", "given"),
    [
        (SUSPECT_MON, None, None, Advice(Reason.SHOW_STATE, MON)),
        (SUSPECT_MON, None, 2.0, Advice(Reason.SHOW_STATE, MON)),
        (cause("ceph-mon", "h", suspect=Suspect.CONNECTION), None, None, Advice(Reason.SHOW_STATE, MON, "h")),
        (None, RESTARTED, None, Advice(Reason.RUN_AGAIN)),
        (None, RESTARTED, 2.0, Advice(Reason.RUN_AGAIN)),
        (None, None, 2.0, Advice(Reason.ALLOW_MORE_TIME)),
        (None, None, None, Advice(Reason.GIVE_INVENTORY)),
    ],
)
def test_next_thing_to_do_depends_on_the_cause_and_the_time_that_passed(cause, restart, pause, given):
    assert advice.advice_for(cause, restart, SUSPECTS, waiting(pause)) == given


@pytest.mark.parametrize(("suspects", "given"), [([], None), (SUSPECTS, Advice(Reason.SHOW_STATE, OSD))])
def test_likeliest_suspect_is_checked_where_no_more_access_would_help(suspects, given):
    assert advice.access(case_of([HOST])) is None
    assert advice.advice_for(None, None, suspects, case_of([HOST])) == given
    assert advice.advice_for(None, None, suspects, waiting(2.0, [HOST])) == Advice(Reason.ALLOW_MORE_TIME)


def test_of_suspects_that_hardly_are_it_the_service_is_looked_at_that_was_asked_last():
    neutron = {"component": "neutron-server", "unit": "neutron-api.service", "state": "running"}
    asked = a_stage(calls=[call(200), call(None, "network")])
    case = case_of([as_json.host("ctl", facts={"services": [neutron]})], asked)
    hardly = replace(cause("x", "a", seen(Kind.CHANGE, "x", "a")), confidence=case.weights.suspect / 2)
    log = "on ctl: journalctl --unit neutron-api.service --since"
    assert in_words(advice.advice_for(None, None, [hardly], case)).startswith(log)


# Commands


@pytest.mark.parametrize(
    ("component", "words"),
    [
        ("ceph-mon", "ceph status"),
        ("ceph-osd", "ceph osd tree"),
        ("data network", "ovs-vsctl show"),
        ("vm-instance", "run it again with -e stackproof_keep=on_failure"),
        ("somebody", None),
    ],
)
def test_where_to_look_next_for_who_is_no_unit_that_was_read(component, words):
    command = in_words(advice.command_for(cause(component, None, seen(Kind.ERROR, component)), case_of()))
    assert command is None if words is None else command.startswith(words)
    assert "None" not in (command or "")


@pytest.mark.parametrize(("host", "looked_at"), [("a", "a"), ("b", "b"), (None, "a")])
def test_a_unit_is_looked_at_on_the_host_of_the_cause(host, looked_at):
    case = case_of([with_units("a", "x.service"), with_units("b", "x.service")])
    command = in_words(advice.command_for(cause("x", host), case))
    assert command == f"on {looked_at}: systemctl status x.service; journalctl --unit x.service --since -15min"


def asked_for(sought, *reason, case=None, flavor=None):
    """What to do about a request that cannot be satisfied."""
    explanation = Explanation(sought, Answer.SHORT, reason=ShortageReason(*reason), flavor=flavor)
    return in_words(advice_for_request.advice_for_request(explanation, case))


def with_service_on_b(component):
    service = {"component": component, "unit": "x.service", "state": "running"}
    return case_of([as_json.host("a"), as_json.host("b", facts={"services": [service]})])


def test_what_bounds_networks_is_looked_up_where_neutron_reads_it():
    looked_up = asked_for(Sought.SEGMENT, Shortage.SEGMENTS, case=with_service_on_b("neutron-server"))
    assert looked_up.startswith("on b: grep -rhsE '^(tenant_network_types|")
    assert asked_for(Sought.SEGMENT, Shortage.SEGMENTS) == "openstack network list --long"


def test_a_filter_is_looked_up_where_its_options_are_or_the_aggregates():
    scheduler, isolated = with_service_on_b("nova-scheduler"), (Shortage.FILTERED, "IsolatedHostsFilter")
    assert asked_for(Sought.HOST, *isolated, case=scheduler, flavor="m1") == (
        "on b: grep -rnsE '^ *(isolated_hosts|isolated_images|restrict_isolated_hosts_to_isolated_images)' "
        "/etc/nova /etc/kolla/nova-scheduler; openstack flavor show m1"
    )
    braces = asked_for(Sought.HOST, Shortage.FILTERED, "NUMATopologyFilter", flavor="m1.{x}")
    assert braces == "openstack flavor show 'm1.{x}'"
    # Nobody knows where the scheduler is.
    elsewhere = asked_for(Sought.HOST, *isolated, case=with_service_on_b("nova-api"), flavor="m1")
    assert elsewhere == "openstack flavor show m1"
    assert asked_for(Sought.HOST, *isolated, flavor="m1") == "openstack flavor show m1"
    aggregates = asked_for(Sought.HOST, Shortage.FILTERED, "AggregateMultiTenancyIsolation", flavor="m1")
    assert aggregates == "openstack aggregate list --long"


@pytest.mark.parametrize(
    ("code", "subject", "command"),
    [
        (Shortage.DISABLED, None, "openstack compute service set --enable <host> nova-compute"),
        (
            Shortage.FORCED_DOWN,
            None,
            "openstack --os-compute-api-version 2.11 compute service set --up <host> nova-compute",
        ),
        (Shortage.NETWORK_DISABLED, "n 1", "openstack network set --enable 'n 1'"),
        (Shortage.PORT_DISABLED, "p", "openstack port set --enable p"),
        (Shortage.QUOTA, "floatingip", "openstack quota set --floating-ips <limit> <project>"),
        (Shortage.QUOTA, "key_pairs", "openstack quota set --key-pairs <limit> <project>"),
        (Shortage.QUOTA, "gigabytes_ssd", "openstack quota set --volume-type ssd --gigabytes <limit> <project>"),
        # The client has no such option, or calls it otherwise.
        (Shortage.QUOTA, "class:VCPU", None),
        (Shortage.QUOTA, None, None),
        (Shortage.NO_ROOM, "MEMORY_MB", None),
    ],
)
def test_what_makes_room_for_a_request_is_said_with_its_name(code, subject, command):
    reason = ShortageReason(code, subject, provider="3d")
    given = advice_for_request.advice_for_request(Explanation(Sought.HOST, Answer.SHORT, reason=reason))
    assert (given.repair and given.repair.command) == command


MEND = "ovn-nbctl --no-leader-only acl-del pg to-lport 1 ip4"
TRACE = "ovn-trace neutron-1d 'inport == \"2d\"'"


def of_trace(run):
    """What to do about a link that a trace has broken. run: what the record says of the run's resources."""
    link = Link("dhcp_logical", LinkState.BROKEN, "ovn-nb-db", "ctl", command=TRACE, reader="ctl")
    network = as_json.plain(Resource("network", "1d", "n", created=True))
    stages = [as_json.stage("network", "ok", resources=[network])]
    case = case_of([as_json.host("ctl")], stages=stages, **run)
    return in_words(advice.command_for(cause("ovn-nb-db", "ctl", seen(Kind.LINK, "ovn-nb-db", "ctl", link=link)), case))


def test_what_an_error_names_is_shown_before_a_broken_link():
    rules = 'RBAC rules for client "" role "ovn-controller" prohibit modification of table "Port_Binding".'
    link = Link("ovn_claimed", LinkState.BROKEN, "ovn-controller", "c1", command="ovn-sbctl show", reader="c1")
    broken = seen(Kind.LINK, "ovn-controller", "c1", link=link)
    denied = seen(Kind.FAILED_AT, "ovn-controller", "c1", peer="ovn-sb-db", quote=rules)
    case = case_of([as_json.host("c1")])
    shown = "on c1: ovn-sbctl show; ovn-appctl -t ovn-controller connection-status; ovs-vsctl get open . external-ids"
    assert in_words(advice.command_for(cause("ovn-controller", "c1", broken, denied), case)) == (
        "ovn-sbctl --no-leader-only list Connection; ovn-sbctl --no-leader-only list RBAC_Role; "
        f"ovn-sbctl --no-leader-only list RBAC_Permission; {shown}"
    )
    assert in_words(advice.command_for(cause("ovn-controller", "c1", broken), case)) == shown
    # What another component has logged is no better than the link.
    by_other = replace(denied, component="ovn-northd")
    assert in_words(advice.command_for(cause("ovn-controller", "c1", broken, by_other), case)) == shown


def test_a_changed_file_is_shown_whole_only_where_its_options_are_not_shown_already():
    changed = seen(Kind.CHANGE, "placement-api", "a", share=1.0, path="/etc/placement/placement.conf")
    lost = "EndpointNotFound: internal endpoint for identity service in RegionTwo region not found"
    said = seen(Kind.ERROR, "placement-api", "a", quote=lost)
    case = case_of([as_json.host("a")])
    whole = "grep --invert-match --extended-regexp '^(#|$)' /etc/placement/placement.conf"
    shown = in_words(advice.command_for(cause("placement-api", "a", said, changed), case))
    assert "'^(region_name|os_region_name|valid_interfaces)' /etc/placement " in shown
    assert whole not in shown
    other = replace(said, quote="RuntimeError: no address: Address already in use")
    assert in_words(advice.command_for(cause("placement-api", "a", other, changed), case)).endswith(whole)


def test_a_signature_that_an_image_lacks_leads_to_the_options_that_ask_for_it():
    said = seen(Kind.ERROR, "nova-compute", "a", quote="Signature verification for the image failed")
    shown = in_words(advice.command_for(cause("nova-compute", "a", said), case_of([as_json.host("a")])))
    assert shown.startswith("on a: grep -rnsE '^ *(verify_glance_signatures|")


def test_a_repair_is_run_in_the_container_of_its_program():
    link = Link("ovn_foreign_acls", LinkState.BROKEN, "ovn-nb-db", "a", command="ovn-nbctl show", reader="a", mend=MEND)
    prefixes = {"ovn_nb": ["docker", "exec", "ovn_nb_db"]}
    case = case_of([as_json.host("a", prefixes=prefixes)])
    named = cause("ovn-nb-db", "a", seen(Kind.LINK, "ovn-nb-db", "a", link=link))
    given = advice.advice_for(named, None, (), case)
    assert in_words(given) == "on a: docker exec ovn_nb_db ovn-nbctl show"
    assert given.repair.command == f"docker exec ovn_nb_db {MEND}"


def guest_of(uploaded=False, **run):
    """What to do about a guest that does nothing. run: what the record says of the run's resources."""
    image = as_json.plain(Resource("image", "3d", "probe", created=uploaded))
    server = as_json.plain(Resource("server", "4d", "s", created=True))
    stages = [as_json.stage("boot", "failed", resources=[image, server])]
    case = case_of([as_json.host("a")], stages=stages, instance=as_json.instance(server=as_json.server(id="4d")), **run)
    return in_words(advice.command_for(cause("vm-instance", "a"), case))


def test_of_a_guest_its_image_is_shown_and_its_console_as_long_as_it_is_there():
    shown, console = "openstack image show 3d", "openstack console log show 4d"
    assert guest_of(created=1, leftovers=[LEFT]) == f"{shown}; {console}"
    assert guest_of(created=2, uploaded=True).startswith("run it again")
    assert guest_of(created=1) == (
        f"{shown}; run it again with -e stackproof_keep=on_failure, and with the ids of that run: {console}"
    )


def test_a_command_about_what_the_run_has_removed_needs_a_run_that_keeps_it():
    kept, left = {"created": 1, "kept": True}, {"created": 1, "leftovers": [LEFT]}
    for there in (kept, left, {"created": 0}):
        assert of_trace(there) == f"on ctl: {TRACE}"
    assert of_trace({"created": 1}) == (
        "on ctl: ovn-nbctl get NB_Global . options; ovn-nbctl --type=port-group acl-list neutron_pg_drop; "
        f"run it again with -e stackproof_keep=on_failure, and with the ids of that run: {TRACE}"
    )


@pytest.mark.parametrize(
    ("flow", "is_kept"), [("priority 0, cookie 0x1", True), ("udp, priority 50000, cookie 0xbad", False)]
)
def test_a_flow_that_is_missing_for_the_guest_needs_a_run_that_keeps_it_and_a_foreign_one_does_not(flow, is_kept):
    link = Link("dhcp_flow", LinkState.BROKEN, "x", "a", found=flow, command="ovs-ofctl dump-flows br-tun", reader="a")
    dropped = cause("x", "a", seen(Kind.LINK, "x", "a", link=link))
    network = as_json.plain(Resource("network", "1d", "n", created=True))
    case = case_of(
        [with_units("a", "x.service")], stages=[as_json.stage("network", "ok", resources=[network])], created=1
    )
    assert ("stackproof_keep" in in_words(advice.command_for(dropped, case))) is is_kept
    assert links.broken(link)[0].startswith("no flow carries the guest's DHCP request: ") is is_kept


def test_a_network_is_looked_at_at_both_ends_and_its_packets_where_there_are_any():
    """The guest is gone when somebody reads it: it sends no packets that could be listened for."""
    agent = {"component": "neutron-dhcp-agent", "unit": "x.service", "state": "running"}
    hosts = [as_json.host("c1", facts={"domain": {"name": "x"}}), as_json.host("n1", facts={"services": [agent]})]
    listening = "tcpdump -n -e -i any port 67"
    link = Link("dhcp_received", LinkState.BROKEN, "data network", command=listening, reader="c1")
    lost = cause("data network", None, seen(Kind.LINK, "data network", None, link=link))
    network = as_json.plain(Resource("network", "1d", "n", created=True))
    case = case_of(hosts, stages=[as_json.stage("network", "ok", resources=[network])], created=1)
    look = "ovs-vsctl show; ip -details -statistics link show; nft list ruleset"
    assert in_words(advice.command_for(lost, case)) == (
        f"on c1: {look}; on n1: {look}; "
        f"run it again with -e stackproof_keep=on_failure, and with the ids of that run: on c1: {listening}"
    )


def test_of_each_suspect_there_is_something_to_look_at():
    case = case_of([with_units("a", "x.service")])
    # Who reads it later than the run gets the same logs.
    since = "--since '2026-11-21 11:55 UTC'"
    assert in_words(advice.advice_for_suspect(cause("x", "a"), case)) == STATE.replace("--since -15min", since)
    assert advice.advice_for_suspect(cause("somebody", "a"), case) is None


def test_the_unit_that_is_known_to_be_wrong_is_shown_first():
    case = case_of([with_units("a", "api.service", "rpc.service")])
    crashing = Symptom(Code.UNIT_CRASH_LOOP, "x", "a", unit="rpc.service", restarts=6)
    changed = seen(Kind.CHANGE, "x", "a", share=1.0, path="/etc/x/x.conf")
    given = advice.command_for(cause("x", "a", crashing, changed), case)
    assert in_words(given).startswith("on a: systemctl status rpc.service; ")
    assert given.repair.command == "systemctl restart rpc.service"


def test_beside_a_unit_that_does_not_run_stands_what_its_last_words_name():
    failed = seen(Kind.STATE, "x", "a", how=How.FAILED)
    said = "ConfigFilesNotFoundError: Failed to find some config files: /etc/x/x.conf"
    ended = seen(Kind.ERROR, "x", "a", quote=said)
    case = case_of([with_units("a", "x.service")])
    given = advice.command_for(cause("x", "a", failed, ended), case)
    assert in_words(given) == f"{STATE}; namei --long /etc/x/x.conf"
    assert in_words(advice.command_for(cause("x", "a", failed), case)) == STATE


def with_unit_of(component, state):
    service = {"component": component, "unit": "x.service", "state": state}
    return case_of([as_json.host("a", facts={"services": [service]})])


def test_of_a_unit_that_runs_more_is_shown_than_its_log():
    named = cause("ovn-controller", "a")
    more = "ovn-appctl -t ovn-controller connection-status; ovs-vsctl get open . external-ids"
    assert in_words(advice.state_of(named, with_unit_of("ovn-controller", "running"))) == f"{STATE}; {more}"
    assert in_words(advice.state_of(named, with_unit_of("ovn-controller", "failed"))) == STATE


def test_a_suspended_unit_is_found_by_its_processes_and_goes_on():
    """For systemd it runs, and its log has nothing."""
    suspended = {"component": "x", "unit": "x.service", "state": "frozen"}
    case = case_of([as_json.host("a", facts={"services": [suspended]})])
    assert in_words(advice.command_for(cause("x", "a"), case)) == (
        "on a: ps -e -o pid,stat,unit,args | grep x.service; systemctl thaw x.service; "
        "systemctl kill --signal=SIGCONT x.service"
    )


STATE = "on a: systemctl status x.service; journalctl --unit x.service --since -15min"


@pytest.mark.parametrize(
    ("how", "host", "path", "command"),
    [
        (How.ERROR, "a", "/etc/x/x.conf", f"{STATE}; grep --invert-match --extended-regexp '^(#|$)' /etc/x/x.conf"),
        (How.ERROR, "a", "/etc/systemd/system/x.service.d/zz.conf", f"{STATE}; systemctl cat x.service"),
        (How.ERROR, "a", "/etc/ceph/x.keyring", f"{STATE}; ls -l /etc/ceph/x.keyring"),
        (
            How.ERROR,
            "b",
            "/etc/x/x.conf",
            f"{STATE}; on b: grep --invert-match --extended-regexp '^(#|$)' /etc/x/x.conf",
        ),
        # No setting stops a unit as systemctl does.
        (How.STOPPED, "a", "/etc/x/x.conf", STATE),
    ],
)
def test_a_file_that_was_changed_is_shown_beside_the_state_of_the_unit(how, host, path, command):
    broken = seen(Kind.ERROR, "x", "a", how=how, share=1.0)
    changed = seen(Kind.CHANGE, "x", host, share=0.8, path=path)
    case = case_of([with_units("a", "x.service")])
    assert in_words(advice.command_for(cause("x", "a", broken, changed), case)) == command
    old = replace(changed, share=0.1)
    assert in_words(advice.command_for(cause("x", "a", broken, old), case)) == STATE


@pytest.mark.parametrize(
    ("symptom_host", "only_from_here", "command"),
    [
        ("a", True, "on a: nc -v -z -w 3 10.0.0.1 5672; nft list ruleset | grep --word-regexp 5672"),
        # The peer is wrong, or the way from another host.
        ("a", False, "on a: systemctl status x.service; journalctl --unit x.service --since -15min"),
        ("b", True, "on a: systemctl status x.service; journalctl --unit x.service --since -15min"),
    ],
)
def test_a_way_is_tried_from_the_host_where_it_is_cut(symptom_host, only_from_here, command):
    way = cut("x", symptom_host, only_from_here=only_from_here)
    assert in_words(advice.command_for(cause("x", "a", way), case_of([with_units("a", "x.service")]))) == command


def test_who_listens_at_the_other_end_of_a_way_is_shown_on_its_host():
    hosts = [with_units("a", "x.service"), as_json.host("b", facts={"addresses": ["10.0.0.1"]})]
    given = advice.command_for(cause("x", "a", cut("x", "a", only_from_here=True)), case_of(hosts))
    assert in_words(given) == (
        "on a: nc -v -z -w 3 10.0.0.1 5672; nft list ruleset | grep --word-regexp 5672; "
        "on b: ss -lntp 'sport = :5672'; nft list ruleset | grep --word-regexp 5672"
    )


def on_a(component, symptom):
    return in_words(advice.command_for(cause(component, "a", symptom), case_of([with_units("a", "x.service")])))


@pytest.mark.parametrize(
    ("component", "symptom", "command"),
    [
        ("rabbitmq", seen(Kind.REPORT, "rabbitmq", "a", how=How.ALARM), "on a: rabbitmq-diagnostics alarms"),
        ("rabbitmq", seen(Kind.REPORT, "rabbitmq", "a", how=How.DENIED), "on a: rabbitmqctl list_users"),
        ("rabbitmq", seen(Kind.REPORT, "rabbitmq", "a", how=How.FULL), "on a: rabbitmqctl list_user_limits --global"),
        (
            "ceph-rgw",
            seen(Kind.FAILED_AT, "glance-api", "b", peer="ceph-rgw", peer_host="a", how=How.FULL),
            "on a: radosgw-admin global quota get",
        ),
        ("nova-compute", seen(Kind.REPORT, "nova-compute", "a", how=How.MISSING), "on a: ls -l /dev/kvm"),
        ("ceph-osd", seen(Kind.REPORT, "ceph-osd", None, how=How.ALARM), "on a: ceph health detail"),
        ("ceph-osd", Symptom(Code.COMMAND_HANGS, "ceph-osd", how=How.SILENT), "on a: ceph health detail"),
        (
            "x",
            seen(Kind.RESOURCE, "x", "a", how=How.FULL, path="/var/lib/x"),
            "on a: df -h /var/lib/x; df -i /var/lib/x",
        ),
        ("x", seen(Kind.RESOURCE, "x", "a", how=How.KILLED, path="qemu"), "on a: systemctl status x.service"),
        (
            "x",
            seen(Kind.CHANGE, "x", "a", share=1.0, path="/etc/x/x.conf"),
            f"{STATE}; grep --invert-match --extended-regexp '^(#|$)' /etc/x/x.conf",
        ),
        (
            "x",
            seen(Kind.CHANGE, "x", "a", share=1.0, path="/etc/ceph/x.keyring"),
            f"{STATE}; ls -l /etc/ceph/x.keyring",
        ),
        (
            "x",
            seen(Kind.CHANGE, "x", "a", share=1.0, path="/run/systemd/system/x.service.d/zz.conf"),
            f"{STATE}; systemctl cat x.service",
        ),
        (
            "x",
            seen(Kind.CHANGE, "x", "a", share=1.0, path="/etc/x/x.conf", setting="[libvirt] virt_type"),
            "on a: sed --quiet '/^\\[libvirt\\]/,/^\\[/{/^virt_type/p}' /etc/x/x.conf",
        ),
        (
            "x",
            seen(Kind.DIFFERENCE, "x", "a", path="Open vSwitch", setting="[external-ids] ovn-remote"),
            "on a: ovs-vsctl get open . external-ids:ovn-remote",
        ),
        (
            "x",
            Symptom(Code.CERTIFICATE_EXPIRED, "x", "a", address="10.0.0.1", port=5671),
            "on a: openssl s_client -connect 10.0.0.1:5671",
        ),
        (
            "x",
            Symptom(Code.CERTIFICATE_EXPIRING, "x", "a", path="/x.pem"),
            "on a: openssl x509 -noout -dates -in /x.pem",
        ),
        ("x", Symptom(Code.NAME_UNRESOLVED, "x", "a", setting="ctl", reported=("", "b")), "on a: getent ahosts ctl"),
        ("x", Symptom(Code.MTU_SMALLER, "x", "a", path="eth1", sizes=(1, 2)), "on a: ip -statistics link show eth1"),
        ("haproxy", Symptom(Code.BACK_END_DOWN, "haproxy", "a", setting="n"), "on a: echo 'show stat' | socat"),
        ("x", seen(Kind.RESOURCE, "x", "a", how=How.DENIED), "on a: journalctl --dmesg --grep"),
        ("x", seen(Kind.STATE, "x", "a", how=How.STOPPED), "on a: systemctl status x.service"),
    ],
)
def test_the_next_command_is_by_the_symptom_that_the_headline_tells(component, symptom, command):
    assert on_a(component, symptom).startswith(command)


def denied_by(peer, **more):
    return seen(Kind.FAILED_AT, "x", "a", peer=peer, how=How.DENIED, own=True, **more)


@pytest.mark.parametrize(
    ("symptom", "command"),
    [
        (
            denied_by("database", peer_host="d"),
            "on a: grep -rnsE '^ *connection' /etc/kolla/x; "
            "on d: mysql --execute 'SELECT user, host, password_expired FROM mysql.user'",
        ),
        (
            denied_by("database", quote="(1044, \"Access denied for user 'nova'@'%' to database 'nova'\")"),
            "on a: grep -rnsE '^ *connection' /etc/kolla/x; "
            "mysql --execute \"SELECT user, host, plugin, password_expired FROM mysql.user WHERE user = 'nova'; "
            "SHOW GRANTS FOR 'nova'@'%'\"",
        ),
        (
            denied_by("ceph-mon", peer_host="s"),
            "on a: grep -rnsE '^ *rbd_(store_)?(user|ceph_conf)' /etc/kolla/x; on s: ceph auth ls",
        ),
        # A peer of which nothing is known: the component itself
        (denied_by("somebody"), "on a: systemctl status x.service; journalctl --unit x.service --since -15min"),
    ],
)
def test_of_a_peer_that_denies_access_its_rights_are_looked_at(symptom, command):
    assert on_a("x", symptom) == command


def test_of_a_login_that_the_queue_refuses_the_cells_are_looked_at_as_well():
    refused = seen(Kind.FAILED_AT, "nova-conductor", "a", peer="rabbitmq", how=How.DENIED, own=True)
    assert on_a("nova-conductor", refused) == (
        "on a: grep -rnsE '^ *transport_url' /etc/nova /etc/kolla/nova-conductor; "
        "nova-manage cell_v2 list_cells --verbose; "
        "rabbitmqctl list_users; rabbitmqctl list_permissions; rabbitmq-diagnostics log_tail"
    )


def test_an_api_that_does_not_answer_at_an_address_of_no_host_is_looked_for_in_the_catalog():
    silent = Symptom(
        Code.API_SILENT, "neutron-server", how=How.SILENT, request="GET /", address="192.0.2.10:9696", own=True
    )
    assert on_a("neutron-server", silent).startswith(
        "openstack endpoint list --service network; on a: ip -brief address; ss -lntp"
    )


def advice_after(*changes):
    """The next command where a component is denied access, after changes of its configuration."""
    denied = seen(Kind.FAILED_AT, "x", "a", peer="keystone", how=How.DENIED, own=True)
    return in_words(advice.command_for(cause("x", "a", denied, *changes), case_of([with_units("a", "x.service")])))


def test_of_a_component_whose_configuration_has_changed_its_credentials_are_looked_at():
    changed = seen(Kind.CHANGE, "x", "a", path="/etc/x/x y.conf", share=0.8)
    command = advice_after(changed)
    assert command.startswith("on a: grep --line-number --extended-regexp")
    assert command.endswith(" '/etc/x/x y.conf'")
    option = seen(Kind.CHANGE, "x", "a", path="/etc/x/x.conf", share=0.8, setting="[neutron] password")
    assert advice_after(option) == "on a: sed --quiet '/^\\[neutron\\]/,/^\\[/{/^password/p}' /etc/x/x.conf"
    old = seen(Kind.CHANGE, "x", "a", path="/etc/x/x.conf", share=0.1)
    assert advice_after(old) == advice_after()


@pytest.mark.parametrize("path", ["/var/lib/nova/.ssh/authorized_keys", "/etc/ceph/x.keyring"])
def test_no_key_is_printed_that_has_changed_before_a_component_was_denied_access(path):
    assert advice_after(seen(Kind.CHANGE, "x", "a", path=path, share=0.8)).startswith(f"on a: ls -l {path}")


def test_rights_are_checked_on_the_only_host_of_the_peer():
    symptom = seen(Kind.FAILED_AT, "y", "b", peer="database", how=How.DENIED, own=True)
    command = "mysql --execute 'SELECT user, host, password_expired FROM mysql.user'"
    assert in_words(advice.rights(symptom, case_of([with_units("a", "x.service")]))) == command
    service = {"component": "database", "unit": "mariadb.service", "state": "running"}
    hosts = [as_json.host("d", facts={"services": [service]})]
    assert in_words(advice.rights(symptom, case_of(hosts))) == f"on d: {command}"


@pytest.mark.parametrize("kind", [Kind.RESOURCE, Kind.CHANGE])
def test_a_path_is_a_word_of_the_command_whatever_its_name(kind):
    """A command that is copied runs nothing that somebody has put into the name of a file."""
    path = "/etc/x/a; touch pwned.conf"
    assert f" '{path}'" in on_a("x", seen(kind, "x", "a", share=1.0, path=path))
    assert f" {path}" not in on_a("x", seen(kind, "x", "a", share=1.0, path=path))


# Checks of the hosts


def with_check(name, **fields):
    """Return a record whose host has a failed check after one that passed."""
    checks = [as_json.check("One", "ok"), {**as_json.check("Two", "failed"), "reason": "it differs", **fields}]
    prefixes = {"libvirt": ["docker", "exec", "nova_libvirt"]}
    return case_of([as_json.host(name, checks=checks, prefixes=prefixes)]).record


@pytest.mark.parametrize(
    ("host", "words"),
    [("compute1", "on compute1: docker exec nova_libvirt virsh list --all"), ("localhost", "virsh list --all")],
)
def test_a_failed_check_says_what_shows_it(host, words):
    record = with_check(host, command="virsh list --all")
    given = advice.advice_for_check(record.hosts[0], record)
    assert in_words(given).endswith(words.removeprefix("on localhost: "))


def test_a_failed_check_may_have_no_command():
    record = with_check("compute1")
    assert advice.advice_for_check(record.hosts[0], record) is None


# Access


def shown_at(*levels):
    """Return a flow with evidence of these levels."""
    step = as_json.step("1", "a", "b", "m", "DB")
    shown = [Evidence("log", "a", 2, "t", level=level and Level(level)) for level in levels]
    step["evidence"] = codec.to_json(shown)
    return [flow([step])]


@pytest.mark.parametrize(
    ("hosts", "flows", "words"),
    [
        ([], [], "give an inventory"),
        (
            [HOST, as_json.host("c", status="unreachable"), as_json.host("b", status="unreadable")],
            [],
            "make b, c readable",
        ),
        ([HOST], shown_at(None, "info"), "debug = true"),
        ([HOST], shown_at("info", "debug"), "let the services log oslo.messaging at DEBUG"),
        ([HOST], shown_at("debug", "messaging"), None),
        ([HOST], [], None),
    ],
)
def test_which_access_would_show_more(hosts, flows, words):
    access = in_words(advice.access(case_of(hosts, flows=flows)))
    assert access is None if words is None else words in access


def test_a_suspect_whose_unit_does_not_run_is_looked_at_before_more_logs_are_asked_for():
    case = case_of([with_units("a", "x.service")], flows=shown_at("info", "debug"))
    assert advice.access(case).reason == Reason.LOG_MESSAGING
    stopped = cause("x", "a", seen(Kind.STATE, "x", "a"))
    assert in_words(advice.advice_for(None, None, [stopped], case)).startswith("on a: systemctl status x.service")
    silent = cause("x", "a", seen(Kind.ERROR, "x", "a"))
    assert advice.advice_for(None, None, [silent], case).reason == Reason.LOG_MESSAGING


def test_without_a_host_and_a_reason_the_services_the_cells_and_the_filters_are_looked_at():
    conductor = {"component": "nova-conductor", "unit": "c.service", "state": "running"}
    reporting = {"component": "nova-compute", "host": "c1", "state": "up", "enabled": True, "last_report": None}
    no_host = a_stage(error=error("service", said="No valid host was found."))
    scheduler = {"component": "nova-scheduler", "unit": "s.service", "state": "running"}
    asked = {**no_host, "details": {"request_id": "req-1"}}
    case = case_of([as_json.host("a", facts={"services": [conductor, scheduler]})], asked, agents=[reporting])
    given = in_words(advice.advice_for(None, None, SUSPECTS, case))
    assert given.startswith(
        "openstack compute service list --service nova-compute --long; on a: nova-manage cell_v2 list_cells; "
        "journalctl --unit s.service --grep req-1 --since"
    )
    # Where nobody was asked what the hosts lack, that comes first.
    plain_user = case_of([HOST], no_host)
    assert advice.advice_for(None, None, SUSPECTS, plain_user).reason == Reason.GIVE_ADMIN_CLOUD
