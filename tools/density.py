# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Print how dense the code of some folders is, and how much of it has types.

density.py [FOLDER]...

One row for each folder, and one for all of them if there are several. By default that is plugins/.
"""

from __future__ import annotations

import ast
import math
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

Function = ast.FunctionDef | ast.AsyncFunctionDef
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
# The receiver of a method needs no type: it is that of its class.
RECEIVERS = ("self", "cls")
COLUMNS = (
    "functions",
    "lines p50/p90/max",
    "complexity p90/max",
    "over 10",
    "branches per 100 lines",
    "nested comprehensions",
    "parameters typed",
    '["x"] per 1,000 lines',
)


@dataclass
class Density:
    """What was counted in some files."""

    lines: int = 0
    # Those of functions, without their documentation
    function_lines: int = 0
    branches: int = 0
    nested: int = 0
    subscripts: int = 0
    parameters: int = 0
    typed: int = 0
    lengths: list[int] = field(default_factory=list)
    complexities: list[int] = field(default_factory=list)

    def add(self, source: str) -> None:
        """Count what a file has."""
        tree = ast.parse(source)
        self.lines += len(source.splitlines())
        for node in ast.walk(tree):
            self.branches += branches_at(node)
            self.nested += is_nested_comprehension(node)
            self.subscripts += is_text_subscript(node)
            if isinstance(node, Function):
                self.add_function(node)

    def add_function(self, function: Function) -> None:
        self.lengths.append(height(function))
        self.function_lines += height(function) - (height(function.body[0]) if ast.get_docstring(function) else 0)
        self.complexities.append(1 + sum(map(branches_at, own_nodes(function))))
        parameters = [parameter for parameter in parameters_of(function) if parameter.arg not in RECEIVERS]
        self.parameters += len(parameters)
        self.typed += sum(parameter.annotation is not None for parameter in parameters)

    def row(self) -> list[str]:
        """Return the cells of a table, in the order of COLUMNS."""
        return [
            f"{len(self.lengths):,}",
            "/".join(str(share(self.lengths, part)) for part in (0.5, 0.9, 1)),
            "/".join(str(share(self.complexities, part)) for part in (0.9, 1)),
            str(sum(complexity > 10 for complexity in self.complexities)),
            f"{100 * self.branches / max(1, self.function_lines):.1f}",
            str(self.nested),
            f"{100 * self.typed / max(1, self.parameters):.0f} %",
            f"{1000 * self.subscripts / max(1, self.lines):.0f}",
        ]


def height(node: ast.stmt) -> int:
    return (node.end_lineno or node.lineno) - node.lineno + 1


def branches_at(node: ast.AST) -> int:
    """Return how many ways a node adds to those that the code may go."""
    if isinstance(node, (ast.If, ast.IfExp, ast.For, ast.AsyncFor, ast.While, ast.ExceptHandler, ast.match_case)):
        return 1
    if isinstance(node, ast.BoolOp):
        return len(node.values) - 1
    return 1 + len(node.ifs) if isinstance(node, ast.comprehension) else 0


def own_nodes(function: Function) -> Iterator[ast.AST]:
    """Yield what a function holds, without the functions inside it."""
    waiting: list[ast.AST] = list(function.body)
    while waiting:
        node = waiting.pop()
        yield node
        waiting += [child for child in ast.iter_child_nodes(node) if not isinstance(child, Function)]


def is_nested_comprehension(node: ast.AST) -> bool:
    """Return whether a comprehension goes through several things, or holds another one."""
    if not isinstance(node, COMPREHENSIONS):
        return False
    return len(node.generators) > 1 or any(isinstance(inner, COMPREHENSIONS) for inner in descendants(node))


def descendants(node: ast.AST) -> Iterator[ast.AST]:
    return (inner for inner in ast.walk(node) if inner is not node)


def is_text_subscript(node: ast.AST) -> bool:
    key = node.slice if isinstance(node, ast.Subscript) else None
    return isinstance(key, ast.Constant) and isinstance(key.value, str)


def parameters_of(function: Function) -> list[ast.arg]:
    given = function.args
    rest = [parameter for parameter in (given.vararg, given.kwarg) if parameter]
    return [*given.posonlyargs, *given.args, *given.kwonlyargs, *rest]


def share(values: list[int], part: float) -> int:
    """Return the value below which a part of the values lies."""
    ordered = sorted(values) or [0]
    return ordered[math.ceil(part * len(ordered)) - 1]


def density_of(folders: list[Path]) -> Density:
    density = Density()
    for folder in folders:
        for path in sorted(folder.rglob("*.py")):
            density.add(path.read_text(encoding="utf-8"))
    return density


def main() -> None:
    folders = [Path(name) for name in sys.argv[1:]] or [Path(__file__).resolve().parents[1] / "plugins"]
    rows = [(str(folder), density_of([folder])) for folder in folders]
    if len(folders) > 1:
        rows.append(("all", density_of(folders)))
    print("|".join(["", " folder ", *(f" {name} " for name in COLUMNS), ""]))
    print("|".join(["", *["---"] * (len(COLUMNS) + 1), ""]))
    for name, density in rows:
        print("|".join(["", f" {name} ", *(f" {cell} " for cell in density.row()), ""]))


if __name__ == "__main__":
    main()
