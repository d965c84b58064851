# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A report of sos shows of its host what a live host would, and says what it does not have."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from ansible_collections.stackproof.provision.plugins.module_utils._collect.hosts.profiles import profile_of
from ansible_collections.stackproof.provision.plugins.module_utils._diagnose.layout import places_in
from ansible_collections.stackproof.provision.plugins.module_utils._diagnose.sos import ceph, reading
from ansible_collections.stackproof.provision.plugins.module_utils._diagnose.sos.answers import host_of
from ansible_collections.stackproof.provision.plugins.module_utils._diagnose.sos.report import Report
from ansible_collections.stackproof.provision.plugins.module_utils._model.bundle import Bundle, LoggedBoot, Outcome
from ansible_collections.stackproof.provision.plugins.module_utils._model.host import PendingConnection, Reach
from tree import ROOT

RECORDED = ROOT / "tests/recorded/sos"
OVN_SERVER = "de158cd8-ac61-49e8-9b35-590a230854b7"
OVN_PORT = "c8d41f18-5bcc-4570-b190-7c4a038d699c"
OVN_NETWORK = "004f7c82-0519-4148-b16a-38fd677d927f"
OVS_SERVER = "92e1c277-c796-41b0-961f-68acccf32d38"
OVS_PORT = "e84cc255-4aa6-45db-8913-78cab766a191"
OVS_NETWORK = "9285d28f-8228-426e-a67c-47510af65dd9"
# When the report of the controller was begun
MADE = 1795785143.2
STACK = "sos_commands/systemd/systemctl_show_service_--all"


def bundle_about(server):
    return Bundle(
        name="reports",
        query={"server_id": server},
        boot=LoggedBoot("req-1", None, server, Outcome.BUILT),
        keys={"server": (server,)},
        named={},
        deleted=False,
        silent_s=0.0,
        host="compute2",
        began=MADE - 60,
        until=MADE,
        levels={},
        warnings=(),
        hosts={},
        requests=(),
        others={},
        zones={},
    )


def read(top, server):
    return reading.read(places_in(str(top)), bundle_about(server), [profile_of("packages")])


def hosts_in(top, server=OVN_SERVER):
    return {host.host: host for host in read(top, server).hosts}


@pytest.fixture(scope="module")
def ovn():
    return read(RECORDED / "ovn", OVN_SERVER)


@pytest.fixture(scope="module")
def ovs():
    return read(RECORDED / "ovs", OVS_SERVER)


@pytest.fixture
def copied(tmp_path):
    """A copy of the reports of the lab with OVN, to be changed: the folder of all, and that of the controller."""
    shutil.copytree(RECORDED / "ovn", tmp_path / "ovn")
    return tmp_path / "ovn", next((tmp_path / "ovn").glob("*controller1*"))


def of(reported, name):
    return next(host for host in reported.hosts if host.host == name)


def test_the_instance_is_described_by_ovn_and_by_libvirt(ovn):
    instance = ovn.instance
    assert (instance.server.status, instance.server.vcpus, instance.server.memory_mib) == ("ACTIVE", 1, 128)
    assert [port.id for port in instance.ports] == [OVN_PORT]
    assert instance.ports[0].addresses == ("192.168.222.32",)
    network = instance.network_of(instance.ports[0])
    assert (network.id, network.distributed, network.mtu) == (OVN_NETWORK, True, 1500)
    assert [subnet.cidr for subnet in network.subnets] == ["192.168.222.0/24"]
    assert len(network.routers) == 1
    assert {port.owner for port in network.serving} == {"network:distributed", "network:router_interface"}
    assert instance.volumes == ("b367d95f-8968-4906-83c6-c3ba7c302cfe",)


