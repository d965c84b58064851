# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The settings of a host: times and modes of files, digests of values, and never a value itself."""

from __future__ import annotations

import io
import json
import re

import pytest
from ansible_collections.stackproof.provision.plugins.module_utils._collect.commands import UnreadError
from ansible_collections.stackproof.provision.plugins.module_utils._collect.examination import configuration
from ansible_collections.stackproof.provision.plugins.module_utils._collect.examination.configuration import (
    Option,
    SettingsFile,
)
from recorded_hosts import printed

CONTROLLER, COMPUTE = "examined-controller1", "examined-compute1"
NOVA, CEPH = "/etc/nova/nova.conf", "/etc/ceph/ceph.conf"
SALT = "0123456789abcdef" * 2
LISTED = printed(COMPUTE, "-maxdepth 4")
SETTINGS = {name: printed(name, "grep") for name in (CONTROLLER, COMPUTE)}


def parsed(output):
    return configuration.options_of(io.BytesIO(output))


def options_of(name=COMPUTE, change=lambda text: text):
    return parsed(change(SETTINGS[name]).encode())


def digests_of(options, salt=SALT, own=("compute1", "10.71.16.14")):
    return configuration.digests(options, salt, own)


def test_files_of_a_recorded_host_have_their_time_mode_and_owner(replay):
    files = configuration.files(replay(COMPUTE))
    line = next(line for line in LISTED.splitlines() if line.endswith(NOVA))
    assert files[NOVA] == SettingsFile(float(line.split()[0]), "640 root:nova", empty=False)
    assert files["/etc/neutron/plugins/ml2/.placeholder"].empty
    assert "/etc/systemd/system/lab-taps.service" in files


@pytest.mark.parametrize(
    ("name", "path"),
    [
        (CONTROLLER, "/etc/keystone/fernet-keys/0"),
        (CONTROLLER, "/etc/libvirt/qemu/networks/default.xml"),
        (COMPUTE, "/etc/openvswitch/system-id.conf"),
        (COMPUTE, "/etc/libvirt/secrets/28f81a63-73d5-4c0c-80f7-004413686363.base64"),
    ],
)
def test_files_that_services_write_by_themselves_do_not_count(replay, name, path):
    assert path in printed(name, "-maxdepth 4")
    assert path not in configuration.files(replay(name))


@pytest.mark.parametrize(
    "end",
    [
        "/etc/nova/nova.conf~",
        "/etc/nova/.nova.conf.lock",
        "/etc/openvswitch/conf.db",
        # Each login at a new host adds to it.
        "/var/lib/nova/.ssh/known_hosts",
    ],
)
def test_copies_and_locks_do_not_count(replay, end):
    host = replay(COMPUTE, {"-maxdepth 4": f"{LISTED}1795433315.0 640 root:nova 83 {end}\n"})
    assert end not in configuration.files(host)


def test_a_path_may_have_blanks(replay):
    host = replay(COMPUTE, {"-maxdepth 4": "1795433315.5 640 root:nova 83 /etc/nova/a copy of  nova.conf\n"})
    assert list(configuration.files(host)) == ["/etc/nova/a copy of  nova.conf"]


@pytest.mark.parametrize("output", ["x\n", "1 2 3\n", "soon 640 root:nova 83 /etc/nova/nova.conf\n", f"{LISTED}\n"])
def test_a_list_of_another_form_is_an_entry(replay, output):
    host = replay(COMPUTE, {"-maxdepth 4": output})
    assert host.attempt("the files of settings", configuration.files, default={}) == {}
    assert [(entry.what, entry.kind) for entry in host.unread] == [("the files of settings", "strange")]


@pytest.mark.parametrize(
    ("components", "projects"),
    [
        ({"nova-compute", "libvirt", "neutron-l2-agent", "ovsdb"}, {"nova", "libvirt", "neutron", "ovsdb", "ceph"}),
        ({"keystone", "ldap"}, {"keystone", "ldap"}),
        ({"cinder-volume"}, {"cinder", "ceph"}),
        ({"glance-api"}, {"glance", "ceph"}),
        ({"ceph-mon"}, {"ceph"}),
        (set(), set()),
    ],
)
def test_the_projects_of_a_host_are_those_of_its_services(components, projects):
    assert configuration.projects_of(components) == projects


