# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The playbook verify as users call it, with all that Ansible can print: no secret is printed, whoever utters it."""

from __future__ import annotations

import re

import pytest
from guard import assert_no_defect, assert_no_secret
from mutations import PLANTED, SECRETS
from newcomer import Newcomer

REQUESTS = (
    ("POST", "/auth/tokens"),
    ("GET", "/images"),
    ("POST", "/networks"),
    ("POST", "/volumes"),
    ("POST", "/servers"),
    ("DELETE", "."),
)
CALLBACKS = ("default", "stackproof.provision.progress")


def given(newcomer, chance):
    """Name the cloud in one of the ways that users do: a name, a dictionary, a URL with a password in it."""
    entry = newcomer.cloud.entry()
    how = chance.choice(("name", "dictionary", "wrong dictionary", "wrong type", "url"))
    if how == "dictionary":
        newcomer.variables["stackproof_cloud"] = entry
    elif how == "wrong dictionary":
        entry["auth"]["password"] = PLANTED
        newcomer.variables["stackproof_cloud"] = {**entry, "profile": ["x"]}
    elif how == "wrong type":
        newcomer.variables["stackproof_cloud"] = [entry]
    elif how == "url":
        entry["auth"]["auth_url"] = entry["auth"]["auth_url"].replace("://", f"://lab:{PLANTED}/x@y@")
        newcomer.variables["stackproof_cloud"] = entry


def utter(newcomer, chance):
    """Have the cloud repeat a secret in an answer to a request of some kind."""
    method, path = chance.choice(REQUESTS)
    usual, text = newcomer.cloud.answer, chance.choice(SECRETS).format(PLANTED)

    def answer(request):
        if request.method == method and re.search(path, request.path):
            body = {"error": {"message": f"{text}; {request.token}; {newcomer.cloud.password}"}}
            return chance.choice((400, 403, 409)), {"x-openstack-request-id": f"req-{request.token}"}, body
        return usual(request)

    newcomer.cloud.answer = answer


@pytest.mark.cases(2)
def test_no_secret_is_printed_or_written(cases, tmp_path):
    for number, chance in enumerate(cases):
        newcomer = Newcomer(tmp_path / str(number), chance.choice(CALLBACKS))
        newcomer.arguments.append(chance.choice(("-v", "-vvv")))
        newcomer.set_timeout("cleanup", 2)
        with newcomer.closing:
            given(newcomer, chance)
            if chance.random() < 0.7:
                utter(newcomer, chance)
            _status, output = newcomer.verify()
            secrets = [PLANTED, newcomer.cloud.password, *newcomer.cloud.tokens, *newcomer.cloud.old_tokens]
        for place in (output, newcomer.work):
            assert_no_defect(place)
            assert_no_secret(secrets, place)