def test_without_ovn_the_dhcp_agent_knows_the_network(ovs):
    instance = ovs.instance
    assert [(port.id, port.network) for port in instance.ports] == [(OVS_PORT, OVS_NETWORK)]
    network = instance.networks[0]
    assert not network.distributed
    assert [(subnet.dhcp, subnet.gateway) for subnet in network.subnets] == [(True, "192.168.222.1")]
    assert [port.owner for port in network.serving] == ["network:dhcp"]
    assert of(ovs, "network1").stores.switch.interface_of([network.serving[0].id]).tag is not None


def test_hosts_have_the_parts_of_their_components(ovn, ovs):
    assert {host.host: host.parts for host in ovn.hosts} == {
        "compute2": ("compute",),
        "controller1": ("ovn", "queue", "control"),
    }
    assert of(ovs, "network1").parts == ("network",)


def test_a_compute_host_shows_its_domain_and_its_port(ovn):
    facts = of(ovn, "compute2").facts
    assert facts["domain"]["uuid"] == OVN_SERVER
    assert facts["domain"]["state"] == {"name": "running", "reason": ""}
    assert [disk["protocol"] for disk in facts["domain"]["disks"]] == ["rbd", "rbd"]
    interface = facts["interfaces"][OVN_PORT]
    assert (interface["name"], interface["bridge"], interface["by_ovn"]) == ("tapc8d41f18-5b", "br-int", True)
    assert interface["link"]["mtu"] == 1500
    assert [len(proxies) for proxies in facts["metadata"].values()] == [2]
    assert facts["zone_s"] == 19800


def test_units_have_their_states_at_the_time_of_the_report(ovn):
    units = {unit["unit"]: unit for unit in of(ovn, "compute2").facts["services"]}
    compute = units["nova-compute.service"]
    assert compute["state"] == "running"
    assert 0 < compute["for_s"] < 3600
    assert compute["since"] == pytest.approx(
        Report(str(next((RECORDED / "ovn").glob("*compute2*")))).now - compute["for_s"], abs=1
    )


def test_the_databases_of_ovn_are_stores(ovn):
    databases = of(ovn, "controller1").stores.ovn
    assert (databases.northbound, databases.southbound, databases.northd) == ("active", "active", "active")
    assert databases.version == databases.translated == 2
    assert {chassis.host for chassis in databases.chassis} >= {"compute1", "compute2"}
    port = of(ovn, "controller1").facts["ovn"][OVN_PORT]
    assert port["binding"] == {"host": "compute2", "up": True}
    assert port["dhcp"]["cidr"] == "192.168.222.0/24"


def test_switches_and_links_are_stores(ovn, ovs):
    stores = of(ovn, "compute2").stores
    assert stores.controller == "connected"
    assert stores.switch.settings["ovn-encap-type"] == "geneve"
    assert stores.switch.interface_of([OVN_PORT]).name == "tapc8d41f18-5b"
    assert stores.switch.bridge_of("tapc8d41f18-5b").name == "br-int"
    assert {"eth0", "eth1"} <= {link.name for link in stores.links if link.up}
    assert 6640 in stores.listening
    assert of(ovs, "compute2").stores.switch.interface_of([OVS_PORT]).tag == 1


def test_the_files_of_the_dhcp_agent_are_read(ovs):
    dhcp = of(ovs, "network1").facts["dhcp"][OVS_PORT]
    assert dhcp["directory"] == f"/var/lib/neutron/dhcp/{OVS_NETWORK}"
    assert [entry["address"] for entry in dhcp["hosts"]] == ["192.168.222.64"]
    assert len(dhcp["processes"]) == 1


def test_a_healthy_report_has_nothing_to_complain_of(ovn, ovs):
    for host in (*ovn.hosts, *ovs.hosts):
        assert (host.examination.exhausted, host.examination.reports) == ((), ())


def test_what_a_report_does_not_have_is_named(ovn):
    unread = {entry.what: entry for entry in of(ovn, "compute2").unread}
    assert unread["the trace of DHCP"].kind == "absent"
    assert unread["the trace of DHCP"].reason.startswith("was not collected: ovs-appctl ofproto/trace")
    assert not any(entry.kind == "strange" for host in ovn.hosts for entry in host.unread)


