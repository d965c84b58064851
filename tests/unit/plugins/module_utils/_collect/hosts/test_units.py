# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A cloud's services by systemd, on recorded hosts and on units that are not as they should be."""

from __future__ import annotations

import subprocess
import time

import pytest
from ansible_collections.stackproof.provision.plugins.module_utils._collect import commands
from ansible_collections.stackproof.provision.plugins.module_utils._collect.hosts import units
from ansible_collections.stackproof.provision.plugins.module_utils._model.codec import to_json
from recorded_hosts import UNITS

NOVA = [{"component": "nova-compute", "units": ["nova-compute.service", "openstack-nova-compute.service"]}]
OSD = [{"component": "ceph-osd", "units": ["ceph-osd@*.service"]}]
# The properties of a unit that is well
WELL = {
    "Id": "nova-compute.service",
    "LoadState": "loaded",
    "ActiveState": "active",
    "SubState": "running",
    "UnitFileState": "enabled",
    "FreezerState": "running",
    "ExecMainStatus": "0",
    "NRestarts": "0",
    "StateChangeTimestampMonotonic": "48301882809",
    "ActiveEnterTimestampMonotonic": "48301882809",
}
# The time by the clock of the host
NOW = 1_800_000_000.0
NEVER = {"StateChangeTimestampMonotonic": 0, "ActiveEnterTimestampMonotonic": 0}


def block(**more):
    return "".join(f"{name}={value}\n" for name, value in {**WELL, **more}.items())


def read_units(host, services):
    return to_json(units.read(host, services))


@pytest.fixture
def read(replay):
    """Return a function that reads the services of a host by what its commands print."""

    def of(show, services=None, ps="nova-compute.service Ssl\n", uptime="50786.75 48170.21\n"):
        answers = {"systemctl": show, "ps": ps, "uptime": uptime}
        host = replay(None, answers)
        host.clock = lambda: NOW
        return read_units(host, NOVA if services is None else services)

    return of


@pytest.mark.parametrize(
    ("name", "components"),
    [
        ("compute1", {"nova-compute", "neutron-l2-agent", "ovsdb", "libvirt"}),
        (
            "network1",
            {"neutron-dhcp-agent", "neutron-l3-agent", "neutron-l2-agent", "neutron-metadata-agent", "ovsdb"},
        ),
        ("storage1", {"ceph-mon", "ceph-osd", "ceph-rgw"}),
    ],
)
def test_a_recorded_host_has_its_services_and_not_those_that_are_masked(replay, platform, name, components):
    services = read_units(replay(name), platform()["units"])
    assert {service["component"] for service in services} == components
    assert {service["state"] for service in services} == {"running"}
    up = float(UNITS[name]["uptime"].split()[0])
    assert all(service["restarts"] == 0 and 0 < service["for_s"] < up for service in services)
    began = {service["since"] + service["for_s"] for service in services}
    assert all(abs(time.time() - moment) < 60 for moment in began)


def test_a_recorded_controller_names_no_unit_twice(replay, platform):
    services = read_units(replay("controller1"), platform()["units"])
    names = [service["unit"] for service in services]
    # mysql.service is another name of mariadb.service.
    assert names == sorted(set(names))
    assert [service["unit"] for service in services if service["component"] == "database"] == ["mariadb.service"]
    assert [service["unit"] for service in services if service["component"] == "neutron-server"] == [
        "neutron-api.service",
        "neutron-rpc-server.service",
    ]


def test_a_service_says_its_unit_its_state_and_for_how_long(read):
    (service,) = read(block(NRestarts=3))
    assert service == {
        "component": "nova-compute",
        "unit": "nova-compute.service",
        "state": "running",
        "for_s": 2484.9,
        "since": 1_799_997_515.1,
        "restarts": 3,
    }


def test_a_unit_that_never_changed_has_no_time(read):
    assert read(block(**NEVER))[0]["since"] is None
    assert read(block(**dict.fromkeys(NEVER, "")))[0]["for_s"] is None


def test_a_service_that_was_reloaded_has_run_since_its_start(read):
    # As systemd has it of ssh.service, which was reloaded 18 min after its start
    reloaded = block(StateChangeTimestampMonotonic=1391628793, ActiveEnterTimestampMonotonic=316405234)
    (service,) = read(reloaded, uptime="1400.00 1000.00\n")
    assert service["for_s"] == 1083.6


