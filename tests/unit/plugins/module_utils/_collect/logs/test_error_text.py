# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What messages of OpenStack, of its shared services and of the kernel tell: how something failed, and at whom."""

from __future__ import annotations

import time

import pytest
from ansible_collections.stackproof.provision.plugins.module_utils._collect.logs import error_text
from ansible_collections.stackproof.provision.plugins.module_utils._model.how import AT_PEER

HTTP = "HTTPConnectionPool(host='10.71.16.12', port={port}): "
# (message, how, the component at the address that it names, that address, the components that it calls by name)
MESSAGES = [
    (
        "Live Migration failure: unable to connect to server at 'compute2:16509': Connection refused",
        "refused", "libvirt", "compute2", [],
    ),
    # How it failed, by the words of the kernel and of libraries
    ("OSError: [Errno 28] No space left on device: '/var/lib/nova/instances'", "full", None, None, []),
    ("OSError: [Errno 24] Too many open files", "full", None, None, []),
    ("[Errno 122] EDQUOT", "full", None, None, []),
    ("Out of memory: Killed process 1234 (mariadbd) total-vm:1234567kB, anon-rss:123kB, UID:101", "full", None, None,
     ["database"]),
    ("libvirt.libvirtError: cannot set up guest memory 'pc.ram': Cannot allocate memory", "full", None, None,
     ["libvirt"]),
    ("Quota exceeded for instances: Requested 1, but already used 60 of 60 instances", "full", None, None, []),
    ("IOError: [Errno 30] Read-only file system: '/var/lib/nova/instances/locks'", "read-only", None, None, []),
    ("PermissionError: [Errno 13] Permission denied: '/etc/nova/nova.conf'", "denied", None, None, []),
    ("[Errno 111] ECONNREFUSED (retrying in 2.0 seconds)", "refused", None, None, []),
    ("[Errno 113] No route to host", "unreachable", None, None, []),
    ("[Errno -3] Temporary failure in name resolution", "unresolved", None, None, []),
    ("[Errno 110] Connection timed out", "silent", None, None, []),
    ("[Errno 104] Connection reset by peer", "broken off", None, None, []),
    ("BrokenPipeError(32, 'Broken pipe')", "broken off", None, None, []),
    ("FileNotFoundError: [Errno 2] No such file or directory: 'dnsmasq'", "missing", None, None, ["dnsmasq"]),
    ("EXT4-fs error (device vda1): ext4_find_entry:1455: reading directory lblock 0", None, None, None, []),
    ("blk_update_request: I/O error, dev vda, sector 12345 op 0x1:(WRITE)", "error", None, None, []),
    # OpenStack's services, and its settings
    (f"Unable to establish connection to http://10.71.16.12:8778/usages: {HTTP.format(port=8778)}Max retries exceeded "
     "(Caused by NewConnectionError('Failed to establish a new connection: [Errno 111] Connection refused'))",
     "refused", "placement-api", "10.71.16.12", []),
    ("Unable to establish connection to http://controller1/placement/usages: ('Connection aborted.', "
     "RemoteDisconnected('Remote end closed connection without response'))",
     "broken off", "placement-api", "controller1", ["placement-api"]),
    ("Unable to establish connection to https://[fd00::12]:9696/v2.0", "unreachable", "neutron-server", "fd00::12", []),
    (f"requests.exceptions.ReadTimeout: {HTTP.format(port=8775)}Read timed out. (read timeout=60)",
     "silent", "nova-api-metadata", "10.71.16.12", []),
    ("keystoneauth1.exceptions.http.Unauthorized: The request you have made requires authentication. (HTTP 401)",
     "denied", None, None, ["keystone"]),
    ('Identity response: {"error":{"code":401,"message":"The request you have made requires authentication."}}',
     "denied", None, None, []),
    ("neutronclient.common.exceptions.ServiceUnavailable: 503 Service Unavailable", "error", None, None,
     ["neutron-server"]),
    ("glanceclient.exc.HTTPInternalServerError: HTTP 500 Internal Server Error", "error", None, None, ["glance-api"]),
    ("Failed to fetch the volume: HTTP/1.1 504", "silent", None, None, []),
    ("unexpected status code 404 from http://169.254.169.254/latest/meta-data", "missing", None, None, []),
    ("oslo_config.cfg.ConfigFileParseError: Failed to parse /etc/nova/nova.conf: at /etc/nova/nova.conf:12",
     "malformed", None, None, []),
    ("Value for option workers is not valid: invalid literal for int() with base 10: 'x'", "malformed", None, None, []),
    ("nova.exception_Remote.NoValidHost_Remote: No valid host was found.", None, None, None, []),
    # The object store, by the clients of Swift's API
    ("webob.exc.HTTPRequestEntityTooLarge: Image storage media is full: Object PUT failed", "full", None, None,
     ["ceph-rgw"]),
    ("Container HEAD failed: http://10.71.16.15:7480/swift/v1/images 403 Forbidden", "denied", "ceph-rgw",
     "10.71.16.15", ["ceph-rgw"]),
    # The database
    ("(pymysql.err.OperationalError) (2003, \"Can't connect to MySQL server on '10.71.16.12' ([Errno 111] Connection "
     'refused)")', "refused", None, None, ["database"]),
    ("(pymysql.err.OperationalError) (1045, \"Access denied for user 'nova'@'10.71.16.12' (using password: YES)\")",
     "denied", None, None, ["database"]),
    ("(pymysql.err.OperationalError) (1040, 'Too many connections')", "full", None, None, ["database"]),
    ("(pymysql.err.OperationalError) (1114, \"The table 'instances' is full\")", "full", None, None, ["database"]),
    ("QueuePool limit of size 5 overflow 50 reached, connection timed out, timeout 30.00", "full", None, None,
     ["database"]),
    ("(pymysql.err.OperationalError) (1290, 'The MariaDB server is running with the --read-only option')", "read-only",
     None, None, ["database"]),
    ("(pymysql.err.OperationalError) (2013, 'Lost connection to MySQL server during query')", "broken off", None, None,
     ["database"]),
    ("(pymysql.err.OperationalError) (2006, \"MySQL server has gone away\")", "broken off", None, None, ["database"]),
    ("(pymysql.err.ProgrammingError) (1146, \"Table 'nova.instances' doesn't exist\")", "malformed", None, None,
     ["database"]),
    ("(pymysql.err.OperationalError) (1054, \"Unknown column 'ports.foo' in 'field list'\")", "malformed", None, None,
     ["database"]),
    ("Instance has allocations but is not found in the database.", "missing", None, None, ["database"]),
    ("DB exceeded retry limit.", None, None, None, ["database"]),
    # The queue
    ("AMQP server on 10.71.16.12:5672 is unreachable: [Errno 111] ECONNREFUSED. Trying again in 1 seconds.", "refused",
     "rabbitmq", "10.71.16.12", ["rabbitmq"]),
    ("AMQP server on controller1:5671 is unreachable: timed out. Trying again in 1 seconds.", "silent", "rabbitmq",
     "controller1", ["rabbitmq"]),
    ("(0, 0): (403) ACCESS_REFUSED - Login was refused using authentication mechanism AMQPLAIN.", "denied", None, None,
     ["rabbitmq"]),
    ("NOT_FOUND - no queue 'reply_f001a086ad0243e6946f110b24aee6a1' in vhost '/'", "missing", None, None, []),
    # Another service did not reply, which says nothing of the queue.
    ("oslo_messaging.exceptions.MessagingTimeout: Timed out waiting for a reply to message ID 2d5f", "silent", None,
     None, []),
    ("AMQP connection was blocked: low on memory", "full", None, None, ["rabbitmq"]),
    # Ceph
    ("rados.ObjectNotFound: [errno 2] RADOS object not found (error connecting to the cluster)", "missing", None, None,
     ["ceph-mon"]),
    ("rados.PermissionError: [errno 13] RADOS permission denied (error connecting to the cluster)", "denied", None,
     None, ["ceph-mon"]),
    ("monclient(hunting): authenticate timed out after 300", "silent", None, None, []),
    ("Health check failed: 1 full osd(s) (OSD_FULL)", "full", None, None, []),
    ("3 pool(s) full (POOL_FULL)", "full", None, None, []),
    ("no reply from [v2:10.71.16.11:3300,v1:10.71.16.11:6789]", "silent", "ceph-mon", "10.71.16.11", []),
    # libvirt
    ("libvirt.libvirtError: Failed to connect socket to '/var/run/libvirt/libvirt-sock': Connection refused", "refused",
     None, None, ["libvirt"]),
    ("libvirt.libvirtError: End of file while reading data: Input/output error", "broken off", None, None, ["libvirt"]),
    ("libvirt.libvirtError: Secret not found: no secret with matching uuid '28f81a63'", "missing", None, None,
     ["libvirt"]),
    ("libvirt.libvirtError: unsupported configuration: CPU mode 'custom' is not supported", "malformed", None, None,
     ["libvirt"]),
    # Open vSwitch and OVN
    ("ovs-vsctl: unix:/var/run/openvswitch/db.sock: database connection failed (No such file or directory)", "missing",
     None, None, ["ovsdb"]),
    ("Port 5f0a7c1e-33b2-4d1c-9a57-3f6f0c7f8e11 not present in bridge br-int", "missing", None, None, ["ovsdb"]),
    ("tcp:10.71.20.12:6642: no response to inactivity probe after 60 seconds, disconnecting", "silent", "ovn-sb-db",
     "10.71.20.12", []),
    ("Could not retrieve schema from ssl:[fd00::12]:6641: Connection refused", "refused", "ovn-nb-db", "fd00::12", []),
    ("OVN_Southbound: connection closed by peer", "broken off", None, None, ["ovn-sb-db"]),
    # A command on another host
    ("Resize error: not able to execute ssh command: Unexpected error.\nCommand: ssh -o BatchMode=yes 10.71.16.11 "
     "mkdir -p /var/lib/nova/instances/x\nStderr: 'nova@10.71.16.11: Permission denied (publickey)'", "denied", None,
     "10.71.16.11", []),
    ("Command: scp -r /var/lib/nova/x compute2:/var/lib/nova/x", None, None, "compute2", []),
    ("Command: rsync --archive --copy-links -e ssh /x/disk nova@[fd00::2]:/x/disk", None, None, "fd00::2", []),
    ("Failed to bind port 5f0a on host compute2 for vnic_type normal using segments [{'id': '1'}]", "error",
     "neutron-l2-agent", "compute2", []),
    # What a worker has sent back
    ("Error from last host: compute1 (node compute1): ['Traceback (most recent call last):', 'x'", "error",
     "nova-compute", "compute1", []),
    ("Refusing to bind port 5f0a to dead agent: {'binary': 'neutron-openvswitch-agent', 'host': 'c1.example'}",
     "silent", "neutron-l2-agent", "c1.example", ["neutron-server", "ovsdb"]),
    ("Error scheduling 1f49c276 from last vol-service: storage1@ceph#ceph : ['Traceback']", "error",
     "cinder-volume", None, []),
    ("Failed to initialize driver for storage1@rbd-ssd, as Ceph did not answer", None, None, None, ["ceph-mon"]),
    # Of a virtual host of the queue: its name is a setting of the caller, the rights may be of either
    ("Connection failed: Connection.open: (530) NOT_ALLOWED - vhost nova_cell1 not found", "denied", None, None, []),
    # Programs of the writer's own host
    ("FileNotFoundError: [Errno 2] No such file or directory: 'qemu-img'", "missing", None, None, []),
    ("Unexpected error while running command. Stderr: \"env: 'qemu-img': No such file or directory\"", "missing", None,
     None, []),
    # Something is in the way
    ("libvirt.libvirtError: operation failed: domain 'instance-7' already exists with uuid 28f81a63", "conflict", None,
     None, ["libvirt"]),
    # Who asks wrongly
    ("neutronclient.common.exceptions.BadRequest: Invalid input for operation: physical_network 'x' unknown",
     "malformed", None, None, ["neutron-server"]),
    ("neutronclient.common.exceptions.NotFound: <title>404 Not Found</title> The resource could not be found.",
     "malformed", None, None, ["neutron-server"]),
    ("neutronclient.common.exceptions.PortNotFound: Port 5f0a could not be found. (HTTP 404)", "missing", None, None,
     ["neutron-server"]),
    ("Placement service credentials do not work.", "denied", None, None, ["placement-api"]),
    # Certificates
    ("SSLError(1, '[SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed: self-signed certificate')", "untrusted",
     None, None, []),
    # A limit of the broker, and databases that are not MariaDB
    ("NOT_ALLOWED - access to vhost '/' refused for user 'openstack': connection limit (10) is reached", "full", None,
     None, ["rabbitmq"]),
    ('{"details":"Transaction causes multiple rows in \\"Encap\\" table to have identical values. First row '
     'existed in the database before this transaction","error":"constraint violation"}', "conflict", None, None,
     ["ovn-sb-db"]),
    ("ovsdbapp.exceptions.TimeoutException: Commands [x] exceeded timeout 180 seconds", "silent", None, None, []),
    ("The database refused it", None, None, None, ["database"]),
    # Whose tables these are
    ("Cannot find Logical_Switch with name=neutron-1d", None, None, None, ["neutron-server", "ovn-nb-db"]),
    ('transaction error: {"details":"RBAC rules for client \\"(null)\\" role \\"ovn-controller\\" prohibit modification'
     ' of table \\"Port_Binding\\".","error":"permission error"}', "denied", None, None, ["ovn-sb-db"]),
    ('prohibit row insertion into table \\"Chassis\\".', None, None, None, ["ovn-sb-db"]),
    ("port_binding, dhcp_options and logical_switch are names of Python", None, None, None, []),
    # A value that was sent
    ("Unsupported VIF type unbound convert", "error", "neutron-server", None, []),
    ("it has 'vif_type': 'binding_failed'", "error", "neutron-server", None, []),
    # Other peers
    ("{'result': -1, 'desc': \"Can't contact LDAP server\", 'errno': 107}", "unreachable", None, None, ["ldap"]),
    ("ldap.INVALID_CREDENTIALS: {'result': 49, 'desc': 'Invalid credentials'}", "denied", None, None, ["ldap"]),
    ("Error connecting to memcached: 10.71.16.12:11211 timed out", "silent", "memcached", "10.71.16.12",
     ["memcached"]),
]  # fmt: skip


