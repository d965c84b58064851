# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How a cloud is asked what it has: in parallel, in the versions that it knows, and with a reason for each gap."""

from __future__ import annotations

import pytest
from ansible_collections.stackproof.provision.plugins.module_utils._collect.api import capacity as module
from ansible_collections.stackproof.provision.plugins.module_utils._collect.api import failed_request
from ansible_collections.stackproof.provision.plugins.module_utils._model import codec
from ansible_collections.stackproof.provision.plugins.module_utils._model.capacity import Constraint, QuotaUse
from ansible_collections.stackproof.provision.plugins.module_utils._model.stage import Stage
from cases_by_hand import error
from cases_by_hand import stage as a_stage
from hosts_by_hand import Cloud, capacity_of, host, hosts, id_of, inventory, usual


def test_hosts_have_service_hypervisor_aggregates_and_inventories():
    aggregates = [{"name": "fast", "uuid": id_of("a"), "hosts": ["compute1"], "metadata": {"ssd": "true"}}]
    (found,) = capacity_of(Cloud([host(traits=("CUSTOM_A",))], aggregates=aggregates)).compute.hosts
    assert (found.host, found.hypervisor, found.hypervisor_id) == ("compute1", "compute1", id_of("compute1"))
    assert (found.service.enabled, found.service.zone, found.aggregates) == (True, "nova", {"fast": {"ssd": "true"}})
    (provider,) = found.providers
    assert (provider.is_read, provider.traits) == (True, ("CUSTOM_A",))
    assert provider.inventories["VCPU"].free == 8


def test_capacity_is_what_placement_counts():
    made = usual(VCPU=inventory(8, 3, reserved=2, allocation_ratio=2.5))
    (found,) = capacity_of(Cloud([host(inventories=made)])).compute.hosts
    vcpus = found.providers[0].inventories["VCPU"]
    assert (vcpus.capacity, vcpus.free) == (15, 12)


@pytest.mark.parametrize(("service", "newest"), [("compute", "2.60"), ("placement", "1.20")])
def test_older_service_is_asked_in_its_newest_version(service, newest):
    capacity = capacity_of(Cloud(hosts(2), newest={service: newest}))
    assert capacity.unread == ()
    assert all(found.is_read for found in capacity.compute.hosts)


def test_version_of_placement_is_found_in_its_refusal():
    refusal = '{"errors": [{"status": 406, "max_version": "1.39", "min_version": "1.0"}]}'
    assert module.NEWEST.search(refusal)[1] == "1.39"


@pytest.mark.parametrize(
    "path",
    ["/flavors", "/images", "/os-services", "/os-hypervisors", "/os-aggregates", "/resource_providers", "/inventories",
     "/usages", "/traits", "/allocation_candidates"],
)  # fmt: skip
@pytest.mark.parametrize("status", [403, 500, 503])
def test_missing_answer_is_a_reason_and_never_an_exception(path, status):
    capacity = capacity_of(Cloud(hosts(2), failing={path: status}))
    assert any(f"({status})" in reason for reason in capacity.unread)
    assert len(capacity.unread) == len(set(capacity.unread))


def test_answer_of_an_unknown_form_is_a_reason():
    capacity = capacity_of(Cloud(hosts(2), flavor={"vcpus": "two"}))
    assert capacity.compute is None
    assert "an answer of an unknown form" in capacity.unread[0]


def test_questions_name_the_constraint_that_they_leave_out():
    flavor = {"extra_specs": {"trait:CUSTOM_GPU": "required"}}
    compute = capacity_of(Cloud(hosts(2), flavor=flavor)).compute
    assert compute.offered.hosts == ()
    relaxed = next(found for found in compute.candidates if found.without == Constraint.REQUIRED)
    assert (relaxed.name, relaxed.hosts) == ("CUSTOM_GPU", ("compute1", "compute2"))
    assert compute.holders == {"CUSTOM_GPU": 0}


