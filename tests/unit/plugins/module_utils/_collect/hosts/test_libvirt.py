# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""An instance as libvirt and the kernel of a recorded compute host show it, and a host without the instance."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET

import pytest
from ansible_collections.stackproof.provision.plugins.module_utils._collect.hosts import libvirt
from ansible_collections.stackproof.provision.plugins.module_utils._model.codec import to_json
from recorded_hosts import printed
from tree import RECORDED

UUID = "8585247f-547f-46d6-8c03-334064b2be45"
VOLUME = "c08c8d35-6222-4d44-9ae8-9b014b0ac62b"
SECRET = "eaac1cc8-a867-490b-aa20-dbe5e2d0c38b"
RBD = {"device": "disk", "type": "network", "protocol": "rbd", "monitors": ["10.71.16.11:6789"]}
BOOTED = int(re.search(r"btime (\d+)", printed("compute2", "/proc/stat"))[1])
TICKS = int(printed("compute2", "/stat").rpartition(")")[2].split()[19])
DOMAIN = {
    "uuid": UUID,
    "name": "instance-00000053",
    "vcpus": 1,
    "memory_mib": 128,
    "disks": [
        {**RBD, "target": "vda", "serial": None, "source": f"vms/{UUID}_disk", "user": "cinder", "secret": SECRET},
        {
            **RBD,
            "target": "vdb",
            "serial": VOLUME,
            "source": f"volumes/volume-{VOLUME}",
            "user": "cinder",
            "secret": SECRET,
        },
    ],
    "interfaces": [
        {
            "type": "ethernet",
            "mac": "fa:16:3e:2d:9a:e3",
            "tap": "tapbd6f4d7b-9c",
            "bridge": None,
            "port": None,
            "mtu": 1500,
        }
    ],
    "state": {"name": "running", "reason": "unpaused"},
    "secrets": [SECRET],
    "process": {
        "pid": 19440,
        "started": BOOTED + TICKS / 100,
        "connections": ["10.71.16.11:3300", "10.71.16.11:6800", "10.71.16.11:6808"],
    },
}


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("encrypted", ("luks", "bddae262-06e6-47b7-b0c1-bc08c469c230", False)),
        ("shareable", (None, None, True)),
    ],
)
def test_a_disk_shows_what_the_type_of_its_volume_asks_for(name, shown):
    text = (RECORDED / f"commands/disk-{name}.xml").read_text()
    disk = libvirt.parse_disk(ET.fromstring(text))
    assert (disk.encryption, disk.encryption_secret, disk.shareable) == shown
    assert (disk.protocol, disk.user, disk.secret) == ("rbd", "cinder", "12384f9a-26e3-413a-8366-1205307be42d")


def test_a_disk_shows_what_its_flavor_limits_it_to():
    disk = libvirt.parse_disk(ET.fromstring((RECORDED / "commands/disk-limited.xml").read_text()))
    assert [(limit.name, limit.most) for limit in disk.limits] == [("total_iops_sec", 1)]


def test_a_burst_and_a_group_limit_no_disk():
    more = "<total_iops_sec_max>9</total_iops_sec_max><size_iops_sec>4096</size_iops_sec><group_name>g</group_name>"
    text = (RECORDED / "commands/disk-limited.xml").read_text().replace("</iotune>", f"{more}</iotune>")
    disk = libvirt.parse_disk(ET.fromstring(text))
    assert [limit.name for limit in disk.limits] == ["total_iops_sec"]


@pytest.fixture
def read(replay):
    """Return a function that reads the recorded host's domain, and says what could not be read."""

    def of(name="compute2", instead=None):
        host = replay(name, instead)
        return to_json(libvirt.read(host, UUID)), [(entry.what, entry.kind) for entry in host.unread]

    return of


def test_a_recorded_domain_is_read_wholly(read):
    assert read() == (DOMAIN, [])


def test_a_host_without_the_domain_has_none(read):
    assert read("compute1") == (None, [])


def test_the_words_of_another_libvirt_for_no_domain(read):
    output = f"error: Domain not found: no domain with matching uuid '{UUID}'"
    assert read(instead={"dumpxml": (1, "", output)}) == (None, [])


def test_a_host_where_sudo_refuses_does_not_seem_to_be_without_the_domain(read):
    assert read("refused") == (None, [("the domain", "refused")])


def test_a_host_without_libvirt_does_not_seem_to_be_without_the_domain(read):
    assert read("network1-odd") == (None, [("the domain", "failed")])


@pytest.mark.parametrize("text", ["", "<domain>", "<domain/>", "<domain><memory unit='GB'>1</memory></domain>"])
def test_a_domain_of_an_unknown_form_is_said_to_be_strange(read, text):
    assert read(instead={"dumpxml": text}) == (None, [("the domain", "strange")])