@pytest.mark.parametrize(
    ("path", "counts"),
    [
        ("/etc/nova/nova.conf", True),
        ("/etc/nova/nova.conf.d/10-more.conf", True),
        ("/etc/neutron/plugins/ml2/openvswitch_agent.ini", True),
        ("/etc/nova/a/b/c/d.conf", True),
        ("/etc/kolla/nova-api/nova.conf", True),
        ("/etc/kolla/neutron-openvswitch-agent/ml2_conf.ini", True),
        ("/etc/kolla/neutron/neutron.conf", True),
        ("/etc/kolla/horizon/horizon.conf", False),
        ("/etc/kolla/nova-api/../../shadow.conf", False),
        ("/etc/nova/api-paste.ini", False),
        ("/etc/nova/nova-api-uwsgi.ini", False),
        ("/etc/nova/rootwrap.conf", False),
        ("/etc/nova/policy.yaml", False),
        ("/etc/nova/nova.conf.bak", False),
        ("/etc/nova/nova.conf\n", False),
        ("/etc/nova/.hidden.conf", False),
        ("/etc/nova/../shadow.conf", False),
        ("/etc/nova/.../x.conf", False),
        ("/etc/nova/a b.conf", False),
        ("/etc/nova/a:b.conf", False),
        ("/etc/nova/ä.conf", False),
        ("/etc/ceph/ceph.client.admin.keyring", False),
        ("/etc/glance/glance-api.conf", False),
        ("/etc/shadow.conf", False),
        ("/srv/etc/nova/nova.conf", False),
    ],
)
def test_a_file_of_settings_is_known_by_its_path_and_its_project(path, counts):
    assert configuration.is_setting_of(path, {"nova", "neutron", "ceph"}) is counts


def test_the_settings_of_a_recorded_host_are_options_with_their_sections(replay):
    host = replay(COMPUTE)
    options = configuration.settings(host, configuration.files(host), {"nova", "neutron", "ceph"})
    assert options == options_of()
    assert Option("nova", NOVA, "DEFAULT", "my_ip", "10.71.16.14") in options
    assert Option("nova", NOVA, "neutron", "auth_url", "http://10.71.16.12:5000") in options
    assert Option("ceph", CEPH, "global", "mon_host", "[v2:10.71.16.11:3300,v1:10.71.16.11:6789]") in options
    assert Option("neutron", "/etc/neutron/plugins/ml2/openvswitch_agent.ini", "agent", "tunnel_types", "") in options
    assert {option.project for option in options} == {"nova", "neutron", "ceph"}


def test_of_other_projects_nothing_is_read(replay):
    """Packages leave the files of projects there that run elsewhere."""
    host = replay(COMPUTE, {"grep": ""})
    files = configuration.files(host)
    assert "/etc/glance/glance-api.conf" in files
    configuration.settings(host, files, {"neutron"})
    assert host.execute.asked[-1].endswith("-- /etc/neutron/plugins/ml2/openvswitch_agent.ini")
    asked = len(host.execute.asked)
    assert configuration.settings(host, files, {"keystone"}) == []
    assert len(host.execute.asked) == asked


