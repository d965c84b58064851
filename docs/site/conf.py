# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How Sphinx makes the documentation site out of what tools/docs-site has put together. Nothing is fetched."""

from __future__ import annotations

project = "stackproof.provision"
author = "stackproof contributors"
copyright = "2026, stackproof contributors"

# No intersphinx: it would fetch the indexes of other projects.
extensions = ["myst_parser", "sphinx_antsibull_ext"]
# The sources lie among all else that a page may link to.
include_patterns = [
    "index.md",
    "README.md",
    "CONTRIBUTING.md",
    "SUPPORT.md",
    "SECURITY.md",
    "CODE_OF_CONDUCT.md",
    "CHANGELOG.rst",
    "docs/*.md",
    "measurements/*.md",
    "roles/*/README.md",
    "flows/*.md",
    "collection/*.rst",
    "lab/README.md",
    "lab/docs/*.md",
    "lab/roles/*/README.md",
    "lab/collection/*.rst",
]
# The lab's plugins read no variables, and the page that says so has the label of the other one.
exclude_patterns = ["lab/collection/environment_variables.rst"]
default_role = "any"

# A block without a language is a command line or its output.
highlight_language = "text"
# Headings of these levels can be linked to, as the pages do in their Markdown.
myst_heading_anchors = 3

# Every reference is looked for. What is left out here are the pages of Ansible's own documentation to which
# antsibull-docs refers: they are on another site, and could only be known by fetching its index. The words stay.
nitpicky = True
nitpick_ignore = [
    ("std:ref", "action_plugins"),
    ("std:ref", "ansible_configuration_settings"),
    ("std:ref", "callback_plugins"),
    ("std:ref", "common_return_values"),
]
nitpick_ignore_regex = [("std:ref", r"ansible_collections\.ansible\.builtin\..*")]

html_theme = "furo"
html_title = "stackproof.provision"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sphinx = False
# Its words would be those of the machine that built it.
html_last_updated_fmt = None
antsibull_ext_color_scheme = "none"
