# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Commands on a host, and what is made of those that do not say what they should."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest
from ansible_collections.stackproof.provision.plugins.module_utils._collect.commands import Host, UnreadError, processes
from ansible_collections.stackproof.provision.plugins.module_utils._model.codec import to_json

SUDO = {"id -u": "1000\n"}


def asking(host, *words, part=None, **more):
    with pytest.raises(UnreadError) as caught:
        host.ask(part, *words, **more)
    return caught.value


def test_a_command_that_needs_root_gets_sudo_once_it_is_known_who_asks(replay):
    host = replay(None, {**SUDO, "ls": "a\n"})
    assert [host.ask(None, "ls"), host.ask(None, "ls", root=False), host.ask(None, "ls")] == ["a\n"] * 3
    assert host.execute.asked == ["id -u", "sudo -n ls", "ls", "sudo -n ls"]


def test_root_needs_no_sudo(replay):
    host = replay(None, {"id -u": "0\n", "ls": "a\n"})
    host.ask(None, "ls")
    assert host.execute.asked == ["id -u", "ls"]


def test_a_command_in_a_container_gets_its_words_and_root(replay):
    host = replay(None, {**SUDO, "ls": "a\n"}, {"ovs": ["docker", "exec", "switch"], "dhcp": None})
    host.ask("ovs", "ls", root=False)
    host.ask("dhcp", "ls", root=False)
    assert host.execute.asked == ["id -u", "sudo -n docker exec switch ls", "ls"]


@pytest.mark.parametrize("errors", ["find: '/a': No such file\nfind: '/b': No such file\n", ""])
def test_what_a_command_printed_counts_despite_errors_that_may_be(replay, errors):
    host = replay(None, {**SUDO, "find": (1 if errors else 0, "a\n", errors)})
    assert host.ask(None, "find", despite="No such file") == "a\n"


@pytest.mark.parametrize("errors", ["find: '/a': No such file\nfind: '/b': Permission denied\n", "", "\n"])
def test_it_does_not_count_with_other_errors_or_none(replay, errors):
    host = replay(None, {**SUDO, "find": (1, "a\n", errors)})
    assert asking(host, "find", despite="No such file").kind == "failed"


@pytest.mark.parametrize(
    "output",
    [
        "sudo: a password is required",
        "sudo: a terminal is required to read the password; either use ssh's -t option or configure an askpass helper",
        "sudo: sorry, you must have a tty to run sudo",
        "stack is not in the sudoers file.",
        "Sorry, user stack is not allowed to execute '/usr/bin/ls' as root on compute1.",
        "Sorry, user stack may not run sudo on compute1.",
        "Missing sudo password",
    ],
)
def test_sudo_that_refuses_is_told_from_a_command_that_fails(replay, output):
    error = asking(replay(None, {**SUDO, "ls": (1, "", output + "\n")}), "ls", "/etc")
    assert (error.kind, error.command, error.output) == ("refused", "sudo -n ls /etc", output)
    assert str(error) == f"sudo refuses: sudo -n ls /etc: {output}"


def test_a_recorded_refusal_is_one(replay):
    assert asking(replay("refused"), "ls", "/etc/ceph").kind == "refused"


def test_a_recorded_command_that_is_missing_is_said_to_be(replay):
    error = asking(replay("root"), "nosuchcommand")
    assert str(error).startswith("there is no command for: nosuchcommand: env: ")


@pytest.mark.parametrize(
    ("status", "output", "kind"),
    [
        (1, "sudo: virsh: command not found", "missing"),
        (127, "bash: line 1: virsh: not found", "missing"),
        (127, "", "missing"),
        (1, 'OCI runtime exec failed: exec: "virsh": executable file not found in $PATH', "missing"),
        (1, "error: Failed to connect socket to '/var/run/virsh': No such file or directory", "failed"),
        (2, "virsh: '/x' not found", "failed"),
        (1, "error: Domain not found", "failed"),
    ],
)
def test_a_command_that_is_missing_is_told_from_one_that_does_not_find_something(replay, status, output, kind):
    host = replay(None, {"id -u": "0", "virsh": (status, "", output)})
    assert asking(host, "virsh", "dumpxml").kind == kind


def test_a_container_program_that_is_missing_is_said_to_be(replay, platform):
    error = asking(replay("containers", prefixes=platform("kolla")["prefixes"]), "ls", "/etc/ceph", part="ceph")
    assert (error.kind, error.output) == ("missing", "sudo: docker: command not found")


