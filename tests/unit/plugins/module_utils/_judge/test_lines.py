# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Who is the first suspect by one error that a service logs, in the words of the services and their libraries."""

from __future__ import annotations

from datetime import UTC, datetime

import as_json
import pytest
from ansible_collections.stackproof.provision.plugins.module_utils._collect.logs.scan import Scan
from ansible_collections.stackproof.provision.plugins.module_utils._collect.logs.wanted import Wanted
from ansible_collections.stackproof.provision.plugins.module_utils._judge import model, symptoms
from ansible_collections.stackproof.provision.plugins.module_utils._match.logged_errors import errors_of
from ansible_collections.stackproof.provision.plugins.module_utils._model import codec
from ansible_collections.stackproof.provision.plugins.module_utils._model.event import Event
from ansible_collections.stackproof.provision.plugins.module_utils._record.masking import HEADING
from cases_by_hand import agent, case_of, stage

SERVER = "cbc69924-e5e1-4314-ba5a-0c101b252ee7"
REQUEST = "req-0b79b20e-76a5-4c1e-950b-dae64ea70929"
BEGAN = datetime(2026, 11, 21, 12, 0, tzinfo=UTC).timestamp()
CONTROLLER = (
    "keystone", "nova-api", "nova-conductor", "nova-scheduler", "neutron-server", "cinder-api", "cinder-scheduler",
    "cinder-volume", "glance-api", "placement-api", "database", "rabbitmq",
)  # fmt: skip
COMPUTE = ("nova-compute", "libvirt", "neutron-l2-agent", "ovsdb")
NEUTRON = "http://10.0.0.10:9696/v2.0/ports"
CONNECT = "keystoneauth1.exceptions.connection"
NOT_REACHED = f"Unable to establish connection to {NEUTRON}: HTTPConnectionPool(host='10.0.0.10', port=9696)"
UNAUTHORIZED = "keystoneauth1.exceptions.http.Unauthorized: The request you have made requires authentication. (401)"


def host(name, components, *addresses, **examination):
    services = [{"component": one, "unit": f"{one}.service", "state": "running"} for one in components]
    facts = {"services": services, "names": [name], "addresses": list(addresses)}
    return as_json.host(name, facts=facts, examination=examination)


HOSTS = [
    host("controller1", CONTROLLER, "10.0.0.10"),
    host("compute1", COMPUTE, "10.0.0.11"),
    host("compute2", COMPUTE, "10.0.0.12"),
    host("storage1", ("ceph-mon", "ceph-osd"), "10.0.0.13"),
]
AGENTS = [agent(host="compute1")]
# Begins a line that names no request, as those of a traceback
IN_TRACEBACK = "\t"


def traceback(exception, *frames):
    """Return the lines of an exception that was raised in some modules, as oslo.log writes them."""
    files = [f'  File "/usr/lib/python3/dist-packages/{frame}.py", line 12, in f' for frame in frames]
    return [f"Failed: {exception}", *(IN_TRACEBACK + line for line in [HEADING, *files, exception])]


def written(logger, texts):
    """Yield lines as oslo.log writes them: an error each second, with the lines of its traceback."""
    seconds = 4
    for text in texts:
        is_of_traceback = text.startswith(IN_TRACEBACK)
        seconds += not is_of_traceback
        context = "" if is_of_traceback else f"[None {REQUEST} u p - - - -] "
        words = f"{context}[instance: {SERVER}] {text.removeprefix(IN_TRACEBACK)}"
        yield None, f"2026-11-21 12:00:{seconds:02}.000 7 ERROR {logger} {words}"


def first_suspects(hosts=HOSTS, logger="x.manager", agents=AGENTS, **logs):
    """Return the likeliest suspects, by the lines of errors that each service logs. logs: by host__service."""
    events = []
    for place, lines in logs.items():
        name, _line, service = place.partition("__")
        service = service.replace("_", "-")
        wanted = {"keys": {"server": [SERVER], "request": [REQUEST]}, "phrases": [], "windows": [], "errors": True}
        times = {"since": BEGAN, "began": BEGAN, "until": BEGAN + 60}
        scan = Scan(codec.from_json(Wanted, {**wanted, **times}), 0)
        scan.take(service, written(logger, lines), 0)
        events += [Event.from_host(found.to_json(), host=name, source="log", clock=name) for found in scan.events]
    instance = as_json.instance(server=as_json.server(id=SERVER, host="compute1"))
    errors = codec.to_json(errors_of(events))
    case = case_of(hosts, stage(), errors=errors, instance=instance, agents=agents)
    causes = model.causes(case, symptoms.of_case(case))
    best = max(cause.confidence for cause in causes)
    return {(cause.component, cause.host) for cause in causes if cause.confidence == best}


