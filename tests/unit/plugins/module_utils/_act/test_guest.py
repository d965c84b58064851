# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The proof of a guest on its console, and the finding about what is missing.

recorded/consoles/probe.txt is the console of a probe guest that passed, udhcpc.txt what busybox really printed, and
cloud-init.txt what cloud-init's own table printer (cloudinit/simpletable.py) makes of such addresses. The lines of the
probe guest that fails are those of lab/docs/probe.md.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess

import pytest
from ansible_collections.stackproof.provision.plugins.module_utils._act import guest as guest_module
from ansible_collections.stackproof.provision.plugins.module_utils._model import codec
from ansible_collections.stackproof.provision.plugins.module_utils._model.details import GuestProof
from tree import LAB, RECORDED

CONSOLES = RECORDED / "consoles"
PROBE = (CONSOLES / "probe.txt").read_text()
SERVER = "f97fb71b-c28f-4a38-a813-f1cc5a5d9fc6"
WANTED = guest_module.Nonces(metadata="d0054cafbe63db80dba32b3a0e8e7597", user_data="d7e000ac00e03021ebfab67d973fc719")
DOCUMENTED = [
    line.strip().partition("  #")[0]
    for line in (LAB / "docs" / "probe.md").read_text().splitlines()
    if line.startswith("    probe")
]


# When a run began
STARTED = 1795244033.0


def documented(step, **fields):
    """The line that the probe guest's page shows for a step."""
    for line in DOCUMENTED:
        if line.startswith("probe: {") and json.loads(line[7:])["step"] == step:
            record = json.loads(line[7:])
            if all(record.get(name) == value for name, value in fields.items()):
                return line
    raise LookupError(step)


def until(word):
    """The recorded console up to and with the first line that holds a word."""
    lines = PROBE.splitlines(keepends=True)
    return "".join(lines[: next(number for number, line in enumerate(lines) if word in line) + 1])


def recorded_udhcpc():
    blocks = (block.partition("\n") for block in ("\n" + (CONSOLES / "udhcpc.txt").read_text()).split("\n$ ")[1:])
    return [(title, text) for title, _newline, text in blocks]


def read(console):
    return guest_module.read(console, WANTED)


def finding_of(console):
    seen = read(console)
    assert not guest_module.is_proved(seen)
    kind, message, hint = guest_module.finding(seen, SERVER, WANTED)
    assert hint == guest_module.HINTS[kind]
    return kind, message


def test_a_recorded_console_proves_both():
    seen = read(PROBE)
    assert guest_module.is_proved(seen)
    assert not guest_module.is_wrong(seen, SERVER, WANTED)
    assert seen.lease == "192.168.222.44"
    assert seen.uuid == SERVER
    assert [step.step for step in seen.steps] == [
        "kernel",
        "dhcp_start",
        "disks",
        "lease",
        "metadata",
        "user_data",
        "user_data_exit",
        "ready",
    ]
    assert codec.to_json(seen.steps[3]) == {
        "step": "lease",
        "uptime": json.loads(until('"lease"').splitlines()[-1].removeprefix("probe: "))["uptime"],
        "address": "192.168.222.44",
        "server": "192.168.222.2",
    }


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text.replace("\n", "\r\n"),
        lambda text: text.encode().decode("latin-1") + "\x1b[0m\0",
        lambda text: "[   12.3] random kernel line\n" + text,
        lambda text: re.sub("(?m)^probe-user-data: ", "[   14.2] cloud-init[812]: ", text),
        lambda text: text[len(text) // 3 :],  # consoles are kept in a ring
    ],
    ids=["carriage returns", "terminal codes", "other lines", "a prefix of cloud-init", "the end only"],
)
def test_a_console_with_other_things_in_it_proves_as_well(change):
    assert guest_module.is_proved(read(change(PROBE)))


def test_the_nonce_of_another_run_proves_nothing():
    other = guest_module.nonces("run-2", STARTED)
    seen = guest_module.read(PROBE, other)
    assert not seen.metadata
    assert not seen.user_data


@pytest.mark.parametrize(
    ("word", "progress"),
    [
        (None, "no console output"),
        ('"kernel"', "kernel"),
        ('"disks"', "disks"),
        ('"lease"', "lease of 192.168.222.44"),
        ('"metadata"', "metadata read"),
        ('"user_data"', "metadata read"),
        ("stackproof-guest", "both read"),
    ],
)
def test_progress_is_told_in_few_words(word, progress):
    assert guest_module.progress(read("" if word is None else until(word))) == progress


def test_progress_of_a_guest_that_tells_nothing_of_itself():
    assert (
        guest_module.progress(read("[    0.0] Linux version 6.1\n[    0.1] Command line: x\n"))
        == "2 lines on the console"
    )