def test_a_service_that_failed_has_failed_since_then(read):
    failed = block(ActiveState="failed", SubState="failed", ActiveEnterTimestampMonotonic=316405234)
    (service,) = read(failed)
    assert (service["state"], service["for_s"]) == ("failed", 2484.9)


def test_a_container_that_counts_from_its_own_start_has_no_times(read):
    (service,) = read(block(NRestarts=1), uptime="86.75 48.21\n")
    assert (service["state"], service["since"], service["for_s"]) == ("running", None, None)


def test_without_units_nothing_is_asked(replay):
    host = replay(None)
    assert read_units(host, []) == []
    assert read_units(host, [{"component": "x", "units": []}]) == []
    assert host.execute.asked == []


def test_systemd_is_asked_once_and_without_sudo(replay, platform):
    host = replay("compute1")
    read_units(host, platform()["units"])
    assert [command.split()[0] for command in host.execute.asked] == ["systemctl", "ps", "cat"]


STATES = [
    ({}, "running"),
    ({"ActiveState": "reloading", "SubState": "reload"}, "running"),
    ({"ActiveState": "inactive", "SubState": "dead"}, "stopped"),
    ({"ActiveState": "inactive", "SubState": "dead", "UnitFileState": "enabled-runtime"}, "stopped"),
    ({"ActiveState": "inactive", "SubState": "dead", "UnitFileState": "generated"}, "stopped"),
    ({"ActiveState": "failed", "SubState": "failed"}, "failed"),
    ({"ActiveState": "failed", "SubState": "failed", "UnitFileState": "disabled"}, "failed"),
    ({"ActiveState": "activating", "SubState": "auto-restart"}, "failed"),
    ({"ActiveState": "activating", "SubState": "auto-restart-queued"}, "failed"),
    ({"ActiveState": "activating", "SubState": "start"}, "activating"),
    ({"ActiveState": "deactivating", "SubState": "stop-sigterm"}, "deactivating"),
    ({"FreezerState": "frozen"}, "frozen"),
    ({"FreezerState": "frozen-by-parent"}, "frozen"),
    ({"FreezerState": "freezing"}, "running"),
    # Started by another unit, as Open vSwitch is, and stopped since
    ({"ActiveState": "inactive", "SubState": "dead", "UnitFileState": "static"}, "stopped"),
    (
        {
            "ActiveState": "inactive",
            "SubState": "dead",
            "UnitFileState": "static",
            "StateChangeTimestampMonotonic": "0",
        },
        None,
    ),
    ({"LoadState": "not-found", "ActiveState": "inactive"}, None),
    ({"LoadState": "masked", "ActiveState": "inactive", "UnitFileState": "masked"}, None),
    ({"LoadState": "masked", "ActiveState": "inactive", "UnitFileState": "masked-runtime"}, "stopped"),
    ({"LoadState": "masked", "ActiveState": "failed", "UnitFileState": "masked"}, None),
    ({"LoadState": "error", "ActiveState": "inactive"}, None),
    ({"ActiveState": "inactive", "UnitFileState": "disabled"}, None),
    ({"ActiveState": "inactive", "UnitFileState": "indirect"}, None),
    ({"ActiveState": "inactive", "UnitFileState": ""}, None),
]


@pytest.mark.parametrize(("more", "state"), STATES)
def test_the_state_of_a_unit(read, more, state):
    assert [service["state"] for service in read(block(**more))] == ([state] if state else [])


@pytest.mark.parametrize(
    ("word", "result"),
    [("oom-kill", "oom-kill"), ("signal", "signal"), ("exit-code", None), ("success", None), ("", None)],
)
def test_how_a_unit_has_ended_is_kept_if_that_was_not_by_itself(read, word, result):
    (service,) = read(block(ActiveState="failed", SubState="failed", Result=word))
    assert service.get("result") == result


# Units that sockets start when they are needed

SOCKETS = "nova-compute-ro.socket nova-compute.socket"
INACTIVE = {"ActiveState": "inactive", "SubState": "dead", "TriggeredBy": SOCKETS}