def test_few_hosts_are_read_in_detail_and_those_first_that_one_constraint_excludes(monkeypatch):
    monkeypatch.setattr(module, "MOST_HOSTS", 1)
    full = usual(VCPU=inventory(8, 8), MEMORY_MB=inventory(8192, 8192))
    cloud = Cloud([host(inventories=full), host("compute2", inventories=usual(VCPU=inventory(8, 8)))])
    capacity = capacity_of(cloud)
    assert [found.is_read for found in capacity.compute.hosts] == [False, True]
    assert capacity.hosts_left_out == 1


def test_list_that_placement_has_cut_is_not_whole(monkeypatch):
    monkeypatch.setattr(module, "MOST_CANDIDATES", 2)
    offered = capacity_of(Cloud(hosts(3))).compute.offered
    assert (len(offered.hosts), offered.is_whole) == (2, False)


def test_leftovers_are_allocations_of_consumers_that_do_not_exist():
    holds = {name: {"VCPU": 2} for name in (id_of("gone"), id_of("server"), id_of("migration"))}
    full = usual(VCPU=inventory(8, 8))
    cloud = Cloud([host(inventories=full, holds=holds)], servers=[id_of("server")])
    (found,) = capacity_of(cloud).compute.hosts
    assert found.providers[0].inventories["VCPU"].leftover == 2


def test_leftovers_of_hosts_with_room_are_not_looked_for():
    cloud = Cloud(hosts(2))
    capacity_of(cloud)
    assert not [path for _service, path, _query in cloud.asked if path.startswith(("/servers", "/os-migrations"))]


def test_provider_that_shares_is_no_host():
    cloud = Cloud([host(), host("disks", has_service=False, traits=("MISC_SHARES_VIA_AGGREGATE",))])
    compute = capacity_of(cloud).compute
    assert [found.host for found in compute.hosts] == ["compute1"]
    assert [provider.name for provider in compute.shared] == ["disks"]


def test_nothing_is_changed():
    cloud = Cloud(hosts(2))
    capacity_of(cloud)
    assert not [name for name in vars(type(cloud.compute)) if name in ("post", "put", "delete", "patch")]


# The request of a failed stage


def looked(cloud, stage, message, ids=None, kind="build_failed", with_admin=True, **details):
    failed = codec.from_json(Stage, a_stage(stage, error=error(kind, message), details=details))
    known = {"flavor": "f1", "network": "n1", **(ids or {})}
    admin = (lambda: cloud) if with_admin else None
    return failed_request.look(failed_request.Request(failed, failed.error, known.get, lambda: cloud, admin))


def test_boot_without_a_valid_host_asks_for_its_flavor_zone_and_host():
    capacity = looked(Cloud(hosts(2)), "boot", "No valid host was found.", requested_zone="nova", attach="root")
    requested = capacity.compute.requested
    assert (requested.zone, requested.host, requested.resources) == ("nova", None, {"VCPU": 1, "MEMORY_MB": 1024})


@pytest.mark.parametrize("stage", ["boot", "network"])
@pytest.mark.parametrize("message", ["it failed", "Exceeded maximum number of retries."])
def test_other_failures_ask_nothing(stage, message):
    cloud = Cloud(hosts(2))
    assert (looked(cloud, stage, message), cloud.asked) == (None, [])


def test_without_an_administrator_nothing_is_asked():
    cloud = Cloud(hosts(2))
    assert (looked(cloud, "boot", "No valid host was found.", with_admin=False), cloud.asked) == (None, [])


def test_run_without_a_flavor_asks_nothing():
    assert looked(Cloud(hosts(2)), "boot", "No valid host was found.", ids={"flavor": None}) is None


def test_volume_without_a_back_end_asks_for_its_type_and_the_pools():
    pools = [
        {"name": "c1@ceph2#ceph2", "capabilities": {"volume_backend_name": "ceph2", "free_capacity_gb": "infinite"}}
    ]
    types = [{"id": "t1", "name": "ceph", "extra_specs": {"volume_backend_name": "ceph"}}]
    cloud = Cloud([], pools=pools, types=types)
    for requested_type in ("ceph", None):
        words = "Could not find any available weighted backend."
        volume = looked(cloud, "volume", words, requested_type=requested_type, requested_size_gib=3).volume
        assert (volume.type, volume.backend, volume.size_gb) == ("ceph", "ceph", 3)
        assert [(pool.backend, pool.free_gb) for pool in volume.pools] == [("ceph2", None)]


