# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where the words of an error lead. The errors are from failed runs on the labs."""

from __future__ import annotations

import as_json
import pytest
from ansible_collections.stackproof.provision.plugins.module_utils._judge import advice, leads
from ansible_collections.stackproof.provision.plugins.module_utils._model.how import How
from ansible_collections.stackproof.provision.plugins.module_utils._model.symptom import Kind
from ansible_collections.stackproof.provision.plugins.module_utils._report.messages.advice import advice as in_words
from cases_by_hand import call, case_of, cause, error, seen, stage

CREDENTIALS = "grep -rnsE '^(\\[|auth_url|username|project_name|region_name)'"


def with_service(name, component, unit, **fields):
    service = {"component": component, "unit": unit, "state": "running"}
    return as_json.host(name, facts={"services": [service], **fields})


CLOUD = case_of(
    [
        with_service("ctl", "keystone", "keystone.service", addresses=["10.0.0.1"]),
        with_service("db", "database", "mariadb.service"),
        with_service("mon", "ceph-mon", "ceph-mon@a.service"),
        with_service("api", "neutron-server", "neutron-api.service"),
        as_json.host("c1", facts={"addresses": ["10.0.0.2"]}),
    ]
)


def failed_at(peer, quote, how=How.MISSING, component="nova-compute"):
    return seen(Kind.FAILED_AT, component, "c1", peer=peer, how=how, quote=quote)


def led_to(*given, **fields):
    return in_words(leads.lead(failed_at(*given, **fields), CLOUD))


SIZES = (
    'mysql --execute "SHOW VARIABLES WHERE Variable_name IN '
    "('max_allowed_packet', 'max_connections', 'wait_timeout', 'net_read_timeout'); "
    "SHOW GLOBAL STATUS WHERE Variable_name IN "
    "('Aborted_clients', 'Aborted_connects', 'Threads_connected', 'Max_used_connections')\""
)
USERS = (
    "mysql --execute 'SELECT domain_id, name FROM keystone.local_user; SELECT id, name, enabled FROM keystone.project; "
    "SELECT DISTINCT domain_id, `group` FROM keystone.whitelisted_config'"
)
SECRET = "Secret not found: no secret with matching uuid '00000000-1111-2222-3333-444444444444'"
SECRETS = "grep -rns rbd_secret_uuid /etc/nova /etc/cinder /etc/kolla/nova-compute"


