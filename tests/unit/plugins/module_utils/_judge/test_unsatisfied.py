# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Verdicts on requests that the cloud cannot satisfy: they have the reason, and accuse no component."""

from __future__ import annotations

import json
import shlex

import as_json
import jsonschema
import pytest
from ansible_collections.stackproof.provision.plugins.module_utils._judge import culprit
from ansible_collections.stackproof.provision.plugins.module_utils._model import codec
from ansible_collections.stackproof.provision.plugins.module_utils._model.capacity import (
    AddressUse,
    Capacity,
    ComputeCapacity,
    Pool,
    QuotaUse,
    Requested,
    RequestGroup,
    VolumeCapacity,
)
from ansible_collections.stackproof.provision.plugins.module_utils._model.chain import Chain, Link, LinkState
from ansible_collections.stackproof.provision.plugins.module_utils._model.finding import Reason
from ansible_collections.stackproof.provision.plugins.module_utils._model.symptom import Code
from ansible_collections.stackproof.provision.plugins.module_utils._report import finding as report
from cases_by_hand import STARTED, agent, error, logged, stage
from hosts_by_hand import Cloud, capacity_of, disabled, down, host, hosts, id_of, inventory, usual
from tree import RECORDED, ROLES

SCHEMA = json.loads((ROLES / "report/files/run.schema.json").read_text())
NO_HOST = "the server s is in the state ERROR, the cloud answered: No valid host was found."
NO_RETRIES = "the server s is in the state ERROR, the cloud answered: Exceeded maximum number of retries."
EXTERNAL = "nova.exception.ExternalNetworkAttachForbidden"
NO_SECURE_BOOT = "nova.exception.SecureBootNotSupported"
GPU = {"name": "gpu", "extra_specs": {"trait:CUSTOM_GPU": "required"}}
FULL = usual(VCPU=inventory(8, 8))
GONE = {id_of("gone"): {"VCPU": 8}}


def record_of(message, name="boot", kind="build_failed", capacity=None, details=None, **more):
    failed = stage(name, error=error(kind, message), details=details or {})
    record = {**as_json.new_record("run", "cloud"), "started": STARTED, "stages": [failed], **more}
    return {**record, "capacity": codec.to_json(capacity)} if capacity else record


def verdict_of(*args, **more):
    record = record_of(*args, **more)
    verdict = as_json.verdict_on(record)
    for part in ("verdict", "capacity"):
        schema = {**SCHEMA["properties"][part], "$defs": SCHEMA["$defs"]}
        if part in record:
            jsonschema.Draft202012Validator(schema).validate({**record, "verdict": verdict}[part])
    return verdict


def without_component(verdict):
    return all(not verdict[key] for key in ("component", "host", "confidence", "alternatives", "step", "connection"))


def changed(path, component, host="ctl"):
    service = {"component": component, "unit": f"{component}.service", "state": "running"}
    examination = {
        "clients": None, "own": [], "reach": [], "pending": [], "resources": [], "differences": [],
        "changed": [{"path": path, "ago_s": 20.0}],
    }  # fmt: skip
    return as_json.host(host, facts={"services": [service]}, examination=examination)


def dropped(code, rule):
    """The chain of a port, broken as a logical flow of OVN drops a packet."""
    link = Link(code, LinkState.BROKEN, "ovn-nb-db", "ctl", subject="table 8", found=rule, command="ovn-trace")
    return [codec.to_json(Chain("ovn_port", "1d", (link,)))]


