# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A sentence for each symptom."""

from __future__ import annotations

import pytest
from ansible_collections.stackproof.provision.plugins.module_utils._judge.symptoms.guest import METADATA
from ansible_collections.stackproof.provision.plugins.module_utils._model.how import STATES, How
from ansible_collections.stackproof.provision.plugins.module_utils._model.symptom import KINDS, Code, Kind, Symptom
from ansible_collections.stackproof.provision.plugins.module_utils._report.messages import symptoms, words
from cases_by_hand import CODES, FIELDS, seen


def test_each_code_has_a_kind_and_a_message():
    assert set(symptoms.MESSAGES) == set(KINDS) == set(Code)
    assert set(KINDS.values()) == set(CODES) == set(Kind)


@pytest.mark.parametrize("code", Code)
def test_first_form_of_each_message_is_the_longest(code):
    fields = {"how": How.STOPPED, "status": 503, "peer": "y", "address": "10.0.0.1", "port": 1, "exception": "a.b.E"}
    fields.update(reported=("0", "1"), command="ceph health", logger="a.b", request="GET /x", path="/etc/x/x.conf")
    fields.update(
        FIELDS.get(KINDS[code], {}), setting="/etc/x/x.conf debug", probe="silent", last_report="noon", since=0.0
    )
    fields.update(reported=("0", "1"), sizes=(900, 1500), times=3, offset_s=300.0)
    forms = symptoms.forms(Symptom(code, "x", "h", **fields))
    assert len(forms[0]) == max(map(len, forms))
    assert all(forms)
    assert "None" not in forms[0]
    assert not forms[0].endswith(".")


@pytest.mark.parametrize(
    ("symptom", "sentence"),
    [
        (seen(Kind.STATE, for_s=46.4), "x (h): stopped 46 s ago (x.service)"),
        (
            seen(Kind.STATE, for_s=46.4, since=1795262354.0),
            "x (h): stopped 46 s ago (at 11:59:14 UTC; x.service)",
        ),
        (seen(Kind.STATE, how=How.FAILED, for_s=4870.0), "x (h): failed 81 min ago (x.service)"),
        (seen(Kind.STATE, for_s=None), "x (h): stopped (x.service)"),
        (seen(Kind.STATE, how=How.STARTING, for_s=9.0), "x (h): starting for 9 s (x.service)"),
        (
            seen(Kind.STATE, how=How.STARTING, for_s=1.0, restarts=7),
            "x (h): starting for 1 s, after 7 restarts by systemd (x.service)",
        ),
        (seen(Kind.RESTART, ago_s=160.0), "x (h): restarted 3 min before the stage failed (x.service)"),
        (
            Symptom(Code.UNIT_RESTARTED_DURING_RUN, "x", "h", unit="x.service", since=7.0),
            "x (h): exited, restarted at 00:00:07 UTC (x.service)",
        ),
        (Symptom(Code.OSD_DOWN, "ceph-osd", reported=("0",)), "ceph-osd: osd.0 is down, as Ceph reports"),
        (Symptom(Code.OSD_DOWN, "ceph-osd", reported=("0", "2")), "ceph-osd: osd.0, osd.2 are down, as Ceph reports"),
        (Symptom(Code.CEPH_HEALTH, "ceph-osd", reported=("1 osds down",)), "ceph-osd: Ceph reports: 1 osds down"),
        (
            seen(Kind.FAILED_AT, peer="y", how=How.SILENT, exception="a.MessagingTimeout"),
            "x (h): no answer from y (a.MessagingTimeout)",
        ),
        (seen(Kind.FAILED_AT, peer="y"), "x (h): failed while talking to y"),
        # Where an error names a place at which no component usually is, that says more than whom its words are about.
        (
            seen(Kind.FAILED_AT, peer="y", how=How.REFUSED, quote="HTTPConnectionPool(host='10.0.0.1', port=8999): x"),
            "x (h): connection refused by 10.0.0.1:8999",
        ),
        (
            seen(Kind.FAILED_AT, peer="y", how=How.REFUSED, quote="HTTPConnectionPool(host='10.0.0.1', port=9696): x"),
            "x (h): connection refused by y",
        ),
        (
            seen(Kind.FAILED_AT, peer="y", how=How.ERROR, quote="http://10.0.0.1:8999/a answered 500"),
            "x (h): error returned by y",
        ),
        (
            seen(Kind.FAILED_AT, peer="neutron-server", how=How.MISSING, exception="a.EndpointNotFound"),
            "x (h): finds no endpoint of neutron-server in the catalog (EndpointNotFound)",
        ),
        (
            # Keystone keeps the catalog, and is not what was looked for.
            seen(Kind.FAILED_AT, peer="keystone", how=How.MISSING, exception="a.EndpointNotFound"),
            "x (h): finds no endpoint in the catalog (EndpointNotFound)",
        ),
        (seen(Kind.ERROR, exception="a.KeyError"), "x (h): a.b logged a.KeyError"),
        (seen(Kind.ERROR), "x (h): a.b logged an error"),
        (
            Symptom(Code.API_SILENT, "x", request="GET /v2.0", address="10.0.0.1:9696"),
            "x: did not answer GET /v2.0 at 10.0.0.1:9696",
        ),
        (
            Symptom(Code.API_SILENT, "x", how=How.REFUSED, request="GET /v2.0", address="10.0.0.1:9696"),
            "x: connection refused at 10.0.0.1:9696 (GET /v2.0)",
        ),
        (seen(Kind.NOT_REPORTING, last_report="noon"), "x (h): not reporting to the cloud since noon"),
        (seen(Kind.STATE, for_s=4.0, restarts=12), "x (h): stopped 4 s ago, after 12 restarts by systemd (x.service)"),
        (
            Symptom(Code.UNIT_CRASH_LOOP, "x", "h", unit="x.service", restarts=12),
            "x (h): exits again and again: restarted 12 times (x.service)",
        ),
        (
            Symptom(Code.DOMAIN_HALTED, "libvirt", "h", reported=("paused", "I/O error")),
            "libvirt (h): the domain of the instance is paused (I/O error)",
        ),
        (
            seen(Kind.DIFFERENCE, path="/etc/nova/nova.conf", setting="[libvirt] virt_type"),
            "x (h): [libvirt] virt_type in /etc/nova/nova.conf differs from similar hosts",
        ),
        (
            seen(Kind.DIFFERENCE, path="/etc/nova/nova.conf", setting=None),
            "x (h): the mode of /etc/nova/nova.conf differs from similar hosts",
        ),
        (
            seen(Kind.CHANGE, setting="[a] b"),
            "x (h): configuration changed 40 s ago: /etc/x/x.conf ([a] b differs from similar hosts)",
        ),
        (seen(Kind.CHANGE), "x (h): configuration changed 40 s ago: /etc/x/x.conf"),
        (
            seen(Kind.CHANGE, since=1795262360.0),
            "x (h): configuration changed 40 s ago, at 11:59:20 UTC: /etc/x/x.conf",
        ),
        (
            Symptom(Code.QUEUE_UNCONSUMED, "x", "h", setting="compute.h", times=1),
            "x (h): its queue compute.h has no consumer; 1 message waits there",
        ),
        (
            Symptom(Code.CERTIFICATE_EXPIRED, "x", "h", since=0.0, address="a", port=1),
            "x (h): its TLS certificate expired on 1970-01-01 (a:1)",
        ),
        (
            Symptom(Code.CERTIFICATE_EXPIRING, "x", "h", since=0.0, path="/a.pem"),
            "x (h): its TLS certificate expires on 1970-01-01 (/a.pem)",
        ),
        (
            Symptom(Code.CLOCK_OFFSET, "x", "h", offset_s=-300.0),
            "x (h): the clock of its host is 5 min behind, compared with the other hosts",
        ),
        (
            Symptom(Code.NAME_UNRESOLVED, "x", "h", setting="ctl", reported=("", "10.0.0.1")),
            "x (h): the name ctl does not resolve on its host; on others it is 10.0.0.1",
        ),
        (
            Symptom(Code.MTU_SMALLER, "data network", "h", path="eth1", sizes=(900, 1500), times=213),
            "data network (h): the link eth1 has an MTU of 900, on similar hosts 1500; 213 packets dropped",
        ),
        (
            Symptom(Code.MTU_TOO_SMALL, "data network", "h", path="eth1", sizes=(900, 1500)),
            "data network (h): the link eth1 has an MTU of 900, and the network needs 1500",
        ),
        (
            Symptom(Code.MTU_TOO_LARGE, "neutron-server", "h", sizes=(1500, 1550)),
            "neutron-server (h): the network needs an MTU of 1550 between hosts, and all their links have 1500",
        ),
        (
            Symptom(Code.BACK_END_DOWN, "haproxy", "h", setting="nova", unit="c1", probe="Connection refused"),
            "haproxy (h): the server c1 behind nova is down (Connection refused)",
        ),
        (
            Symptom(Code.BACK_END_DOWN, "haproxy", "h", setting="nova", probe="no server is up"),
            "haproxy (h): no server is up behind nova (no server is up)",
        ),
        (seen(Kind.STEP, host=None, step="13"), "x: its step 13 did not happen, for no known reason"),
        (seen(Kind.RESOURCE, None), "h: the disk at / has 0 MiB left"),
    ],
)
def test_sentence_of_a_symptom(symptom, sentence):
    assert symptoms.sentence(symptom) == sentence