# The router that passes on the requests for metadata, by its namespace and the journal of its proxy

ROUTER = "42468b4a-32d9-42a9-95ac-db14cbf674e0"
ROUTER_PORT = "411c80f5-baca-4beb-ba05-15814d9f4292"
# As ip -d address show prints them in the namespace
ROUTER_LINKS = """\
26: qg-bb33084b-a8: <BROADCAST,MULTICAST,PROMISC,UP,LOWER_UP> mtu 1500 qdisc pfifo_fast state UNKNOWN group default
    link/ether fa:16:3e:f3:7c:3d brd ff:ff:ff:ff:ff:ff promiscuity 1 allmulti 0 minmtu 68 maxmtu 65521
    inet 10.71.17.220/24 brd 10.71.17.255 scope global qg-bb33084b-a8
28: qr-411c80f5-ba: <BROADCAST,MULTICAST,PROMISC,UP,LOWER_UP> mtu 1500 qdisc pfifo_fast state UNKNOWN group default
    link/ether fa:16:3e:d6:a8:91 brd ff:ff:ff:ff:ff:ff promiscuity 1 allmulti 0 minmtu 68 maxmtu 65521
    inet 192.168.222.1/24 brd 192.168.222.255 scope global qr-411c80f5-ba
"""
NAMESPACE = f"sos_commands/networking/namespaces/qrouter-{ROUTER}"
JOURNAL = f"""\
Nov 27 13:08:00 network1 systemd-journald[24]: Journal started
Nov 27 13:11:56 network1 haproxy-metadata-proxy-{ROUTER}[592]: ::ffff:192.168.222.64:51686 [27/Nov/2026:13:11:55.899] \
listener listener/metadata 0/0/0/-1/1021 502 209 - - SH-- 1/1/0/0/0 0/0 "GET /openstack/latest/meta_data.json HTTP/1.1"
Nov 27 13:11:57 network1 haproxy-metadata-proxy-{ROUTER}[592]: ::ffff:192.168.222.65:51686 [27/Nov/2026:13:11:55.899] \
listener listener/metadata 0/0/0/-1/1021 200 209 - - SH-- 1/1/0/0/0 0/0 "GET /openstack/latest/meta_data.json HTTP/1.1"
"""


ADDRESSES = f"{NAMESPACE}/ip_netns_exec_qrouter-{ROUTER}_ip_-d_address_show"


def with_router(folder, links=ROUTER_LINKS, journal=JOURNAL):
    """Read the reports of the lab with agents, and in that of the network host what it shows of a router."""
    shutil.copytree(RECORDED / "ovs", folder / "ovs")
    report = next((folder / "ovs").glob("*network1*"))
    write(report / ADDRESSES, links)
    write(report / "sos_commands/networking/ip_netns", f"qrouter-{ROUTER} (id: 1)\n")
    write(report / "sos_commands/logs/journalctl_--no-pager", journal)
    return read(folder / "ovs", OVS_SERVER)


@pytest.fixture
def routed(tmp_path):
    return with_router(tmp_path)


def proxy_of_router(found):
    return next(proxy for proxy in of(found, "network1").facts["metadata"][OVS_PORT] if proxy["owner"] == ROUTER)


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def test_a_router_is_known_by_the_gateway_in_its_namespace(routed):
    network = routed.instance.networks[0]
    assert network.routers == (ROUTER,)
    router = network.serving[-1]
    assert (router.id, router.owner, router.mac) == (ROUTER_PORT, "network:router_interface", "fa:16:3e:d6:a8:91")
    external = of(routed, "network1").facts["routers"][ROUTER]["external"]
    assert [link["addresses"] for link in external] == [["10.71.17.220"]]