@pytest.mark.parametrize(
    ("peer", "quote", "command"),
    [
        (None, 'keystone.exception.UserNotFound: "Could not find user: admin."', f"on db: {USERS}"),
        (
            "libvirt",
            f"libvirt.libvirtError: {SECRET}",
            f"on c1: virsh secret-list; {SECRETS}",
        ),
        (
            "libvirt",
            "libvirt.libvirtError: internal error: qemu-system-x86_64: error connecting: Permission denied",
            "on c1: virsh secret-list; grep -rnsE '^ *rbd_(user|secret_uuid)' /etc/nova /etc/kolla/nova-compute",
        ),
        (
            "libvirt",
            "libvirt.libvirtError: operation failed: domain 'instance-00000013' already exists with uuid 00000000",
            "on c1: virsh list --all --uuid --name; virsh dominfo instance-00000013",
        ),
        (
            "database",
            "(2006, \"MySQL server has gone away (BrokenPipeError(32, 'Broken pipe'))\")",
            f"on db: {SIZES}",
        ),
        (
            "glance-api",
            "nova.exception.ImageNotFound: Image 11111111-2222-3333-4444-555555555555 could not be found.",
            "openstack image show 11111111-2222-3333-4444-555555555555",
        ),
        (
            "database",
            "(pymysql.err.OperationalError) (1054, \"Unknown column 'instances.hidden' in 'SELECT'\")",
            "on c1: nova-manage api_db version; nova-manage db version",
        ),
        (
            "libvirt",
            "process exited while connecting to monitor: qemu: -blockdev {}: Unable to load module rbd. Perhaps",
            "on c1: ls -l /usr/lib/*/qemu /usr/lib64/qemu-kvm",
        ),
        (
            "libvirt",
            "process exited while connecting to monitor: qemu: could not load PC BIOS 'bios-256k.bin'",
            "on c1: ls -lL /usr/share/qemu/bios-256k.bin /usr/share/qemu-kvm/bios-256k.bin "
            "/usr/share/seabios/bios-256k.bin",
        ),
        (
            "ovsdb",
            "RuntimeError: Error creating namespace ovnmeta-1d: no",
            "on c1: ls -ld /run/netns; findmnt /run/netns; ip netns list",
        ),
        (
            "rabbitmq",
            "oslo_config.cfg.ConfigFilesNotFoundError: Failed to find some config files: /etc/nova/nova.conf",
            "on c1: namei --long /etc/nova/nova.conf",
        ),
        (
            "database",
            "(pymysql.err.ProgrammingError) (1146, \"Table 'nova_cell1.instance_actions' doesn't exist\")",
            "on db: mysql --execute 'SHOW TABLES IN `nova_cell1`'; "
            "on c1: nova-manage api_db version; nova-manage db version",
        ),
        (
            "neutron-server",
            "Cannot reboot instance: Unexpected vif_type=binding_failed",
            "openstack network agent list; on api: journalctl --unit neutron-api.service --since -15min",
        ),
        (
            "keystone",
            "['internal', 'public'] endpoint for placement service in RegionOne region not found",
            "openstack catalog list; on c1: grep -rnsE '^(region_name|os_region_name|valid_interfaces)' "
            "/etc/nova /etc/kolla/nova-compute",
        ),
        (
            "libvirt",
            "Cannot create directory '/var/lib/libvirt/qemu/domain-7-instance-0000000e': No space left on device",
            "on c1: df -h /var/lib/libvirt/qemu/domain-7-instance-0000000e; "
            "df -i /var/lib/libvirt/qemu/domain-7-instance-0000000e",
        ),
        (
            "ovn-sb-db",
            "OSError: [Errno 28] No space left on device: '/var/lib/neutron/ovn-metadata-proxy/1.conf'",
            "on c1: df -h /var/lib/neutron/ovn-metadata-proxy/1.conf; df -i /var/lib/neutron/ovn-metadata-proxy/1.conf",
        ),
        (
            "libvirt",
            "FileNotFoundError: [Errno 2] No such file or directory: '/usr/local/bin/mkisofs'",
            "on c1: namei --long /usr/local/bin/mkisofs",
        ),
        (
            "libvirt",
            "Failed to connect socket to '/run/libvirt/virtlogd-sock': No such file or directory",
            "on c1: namei --long /run/libvirt/virtlogd-sock",
        ),
        (
            "ovsdb",
            "unix:/var/run/openvswitch/br-int.mgmt: connection failed (No such file or directory)",
            "on c1: ovs-vsctl --if-exists get Open_vSwitch . external-ids:ovn-bridge; ovs-vsctl list-br",
        ),
        (
            None,
            "rbd.ConnectionShutdown: [errno 108] RBD connection was shutdown (error opening image b'x_disk')",
            "on mon: ceph osd blocklist ls; ceph status",
        ),
        (
            "libvirt",
            "Failed to bind socket: Cannot assign requested address",
            "on c1: ip -brief address; ss --summary; sysctl net.ipv4.ip_local_port_range",
        ),
        (
            None,
            "privsep helper command exited non-zero (1)",
            "on c1: journalctl --grep 'sudo|privsep|rootwrap' --since -15min; ls -l /etc/sudoers.d",
        ),
        (
            "neutron-server",
            "401-{'error': {'code': 401, 'title': 'Unauthorized'}}",
            f"on c1: {CREDENTIALS} /etc/nova /etc/kolla/nova-compute; "
            "on ctl: journalctl --unit keystone.service --since -15min",
        ),
    ],
)
def test_the_thing_that_an_error_names_is_looked_at(peer, quote, command):
    assert led_to(peer, quote) == command