REQUESTS = {
    "a trait": (
        {"message": NO_HOST, "capacity": capacity_of(Cloud(hosts(2), flavor=GPU))},
        'No host fits: flavor "gpu" requires trait CUSTOM_GPU, which no resource provider has',
        "openstack flavor show gpu",
    ),
    "hosts of the project's own": (
        {"message": f"{NO_HOST} Scheduling failed: No hosts allocated to project x."},
        "No host fits: No hosts allocated to project x",
        "openstack aggregate list --long",
    ),
    "computes that are disabled": (
        {"message": NO_HOST, "capacity": capacity_of(Cloud([*map(disabled, hosts(2))]))},
        "No host fits: both compute hosts are disabled (maintenance)",
        "openstack compute service list --service nova-compute --long",
    ),
    "an image": (
        {"message": "Build of instance x aborted: Image 1d is unacceptable: Image not in a supported format"},
        "The image is not accepted: Image not in a supported format",
        "openstack image show 1d",
    ),
    "another host than that of the server": (
        {
            "message": NO_HOST,
            "name": "journey",
            "kind": "invalid",
            "capacity": capacity_of(Cloud([host("compute1"), disabled(host("compute2"))])),
            "details": {
                "legs": [
                    {
                        "operation": "live_migrate",
                        "status": "failed",
                        "actions": [{"action": "live-migration", "request_id": None}],
                        "host_before": "compute1",
                    }
                ]
            },
        },
        "No host fits: compute2 is disabled (maintenance)",
        "openstack compute service list --service nova-compute --long",
    ),
    "a compute that is in no cell": (
        {
            "message": "the server is in the state ERROR: Host 'compute1' is not mapped to any cell",
            "capacity": capacity_of(Cloud([host(has_hypervisor=False)])),
        },
        "No host fits: compute1 has no compute node in a mapped cell",
        "nova-manage cell_v2 discover_hosts --verbose",
    ),
    "room": (
        {"message": NO_HOST, "capacity": capacity_of(Cloud([host(inventories=FULL)]))},
        "No host fits: compute1 has 0 of 8 VCPUs free; 1 needed",
        f"openstack resource provider inventory list {id_of('compute1')}",
    ),
    "room that nobody uses": (
        {"message": NO_HOST, "capacity": capacity_of(Cloud([host(inventories=FULL, holds=GONE)]))},
        "No host fits: compute1 has 0 of 8 VCPUs free; 1 needed (8 held by allocations of servers that are gone)",
        f"nova-manage placement audit --verbose; openstack resource provider show --allocations {id_of('compute1')}",
    ),
    "a host of another size": (
        {"message": NO_HOST, "capacity": capacity_of(Cloud(hosts(2), flavor={"vcpus": 64}))},
        'No host fits: flavor "small" needs 64 VCPUs; no compute host gives an instance more than 8',
        "openstack flavor show small",
    ),
    "a filter": (
        {
            "message": NO_HOST,
            "errors": [
                logged("nova-scheduler", filters=[{"filter": "ServerGroupAntiAffinityFilter", "start": 2, "end": 0}])
            ],
        },
        "No host fits: ServerGroupAntiAffinityFilter left 0 of 2 hosts",
        "openstack server group list --long",
    ),
    "a zone": (
        {
            "message": "making the server: the cloud answered (400): The requested availability zone is not available",
            "kind": "invalid",
            "details": {"requested_zone": "az9"},
        },
        'No host fits: availability zone "az9" does not exist, or has no host in service',
        "openstack availability zone list --compute",
    ),
    "a zone without a host in service": (
        {
            "message": "making the server: the cloud answered (400): The requested availability zone is not available",
            "kind": "invalid",
            "details": {"requested_zone": "az9"},
            "capacity": capacity_of(Cloud([host(), disabled(host("compute2", zone="az9"))]), zone="az9"),
        },
        "No host fits: compute2 is disabled (maintenance)",
        "openstack compute service list --service nova-compute --long",
    ),
    "a segment": (
        {
            "message": "Unable to create the network. No tenant network is available for allocation.",
            "name": "network",
            "kind": "service",
        },
        "No network can be created: no VLAN or tunnel id is left for a tenant network",
        "openstack network list --long",
    ),
    "a zone of volumes": (
        {
            "message": "the cloud answered (400): Availability zone 'az9' is invalid.",
            "name": "volume",
            "kind": "invalid",
            "details": {"requested_zone": "az9"},
        },
        'No back end fits: availability zone "az9" does not exist',
        "openstack availability zone list --volume",
    ),
    "a quota of Nova": (
        {"message": "Quota exceeded for ram: Requested 1048576, but already used 128 of 51200 ram", "kind": "quota"},
        "Quota exceeded: ram: 1048576 MB requested, limit 51200 MB, 128 used",
        "openstack quota show --usage",
    ),
    "a quota of Neutron": (
        {
            "message": "Quota exceeded for resources: ['network'].",
            "name": "network",
            "kind": "quota",
            "capacity": Capacity(quotas=(QuotaUse("network", 100, 100),)),
        },
        "Quota exceeded: network: limit 100, 100 used",
        "openstack quota show --usage",
    ),
    "a quota that requests have reserved which never ended": (
        {
            "message": "Quota exceeded for resources: ['network'].",
            "name": "network",
            "kind": "quota",
            "capacity": Capacity(quotas=(QuotaUse("network", 100, 1003, 1000),)),
        },
        "Quota exceeded: network: limit 100, 1003 used (1000 reserved)",
        "openstack quota show --usage",
    ),
    "a quota of ports": (
        {
            "message": "Maximum number of ports exceeded",
            "kind": "quota",
            "capacity": Capacity(quotas=(QuotaUse("network", 9, 9), QuotaUse("port", 50, 50))),
        },
        "Quota exceeded: port: limit 50, 50 used",
        "openstack quota show --usage",
    ),
    "a quota of Cinder": (
        {
            "message": "VolumeLimitExceeded: Maximum number of volumes allowed (10) exceeded for quota 'volumes'.",
            "name": "volume",
            "kind": "quota",
        },
        "Quota exceeded: volumes: limit 10",
        "openstack quota show --usage",
    ),
    "a quota of Cinder that has counted volumes that are gone": (
        {
            "message": "VolumeLimitExceeded: Maximum number of volumes allowed (10) exceeded for quota 'volumes'.",
            "name": "volume",
            "kind": "quota",
            "capacity": Capacity(quotas=(QuotaUse("volumes", 10, 3),)),
        },
        "Quota exceeded: volumes: limit 10, but the project has 3, so they are counted wrong",
        "cinder-manage quota check",
    ),
    "an address": (
        {
            "message": "No fixed IP addresses available for network: n1",
            "capacity": Capacity(addresses=AddressUse("lan", 253, 253)),
        },
        'No address is free: network "lan" uses 253 of 253 addresses',
        "openstack ip availability show lan; openstack port list --network lan",
    ),
    "an address, seen by a plain user": (
        {"message": "No more IP addresses available on network n1.", "name": "network", "kind": "conflict"},
        "No address is free: the subnets of the network are full",
        "openstack ip availability list",
    ),
    "a back end": (
        {
            "message": "the volume became error; the cloud answered: Could not find any available weighted backend.",
            "name": "volume",
            "kind": "service",
            "capacity": Capacity(volume=VolumeCapacity("fast", "ceph", 1, (Pool("c@lvm#lvm", "lvm", 9.0, 9.0),))),
        },
        'No back end fits: volume type "fast" needs back end "ceph", which no pool has (back ends: lvm)',
        "openstack volume backend pool list --long",
    ),
    "what no host can do": (
        {
            "message": "waited 27 s for the server s to be active; the last state was BUILD, spawning, no state",
            "kind": "deadline",
            "errors": [
                logged(host="c1", exception=NO_SECURE_BOOT),
                logged("nova-conductor", peer="nova-compute"),
                logged(host="c2", exception=NO_SECURE_BOOT),
                logged(host="c2", exception="nova.exception.RescheduledException"),
            ],
        },
        "No host fits: Secure Boot is not supported (c1, c2)",
        "on c1: virsh domcapabilities",
    ),
    "a port on a network that is not for all": (
        {
            "message": "Build of instance x aborted: Failed to allocate the network(s), not rescheduling.",
            "errors": [
                logged(host="c1", exception=EXTERNAL, quote=f"{EXTERNAL}: It is not allowed to use network 1d."),
                logged(host="c1", exception="nova.exception.BuildAbortException"),
            ],
        },
        "The server cannot be built as asked: It is not allowed to use network 1d",
        "openstack network list --long",
    ),
    "a back end that is disabled": (
        {
            "message": "the volume became error; the cloud answered: Could not find any available weighted backend.",
            "name": "volume",
            "kind": "service",
            "capacity": Capacity(volume=VolumeCapacity("ceph", "ceph", 1, ())),
            "agents": [
                agent(component="cinder-volume", host="c1", enabled=False, back_end="ceph", reason="new disks")
            ],
        },
        "No back end fits: cinder-volume c1@ceph is disabled (new disks)",
        "openstack volume service list --service cinder-volume --long",
    ),
}  # fmt: skip