@pytest.mark.parametrize(("message", "how", "peer", "address", "mentions"), MESSAGES, ids=lambda value: str(value)[:60])
def test_a_message_tells_how_something_failed_and_at_whom(message, how, peer, address, mentions):
    assert error_text.how_of(message) == how
    assert error_text.peer_in(message) == (peer, address)
    assert error_text.mentioned_in(message) == mentions


@pytest.mark.parametrize(
    "message",
    [
        "Took 1.404 seconds to build instance, 0.503 of them for 500 MiB",
        "[pid: 403|app: 0|req: 404/503] 10.71.16.254 () {32 vars in 401 bytes}",
        "Instance 593bff83-0401-4bff-b038-2774dcc40404 on port 50401",
        "Doing a full resync, the full traceback is below, carefully, isfull",
        "openfile, systemfile and OpenFile are names",
        "superperm zerofs tepipe",
        "",
    ],
)
def test_numbers_and_parts_of_words_tell_nothing(message):
    assert error_text.how_of(message) is None


def test_the_reason_that_says_more_is_told_rather_than_one_that_says_less():
    message = "Service Unavailable: {}: timeout: no such table"
    assert error_text.how_of(message.format("Connection refused")) == "refused"
    assert error_text.how_of(message.format("Permission denied: Connection refused")) == "denied"
    assert error_text.how_of(message.format("x")) == "silent"
    assert error_text.how_of("Service Unavailable: no such table") == "missing"


