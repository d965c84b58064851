# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Headlines: where and what, complete in one line."""

from __future__ import annotations

from dataclasses import replace

import as_json
import pytest
from ansible_collections.stackproof.provision.plugins.module_utils._judge import evidence
from ansible_collections.stackproof.provision.plugins.module_utils._judge.weights import WEIGHTS
from ansible_collections.stackproof.provision.plugins.module_utils._model.finding import Finding, Suspect
from ansible_collections.stackproof.provision.plugins.module_utils._model.how import AT_PEER, How
from ansible_collections.stackproof.provision.plugins.module_utils._model.symptom import Code, Kind, Symptom
from ansible_collections.stackproof.provision.plugins.module_utils._model.verdict import LONGEST_HEADLINE
from ansible_collections.stackproof.provision.plugins.module_utils._report.messages import headline as module
from ansible_collections.stackproof.provision.plugins.module_utils._report.messages import words
from cases_by_hand import cause, cut, seen, step_of

LONG = "a-component-with-a-name-that-is-far-too-long-for-a-line"
LONG_HOST = "compute-4711.rack-12.room-3.frankfurt.cloud.example.org"


def headline(named):
    main, change = evidence.main_symptom(named, WEIGHTS), evidence.recent_change(named, WEIGHTS)
    return module.headline(Finding(cause=named, main=main, change=change))


def of_restart(restart):
    return module.headline(Finding(restart=restart))


# Length


@pytest.mark.parametrize(
    "long",
    [
        cause(LONG, LONG_HOST, seen(Kind.STATE, LONG, LONG_HOST, unit=f"{LONG}@{LONG_HOST}.service", for_s=123456.0)),
        cause(LONG, None, seen(Kind.FAILED_AT, "x", LONG_HOST, peer=LONG, how=How.MISSING)),
        cause("x", "h", seen(Kind.FAILED_AT, how=How.SILENT, peer=LONG * 3)),
        cause("x", "h", seen(Kind.REPORT, reported=("1 osds down",) * 20)),
        cause("x", "h", seen(Kind.ERROR, exception=f"{LONG}.{LONG}.{LONG}")),
        cause("x", "h", cut("x", "h", peer=LONG)),
        cause("x", LONG_HOST, seen(Kind.CHANGE, "x", LONG_HOST, path=f"/etc/{LONG}/{LONG}.conf")),
        cause("x", "h", seen(Kind.ERROR, LONG, LONG_HOST, exception=f"{LONG}.{LONG}")),
    ],
)
def test_headline_fits_into_a_line_without_an_ellipsis(long):
    text = headline(long)
    assert len(text) <= LONGEST_HEADLINE
    assert "..." not in text
    assert text.startswith(f"{long.component} ({long.host.partition('.')[0]}" if long.host else long.component)


def test_short_headline_is_whole():
    stopped = seen(Kind.STATE, for_s=40.0)
    assert headline(cause("x", "h", stopped)) == "x (h): stopped 40 s ago"


def test_headline_of_an_error_without_an_exception_quotes_its_message():
    logged = seen(Kind.ERROR, quote="[instance: 7] Failed to bind port 1 on host h for vnic_type normal using segments")
    found = Finding(cause=cause("x", "h", logged), main=logged)
    text = 'x (h): logged "Failed to bind port 1 on host h for vnic_type normal using segments"'
    assert module.headline(replace(found, quoted=logged)) == text
    # With stackproof_quotes=false, and where the verdict quotes another line
    assert module.headline(found) == "x (h): a.b logged an error"
    assert module.headline(replace(found, quoted=replace(logged, quote="y"))) == "x (h): a.b logged an error"


def test_details_are_left_out_before_the_domain_of_the_host():
    host = LONG_HOST
    exception = f"nova.{'x' * 60}.VirtualInterfaceCreateException"
    short = headline(
        cause("nova-compute", host, seen(Kind.ERROR, "nova-compute", host, exception=exception, logger="n" * 60))
    )
    assert short == f"nova-compute ({host}): logged {exception.rpartition('.')[2]}"


