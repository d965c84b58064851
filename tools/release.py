# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Build the tarballs of a release from the commit that is checked out, check them as servers do, and write their sums.

PYTHON tools/release.py release|candidate DIRECTORY, with the Python of a virtual environment that has galaxy-importer

A candidate is built all the same where a release still needs something. Nothing is signed or uploaded.
"""

from __future__ import annotations

import hashlib
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import tomllib
from dataclasses import dataclass
from pathlib import Path

import tarballs
import yaml

REPOSITORY = tarballs.REPOSITORY
HOME = REPOSITORY / "tools/home.yml"
SUMS = "SHA256SUMS"
# Automation Hub imports with these settings on top of Galaxy's; ansible-lint runs with its profile "production".
AUTOMATION_HUB = {
    "GALAXY_IMPORTER_CHECK_REQUIRED_TAGS": "true",
    "GALAXY_IMPORTER_RUN_ANSIBLE_LINT": "true",
}
FROM_1_0_0 = {"GALAXY_IMPORTER_REQUIRE_V1_OR_GREATER": "true"}
NOT_DONE = """\
Not signed: sign {sums} with a key of the maintainers, as in: gpg --armor --detach-sign {sums}
Not uploaded: ansible-galaxy collection publish does it, with the token of the namespace.
Not checked: what Automation Hub checks after its import, as by ansible-test in its images, and the sections of README.
"""
BEFORE_1_0_0 = "Not checked for Automation Hub: it takes versions from 1.0.0 on, and this is {version}.\n"


@dataclass(frozen=True)
class Home:
    """The public home of the collections: a host, an owner there, and the patterns of the addresses below them."""

    host: str | None
    owner: str | None
    patterns: dict[str, str]

    @property
    def is_known(self) -> bool:
        return bool(self.host and self.owner)

    def addresses(self, version: str, folder: str) -> dict[str, str]:
        """Return the addresses for galaxy.yml of the collection in a folder of the repository."""
        values = {"host": self.host, "owner": self.owner, "version": version, "folder": folder}
        return {field: pattern.format(**values) for field, pattern in self.patterns.items()}


@dataclass(frozen=True)
class Collection:
    """What a collection says about its version.

    recorded: the versions in changelogs/changelog.yaml. announced: the versions in CHANGELOG.rst. fragments: the files
    that belong to no version yet.
    """

    name: str
    version: str
    recorded: frozenset[str]
    announced: frozenset[str]
    fragments: tuple[str, ...]


@dataclass(frozen=True)
class State:
    """What decides whether the commit that is checked out can be released."""

    collections: tuple[Collection, ...]
    project_version: str
    changed: tuple[str, ...]
    tags: frozenset[str]
    home: Home

    @property
    def version(self) -> str:
        return self.collections[0].version


def obstacles(state: State) -> list[str]:
    """Return what a release still needs, one sentence each."""
    versions = {collection.name: collection.version for collection in state.collections}
    versions["pyproject.toml"] = state.project_version
    found = []
    if state.changed:
        found.append(f"Commit or remove {len(state.changed)} changed files, such as {state.changed[0]}.")
    if len(set(versions.values())) > 1:
        different = ", ".join(f"{name} {version}" for name, version in versions.items())
        found.append(f"Use one version everywhere: {different}.")
    if tag_of(state.version) not in state.tags:
        found.append(f"Tag the commit: git tag {tag_of(state.version)}.")
    for collection in state.collections:
        found.extend(obstacles_of_changelog(collection))
    if not state.home.is_known:
        found.append("Name the public home: host and owner in tools/home.yml.")
    return found


def obstacles_of_changelog(collection: Collection) -> list[str]:
    found = []
    if collection.fragments:
        number = len(collection.fragments)
        found.append(f"{collection.name}: call antsibull-changelog release; fragments without a version: {number}.")
    if collection.version not in collection.recorded:
        found.append(f"{collection.name}: changelogs/changelog.yaml does not have {collection.version}.")
    if collection.version not in collection.announced:
        found.append(f"{collection.name}: CHANGELOG.rst does not have v{collection.version}.")
    return found


def tag_of(version: str) -> str:
    return f"v{version}"


def settings_for(version: str) -> dict[str, str]:
    """Return the settings of galaxy-importer that check as Automation Hub does, as far as a version can pass there."""
    return AUTOMATION_HUB if is_before_1(version) else AUTOMATION_HUB | FROM_1_0_0


def is_before_1(version: str) -> bool:
    return version.startswith("0.")


def announced_in(changelog: str) -> frozenset[str]:
    """Return the versions that have a heading in CHANGELOG.rst."""
    return frozenset(re.findall(r"^v(\d\S*)\n=+$", changelog, re.MULTILINE))


def with_addresses(galaxy: str, addresses: dict[str, str]) -> str:
    """Return the text of a galaxy.yml with addresses added at its end."""
    lines = [f"{field}: {address}\n" for field, address in addresses.items()]
    return "".join([galaxy.rstrip("\n"), "\n", *lines])


def sums_of(files: list[Path]) -> str:
    """Return the sums of files in the form that sha256sum --check reads."""
    return "".join(f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in sorted(files))


def read_home(path: Path) -> Home:
    content = yaml.safe_load(path.read_text())
    return Home(content["host"], content["owner"], content["addresses"])


def read_collection(name: str, top: Path) -> Collection:
    return Collection(
        name=name,
        version=yaml.safe_load((top / "galaxy.yml").read_text())["version"],
        recorded=frozenset(yaml.safe_load((top / "changelogs/changelog.yaml").read_text())["releases"]),
        announced=announced_in((top / "CHANGELOG.rst").read_text()),
        fragments=tuple(sorted(path.name for path in (top / "changelogs/fragments").glob("*.yml"))),
    )


def read_state() -> State:
    return State(
        collections=tuple(read_collection(name, top) for name, (top, _others) in tarballs.COLLECTIONS.items()),
        project_version=tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]["version"],
        changed=tuple(line[3:] for line in git("status", "--porcelain").splitlines()),
        tags=frozenset(git("tag", "--points-at", "HEAD").split()),
        home=read_home(HOME),
    )


def git(*words: str) -> str:
    return subprocess.run(["git", *words], cwd=REPOSITORY, capture_output=True, text=True, check=True).stdout


def export(place: Path) -> None:
    """Put the files of the commit that is checked out into a folder, without any other file of the working tree."""
    archive = place.with_suffix(".tar")
    git("archive", "--format=tar", f"--output={archive}", "HEAD")
    with tarfile.open(archive) as exported:
        exported.extractall(place, filter="data")
    archive.unlink()


def build(state: State, place: Path) -> dict[str, Path]:
    """Return name of each collection to its tarball, built from an export, with the addresses of the public home."""
    source = place / "source"
    export(source)
    built = {}
    for name, (top, _others) in tarballs.COLLECTIONS.items():
        folder = source / top.relative_to(REPOSITORY)
        if state.home.is_known:
            below = "" if folder == source else f"{folder.relative_to(source)}/"
            galaxy = folder / "galaxy.yml"
            galaxy.write_text(with_addresses(galaxy.read_text(), state.home.addresses(state.version, below)))
        built[name] = tarballs.build(folder, place / name)
    return built


def publish(built: dict[str, Path], directory: Path) -> None:
    """Move the tarballs into an empty directory, with their sums beside them."""
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir(parents=True)
    moved = [Path(shutil.move(tarball, directory)) for tarball in built.values()]
    (directory / SUMS).write_text(sums_of(moved))


def main(kind: str, directory: Path) -> None:
    state = read_state()
    missing = obstacles(state)
    if missing:
        print("\n".join([f"A release of {state.version} still needs:", *(f"- {one}" for one in missing)]), flush=True)
    if missing and kind == "release":
        sys.exit(f"{state.version} was not built as a release; make candidate builds and checks it without these.")
    with tempfile.TemporaryDirectory() as temporary:
        place = Path(temporary)
        built = build(state, place)
        for name, tarball in built.items():
            tarballs.check(name, tarball, place / name, settings_for(state.version))
        tarballs.check_redirects(list(built.values()), place / "both")
        publish(built, directory)
    print(f"{directory}: the {kind} of {state.version}, with {SUMS}")
    print(NOT_DONE.format(sums=directory / SUMS), end="")
    if is_before_1(state.version):
        print(BEFORE_1_0_0.format(version=state.version), end="")


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
