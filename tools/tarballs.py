# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Build the tarball of each collection and check it: what it holds, what Galaxy reports about it, and that it works.

PYTHON tools/tarballs.py, with the Python of a virtual environment that has galaxy-importer
"""

from __future__ import annotations

import io
import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Mapping
from pathlib import Path

import secret_scan

REPOSITORY = Path(__file__).resolve().parents[1]
# Each collection: its folder, and the paths in it that belong to the other one
COLLECTIONS: dict[str, tuple[Path, tuple[str, ...]]] = {
    "provision": (REPOSITORY, ("lab/", "tests/unit/lab/")),
    "lab": (REPOSITORY / "lab", ()),
}
# An image with the collection of the users, by ansible-builder, and the name that its tarball has there
IMAGE = REPOSITORY / "doors/automation-controller/execution-environment.yml"
IN_IMAGE = "stackproof-provision.tar.gz"
# An installed collection may use only these folders.
USED = {"meta", "plugins", "roles", "playbooks"}
# Asks Ansible for each plugin by its old name.
FIND = """\
import sys

import yaml
from ansible.plugins import loader

loader.init_plugin_loader()
finders = {
    "action": loader.action_loader.find_plugin_with_context,
    "filter": lambda name: loader.filter_loader.get_with_context(name).plugin_load_context,
    "modules": loader.module_loader.find_plugin_with_context,
}
with open(sys.argv[1]) as runtime:
    routing = yaml.safe_load(runtime)["plugin_routing"]
moved = [
    (kind, f"stackproof.provision.{old}", route["redirect"])
    for kind, routes in routing.items()
    for old, route in routes.items()
    if "redirect" in route
]
lost = [(kind, old, new) for kind, old, new in moved if finders[kind](old).resolved_fqcn != new]
if lost:
    sys.exit("\\n".join(f"{kind}: {old} does not lead to {new}" for kind, old, new in lost))