def test_only_so_many_files_are_read(replay, monkeypatch):
    monkeypatch.setattr(configuration, "MOST_FILES", 1)
    host = replay(None, {"id -u": "1000", "grep": ""})
    configuration.settings(host, [NOVA, "/etc/nova/a.conf"], {"nova"})
    assert host.execute.asked[-1].endswith("-- /etc/nova/a.conf")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"{NOVA}:a = 1\n{NOVA}:[x]\n{NOVA}:a=2 = 3", [("", "a", "1"), ("x", "a", "2 = 3")]),
        (f"{NOVA}:[x]\n{NOVA}:a = 1\n{CEPH}:a = 2", [("x", "a", "1"), ("", "a", "2")]),
        (f"{NOVA}:[x] # why\n{NOVA}:  a = 1", [("x", "a", "1")]),
        (f"{NOVA}:a =\r\n{NOVA}:\r\n", [("", "a", "")]),
        # Marks that other programs take for the end of a line are none here.
        (f"{NOVA}:a = 1\x0c2\x852\u20282\r3\n{NOVA}:b = 2", [("", "a", "1\x0c2\x852\u20282\r3"), ("", "b", "2")]),
        (f"{NOVA}:   # a = 1\n{NOVA}: ; b = 2\n{NOVA}:c\n{NOVA}:[]\n{NOVA}:", []),
        ("grep: a = 1\n/etc/shadow:a = 1\na = 1\n:\n\n", []),
        (f"{NOVA}:url = http://a:5000/?b=c", [("", "url", "http://a:5000/?b=c")]),
        ("", []),
    ],
)  # fmt: skip
def test_lines_of_files_are_options(text, expected):
    options = parsed(text.encode())
    assert [(option.section, option.name, option.value) for option in options] == expected


def test_bytes_that_are_no_text_are_a_value_as_well():
    first, second = (digests_of(parsed(f"{NOVA}:a = ".encode() + value)) for value in (b"\xff", b"\xfe"))
    assert first != second
    assert list(first) == [f"{NOVA} [] a"]


def test_no_value_of_a_setting_is_in_the_reason_why_it_could_not_be_read(replay):
    """Of other commands what they printed is the reason, where they name no error."""
    for status, errors in ((2, ""), (137, ""), (2, "grep: /etc/nova/x.conf: Permission denied\n")):
        host = replay(COMPUTE, {"grep": (status, SETTINGS[COMPUTE], errors)})
        assert host.attempt("the settings", configuration.settings, [NOVA], {"nova"}, default=[]) == []
        (unread,) = host.unread
        assert unread.kind == "failed"
        assert [option for option in options_of() if len(option.value) > 5 and option.value in unread.reason] == []


def test_a_file_that_has_gone_meanwhile_does_not_hide_the_others(replay):
    host = replay(COMPUTE, {"grep": (2, SETTINGS[COMPUTE], "grep: /etc/nova/x.conf: No such file or directory\n")})
    assert configuration.settings(host, [NOVA, "/etc/nova/x.conf"], {"nova"}) == options_of()


def test_files_without_settings_have_no_options(replay):
    assert configuration.settings(replay(COMPUTE, {"grep": (1, "", "")}), [NOVA], {"nova"}) == []


def test_settings_that_sudo_refuses_are_not_read(replay):
    host = replay(COMPUTE, {"grep": (1, "", "sudo: a password is required")})
    with pytest.raises(UnreadError) as caught:
        configuration.settings(host, [NOVA], {"nova"})
    assert caught.value.kind == "refused"


@pytest.mark.parametrize("name", [CONTROLLER, COMPUTE])
def test_a_digest_has_nothing_of_its_value(name):
    options = options_of(name)
    table = digests_of(options)
    assert set(table) == {f"{option.path} [{option.section}] {option.name}" for option in options}
    assert all(re.fullmatch(r"(?:[0-9a-f]{12})+", digest) for digest in table.values())
    assert len(table) > 50
    values = [option.value for option in options if "planted" in option.value]
    assert values
    assert not any(value in json.dumps(table) for value in values)


def test_a_digest_can_only_be_compared_within_a_run():
    one, same, other = (digests_of(options_of(), salt) for salt in (SALT, SALT, SALT[::-1]))
    assert one == same
    assert not any(one[name] == other[name] for name in one)


def test_a_value_that_differs_has_another_digest():
    changed = digests_of(options_of(change=lambda text: text.replace("virt_type = qemu", "virt_type = kvm")))
    before = digests_of(options_of())
    assert [name for name in before if changed[name] != before[name]] == [f"{NOVA} [libvirt] virt_type"]


