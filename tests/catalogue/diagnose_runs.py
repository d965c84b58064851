# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Servers that nobody of ours made, each broken by a fault of the catalogue, and diagnosed by their ids.

Each is diagnosed twice: on the live cloud while the fault is on, and afterwards by what sos has collected of the hosts.
Both records are filed beside the truth, in folders called live and bundle, for catalogue_table.py. It can be taken up
again. make diagnoses DIAGNOSES=SEED:COUNT, or DIAGNOSES=NAME,NAME
"""

from __future__ import annotations

import contextlib
import json
import shutil
import signal
import sys
import tempfile
import time
import traceback
from pathlib import Path

import pytest
from catalogue import OPEN, catalogue, drawn
from catalogue_parts import BEFORE
from fault_runs import end, has_ended, lab_as_root
from keystoneauth1.exceptions import ClientException
from lab_under_test import INVENTORY, NETWORK, connect, until
from openstack.exceptions import SDKException
from reports_of_sos import collect
from runs_under_test import play

NAME = "stackproof-test-diagnosed"
SUBNET = "192.168.230.0/24"
# In seconds: how long a server may take, and how long its guest then asks for an address and its metadata
BUILDING, GUEST = 75, 40
SETTLED = ("ACTIVE", "ERROR")
# A lab that does not become well fails each run.
MOST_FAILED = 3
# More than there are
MANY = 10_000


@contextlib.contextmanager
def networks(cloud):
    """A network with a subnet and a router to the outside, made while all works."""
    external, *_others = cloud.network.networks(is_router_external=True)
    network = cloud.network.create_network(name=NAME)
    subnet = cloud.network.create_subnet(name=NAME, network_id=network.id, ip_version=4, cidr=SUBNET)
    router = cloud.network.create_router(name=NAME, external_gateway_info={"network_id": external.id})
    cloud.network.add_interface_to_router(router, subnet_id=subnet.id)
    try:
        yield network
    finally:
        cloud.network.remove_interface_from_router(router, subnet_id=subnet.id)
        cloud.network.delete_router(router)
        for port in cloud.network.ports(network_id=network.id):
            if not port.device_owner.startswith("network:"):
                cloud.network.delete_port(port)
        cloud.network.delete_network(network)


def request_for(cloud, fault, network):
    """What openstack server create would send: on the host of the fault, if that is of one."""
    image = cloud.image.find_image("probe").id
    flavor = cloud.compute.find_flavor(fault.variables.get("flavor", "probe")).id
    wanted = {"name": NAME, "flavorRef": flavor, "networks": [{"uuid": network.id}]}
    # A run that has to meet such a fault makes a volume.
    if "volume" in fault.variables:
        wanted["imageRef"] = image
    else:
        disk = {"uuid": image, "source_type": "image", "destination_type": "volume", "volume_size": 1, "boot_index": 0}
        wanted["block_device_mapping_v2"] = [disk | {"delete_on_termination": True}]
    if fault.variables.get("host"):
        wanted["availability_zone"] = f"nova:{fault.variables['host']}"
    return {"server": wanted}


def created(cloud, fault, network):
    """Create a server, and wait until it is built, has failed, or takes too long. None if it was refused."""
    try:
        answer = cloud.compute.post("/servers", json=request_for(cloud, fault, network), microversion="2.37")
    except ClientException:
        return None
    if answer.status_code != 202:
        return None
    identity = answer.json()["server"]["id"]
    deadline, status = time.monotonic() + BUILDING, ""
    while status not in SETTLED and time.monotonic() < deadline:
        time.sleep(2)
        with contextlib.suppress(SDKException):
            status = cloud.compute.get(f"/servers/{identity}").json().get("server", {}).get("status", "")
    if status == "ACTIVE":
        time.sleep(GUEST)
    return identity


def remove(lab, server):
    lab.admin.compute.delete_server(server, ignore_missing=True)
    until("the server to be gone", lambda: lab.admin.compute.find_server(server, all_projects=True) is None, 120, 2)


def diagnosed(folder, *arguments, **asked):
    """The record of a diagnosis."""
    status, output = play("diagnose", *arguments, diagnoses=folder, **asked)
    assert status == 0, output
    return json.loads((Path(folder) / "latest/run.json").read_text())


def file(folder, fault, record):
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    row = {"fault": fault.name, "cloud": NETWORK, "truth": fault.truth, "record": record}
    (folder / f"{fault.name}.json").write_text(json.dumps(row))


def run(lab, fault, folder):
    """Break, create, diagnose and collect; mend, and diagnose again. Return whether the fault had an effect."""
    cloud = connect(fault.variables.get("cloud", "lab"))
    # The reports stay: what a change of their reader does is seen without a lab.
    top = folder / "reports" / fault.name
    with networks(cloud) as network, tempfile.TemporaryDirectory() as diagnoses:
        server = None
        try:
            with fault.make(lab):
                server = created(cloud, fault, network)
                if server is None:
                    print(f"{fault.name}: no server was made", flush=True)
                    return False
                clouds = {"cloud": "lab", "admin_cloud": "lab-admin", "server_id": server}
                live = diagnosed(diagnoses, "-i", INVENTORY, **clouds)
                said(fault, "live", live)
                if live["verdict"]["result"] == "pass":
                    return False
                # What a run that was broken off has left there is not of this one.
                shutil.rmtree(top, ignore_errors=True)
                top.mkdir(mode=0o700, parents=True)
                for name in collect(lab.hosts, top):
                    print(f"{name}: nothing was collected", flush=True)
            bundle = diagnosed(diagnoses, bundle=top, server_id=server)
            said(fault, "bundle", bundle)
            file(folder / "live", fault, live)
            file(folder / "bundle", fault, bundle)
            return True
        finally:
            # One may have been made whose answer did not come.
            for left in lab.admin.compute.servers(all_projects=True, name=NAME):
                remove(lab, left.id)


def said(fault, how, record):
    verdict = record["verdict"]
    print(f"{fault.name}: {how}: {verdict['result']}: {verdict['reason'][:300]}", flush=True)


def chosen(text):
    """The faults that a seed draws, with how many of them are to have an effect; or those that are named."""
    seed, colon, count = text.partition(":")
    if not colon:
        faults = catalogue()
        return [faults[name] for name in text.split(",")], MANY
    faults = [fault for fault in drawn(seed, OPEN) if fault.moment == BEFORE]
    return [fault for fault in faults if "image_file" not in fault.variables], int(count)


def main():
    signal.signal(signal.SIGTERM, end)
    folder, (faults, count) = Path(sys.argv[1]), chosen(sys.argv[2])
    lab = lab_as_root()
    tried = folder / "tried.txt"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    known = tried.read_text().split() if tried.exists() else []
    failed = []
    for fault in faults:
        done = len(list((folder / "live").glob("*.json")))
        if done >= count or fault.name in known:
            continue
        try:
            lab.wait_until_well()
            run(lab, fault, folder)
            with tried.open("a") as lines:
                lines.write(f"{fault.name}\n")
        except (Exception, pytest.fail.Exception):  # a wait that timed out is no Exception
            failed.append(fault.name)
            print(f"{fault.name}: failed", flush=True)
            traceback.print_exc()
            if has_ended() or len(failed) == MOST_FAILED:
                break
    sys.exit(bool(failed))


if __name__ == "__main__":
    main()
