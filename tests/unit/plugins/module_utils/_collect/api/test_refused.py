# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a cloud did not have, as its own words say it."""

from __future__ import annotations

import pytest
from ansible_collections.stackproof.provision.plugins.module_utils._collect.api import refused as module
from ansible_collections.stackproof.provision.plugins.module_utils._model.shortage import Sought
from ansible_collections.stackproof.provision.plugins.module_utils._model.stage import Failure

UNACCEPTABLE = "Image 1d is unacceptable"


def failure(answer, kind="build_failed"):
    return Failure(kind, "it failed", None, answer, None, None, "")


@pytest.mark.parametrize(
    ("answer", "sought"),
    [
        ("No valid host was found. There are not enough hosts available.", Sought.HOST),
        ("Host 'compute1' is not mapped to any cell", Sought.HOST),
        ("Compute host compute1 could not be found.", Sought.HOST),
        ("Build of instance x aborted: No fixed IP addresses available for network: y", Sought.ADDRESS),
        ("No more IP addresses available on network y.", Sought.ADDRESS),
        ("schedule allocate volume:Could not find any available weighted backend.", Sought.BACKEND),
        ("No valid backend was found. No weighed backends available", Sought.BACKEND),
        (f"Build of instance x aborted: {UNACCEPTABLE}: Image not in a supported format", Sought.IMAGE),
        # Its store has lost it, or the host could not work on it.
        (f"Build of instance x aborted: {UNACCEPTABLE}: Image has no associated data", None),
        (f"{UNACCEPTABLE}: No image locations are accessible", None),
        (f"{UNACCEPTABLE}: Unable to convert image to raw: No space left on device", None),
        ("Exceeded maximum number of retries. Exhausted all hosts available for retrying build failures", None),
        (None, None),
    ],
)
def test_what_was_not_found_is_known_by_the_words_of_the_service(answer, sought):
    assert module.sought_in(failure(answer)) == sought


def test_the_image_that_is_not_accepted_and_why():
    refused = module.image_in(
        failure(f"Build of instance x aborted: {UNACCEPTABLE}: fmt=qcow2 backed by: /etc/passwd.")
    )
    assert (refused.subject, refused.detail) == ("1d", "fmt=qcow2 backed by: /etc/passwd")


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (
            "Quota exceeded for ram: Requested 1048576, but already used 128 of 51200 ram",
            ("ram", 1048576, 51072, 51200),
        ),
        (
            "Quota exceeded for cores, ram: Requested 4, 512, but already used 10, 51200 of 20, 51200 cores, ram",
            ("ram", 512, 0, 51200),
        ),
        (
            "Project p is over a limit for [Resource servers is over limit of 1 due to current usage 1 and delta 1]",
            ("servers", 1, 0, 1),
        ),
        (
            "VolumeSizeExceedsAvailableQuota: Requested volume or snapshot exceeds allowed gigabytes quota. "
            "Requested 5000G, quota is 1000G and 2G has been consumed.",
            ("gigabytes", 5000, 998, 1000),
        ),
        (
            "VolumeSizeExceedsLimit: Requested volume size 1G is larger than maximum allowed limit 0G.",
            ("volume size", 1, None, 0),
        ),
        (
            "VolumeLimitExceeded: Maximum number of volumes allowed (10) exceeded for quota 'volumes'.",
            ("volumes", None, None, 10),
        ),
        (
            "VolumeLimitExceeded: Maximum number of volumes allowed (0) exceeded for quota 'volumes_lvmdriver-1'.",
            ("volumes_lvmdriver-1", None, None, 0),
        ),
        ("Quota exceeded for resources: ['network'].", ("network", None, None, None)),
        ("Maximum number of ports exceeded", ("ports", None, None, None)),
        ("Maximum number of metadata items exceeds 0", ("metadata items", None, None, 0)),
        ("Quota exceeded, too many server groups.", ("server groups", None, None, None)),
        ("too many requests, slow down please", (None, None, None, None)),
        (
            "The limit has been exceeded on the number of allowed image properties. Attempted: 5, Maximum: 2",
            ("image properties", 5, None, 2),
        ),
        ("You have no quota left", (None, None, None, None)),
    ],
)
def test_quota_is_read_from_each_service(answer, expected):
    error = failure(answer, "quota")
    assert module.sought_in(error) == Sought.QUOTA
    quota = module.quota_in(error)
    assert (quota.subject, quota.asked, quota.free, quota.capacity) == expected


@pytest.mark.parametrize(
    ("answer", "is_about_zone"),
    [
        ("The requested availability zone is not available", True),
        ("Availability zone 'az9' is invalid.", True),
        ("Invalid input for field", False),
    ],
)
def test_zone_that_does_not_exist_is_known_by_the_words_of_the_service(answer, is_about_zone):
    assert module.is_about_zone(failure(answer, "invalid")) is is_about_zone