@pytest.fixture
def read_with_sockets(replay):
    """Return a function that reads the services of a host, and the commands, by a unit and how its sockets are."""

    def of(unit, *states):
        sockets = "\n".join(block(Id=name, ActiveState=state) for name, state in zip(SOCKETS.split(), states))
        host = replay(None, {".socket": sockets, "systemctl": block(**unit), "ps": "", "uptime": "50786.75 1.0"})
        return read_units(host, NOVA), host.execute.asked

    return of


@pytest.mark.parametrize(
    ("sockets", "more", "state"),
    [
        (["inactive", "active"], {}, units.ON_DEMAND),
        (["active", "active"], {}, units.ON_DEMAND),
        # The socket alone is enabled.
        (["inactive", "active"], {"UnitFileState": "disabled"}, units.ON_DEMAND),
        (["inactive", "active"], {"UnitFileState": "static", "StateChangeTimestampMonotonic": "0"}, units.ON_DEMAND),
        # Somebody has stopped the sockets, too.
        (["inactive", "inactive"], {}, "stopped"),
        (["failed", "inactive"], {}, "stopped"),
        ([], {}, "stopped"),
        (["inactive", "inactive"], {"UnitFileState": "disabled"}, None),
        (["active", "active"], {"LoadState": "masked"}, None),
    ],
)
def test_a_unit_that_is_inactive_waits_for_its_sockets_if_one_of_them_is_active(
    read_with_sockets, sockets, more, state
):
    services, _asked = read_with_sockets({**INACTIVE, **more}, *sockets)
    assert [service["state"] for service in services] == ([state] if state else [])


@pytest.mark.parametrize(
    ("more", "state"),
    [
        ({}, "running"),
        ({"ActiveState": "failed", "SubState": "failed"}, "failed"),
        ({"ActiveState": "activating", "SubState": "start"}, "activating"),
        ({"FreezerState": "frozen"}, "frozen"),
    ],
)
def test_a_unit_that_is_not_inactive_waits_for_no_socket(read_with_sockets, more, state):
    (service,), asked = read_with_sockets({"TriggeredBy": SOCKETS, **more}, "active", "active")
    assert service["state"] == state
    assert not [command for command in asked if ".socket" in command]


@pytest.mark.parametrize(("triggers", "questions"), [(SOCKETS, 2), ("", 1)])
def test_systemd_is_asked_for_sockets_once_and_only_if_there_are_some(read_with_sockets, triggers, questions):
    _services, asked = read_with_sockets({**INACTIVE, "TriggeredBy": triggers}, "active", "active")
    shown = [command for command in asked if command.startswith("systemctl show ")]
    assert len(shown) == questions
    assert shown[-1].endswith(f" -- {triggers or ' '.join(NOVA[0]['units'])}")


def test_a_socket_starts_its_own_unit_and_none_that_has_failed(replay):
    shown = [
        block(Id="ceph-osd@0.service", **{**INACTIVE, "TriggeredBy": "a.socket"}),
        block(Id="ceph-osd@1.service", **{**INACTIVE, "TriggeredBy": "b.socket"}),
        block(Id="ceph-osd@2.service", ActiveState="failed", SubState="failed", TriggeredBy="a.socket"),
    ]
    sockets = [block(Id="a.socket"), block(Id="b.socket", ActiveState="inactive")]
    answers = {".socket": "\n".join(sockets), "systemctl": "\n".join(shown), "ps": "", "uptime": "50786.75 1.0"}
    states = [service["state"] for service in read_units(replay(None, answers), OSD)]
    assert states == [units.ON_DEMAND, "stopped", "failed"]


def test_a_unit_of_which_nothing_is_known_is_no_service():
    assert units.state_of({}, []) is None


@pytest.mark.parametrize(
    ("ps", "state"),
    [
        ("nova-compute.service Tsl\n", "frozen"),
        # Its oldest process, or most of them
        ("nova-compute.service            Tsl\nnova-compute.service            S\n", "frozen"),
        ("nova-compute.service Ssl\nnova-compute.service T\nnova-compute.service T\n", "frozen"),
        # On the lab a sudo of an agent stopped itself, and what it had begun went on.
        ("nova-compute.service            Ssl\nnova-compute.service            T\n", "running"),
        # A debugger holds it, a disk keeps it waiting, or it is another unit's.
        ("nova-compute.service tsl\n", "running"),
        ("nova-compute.service Ds\n", "running"),
        ("other.service T\n- I\n", "running"),
        ("", "running"),
    ],
)
def test_a_signal_that_stopped_its_processes_freezes_a_unit(read, ps, state):
    assert read(block(), ps=ps)[0]["state"] == state


