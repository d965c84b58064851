# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Wait until an image is active."""

from __future__ import annotations

from typing import Any

from .._cloud.failures import LOST_IMAGE, lost_image
from .._record.waiting import Look
from .stage import Stage


def wait_until_active(stage: Stage[Any], image: Any) -> Any:
    """Return the image as Glance describes it once it is active."""
    glance = stage.cloud.image

    def look() -> Look:
        current = glance.get_image(image.id)
        if current.status in LOST_IMAGE:
            raise lost_image(image.name, current.status)
        return current.status == "active", current.status, current

    return stage.wait(f"the image {image.name} to be active", look)