def test_quotes_of_typographers_are_quotes_too():
    quote = "Failed to open file \u201c/var/lib/libvirt/qemu/x.aes\u201d: Permission denied"
    assert led_to("libvirt", quote) == "on c1: namei --long /var/lib/libvirt/qemu/x.aes"
    quote = "mkdir: cannot create directory \u2018/var/lib/nova/x\u2019: Permission denied"
    assert led_to("libvirt", quote) == "on c1: namei --long /var/lib/nova/x"


def test_who_does_not_ask_keystone_rejects_by_other_means():
    assert led_to("libvirt", "authentication failed: authentication failed") is None
    assert led_to("ceph-rgw", "Container HEAD failed: 401 Unauthorized").startswith(f"on c1: {CREDENTIALS}")


@pytest.mark.parametrize(
    ("quote", "attempt", "there"),
    [
        ("HTTPConnectionPool(host='10.0.0.1', port=8778): Max retries exceeded", "10.0.0.1 8778", "ctl"),
        ("unable to connect to server at 'compute2:16509': Connection refused", "compute2 16509", None),
        ("Unable to establish connection to http://10.0.0.1:8778/x: refused", "10.0.0.1 8778", "ctl"),
        ("AMQP server on 10.0.0.1:5672 is unreachable", "10.0.0.1 5672", "ctl"),
        ("AMQP server on controller1:5672 is unreachable", "controller1 5672", None),
    ],
)
def test_a_connection_that_failed_is_tried_again(quote, attempt, there):
    command = led_to("placement-api", quote, how=How.REFUSED)
    port = attempt.split()[1]
    rules = f"nft list ruleset | grep --word-regexp {port}"
    other_end = f"; on {there}: ss -lntp 'sport = :{port}'; {rules}" if there else ""
    assert command == f"on c1: nc -v -z -w 3 {attempt}; {rules}{other_end}"


def test_a_socket_of_the_host_that_refuses_is_looked_at():
    quote = "unix:/run/openvswitch/db.sock: connection failed (Connection refused)"
    assert led_to("ovsdb", quote, how=How.REFUSED) == "on c1: namei --long /run/openvswitch/db.sock"


def test_the_name_of_a_database_is_no_part_of_the_shell():
    """A command that is copied shows what the error named, and nothing else is run."""
    assert led_to("database", "Table 'nova$x.t' doesn't exist").startswith(
        "on db: mysql --execute 'SHOW TABLES IN `nova$x`'"
    )


def test_the_version_of_the_tables_is_asked_for_in_the_container_of_the_component():
    service = {
        "component": "nova-compute",
        "unit": "k.service",
        "state": "running",
        "container": "n",
        "engine": "docker",
    }
    case = case_of([as_json.host("c1", facts={"services": [service]})])
    given = leads.lead(failed_at("database", "Table 'nova.t' doesn't exist"), case)
    versions = "docker exec n nova-manage api_db version; docker exec n nova-manage db version"
    assert in_words(given).endswith(f"; on c1: {versions}")


def test_a_root_command_that_was_denied_a_file_leads_to_the_file():
    quote = "['sudo', 'neutron-rootwrap', '/etc/neutron/rootwrap.conf']: [Errno 13] Permission denied: '/run/netns/x'"
    assert led_to("x", quote, how=How.DENIED) == "on c1: namei --long /run/netns/x"


def test_both_ends_of_a_connection_may_be_on_one_host():
    command = led_to("placement-api", "connecting to http://10.0.0.2:8778 failed", how=How.REFUSED)
    assert command.startswith("on c1: nc -v -z -w 3 10.0.0.2 8778; ss -lntp ")


