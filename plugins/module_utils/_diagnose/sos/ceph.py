# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Answer what the program ceph would of the cluster. Its images were not asked for when the report was made."""

from __future__ import annotations

from collections.abc import Sequence

from ..._collect.commands import UnreadError
from . import files
from .report import Report, absent

FOLDER = "/etc/ceph"
# What ceph was asked, to the file that has its answer
ANSWERS = {
    ("health",): "ceph_health_detail_--format_json*",
    ("osd", "dump"): "ceph_osd_dump_--format_json*",
}
# A report has no keys, but that of an administrator was used if Ceph has answered.
KEYRING = "ceph.client.admin.keyring"


def ceph(report: Report, words: Sequence[str]) -> str:
    for command, pattern in ANSWERS.items():
        if all(word in words for word in command):
            return report.output(pattern)
    raise absent("ceph")


def ls(report: Report, words: Sequence[str]) -> str:
    """Return the files of a folder, in that of Ceph with the key that its answers prove."""
    listed = files.ls(report, words)
    return (
        f"{listed}\n{KEYRING}"
        if words[0] == FOLDER and has_answers(report)
        else listed
    )


def has_answers(report: Report) -> bool:
    try:
        report.output(ANSWERS["health",])
    except UnreadError:
        return False
    return True