@pytest.mark.parametrize(
    ("more", "promised", "ratio", "reserved"),
    [
        ({}, 3, 20.0, 0.1),
        # What the driver reports counts also what others have made.
        ({"provisioned_capacity_gb": 8.5}, 8.5, 20.0, 0.1),
        ({"thin_provisioning_support": False}, 3, 1.0, 0.1),
        ({"max_over_subscription_ratio": "auto", "reserved_percentage": None}, 3, 1.0, 0),
    ],
)
def test_limits_of_a_pool_are_those_that_its_driver_reports(more, promised, ratio, reserved):
    capabilities = {
        "volume_backend_name": "ceph", "total_capacity_gb": 9.43, "free_capacity_gb": 9.43, "allocated_capacity_gb": 3,
        "thin_provisioning_support": True, "max_over_subscription_ratio": "20.0", "reserved_percentage": 10,
    }  # fmt: skip
    cloud = Cloud([], pools=[{"name": "c1@ceph#ceph", "capabilities": {**capabilities, **more}}])
    (pool,) = looked(cloud, "volume", "No valid backend was found.", requested_size_gib=3).volume.pools
    assert (pool.promised_gb, pool.ratio, pool.reserved) == (promised, ratio, reserved)


def test_quota_without_numbers_is_asked_for_as_the_runs_user():
    quotas = {"network": {"limit": 2, "used": 1, "reserved": 1}, "port": {"limit": -1, "used": 90, "reserved": 0}}
    cloud = Cloud([], quotas=quotas)
    words = "Quota exceeded for resources: ['network']."
    assert looked(cloud, "network", words, kind="quota", with_admin=False).quotas == (QuotaUse("network", 2, 2, 1),)
    words = "Quota exceeded for ram: Requested 9, but already used 1 of 2 ram"
    assert looked(Cloud([]), "boot", words, kind="quota") is None


def test_volumes_are_counted_where_cinder_refuses_one_by_its_own_count():
    words = "VolumeLimitExceeded: Maximum number of volumes allowed (5) exceeded for quota 'volumes'."
    cloud = Cloud([], volumes={"volumes": [{"id": "a"}, {"id": "b"}]})
    assert looked(cloud, "volume", words, kind="quota", with_admin=False).quotas == (QuotaUse("volumes", 5, 2),)
    # There are more of them than are listed.
    cloud = Cloud([], volumes={"volumes": [{"id": "a"}], "volumes_links": [{"rel": "next", "href": "x"}]})
    assert looked(cloud, "volume", words, kind="quota", with_admin=False).quotas == ()
    strange = looked(Cloud([], volumes={"volume": []}), "volume", words, kind="quota", with_admin=False)
    assert (strange.quotas, len(strange.unread)) == ((), 1)


def test_full_network_is_asked_for_its_addresses():
    use = looked(Cloud([]), "boot", "No fixed IP addresses available for network: n1").addresses
    assert (use.network, use.total, use.used) == ("lan", 253, 253)


def test_network_that_the_cloud_names_is_asked_for_and_not_that_of_the_run():
    cloud, public = Cloud([]), id_of("public")
    looked(cloud, "network", f"No more IP addresses available on network {public}.", kind="conflict")
    assert [path for _service, path, _query in cloud.asked] == [f"/network-ip-availabilities/{public}"]


def test_zone_that_nova_refuses_is_looked_at():
    words = "The requested availability zone is not available"
    capacity = looked(Cloud(hosts(2)), "boot", words, kind="invalid", requested_zone="az9")
    assert capacity.compute.requested.zone == "az9"
    assert looked(Cloud([]), "network", "No tenant network is available for allocation.") is None