NOVA = {
    "its setting of the CPU is refused": (
        "libvirt.libvirtError: unsupported configuration: CPU mode 'custom' is not supported by hypervisor",
        "nova/virt/libvirt/guest", "libvirt",
    ),
    "Cinder wants a token of a service": (
        "cinderclient.exceptions.ClientException: ConflictNovaUsingAttachment: Detach volume from instance using the "
        "Compute API (HTTP 409)", "nova/volume/cinder", "cinderclient/client",
    ),
    "it has no room for the image that it converts": (
        "nova.exception.ImageUnacceptable: Image rbd:vms/x_disk:id=cinder:conf=/etc/ceph/ceph.conf is unacceptable: "
        "Stderr: 'qemu-img: error while writing at byte 2097152: No space left on device'", "nova/virt/images",
    ),
    "it has no file left to open": (
        f"{CONNECT}.ConnectFailure: {NOT_REACHED} (Caused by: [Errno 24] Too many open files)", "keystoneauth1/session",
    ),
    "it has no port left": (
        f"{CONNECT}.ConnectFailure: {NOT_REACHED} (Caused by: [Errno 99] Cannot assign requested address)",
        "keystoneauth1/session",
    ),
    "its host lets it connect to nobody": (
        f"{CONNECT}.ConnectFailure: {NOT_REACHED} (Caused by: [Errno 1] Operation not permitted)",
        "keystoneauth1/session",
    ),
    "it asks a proxy": (
        f"{CONNECT}.ConnectFailure: {NOT_REACHED} (Caused by ProxyError('Cannot connect to proxy.', OSError('503')))",
        "keystoneauth1/session",
    ),
    "it does not know who has signed": (
        f"{CONNECT}.SSLError: SSL exception connecting to https://10.0.0.10:9696: certificate verify failed: unable to "
        "get local issuer certificate (_ssl.c:1007)", "nova/network/neutron", "keystoneauth1/session",
    ),
    "its URL of Cinder leads to nothing": (
        "cinderclient.exceptions.NotFound: Not Found (HTTP 404)", "nova/volume/cinder", "cinderclient/client",
    ),
    "its URL of Keystone leads to nothing": (
        "keystoneauth1.exceptions.discovery.DiscoveryFailure: Could not find versioned identity endpoints when "
        "attempting to authenticate. Please check that your auth_url is correct. Not Found (HTTP 404)",
        "nova/network/neutron", "keystoneauth1/identity/generic/base",
    ),
    "its password is wrong": (UNAUTHORIZED, "nova/network/neutron", "keystoneauth1/session"),
    "its model of the CPU is not known": (
        "libvirt.libvirtError: internal error: Unknown CPU model Skylake-Servr", "nova/virt/libvirt/guest", "libvirt",
    ),
    "its machine is of another kind": (
        "libvirt.libvirtError: invalid argument: could not get preferred machine for /usr/bin/qemu-system-x86_64 "
        "type=kvm", "nova/virt/libvirt/guest", "libvirt",
    ),
    "its consoles are to listen at an address of others": (
        "libvirt.libvirtError: internal error: qemu unexpectedly closed the monitor: -vnc 10.9.9.9:0: Failed to bind "
        "socket: Cannot assign requested address", "nova/virt/libvirt/guest", "libvirt",
    ),
    "its host has no program to convert images": (
        "nova.exception.InvalidDiskInfo: Disk info file is invalid: qemu-img failed to execute on /x: Stderr: "
        "'/usr/bin/prlimit: failed to execute qemu-img: No such file or directory'", "nova/privsep/qemu",
    ),
    "its pool is called otherwise": (
        "rados.ObjectNotFound: [errno 2] RADOS object not found (error opening pool 'vmz')", "nova/storage/rbd_utils",
        "rados",
    ),
    "a volume of its lies in a pool that is not there": (
        "libvirt.libvirtError: internal error: unable to execute QEMU command 'blockdev-add': error opening pool "
        "volumes-old: No such file or directory: {\"driver\":\"rbd\",\"read-only\":false}", "nova/virt/libvirt/guest",
        "libvirt",
    ),
    "its host has another ceph.conf": (
        "rados.InvalidArgumentError: [errno 22] RADOS invalid argument (error calling conf_read_file)",
        "nova/storage/rbd_utils", "rados",
    ),
}  # fmt: skip