def test_what_cannot_be_read_beside_the_domain_is_none_and_named(read):
    instead = {"domstate": (1, "", "error: no"), "secret-list": (1, "", "error: no"), "pgrep": (2, "", "pgrep: no")}
    domain, unread = read(instead=instead)
    assert domain == {**DOMAIN, "state": None, "secrets": None, "process": None}
    assert [what for what, _kind in unread] == [
        "the domain's state",
        "libvirt's secrets",
        "the process of the domain",
    ]


def test_a_domain_without_a_process_is_told(read):
    domain, unread = read(instead={"domstate": "shut off (destroyed)\n\n", "pgrep": (1, "", "")})
    assert (domain["process"], domain["state"], unread) == (None, {"name": "shut off", "reason": "destroyed"}, [])


def test_a_process_that_ends_meanwhile_has_no_start(read):
    gone = (1, "", "cat: /proc/19440/stat: No such file or directory")
    domain, unread = read(instead={"cat /proc/19440/stat": gone})
    assert domain["process"] == {**DOMAIN["process"], "started": None}
    assert unread == [("the start of the process", "failed")]


def test_a_start_of_an_unknown_form_is_said_to_be_strange(read):
    assert read(instead={"cat /proc/stat": "cpu 1 2 3\n"})[1] == [("the start of the process", "strange")]


def test_connections_that_cannot_be_listed_are_named(read):
    domain, unread = read(instead={"ss --no-header": (1, "", "sudo: ss: command not found")})
    assert domain["process"]["connections"] == []
    assert unread == [("the connections of the process", "missing")]


def test_connections_of_another_process_with_a_similar_number_do_not_count(replay):
    line = 'ESTAB 0 0 10.0.0.1:50 10.0.0.{}:6800 users:(("qemu",pid={},fd=1))\n'
    output = line.format(2, 12) + line.format(3, 123) + line.format(4, 12) + line.format(2, 12) + "pid=12, cut\n"
    host = replay(None, {"id -u": "0", "ss ": output})
    assert to_json(libvirt.connections_of(host, 12)) == ["10.0.0.2:6800", "10.0.0.4:6800"]


def test_the_emulator_is_told_from_another_process_with_the_same_words(replay):
    output = f"10 sh -c watch uuid {UUID}\n11 /usr/libexec/qemu-kvm -uuid {UUID}\n"
    host = replay(None, {"id -u": "0", "pgrep": output, "ss ": "", "/proc/11/stat": "11 (a b) S " + "0 " * 30,
                         "cat /proc/stat": "btime 7\n"})  # fmt: skip
    assert to_json(libvirt.process_of(host, UUID)) == {"pid": 11, "started": 7.0, "connections": []}


def test_memory_and_disks_of_other_forms():
    domain = to_json(
        libvirt.parse_domain("""
        <domain><uuid>a</uuid><name>b</name><vcpu>4</vcpu><memory unit='MiB'>2048</memory><devices>
        <disk type='file' device='disk'><source file='/disk'/><target dev='vda'/></disk>
        <disk type='block' device='disk'><source dev='/dev/x'/><target dev='vdb'/></disk>
        <disk type='file' device='cdrom'/>
        <disk type='network' device='disk'><source protocol='rbd' name='p/n'><auth username='u'><secret uuid='s'/>
        </auth><host name='m1' port='1'/><host name='m2' port='2'/></source></disk>
        <interface type='bridge'><mac address='m'/><source bridge='br-int'/><target dev='tap'/>
        <virtualport><parameters interfaceid='i'/></virtualport></interface>
        </devices></domain>""")
    )
    assert domain["memory_mib"] == 2048
    assert [disk["source"] for disk in domain["disks"]] == ["/disk", "/dev/x", None, "p/n"]
    assert [disk["target"] for disk in domain["disks"]] == ["vda", "vdb", None, None]
    assert [domain["disks"][3][name] for name in ("monitors", "user", "secret")] == [["m1:1", "m2:2"], "u", "s"]
    (interface,) = domain["interfaces"]
    assert interface == {"type": "bridge", "mac": "m", "tap": "tap", "bridge": "br-int", "port": "i", "mtu": None}


def test_memory_is_in_kibibytes_where_nothing_else_is_said():
    text = "<domain><uuid>a</uuid><name>b</name><vcpu>1</vcpu><memory>2097152</memory></domain>"
    assert to_json(libvirt.parse_domain(text))["memory_mib"] == 2048


def test_no_secrets_are_no_failure(replay):
    output = " UUID   Usage\n--------------\n\n"
    assert to_json(libvirt.secrets_of(replay(None, {"id -u": "0", "secret-list": output}))) == []