def test_finding_nothing_on_the_console():
    assert finding_of("") == ("no_console", "its console shows nothing")


def test_finding_a_guest_that_only_booted():
    kind, message = finding_of("[    0.0] Linux version 6.1\nlogin:\n")
    assert kind == "no_proof"
    assert "2 lines" in message


@pytest.mark.parametrize("line", [documented("dhcp_start"), documented("no_lease")])
def test_finding_no_lease(line):
    assert finding_of(until('"kernel"') + line + "\n") == ("no_lease", "the guest asked for a lease and got none")


def test_finding_a_lease_and_no_metadata():
    assert finding_of(until('"lease"')) == (
        "no_metadata",
        "the guest has a lease of 192.168.222.44, but shows no metadata",
    )


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"http_status": 404}, "server returned error: HTTP/1.0 404 Not Found"),
        ({"http_status": None}, "timed out after 5 s"),
    ],
)
def test_finding_why_there_is_no_metadata(fields, reason):
    console = until('"lease"') + documented("no_metadata", **fields) + "\n"
    assert finding_of(console) == ("no_metadata", f"the guest got no metadata: {reason}")


def test_finding_metadata_without_user_data():
    console = until('"metadata"') + documented("no_user_data") + "\n"
    assert finding_of(console) == (
        "no_user_data",
        "the guest read its metadata, but did not run its user data: "
        "server returned error: HTTP/1.0 500 Internal Server Error",
    )
    assert finding_of(until('"metadata"')) == (
        "no_user_data",
        "the guest read its metadata, but did not run its user data",
    )


def test_finding_the_metadata_of_another_instance():
    other = "0b5a3a1e-7a39-4f9e-9d52-6d1f7b6c2a10"
    console = until('"lease"') + documented("metadata") + "\n"
    assert guest_module.is_wrong(read(console), SERVER, WANTED)
    assert finding_of(console) == (
        "wrong_metadata",
        f"the guest was given metadata that is not its own, that of {other}",
    )


def test_finding_the_nonce_of_another_run_in_the_metadata():
    console = until('"lease"') + 'stackproof-guest: {"uptime": 5.9, "user_data": "x", "metadata": "0123456789abcdef"}\n'
    assert guest_module.is_wrong(read(console), SERVER, WANTED)
    assert finding_of(console)[0] == "wrong_metadata"


def test_finding_user_data_without_metadata():
    console = (
        until('"lease"') + f'stackproof-guest: {{"uptime": 5, "user_data": "{WANTED.user_data}", "metadata": ""}}\n'
    )
    seen = read(console)
    assert not guest_module.is_wrong(seen, SERVER, WANTED)
    words = "the guest runs its user data, perhaps from a config drive, but gets no metadata"
    assert finding_of(console) == ("no_metadata", words)


def test_a_guest_that_was_late_is_not_held_against_its_first_attempts():
    console = until('"lease"') + documented("no_metadata") + "\n" + PROBE
    assert guest_module.is_proved(read(documented("no_lease") + "\n" + console))


def test_every_finding_has_a_hint():
    assert all(hint[0].isupper() and hint.endswith(".") for hint in guest_module.HINTS.values())


@pytest.mark.parametrize("line", [line for line in DOCUMENTED if line.startswith("probe: {")])
def test_every_documented_line_of_the_probe_is_a_step(line):
    seen = read(line)
    assert [step.step for step in seen.steps] == [json.loads(line[7:])["step"]]
    assert set(codec.to_json(seen.steps[0])) <= set(guest_module.PROBE_FIELDS)


@pytest.mark.parametrize(
    "line",
    [
        "probe: ",
        "probe: {",
        'probe: {"uptime": 1.0}',
        "probe: []",
        'probe: {"step": "metadata", "meta": null}',
        'probe: {"step": "metadata", "meta": "x"}',
        'probe: {"step": "metadata", "meta": []}',
        "stackproof-guest: {",
        'stackproof-guest: {"uptime": , "user_data": "", "metadata": ""}',
        "stackproof-guest: {}",
        "stackproof-guest: [1]",
        'stackproof-guest: {"uptime": 1} trailing {"a": 1}',
    ],
)
def test_a_line_that_is_cut_or_odd_does_no_harm(line):
    assert not guest_module.is_proved(read(line + "\n"))
    assert guest_module.is_proved(read(line + "\n" + PROBE))


def step_of(line):
    """The step of a line, without its name."""
    (step,) = codec.to_json(read(line))["steps"]
    assert step.pop("step") == "zzz"
    return step


@pytest.mark.parametrize(
    "uptime", ['"x"', "null", "[1]", "{}", "true", "NaN", "Infinity", "-1", "1e999", "1" + "0" * 400, "1e12"]
)
def test_an_uptime_that_is_no_time_is_left_out(uptime):
    assert step_of(f'probe: {{"step": "zzz", "uptime": {uptime}, "attempts": 2}}') == {"attempts": 2}