def test_of_an_option_that_is_given_twice_both_values_count():
    lines = [f"{NOVA}:[x]", f"{NOVA}:a = 1", f"{NOVA}:a = 2"]
    table = [digests_of(parsed("\n".join(order).encode())) for order in (lines, [lines[0], *lines[:0:-1]])]
    (name,) = table[0]
    assert len(table[0][name]) == 24
    assert table[0] != table[1]


@pytest.mark.parametrize(
    ("own", "value", "others", "other_value", "are_alike"),
    [
        # A host's own names and addresses differ by right.
        (("compute1", "10.0.0.1"), "10.0.0.1", ("compute2", "10.0.0.2"), "10.0.0.2", True),
        (("compute1", "10.0.0.1"), "compute1", ("compute2", "10.0.0.2"), "compute2", True),
        (("c1", "c1.example.org"), "http://c1.example.org:80/", ("c2", "c2.example.org"), "http://c2.example.org:80/",
         True),
        (("fd00::1",), "http://[fd00::1]/", ("fd00::2",), "http://[fd00::2]/", True),
        # Those of others do not, though they have the own ones in them.
        (("compute1", "10.0.0.1"), "10.0.0.12", ("compute2", "10.0.0.2"), "10.0.0.12", True),
        (("compute1",), "compute10", ("compute2",), "compute10", True),
        (("compute1",), "compute10", ("compute2",), "compute20", False),
        (("a",), "nova", ("b",), "nova", True),
        (("compute1",), "compute1", ("compute2",), "compute1", False),
        ((), "x", ("",), "x", True),
        (("c.1",), "c-1", ("c.2",), "c-1", True),
    ],
)  # fmt: skip
def test_own_names_and_addresses_make_no_difference(own, value, others, other_value, are_alike):
    one, other = (
        digests_of([Option("nova", NOVA, "x", "a", text)], own=names)
        for names, text in ((own, value), (others, other_value))
    )
    assert (one == other) is are_alike


@pytest.mark.parametrize("name", [CONTROLLER, COMPUTE])
def test_the_packages_of_a_recorded_host_have_their_versions(replay, name):
    packages = configuration.packages(replay(name))
    assert len(packages) == 10
    assert re.match(r"2:\d", packages["nova-common"])


def test_packages_that_are_not_there_are_no_failure(replay):
    printed_too = "nova-common 2:31.0.0-6\nnova-removed \n\n"
    host = replay(None, {"dpkg-query": (1, printed_too, "dpkg-query: no packages found matching haproxy\n")})
    assert configuration.packages(host) == {"nova-common": "2:31.0.0-6"}


NO_DPKG = (127, "", "timeout: failed to run command 'dpkg-query': No such file or directory\n")


def test_a_host_without_dpkg_is_asked_by_rpm(replay):
    host = replay(None, {"dpkg-query": NO_DPKG, "rpm": "openstack-nova-compute 31.0.0-1.el9s\nlibvirt 11.3.0-1.el9\n"})
    assert configuration.packages(host) == {"openstack-nova-compute": "31.0.0-1.el9s", "libvirt": "11.3.0-1.el9"}


def test_a_host_without_either_says_so(replay):
    host = replay(None, {"dpkg-query": NO_DPKG, "rpm": (127, "", NO_DPKG[2].replace("dpkg-query", "rpm"))})
    assert host.attempt("the packages", configuration.packages, default={}) == {}
    assert [(entry.kind, entry.command.split()[0]) for entry in host.unread] == [("missing", "rpm")]


def test_dpkg_that_fails_otherwise_is_not_missing(replay):
    host = replay(None, {"dpkg-query": (2, "", "dpkg-query: error: failed to open package info file\n")})
    assert host.attempt("the packages", configuration.packages, default={}) == {}
    assert [(entry.kind, entry.command.split()[0]) for entry in host.unread] == [("failed", "dpkg-query")]