NO_CONTAINER = (1, "", "Error response from daemon: No such container: cinder_volume")
NOT_RUNNING = (1, "", "Error response from daemon: container 7eb5aba64577 is not running")
WAYS = {"ceph": [["docker", "exec", "cinder_volume"], ["docker", "exec", "glance_api"]]}


def test_of_several_containers_the_first_that_runs_is_asked(replay):
    """The words of docker 26 for a container that does not exist, and for one that was stopped."""
    for other in (NO_CONTAINER, NOT_RUNNING):
        host = replay(None, {"id -u": "0", "cinder_volume": other, "glance_api": "x"}, WAYS)
        assert host.ask("ceph", "ls", "/etc/ceph") == "x"


def test_a_part_without_a_container_is_not_deployed(replay):
    host = replay(None, {"id -u": "0", "docker exec": NO_CONTAINER}, WAYS)
    assert host.attempt("the keyrings", lambda asked: asked.ask("ceph", "ls", "/etc/ceph"), default=[]) == []
    assert host.unread == []
    assert [(entry.kind, entry.what) for entry in host.undeployed] == [("undeployed", "the keyrings")]


def test_a_part_whose_container_does_not_run_is_unread(replay):
    host = replay(None, {"id -u": "0", "cinder_volume": NO_CONTAINER, "glance_api": NOT_RUNNING}, WAYS)
    host.attempt("the keyrings", lambda asked: asked.ask("ceph", "ls", "/etc/ceph"))
    assert host.undeployed == []
    assert [entry.kind for entry in host.unread] == ["failed"]


def test_a_program_may_need_words_behind_it(replay):
    host = replay(None, {"id -u": "0", "mysql --defaults-file=/x --batch": "rows"})
    host.options = {"database": ["--defaults-file=/x"]}
    assert host.ask("database", "mysql", "--batch") == "rows"


def test_a_failure_says_what_the_command_said_or_how_it_ended(replay):
    answers = {"one": (3, "on its\n output", ""), "two": (4, "out", "x" * 400), "three": (5, "", "")}
    host = replay(None, {"id -u": "0", **answers})
    assert asking(host, "one").output == "on its output"
    assert asking(host, "two").output == "x" * 300
    assert str(asking(host, "three", "more")) == "failed: three more: exit status 5"


def test_a_long_command_is_cut_in_the_message_and_whole_in_the_record(replay):
    units = [f"nova-{number}.service" for number in range(100)]
    host = replay(None, {"systemctl": (1, "", "Failed to connect to bus: Host is down")})
    host.attempt("the services", lambda asked: asked.ask(None, "systemctl", "show", *units, root=False))
    (entry,) = host.unread
    assert entry.command == " ".join(["systemctl", "show", *units])
    assert entry.reason.startswith("failed: systemctl show nova-0.service ")
    assert entry.reason.endswith(" nova-99.service: Failed to connect to bus: Host is down")
    assert len(entry.reason) < 200


def test_an_attempt_says_what_was_not_read_and_goes_on(replay):
    def read(host, number):
        return host.ask(None, "cat", str(number))

    host = replay(None, {"id -u": "0", "cat 1": "text", "cat 2": (1, "", "cat: 2: Is a directory")})
    assert host.attempt("the first", read, 1) == "text"
    assert host.attempt("the second", read, 2, default="nothing") == "nothing"
    why = "failed: cat 2: cat: 2: Is a directory"
    assert to_json(host.unread) == [{"what": "the second", "kind": "failed", "command": "cat 2", "reason": why}]


@pytest.mark.parametrize(
    "strange",
    [
        lambda _host: int("many"),
        lambda _host: {}["name"],
        lambda _host: [].pop(),
        lambda _host: None + 1,
        lambda _host: None.group(1),
        lambda _host: ElementTree.fromstring("<domain>"),
    ],
    ids=["value", "key", "index", "type", "attribute", "XML"],
)
def test_an_answer_of_an_unknown_form_is_no_crash(replay, strange):
    host = replay(None)
    assert host.attempt("a number", strange) is None
    (entry,) = host.unread
    assert (entry.what, entry.kind, entry.command) == ("a number", "strange", "<lambda>")
    assert entry.reason.startswith("an answer of an unknown form: ")


def test_what_is_no_failure_of_reading_is_not_hidden(replay):
    with pytest.raises(ZeroDivisionError):
        replay(None).attempt("a number", lambda _host: 1 / 0)