@pytest.mark.parametrize(
    ("code", "denied"), [("dhcp_logical", "DHCP requests"), ("metadata_logical", "requests for metadata")]
)
def test_security_groups_that_let_nothing_out_accuse_no_component(code, denied):
    given = {"message": "no metadata after 60 s", "name": "metadata", "kind": "deadline"}
    rule = "ls_in_acl_eval: (inport == @neutron_pg_drop && ip), priority 2001"
    verdict = verdict_of(**given, chains=dropped(code, rule))
    assert verdict["headline"] == f"The guest is cut off: no rule of its security groups lets {denied} out"
    assert verdict["next"] == "openstack port show 1d; openstack security group rule list --egress"
    assert without_component(verdict)


@pytest.mark.parametrize(("limits", "is_held_back"), [("total_iops_sec 1", True), (None, False)])
def test_a_disk_that_its_flavor_makes_slow_accuses_no_component(limits, is_held_back):
    given = {"message": "the server s: its console shows nothing", "name": "metadata", "kind": "deadline"}
    link = Link(
        "server_disk_answers", LinkState.BROKEN, "ceph-osd", "st", subject="vda", found="1.0 s", expected=limits
    )
    verdict = verdict_of(**given, chains=[codec.to_json(Chain("server", "1d", (link,)))])
    is_told = verdict["headline"] == "The guest is too slow: its disk vda is limited to total_iops_sec 1"
    assert is_told is is_held_back
    assert without_component(verdict) is is_held_back
    assert verdict["next"].endswith("openstack volume qos list") is is_held_back