@pytest.mark.parametrize(
    ("probe", "text"),
    [
        ("silent", "no connection to y at 10.0.0.1:1"),
        ("mute", "connected, but no reply from y at 10.0.0.1:1"),
        ("refused", "connection refused by y at 10.0.0.1:1"),
        ("closed", "connection closed by y at 10.0.0.1:1"),
        ("status 503", "status 503 from y at 10.0.0.1:1"),
    ],
)
def test_peer_that_does_not_answer_is_reported_with_its_address(probe, text):
    assert symptoms.forms(seen(Kind.REACH, peer="y", address="10.0.0.1", port=1, probe=probe))[0] == text


@pytest.mark.parametrize("how", STATES)
def test_each_state_of_a_unit_has_words(how):
    assert how in symptoms.STATES


@pytest.mark.parametrize("status", METADATA)
def test_each_answer_to_the_guest_has_words(status):
    (text,) = symptoms.forms(Symptom(Code.METADATA_ANSWER, "x", status=status))
    assert text.endswith(f" ({status})")


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.4, "0 s"), (119.0, "119 s"), (120.0, "2 min"), (7100.0, "118 min"), (7300.0, "2 h"), (200000.0, "2 days")],
)
def test_duration_has_the_unit_in_which_it_is_compared(seconds, text):
    assert words.duration(seconds) == text


@pytest.mark.parametrize(
    ("forms", "length", "text"),
    [
        (["a long text", "a text"], 11, "a long text"),
        (["a long text", "a text"], 10, "a text"),
        (["a long text", "a text"], 5, "a"),
        (["text"], 2, "te"),
    ],
)
def test_shorter_form_is_taken_and_the_last_one_is_shortened_at_a_word(forms, length, text):
    assert words.fitting(forms, length) == text
