# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The playbook cleanup on a folder without a run."""

from __future__ import annotations


def test_cleanup_reports_what_it_removed_in_a_line(playbook, tmp_path):
    (tmp_path / "runs").mkdir()
    status, output = playbook("cleanup", stackproof_runs=str(tmp_path / "runs"))
    assert status == 0, output
    assert "Removed 0 resources of 0 runs." in output
    status, output = playbook("cleanup", "--check", stackproof_runs=str(tmp_path / "runs"))
    assert status == 0, output
    assert "Would remove 0 resources of 0 runs." in output
