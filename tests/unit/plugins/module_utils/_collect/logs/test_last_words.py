# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The last error of a service that does not stay up, in its log or in the journal."""

from __future__ import annotations

import json
import time

import pytest
from ansible_collections.stackproof.provision.plugins.module_utils._collect.logs import last_words, reader
from ansible_collections.stackproof.provision.plugins.module_utils._model.facts import ServiceUnit

LOG = "/var/log/neutron/neutron-server.log"
WRITERS = [
    {"service": "neutron-server", "files": ["/var/log/neutron/neutron-server.log"]},
    {"service": "nova-compute", "files": ["/var/log/nova/nova-compute.log"]},
]
ENDING = [
    "2026-11-26 12:00:01.100 7 INFO neutron.common.config [-] Logging enabled!",
    "2026-11-26 12:00:02.200 7 ERROR neutron.plugins.ml2.managers [-] No type driver for tenant network_type: vlan. "
    "Service terminated!",
    "2026-11-26 12:00:02.210 7 ERROR neutron.service [-] Unrecoverable error: please check log for details.: "
    "SystemExit: 1",
    "2026-11-26 12:00:02.211 7 ERROR neutron.service Traceback (most recent call last):",
    '2026-11-26 12:00:02.211 7 ERROR neutron.service   File "/usr/lib/python3/dist-packages/neutron/x.py", line 1',
    "2026-11-26 12:00:02.212 7 ERROR neutron.service SystemExit: 1",
]
NOTHING = {"journalctl": ""}


def unit(component="neutron-server", state="failed", restarts=0, name=None):
    return ServiceUnit(component, name or f"{component}.service", state, 3.0, None, restarts)


def in_file(*lines):
    """A log of the service, as find and tail print it."""
    return {"find": f"{time.time():.1f} {LOG}\n", "tail": f"==> {LOG} <==\n" + "\n".join(lines) + "\n"}


def in_journal(*messages):
    lines = [f"1795700000.{number:06} c1 neutron-server[7]: {text}" for number, text in enumerate(messages)]
    return {"journalctl": "\n".join(lines) + "\n"}


def read(replay, *units, **instead):
    host = replay(None, {"id -u": "1000", **instead})
    return last_words.read(host, units, WRITERS, 0.0), host


def quotes(replay, *units, **instead):
    events, host = read(replay, *units, **instead)
    assert host.unread == []
    return [(event.service, event.fields["logger"], event.fields["quote"]) for event in events]


def test_last_words_are_the_reason_and_not_the_farewell(replay):
    found = quotes(replay, unit(), **{**in_file(*ENDING), **NOTHING})
    text = "No type driver for tenant network_type: vlan. Service terminated!"
    assert found == [("neutron-server", "neutron.plugins.ml2.managers", text)]


def test_last_words_on_standard_error_are_in_the_journal(replay):
    trace = [
        "Traceback (most recent call last):",
        "  File x",
        "    raise y",
        "a.ConfigFileParseError: Failed to parse z",
    ]
    found = quotes(replay, unit(), find="", **in_journal(*trace, "SystemExit: 1"))
    assert found == [("neutron-server", "neutron-server", "a.ConfigFileParseError: Failed to parse z")]


@pytest.mark.parametrize(("at", "quote"), [(2000000000, "later error"), (1000000000, "No type driver")])
def test_later_of_both_counts(replay, at, quote):
    journal = {"journalctl": f"{at}.000000 c1 neutron-server[7]: later error\n"}
    ((_service, _logger, text),) = quotes(replay, unit(), **{**in_file(*ENDING), **journal})
    assert text.startswith(quote)


@pytest.mark.parametrize(
    ("state", "restarts", "is_asked"),
    [
        ("failed", 0, True),
        ("activating", 0, True),
        ("running", 3, True),
        ("running", 2, False),
        ("stopped", 0, False),
        ("frozen", 0, False),
    ],
)
def test_only_a_service_that_does_not_stay_up_is_asked_for(replay, state, restarts, is_asked):
    _events, host = read(replay, unit(state=state, restarts=restarts), find="", **NOTHING)
    assert bool(host.execute.asked) is is_asked


def test_of_very_many_services_only_the_first_are_asked_for(replay):
    _events, host = read(replay, *(unit(name=f"nova-{number}.service") for number in range(20)), find="", **NOTHING)
    assert sum("journalctl" in command for command in host.execute.asked) == last_words.MOST


def test_unit_with_a_strange_name_is_not_asked_for(replay):
    _events, host = read(replay, unit(name="a b.service"), find="")
    assert not any("journalctl" in command for command in host.execute.asked)


def test_secrets_in_last_words_are_masked(replay):
    found = quotes(replay, unit(), find="", **in_journal("error: mysql://nova:geheim1234@c1/nova refused"))
    assert "geheim" not in str(found)


def test_a_warning_is_none_of_them(replay):
    """As MariaDB writes it of any client, however it ends itself."""
    warning = "2026-12-01 10:33:25 149 [Warning] Aborted connection 149 to db: 'glance' (Got an error reading packets)"
    assert quotes(replay, unit(), find="", **in_journal(warning)) == []
    assert quotes(replay, unit(), find="", **in_journal(warning.replace("Warning", "ERROR"))) != []


def test_log_without_an_error_has_no_last_words(replay):
    assert quotes(replay, unit(), **{**in_file(ENDING[0], *ENDING[2:]), **in_journal("Exiting")}) == []


def test_logs_that_cannot_be_read_are_named(replay):
    events, host = read(replay, unit(), sudo=(1, "", "sudo: a password is required"))
    assert events == []
    whats = ["the last words in the logs", "the last words in the journal"]
    assert [(entry.what, entry.kind) for entry in host.unread] == [(what, "refused") for what in whats]


def test_last_words_are_events_of_errors(replay):
    events, _host = read(replay, unit(), **{**in_file(*ENDING), **NOTHING})
    logs = reader.with_events({"events": json.dumps([{"at": 1.0}]), "sources": []}, events)
    (_before, event) = reader.events_in(logs)
    assert (event["kind"], event["service"], event["keys"], event["how"]) == ("error", "neutron-server", {}, None)
