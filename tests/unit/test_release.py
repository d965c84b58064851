# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A release is built only of a tagged commit whose parts agree, and its tarballs alone name the public home."""

from __future__ import annotations

import json
import subprocess
import tomllib
from dataclasses import replace

import pytest
import release
import tarballs
import yaml
from tree import COLLECTIONS, ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
ADDRESSES = {"repository", "documentation", "homepage", "issues"}
VERSION = "1.0.0"
WHOLE = release.Collection("provision", VERSION, frozenset({"0.2.0", VERSION}), frozenset({VERSION}), fragments=())
HOME = replace(release.read_home(release.HOME), host="code.example.org", owner="someone")
READY = release.State(
    collections=(WHOLE, replace(WHOLE, name="lab")),
    project_version=VERSION,
    changed=(),
    tags=frozenset({"v1.0.0"}),
    home=HOME,
)


def with_collection(**changes: object) -> release.State:
    return replace(READY, collections=(WHOLE, replace(WHOLE, name="lab", **changes)))


def test_tagged_commit_whose_parts_agree_can_be_released():
    assert release.obstacles(READY) == []


@pytest.mark.parametrize(
    ("state", "obstacle"),
    [
        (replace(READY, changed=("a.py", "b.py")), "Commit or remove 2 changed files, such as a.py."),
        (
            replace(READY, project_version="0.9.0"),
            "Use one version everywhere: provision 1.0.0, lab 1.0.0, pyproject.toml 0.9.0.",
        ),
        (replace(READY, tags=frozenset({"v0.9.0"})), "Tag the commit: git tag v1.0.0."),
        (
            with_collection(fragments=("a.yml",)),
            "lab: call antsibull-changelog release; fragments without a version: 1.",
        ),
        (with_collection(recorded=frozenset()), "lab: changelogs/changelog.yaml does not have 1.0.0."),
        (with_collection(announced=frozenset()), "lab: CHANGELOG.rst does not have v1.0.0."),
        (
            replace(READY, home=replace(HOME, owner=None)),
            "Name the public home: host and owner in tools/home.yml.",
        ),
    ],
)
def test_obstacle_to_a_release_is_reported(state: release.State, obstacle: str):
    assert release.obstacles(state) == [obstacle]


def test_collection_of_another_version_is_an_obstacle():
    different, *_changelog = release.obstacles(with_collection(version="0.9.0"))
    assert different == "Use one version everywhere: provision 1.0.0, lab 0.9.0, pyproject.toml 1.0.0."


def test_release_with_an_obstacle_is_refused_and_nothing_is_built(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(release, "read_state", lambda: replace(READY, home=replace(HOME, host=None)))
    with pytest.raises(SystemExit, match=r"^1\.0\.0 was not built as a release"):
        release.main("release", tmp_path / "release")
    assert "- Name the public home: host and owner in tools/home.yml.\n" in capsys.readouterr().out
    assert not (tmp_path / "release").exists()


@pytest.mark.parametrize("top", COLLECTIONS.values(), ids=COLLECTIONS)
def test_galaxy_yml_names_no_address_and_the_release_adds_all(top):
    text = (top / "galaxy.yml").read_text()
    assert not ADDRESSES & set(yaml.safe_load(text))
    added = yaml.safe_load(release.with_addresses(text, HOME.addresses(VERSION, "lab/")))
    assert added == {**yaml.safe_load(text), **HOME.addresses(VERSION, "lab/")}
    assert set(HOME.addresses(VERSION, "lab/")) == ADDRESSES


def test_addresses_follow_from_the_home_alone():
    addresses = HOME.addresses(VERSION, "lab/")
    assert all(address.startswith("https://code.example.org/someone/") for address in addresses.values())
    assert addresses["documentation"].endswith("/v1.0.0/lab/docs")


@pytest.mark.parametrize(("host", "owner"), [(None, None), ("code.example.org", None), (None, "someone"), ("", "")])
def test_home_without_host_or_owner_is_not_known(host, owner):
    assert not replace(HOME, host=host, owner=owner).is_known


@pytest.mark.parametrize("name", COLLECTIONS)
def test_version_of_the_repository_is_in_both_parts_of_its_changelog(name):
    collection = release.read_collection(name, COLLECTIONS[name])
    assert collection.version in collection.recorded
    assert collection.version in collection.announced
    assert "Topics" not in collection.announced


@pytest.mark.parametrize(("version", "required"), [("0.2.0", False), ("1.0.0", True), ("10.1.0", True)])
def test_automation_hub_is_asked_for_its_own_checks(version, required):
    settings = release.settings_for(version)
    assert settings["GALAXY_IMPORTER_CHECK_REQUIRED_TAGS"] == "true"
    assert settings["GALAXY_IMPORTER_RUN_ANSIBLE_LINT"] == "true"
    assert ("GALAXY_IMPORTER_REQUIRE_V1_OR_GREATER" in settings) is required


def test_sums_are_accepted_by_sha256sum(tmp_path):
    files = [tmp_path / "b.tar.gz", tmp_path / "a.tar.gz"]
    for number, path in enumerate(files):
        path.write_bytes(bytes([number]))
    (tmp_path / release.SUMS).write_text(release.sums_of(files))
    checked = subprocess.run(
        ["sha256sum", "--check", release.SUMS], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert (checked.returncode, checked.stdout) == (0, "a.tar.gz: OK\nb.tar.gz: OK\n")


@pytest.mark.parametrize(
    ("given", "checked"), [(None, tarballs.NO_REPOSITORY), ("https://code.example.org/x", "https://code.example.org/x")]
)
def test_importer_sees_a_reserved_repository_only_where_there_is_none(given, checked):
    manifest = json.dumps({"collection_info": {"name": "lab", "repository": given}}).encode()
    seen = json.loads(tarballs.with_repository(manifest))
    assert seen["collection_info"] == {"name": "lab", "repository": checked}


def test_complaints_of_the_importer_are_those_about_the_collection():
    known = f"{tarballs.EXCEPTIONS}, found ignore-2.21.txt\n{tarballs.NOT_FOUND}provision.verify playbook.\n"
    output = f"Importing\nWARNING: No changelog found.\n{known}ERROR: bad\n"
    assert tarballs.complaints_in(output) == ["WARNING: No changelog found.", "ERROR: bad"]


def test_requirement_that_the_image_would_miss_is_found():
    required = (ROOT / "meta/ee-requirements.txt").read_text()
    found = "jmespath>=1.0,<2  # from collection stackproof.provision\nopenstacksdk>=4.0,<5\n"
    assert tarballs.missing_in(found, required) == ["pytest-testinfra>=10.1,<11"]


def test_image_has_the_tarball_by_the_name_under_which_it_is_copied():
    image = yaml.safe_load(tarballs.IMAGE.read_text())
    assert [file["src"] for file in image["additional_build_files"]] == [tarballs.IN_IMAGE]
    assert image["dependencies"]["galaxy"]["collections"] == [{"name": tarballs.IN_IMAGE, "type": "file"}]
    [required] = [line for line in PROJECT["project"]["dependencies"] if line.startswith("ansible-core")]
    assert image["dependencies"]["ansible_core"]["package_pip"] == required