def test_the_proxy_of_a_router_shows_the_requests_of_the_guest_by_the_journal(routed):
    proxy = proxy_of_router(routed)
    assert len(proxy["processes"]) == 1
    assert [(request["status"], request["at"]) for request in proxy["requests"]] == [(502, 1795785116.0)]


def test_a_router_of_another_network_with_the_same_gateway_is_not_taken(tmp_path):
    """The ranges of projects may be the same: the MAC tells their routers apart."""
    found = with_router(tmp_path, ROUTER_LINKS.replace("fa:16:3e:d6:a8:91", "fa:16:3e:00:00:01"))
    assert found.instance.networks[0].routers == ()


def test_a_namespace_that_could_not_be_listed_is_left_out(tmp_path):
    found = with_router(tmp_path, "timeout: failed to run command 'ip': No such file or directory\n")
    assert found.instance.networks[0].routers == ()


@pytest.mark.parametrize(
    "journal",
    [
        # The writer has never logged here.
        JOURNAL.replace("haproxy-metadata-proxy", "haproxy"),
        # It does not reach back to the boot.
        JOURNAL.replace("Nov 27 13:08:00", "Nov 27 13:11:50"),
        "",
    ],
)
def test_a_journal_that_shows_nothing_proves_no_silence(tmp_path, journal):
    assert proxy_of_router(with_router(tmp_path, journal=journal))["requests"] is None


def test_a_config_drive_shows_in_the_domain(tmp_path, ovn):
    assert not ovn.instance.server.config_drive
    shutil.copytree(RECORDED / "ovn", tmp_path / "ovn")
    report = next((tmp_path / "ovn").glob("*compute2*"))
    (domain,) = (path for path in report.rglob("*") if path.is_file() and "<domain" in path.read_text(errors="ignore"))
    source = "<source file='/var/lib/nova/instances/x/disk.config'/>"
    drive = f"<disk type='file' device='cdrom'>{source}<target dev='sda'/></disk>"
    domain.write_text(domain.read_text().replace("</devices>", f"{drive}</devices>"))
    assert read(tmp_path / "ovn", OVN_SERVER).instance.server.config_drive


# What is wrong shows


def change(report, part, old, new):
    path = report / part
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


def test_a_unit_that_has_failed_is_seen(copied):
    top, controller = copied
    blocks = (controller / STACK).read_text().split("\n\n")
    changed = [
        block.replace("ActiveState=active", "ActiveState=failed") if "Id=nova-conductor.service" in block else block
        for block in blocks
    ]
    (controller / STACK).write_text("\n\n".join(changed))
    states = {unit["component"]: unit["state"] for unit in hosts_in(top)["controller1"].facts["services"]}
    assert states["nova-conductor"] == "failed"


def test_a_process_that_is_stopped_is_frozen(copied):
    top, _controller = copied
    compute = next(top.glob("*compute2*"))
    lines = (compute / "sos_commands/process/ps_alxwww").read_text().splitlines()
    stopped = [
        line.replace(" Ssl ", " Tsl ").replace(" Ss ", " Ts ") if "nova-compute" in line else line for line in lines
    ]
    assert stopped != lines
    (compute / "sos_commands/process/ps_alxwww").write_text("\n".join(stopped))
    states = {unit["component"]: unit["state"] for unit in hosts_in(top)["compute2"].facts["services"]}
    assert states["nova-compute"] == "frozen"


