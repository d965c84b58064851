# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The host of the cloud of kolla by ssh and its cloud by API. Needs one that runs (make kolla)."""

from __future__ import annotations

import pytest
from kolla_under_test import HOST
from lab_under_test import DIRECTORY, connect, lab_host
from runs_under_test import nothing_left
from secrets_left import no_secrets

# pytest finds this fixture by its name here.
__all__ = ["no_secrets"]


def pytest_sessionstart():
    if not (DIRECTORY / "clouds.yaml").exists():
        pytest.exit(f"There is no cloud of kolla in {DIRECTORY}: build it with make kolla", returncode=4)


@pytest.fixture(scope="session")
def admin():
    return connect("kolla-admin")


@pytest.fixture(scope="session")
def kolla():
    """Its host with root's rights."""
    return lab_host(HOST, sudo=True)


@pytest.fixture
def runs(tmp_path, admin):
    """A folder for runs, of which nothing may be left on the cloud at the end of the test."""
    folder = tmp_path / "runs"
    folder.mkdir()
    with nothing_left(folder, admin, None):
        yield folder
