# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Fixtures for several tests of sources."""

from __future__ import annotations

import _strptime
import calendar
from datetime import datetime

import pytest


@pytest.fixture
def german(monkeypatch):
    """A host whose language is German. Ansible sets its locale, and then strptime knows German months only."""
    months = ["", "Jän", "Feb", "Mär", "Apr", "Mai", "Jun", "Jul", "Aug", "Sep", "Okt", "nov.", "Dez"]
    monkeypatch.setattr(calendar, "month_abbr", months)
    monkeypatch.setattr(_strptime, "_TimeRE_cache", _strptime.TimeRE())
    monkeypatch.setattr(_strptime, "_regex_cache", {})
    with pytest.raises(ValueError, match="does not match"):
        datetime.strptime("2026 Nov", "%Y %b")