@pytest.mark.parametrize(("rules", "is_shut_in"), [(0, True), (1, False), (None, False)])
def test_a_switch_that_drops_what_no_rule_lets_out_accuses_no_component(rules, is_shut_in):
    """It may as well lack the flows of a rule that Neutron has."""
    instance = json.loads((RECORDED / "chains/ovn.json").read_text())["instance"]
    other = {**instance["ports"][0], "id": "other", "egress_rules": 4}
    instance["ports"] = [other, {**instance["ports"][0], "id": "1d", "egress_rules": rules}]
    given = {"message": "no metadata after 60 s", "name": "metadata", "kind": "deadline"}
    verdict = verdict_of(**given, chains=dropped("metadata_flow", "priority 0, cookie 0x1"), instance=instance)
    assert verdict["headline"].startswith("The guest is cut off: no rule of its security groups") is is_shut_in
    assert without_component(verdict) is is_shut_in


@pytest.mark.parametrize(
    ("change", "headline", "command"),
    [
        (("networks", "n"), "The guest is cut off: network n is set down", "openstack network show n"),
        (("ports", "p"), "The guest is cut off: port p is set down", "openstack port show p"),
    ],
)
@pytest.mark.parametrize("stage_name", ["boot", "metadata"])
def test_network_or_port_that_was_set_down_accuses_no_component(change, headline, command, stage_name):
    kind, identity = change
    instance = json.loads((RECORDED / "chains/ovn.json").read_text())["instance"]
    instance[kind][0] |= {"id": identity, "disabled": True}
    given = {"message": "no metadata after 60 s", "name": stage_name, "kind": "deadline"}
    verdict = verdict_of(**given, instance=instance)
    assert (verdict["headline"], verdict["next"]) == (headline, command)
    assert without_component(verdict)


@pytest.mark.parametrize(("version", "dhcp"), [(6, True), (4, False)])
def test_a_guest_that_asks_for_an_address_which_nobody_leases_accuses_no_component(version, dhcp):
    instance = json.loads((RECORDED / "chains/ovn.json").read_text())["instance"]
    network = instance["networks"][0]
    network["id"] = "n"
    given = {"message": "the guest asked for a lease and got none", "name": "metadata", "kind": "no_lease"}
    assert "has no subnet" not in (verdict_of(**given, instance=instance)["headline"] or "")
    network.update(subnets=[{**network["subnets"][0], "version": version, "dhcp": dhcp}], routers=[])
    verdict = verdict_of(**given, instance=instance)
    assert verdict["headline"] == (
        "The guest is cut off: network n has no subnet of IPv4 with DHCP, and no router that advertises IPv6"
    )
    assert verdict["next"] == "openstack subnet list --long"
    assert without_component(verdict)