def test_headline_without_a_component_fits_into_a_line():
    step = step_of(as_json.step("N" * 20, "a", "b", "m", "DB"))
    for pause_s in (None, 2.0):
        text = module.headline(Finding(step=step, pause_s=pause_s))
        assert len(text) <= LONGEST_HEADLINE
        assert text.startswith("no component identified: step N")


@pytest.mark.parametrize(
    ("pause_s", "text"),
    [
        (None, "no component identified: step 7 did not happen and no evidence explains why"),
        (2.0, "no component identified: step 7 is overdue; it may just be slow"),
    ],
)
def test_headline_without_a_component_says_why(pause_s, text):
    step = step_of(as_json.step("7", "a", "b", "m", "DB"))
    assert module.headline(Finding(step=step, pause_s=pause_s)) == text


def test_without_a_cause_and_a_step_there_is_no_headline():
    assert module.headline(Finding()) is None


# What is wrong


@pytest.mark.parametrize("how", [*AT_PEER, None])
def test_each_way_of_failing_can_be_reported_of_both_ends(how):
    failed = seen(Kind.FAILED_AT, "y", "h2", peer="x", how=how)
    at_peer, at_victim = headline(cause("x", "h", failed)), headline(cause("y", "h2", failed))
    assert at_peer.startswith("x (h): ")
    assert "y (h2)" in at_peer.partition(": ")[2]
    assert at_victim.startswith("y (h2): ")
    assert "x" in at_victim.partition(": ")[2].split()
    assert how in words.AT_PEER


def test_component_that_another_one_depends_on_is_named_with_it():
    failed = seen(Kind.ERROR, "nova-api-metadata", "ctl", exception="a.b.Unauthorized")
    assert headline(cause("neutron-server", "ctl", failed)) == (
        "neutron-server (ctl): nova-api-metadata (ctl) depends on it: logged Unauthorized"
    )


# What an error says


def quoting(quote, how=How.MISSING, peer="libvirt", named=None, **fields):
    """Return the headline about an error of nova-compute at a peer, with its line in the log."""
    failed = seen(Kind.FAILED_AT, "nova-compute", "c1", peer=peer, how=how, quote=quote, **fields)
    named = cause(named or peer, "c1", failed)
    return module.headline(Finding(cause=named, main=failed, quoted=failed))


SECRET = "Secret not found: no secret with matching uuid '00000000-1111-2222-3333-444444444444'"
FILE = "/var/lib/libvirt/qemu/domain-1-instance-00000005/master-key.aes"


@pytest.mark.parametrize(
    ("quote", "said"),
    [
        (f"libvirt.libvirtError: {SECRET}", SECRET),
        (f"[instance: 1] Driver failed: libvirt.libvirtError: {SECRET}", SECRET),
        ("FileNotFoundError: [Errno 2] No such file or directory: '/x'", "No such file or directory: '/x'"),
        ("neutronclient.common.exceptions.Unauthorized: 401-{'error': {'message': 'No such user.'}}", "No such user."),
        (
            "Exit code: 255 Stdout: '' Stderr: 'mkdir: cannot create /x: Permission denied\\n'",
            "mkdir: cannot create /x: Permission denied",
        ),
        ("Command: ssh Stderr: 'Load key \"/x\": bad'", 'Load key "/x": bad'),
        (
            "novaclient.exceptions.Forbidden: Policy doesn't allow x to be performed. (HTTP 403) (Request-ID: req-1-2)",
            "Policy doesn't allow x to be performed.",
        ),
        ("{'message': \"Can't find host 'c1' in cell\"}", "Can't find host 'c1' in cell"),
        ("Exit code: 1 Stdout: 'no room' Stderr: ''", "Exit code: 1 Stdout: 'no room' Stderr: ''"),
    ],
)
def test_a_headline_quotes_what_an_error_says_and_not_what_stands_around_it(quote, said):
    assert quoting(quote).endswith(f'"{said}"')


