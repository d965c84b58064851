# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The rules for sudo: all that a run asks recorded hosts as root is allowed, and nothing that differs in a word."""

from __future__ import annotations

import ast
import io
import shutil
import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path

import as_json
import pytest
import sudo_rules
from ansible_collections.stackproof.provision.plugins.module_utils._collect import commands
from ansible_collections.stackproof.provision.plugins.module_utils._collect.chains import all_stores, obstacles, switch
from ansible_collections.stackproof.provision.plugins.module_utils._collect.examination import examine, peer_probes
from ansible_collections.stackproof.provision.plugins.module_utils._collect.hosts import all_facts, router
from ansible_collections.stackproof.provision.plugins.module_utils._collect.logs import last_words, reader
from ansible_collections.stackproof.provision.plugins.module_utils._match import flow, follow
from ansible_collections.stackproof.provision.plugins.module_utils._model.codec import from_json
from ansible_collections.stackproof.provision.plugins.module_utils._model.facts import ServiceUnit
from ansible_collections.stackproof.provision.plugins.module_utils._model.instance import DescribedInstance, GuestPath
from tree import FLOWS, RECORDED

SOURCES = Path(commands.__file__).parent
ROTATED = "/var/log/nova/nova-compute.log-20261121.gz"
# Which parts of the cloud were on the recorded hosts, and which rules such a host needs
HOSTS = {
    "compute2": ("compute", ["compute"]),
    "network1": ("network", ["network"]),
    "storage1": ("ceph", ["ceph"]),
    "controller1-ovn": ("ovn", ["ovn"]),
    "compute2-ovn": ("compute", ["compute"]),
}
# Which services were on the hosts that were examined
EXAMINED = {
    "examined-controller1": ["rabbitmq", "database", "nova-api", "keystone"],
    "examined-compute1": ["nova-compute", "libvirt", "neutron-l2-agent", "ovsdb", "ovn-controller"],
}
# Which services were on the hosts whose stores were read, and which rules they need
STORES = {
    "compute2-ovn-stores": ("examination", ["ovsdb", "ovn-controller", "libvirt"]),
    "controller1-ovn-stores": ("ovn", ["ovn-nb-db", "ovn-sb-db"]),
}
SINCE = 1795446300.25


class LogHost:
    """A host with every log that the platform knows, which says of none what is in it."""

    def __init__(self, services):
        self.asked = []
        files = [pattern.replace("*", "x") for service in services for pattern in service.get("files") or []]
        names = [name for service in services for name in service.get("journals") or []]
        self.said = {
            "find": "".join(f"1795272180.0 {path}\n" for path in [*files, ROTATED]),
            "journalctl": "".join(f"{name}\n" for name in names),
        }

    def __call__(self, words, take=None):
        words = words[2:] if words[0] == "timeout" else words
        self.asked.append(words)
        if words[0] != "sudo":
            return 0, {"id": "1000\n", "date": "+0530\n", "hostname": "10.71.16.11\n"}[words[0]], ""
        asked_for_entries = any(word.startswith("--since=") for word in words)
        if asked_for_entries:
            return 0, take(io.BytesIO()), ""
        return 0, self.said.get(words[2], ""), ""


def as_root(asked):
    return [words[2:] for words in asked if words[:2] == ["sudo", "-n"]]


@pytest.fixture
def log_commands(followed, platform):
    """What the logs of a host are asked as root, for the flows that the collection has."""
    wanted = follow.wanted(
        as_json.typed(followed.record), [flow.load(str(path)) for path in sorted(FLOWS.glob("*.yml"))]
    )
    execute = LogHost(platform()["logs"])
    host = commands.Host(execute)
    reader.read_packed(host, platform()["logs"], wanted | {"until": wanted["began"] + 60}, 0.0)
    assert host.unread == []
    return as_root(execute.asked)


@pytest.fixture
def asked_of(replay):
    """Return a function that gives what a recorded host is asked as root, while another function reads it."""

    def of(name, read, instead=None):
        host, asked, turn = replay(name, instead or {}), [], threading.Lock()
        answer = host.execute

        def execute(words, take):
            # An examination asks from several threads.
            with turn:
                asked.append(words[2:] if words[0] == "timeout" else words)
                return answer(words, take)

        host.execute = execute
        read(name, host)
        assert host.unread == []
        return as_root(asked)

    return of


@pytest.fixture
def read_facts(instance, instance_in_ovn, platform):
    """Return a function that reads the facts of a host with a name about an instance."""

    def read(name, host):
        all_facts.read(host, [HOSTS[name][0]], instance_in_ovn if "ovn" in name else instance, platform())

    return read