@pytest.mark.parametrize("step", ["7", "null", '["a"]', '{"a": 1}', '""', '" "', '"two words"', json.dumps("x" * 65)])
def test_a_step_whose_name_is_not_one_word_is_left_out(step):
    assert read(f'probe: {{"step": {step}, "uptime": 1.5}}').steps == ()


def test_only_the_fields_of_the_right_kind_are_kept():
    fields = {"attempts": "2", "http_status": [404], "address": 7, "size_bytes": 10**30, "serial": "s", "name": None}
    assert step_of("probe: " + json.dumps({"step": "zzz", "uptime": 1.5, **fields})) == {"uptime": 1.5, "serial": "s"}


def test_a_long_text_of_the_guest_is_cut():
    reason = "no answer " * 10_000
    seen = read("probe: " + json.dumps({"step": "no_metadata", "uptime": 1.5, "reason": reason}))
    assert seen.steps[0].reason == seen.no_metadata
    assert len(seen.no_metadata) <= guest_module.LONGEST_TEXT
    assert seen.no_metadata.startswith("no answer no answer")


def test_a_secret_on_the_console_is_masked():
    line = {"step": "no_metadata", "uptime": 1.5, "reason": "proxy says password=" + "planted-Tr0ub4dor3"}
    seen = read("probe: " + json.dumps(line))
    assert seen.steps[0].reason == seen.no_metadata == "proxy says password=***"


def test_a_flood_of_steps_is_bounded():
    seen = read(documented("no_lease") + "\n" + 'probe: {"step": "zzz", "uptime": 2}\n' * 5000)
    assert len(seen.steps) == guest_module.MOST_STEPS


@pytest.mark.parametrize("prefix", ["probe: ", "stackproof-guest: "])
def test_a_line_nested_too_deep_does_no_harm(prefix):
    line = prefix + '{"a":' * 200_000 + "1" + "}" * 200_000
    assert guest_module.is_proved(read(line + "\n" + PROBE))


def test_an_odd_line_about_metadata_does_not_replace_a_good_one():
    odd = 'probe: {"step": "metadata", "uuid": 7, "meta": {"stackproof_nonce": []}}'
    seen = read(PROBE + "\n" + odd)
    assert guest_module.is_proved(seen)
    assert (seen.uuid, seen.nonce) == (SERVER, WANTED.metadata)
    assert not guest_module.is_wrong(read(odd), SERVER, WANTED)


def test_the_proof_keeps_only_values_of_the_right_kind():
    seen = read('stackproof-guest: {"uptime": NaN, "user_data": [1], "metadata": {"a": 1}}')
    assert seen.own == GuestProof(uptime=None, user_data=None, metadata=None)


@pytest.mark.parametrize(("title", "text"), recorded_udhcpc(), ids=[title for title, _text in recorded_udhcpc()])
def test_what_busybox_prints_is_understood(title, text):
    seen = read(text)
    if title.endswith("no lease"):
        assert finding_of(text) == ("no_lease", "the guest asked for a lease and got none")
    else:
        assert seen.lease == re.search(r"lease of (\S+) obtained", text)[1]


def test_the_addresses_that_cloud_init_prints_are_understood():
    assert read((CONSOLES / "cloud-init.txt").read_text()).lease == "192.168.222.44"


def test_an_interface_that_is_down_has_no_lease():
    table = (CONSOLES / "cloud-init.txt").read_text().replace("|  True |", "| False |")
    assert read(table).lease is None


@pytest.mark.parametrize(
    ("line", "key", "value"),
    [
        # ISC DHCP 4.4, client/dhclient.c: "bound to %s -- renewal in %ld seconds.",
        # "DHCPDISCOVER on %s to %s port %d interval %ld", and two without values
        ("bound to 10.0.0.5 -- renewal in 1800 seconds.", "lease", "10.0.0.5"),
        ("DHCPDISCOVER on eth0 to 255.255.255.255 port 67 interval 3", "lease_request", True),
        ("No DHCPOFFERS received.", "no_lease", True),
        ("No working leases in persistent database - sleeping.", "no_lease", True),
        # cloud-init, cloudinit/url_helper.py: "Calling '%s' failed [%s/%s]: %s" of URL, seconds, their limit or
        # "unlimited", and "request error [%s]" or "unexpected error [%s]" or what an answer lacked
        (
            "Calling 'http://169.254.169.254/openstack' failed [51/120s]: request error [timed out]",
            "no_metadata",
            "request error [timed out]",
        ),
        (
            "Calling 'http://169.254.169.254/openstack' failed [0/unlimited]: bad status code [500]",
            "no_metadata",
            "bad status code [500]",
        ),
        # The lab's probe, and cloud-init, of a network with IPv6 alone
        (
            'probe: {"uptime": 12.0, "step": "address6", "interface": "eth0", "address": "fd57::5"}',
            "address6",
            "fd57::5",
        ),
        (
            "Calling 'http://[fe80::a9fe:a9fe%25ens3]/openstack' failed [2/-1s]: request error [timed out]",
            "no_metadata",
            "request error [timed out]",
        ),
        # busybox before 1.33, networking/udhcp/dhcpc.c: "sending %s" and "lease of %s obtained, lease time %u"
        ("udhcpc: sending discover", "lease_request", True),
        ("udhcpc: lease of 10.0.0.5 obtained, lease time 86400", "lease", "10.0.0.5"),
        # cirros, src/lib/cirros/ds/ec2: "failed to read iid from metadata. tried ${max}"
        ("failed to read iid from metadata. tried 20", "no_metadata", "failed to read iid from metadata"),
    ],
)
def test_what_other_programs_print_is_understood(line, key, value):
    assert codec.to_json(read(f"[   12.345678] prefix[1]: {line}\n"))[key] == value


