# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The profile of a platform: which file it is, and what is said of one that cannot be used."""

from __future__ import annotations

import functools
import json

import pytest
import yaml
from ansible.errors import AnsibleFilterError
from ansible_collections.stackproof.provision.plugins.filter import hosts
from ansible_collections.stackproof.provision.plugins.module_utils._collect.hosts import profiles
from ansible_collections.stackproof.provision.plugins.module_utils._record.errors import StageError


@pytest.fixture
def own(tmp_path):
    """Return a function that writes a profile like packages with other keys, and gives its path."""

    def write(text=None, **keys):
        path = tmp_path / "own.yml"
        profile = {**profiles.profile_of("packages"), **keys}
        path.write_text(yaml.safe_dump({profiles.VARIABLE: profile}) if text is None else text)
        return str(path)

    return write


# In the order of messages
OURS = "devstack, kolla, kolla_podman, kubernetes, osa, packages, rhoso"


@pytest.mark.parametrize("name", OURS.split(", "))
def test_ours_are_known_by_their_names(name):
    assert profiles.profile_of(name)["groups"]["compute"]


LDAP = {"component": "ldap", "units": ["slapd.service", "dirsrv@*.service"]}
FRONT = [
    {"component": "haproxy", "units": ["haproxy.service", "kolla-haproxy-container.service"]},
    {"component": "keepalived", "units": ["keepalived.service", "kolla-keepalived-container.service"]},
    {"component": "proxysql", "units": ["proxysql.service", "kolla-proxysql-container.service"]},
]
SLAPD = {"service": "slapd", "files": [], "journals": ["slapd"]}


@pytest.mark.parametrize("lists", [{}, {"units": [], "logs": []}, {"units": None, "logs": None}])
def test_components_that_a_profile_does_not_name_are_looked_for_where_the_catalogue_says(own, lists):
    profile = profiles.profile_of(own(**{"units": [], "logs": [], **lists}))
    assert (profile["units"], profile["logs"]) == ([LDAP, *FRONT], [SLAPD])


def test_a_profile_says_better_than_the_catalogue_where_a_component_is(own):
    units, logs = [{"component": "ldap", "units": ["x.service"]}], [{"service": "slapd", "files": ["/x.log"]}]
    profile = profiles.profile_of(own(units=units, logs=logs))
    assert (profile["units"], profile["logs"]) == ([*units, *FRONT], logs)


@pytest.mark.parametrize("lists", [{"units": "x"}, {"logs": {"service": "x"}}, {"units": ["x", 5], "logs": [[]]}])
def test_lists_of_another_form_are_left_to_the_module_that_reads_them(own, lists):
    profile = profiles.profile_of(own(**lists))
    assert all(profile[key] == value or profile[key][: len(value)] == value for key, value in lists.items())


def test_a_file_is_known_by_its_path_and_read_again_when_it_has_changed(own):
    path = own(ceph_users=["first"])
    assert profiles.profile_of(path)["ceph_users"] == ["first"]
    assert profiles.profile_of(path) is profiles.profile_of(path)
    own(ceph_users=["second"])
    assert profiles.profile_of(path)["ceph_users"] == ["second"]


@pytest.mark.parametrize(
    ("platform", "why"),
    [
        (
            "nope",
            f"stackproof_platform cannot be 'nope': it is neither a path nor one of {OURS}",
        ),
        ("", f"it is neither a path nor one of {OURS}"),
        ("../packages", "there is no such file"),
        ("/nonexistent/own.yml", "stackproof_platform cannot be '/nonexistent/own.yml': there is no such file"),
        ("/", "it cannot be read: Is a directory"),
        (5, "stackproof_platform cannot be '5'"),
    ],
)
def test_a_platform_that_is_not_there_is_refused(platform, why):
    with pytest.raises(StageError) as refused:
        profiles.profile_of(platform)
    assert why in refused.value.record["message"]
    assert "docs/platforms.md" in refused.value.record["hint"]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "it has no mapping stackproof_platform_profile"),
        ("[]", "it has no mapping stackproof_platform_profile"),
        ("stackproof_platform_profile: [1]", "it has no mapping stackproof_platform_profile"),
        ("stackproof_platform_profile: {prefixes: {}}", "its key groups is not a mapping"),
        ("a: [", "it cannot be read: while parsing"),
        ("a: !!python/object:os.system {}", "it cannot be read: could not determine a constructor"),
    ],
)
def test_a_file_that_is_no_profile_is_refused(own, text, why):
    with pytest.raises(StageError) as refused:
        profiles.profile_of(own(text))
    assert why in refused.value.record["message"]


def test_a_profile_takes_what_it_does_not_say_from_the_one_that_it_is_like(own):
    text = f"{profiles.VARIABLE}: {{like: kolla, pools: {{vms: ours}}, ceph_users: [ours], queue_vhosts: null}}"
    profile, model = profiles.profile_of(own(text)), profiles.profile_of("kolla")
    assert profile == {
        **model,
        "pools": {**model["pools"], "vms": "ours"},
        "ceph_users": ["ours"],
        "queue_vhosts": None,
    }


def test_the_profile_for_podman_has_no_word_of_docker():
    docker, podman = [json.dumps(profiles.profile_of(name), sort_keys=True) for name in ("kolla", "kolla_podman")]
    words = [("/var/lib/docker", "/var/lib/containers/storage"), ("docker", "podman")]
    assert functools.reduce(lambda text, pair: text.replace(*pair), words, docker) == podman


@pytest.mark.parametrize(
    ("like", "why"),
    [
        ("nope", f"stackproof_platform cannot be 'nope': it is neither a path nor one of {OURS}"),
        ("/etc/ours.yml", "its key like names no profile of ours"),
        ("[kolla]", f"it is neither a path nor one of {OURS}"),
    ],
)
def test_a_profile_is_like_one_of_ours_alone(own, like, why):
    with pytest.raises(StageError) as refused:
        profiles.profile_of(own(f"{profiles.VARIABLE}: {{like: {like}}}"))
    assert why in refused.value.record["message"]


@pytest.mark.parametrize("key", sorted(profiles.NEEDED))
def test_a_profile_without_a_key_that_each_has_is_refused(own, key):
    with pytest.raises(StageError, match=f"its key {key} is not a (mapping|list), which every profile has"):
        profiles.profile_of(own(**{key: None}))


def test_bytes_that_are_no_text_are_refused(tmp_path):
    path = tmp_path / "own.yml"
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(StageError, match="it cannot be read"):
        profiles.profile_of(str(path))


def test_the_filter_says_it_in_the_same_words():
    assert hosts.profile_of("kolla") == profiles.profile_of("kolla")
    with pytest.raises(
        AnsibleFilterError,
        match=rf"it is neither a path nor one of {OURS}\. docs/platforms",
    ):
        hosts.profile_of("nope")
