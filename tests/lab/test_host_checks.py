# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Host truth: the hosts are read beside the run, and each check fails where the hosts do not agree with the API.

One instance serves nearly all: each fault is made behind nova's back, seen, and put right again.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shlex
import subprocess
import sys
import time
import uuid
from datetime import datetime
from types import SimpleNamespace

import jsonschema
import pytest
from breaking import traits_of
from lab_under_test import GROUPS, INVENTORY, connect, until
from runs_under_test import kept_run, verify
from tree import ROOT

GOLD, OLD = "CUSTOM_STACKPROOF_GOLD", "CUSTOM_STACKPROOF_OLD"
SUITE = ROOT / "roles/host_checks/files"
SCHEMA = ROOT / "roles/report/files/run.schema.json"
HOME = "The domain runs where nova says that it does, and on no other host"
SIZE = "It has the processors and the memory of its flavor"
TRAITS = "It runs where Placement knows each trait that its flavor requires, and none that it forbids"
ROOT_DISK = "Its root disk is its own RBD image, with a secret that libvirt has"
VOLUMES = "Each volume that the API says is attached is a disk with the volume's id"
ENCRYPTION = "A volume of a type that encrypts is decrypted by QEMU, with a secret that libvirt has"
SHARING = "A volume of a type for several servers is a disk that others may have as well"
TAPS = "The tap of each port is up, on br-int with the port's id, with the network's MTU"
PARENT = "The root disk is a clone of the Glance image's snapshot, where Glance shows where its image lies"
ORIGIN = "The Glance image is an image in Ceph and has the snapshot that Glance names, where Glance shows it"
WATCHERS = "Each image is open once, on the compute host"
OSDS = "The OSDs that hold the headers of its images are up"
HEALTH = "The cluster is no worse than before the run"
DNSMASQ = "One dnsmasq runs for each network of the instance"
HOST_FILE = "The agent's host file has the port's MAC and address"
LEASE = "The lease of the port is there and current"
ACK = "dnsmasq's log has an ACK of the port's address to its MAC"
OPTIONS = "dnsmasq gives out the gateway, the routes and the MTU that Neutron says"
PROXY = "A metadata proxy of the network or its router runs, and has answered the instance's last request"
ROUTER = "A network host has the router of each floating IP, with rules that translate it both ways"
ARP = "The router has each floating IP on its outer side, and it is the one that answered ARP for it"
BINDING = "Each port is up in both databases, and bound to the chassis of the host that nova says"
ADDRESSES = "Each port has the MAC and the addresses that Neutron says"
DHCP = "ovn-controller gives out the gateway, the routes and the MTU that Neutron says"
GROUPS_OF_PORT = "Each security group of a port is a port group that has the port, with an ACL for each rule"
FLOATING = "Each floating IP is a NAT rule of a router, and a chassis has the gateway port of that router"
ARP_OF_OVN = "Each floating IP was answered by the MAC that OVN gives it, or else by that of the router's gateway"
PROXY_OF_OVN = (
    "With OVN a metadata proxy of each network runs on this host, and has answered the instance's last request"
)
LISTED = "One compute host of the inventory is the one that nova says runs the instance"
RUNNING = {
    HOME,
    SIZE,
    ROOT_DISK,
    VOLUMES,
    ENCRYPTION,
    TAPS,
    PARENT,
    ORIGIN,
    WATCHERS,
    OSDS,
    HEALTH,
    DNSMASQ,
    HOST_FILE,
    LEASE,
    ACK,
    OPTIONS,
    PROXY,
    ROUTER,
    ARP,
}
OF_OVN = {BINDING, ADDRESSES, DHCP, GROUPS_OF_PORT, FLOATING, ARP_OF_OVN, PROXY_OF_OVN}


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    return tmp_path_factory.mktemp("runs")


@pytest.fixture(scope="module")
def kept(runs):
    """A run with the lab's inventory whose instance stays, with a floating IP and an encrypted volume."""
    given = {"floating_ip": "true", "tcp_port": "80", "volume_type": "encrypted"}
    with kept_run(runs, "-i", str(INVENTORY), **given) as outcome:
        yield outcome