# The second peer has not acknowledged what was sent; the fourth line is of the server's end, the last of the kernel.
CONNECTIONS = """\
tcp 0 0 10.71.20.12:58782 10.71.20.12:5672 ESTABLISHED 64060 258798 1083/python3 off (0.00/0/0)
tcp 0 96 10.71.20.12:58784 10.71.20.13:5672 ESTABLISHED 64060 258799 1083/python3 on (0.20/0/0)
tcp 0 0 10.71.20.12:58786 10.71.20.12:5672 ESTABLISHED 64060 258800 1101/python3 off (0.00/0/0)
tcp 0 0 10.71.20.12:6080 10.71.20.9:40112 ESTABLISHED 64060 258801 970/python3 off (0.00/0/0)
tcp 0 0 10.71.20.12:58798 10.71.20.11:6789 ESTABLISHED 0 258802 - off (0.00/0/0)
tcp 0 1 10.71.20.12:58799 10.71.20.14:3306 SYN_SENT 64060 258803 1083/python3 on (0.81/0/0)
tcp 0 36 10.71.20.12:58800 10.71.20.15:5672 ESTABLISHED 64060 258804 1083/python3 on (6.52/4/0)
"""


def test_connections_show_who_answers_and_who_does_not(copied):
    top, controller = copied
    assert hosts_in(top)["controller1"].examination.pending == ()
    (controller / "sos_commands/networking/netstat_-W_-neopa").write_text(CONNECTIONS)
    examination = hosts_in(top)["controller1"].examination
    assert examination.reach == (Reach("rabbitmq", "10.71.20.12", 5672, "open"),)
    assert examination.pending == (
        PendingConnection("python3", "10.71.20.14", 3306, "database"),
        PendingConnection("python3", "10.71.20.15", 5672, "rabbitmq", how="unheard"),
    )


def test_a_full_disk_is_seen(copied):
    top, controller = copied
    path = controller / "sos_commands/filesys/df_-al_-x_autofs"
    lines = path.read_text().splitlines()
    whole = next(line for line in lines if line.endswith(" /"))
    device, size, used, _left, share, target = whole.split()
    path.write_text(
        "\n".join(f"{device} {size} {used} 0 {share} {target}" if line == whole else line for line in lines)
    )
    assert [found.kind for found in hosts_in(top)["controller1"].examination.exhausted] == ["no space"]


def test_the_kernels_errors_count_since_the_boot_was_asked_for(copied):
    top, controller = copied
    path = controller / "sos_commands/kernel/dmesg_-T"
    path.parent.mkdir()
    path.write_text(
        "[Fri Nov 27 11:00:00 2026] Out of memory: Killed process 7 (early) total-vm:1kB\n"
        "[Fri Nov 27 13:12:00 2026] Out of memory: Killed process 8 (mariadbd) total-vm:1kB\n"
    )
    assert [found.where for found in hosts_in(top)["controller1"].examination.exhausted] == ["mariadbd"]


def test_the_alarms_of_the_broker_are_seen(copied):
    top, controller = copied
    report = "sos_commands/rabbitmq/rabbitmqctl_report"
    change(controller, report, "Alarms\n\n(none)", "Alarms\n\nMemory alarm on node rabbit@localhost")
    change(controller, report, "Running Nodes\n\nrabbit@localhost", "Running Nodes\n\n(none)")
    reports = {(found.component, found.text) for found in hosts_in(top)["controller1"].examination.reports}
    assert reports == {
        ("rabbitmq", "alarm: memory"),
        ("rabbitmq", "node rabbit@localhost of the cluster does not run"),
    }


def test_queues_that_nobody_empties_are_seen(copied):
    top, controller = copied
    path = controller / "sos_commands/rabbitmq/rabbitmqctl_report"
    lines = path.read_text().splitlines()
    columns = next(line for line in lines if line.startswith("name\tdurable")).split("\t")
    queue = next(line for line in lines if line.startswith("conductor\t"))
    words = queue.split("\t")
    words[columns.index("consumers")], words[columns.index("messages_ready")] = "0", "12"
    path.write_text("\n".join("\t".join(words) if line == queue else line for line in lines))
    found = hosts_in(top)["controller1"].examination.queues
    assert [(one.name, one.ready, one.consumers) for one in found] == [("conductor", 12, 0)]