def test_where_a_router_advertises_ipv6_a_guest_without_an_address_may_show_a_fault():
    instance = json.loads((RECORDED / "chains/ovn.json").read_text())["instance"]
    network = instance["networks"][0]
    network.update(subnets=[{**network["subnets"][0], "version": 6}], routers=["r"])
    given = {"message": "the guest asked for a lease and got none", "name": "metadata", "kind": "no_lease"}
    assert "has no subnet" not in (verdict_of(**given, instance=instance)["headline"] or "")


def test_rule_of_somebody_else_that_drops_a_request_is_a_fault():
    given = {"message": "no metadata after 60 s", "name": "metadata", "kind": "deadline"}
    verdict = verdict_of(**given, chains=dropped("dhcp_logical", "ls_in_acl_eval: (udp.dst == 67), priority 3100"))
    assert verdict["component"] == "ovn-nb-db"


@pytest.mark.parametrize("name", REQUESTS)
def test_request_that_cannot_be_satisfied_accuses_no_component(name):
    given, headline, command = REQUESTS[name]
    verdict = verdict_of(**given)
    assert (verdict["result"], verdict["headline"], verdict["next"]) == ("fail", headline, command)
    assert without_component(verdict)
    assert headline in verdict["reason"]
    assert shlex.split(command)


NUMA = "Requested instance NUMA topology cannot fit the given host NUMA topology"


def sent_back(words, **more):
    return logged("nova-conductor", host="ctl", peer="nova-compute", insufficient=words, **more)


def test_server_that_each_host_sent_back_for_want_of_room_is_explained_by_it():
    errors = [sent_back(NUMA), sent_back(NUMA, exception="nova.exception.MaxRetriesExceeded")]
    verdict = verdict_of(NO_RETRIES, errors=errors, details={"flavor": {"id": "1", "name": "huge"}})
    assert (verdict["headline"], verdict["next"]) == (f"No host fits: {NUMA}", "openstack flavor show huge")
    assert without_component(verdict)


@pytest.mark.parametrize(
    "other", [sent_back(None), logged(host="c1", exception="libvirt.libvirtError")], ids=["sent back", "failed"]
)
def test_server_that_one_host_failed_to_build_for_another_reason_is_not(other):
    verdict = verdict_of(NO_RETRIES, errors=[sent_back(NUMA), other])
    assert not (verdict["headline"] or "").startswith("No host fits")


@pytest.mark.parametrize(
    ("details", "exception"),
    [
        ({}, "libvirt.libvirtError"),
        ({}, "nova.exception.UnsupportedVirtType"),
        # Another host may do it.
        ({"requested_host": "c1"}, NO_SECURE_BOOT),
    ],
)
def test_hosts_of_which_one_failed_otherwise_are_not_said_to_lack_anything(details, exception):
    errors = [logged(host="c1", exception=NO_SECURE_BOOT), logged(host="c2", exception=exception)]
    verdict = verdict_of("waited 27 s for the server s to be active", kind="deadline", errors=errors, details=details)
    assert not (verdict["headline"] or "").startswith("No host fits")


LIMITS = "nova.exception.ImageVCPULimitsRangeImpossible"
LIMITED = "Requested vCPU limits 1:1:1 are impossible to satisfy for vcpus count 2"


@pytest.mark.parametrize(("other", "is_refused"), [(LIMITS, True), ("rbd.Error", False)])
def test_a_request_is_refused_only_if_no_host_failed_otherwise(other, is_refused):
    errors = [
        logged(host="c1", exception=LIMITS, quote=f"{LIMITS}: {LIMITED}"),
        logged(host="c2", exception=other),
    ]
    details = {"flavor": {"name": "m1.two"}}
    verdict = verdict_of("waited 27 s for the server s to be active", kind="deadline", errors=errors, details=details)
    assert (verdict["headline"] == f"The server cannot be built as asked: {LIMITED}") is is_refused
    assert ((verdict["next"] or "") == "openstack flavor show m1.two") is is_refused
    # The line is kept, so that a record says the same when it is judged once more.
    assert verdict["quote"] == f"{LIMITS}: {LIMITED}"


