# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Known bugs by what services log of them: words that were published, some in a line that was made around them."""

from __future__ import annotations

import json
import re

import as_json
import pytest
from ansible_collections.stackproof.provision.plugins.module_utils._collect.logs.scan import Scan
from ansible_collections.stackproof.provision.plugins.module_utils._collect.logs.wanted import Wanted
from ansible_collections.stackproof.provision.plugins.module_utils._components.bugs.catalogue import BUGS
from ansible_collections.stackproof.provision.plugins.module_utils._components.tables import entry_of
from ansible_collections.stackproof.provision.plugins.module_utils._match import events
from ansible_collections.stackproof.provision.plugins.module_utils._match.known_bugs import known_bugs_in
from ansible_collections.stackproof.provision.plugins.module_utils._match.logged_errors import errors_of
from ansible_collections.stackproof.provision.plugins.module_utils._model.codec import from_json
from ansible_collections.stackproof.provision.plugins.module_utils._model.record import Record
from ansible_collections.stackproof.provision.plugins.module_utils._report import finding
from tree import RECORDED

NOON = 1795262400.0
CONTEXT = "[None req-104a5756-d0b3-4d08-aadf-7e82ad766531 0beb 21a6 - - default default]"
# Number of the bug: the service, its logger, and what it logs. The words that show the bug are as published.
LINES = {
    "LP#1943937": (
        "neutron-dhcp-agent",
        "oslo_service.service",
        "oslo_messaging.exceptions.MessageDeliveryFailure: Unable to connect to AMQP server on 10.49.20.11:5672 after "
        "None tries: Queue.declare: (404) NOT_FOUND - failed to perform operation on queue 'dhcp_agent.30-02' in vhost "
        "'/' due to timeout",
    ),
    "LP#1951656": (
        "nova-compute",
        "nova.compute.manager",
        "Error updating resources for node compute02.: ValueError: badly formed hexadecimal UUID string",
    ),
    "LP#1972028": (
        "nova-compute",
        "nova.compute.manager",
        "Error updating resources for node compute02.: libvirt.libvirtError: Node device not found: no node device "
        "with matching name 'net_tap8b08ec90_e5_fe_16_3e_0f_0a_d4'",
    ),
    "LP#1978489": (
        "nova-compute",
        "nova.compute.manager",
        "Instance failed to spawn: libvirt.libvirtError: Value specified in CPUWeight is out of range",
    ),
    "LP#1980211": (
        "neutron-server",
        "neutron.plugins.ml2.drivers.ovn.mech_driver.ovsdb.impl_idl_ovn",
        "ValueError: non-zero flags not allowed in calls to send() on <class 'eventlet.green.ssl.GreenSSLSocket'>",
    ),
    "LP#1982284": (
        "nova-compute",
        "nova.virt.libvirt.driver",
        "Live Migration failure: libvirt.libvirtError: internal error: migration was active, but no RAM info was set",
    ),
    "LP#1928031": (
        "neutron-ovn-metadata-agent",
        "neutron.agent.ovn.metadata.server",
        "AttributeError: 'MetadataProxyHandler' object has no attribute 'sb_idl'",
    ),
    "LP#2004555": (
        "nova-compute",
        "nova.volume.cinder",
        "Delete attachment failed: cinderclient.exceptions.ClientException: ConflictNovaUsingAttachment: Detach volume "
        "from instance 593bff83 using the Compute API (HTTP 409)",
    ),
    "LP#2028285": (
        "neutron-server",
        "neutron.pecan_wsgi.hooks.translation",
        "GET failed.: AttributeError: type object 'Port' has no attribute 'port_forwardings'",
    ),
    "LP#2037102": (
        "neutron-ovn-metadata-agent",
        "neutron",
        "Unhandled error: OSError: [Errno 22] failed to open netns",
    ),
    "LP#2081009": (
        "glance-api",
        "glance",
        "oslo_config.cfg.NotInitializedError: call expression on parser has not been invoked",
    ),
    "LP#2094842": (
        "neutron-server",
        "ovsdbapp.backend.ovs_idl.vlog",
        "attempting to write bad value to column networks (ovsdb error: 0 values when type requires between 1 and "
        "9223372036854775807): ovs.db.error.Error: ovsdb error: 0 values when type requires between 1 and "
        "9223372036854775807",
    ),
    "libvirt#309": (
        "nova-compute",
        "nova.virt.block_device",
        "Failed to detach volume: libvirt.libvirtError: internal error: unable to execute QEMU command 'device_del': "
        "Device virtio-disk1 is already in the process of unplug",
    ),
}


def errors_in(service, logger, message):
    """Return the errors that a host returns for a line, as a run has them."""
    asked = {"phrases": [], "windows": [], "since": NOON - 300, "began": NOON - 30, "until": NOON + 30, "errors": True}
    scanner = Scan(from_json(Wanted, {"keys": {}, **asked}), 0)
    scanner.take(service, ((None, f"2026-11-21 12:00:00.000 7 ERROR {logger} {CONTEXT} {message}"),), 0)
    logs = {"host1": {"events": [event.to_json() for event in scanner.events], "addresses": [], "sources": []}}
    run = events.context_of(as_json.typed({}), {"log": logs})
    return errors_of(events.of_source("log", run, logs))


@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.number)
def test_a_bug_is_known_by_its_line(bug):
    service, logger, message = LINES[bug.number]
    (found,) = known_bugs_in(errors_in(service, logger, message))
    assert (found.number, found.component, found.host) == (bug.number, service, "host1")


@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.number)
def test_a_service_that_does_not_have_the_bug_does_not_show_it(bug):
    _service, logger, message = LINES[bug.number]
    assert known_bugs_in(errors_in("slapd", logger, message)) == ()


@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.number)
def test_a_bug_has_all_that_a_reader_needs(bug):
    assert re.fullmatch(r"https://\S+\d+", bug.url)
    assert all((bug.title, bug.affects, bug.remedy))
    # A sentence follows, which has its own full stop.
    assert not bug.title.endswith(".")
    assert not bug.remedy.endswith(".")
    assert all(entry_of(component).name == component for component in bug.components)


def test_every_bug_has_a_number_of_its_own():
    assert len({bug.number for bug in BUGS}) == len(BUGS) == len(LINES) >= 12


def test_no_recorded_error_of_other_faults_shows_a_bug():
    """The faults of the recorded runs were made, and none of them is a bug."""
    count = 0
    for path in sorted(RECORDED.rglob("*.json")):
        data = json.loads(path.read_text())
        if isinstance(data, dict) and data.get("schema") and data.get("errors"):
            errors = from_json(Record, data).known_errors
            count += len(errors)
            assert known_bugs_in(errors) == ()
    assert count


def test_a_bug_stands_in_the_summary():
    record = as_json.typed(
        {"known_bugs": [as_json.plain(one) for one in known_bugs_in(errors_in(*LINES["LP#2037102"]))]}
    )
    text = finding.bug_in_words(record.known_bugs[0])
    assert text.startswith("LP#2037102 (neutron-ovn-metadata-agent (host1)): OVN's metadata agent ends at its start")
    assert text.endswith("https://bugs.launchpad.net/bugs/2037102")