@pytest.fixture
def look_again(monkeypatch):
    """Return a function that examines a host with a name. Its peers are not here, so they are not asked."""
    monkeypatch.setattr(peer_probes, "probes", lambda _peers: ())
    question = examine.Question(salt="x", since=SINCE)
    ending = {"examined-controller1": [ServiceUnit("nova-conductor", "nova-conductor.service", "failed", 1.0, None, 9)]}

    def look(name, host):
        examine.examine(host, set(EXAMINED[name]), [], question)
        # Their files are asked for as all logs are.
        last_words.read(host, ending.get(name, []), [], 0.0)

    return look


@pytest.fixture
def read_stores(instance_in_ovn):
    """Return a function that reads the stores of a host with a name."""

    def read(name, host):
        all_stores.read(host, set(STORES[name][1]), from_json(DescribedInstance, instance_in_ovn))

    return read


@pytest.fixture
def read_lost_ipv6(instance_in_ovn):
    """Return a function that reads the stores for what was lost over IPv6: the recorded runs have lost nothing."""
    instance = from_json(DescribedInstance, instance_in_ovn)
    port, network = replace(instance.ports[0], addresses=("fd00::9",)), instance.networks[0]
    path = GuestPath("ping6", port, network, replace(port, id="other", addresses=("fd00::12",)), network)

    def read(name, host):
        paths = (path, replace(path, check="open", port=22))
        all_stores.read(host, set(STORES[name][1]), replace(instance, paths=paths))

    return read


def read_router(_name, host):
    """A router with a floating IP, and what is in its way: the recorded instance has none."""
    names = host.ask(None, "ls", "/run/netns", root=False).split()
    routers = [name.removeprefix("qrouter-") for name in names if name.startswith("qrouter-")]
    router.read(host, routers)
    networks = [as_json.network(id=name.removeprefix("qdhcp-"), routers=routers) for name in names if "qdhcp" in name]
    obstacles.read(host, from_json(DescribedInstance, as_json.instance(networks=networks)))


def read_sessions(_name, host):
    """What only a gateway of OVN is asked: the recorded hosts are none."""
    switch.sessions_of(host)


@pytest.fixture
def asked(asked_of, read_facts, look_again, read_stores, read_lost_ipv6, log_commands):
    """(rules that a host needs, command) of all that is asked as root."""
    commands = [("logs", words) for words in log_commands]
    for name, (_parts, (part,)) in HOSTS.items():
        commands += [(part, words) for words in asked_of(name, read_facts)]
    filtered = (RECORDED / "commands/iptables-save.txt").read_text()
    in_namespaces = {"iptables-save": filtered, "ip6tables-save": filtered, "ip_forward": "1\n"}
    commands += [("network", words) for words in asked_of("network1-router", read_router, in_namespaces)]
    for name in EXAMINED:
        commands += [("examination", words) for words in asked_of(name, look_again)]
    for name, (part, _services) in STORES.items():
        commands += [(part, words) for words in asked_of(name, read_stores)]
        traced = {word: (RECORDED / f"commands/{word}-trace.txt").read_text() for word in ("ofproto", "ovn")}
        lost = dict.fromkeys(("icmp6,", "tcp6,"), traced["ofproto"])
        lost.update(dict.fromkeys(("icmp6.type", "tcp.dst == 22"), traced["ovn"]))
        commands += [(part, words) for words in asked_of(name, read_lost_ipv6, lost)]
    sessions = (RECORDED / "commands/bfd-up.json").read_text()
    commands += [("examination", words) for words in asked_of("compute2-ovn-stores", read_sessions, {"bfd": sessions})]
    return commands


def test_all_that_is_asked_as_root_is_allowed(asked):
    assert {part for part, _words in asked} == set(sudo_rules.PARTS)
    assert [(part, " ".join(words)) for part, words in asked if not sudo_rules.rules(part).allow(words)] == []


def test_every_rule_is_needed(asked):
    """A rule that nothing asks for would only be a way in."""
    for part in sudo_rules.PARTS:
        commands = [words for rules, words in asked if rules == part]
        for path, pattern in sudo_rules.rules(part).commands:
            used = [words for words in commands if path.endswith(f"/{words[0]}")]
            assert any(pattern.fullmatch(" ".join(words[1:])) for words in used), f"{part}: {path} {pattern.pattern}"


def place_of(path, function):
    return str(Path(path).relative_to(SOURCES)), function