def test_states_of_processes_are_by_unit(replay):
    output = "ceph-osd@0.service              Ssl\n-                               I\nceph-osd@0.service T+\n\n"
    assert units.process_states(replay(None, {"ps": output})) == {
        "ceph-osd@0.service": ["S", "T"],
        "-": ["I"],
        "": [""],
    }


def test_a_unit_of_a_template_is_known_by_its_pattern(read):
    show = "\n".join(block(Id=f"ceph-osd@{number}.service") for number in (10, 2))
    services = read(show, OSD, ps="ceph-osd@2.service T\n")
    assert [(service["unit"], service["component"], service["state"]) for service in services] == [
        ("ceph-osd@10.service", "ceph-osd", "running"),
        ("ceph-osd@2.service", "ceph-osd", "frozen"),
    ]


def test_a_pattern_that_nothing_matches_has_no_services(read):
    assert read("", OSD) == []
    assert read("\n", OSD) == []


@pytest.mark.parametrize("unit", ["someone-elses.service", "nova-compute", "nova-compute.service.d"])
def test_a_unit_that_is_nobodys_is_passed_over(read, unit):
    assert units.component_of(unit, NOVA) is None
    assert read(block(Id=unit)) == []


def test_a_unit_of_a_template_that_is_stopped_is_told(replay):
    stopped = block(Id="ceph-osd@0.service", ActiveState="inactive", SubState="dead")
    host = replay(None, {"systemctl": stopped, "ps": "", "uptime": "1.0 1.0"})
    assert [(service["unit"], service["state"]) for service in read_units(host, OSD)] == [
        ("ceph-osd@0.service", "stopped")
    ]
    # Without this option systemctl leaves out what is stopped where it is asked with a pattern.
    assert " --all " in host.execute.asked[0]


def test_values_may_hold_what_separates_them():
    assert units.parsed("Id=a.service\nX=b=c\nnonsense\n\n\n\nId=d.service\n") == [
        {"Id": "a.service", "X": "b=c"},
        {"Id": "d.service"},
    ]


def test_systemd_of_an_old_host_has_no_freezer(read):
    old = "".join(line for line in block().splitlines(keepends=True) if "Freezer" not in line and "NRest" not in line)
    assert read(old)[0] == {**read(block())[0], "restarts": 0}


@pytest.mark.parametrize(
    ("part", "answer", "kind"),
    [
        ("systemctl", (127, "", "systemctl: not found"), "missing"),
        ("systemctl", (1, "", "Failed to connect to bus: Host is down"), "failed"),
        ("systemctl", (124, "", ""), "hung"),
        ("systemctl", "LoadState=loaded\n", "strange"),
        ("ps", (1, "", "ps: unknown"), "failed"),
        ("uptime", "soon\n", "strange"),
        ("uptime", "", "strange"),
    ],
)
def test_what_cannot_be_read_is_said(replay, part, answer, kind):
    answers = {"systemctl": block(), "ps": "", "uptime": "1 1", part: answer}
    host = replay(None, answers)
    assert host.attempt("the host's services", units.read, NOVA, default=[]) == []
    assert [(entry.what, entry.kind) for entry in host.unread] == [("the host's services", kind)]


def test_real_commands_are_asked_with_their_words(tmp_path):
    for name, output in {"systemctl": block(), "ps": "nova-compute.service T", "cat": "50000.0 1.0"}.items():
        (tmp_path / name).write_text(f"#!/bin/sh\nprintf '%s' '{output}'\n")
        (tmp_path / name).chmod(0o755)
    asked = []

    def execute(words, _take):
        asked.append(words)
        done = subprocess.run([tmp_path / words[2], *words[3:]], capture_output=True, text=True, check=False)
        return done.returncode, done.stdout, done.stderr

    assert read_units(commands.Host(execute), NOVA)[0]["state"] == "frozen"
    assert asked[0][3:] == ["show", "--all", f"--property={','.join(units.PROPERTIES)}", "--", *NOVA[0]["units"]]
