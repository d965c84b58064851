# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Each id of a new recording is called as the id that had its place in the old one."""

from __future__ import annotations

import uuid

import pytest
from recorder.names import Names, same_ids

NEW, OLD = ([str(uuid.UUID(int=number * 7**40)) for number in range(first, first + 9)] for first in (1, 50))
RUNS = ("20261202-120305-3f9a1c", "20261121-065105-bdb5f5")


def record(run, ids, polls):
    """A run that asks so many times how its server is."""
    network, server, post, port = ids[:4]
    calls = [{"method": "GET", "path": f"/servers/{server}", "request_id": f"req-{uuid.uuid4()}"}] * polls
    calls.append({"method": "POST", "path": "/servers", "request_id": f"req-{post}"})
    return {
        "run_id": run,
        "stages": [
            {"stage": "boot", "calls": calls, "resources": [{"kind": "server", "id": server}]},
            {"stage": "network", "calls": [], "resources": [{"kind": "network", "id": network}]},
        ],
        "instance": {"ports": [{"id": port, "mac": f"fa:16:3e:00:00:{ids[4][:2]}", "addresses": [f"10.0.0.{polls}"]}]},
    }


@pytest.fixture
def names():
    new, old = record(RUNS[0], NEW, 7), record(RUNS[1], OLD, 3)
    new["stages"].reverse()
    return Names.of(new, old)


def test_ids_have_their_places_whatever_lies_between(names):
    assert [names.text(identity) for identity in NEW[:4]] == OLD[:4]
    assert names.text(f"POST req-{NEW[2]}") == f"POST req-{OLD[2]}"
    assert names.text(f"stackproof-{RUNS[0]}-server") == f"stackproof-{RUNS[1]}-server"


def test_an_id_without_a_place_keeps_its_own(names):
    assert names.text(NEW[8]) == NEW[8]


def test_what_is_made_of_an_id_follows_it(names):
    assert names.text(f"tap{NEW[3][:11]} qvo{NEW[3][:11]}") == f"tap{OLD[3][:11]} qvo{OLD[3][:11]}"
    assert names.text(f'"serial": "{NEW[1][:20]}"') == f'"serial": "{OLD[1][:20]}"'
    assert names.text(NEW[1].replace("-", "")) == OLD[1].replace("-", "")
    assert names.text("host-10-0-0-7.openstacklocal") == "host-10-0-0-3.openstacklocal"


def test_the_other_direction_gives_the_new_ids_again(names):
    text = f"{NEW[0]} {NEW[1]} tap{NEW[3][:11]} {RUNS[0]}"
    assert names.back().text(names.text(text)) == text


def test_no_name_is_given_twice():
    names = Names([(NEW[0], OLD[0]), (NEW[1], OLD[0]), (NEW[0], OLD[1])])
    assert (names.text(NEW[0]), names.text(NEW[1])) == (OLD[0], NEW[1])


def test_texts_that_say_something_else_give_no_names():
    assert list(same_ids({"a": f"port {NEW[0]}"}, {"a": f"server {OLD[0]}"})) == []
    assert list(same_ids({"a": f"port {NEW[0]}"}, {"b": f"port {OLD[0]}"})) == []
    assert list(same_ids([f"port 7 {NEW[0]}"], [f"port 12 {OLD[0]}"])) == [(NEW[0], OLD[0])]


def test_ids_that_are_keys_have_their_places_too():
    assert list(same_ids({NEW[0]: {"id": NEW[1]}}, {OLD[0]: {"id": OLD[1]}})) == [(NEW[0], OLD[0]), (NEW[1], OLD[1])]


@pytest.mark.parametrize("text", ["1.2.3", "1.2.3.4.5", "fa:16:3e:00:00", "abc", "2026-12-02", "deadbeef"])
def test_what_looks_like_an_id_only_from_afar_is_none(text):
    assert list(same_ids([text], [text])) == []