def test_queues_that_get_no_messages_are_seen(copied):
    """The title has no space before the dots, as RabbitMQ 4.0 prints it."""
    top, controller = copied
    path = controller / "sos_commands/rabbitmq/rabbitmqctl_report"
    rows = [
        ("source_name", "source_kind", "destination_name", "destination_kind", "routing_key", "arguments"),
        *(("", "exchange", name, "queue", name, "[]") for name in ("conductor", "scheduler", "reply_1d")),
        ("nova", "exchange", "conductor", "queue", "conductor", "[]"),
    ]
    listing = "\n".join("\t".join(row) for row in rows)
    path.write_text(f"{path.read_text()}\nListing bindings for vhost /...\n{listing}\n")
    reports = [found.text for found in hosts_in(top)["controller1"].examination.reports]
    assert reports == ["no exchange is bound to the queue scheduler"]


def test_a_port_that_no_host_has_taken_is_seen(copied):
    top, controller = copied
    path = controller / "sos_commands/ovn_central/ovn-sbctl_--no-leader-only_list_Port_Binding"
    blocks = path.read_text().split("\n\n")
    unbound = [
        "\n".join("chassis             : []" if line.startswith("chassis ") else line for line in block.splitlines())
        if OVN_PORT in block
        else block
        for block in blocks
    ]
    path.write_text("\n\n".join(unbound))
    assert hosts_in(top)["controller1"].facts["ovn"][OVN_PORT]["binding"]["host"] is None


# Ceph: sos of Debian has no plugin for it, so its answers were put where that of others puts them.


@pytest.fixture
def with_ceph(copied):
    top, controller = copied
    answers = controller / "sos_commands/ceph_mon/json_output"
    answers.mkdir(parents=True)
    (controller / "etc/ceph").mkdir()
    for name in ("health_detail", "osd_dump"):
        shutil.copy(RECORDED / f"ceph_{name}.json", answers / f"ceph_{name}_--format_json-pretty")
    return top, answers


def test_ceph_is_asked_where_its_answers_are(with_ceph):
    top, _answers = with_ceph
    host = hosts_in(top)["controller1"]
    assert "ceph" in host.parts
    assert host.facts["ceph"]["health"]["status"] == "HEALTH_OK"
    assert set(host.facts["ceph"]["osds"].values()) == {True}


def test_an_ill_cluster_of_ceph_is_seen(with_ceph):
    top, answers = with_ceph
    path = answers / "ceph_health_detail_--format_json-pretty"
    health = json.loads(path.read_text())
    check = {"severity": "HEALTH_ERR", "summary": {"message": "1 full osd(s)", "count": 1}, "muted": False}
    path.write_text(json.dumps({**health, "status": "HEALTH_ERR", "checks": {"OSD_FULL": check}}))
    assert hosts_in(top)["controller1"].facts["ceph"]["health"] == {
        "status": "HEALTH_ERR",
        "checks": {"OSD_FULL": "1 full osd(s)"},
    }


# Reports that are damaged, old, or not to be trusted


def test_a_report_without_a_manifest_is_read(copied):
    top, controller = copied
    shutil.rmtree(controller / "sos_reports")
    host = hosts_in(top)["controller1"]
    assert {unit["state"] for unit in host.facts["services"]} == {"running"}
    assert host.stores.ovn.northbound == "active"


def test_an_error_is_not_taken_for_a_table(copied):
    """A host without OVN's databases says so in the file of each table."""
    top, _controller = copied
    compute = next(top.glob("*compute2*"))
    shutil.rmtree(compute / "sos_reports")
    assert "ovn" not in hosts_in(top)["compute2"].facts or hosts_in(top)["compute2"].facts["ovn"] is None
    assert hosts_in(top)["compute2"].stores.ovn is None


@pytest.mark.parametrize(
    "content", ["", "[]", '{"components": 5}', '{"components": {"report": {"plugins": [1]}}}', "{"]
)
def test_a_damaged_manifest_does_no_harm(copied, content):
    top, controller = copied
    (controller / "sos_reports/manifest.json").write_text(content)
    assert hosts_in(top)["controller1"].facts["services"]