@pytest.mark.parametrize(
    ("exception", "is_refused"),
    [
        ("nova.exception.InvalidVIOMMUMachineType", True),
        ("nova.exception.InvalidWatchdogAction", True),
        ("nova.exception.BadRequirementEmulatorThreadsPolicy", True),
        ("nova.exception.InvalidCPUInfo", False),
        ("nova.exception.InvalidDiskInfo", False),
        ("nova.exception.NovaException", False),
        ("neutronclient.common.exceptions.Conflict", True),
        ("neutronclient.common.exceptions.IpAddressGenerationFailureClient", True),
        ("neutronclient.common.exceptions.HostNotCompatibleWithFixedIpsClient", True),
        ("neutronclient.common.exceptions.PortNotFoundClient", False),
        ("neutronclient.common.exceptions.BadRequest", False),
        ("glanceclient.exc.HTTPConflict", False),
        ("openstack.exceptions.ConflictException", True),
    ],
)
def test_what_no_host_would_build_is_told_from_what_one_host_cannot(exception, is_refused):
    errors = [logged(host="c1", exception=exception, quote="nova.exception.X: y")]
    verdict = verdict_of("waited 27 s for the server s to be active", kind="deadline", errors=errors)
    assert (verdict["headline"] or "").startswith("The server cannot be built as asked") is is_refused


def test_long_words_of_the_cloud_are_cut_at_a_word():
    words = (
        "No valid service subnet for the given device owner, network ff881e46-75cf-49bd-91ed-eba99d20b57e, "
        "service type compute:nova."
    )
    errors = [
        logged(
            host="c1",
            exception="neutronclient.common.exceptions.Conflict",
            quote=f"neutronclient.common.exceptions.Conflict: {words}",
        )
    ]
    verdict = verdict_of("waited 27 s for the server s to be active", kind="deadline", errors=errors)
    assert verdict["headline"] == (
        "The server cannot be built as asked: No valid service subnet for the given device owner, "
        "network ff881e46-75cf-49bd-91ed-eba99d20b57e, …"
    )
    assert verdict["next"] == "openstack port list --long"


@pytest.mark.parametrize(("tried", "is_asked_for"), [(["c1", "c2"], True), (["c1"], False)])
def test_what_a_host_may_also_have_in_its_settings_is_of_the_request_if_several_hosts_refuse_it(tried, is_asked_for):
    errors = [logged(host=name, exception="nova.exception.InvalidMachineType") for name in tried]
    verdict = verdict_of("waited 27 s for the server s to be active", kind="deadline", errors=errors)
    assert (verdict["headline"] == "No host fits: the machine type is not supported (c1, c2)") is is_asked_for


def test_verdict_has_a_line_for_each_host_and_shows_it():
    given, _headline, _command = REQUESTS["computes that are disabled"]
    record = record_of(**given)
    record["verdict"] = as_json.verdict_on(record)
    assert record["verdict"]["evidence"] == [
        "compute1 is disabled (maintenance)",
        "compute2 is disabled (maintenance)",
    ]
    names = [name for name, _text in report.parts(as_json.typed(record))]
    assert names == ["stage error", "evidence", "evidence", "next", "then"]


@pytest.mark.parametrize("away", [{"state": "down"}, {"enabled": False}])
def test_symptoms_of_agents_do_not_accuse_who_is_not_to_blame(away):
    """The API shows that they are away; the request would not fit on them either."""
    capacity = capacity_of(Cloud([host(), down(host("compute2"))], flavor=GPU))
    verdict = verdict_of(NO_HOST, capacity=capacity, agents=[agent(host="compute2", **away)])
    assert without_component(verdict)
    assert "CUSTOM_GPU" in verdict["headline"]


# A component is to blame


ONE_DOWN = {
    "capacity": capacity_of(Cloud([disabled(host()), down(host("compute2"))])),
    "agents": [agent(host="compute1", enabled=False), agent(host="compute2", state="down")],
}


def test_compute_that_is_down_is_blamed_and_the_one_that_was_disabled_is_not():
    read = as_json.host("compute2", facts={"names": ["compute2"]})
    verdict = verdict_of(NO_HOST, hosts=[read], **ONE_DOWN)
    assert (verdict["component"], verdict["host"]) == ("nova-compute", "compute2")
    assert "compute1" not in {other["host"] for other in verdict["alternatives"]}


def test_compute_that_is_down_is_the_first_suspect_if_its_host_was_not_read():
    verdict = verdict_of(NO_HOST, **ONE_DOWN)
    first = verdict["alternatives"][0]
    assert (verdict["component"], first["component"], first["host"]) == (None, "nova-compute", "compute2")