print(f"{len(moved)} plugins are found by their old names")
"""
# What galaxy-importer is asked for. Galaxy's own run of ansible-lint asks for less than make lint does.
GALAXY = {"GALAXY_IMPORTER_RUN_ANSIBLE_LINT": "false"}
# Galaxy requires the address of a repository. Before there is one, a copy with this reserved address is checked.
NO_REPOSITORY = "https://stackproof.invalid/provision"
# Galaxy warns of each file of exceptions from the sanity tests, whatever it says. Ours give the reason in each line.
EXCEPTIONS = "WARNING: Ignore files skip ansible-test sanity tests"
# The importer leads ansible-lint to a wrong folder of collections, so ansible-lint finds no playbook by its full name.
# check_installed finds each.
NOT_FOUND = "WARNING: ERROR    Failed to find stackproof."
# ansible-builder leaves out programs for tests. pytest-testinfra brings pytest all the same.
LEFT_OUT = ("pytest>=",)
# The build itself writes these files into the tarball.
BUILT = {"MANIFEST.json", "FILES.json"}


def run(*argv: str | Path, cwd: Path, **variables: str) -> str:
    environment = {**os.environ, "PATH": f"{sys.prefix}/bin:{os.environ['PATH']}", **variables}
    # The configuration of this repository would lead Ansible to the collection here.
    environment.pop("ANSIBLE_CONFIG", None)
    done = subprocess.run(
        argv, cwd=cwd, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False
    )
    if done.returncode != 0:
        sys.exit(f"{done.stdout}\n{' '.join(map(str, argv))}: exit status {done.returncode}")
    return done.stdout


def check_content(tarball: Path, top: Path, others: tuple[str, ...]) -> None:
    """Check that git knows each file in it, as one of the collection: a build, a run or a lab leaves nothing there."""
    known = {name for name in run("git", "ls-files", "-z", cwd=top).split("\0") if not name.startswith(others)}
    with tarfile.open(tarball) as archive:
        unwanted = sorted({member.name for member in archive if not member.isdir()} - known - BUILT)
    if unwanted:
        sys.exit("\n".join([f"Not known to git, or not of this collection, in {tarball.name}:", *unwanted]))


def check_secrets(tarball: Path) -> None:
    """Check that no secret of the lab is in it, and nothing that looks like one."""
    known = secret_scan.known_of(os.environ.get("LAB_DIRECTORY", REPOSITORY / ".lab"))
    found = secret_scan.Scanner(known, secret_scan.OURS).scan(tarball)
    if found:
        sys.exit("\n".join(["Secrets in the tarball:", *map(str, found)]))


def check_import(tarball: Path, place: Path, settings: Mapping[str, str]) -> None:
    """Check that galaxy-importer has no complaint, with the settings of the server that would import the tarball."""
    place.mkdir()
    copy_with_repository(tarball, place / tarball.name)
    output = run(sys.executable, "-m", "galaxy_importer.main", tarball.name, cwd=place, **settings)
    complaints = complaints_in(output)
    if complaints:
        sys.exit("\n".join(complaints))


def complaints_in(output: str) -> list[str]:
    """Return the complaints of galaxy-importer that are about the collection."""
    complaints = [line for line in output.splitlines() if line.startswith(("WARNING", "ERROR"))]
    return [line for line in complaints if not line.startswith((EXCEPTIONS, NOT_FOUND))]


def copy_with_repository(tarball: Path, copy: Path) -> None:
    """Copy a tarball, with a reserved address as that of its repository if it has none."""
    with tarfile.open(tarball) as given, tarfile.open(copy, "w:gz") as checked:
        for member in given:
            stream = given.extractfile(member) if member.isfile() else None
            content = stream.read() if stream else b""
            if member.name == "MANIFEST.json":
                content = with_repository(content)
                member.size = len(content)
            checked.addfile(member, io.BytesIO(content))


def with_repository(manifest: bytes) -> bytes:
    content = json.loads(manifest)
    content["collection_info"]["repository"] = content["collection_info"]["repository"] or NO_REPOSITORY
    return json.dumps(content).encode()


def install(tarball: Path, place: Path) -> None:
    argv: list[str | Path] = [
        "ansible-galaxy",
        "collection",
        "install",
        "--offline",
        "--force",
        "--collections-path",
        place,
        tarball,
    ]
    run(*argv, cwd=tarball.parent)


def check_installed(tarball: Path, name: str, place: Path) -> None:
    """Check that Ansible finds and understands every playbook with only the collection itself installed."""
    install(tarball, place)
    collection = place / "ansible_collections/stackproof" / name
    for path in collection.iterdir():
        if path.is_dir() and path.name not in USED:
            shutil.rmtree(path)
        elif not path.is_dir():
            path.unlink()
    names = [f"stackproof.{name}.{playbook.stem}" for playbook in sorted((collection / "playbooks").glob("*.yml"))]
    run("ansible-playbook", *names, "--syntax-check", cwd=place, ANSIBLE_COLLECTIONS_PATH=str(place))


def check_image(tarball: Path, place: Path) -> None:
    """Check that ansible-builder makes the context of an image, and finds what the installed collection requires."""
    place.mkdir()
    shutil.copy(IMAGE, place)
    shutil.copy(tarball, place / IN_IMAGE)
    run("ansible-builder", "create", "--file", IMAGE.name, "--context", "context", cwd=place)
    if not (place / "context/_build" / IN_IMAGE).is_file():
        sys.exit(f"{IMAGE.name}: the tarball is not in the context of the image")
    install(tarball, place / "collections")
    found = run("ansible-builder", "introspect", place / "collections", cwd=place)
    missing = missing_in(found, (REPOSITORY / "meta/ee-requirements.txt").read_text())
    if missing:
        sys.exit("\n".join(["ansible-builder does not find these requirements of the collection:", *missing]))


def missing_in(found: str, required: str) -> list[str]:
    """Return the requirements that ansible-builder has not found, except those that it leaves out of any image."""
    lines = [line for line in required.splitlines() if not line.startswith(("#", *LEFT_OUT))]
    return [line for line in lines if line not in found]


def check_redirects(tarballs: list[Path], place: Path) -> None:
    """Check that with both installed, Ansible finds each plugin that has moved by its old name."""
    for tarball in tarballs:
        install(tarball, place)
    runtime = place / "ansible_collections/stackproof/provision/meta/runtime.yml"
    print(run(sys.executable, "-c", FIND, runtime, cwd=place, ANSIBLE_COLLECTIONS_PATH=str(place)), end="")


def build(top: Path, place: Path) -> Path:
    """Return the tarball of the collection in a folder."""
    run("ansible-galaxy", "collection", "build", "--output-path", place, cwd=top)
    [tarball] = place.glob("*.tar.gz")
    return tarball


def check(name: str, tarball: Path, place: Path, settings: Mapping[str, str]) -> None:
    """Make all checks that concern one tarball alone."""
    check_content(tarball, *COLLECTIONS[name])
    check_secrets(tarball)
    check_import(tarball, place / "imported", settings)
    check_installed(tarball, name, place / "installed")
    if name == "provision":
        check_image(tarball, place / "image")
    print(f"{tarball.name}: {tarball.stat().st_size // 1024} KiB, passed", flush=True)


def main() -> None:
    with tempfile.TemporaryDirectory() as directory:
        place = Path(directory)
        tarballs = {name: build(top, place / name) for name, (top, _others) in COLLECTIONS.items()}
        for name, tarball in tarballs.items():
            check(name, tarball, place / name, GALAXY)
        check_redirects(list(tarballs.values()), place / "both")


if __name__ == "__main__":
    main()
