# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A run on a lab with OVN, what the logs of its hosts have of it, and what two of them print about its instance.

Its ids and times are those of the run: the tests take them from the recording.
"""

from __future__ import annotations

import shlex

from ansible_collections.stackproof.provision.plugins.module_utils._collect.chains import all_stores
from ansible_collections.stackproof.provision.plugins.module_utils._collect.commands import Host
from ansible_collections.stackproof.provision.plugins.module_utils._collect.hosts import all_facts, profiles
from ansible_collections.stackproof.provision.plugins.module_utils._model.codec import from_json
from ansible_collections.stackproof.provision.plugins.module_utils._model.instance import DescribedInstance
from lab_under_test import GROUPS, lab_host
from runs_under_test import play

from recorder.followed import ADMIN, HOST, logs_of
from recorder.making import WHOLE, lines, pretty
from recorder.thinning import as_the_run_read, before_it_was_followed, fewer_messages, fewer_polls, rows

PLATFORM = profiles.profile_of("packages")


def ovn(making):
    making.forget_tokens()
    with making.only_on(HOST):
        outcome = making.run("ovn", *WHOLE, **ADMIN, floating_ip=True, tcp_port=80, keep="always")
    try:
        record = outcome.record
        masked = making.rewriting(record, record)
        making.write("ovn/run.json", pretty(masked(before_it_was_followed(fewer_polls(record)))))
        logs = fewer_messages(as_the_run_read(record, logs_of(making, outcome.directory)))
        making.write("ovn/logs.jsonl", lines(masked(rows(logs)), sort_keys=True, separators=(",", ":")))
        for host, part in ((GROUPS["controller"][0], "ovn"), (HOST, "compute")):
            making.write(f"hosts/{host}-ovn.jsonl", lines(masked(answers_of(host, part, record["instance"]))))
            making.write(f"hosts/{host}-ovn-stores.jsonl", lines(masked(stores_of(host, record))))
    finally:
        status, output = play("cleanup", cloud="lab", run_dir=outcome.directory)
        assert status == 0, output


def answers_of(name, part, instance):
    """Each command that a host with this part of the cloud is asked about the instance, with its answer."""
    return asked_of(name, lambda host: all_facts.read(host, [part], instance, PLATFORM))


def stores_of(name, record):
    """Each command that a host is asked about its stores after a failed stage, with its answer."""
    instance = from_json(DescribedInstance, record["instance"])
    facts = next(host["facts"] for host in record["hosts"] if host["host"] == name)
    components = {service["component"] for service in facts["services"]}
    return asked_of(name, lambda host: all_stores.read(host, components, instance))


def asked_of(name, read):
    answers, host = [], lab_host(name)

    def execute(words, _take):
        done = host.run(shlex.join(["env", "LC_ALL=C", *words]))
        # The time that a command may take is no part of a recording.
        asked = words[2:] if words[0] == "timeout" else words
        answers.append({"words": asked, "status": done.rc, "out": done.stdout, "errors": done.stderr})
        return done.rc, done.stdout, done.stderr

    read(Host(execute))
    return answers
