# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Requests in the log of metadata proxies, in lines of a real log."""

from __future__ import annotations

import pytest
from ansible_collections.stackproof.provision.plugins.module_utils._collect.hosts import metadata_proxy
from ansible_collections.stackproof.provision.plugins.module_utils._collect.logs.matching_lines import MatchingLine
from ansible_collections.stackproof.provision.plugins.module_utils._model.codec import to_json

# A router's proxy writes addresses as IPv6, that of a network alone does not.
ROUTER = (
    "::ffff:192.168.222.252:36548 [21/Nov/2026:11:27:58.221] listener listener/metadata 0/0/0/1115/1115 200 1194 - - "
    '---- 1/1/0/0/0 0/0 "GET /openstack/latest/meta_data.json HTTP/1.1"'
)
NETWORK = ROUTER.removeprefix("::ffff:")


@pytest.mark.parametrize("text", [ROUTER, NETWORK])
def test_a_request_is_found_in_the_log_of_each_kind_of_proxy(text):
    line = MatchingLine(1795260479.336505, 1e-06, text)
    assert to_json(metadata_proxy.parse_request(line, "192.168.222.252")) == {
        "at": 1795260479.336505,
        "resolution_s": 1e-06,
        "status": 200,
        "path": "/openstack/latest/meta_data.json",
        "seconds": 1.115,
    }
    assert to_json(metadata_proxy.parse_request(line, "192.168.222.25")) is None