def test_who_said_it_is_named_where_the_words_have_no_room_otherwise():
    assert quoting(SECRET) == f'libvirt (c1): nova-compute reports "{SECRET}"'
    short = "Secret not found"
    assert quoting(short) == f'libvirt (c1): does not have what nova-compute requested: "{short}"'
    assert quoting(short, named="nova-compute") == f'nova-compute (c1): not found at libvirt: "{short}"'


@pytest.mark.parametrize(
    ("quote", "said"),
    [
        # The end has what it is about.
        (
            f"{'a' * 70} {'b' * 70}: Cannot read the certificate of x: No such file",
            "Cannot read the certificate of x: No such file",
        ),
        (
            f"{'a' * 50} {'b' * 50}: cannot open \u201c{FILE}\u201d: Permission denied",
            "master-key.aes\u201d: Permission denied",
        ),
    ],
)
def test_of_a_long_error_its_end_is_quoted(quote, said):
    line = quoting(quote, how=How.DENIED)
    assert line.endswith(f'{said}"')
    assert len(line) <= LONGEST_HEADLINE


def test_no_word_is_cut_where_a_quote_begins():
    line = quoting(f"{'a' * 50} {'b' * 50} cannot open the network namespace qdhcp-1: No such file", how=How.DENIED)
    assert line.endswith('"…cannot open the network namespace qdhcp-1: No such file"')


def test_of_a_long_error_with_a_long_end_the_end_is_quoted_from_its_beginning():
    said = "Unable to load module rbd. Perhaps you want to install qemu-block-extra or qemu-block-supplemental package?"
    line = quoting(f"internal error: process exited while connecting to monitor: qemu-system-x86_64: {said}")
    assert '"Unable to load module rbd. Perhaps you want to install ' in line
    assert line.endswith(' …"')


def test_a_long_error_that_is_one_sentence_is_quoted_from_its_beginning():
    line = quoting("'pc-q35-99.0' is not a supported machine type, " + "those that are supported are many " * 5)
    assert "\"'pc-q35-99.0' is not a supported machine type" in line
    assert line.endswith(' …"')


@pytest.mark.parametrize("how", [How.REFUSED, How.SILENT, How.BROKEN_OFF, How.UNREACHABLE])
def test_a_connection_that_fails_is_said_by_its_ends(how):
    assert '"' not in quoting("connection to 10.0.0.1 failed", how=how)


def test_no_other_line_is_quoted_than_that_of_the_verdict():
    failed = seen(Kind.FAILED_AT, "x", "h", peer="y", how=How.MISSING, quote="one")
    other = replace(failed, quote="another")
    assert '"' not in module.headline(Finding(cause=cause("x", "h", failed), main=failed, quoted=other))
    assert '"' not in module.headline(Finding(cause=cause("x", "h", failed), main=failed))


def of_ended(how=How.FAILED, **fields):
    """Return the headline about a unit that has ended, with a line that is quoted."""
    ended = seen(Kind.STATE, "x", "h", how=how)
    said = Symptom(Code.LOGGED_ERROR, **{"component": "x", "host": "h", **fields})
    return module.headline(Finding(cause=cause("x", "h", ended, said), main=ended, quoted=said))


def test_what_has_ended_is_quoted_with_its_last_words():
    said = "oslo_config.cfg.ConfigFilesNotFoundError: Failed to find some config files: /etc/x/x.conf"
    assert of_ended(quote=said) == 'x (h): failed: "Failed to find some config files: /etc/x/x.conf"'
    assert of_ended(quote=said, component="y") == "x (h): failed"
    # What a client says is no reason, and no line is that of what somebody has stopped.
    assert of_ended(quote=said, component="y", peer="x") == "x (h): failed"
    assert of_ended(How.STOPPED, quote=said) == "x (h): stopped"