def symptoms_of(capacity):
    record = as_json.typed(record_of(NO_HOST, capacity=capacity))
    case = culprit.Case(record, record.stages[0])
    return [(found.code, found.place, found.peer_place) for found in culprit.symptoms.cloud.no_valid_host(case)]


def test_compute_that_placement_does_not_know_has_a_symptom():
    assert symptoms_of(capacity_of(Cloud([host(providers={}), disabled(host("compute2"))]))) == [
        (Code.PROVIDER_MISSING, ("nova-compute", "compute1"), (None, None))
    ]


def test_compute_that_is_down_has_a_symptom_and_placement_has_none():
    assert symptoms_of(capacity_of(Cloud([host(inventories=FULL), down(host("compute2"))]))) == [
        (Code.NO_VALID_HOST, ("nova-scheduler", None), ("nova-compute", "compute2"))
    ]


def test_cloud_without_nova_compute_has_a_symptom_of_it():
    assert symptoms_of(capacity_of(Cloud([]))) == [
        (Code.NO_VALID_HOST, ("nova-scheduler", None), ("nova-compute", None))
    ]


def test_back_end_that_was_renamed_just_now_may_be_a_fault():
    """Its service is named if anything but the change speaks against it."""
    given, headline, _command = REQUESTS["a back end"]
    renamed = changed("/etc/cinder/cinder.conf", "cinder-volume")
    assert verdict_of(**given, hosts=[renamed])["headline"] == headline
    error = logged("cinder-volume", host=renamed["host"], quote="ValueError: invalid literal", own=True)
    assert verdict_of(**given, hosts=[renamed], errors=[error])["component"] == "cinder-volume"


NO_POOL = "schedule allocate volume:Could not find any available weighted backend."


def without_back_end(**more):
    filters = [
        {"filter": "AvailabilityZoneFilter", "start": 1, "end": 1},
        {"filter": "CapacityFilter", "start": 1, "end": 0},
    ]
    errors = [logged("cinder-scheduler", host="ctl", filters=filters)]
    return verdict_of(NO_POOL, name="volume", errors=errors, **more)


def test_a_filter_of_cinder_that_leaves_no_back_end_is_the_reason():
    verdict = without_back_end()
    assert verdict["headline"] == "No back end fits: CapacityFilter left 0 of 1 back end"
    assert verdict["next"].endswith("openstack volume backend pool list --long")
    assert without_component(verdict)


@pytest.mark.parametrize(
    ("pool", "reason"),
    [
        (
            {"ratio": 0.5},
            "max_over_subscription_ratio of pool c@ceph#p is 0.5, and cinder-scheduler takes none below 1",
        ),
        (
            {"ratio": 1.5, "promised_gb": 15.0},
            "pool c@ceph#p may promise 15 GB, and has 0 GB of them left "
            "(reserved: 0 GB, ratio of oversubscription: 1.5)",
        ),
        (
            {"reserved": 1.0},
            "pool c@ceph#p may promise 0 GB, and has 0 GB of them left (reserved: 10 GB, ratio of oversubscription: 1)",
        ),
    ],
)
def test_a_pool_with_room_that_may_promise_no_more_is_explained_by_its_limits(pool, reason):
    pools = (Pool("c@ceph#p", "ceph", 10.0, 10.0, **pool),)
    verdict = without_back_end(capacity=Capacity(volume=VolumeCapacity("fast", "ceph", 1, pools)))
    assert verdict["headline"] == f"No back end fits: {reason}"
    assert verdict["next"] == "openstack volume backend pool list --long"
    assert without_component(verdict)


def test_a_pool_that_may_promise_more_than_it_has_left_explains_nothing():
    pools = (Pool("c@ceph#p", "ceph", 10.0, 10.0, promised_gb=150.0, ratio=20.0, reserved=0.0),)
    verdict = without_back_end(capacity=Capacity(volume=VolumeCapacity("fast", "ceph", 1, pools)))
    assert verdict["headline"] == "No back end fits: CapacityFilter left 0 of 1 back end"


