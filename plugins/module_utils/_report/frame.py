# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The frame that all pages share: it finds the templates of a folder, and renders one of them.

Each page is one file. Everything in it is escaped but what our own code has drawn, and no text in it has characters
that control a terminal or turn the direction of writing.
"""

from __future__ import annotations

import errno
import functools
import os
import re
import sys
from typing import TYPE_CHECKING, Any

from .._record.words import clean
from .statuses import LOOKS

if TYPE_CHECKING:
    from types import ModuleType

jinja2: ModuleType | None
try:
    import jinja2
except ImportError:
    jinja2 = None

HAS_JINJA2 = jinja2 is not None
# What a template raises that asks for something that its view does not have
UNDEFINED: tuple[type[Exception], ...] = (
    (jinja2.UndefinedError,) if jinja2 else ()
)
# What every page includes
SHARED = ("frame.html.j2", "parts.html.j2", "style.css")
COMPILED = os.path.join(os.path.dirname(__file__), "__pycache__")


def render(path: str | os.PathLike[str], view: dict[str, Any]) -> str:
    """Return the page that a template makes of what its view names."""
    text: str = template(path).render(view)
    return text + "\n"


def template(path: str | os.PathLike[str]) -> Any:
    folder, name = os.path.split(os.path.realpath(path))
    if not os.path.exists(path):
        raise FileNotFoundError(
            errno.ENOENT, os.strerror(errno.ENOENT), os.fspath(path)
        )
    return environment(folder).get_template(name)


def load(path: str | os.PathLike[str]) -> None:
    """Compile a template, and what it shares with others, for all later pages of this process and of its forks."""
    for name in SHARED:
        template(os.path.join(os.path.dirname(path), name))
    template(path)


@functools.cache
def environment(folder: str) -> Any:
    """Return the environment of the templates in a folder, which keeps those that were compiled."""
    if jinja2 is None:
        raise ModuleNotFoundError("No module named 'jinja2'", name="jinja2")
    made = jinja2.Environment(
        loader=jinja2.FileSystemLoader(folder),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        finalize=harmless,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
        bytecode_cache=kept_code(),
    )
    made.globals["looks"] = LOOKS
    return made


def kept_code() -> Any:
    """Return where compiled templates are kept: with Python's own compiled code, unless that may not be written."""
    if (
        jinja2 is None
        or sys.dont_write_bytecode
        or not os.access(COMPILED, os.W_OK)
    ):
        return None
    return jinja2.FileSystemBytecodeCache(COMPILED)


def harmless(value: Any) -> Any:
    """Return a value of a page without control characters. Markup is that of our own drawings and macros."""
    if isinstance(value, str) and not hasattr(value, "__html__"):
        return clean(value)
    return value


def inlined(svg: str) -> str:
    """Return an SVG file as HTML may hold it: without the declarations at its beginning."""
    return re.sub(
        r"<\?xml.*?\?>|<!DOCTYPE[^>]*>", "", svg, flags=re.DOTALL
    ).strip()