@pytest.fixture(scope="module")
def there(kept, lab_hosts):
    """The kept instance: its hosts, and the names that things have there."""
    instance = kept.record["instance"]
    home = next(host for host in kept.record["hosts"] if host["facts"].get("domain"))
    port = instance["ports"][0]
    return SimpleNamespace(
        record=kept.record,
        server=instance["server"]["id"],
        port=port,
        home=lab_hosts[home["host"]],
        home_name=home["host"],
        away_name=next(name for name in GROUPS["compute"] if name != home["host"]),
        away=lab_hosts[next(name for name in GROUPS["compute"] if name != home["host"])],
        network=lab_hosts[GROUPS["network"][0]],
        tap=home["facts"]["domain"]["interfaces"][0]["tap"],
        process=home["facts"]["domain"]["process"]["pid"],
        dhcp=f"/var/lib/neutron/dhcp/{port['network']}",
        router=f"qrouter-{instance['networks'][0]['routers'][0]}",
    )


def checks(directory, tmp_path, phase="running", inventory=INVENTORY, **variables):
    """Run the suite as an operator does. Returns (host, check) of what is not well, with status and reason."""
    results = tmp_path / "checks.json"
    given = {"STACKPROOF_RUN": str(directory), "LC_ALL": "C.UTF-8", **variables}
    pytest_words = [sys.executable, "-m", "pytest", "-q", "--tb=line", "-p", "no:cacheprovider", SUITE / phase]
    options = ["--hosts=ansible://all", f"--ansible-inventory={inventory}", f"--checks-file={results}"]
    done = subprocess.run(
        [*pytest_words, *options],
        env={**os.environ, **given},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )
    assert done.returncode in (0, 1), done.stdout + done.stderr
    outcomes = json.loads(results.read_text())
    wrong = {outcome["check"]: outcome for outcome in outcomes if outcome["status"] not in ("ok", "not_applicable")}
    assert bool(wrong) == bool(done.returncode)
    return wrong


@pytest.fixture
def look(kept, tmp_path):
    return lambda **more: checks(kept.directory, tmp_path, **more)


@contextlib.contextmanager
def changed_file(host, path, command):
    """Change a file in its place, and put its content back."""
    host.check_output(f"cp --preserve=all {path} {path}.kept && {command}")
    try:
        yield
    finally:
        host.check_output(f"cat {path}.kept > {path} && rm {path}.kept")


@pytest.mark.soak  # seconds mean something on a machine that does nothing else
def test_the_hosts_are_read_in_time(kept):
    """15 s for what the hosts know, and 20 for what their logs say of the run."""
    begun, ended = (datetime.fromisoformat(kept.record["evidence"][name]) for name in ("started", "finished"))
    assert (ended - begun).total_seconds() < 35


def test_a_run_reads_every_host_and_all_agree(kept):
    record = kept.record
    jsonschema.Draft202012Validator(json.loads(SCHEMA.read_text())).validate(record)
    hosts = {host["host"]: host for host in record["hosts"]}
    expected = {host for group in ("controller", "compute", "network", "storage") for host in GROUPS[group]}
    assert set(hosts) == expected | {"localhost"}
    for name in expected:
        assert (hosts[name]["status"], hosts[name]["unread"]) == ("read", [])
        assert abs(hosts[name]["clock_offset_s"]) <= hosts[name]["clock_error_s"] + 0.05  # one machine, one clock
        assert hosts[name]["clock_error_s"] < 0.5
    made = {check["check"]: check["status"] for host in record["hosts"] for check in host["checks"]}
    assert made == dict.fromkeys([*RUNNING, LISTED], "ok") | dict.fromkeys([*OF_OVN, SHARING, TRAITS], "not_applicable")
    assert "host checks passed" in record["verdict"]["reason"]


def test_a_plain_member_is_told_the_host_by_its_hash(kept, there):
    assert kept.record["instance"]["server"]["host"] is None
    assert there.home.check_output("hostname") == there.home_name


def test_all_is_well_for_a_server_by_its_id_too(there, look):
    """Also with an administrator's rights, who sees the host's name."""
    for more in ({}, {"STACKPROOF_ADMIN_CLOUD": "lab-admin"}):
        clouds = str(INVENTORY.parent / "clouds.yaml")
        assert not look(STACKPROOF_SERVER=there.server, OS_CLOUD="lab", OS_CLIENT_CONFIG_FILE=clouds, **more)


