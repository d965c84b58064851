# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Run the unit tests that the changes in this clone touch: quick.py [ARGUMENT OF PYTEST]...

Changes are those of the working tree, and of the commits since the branch left origin/main. A changed file touches the
tests at its place in the tree of tests/unit, the tests that import it, and those that name it. Tests that import it
through other files follow, the nearest first, as long as there are few. This is a quick look: make unit runs all tests.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator, Set
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).resolve().parents[1]
UNIT = PurePosixPath("tests/unit")
# Test files that are run although they are not the nearest. A file takes some 2 s of a core, and the whole at most 40 s
# on two cores.
MANY = 25
# Where the files of modules are, by the beginning of their names; the last ones as in pyproject.toml
COLLECTIONS = {
    "ansible_collections.stackproof.provision.": "",
    "ansible_collections.stackproof.lab.": "lab/",
}
ON_PATH = (
    "tests",
    "tests/lab",
    "tests/devstack",
    "tests/kolla",
    "tests/catalogue",
    "tests/fuzz",
    "tests/newcomers",
    "tools",
)
WITH_CODE = ("plugins", "lab/plugins", "tests", "tools")


@dataclass(frozen=True)
class Choice:
    """Test files to run, and how many others import what has changed from further away."""

    tests: list[str]
    left_out: int


def git(*words: str) -> list[str]:
    done = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


def changed_files() -> set[str]:
    """Return what differs from the commit at which the branch left origin/main, and what git does not know yet."""
    try:
        [base] = git("merge-base", "HEAD", "origin/main")
    except subprocess.CalledProcessError:
        # A clone without this branch
        base = "HEAD"
    return {*git("diff", "--name-only", "--no-renames", base), *git("ls-files", "--others", "--exclude-standard")}


def code_files() -> set[str]:
    folders = (ROOT / folder for folder in WITH_CODE)
    return {path.relative_to(ROOT).as_posix() for folder in folders for path in folder.rglob("*.py")}


def is_test(path: str) -> bool:
    return PurePosixPath(path).is_relative_to(UNIT) and PurePosixPath(path).name.startswith("test_")


def imported_names(path: str, source: str) -> Iterator[str]:
    """Yield the names of modules that a file imports, with names in them, which may be modules as well."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            module = absolute_name(path, node)
            yield module
            yield from (f"{module}.{alias.name}" for alias in node.names)


def absolute_name(path: str, node: ast.ImportFrom) -> str:
    if not node.level:
        return node.module or ""
    package = ".".join(PurePosixPath(path).parts[: -node.level])
    name = f"{package}.{node.module}" if node.module else package
    if name.startswith("lab."):
        return f"ansible_collections.stackproof.{name}"
    return f"ansible_collections.stackproof.provision.{name}" if name.startswith("plugins.") else name


def files_of(module: str) -> Iterator[str]:
    """Yield the paths at which a module would be."""
    for beginning, folder in COLLECTIONS.items():
        if module.startswith(beginning):
            path = folder + module.removeprefix(beginning).replace(".", "/")
            yield from (f"{path}.py", f"{path}/__init__.py")
            return
    for folder in ON_PATH:
        path = f"{folder}/{module.replace('.', '/')}"
        yield from (f"{path}.py", f"{path}/__init__.py")


def importers(sources: dict[str, str]) -> dict[str, set[str]]:
    """Return path of a module to the paths of files that import it.

    What only a conftest.py imports counts for no test: it would be imported by all of them.
    """
    found: dict[str, set[str]] = {}
    for path, source in sources.items():
        if path.endswith("/conftest.py"):
            continue
        for name in imported_names(path, source):
            for imported in files_of(name):
                found.setdefault(imported, set()).add(path)
    return found


def at_its_place(changed: str, tests: Iterable[str]) -> set[str]:
    """Return the tests that belong to a file, or to the folder it is in, by their places and names."""
    place = PurePosixPath(changed.replace("lab/plugins/", "lab/", 1))
    belonging = set()
    for part in (place, *place.parents[:-1]):
        folder, stem = UNIT / part.parent, f"test_{part.stem.lstrip('_')}"
        near = {test for test in tests if PurePosixPath(test).parent == folder}
        belonging |= {test for test in near if PurePosixPath(test).stem == stem}
        belonging |= {test for test in near if PurePosixPath(test).stem.startswith(f"{stem}_") and part == place}
    return belonging


def below(folder: PurePosixPath, tests: Iterable[str]) -> set[str]:
    return {test for test in tests if PurePosixPath(test).is_relative_to(folder)}


def is_named(path: PurePosixPath, source: str) -> bool:
    """Return whether a test names a file or its folder, or has the constant of tests/tree.py for the folder."""
    folder = "/".join(path.parts[-3:-1]) if path.suffix != ".py" else ""
    names = [f'"{path.name}"', f"/{path.name}", *([f"{folder}/", f'{folder}"'] if "/" in folder else [])]
    constant = path.parent.name.upper()
    return any(name in source for name in names) or (
        bool(constant) and re.search(rf"\b{constant}\b", source) is not None
    )


def nearest(changed: str, tests: Set[str], sources: dict[str, str]) -> set[str]:
    """Return the tests that a change touches without regard to imports."""
    if changed in tests:
        return {changed}
    path = PurePosixPath(changed)
    if path.name == "conftest.py":
        return below(path.parent, tests)
    naming = {test for test in tests if is_named(path, sources[test])}
    return at_its_place(changed, tests) | naming


def choose(changed: Set[str], sources: dict[str, str]) -> Choice:
    """Return the test files that changes touch."""
    tests = {path for path in sources if is_test(path)}
    by_import = importers(sources)
    chosen = set().union(*(nearest(path, tests, sources) for path in changed))
    reached = set(changed)
    front = {importer for path in changed for importer in by_import.get(path, ())}
    chosen |= front & tests
    further: set[str] = set()
    while front:
        reached |= front
        front = {importer for path in front for importer in by_import.get(path, ())} - reached
        further |= (front & tests) - chosen
        if len(chosen) + len(further) <= MANY:
            chosen |= further
    return Choice(sorted(chosen), len(further - chosen))


def main(arguments: list[str]) -> int:
    changed = changed_files()
    sources = {path: (ROOT / path).read_text() for path in code_files()}
    choice = choose(changed, sources)
    print(f"changed files: {len(changed)}; test files to run: {len(choice.tests)}", flush=True)
    if choice.left_out:
        print(f"left out, as they import these from further away: {choice.left_out}; make unit runs them", flush=True)
    if not choice.tests:
        return 0
    return subprocess.run([sys.executable, "-m", "pytest", *arguments, *choice.tests], cwd=ROOT, check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
