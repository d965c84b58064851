# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Services that keep no token's validation ask Keystone each time, and that is seen."""

from __future__ import annotations

import pytest
from lab_under_test import GROUPS, INVENTORY, connect, until
from runs_under_test import verify
from test_flow import PLAIN, passed

# The services whose validations are steps of the flow, their files, and what shows that they answer again
SERVICES = {
    "glance-api": ("/etc/glance/glance-api.conf", lambda cloud: list(cloud.image.images())),
    "neutron-api": ("/etc/neutron/neutron.conf", lambda cloud: list(cloud.network.networks())),
    "cinder-api": ("/etc/cinder/cinder.conf", lambda cloud: list(cloud.block_storage.volumes())),
}
BEFORE = ".before-tokens"


def restart(controller):
    controller.check_output(f"systemctl restart {' '.join(SERVICES)}")
    for service, (_path, ask) in SERVICES.items():
        until(f"{service} to answer", lambda ask=ask: answers(ask), 60)


def answers(ask):
    try:
        ask(connect("lab-admin"))
    except Exception:
        return False
    return True


@pytest.fixture
def no_cache(lab_hosts):
    controller = lab_hosts[GROUPS["controller"][0]]
    paths = [path for path, _ask in SERVICES.values()]
    try:
        for path in paths:
            controller.check_output(f"cp --archive {path} {path}{BEFORE}")
            # Without memcached, where Nova leaves what it has validated for all others
            controller.check_output(
                rf"sed -i '/^memcached_servers/d; /^\[keystone_authtoken\]/a token_cache_time = -1' {path}"
            )
        restart(controller)
        yield
    finally:
        for path in paths:
            controller.run(f"test ! -e {path}{BEFORE} || mv {path}{BEFORE} {path}")
        restart(controller)


@pytest.mark.soak
@pytest.mark.usefixtures("no_cache")
def test_validations_that_no_cache_answers_are_seen(runs):
    steps = passed(verify(runs, "-i", str(INVENTORY), **PLAIN)).steps()
    validations = ("19a", "19b", "26a", "26b", "40", "41")
    assert {name: steps[name]["status"] for name in validations} == dict.fromkeys(validations, "seen")
    for name in ("19a", "26a", "40"):
        assert [seen["service"] for seen in steps[name]["evidence"] if seen["proves"] == "observe"] == ["keystone"]