def test_a_link_out_of_the_report_is_not_followed(copied, tmp_path):
    top, controller = copied
    secret = tmp_path / "secret.conf"
    secret.write_text("[DEFAULT]\nword = planted\n")
    (controller / "etc/nova/more.conf").symlink_to(secret)
    shutil.rmtree(controller / "etc/neutron")
    (controller / "etc/neutron").symlink_to(tmp_path)
    report = Report(str(controller))
    assert report.copy_of("/etc/nova/more.conf") is None
    assert report.copy_of("/etc/neutron/secret.conf") is None
    assert report.copy_of("/../../secret.conf") is None
    assert "planted" not in json.dumps([str(host) for host in hosts_in(top).values()])


@pytest.mark.parametrize(
    "part",
    [
        STACK,
        "sos_commands/process/ps_alxwww",
        "sos_commands/networking/ip_-d_address",
        "sos_commands/filesys/df_-al_-x_autofs",
        "sos_commands/rabbitmq/rabbitmqctl_report",
        "sos_commands/ovn_central/ovn-nbctl_--no-leader-only_list_Logical_Switch_Port",
        "sos_commands/dpkg/dpkg_-l",
    ],
)
@pytest.mark.parametrize("content", ["", "\x00\x01", "word", "a: b\n" * 3, "{[("])
def test_a_damaged_file_is_named_or_says_nothing(copied, part, content):
    """Whatever is in a file, the rest of the report is read."""
    top, controller = copied
    (controller / part).write_text(content)
    host = hosts_in(top)["controller1"]
    assert host.host == "controller1"
    assert host.stores.links is not None or part.endswith("ip_-d_address")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("<memory unit='KiB'>131072", "<memory unit='KiB'>much"),
        ("<vcpu", "<other"),
        ("</domain>", ""),
        ("<uuid>", "\udcff"),
    ],
)
def test_a_damaged_domain_is_named_and_the_rest_is_read(copied, old, new):
    top, _controller = copied
    (path,) = top.glob("*compute2*/sos_commands/virsh/virsh_-r_dumpxml_instance-*")
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new), errors="surrogateescape")
    found = read(top, OVN_SERVER)
    assert found.instance.ports
    assert of(found, "compute2").stores.switch is not None


def test_of_two_reports_of_a_host_the_newest_shows_how_it_is(copied):
    top, controller = copied
    older = top / "sosreport-controller1-2026-11-26-aaaaaaa"
    shutil.copytree(controller, older)
    manifest = older / "sos_reports/manifest.json"
    manifest.write_text(manifest.read_text().replace('"start_time": 17957851', '"start_time": 17956851'))
    (older / STACK).write_text("")
    hosts = hosts_in(top)
    assert len(hosts) == 2
    (host,) = (host for name, host in hosts.items() if "controller1" in name)
    assert host.facts["services"]


def test_a_bundle_without_reports_shows_no_hosts(tmp_path):
    (tmp_path / "compute1/var/log/nova").mkdir(parents=True)
    (tmp_path / "compute1/var/log/nova/nova-compute.log").write_text("x\n")
    assert read(tmp_path, OVN_SERVER) == reading.Reported()


def test_without_a_boot_the_hosts_are_read_all_the_same():
    places = places_in(str(RECORDED / "ovn"))
    found = reading.read(places, replace(bundle_about(OVN_SERVER), boot=None), [profile_of("packages")])
    assert found.instance is None
    assert all(host.facts["services"] and host.stores for host in found.hosts)


def test_no_command_is_run_and_an_unknown_one_is_named():
    host = host_of(Report(str(next((RECORDED / "ovn").glob("*compute2*")))))
    assert host.attempt("the answer", lambda asked: asked.ask(None, "reboot")) is None
    assert host.unread[0].kind == "absent"
    assert not ceph.has_answers(Report(str(Path(RECORDED))))
