# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Of a thousand servers thirty are stuck: all of these are listed, by what broke them, while the cloud is used.

Nova builds some of those that are well, and the others are copies of their rows in its databases: two cores would build
a thousand for an hour. The API, which is what the list asks, reads all of them alike.
"""

from __future__ import annotations

import contextlib
import re
import threading
import time

import pytest
from lab_under_test import GROUPS, until
from runs_under_test import play
from test_acceptance import fake_computes

NAME = "stackproof-test-many"
ALL, BUILT, STUCK, TOO_LARGE = 1000, 20, 18, 12
# In seconds: the most that the list may take
MOST = 60
# One builds, the other is frozen.
FAKES = 2
# The tables of Nova that have a row or more for each server, and the column with its id. The others refer to the first.
TABLES = {
    "nova.instances": "uuid",
    "nova.instance_extra": "instance_uuid",
    "nova.instance_info_caches": "instance_uuid",
    "nova.instance_system_metadata": "instance_uuid",
    "nova_api.instance_mappings": "instance_uuid",
    "nova_api.request_specs": "instance_uuid",
}
# The ids of copies and of what each is a copy of
COPIES = "nova.stackproof_test_copies"
UNLIMITED = {"instances": -1, "cores": -1, "ram": -1}


@pytest.fixture
def unlimited(admin):
    """The project of the administrator without a quota."""
    project = admin.current_project_id
    path = f"/os-quota-sets/{project}"
    admin.compute.put(path, json={"quota_set": {"force": True, **UNLIMITED}})
    yield
    admin.compute.delete(path)


@pytest.fixture
def too_large(admin):
    flavor = admin.compute.create_flavor(name=f"{NAME}-too-large", ram=128, vcpus=4096, disk=0)
    yield flavor.id
    admin.compute.delete_flavor(flavor)


@pytest.fixture
def many(admin, lab_hosts, too_large):
    """All servers: most of them are well, some are on a host that has died, and some that no host has room for."""
    controller = lab_hosts[GROUPS["controller"][0]]
    with fake_computes(controller, admin, FAKES) as (well, dying):
        try:
            create(admin, BUILT, host=well)
            until("servers to be built", lambda: len(of_status(admin, "ACTIVE")) == BUILT, 300, 5)
            with copies(controller, ALL - BUILT - STUCK - TOO_LARGE), frozen(controller, dying):
                create(admin, STUCK, host=dying)
                create(admin, TOO_LARGE, flavor=too_large)
                until("servers to be refused", lambda: len(of_status(admin, "ERROR")) == TOO_LARGE, 120, 2)
                yield
        finally:
            remove_all(admin)


@contextlib.contextmanager
def copies(controller, number):
    """So many copies of the servers that Nova has built, in its databases."""
    rounds, rest = divmod(number, BUILT)
    sql(controller, f"CREATE TABLE {COPIES} (source CHAR(36), copy CHAR(36) PRIMARY KEY)")
    try:
        chosen = f"FROM nova.instances WHERE display_name LIKE '{NAME}%' AND deleted = 0 AND vm_state = 'active'"
        for limit in [BUILT] * rounds + [rest]:
            # The same ones each time: those that Nova has built come first.
            sql(controller, f"INSERT INTO {COPIES} SELECT uuid, UUID() {chosen} ORDER BY id LIMIT {limit}")
        for table, identity in TABLES.items():
            sql(controller, copying(controller, table, identity))
        yield
    finally:
        for table, identity in reversed(TABLES.items()):
            sql(controller, f"DELETE FROM {table} WHERE {identity} IN (SELECT copy FROM {COPIES})")
        sql(controller, f"DROP TABLE {COPIES}")


def copying(controller, table, identity):
    """The statement that copies the rows of a table."""
    schema, _dot, name = table.partition(".")
    where = f"table_schema = '{schema}' AND table_name = '{name}' AND column_name NOT IN ('id', '{identity}')"
    columns = sql(controller, f"SELECT column_name FROM information_schema.columns WHERE {where}").split()
    listed = ", ".join(f"`{column}`" for column in columns)
    join = f"{table} JOIN {COPIES} ON {table}.{identity} = source"
    return f"INSERT INTO {table} ({identity}, {listed}) SELECT copy, {listed} FROM {join}"


def sql(controller, statement):
    return controller.check_output("mysql --batch --skip-column-names --execute=%s", statement)


@contextlib.contextmanager
def frozen(controller, name):
    """The last of the fake computes, which does nothing for a while: their parent forks them in the order of names."""
    unit = name.rpartition("-")[0]
    process = f"$(pgrep -P $(systemctl show --property=MainPID --value {unit}) | sort -n | tail -1)"
    controller.check_output(f"kill -STOP {process}")
    try:
        yield
    finally:
        controller.check_output(f"kill -CONT {process}")


def create(admin, number, host=None, flavor=None):
    wanted = {
        "name": NAME,
        "imageRef": admin.image.find_image("probe").id,
        "flavorRef": flavor or admin.compute.find_flavor("probe").id,
        "networks": "none",
        "min_count": number,
    }
    if host:
        wanted["availability_zone"] = f"nova:{host}"
    answer = admin.compute.post("/servers", json={"server": wanted}, microversion="2.37")
    assert answer.status_code == 202, answer.text


def of_status(admin, status=None):
    return list(admin.compute.servers(name=f"^{NAME}", **({"status": status} if status else {})))


def remove_all(admin):
    for server in of_status(admin):
        admin.compute.delete_server(server, force=True, ignore_missing=True)
    until("all servers to be gone", lambda: not of_status(admin), 900, 5)


@pytest.mark.soak
@pytest.mark.usefixtures("unlimited", "many")
def test_thirty_of_a_thousand_servers_are_listed_by_their_causes(admin):
    # A server that gets its cell just now is missing in a listing.
    until("all servers to be listed", lambda: len(of_status(admin)) == ALL, 60, 2)
    done = threading.Event()

    def use_the_cloud():
        while not done.wait(0.2):
            admin.compute.get("/servers/detail?limit=50&all_tenants=1")

    load = threading.Thread(target=use_the_cloud)
    load.start()
    begun = time.monotonic()
    try:
        status, output = play("diagnose", cloud="lab-admin", admin_cloud="lab-admin", stuck=True, stuck_minutes=0)
    finally:
        done.set()
        load.join()
    took = time.monotonic() - begun
    assert status == 0, output
    print(f"{took:.1f} s\n{output}")
    assert took < MOST
    assert re.search(rf"^  {STUCK} servers.*: BUILD", output, re.MULTILINE)
    assert re.search(rf"^  {TOO_LARGE} servers: ERROR.*\n +the cloud says: No valid host", output, re.MULTILINE)