@pytest.mark.parametrize("raised", NOVA.values(), ids=NOVA)
def test_a_compute_service_that_asks_wrongly_is_the_first_suspect(raised):
    assert first_suspects(compute1__nova_compute=traceback(*raised)) == {("nova-compute", "compute1")}


CONTROLLERS = {
    "its database has another name": (
        "nova-conductor", "sqlalchemy.exc.OperationalError: (pymysql.err.OperationalError) (1049, \"Unknown database "
        "'nova_cell'\")", "nova/db/main/api", "pymysql/err",
    ),
    "its tables are those of another release": (
        "nova-conductor", "oslo_db.exception.DBError: (pymysql.err.OperationalError) (1054, \"Unknown column "
        "'instances.compute_id' in 'field list'\")", "nova/db/main/api", "pymysql/err",
    ),
    "it does not speak TLS to the database": (
        "nova-conductor", "oslo_db.exception.DBConnectionError: (pymysql.err.OperationalError) (3159, 'Connections "
        "using insecure transport are prohibited while ...')", "nova/db/main/api", "pymysql/err",
    ),
    "its tables have a column more than it knows": (
        "nova-conductor", "oslo_db.exception.DBError: (pymysql.err.OperationalError) (1364, \"Field 'compute_id' "
        "doesn't have a default value\")", "nova/db/main/api", "pymysql/err",
    ),
    "its library does not fit to another one": (
        "nova-conductor", "TypeError: Connection.ping() missing 1 required positional argument: 'reconnect'",
        "nova/db/main/api", "pymysql/cursors",
    ),
    "the file of the certificate is not there": (
        "nova-conductor", "FileNotFoundError: [Errno 2] No such file or directory", "nova/db/main/api",
        "pymysql/connections",
    ),
    "it looks for the database by a name of no host": (
        "nova-conductor", "oslo_db.exception.DBConnectionError: (pymysql.err.OperationalError) (2003, \"Can't connect "
        "to MySQL server on 'ctrlx' ([Errno -2] Name or service not known)\")", "nova/db/main/api",
        "pymysql/connections",
    ),
    "its URL of the queue has an unknown driver": (
        "nova-conductor", "oslo_messaging.transport.DriverLoadFailure: Failed to load transport driver \"rabit\": No "
        "'oslo.messaging.drivers' driver found, looking for 'rabit'", "nova/rpc", "oslo_messaging/transport",
    ),
    "its store is not among those that it has": (
        "glance-api", "glance_store.exceptions.UnknownScheme: Unknown scheme 'rbd' found in URI",
        "glance_store/multi_backend",
    ),
    "its host has no program to convert images": (
        "glance-api", "FileNotFoundError: [Errno 2] No such file or directory: 'qemu-img'",
        "glance/async_/flows/plugins/image_conversion",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("service", "exception", "frames"), [(a, b, c) for a, b, *c in CONTROLLERS.values()])
def test_a_service_of_a_controller_that_asks_wrongly_is_the_first_suspect(service, exception, frames):
    lines = traceback(exception, *frames)
    assert first_suspects(**{f"controller1__{service.replace('-', '_')}": lines}) == {(service, "controller1")}


def test_a_service_that_puts_the_answer_of_an_api_into_its_own_words_does_not_stand_alone():
    lines = traceback("nova.exception.ImageNotFound: Image 1f could not be found.", "nova/image/glance")
    assert first_suspects(compute1__nova_compute=lines) == {("glance-api", "controller1")}


def test_what_an_api_is_written_to_fails_on_the_host_of_who_writes():
    lines = traceback("OSError: [Errno 28] No space left on device", "nova/image/glance")
    assert first_suspects(compute1__nova_compute=lines) == {("nova-compute", "compute1")}


@pytest.mark.parametrize(
    ("exception", "frame"),
    [
        (UNAUTHORIZED, "keystoneauth1/session"),
        (
            "oslo_db.exception.DBConnectionError: (pymysql.err.OperationalError) (2003, \"Can't connect to MySQL "
            "server on '10.0.0.10' ([Errno 111] Connection refused)\")",
            "pymysql/connections",
        ),
    ],
)
def test_services_that_fail_in_one_moment_at_a_third_one_do_not_accuse_each_other(exception, frame):
    lines = traceback(exception, frame)
    found = first_suspects(controller1__nova_conductor=lines, compute1__nova_compute=lines)
    assert found.isdisjoint({("nova-conductor", "controller1"), ("nova-compute", "compute1")})


@pytest.mark.parametrize(
    "error",
    [
        "(4151, 'Access denied, this account is locked')",
        "(1820, 'You must SET PASSWORD before executing this statement')",
    ],
)
def test_an_account_that_is_locked_is_its_keepers(error):
    exception = f"sqlalchemy.exc.OperationalError: (pymysql.err.OperationalError) {error}"
    found = first_suspects(controller1__nova_conductor=traceback(exception, "nova/db/main/api", "pymysql/err"))
    assert found == {("database", "controller1")}


def test_what_a_server_has_sent_back_is_no_fault_of_the_agent_that_asked():
    remote = "oslo_messaging.rpc.client.RemoteError: Remote error: KeyError 'host'"
    network = host("network1", ("neutron-dhcp-agent", "dnsmasq"), "10.0.0.14")
    lines = traceback(remote, "neutron/agent/dhcp/agent", "oslo_messaging/_drivers/amqpdriver")
    found = first_suspects([*HOSTS, network], network1__neutron_dhcp_agent=lines)
    assert found == {("neutron-server", "controller1")}


@pytest.mark.parametrize(
    "said",
    [
        "unknown user or group: dnsmasq",
        "failed to create listening socket for 192.168.1.2: Address already in use",
        "cannot read /etc/neutron/dnsmasq-neutron.conf: No such file or directory",
    ],
)
def test_a_program_that_an_agent_starts_wrongly_is_the_agents(said):
    command = "Exit code: 2; Cmd: ['ip', 'netns', 'exec', 'qdhcp-1d', 'dnsmasq', '--no-hosts']; Stdin: ; Stdout: ; "
    exception = f"neutron_lib.exceptions.ProcessExecutionError: {command}Stderr: dnsmasq: {said}"
    network = host("network1", ("neutron-dhcp-agent", "dnsmasq"), "10.0.0.14")
    lines = traceback(exception, "neutron/agent/linux/utils")
    found = first_suspects([*HOSTS, network], network1__neutron_dhcp_agent=lines)
    assert found == {("neutron-dhcp-agent", "network1")}


def test_a_northbound_database_that_takes_no_writes_is_not_that_of_open_vswitch():
    details = (
        '{"details":"insert operation not allowed when database server is in read only mode","error":"not allowed"}'
    )
    ovn = host("ovn1", ("ovn-nb-db", "ovn-sb-db", "ovn-northd"), "10.0.0.15")
    lines = traceback(f"RuntimeError: OVSDB Error: {details}", "ovsdbapp/backend/ovs_idl/transaction")
    assert ("ovsdb", "compute1") not in first_suspects([*HOSTS, ovn], controller1__neutron_server=lines)


UNKNOWN = "sqlalchemy.exc.OperationalError: (pymysql.err.OperationalError) (1049, \"Unknown database 'x'\")"
ANSWERED = (
    "cinderclient.exceptions.ClientException: Unable to update attachment.(Bad or unexpected response from the storage "
    "volume backend API: [errno 2] RADOS object not found (error opening pool 'volumes')). (HTTP 500)"
)


def test_a_database_that_does_not_have_what_several_look_for_is_named():
    lines = traceback(UNKNOWN, "x/db", "pymysql/err")
    services = ("nova_conductor", "neutron_server", "glance_api")
    found = first_suspects(**{f"controller1__{service}": lines for service in services})
    assert found == {("database", "controller1")}


@pytest.mark.parametrize(
    ("exception", "frame"),
    [
        (ANSWERED, "nova/volume/cinder"),
        ("rados.IOError: [errno 5] RADOS I/O error (error opening pool 'vms')", "rados"),
        (
            "keystoneauth1.exceptions.discovery.DiscoveryFailure: Could not find versioned identity endpoints when "
            "attempting to authenticate. Service Unavailable (HTTP 503)",
            "keystoneauth1/identity/generic/base",
        ),
        (
            "amqp.exceptions.PreconditionFailed: (406) PRECONDITION_FAILED - queue 'x' process is stopped",
            "amqp/channel",
        ),
    ],
)
def test_what_a_peer_answers_is_not_a_wrong_request_for_its_words(exception, frame):
    found = first_suspects(compute1__nova_compute=traceback(exception, frame))
    assert ("nova-compute", "compute1") not in found


def test_a_line_without_words_goes_before_what_the_same_service_says_then():
    without_words = "Error launching a defined domain with XML: <domain type='kvm'>"
    lines = [without_words, *traceback("libvirt.libvirtError: internal error: KVM is not there", "libvirt")]
    assert first_suspects(compute1__nova_compute=lines) == {("libvirt", "compute1")}


def test_with_ovn_a_port_that_cannot_be_bound_leads_to_the_controller_of_its_host():
    ovn = host("compute1", ("nova-compute", "libvirt", "ovn-controller", "ovsdb"), "10.0.0.11")
    line = "Failed to bind port 5f0a on host compute1 for vnic_type normal using segments [{'id': '1'}]"
    (suspect,) = first_suspects([HOSTS[0], ovn], agents=[], controller1__neutron_server=[line])
    assert suspect == ("ovn-controller", "compute1")


def test_a_rule_of_nova_about_a_guest_of_libvirt_is_novas():
    exception = "nova.exception.InternalError: Failure running os_vif plugin plug method: No VIF plugin was found"
    lines = [f"Failed to start libvirt guest: {exception}", *traceback(exception, "nova/virt/libvirt/vif")[1:]]
    suspects = first_suspects(logger="nova.virt.libvirt.driver", compute1__nova_compute=lines)
    assert suspects == {("nova-compute", "compute1")}


BIND = "Failed to bind port 5f0a on host {} for vnic_type {} using segments [{{'id': '1'}}]"


@pytest.mark.parametrize(
    "lines",
    [
        [BIND.format("compute1", "direct")],
        [BIND.format("bm7", "normal")],
        [BIND.format("controller1", "normal")],
        [BIND.format("compute1", "normal"), BIND.format("compute2", "normal")],
    ],
)
def test_a_port_that_no_agent_could_bind_is_neutrons(lines):
    assert first_suspects(controller1__neutron_server=lines) == {("neutron-server", "controller1")}


def test_a_port_that_cannot_be_bound_leads_to_the_agent_of_its_host():
    lines = [BIND.format("compute1", "normal")]
    assert first_suspects(controller1__neutron_server=lines) == {("neutron-l2-agent", "compute1")}


def test_a_password_that_the_queue_rejects_is_the_callers_whatever_the_number_of_the_answer():
    error = "amqp.exceptions.AccessRefused: (0, 0): (403) ACCESS_REFUSED - Login was refused using mechanism PLAIN"
    found = first_suspects(compute1__nova_compute=traceback(error, "amqp/connection"))
    assert found == {("nova-compute", "compute1")}


def test_a_request_of_http_is_not_about_what_the_driver_drives_that_logs_it():
    """Nova's driver of libvirt has asked another service, at an address that none of the cloud has."""
    refused = f"{CONNECT}.ConnectFailure: Unable to establish connection to http://10.0.0.99:8999/v: ECONNREFUSED"
    lines = traceback(refused, "nova/virt/libvirt/driver", "keystoneauth1/session")
    failed = f"Failed to start libvirt guest: {refused}"
    suspects = first_suspects(logger="nova.virt.libvirt.driver", compute1__nova_compute=[failed, *lines])
    assert suspects == {("nova-compute", "compute1")}


def test_a_driver_that_waits_for_others_does_not_name_what_it_drives():
    """Nova's driver of libvirt waits for Neutron to plug the port."""
    waits = "Timeout waiting for [('network-vif-plugged', 'a')] for instance: eventlet.timeout.Timeout: 300 seconds"
    suspects = first_suspects(logger="nova.virt.libvirt.driver", compute1__nova_compute=[waits])
    assert suspects == {("nova-compute", "compute1")}


@pytest.mark.parametrize(
    "denied",
    [
        f"Cannot access storage file '/var/lib/nova/instances/{SERVER}/disk' (as uid:64055): Permission denied",
        "internal error: process exited while connecting to monitor: error connecting: Operation not permitted",
    ],
)
def test_what_libvirt_was_denied_is_not_denied_to_who_asked_it(denied):
    lines = traceback(f"libvirt.libvirtError: {denied}", "nova/virt/libvirt/guest", "libvirt")
    assert first_suspects(compute1__nova_compute=lines) == {("libvirt", "compute1")}


def test_a_server_whose_own_pool_of_connections_is_empty_does_not_accuse_the_database():
    error = "sqlalchemy.exc.TimeoutError: QueuePool limit of size 1 overflow 0 reached, connection timed out"
    lines = traceback(error, "neutron/pecan_wsgi", "sqlalchemy/pool/impl")
    assert first_suspects(controller1__neutron_server=lines) == {("neutron-server", "controller1")}


@pytest.mark.parametrize(
    ("service", "line", "named"),
    [
        (
            "neutron_server",
            "Refusing to bind port 5f0a to dead agent: {'id': '1', 'binary': 'neutron-openvswitch-agent', "
            "'topic': 'N/A', 'host': 'compute1', 'alive': False}",
            ("neutron-l2-agent", "compute1"),
        ),
        (
            "nova_conductor",
            "Error from last host: compute1 (node compute1.example): ['Traceback (most recent call last):', 'x']",
            ("nova-compute", "compute1"),
        ),
        (
            "nova_conductor",
            "Timeout while checking if we can live migrate to host: compute1: oslo_messaging.MessagingTimeout: "
            "Timed out waiting for a reply to message ID 1f",
            ("nova-compute", "compute1"),
        ),
    ],
)
def test_what_fails_on_a_compute_host_is_not_looked_for_where_it_was_reported(service, line, named):
    assert first_suspects(**{f"controller1__{service}": [line]}) == {named}


def test_an_account_that_is_rejected_on_several_hosts_is_its_keepers():
    lines = traceback(UNAUTHORIZED, "keystoneauth1/session")
    found = first_suspects(compute1__nova_compute=lines, compute2__nova_compute=lines)
    assert ("nova-compute", "compute1") not in found
    assert "keystone" in {component for component, _host in found}


@pytest.mark.parametrize(
    ("error", "is_cut"),
    [
        ("(1045, \"Access denied for user 'nova'@'10.0.0.10' (using password: YES)\")", True),
        ("(1142, \"INSERT command denied to user 'nova'@'10.0.0.10' for table 'instances'\")", False),
    ],
)
def test_who_may_not_do_something_was_let_in(error, is_cut):
    """A wrong password is the caller's; of rights either end may be wrong."""
    exception = f"sqlalchemy.exc.OperationalError: (pymysql.err.OperationalError) {error}"
    lines = traceback(exception, "nova/db/main/api", "pymysql/err")
    found = first_suspects(controller1__nova_conductor=lines)
    assert (("nova-conductor", "controller1") in found) is is_cut


@pytest.mark.parametrize(
    ("option", "named"), [("[neutron] endpoint_override", "nova-compute"), ("[glance] timeout", "neutron-server")]
)
def test_a_setting_about_a_peer_accuses_who_has_it_and_not_the_peer(option, named):
    different = [{"kind": "option", "what": f"/etc/nova/nova.conf {option}"}]
    controller, _compute, *others = HOSTS
    hosts = [controller, host("compute1", COMPUTE, "10.0.0.11", differences=different), *others]
    lines = traceback(f"{CONNECT}.ConnectFailure: {NOT_REACHED}: [Errno 111] ECONNREFUSED", "keystoneauth1/session")
    assert [component for component, _host in first_suspects(hosts, compute1__nova_compute=lines)] == [named]


@pytest.mark.parametrize(("how", "is_first"), [("open", False), ("refused", True)])
def test_a_peer_that_takes_another_connection_from_the_same_host_is_not_the_first_suspect(how, is_first):
    probe = {"component": "neutron-server", "address": "10.0.0.10", "port": 9696, "how": how}
    controller, _compute, *others = HOSTS
    hosts = [controller, host("compute1", COMPUTE, "10.0.0.11", reach=[probe]), *others]
    lines = traceback(f"{CONNECT}.ConnectFailure: {NOT_REACHED}: [Errno 111] ECONNREFUSED", "keystoneauth1/session")
    found = {component for component, _host in first_suspects(hosts, compute1__nova_compute=lines)}
    assert ("nova-compute" not in found) is is_first


@pytest.mark.parametrize(
    "lost",
    [
        traceback("amqp.exceptions.RecoverableConnectionError: <RecoverableConnectionError: unknown error>", "amqp/x"),
        ["AMQP server on 10.0.0.10:5672 is unreachable: <RecoverableConnectionError: unknown error>."],
        ["AMQP server on 10.0.0.10:5672 is unreachable: (0, 0): (320) CONNECTION_FORCED - closed by its broker."],
    ],
)
@pytest.mark.parametrize(("how", "named"), [("open", "libvirt"), ("refused", "rabbitmq")])
def test_a_connection_to_the_queue_that_is_made_again_is_no_cause(how, named, lost):
    """It was lost some time before, and the first message of the run has found it out."""
    probe = {"component": "rabbitmq", "address": "10.0.0.10", "port": 5672, "how": how}
    controller, _compute, *others = HOSTS
    hosts = [controller, host("compute1", COMPUTE, "10.0.0.11", reach=[probe]), *others]
    failed = traceback("libvirt.libvirtError: Secret not found: no secret with matching uuid 'x'", "libvirt")
    logs = {"compute1__neutron_l2_agent": lost, "compute1__nova_compute": [*["waiting"] * 3, *failed]}
    assert {component for component, _host in first_suspects(hosts, **logs)} == {named}


def test_what_a_called_service_has_sent_back_is_not_the_code_of_who_called():
    raised = "TypeError: f() missing 1 required positional argument: 'x'"
    found = first_suspects(
        controller1__nova_conductor=traceback(raised, "nova/conductor/manager"),
        compute1__nova_compute=["waiting", *traceback(raised, "oslo_messaging/rpc/client")],
    )
    assert found == {("nova-conductor", "controller1")}


def test_a_refusal_hides_nothing_else_that_an_api_meets():
    refusal = traceback("cinder.exception.ConflictNovaUsingAttachment: Detach volume using the Compute API", "x")
    lines = [*refusal, "Unable to reach the database at 10.0.0.10: Connection refused"]
    assert ("database", "controller1") in first_suspects(controller1__cinder_api=lines)


def test_a_database_on_this_host_without_its_socket_is_the_databases():
    exception = (
        "oslo_db.exception.DBConnectionError: (pymysql.err.OperationalError) (2003, \"Can't connect to MySQL server on "
        "'localhost' ([Errno 2] No such file or directory)\")"
    )
    found = first_suspects(controller1__nova_conductor=traceback(exception, "nova/db/main/api", "pymysql/connections"))
    assert found == {("database", "controller1")}


def test_a_request_that_an_api_does_not_accept_by_a_rule_of_its_own_is_its_senders():
    refusal = "Detach volume from instance using the Compute API"
    logs = {
        "controller1__cinder_api": [
            "words",
            *traceback(f"cinder.exception.ConflictNovaUsingAttachment: {refusal}", "x"),
        ],
        "compute1__nova_compute": ["waiting", *traceback(*NOVA["Cinder wants a token of a service"])],
    }
    assert first_suspects(**logs) == {("nova-compute", "compute1")}


def test_a_service_that_fails_at_an_address_of_its_settings_asks_there_itself():
    """nova-conductor needs Glance for a shelved server alone, and nova-api has not read the file again."""
    probe = {"component": "glance-api", "address": "10.0.0.13", "port": 9292, "how": "refused", "named_by": ["nova"]}
    changed = [{"path": "/etc/nova/nova.conf", "ago_s": 60.0}]
    controller = host("controller1", CONTROLLER, "10.0.0.10", reach=[probe], changed=changed)
    for service in controller["facts"]["services"]:
        service["for_s"] = 50.0 if service["component"] == "nova-conductor" else 7000.0
    raised = "glanceclient.exc.CommunicationError: Error finding address for http://10.0.0.13:9292: ECONNREFUSED"
    lines = traceback(raised, "nova/image/glance", "glanceclient/common/http")
    found = first_suspects([controller, *HOSTS[1:]], controller1__nova_conductor=lines)
    assert found == {("nova-conductor", "controller1")}
