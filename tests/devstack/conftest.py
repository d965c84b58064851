# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The host of the devstack by ssh and its cloud by API. Needs a devstack that runs (make devstack)."""

from __future__ import annotations

import pytest
from devstack_under_test import HAS_CEPH, HOST
from lab_under_test import DIRECTORY, connect, lab_host
from runs_under_test import nothing_left
from secrets_left import no_secrets

# Its assertions show what they compare.
pytest.register_assert_rewrite("healthy_runs")
# pytest finds this fixture by its name here.
__all__ = ["no_secrets"]


def pytest_sessionstart():
    if not (DIRECTORY / "clouds.yaml").exists():
        pytest.exit(f"There is no devstack in {DIRECTORY}: build it with make devstack", returncode=4)


@pytest.fixture(scope="session")
def admin():
    return connect("devstack-admin")


@pytest.fixture(scope="session")
def devstack():
    """Its host with root's rights."""
    return lab_host(HOST, sudo=True)


@pytest.fixture(scope="module")
def module_runs(tmp_path_factory, admin, devstack):
    """A folder for the runs that several tests look at, of which nothing may be left on the cloud at their end."""
    folder = tmp_path_factory.mktemp("runs")
    with nothing_left(folder, admin, devstack if HAS_CEPH else None):
        yield folder


@pytest.fixture
def runs(tmp_path, admin, devstack):
    """A folder for runs, of which nothing may be left on the cloud at the end of the test."""
    folder = tmp_path / "runs"
    folder.mkdir()
    with nothing_left(folder, admin, devstack if HAS_CEPH else None):
        yield folder