def test_several_components_are_called_by_their_names_each_once():
    message = "Neutron and the image service asked keystone, neutron and the Southbound database for placement"
    assert error_text.mentioned_in(message) == [
        "neutron-server",
        "glance-api",
        "keystone",
        "placement-api",
        "ovn-sb-db",
    ]


@pytest.mark.parametrize(
    "message",
    [
        f"http://controller1:{'9' * 5000}/v3 refused",
        "http://controller1:99999/v3",
        "tcp:controller1:99999",
        "mysql://nova:secret",
        "http://",
        "://:5672",
        "[::]:",
        "host='', port=5000",
        "\udcff\ud800:5000",
        "12:5000 at 0x5000:5672",
    ],
)
def test_a_line_that_names_nobody_properly_names_nobody(message):
    assert error_text.peer_in(message) == (None, None)


@pytest.mark.parametrize(
    "unit", ["http://", "mysql://a:", "1.1.1.1:", "host='a", "[", "is ", "unable to ", "HTTP  ", "a"]
)
def test_a_line_that_is_made_to_be_slow_takes_no_time(unit):
    text = (unit * 4000)[:4000]
    began = time.process_time()
    for read in (error_text.how_of, error_text.peer_in, error_text.mentioned_in):
        read(text)
    assert time.process_time() - began < 1


def test_each_way_of_failing_at_a_peer_has_patterns_in_the_order_of_the_enum():
    assert tuple(error_text.HOW) == AT_PEER