def test_processes_are_those_that_do_not_look_for_themselves(replay):
    output = "12 qemu -uuid a\n13 timeout 15 pgrep --full --list-full -- a\n14 sh -c pgrep a\n"
    host = replay(None, {"pgrep": output})
    assert processes(host, None, "a") == [(12, ["qemu", "-uuid", "a"]), (14, ["sh", "-c", "pgrep", "a"])]
    assert host.execute.asked == ["pgrep --full --list-full -- a"]


def test_no_process_is_no_failure(replay):
    assert processes(replay(None, {"pgrep": (1, "", ""), "test": ""}), None, "a") == []


def test_who_sees_no_processes_of_others_does_not_know_that_there_is_none(replay):
    own = "13 sudo -n docker exec libvirt pgrep --full --list-full -- a\n14 timeout 15 pgrep --full --list-full -- a\n"
    host = replay(None, {"pgrep": own, "test -r /proc/1/cmdline": (1, "", "")})
    with pytest.raises(UnreadError, match="sees no processes of others") as caught:
        processes(host, None, "a")
    assert caught.value.kind == "failed"


def test_who_cannot_ask_what_it_sees_is_told_why(replay):
    host = replay(None, {"pgrep": (1, "", ""), "test": (127, "", "test: command not found")})
    with pytest.raises(UnreadError) as caught:
        processes(host, None, "a")
    assert caught.value.kind == "missing"


@pytest.mark.parametrize("answer", [(2, "", ""), (1, "", "pgrep: cannot open /proc"), (127, "", "")])
def test_processes_that_cannot_be_listed_are_a_failure(replay, answer):
    with pytest.raises(UnreadError):
        processes(replay(None, {"pgrep": answer}), None, "a")


def test_a_host_without_prefixes_has_none():
    assert Host(None).prefixes == {}


def test_a_command_that_hangs_is_ended_and_told_from_one_that_fails():
    asked = []
    host = Host(
        lambda words, _take: asked.append(words) or ((0, "1000", "") if words == ["id", "-u"] else (124, "", ""))
    )
    assert host.attempt("the images", lambda asked: asked.ask("ceph", "rbd", "ls")) is None
    assert asked[-1] == ["timeout", "15", "sudo", "-n", "rbd", "ls"]
    assert to_json(host.unread) == [
        {
            "what": "the images",
            "kind": "hung",
            "command": "sudo -n rbd ls",
            "reason": "hangs: sudo -n rbd ls: no answer after 15 s",
        }
    ]


def test_who_is_in_a_hurry_waits_less_for_a_command_that_hangs():
    asked = []
    host = Host(lambda words, _take: asked.append(words) or (124, "", ""), patience=4)
    with pytest.raises(UnreadError, match="no answer after 4 s"):
        host.ask(None, "ceph", "status", root=False)
    assert asked == [["timeout", "4", "ceph", "status"]]


def test_a_program_that_is_slow_to_start_gets_its_time_once():
    asked = []
    host = Host(lambda words, _take: asked.append(words) or (124, "", ""), patience=4)
    with pytest.raises(UnreadError, match="no answer after 12 s"):
        host.ask("queue", "rabbitmqctl", "list_queues", root=False)
    with pytest.raises(UnreadError, match="hangs: rabbitmq-diagnostics status: the one before it hangs"):
        host.ask("queue", "rabbitmq-diagnostics", "status", root=False)
    with pytest.raises(UnreadError, match="no answer after 4 s"):
        host.ask("ovs", "ovs-vsctl", "show", root=False)
    assert [words[:3] for words in asked] == [["timeout", "12", "rabbitmqctl"], ["timeout", "4", "ovs-vsctl"]]


def test_what_takes_long_is_waited_for_and_told_apart():
    asked = []
    host = Host(
        lambda words, _take: asked.append(words) or ((0, "1000", "") if words == ["id", "-u"] else (124, "", "")),
        patience=4,
    )
    host.attempt("the status", lambda asked: asked.ask("ceph", "ceph", "status"))
    patient = host.patient()
    patient.attempt("the logs", lambda asked: asked.ask("logs", "find", "/var/log"))
    assert [words[1] for words in asked if words[0] == "timeout"] == ["4", "60"]
    assert asked.count(["id", "-u"]) == 1
    assert [[entry.what for entry in each.unread] for each in (host, patient)] == [["the status"], ["the logs"]]
