# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The lines that systemd puts into its journal."""

from __future__ import annotations

import sys


def say(text):
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()
