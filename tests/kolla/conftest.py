# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The host of the cloud of kolla by ssh and its cloud by API. Needs one that runs (make kolla)."""

from __future__ import annotations

import pytest
from canary_under_test import WHEELS, WHEELS_ALONE, bring_wheels
from kolla_under_test import HAS_CEPH, HOST, USER, WHOLE
from lab_under_test import DIRECTORY, HOSTS, connect, lab_host
from runs_under_test import nothing_left, play
from secrets_left import no_secrets

# Its assertions show what they compare.
pytest.register_assert_rewrite("healthy_runs")
# pytest finds this fixture by its name here.
__all__ = ["no_secrets"]


def pytest_sessionstart():
    if not (DIRECTORY / "clouds.yaml").exists():
        pytest.exit(f"There is no cloud of kolla in {DIRECTORY}: build it with make kolla", returncode=4)


@pytest.fixture(scope="session")
def admin():
    return connect("kolla-admin")


@pytest.fixture(scope="session")
def kolla_hosts():
    """Its hosts with root's rights, by their names."""
    return {name: lab_host(name, sudo=True) for name in HOSTS}


@pytest.fixture(scope="session")
def kolla(kolla_hosts):
    """The host from which it was deployed."""
    return kolla_hosts[HOST]


@pytest.fixture(scope="module")
def module_runs(tmp_path_factory, admin, kolla):
    """A folder for the runs that several tests look at, of which nothing may be left on the cloud at their end."""
    folder = tmp_path_factory.mktemp("runs")
    with nothing_left(folder, admin, kolla if HAS_CEPH else None):
        yield folder


@pytest.fixture
def runs(tmp_path, admin, kolla):
    """A folder for runs, of which nothing may be left on the cloud at the end of the test."""
    folder = tmp_path / "runs"
    folder.mkdir()
    with nothing_left(folder, admin, kolla if HAS_CEPH else None):
        yield folder


@pytest.fixture
def canary(kolla):
    """A canary on that host, which is removed at the end of the test."""
    options = {
        "canary_host": HOST,
        "canary_clouds": str(DIRECTORY / "clouds.yaml"),
        "canary_variables": {f"stackproof_{name}": value for name, value in USER.items()},
        "canary_every": "1s",
        "canary_pip_options": WHEELS_ALONE,
    }
    bring_wheels(HOST)
    try:
        status, output = play("canary", *WHOLE, **options)
        assert status == 0, output
        yield
    finally:
        status, output = play("canary", *WHOLE, **options, canary_state="absent")
        kolla.run(f"rm -rf {WHEELS}")
    assert status == 0, output