def test_a_domain_is_quoted_by_what_was_asked_to_start_it():
    halted = Symptom(Code.DOMAIN_HALTED, "libvirt", host="h", reported=("shut off", "failed"))
    said = seen(
        Kind.FAILED_AT, "nova-compute", "h", peer="libvirt", quote="libvirt.libvirtError: could not load PC BIOS"
    )
    line = module.headline(Finding(cause=cause("libvirt", "h", halted, said), main=halted, quoted=said))
    assert line == 'libvirt (h): the domain of the instance is shut off: "could not load PC BIOS"'


# A change of configuration beside the harm that it did

CHANGE = seen(Kind.CHANGE, path="/etc/nova/nova.conf", ago_s=140.0)


def test_headline_reports_a_change_of_configuration_after_the_harm_that_it_did():
    harm = seen(Kind.FAILED_AT, "y", "h2", peer="x", how=How.REFUSED)
    text = "x (h): refuses connections from y (h2); nova.conf changed 2 min ago"
    assert headline(cause("x", "h", CHANGE, harm)) == text


def test_headline_that_is_the_change_of_configuration_has_it_once():
    assert headline(cause("x", "h", CHANGE)) == "x (h): nova.conf changed 2 min ago"
    # Who reads it later does not know how long ago that is.
    at = replace(CHANGE, since=1795262360.0)
    assert headline(cause("x", "h", at)) == "x (h): nova.conf changed at 11:59:20 UTC"
    of_yesterday = replace(at, ago_s=100_000.0)
    assert headline(cause("x", "h", of_yesterday)) == "x (h): nova.conf changed 28 h ago"
    # The answer of another component that has nothing else to do with the cause
    twice = Finding(cause=cause("x", "h", CHANGE, seen(Kind.ANSWER, "y")), main=CHANGE, change=CHANGE)
    assert module.headline(twice) == "x (h): nova.conf changed 2 min ago"


@pytest.mark.parametrize("too_many", [0, 1])
def test_headline_reports_a_change_of_configuration_if_it_fits(too_many):
    change = "; nova.conf changed 2 min ago"
    text = "e" * (LONGEST_HEADLINE - len("x (h): ") - len(change) + too_many)
    line = headline(cause("x", "h", CHANGE, seen(Kind.REPORT, reported=(text,))))
    assert line == f"x (h): {text}" + ("" if too_many else change)


# Restarts that are over


def test_headline_of_a_restart_names_no_fault_and_whose_connections_it_dropped():
    others = seen(Kind.STEP, "z", peer="z")
    lost = seen(Kind.FAILED_AT, "nova-compute", "c1", peer="rabbitmq", how=How.BROKEN_OFF)
    line = of_restart(cause("rabbitmq", "ctl", others, lost, suspect=Suspect.RESTART))
    assert line == "no fault: an earlier restart of rabbitmq (ctl) dropped connections of nova-compute"


def test_headline_of_a_restart_fits_into_a_line():
    line = of_restart(cause(LONG, LONG_HOST, seen(Kind.FAILED_AT, peer=LONG), suspect=Suspect.RESTART))
    assert len(line) <= LONGEST_HEADLINE
    assert line.startswith(f"no fault: an earlier restart of {LONG}")


def test_headline_of_a_restart_has_the_component_and_not_the_name_in_the_flow():
    """The peer may have a name that stands for several components, one of which was restarted."""
    lost = seen(Kind.FAILED_AT, "nova-api-metadata", "ctl", peer="neutron-metadata-proxy", how=How.BROKEN_OFF)
    line = of_restart(cause("neutron-metadata-agent", "net", lost, suspect=Suspect.RESTART))
    assert line.startswith("no fault: an earlier restart of neutron-metadata-agent (net) ")