@pytest.mark.parametrize("quote", [None, "", "it failed", "No route to host"])
def test_words_that_name_nothing_lead_nowhere(quote):
    assert led_to("placement-api", quote) is None
    assert led_to("placement-api", quote, how=How.UNREACHABLE) is None


def test_what_an_error_names_is_a_word_of_the_command():
    """A command that is copied runs nothing that somebody has put into the words of an error."""
    command = led_to("libvirt", "No such file or directory: '/a;touch pwned.conf'")
    assert command is None or "pwned" not in command


def test_the_thing_is_looked_at_rather_than_the_service_that_named_it():
    secret = failed_at("libvirt", SECRET)
    given = advice.command_for(cause("libvirt", "c1", secret), CLOUD)
    assert in_words(given).startswith("on c1: virsh secret-list")


def test_a_service_that_does_not_run_is_looked_at_itself():
    case = case_of([with_service("c1", "libvirt", "libvirtd.service")])
    failed = seen(Kind.STATE, "libvirt", "c1", how=How.FAILED, quote="No such file or directory: '/x'")
    given = in_words(advice.command_for(cause("libvirt", "c1", failed), case))
    assert given.startswith("on c1: systemctl status libvirtd.service")


def test_the_log_of_a_service_in_a_container_is_shown_by_its_engine():
    service = {"component": "keystone", "unit": "k.service", "state": "running", "container": "k", "engine": "podman"}
    case = case_of([as_json.host("ctl", facts={"services": [service]})])
    given = leads.lead(failed_at("keystone", "401 Unauthorized", How.DENIED), case)
    assert in_words(given).endswith("; on ctl: podman logs --tail 50 k")


def in_file(service, path):
    return {"service": service, "path": path, "complete": True, "first": 1.0, "reason": None}


def test_a_log_is_shown_where_it_was_read():
    service = {"component": "placement-api", "unit": "p.service", "state": "running", "container": "p", "engine": "x"}
    files = [in_file("placement", "/var/log/a b.log"), in_file("nova-api", "/n"), in_file("placement", "journal of p")]
    logs = [
        {"host": host, "reason": None, "unread": [], "sources": sources}
        for host, sources in (("c1", files[1:]), ("ctl", files))
    ]
    case = case_of([as_json.host("ctl", facts={"services": [service]})], logs=logs)
    shown = "on ctl: tail --lines=100 '/var/log/a b.log'"
    assert in_words(leads.log_of("placement-api", case)) == shown
    lines = "on ctl: grep --no-filename --fixed-strings 'req 1' '/var/log/a b.log'"
    assert in_words(leads.log_of("placement-api", case, "req 1")) == lines
    elsewhere = case_of([as_json.host("ctl", facts={"services": [service]})], logs=logs[:1])
    assert in_words(leads.log_of("placement-api", elsewhere)) == "on ctl: x logs --tail 50 p"


@pytest.mark.parametrize(
    ("said", "is_limit"),
    [
        ("The limit has been exceeded on the number of allowed image properties. Attempted: 2, Maximum: 0", True),
        ("Forbidden to exceed flavor value of number of serial ports passed in image meta.", False),
        ("Block Device Mapping is Invalid: You specified more local devices than the limit allows", True),
        ("Invalid image name", False),
        (None, False),
    ],
)
def test_a_limit_that_an_answer_speaks_of_is_looked_for_in_the_settings_of_the_api(said, is_limit):
    failed = stage("image", error=error("invalid", said=said), calls=[call(413, "image")])
    hosts = [with_service("ctl", "glance-api", "glance-api.service")]
    shown = leads.limits(case_of(hosts, failed))
    looked = "on ctl: grep -rnisE '^[^#]*(max|limit|quota)' /etc/glance /etc/kolla/glance-api"
    assert (shown and in_words(shown)) == (looked if is_limit else None)