@pytest.mark.parametrize(
    ("console", "fixed_ips", "same"),
    [
        (PROBE, ["192.168.222.44"], True),
        (PROBE, ["10.0.0.1", "192.168.222.44"], True),
        (PROBE, ["192.168.222.45"], False),
        (PROBE, [], False),
        ("login:", ["192.168.222.44"], None),
    ],
)
def test_the_lease_is_held_against_the_address_of_the_port(console, fixed_ips, same):
    assert guest_module.lease_matches(read(console), fixed_ips) is same


def test_nonces_are_the_same_for_a_run_and_of_no_other():
    first = guest_module.nonces("run-1", STARTED)
    assert first == guest_module.nonces("run-1", STARTED)
    assert all(re.fullmatch("[0-9a-f]{32}", word) for word in (first.metadata, first.user_data))
    others = [guest_module.nonces("run-2", STARTED), guest_module.nonces("run-1", STARTED + 1)]
    words = [word for nonces in (first, *others) for word in (nonces.metadata, nonces.user_data)]
    assert len(set(words)) == 6


DOCUMENT = {
    "uuid": SERVER,
    "meta": {"stackproof_run": "run-1", "stackproof_nonce": WANTED.metadata},
    "name": "stackproof-run-1-server",
    "devices": [],
}
SHELLS = {
    name: command
    for name, command in {"sh": ["sh"], "bash": ["bash"], "busybox": ["busybox", "sh"]}.items()
    if shutil.which(command[0])
}
# Busybox would rather use a wget of its own.
WITH_WGET = [name for name in SHELLS if "busybox" not in os.path.realpath(shutil.which(name))]


@pytest.fixture
def guest(tmp_path):
    """Return a function that runs the user data in a shell that has one of the programs, and gives its output."""

    def run(shell, program, document):
        tools = tmp_path / "bin"
        tools.mkdir()
        for tool in ("sed", "tr", "cat"):
            os.symlink(shutil.which(tool), tools / tool)
        if program:
            (tmp_path / "document").write_text(document)
            (tools / program).write_text(f"#!/bin/sh\ncat {tmp_path / 'document'}\n")
            (tools / program).chmod(0o755)
        script = tmp_path / "user-data"
        script.write_text(guest_module.user_data(WANTED.user_data))
        command = [shutil.which(SHELLS[shell][0]), *SHELLS[shell][1:], str(script)]
        done = subprocess.run(command, env={"PATH": str(tools)}, capture_output=True, text=True, check=True)
        return done.stdout

    return run


@pytest.mark.parametrize("indent", [None, 1], ids=["in one line", "in many lines"])
@pytest.mark.parametrize(
    ("shell", "program"), [*((name, "curl") for name in SHELLS), *((name, "wget") for name in WITH_WGET)]
)
def test_the_user_data_shows_what_the_guest_read(guest, shell, program, indent):
    seen = read(guest(shell, program, json.dumps(DOCUMENT, indent=indent)))
    assert guest_module.is_proved(seen)
    assert seen.own.uptime > 0


@pytest.mark.parametrize(
    ("shell", "program"), [*((name, "curl") for name in SHELLS), *((name, None) for name in WITH_WGET)]
)
def test_the_user_data_shows_that_there_was_no_metadata(guest, shell, program):
    seen = read(guest(shell, program, ""))
    assert (seen.user_data, seen.metadata) == (True, False)
    assert guest_module.finding(seen, SERVER, WANTED)[0] == "no_metadata"


def test_the_user_data_starts_as_a_script_and_fits_into_what_services_take():
    text = guest_module.user_data("0" * 32)
    assert text.startswith("#!/bin/sh\n")
    assert len(text) < 16384
    assert "@NONCE@" not in text
