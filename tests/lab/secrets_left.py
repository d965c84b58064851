# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Whether the files that tests leave have a secret of the lab."""

from __future__ import annotations

import pytest
import secret_scan
from lab_under_test import DIRECTORY

# What the tests themselves write there: how a cloud is reached
WRITTEN = [("*clouds.yaml", "*", "a cloud's entry, with which a test speaks to it")]


@pytest.fixture(scope="session", autouse=True)
def no_secrets(tmp_path_factory):
    """At the end of all tests: no file that one of them has left has a secret of the lab, or what looks like one."""
    secrets = secret_scan.known_of(DIRECTORY)
    assert secrets, f"{DIRECTORY} has no secrets, so none could be found"
    yield
    findings = secret_scan.Scanner(secrets, WRITTEN).scan(tmp_path_factory.getbasetemp())
    assert not findings, "\n".join(map(str, findings))