def test_another_pool_than_the_one_with_a_wrong_ratio_may_take_the_volume():
    pools = (Pool("c@a#a", "ceph", 100.0, 100.0, ratio=0.5), Pool("c@b#b", "ceph", 20.0, 20.0))
    verdict = without_back_end(capacity=Capacity(volume=VolumeCapacity("fast", "ceph", 1, pools)))
    assert verdict["headline"] == "No back end fits: CapacityFilter left 0 of 1 back end"


# What is not known


def test_plain_user_gets_the_advice_to_give_an_administrators_cloud():
    verdict = verdict_of(NO_HOST)
    assert verdict["component"] is None
    assert verdict["next"].startswith("give an administrator's cloud (stackproof_admin_cloud)")


def test_administrator_who_could_not_read_it_gets_no_advice_to_become_one():
    record = record_of(NO_HOST, capacity=Capacity(unread=("asking for the flavor: no",)))
    finding = culprit.finding(as_json.typed(record))
    assert finding.advice.reason != Reason.GIVE_ADMIN_CLOUD


@pytest.mark.parametrize(
    "filters",
    [
        [{"filter": "ComputeFilter", "start": 2, "end": 0}],
        [{"filter": "ServerGroupAntiAffinityFilter", "start": 2, "end": 1}],
    ],
)
def test_filter_that_explains_nothing_leaves_the_verdict_as_it_is(filters):
    verdict = verdict_of(NO_HOST, errors=[logged("nova-scheduler", filters=filters)])
    assert not (verdict["headline"] or "").startswith("No host fits")


def test_filters_of_another_request_do_not_count():
    filters = [{"filter": "ServerGroupAntiAffinityFilter", "start": 2, "end": 0}]
    verdict = verdict_of(NO_HOST, errors=[logged("nova-scheduler", own=False, filters=filters)])
    assert not (verdict["headline"] or "").startswith("No host fits")


# By logs alone


def unmet(required=("HW_CPU_X86_AVX2",), forbidden=(), **more):
    """What Placement's log has of a request, where nothing of the hosts is known."""
    resources = {"VCPU": 1, "MEMORY_MB": 128, "CUSTOM_FPGA": 1}
    group = RequestGroup("", resources, required, ("COMPUTE_STATUS_DISABLED", *forbidden))
    capacity = Capacity(compute=ComputeCapacity(Requested("", (group,)), hosts=None))
    refused = logged("nova-conductor", host="ctl", exception="nova.exception.NoValidHost")
    message = "the logs do not show that Nova built the server s"
    return verdict_of(message, kind="service", capacity=capacity, **{"errors": [refused], **more})


def test_without_the_hosts_the_reason_is_what_was_asked_for():
    verdict = unmet()
    assert (verdict["component"], verdict["host"]) == (None, None)
    assert verdict["headline"] == (
        "No host fits: asked for were 1 CUSTOM_FPGA, 1 VCPU, 128 MB of memory and HW_CPU_X86_AVX2"
    )
    assert "allocation candidate list --resource VCPU=1 --resource MEMORY_MB=128" in verdict["next"]


def test_trait_that_was_forbidden_is_part_of_what_was_asked_for():
    headline = unmet(required=(), forbidden=("COMPUTE_NODE",))["headline"]
    assert headline == "No host fits: asked for were 1 CUSTOM_FPGA, 1 VCPU, 128 MB of memory and no COMPUTE_NODE"


def test_what_was_asked_for_explains_nothing_where_nova_found_a_host():
    assert unmet(errors=[])["headline"] is None


def test_a_host_that_has_tried_before_is_no_reason_and_was_offered():
    """The scheduler asks again after a host could not build the server."""
    filters = [{"filter": "RetryFilter", "start": 1, "end": 0}]
    refused = logged("nova-conductor", host="ctl", exception="nova.exception.NoValidHost")
    scheduler = logged("nova-scheduler", host="ctl", filters=filters)
    assert "No host fits" not in (unmet(errors=[refused, scheduler])["headline"] or "")


def test_a_filter_that_leaves_no_host_is_the_reason():
    filters = [{"filter": "NUMATopologyFilter", "start": 2, "end": 0}]
    refused = logged("nova-conductor", host="ctl", exception="nova.exception.NoValidHost")
    scheduler = logged("nova-scheduler", host="ctl", filters=filters)
    assert unmet(errors=[refused, scheduler])["headline"] == "No host fits: NUMATopologyFilter left 0 of 2 hosts"