def changes(hosts, act):
    """The files that change on the hosts while something is done."""
    places = "/etc /home /opt /root /srv /tmp /usr /var"
    try:
        for host in hosts.values():
            host.check_output("touch /root/before && sleep 0.01")
        act()
        return {
            f"{name}:{path}"
            for name, host in hosts.items()
            for path in host.check_output(f"find {places} -xdev -newer /root/before ! -type d").splitlines()
        }
    finally:
        for host in hosts.values():
            host.check_output("rm -f /root/before")


@pytest.mark.soak
def test_nothing_changes_on_the_hosts(kept, look, lab_hosts, tmp_path):
    """But what the system itself logs, and what the services write all the time."""
    playbook = tmp_path / "read.yml"
    playbook.write_text(READ.replace("RUN", str(kept.directory)))

    def act():
        done = subprocess.run(
            ["ansible-playbook", "-i", INVENTORY, playbook], cwd=ROOT, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout
        assert not look()

    # An OSD writes into its disk when a guest does, and at times by itself; nova-compute says at times that it lives.
    logs = r":/var/log/|:/var/lib/systemd/|:/var/lib/sudo/|:/var/lib/ceph/osd/[^/]+/block$|/instances/compute_nodes$"
    changed = {place for place in changes(lab_hosts, act) if not re.search(logs, place)}
    # Databases write all the time, each time into other files.
    usual = {place.rpartition("/")[0] for place in changes(lab_hosts, lambda: time.sleep(20))} if changed else set()
    assert {place for place in changed if place.rpartition("/")[0] not in usual} == set()


READ = """
- hosts: all
  gather_facts: false
  vars:
    stackproof_platform_profile: "{{ 'packages' | stackproof.provision.profile_of }}"
  tasks:
    - stackproof.provision.clock_info:
    - stackproof.provision.flow_info:
        run_dir: RUN
        flows: "{{ query('fileglob', lookup('env', 'PWD') ~ '/roles/flow/files/flows/*.yml') }}"
      delegate_to: localhost
      run_once: true
      vars: {ansible_python_interpreter: "{{ ansible_playbook_python }}"}
      register: to_follow
    - stackproof.provision.evidence_info:
        instance: "{{ (lookup('file', 'RUN/run.json') | from_json).instance }}"
        parts: "{{ group_names | stackproof.provision.parts_of(stackproof_platform_profile) }}"
        platform: "{{ stackproof_platform_profile }}"
        wanted: "{{ to_follow.wanted }}"
"""


@pytest.mark.soak
def test_a_paused_domain(there, look):
    there.home.check_output(f"virsh suspend {there.server}")
    try:
        wrong = look()
    finally:
        there.home.check_output(f"virsh resume {there.server}")
    assert set(wrong) == {HOME}
    assert wrong[HOME]["host"] == there.home_name
    assert "is paused (user), not running" in wrong[HOME]["reason"]


def test_a_second_domain_of_the_same_uuid_on_the_other_host(there, look):
    path = "/tmp/second.xml"
    parts = f"<name>second</name><uuid>{there.server}</uuid><memory>1024</memory><os><type>hvm</type></os>"
    xml = f"<domain type='qemu'>{parts}</domain>"
    there.away.check_output(f'echo "{xml}" > {path} && virsh define {path}')
    try:
        wrong = look()
    finally:
        there.away.check_output(f"virsh undefine {there.server} && rm {path}")
    assert set(wrong) == {HOME}
    assert wrong[HOME]["host"] == there.away_name
    assert "though nova says it is on another host" in wrong[HOME]["reason"]


@pytest.mark.soak
def test_a_secret_that_libvirt_does_not_have(there, look):
    secret = there.home.check_output("virsh secret-list | grep ceph").split()[0]
    there.home.check_output(f"virsh secret-undefine {secret}")
    try:
        wrong = look()
    finally:
        there.home.check_output(". /etc/stackproof-lab/ceph-secret.sh")
    assert set(wrong) == {ROOT_DISK, VOLUMES}
    assert f"needs the secret {secret}, which libvirt there does not have" in wrong[ROOT_DISK]["reason"]


def test_the_secret_of_an_encrypted_volume_that_libvirt_does_not_have(there, look):
    secret = there.home.check_output("virsh secret-list | grep volume").split()[0]
    definition = there.home.check_output(f"virsh secret-dumpxml {secret}")
    value = there.home.check_output(f"virsh secret-get-value {secret}")
    there.home.check_output(f"virsh secret-undefine {secret}")
    try:
        wrong = look()
    finally:
        there.home.check_output(f"echo {shlex.quote(definition)} | virsh secret-define /dev/stdin")
        there.home.check_output(f"virsh secret-set-value {secret} {value}")
    assert set(wrong) == {ENCRYPTION}
    assert f"needs the secret {secret}, which libvirt there does not have" in wrong[ENCRYPTION]["reason"]


def test_an_encrypted_volume_begins_with_a_header_of_luks(there, storage):
    (volume,) = there.record["instance"]["volumes"]
    header = storage.run(f"rbd export --no-progress volumes/volume-{volume} - | head -c 6").stdout_bytes
    assert header == b"LUKS\xba\xbe"


def test_a_volume_for_several_servers_that_is_not_shareable(there, tmp_path):
    record = json.loads(json.dumps(there.record))
    (stage,) = [stage for stage in record["stages"] if stage["stage"] == "volume"]
    stage["details"]["volume"]["multiattach"] = True
    (tmp_path / "run.json").write_text(json.dumps(record))
    wrong = checks(tmp_path, tmp_path)
    assert set(wrong) == {SHARING}
    assert "is not shareable" in wrong[SHARING]["reason"]


@pytest.mark.parametrize(("word", "has"), [("required", []), ("forbidden", [GOLD])])
def test_a_host_without_the_traits_of_the_flavor(word, has, there, tmp_path):
    record = json.loads(json.dumps(there.record))
    record["instance"]["server"]["traits"] = {GOLD: word}
    record["instance"].update(provider_traits=has, allocations=1)
    (tmp_path / "run.json").write_text(json.dumps(record))
    wrong = checks(tmp_path, tmp_path)
    assert set(wrong) == {TRAITS}
    assert f"has {GOLD} {word}" in wrong[TRAITS]["reason"]


@pytest.fixture
def gold():
    """A flavor that requires a trait, and forbids another one, with the host that has the first."""
    admin = connect("lab-admin")
    placement, home = admin.placement, GROUPS["compute"][1]
    put = traits_of(placement, home)
    for trait in (GOLD, OLD):
        placement.put(f"/traits/{trait}", microversion="1.6").raise_for_status()
    put(set.union, GOLD)
    flavor = admin.compute.create_flavor(name="gold", ram=128, vcpus=1, disk=1)
    try:
        admin.compute.create_flavor_extra_specs(flavor, {f"trait:{GOLD}": "required", f"trait:{OLD}": "forbidden"})
        yield home
    finally:
        admin.compute.delete_flavor(flavor)
        put(set.difference, GOLD)
        for trait in (GOLD, OLD):
            placement.delete(f"/traits/{trait}", microversion="1.6")


def test_a_flavor_with_traits_runs_where_placement_knows_them(gold, runs):
    given = {"image": "probe", "flavor": "gold", "volume": "none", "admin_cloud": "lab-admin"}
    record = verify(runs, "-i", str(INVENTORY), **given).record
    assert record["verdict"]["result"] == "pass", record["verdict"]["reason"]
    assert record["instance"]["server"]["host"] == gold
    found = {check["check"]: check["status"] for host in record["hosts"] for check in host["checks"]}
    assert found[TRAITS] == "ok"


def test_a_tap_taken_off_its_bridge(there, look):
    ids = {"iface-id": there.port["id"], "attached-mac": there.port["mac"], "vm-uuid": there.server}
    external = " ".join(
        f'external_ids:{name}=\\"{value}\\"' for name, value in {**ids, "iface-status": "active"}.items()
    )
    there.home.check_output(f"ovs-vsctl del-port br-int {there.tap}")
    try:
        wrong = look()
    finally:
        there.home.check_output(f"ovs-vsctl add-port br-int {there.tap} -- set Interface {there.tap} {external}")
    assert set(wrong) == {TAPS}
    assert wrong[TAPS]["reason"].startswith(f"Open vSwitch on {there.home_name} has no interface for the port")
    until("the agent wires the tap again", lambda: not look(), 60, 3)


@pytest.mark.soak
def test_a_tap_that_is_down(there, look):
    there.home.check_output(f"systemctl stop lab-taps && ip link set {there.tap} down")
    try:
        wrong = look()
    finally:
        there.home.check_output(f"ip link set {there.tap} up && systemctl start lab-taps")
    assert set(wrong) == {TAPS}
    assert f"{there.tap} on {there.home_name} is down" in wrong[TAPS]["reason"]


@contextlib.contextmanager
def under_another_name(storage, image):
    """An image of Ceph that is called otherwise for a while."""
    storage.check_output(f"rbd rename {image} {image}.away")
    try:
        yield
    finally:
        storage.check_output(f"rbd rename {image}.away {image}")


def test_a_root_disk_that_ceph_does_not_have_under_its_name(there, look, storage):
    image = f"vms/{there.server}_disk"
    with under_another_name(storage, image):
        wrong = look()
    assert set(wrong) == {PARENT, WATCHERS}
    assert wrong[PARENT]["reason"] == f"Ceph has no image {image}"


@pytest.mark.soak
def test_an_image_of_glance_that_ceph_does_not_have_under_its_name(there, look, storage):
    image = f"images/{there.record['instance']['image']['id']}"
    with under_another_name(storage, image):
        wrong = look()
    assert set(wrong) == {PARENT, ORIGIN}
    assert wrong[ORIGIN]["reason"] == f"Ceph has no image {image}, of which Glance says that it is there"


@pytest.mark.soak
def test_a_router_that_does_not_translate_what_goes_out(there, look):
    chain, inside = "neutron-l3-agent-float-snat", f"ip netns exec {there.router}"
    saved = there.network.check_output(f"{inside} iptables-save --table=nat | grep '^-A {chain} '")
    rule = saved.strip().removeprefix("-A ")
    there.network.check_output(f"{inside} iptables --table nat -D {rule}")
    try:
        wrong = look()
    finally:
        there.network.check_output(f"{inside} iptables --table nat -A {rule}")
    assert set(wrong) == {ROUTER}
    assert f"no host translates {there.port['floating_ips'][0]} to" in wrong[ROUTER]["reason"]


def test_a_floating_ip_that_nobody_answers_for(there, look):
    address, inside = there.port["floating_ips"][0], f"ip -netns {there.router}"
    outer = there.network.check_output(f"{inside} -brief link | grep -o '^qg-[^@ ]*'").strip()
    there.network.check_output(f"{inside} address del {address}/32 dev {outer}")
    try:
        wrong = look()
    finally:
        there.network.check_output(f"{inside} address add {address}/32 brd {address} dev {outer}")
    assert set(wrong) == {ARP}
    assert "so nobody answers ARP for it" in wrong[ARP]["reason"]


@pytest.mark.soak
def test_a_floating_ip_that_another_one_answered_for(kept, there, look):
    """As if somebody outside had the same address: the run heard another MAC."""
    path = kept.directory / "run.json"
    heard = next(stage["details"]["reached"]["mac"] for stage in there.record["stages"] if stage["stage"] == "metadata")
    text = path.read_text()
    path.write_text(text.replace(heard, "02:00:00:00:00:01"))
    try:
        wrong = look()
    finally:
        path.write_text(text)
    assert set(wrong) == {ARP}
    assert f"02:00:00:00:00:01 answered ARP for {there.port['floating_ips'][0]}" in wrong[ARP]["reason"]


@pytest.mark.soak
def test_a_frozen_emulator_has_its_images_no_longer_open(there, look):
    there.home.check_output(f"kill -STOP {there.process}")
    try:
        status = f"rbd status vms/{there.server}_disk"
        until("Ceph misses the watcher", lambda: "none" in there.home.check_output(f"{status} --id cinder"), 60, 1)
        wrong = look()
    finally:
        there.home.check_output(f"kill -CONT {there.process}")
    assert set(wrong) == {WATCHERS}
    assert "is open 0 times (by nobody), not once" in wrong[WATCHERS]["reason"]
    until("the emulator watches its images again", lambda: not look(), 60, 3)


@pytest.mark.soak
def test_a_dead_osd(look, storage):
    storage.check_output("systemctl stop ceph-osd@0 && ceph osd down 0")
    try:
        wrong = look()
    finally:
        storage.check_output("systemctl reset-failed ceph-osd@0; systemctl start ceph-osd@0")
    assert set(wrong) == {PARENT, ORIGIN, WATCHERS, OSDS, HEALTH}
    assert {wrong[name]["status"] for name in (PARENT, ORIGIN, WATCHERS)} == {"unreadable"}
    assert "hangs: sudo -n rbd" in wrong[PARENT]["reason"]
    assert "the OSDs 0 are down" in wrong[OSDS]["reason"]
    assert "Ceph was HEALTH_OK before the run and is HEALTH_WARN now" in wrong[HEALTH]["reason"]
    until("Ceph is well", lambda: "HEALTH_OK" in storage.check_output("ceph health"), 90, 2)


@pytest.mark.soak
def test_no_dnsmasq_and_no_metadata_proxy(there, look):
    """Their agents would start them again within a minute. The router's proxy does not end with its agent."""
    there.network.check_output("systemctl stop neutron-dhcp-agent neutron-l3-agent; pkill haproxy || true")
    try:
        wrong = look()
    finally:
        there.network.check_output("systemctl start neutron-dhcp-agent neutron-l3-agent")
    assert set(wrong) == {DNSMASQ, PROXY}
    assert f"runs 0 dnsmasq for the network {there.port['network']}" in wrong[DNSMASQ]["reason"]
    assert "no host runs a metadata proxy for" in wrong[PROXY]["reason"]
    assert there.port["network"] in wrong[PROXY]["reason"]
    until("the agents start them again", lambda: not look(), 90, 3)


@pytest.mark.soak
def test_a_lease_file_that_is_empty(there, look):
    with changed_file(there.network, f"{there.dhcp}/leases", f": > {there.dhcp}/leases"):
        wrong = look()
    assert set(wrong) == {LEASE}
    assert f"has no lease of ['{there.port['addresses'][0]}'] for {there.port['mac']}" in wrong[LEASE]["reason"]


def test_a_host_file_without_the_port(there, look):
    with changed_file(there.network, f"{there.dhcp}/host", f"sed -i /{there.port['mac']}/d {there.dhcp}/host"):
        wrong = look()
    assert set(wrong) == {HOST_FILE}
    assert f"has no line for {there.port['mac']}" in wrong[HOST_FILE]["reason"]


@pytest.mark.soak
def test_another_gateway_than_neutron_says(there, look):
    with changed_file(
        there.network, f"{there.dhcp}/opts", f"sed -i s/option:router,.*/option:router,10.9.9.9/ {there.dhcp}/opts"
    ):
        wrong = look()
    assert set(wrong) == {OPTIONS}
    assert "gives the router ['10.9.9.9']" in wrong[OPTIONS]["reason"]


@pytest.mark.soak
def test_what_the_api_says_otherwise(there, tmp_path):
    """Another flavor, a volume more, and a boot after all that the logs have."""
    record = json.loads(json.dumps(there.record))
    volume = str(uuid.uuid4())
    record["instance"]["server"].update(vcpus=3, created="2036-01-01T00:00:00Z")
    record["instance"]["volumes"].append(volume)
    (tmp_path / "run.json").write_text(json.dumps(record))
    wrong = checks(tmp_path, tmp_path)
    assert set(wrong) == {SIZE, VOLUMES, ACK, PROXY}
    assert wrong[SIZE]["reason"].endswith("has 1 processors and 128 MiB, its flavor 3 and 128")
    assert f"has no disk for the volume {volume}" in wrong[VOLUMES]["reason"]
    assert "has sent no ACK" in wrong[ACK]["reason"]
    assert "nothing, but no ACK" in wrong[ACK]["reason"]
    assert "has had no request of" in wrong[PROXY]["reason"]


@pytest.mark.soak
def test_verify_fails_where_the_hosts_do_not_agree(runs, tmp_path):
    """And it names the host, cleans up all the same, and says which check it was."""
    inventory = tmp_path / "inventory.yml"
    lines = INVENTORY.read_text()
    for name in GROUPS["compute"]:
        lines = lines.replace(f"        {name}:\n", "")
    inventory.write_text(
        lines.replace("    compute:\n      hosts:\n", f"    compute:\n      hosts:\n        {GROUPS['network'][0]}:\n")
    )
    outcome = verify(runs, "-i", str(inventory))
    assert outcome.status != 0
    verdict = outcome.record["verdict"]
    assert (verdict["result"], outcome.record["leftovers"]) == ("fail", [])
    assert verdict["reason"].startswith("All stages worked, but the hosts do not agree with the API: nova says that")
    assert f"FAIL: {verdict['reason']}" in outcome.output


def test_an_inventory_without_the_host(there, look, tmp_path):
    inventory = tmp_path / "inventory.yml"
    inventory.write_text(INVENTORY.read_text().replace(f"        {there.home_name}:\n", ""))
    wrong = look(inventory=inventory)
    assert set(wrong) == {LISTED}
    assert "the inventory's compute hosts are" in wrong[LISTED]["reason"]


@pytest.mark.soak
def test_hosts_by_other_names_are_known_by_what_they_call_themselves(there, look, tmp_path):
    inventory = tmp_path / "inventory.yml"
    inventory.write_text(INVENTORY.read_text().replace(there.home_name, "kvm-9"))
    assert not look(inventory=inventory)


def test_a_command_that_sudo_refuses_is_named(there, look):
    rule = "/etc/sudoers.d/zz-refused"
    there.home.check_output(f"echo 'stack ALL=(ALL) NOPASSWD: ALL, !/usr/bin/ovs-vsctl' > {rule}")
    try:
        wrong = look()
    finally:
        there.home.check_output(f"rm {rule}")
    assert set(wrong) == {TAPS}
    assert wrong[TAPS]["status"] == "unreadable"
    assert "sudo refuses: sudo -n ovs-vsctl" in wrong[TAPS]["reason"]


def test_a_host_that_cannot_be_reached_is_named(look, tmp_path):
    inventory = tmp_path / "inventory.yml"
    lines = INVENTORY.read_text().replace(
        "  children:\n", "    far:\n      ansible_host: 127.0.0.1\n      ansible_port: 1\n  children:\n"
    )
    inventory.write_text(lines.replace("    compute:\n      hosts:\n", "    compute:\n      hosts:\n        far:\n"))
    wrong = look(inventory=inventory)
    assert set(wrong) == {HOME}
    assert (wrong[HOME]["host"], wrong[HOME]["status"]) == ("far", "unreadable")
    assert wrong[HOME]["reason"].startswith("far cannot be reached: ")


def test_what_is_still_there_is_found_where_nothing_should_be(look):
    wrong = look(phase="removed", STACKPROOF_SETTLE="0")
    assert len(wrong) == 6
    reasons = " ".join(outcome["reason"] for outcome in wrong.values())
    for part in (
        "libvirt still has",
        "Open vSwitch still has",
        "Ceph still has",
        "still have a line of",
        "haproxy still runs",
        "the namespace of the router",
    ):
        assert part in reasons


@pytest.mark.soak
def test_a_root_disk_that_is_no_clone_any_more(there, look, storage):
    storage.check_output(f"rbd flatten --no-progress vms/{there.server}_disk")
    wrong = look()
    assert set(wrong) == {PARENT}
    assert "stands on None, not on images/" in wrong[PARENT]["reason"]


@pytest.mark.soak
def test_a_domain_destroyed_behind_the_back_of_nova(there, look):
    """The last one, as nova may notice it and stop the server."""
    there.home.check_output(f"virsh destroy {there.server}")
    wrong = look()
    assert {HOME, WATCHERS, TAPS} <= set(wrong)
    assert "is shut off (destroyed), not running" in wrong[HOME]["reason"]