def places_that_ask_as_root():
    """(module, function) of each place in the code that asks a host as root."""
    places = set()
    for path in SOURCES.rglob("*.py"):
        for function in [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.FunctionDef)]:
            for call in [node for node in ast.walk(function) if isinstance(node, ast.Call)]:
                asks = isinstance(call.func, ast.Attribute) and call.func.attr == "ask"
                if asks and getattr(call.func.value, "id", None) == "host":
                    root = next((keyword.value.value for keyword in call.keywords if keyword.arg == "root"), True)
                    places |= {place_of(path, function.name)} if root else set()
    return places


def test_places_are_found_in_all_folders():
    places = places_that_ask_as_root()
    assert {("hosts/ceph.py", "user_of"), ("examination/machine.py", "kernel")} < places
    assert ("examination/machine.py", "memory") not in places


def test_no_place_that_asks_as_root_is_left_out(monkeypatch, request):
    seen, ask = set(), commands.Host.ask

    def watched(self, *words, root=True, **more):
        code = sys._getframe(1).f_code
        if root:
            seen.add(place_of(code.co_filename, code.co_name))
        return ask(self, *words, root=root, **more)

    monkeypatch.setattr(commands.Host, "ask", watched)
    request.getfixturevalue("asked")
    # Who may ask an engine of containers is as good as root: there are no rules for platforms that have one.
    assert seen | {("hosts/containers.py", "read")} == places_that_ask_as_root()


@pytest.mark.parametrize("words", sudo_rules.dangerous(), ids=" ".join)
def test_what_would_give_away_more_is_refused(words):
    assert [part for part in sudo_rules.PARTS if sudo_rules.rules(part).allow(words)] == []


@pytest.mark.parametrize("more", ["/etc/shadow", "../x", "-f", "--help", "-exec", ";", "--"])
def test_no_command_may_have_a_word_more_or_another_one(asked, more):
    for part, words in asked:
        rules = sudo_rules.rules(part)
        for place in range(1, len(words) + 1):
            assert not rules.allow([*words[:place], more, *words[place:]]), (words, place)
            if place < len(words) and words[place] != more:
                assert not rules.allow([*words[:place], more, *words[place + 1 :]]), (words, place)


def test_no_path_leads_out(asked):
    """Of what is only looked for in a file, anything may be said."""
    for part, words in asked:
        rules = sudo_rules.rules(part)
        for place, word in enumerate(words):
            for at in [at for at, letter in enumerate(word) if letter == "/" and not word.startswith("--regexp=")]:
                for turn in ("/..", "/../x", "/x/.."):
                    bad = word[:at] + turn + word[at:]
                    assert not rules.allow([*words[:place], bad, *words[place + 1 :]]), bad


def test_only_a_word_that_is_named_in_the_code_can_be_a_file(log_commands):
    """sudo sees all words as one text; so what may be anything has its option in the same word, and no blank."""
    greps = [words for words in log_commands if words[0] == "grep"]
    assert {word for words in greps for word in words if word.startswith("--regexp=") and " " in word} == set()
    assert len(greps) == 2
    for words in greps:
        free = words[words.index("--max-count=20000") + 2 : words.index("--")]
        assert free
        assert all(word.startswith("--regexp=") for word in free)


def test_the_rules_are_well_formed(tmp_path):
    """By sudo's own program, where it is installed; on the lab it is."""
    visudo = shutil.which("visudo", path="/usr/sbin:/usr/bin:/sbin")
    if not visudo:
        pytest.skip("there is no visudo here: the tests of the lab have one")
    for part in sudo_rules.PARTS:
        path = tmp_path / part
        path.write_text((sudo_rules.FOLDER / part).read_text())
        path.chmod(0o440)
        done = subprocess.run([visudo, "-c", "-f", str(path)], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(
    "text",
    [
        "stackproof ALL=(ALL) NOPASSWD: ALL\n",
        "Cmnd_Alias STACKPROOF_LOGS = /usr/bin/cat\nDefaults!STACKPROOF_LOGS env_reset\n"
        "stackproof ALL=(root) NOPASSWD: NOSETENV: STACKPROOF_LOGS\n",
        "Cmnd_Alias STACKPROOF_LOGS = /usr/bin/cat ^/a$\nstackproof ALL=(root) NOPASSWD: SETENV: STACKPROOF_LOGS\n",
    ],
)
def test_rules_of_another_form_are_not_taken_for_good(text):
    with pytest.raises((AssertionError, AttributeError, ValueError)):
        sudo_rules.Rules(text)
