# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The hosts of the lab by ssh and its cloud by API. Needs a lab that runs (make lab)."""

from __future__ import annotations

import pytest
from lab_under_test import DIRECTORY, GROUPS, HOSTS, connect, lab_host
from runs_under_test import end_started, nothing_left
from secrets_left import no_secrets

# pytest finds this fixture by its name here.
__all__ = ["no_secrets"]

# So many of the last errors of each host say what a failed test could not.
COMPLAINTS = 10


def pytest_sessionstart():
    if not (DIRECTORY / "clouds.yaml").exists():
        pytest.exit(f"There is no lab in {DIRECTORY}: build it with make lab", returncode=4)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport():
    """A test that failed also shows what the cloud's services complained of last."""
    report = yield
    if report.when == "call" and report.failed:
        report.sections += [(f"last errors on {name}", lines) for name, lines in complaints() if lines]
    return report


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_teardown():
    """No run goes on into the next test, and none while the fixtures look at what is left on the cloud."""
    end_started()


def complaints():
    for name in HOSTS:
        errors = "grep -rhE '^[0-9: .-]+ (ERROR|CRITICAL) ' /var/log --include=*.log"
        command = f"{errors} | cut -c 1-400 | sort | tail -n {COMPLAINTS}"
        try:
            yield name, lab_host(name, sudo=True).run(command).stdout
        except RuntimeError as exc:
            yield name, f"It cannot be asked: {exc}"  # a test may have switched it off


@pytest.fixture(scope="session")
def lab_hosts():
    """Every host of the lab with root's rights, by name."""
    return {name: lab_host(name, sudo=True) for name in HOSTS}


@pytest.fixture(scope="session")
def lab_plain_hosts():
    """Every host of the lab as its operator finds it after ssh."""
    return {name: lab_host(name, sudo=False) for name in HOSTS}


@pytest.fixture(scope="session")
def admin():
    return connect("lab-admin")


@pytest.fixture(scope="session")
def member():
    return connect("lab")


@pytest.fixture(scope="session")
def lab_project_admin():
    """The administrator in the members' project, who may say on which host an instance is made."""
    return connect("lab-admin", project_name="lab")


@pytest.fixture(scope="session")
def ldap_member():
    return connect("lab-ldap")


@pytest.fixture(scope="session")
def storage(lab_hosts):
    return lab_hosts[GROUPS["storage"][0]]


@pytest.fixture(scope="module")
def module_runs(tmp_path_factory, admin, storage):
    """A folder for the runs that several tests look at, of which nothing may be left on the cloud at their end."""
    folder = tmp_path_factory.mktemp("runs")
    with nothing_left(folder, admin, storage):
        yield folder


@pytest.fixture
def runs(tmp_path, admin, storage):
    """A folder for runs, of which nothing may be left on the cloud at the end of the test."""
    folder = tmp_path / "runs"
    folder.mkdir()
    with nothing_left(folder, admin, storage):
        yield folder
