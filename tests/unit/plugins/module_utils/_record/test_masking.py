# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Lines of logs as a reader sees them: secrets in many forms are gone, and what tells of the failure is left."""

from __future__ import annotations

import base64
import json
import random
import string
import time

import pytest
from ansible_collections.stackproof.provision.plugins.module_utils._record.masking import (
    CUT,
    HIDDEN,
    LONGEST,
    quote_of,
    words_of,
)
from tree import RECORDED

SERVER, REQUEST = "593bff83-ecde-4bff-b038-2774dcc49b76", "req-03b40d4a-6468-4371-a2d5-864347bcb436"
# Words that people choose, and what programs make: the second kind is put together here, as no file may hold one.
CHOSEN = {
    "plain": "hunter2",
    "two words": "correct-horse",
    "with marks": "pa$$w;o,r&d)!",
    "with an at": "s3cr@t",
    "with a slash": "ab/12",
    "with a colon": "se:same",
    "with a hash": "1#2?3",
}
RANDOM = random.Random(2026)
BYTES = RANDOM.randbytes(48)
MADE = {
    "a token of keystone": "gAAAA" + "BqYx0_" * 12 + "-Z=",
    "a token with names": "gAAAA" + "ABpIFvSecretTokenOfSomebody_x-y",
    "a JWT": ".".join(
        base64.urlsafe_b64encode(part).decode().rstrip("=")
        for part in (b'{"typ":"JWT","alg":"ES256"}', b'{"sub":"lab","exp":1795262400}', BYTES)
    ),
    "a key of Ceph": "AQ" + base64.b64encode(BYTES[:27]).decode() + "==",
    "base64": base64.b64encode(BYTES[:33]).decode(),
    "user data": base64.b64encode(b"#cloud-config\npassword: hunter2\n").decode(),
    "32 of hex": BYTES[:16].hex(),
    "40 of hex": BYTES[:20].hex().upper(),
    "letters and digits": "".join(RANDOM.choices(string.ascii_letters + string.digits, k=40)),
}
# How a secret stands in a line, with words that call it one
NAMED = [
    "could not connect to rabbit://openstack:{}@10.71.16.12:5672/",
    "transport_url = rabbit://openstack:{}@controller1:5672,openstack:{}@controller2:5672//",
    "connection = mysql+pymysql://nova:{}@10.71.16.12/nova?charset=utf8",
    "osprofiler uses redis://:{}@10.71.16.12:6379",
    "proxy http://somebody:{}@proxy:3128 refused",
    "password={}",
    "admin_password = {}",
    "OS_PASSWORD={}",
    "adminPass: {}",
    "'adminPass': '{}', 'name': 'x'",
    '{"password":"{}","user":"nova"}',
    '{"auth": {"passwordCredentials": {"username": "nova", "password": "{}"}}}',
    '"{\\"password\\": \\"{}\\"}"',
    "{u'admin_password': u'{}', u'flavor': 1}",
    "{b'X-Auth-Token': b'{}'}",
    "headers: {'X-Auth-Token': ['{}'], 'Accept': '*/*'}",
    "[('X-Subject-Token', '{}'), ('Vary', 'X-Auth-Token')]",
    "curl -g -i -H 'X-Auth-Token: {}' http://10.71.16.12:9292/v2/images",
    "X-Service-Token: {}",
    "Authorization: Bearer {}",
    "Authorization: Basic {}",
    "Authorization: {}",
    "Could not find token: {}",
    "Cookie: csrftoken=1; sessionid={}",
    "Set-Cookie: session={}; Path=/; HttpOnly",
    "mysqldump --password {} nova",
    "mysqldump --password={} nova",
    "mysql -unova -p{} nova",
    "sshpass -p {} ssh somebody@compute1",
    "openstack --os-token {} server list",
    "curl -u admin:{} http://10.71.16.12:15672/",
    "metadata_proxy_shared_secret = {}",
    "hmac_keys={}",
    "AWSAccessKeyId=x&Signature={}&Expires=1",
    "GET /v1/AUTH_x/images/y?temp_url_sig={}&temp_url_expires=1795262400",
    "CREATE USER 'nova' IDENTIFIED BY '{}'",
    "session.auth=('nova', '{}')",
    "bindpw={}",
    "user_data={}",
    "<password>{}</password>",
    ":secret_key => \"{}\"",
    "password%3D{}",
    "the password '{}' was wrong",
    "the token is {}",
    "\x1b[01;31mpassword\x1b[00m=\x1b[01;36m{}",
    "pass\0word: {}",
]  # fmt: skip


@pytest.mark.parametrize("form", NAMED)
def test_a_secret_with_a_name_is_never_shown(form):
    secrets = {**CHOSEN, **MADE}
    shown = {name: quote_of(f"Failed: {form.replace('{}', secret)}") for name, secret in secrets.items()}
    assert {name: line for name, line in shown.items() if secrets[name] in line} == {}
    assert all(line.startswith("Failed: ") and HIDDEN in line for line in shown.values())


@pytest.mark.parametrize("secret", MADE.values(), ids=MADE)
@pytest.mark.parametrize("form", ["{}", "({})", "it was {}: refused", "x:{},y", "['{}']", "/v3/{}/volumes", "a\t{}\nb"])
def test_a_secret_that_a_program_made_is_never_shown_whatever_stands_around_it(form, secret):
    shown = quote_of(form.replace("{}", secret))
    assert not any(part in shown for part in (secret, secret[:12], secret[-12:]))


@pytest.mark.parametrize("scheme", ["rabbit", "mysql+pymysql", "postgresql", "redis", "amqp"])
def test_a_password_that_looks_like_a_port_is_hidden_where_no_path_has_an_at(scheme):
    assert quote_of(f"{scheme}://nova:{12}/ab@10.71.16.12/nova") == f"{scheme}://{HIDDEN}@10.71.16.12/nova"


@pytest.mark.parametrize("form", ["password: '{}", "{'password': '{}", 'reply: {"adminPass": "{}', "keys: ['a', '{}"])
def test_a_secret_with_blanks_that_was_cut_off_is_hidden_to_the_end(form):
    shown = quote_of(form.replace("{}", "correct horse battery staple"))
    assert "horse" not in shown
    assert shown.endswith(HIDDEN)


@pytest.mark.parametrize(
    "value", [r"'correct\'s horse'", '"correct\'s horse"', r"u'correct \' horse'", r"\"correct horse\""]
)
def test_a_secret_in_quotes_may_have_quotes_in_it(value):
    assert "horse" not in quote_of(f"{{'password': {value}, 'user': 'nova'}}")


def test_a_random_key_that_nobody_names_is_hidden_almost_always():
    """Nothing tells a short one from a word with certainty. One in a hundred is what is bearable."""
    shuffle = random.Random(7)
    makers = {
        "hex": lambda: shuffle.randbytes(16).hex(),
        "base64": lambda: base64.b64encode(shuffle.randbytes(32)).decode(),
        "in URLs": lambda: base64.urlsafe_b64encode(shuffle.randbytes(32)).decode().rstrip("="),
        "letters and digits": lambda: "".join(shuffle.choices(string.ascii_letters + string.digits, k=32)),
        "small letters": lambda: "".join(shuffle.choices(string.ascii_lowercase + string.digits, k=32)),
    }
    shown = {
        name: sum(key in quote_of(f"with {key}") for key in (make() for _number in range(1000)))
        for name, make in makers.items()
    }
    assert {name: number for name, number in shown.items() if number > 10} == {}
    assert (shown["hex"], shown["base64"]) == (0, 0)


# Lines of real services, which are to be read as they are
ORDINARY = [
    "Failed to contact keystone: timed out",
    "Unable to validate token: Identity server rejected authorization necessary to fetch token data",
    f"Instance {SERVER} failed to spawn ({REQUEST})",
    f"Unable to establish connection to http://10.71.16.12:8778/resource_providers/{SERVER}: HTTPConnectionPool("
    "host='10.71.16.12', port=8778): Max retries exceeded",
    "AMQP server on 10.71.16.12:5672 is unreachable: [Errno 111] ECONNREFUSED. Trying again in 1 seconds.",
    "[fd00::12]:5672 is unreachable",
    "keystoneauth1.exceptions.http.Unauthorized: The request you have made requires authentication. (HTTP 401)",
    "keystoneauth1.exceptions.catalog.EndpointNotFound: public endpoint for compute service not found",
    "Bad response code while validating token: 503 Service Unavailable",
    "auth_url = http://10.71.16.12:5000/v3, auth_type = v3password, auth_section = None",
    "(pymysql.err.OperationalError) (2003, \"Can't connect to MySQL server on '10.71.16.12' ([Errno 111] "
    'Connection refused)")',
    "(pymysql.err.OperationalError) (1045, \"Access denied for user 'nova'@'10.71.16.12' (using password: YES)\")",
    "(pymysql.err.IntegrityError) (1062, \"Duplicate entry 'x' for key 'uniq_instances0uuid'\") [SQL: INSERT INTO "
    "instances (created_at, uuid) VALUES (%(created_at)s, %(uuid)s)]",
    "(pymysql.err.ProgrammingError) (1146, \"Table 'nova.instance_id_mappings' doesn't exist\")",
    "OSError: [Errno 28] No space left on device: '/var/lib/nova/instances/locks'",
    '  File "/usr/lib/python3/dist-packages/oslo_messaging/_drivers/amqpdriver.py", line 746, in _send'.strip(),
    "neutron.plugins.ml2.drivers.openvswitch.agent.ovs_neutron_agent: Failed to process the port tap79ac16b7-04",
    "GET /v2.0/ports?device_id=593bff83-ecde-4bff-b038-2774dcc49b76 => generated 103 bytes in 152 msecs",
    "POST /v3/auth/tokens => generated 1283 bytes in 504 msecs (HTTP/1.1 201)",
    "libvirt.libvirtError: Secret not found: no secret with matching uuid '28f81a63-73d5-4c0c-80f7-004413686363'",
    "This is not a recognized Fernet token",
    "the password was wrong, the token expired yesterday",
    "Validating token access rules against request",
    "ldap.INVALID_CREDENTIALS: {'result': 49, 'desc': 'Invalid credentials', 'ctrls': []}",
    "Running cmd: mkdir -p /var/lib/nova/instances, ssh -p 8022 compute1, ps -p 12345",
    "http://10.71.16.12:8774/v2.1/servers/detail?name=a@b returned 504",
    "driver 2:31.0.0-6+deb13u3 of compute1.example.org, mac fa:16:3e:2d:9a:e3, 192.168.222.0/24",
    "MessagingTimeout: Timed out after 0.2263511210003344s, 2026-11-21T14:40:08Z",
    "KeyError: 'cores'",
    "Umlaute wie ä und 漢字 bleiben",
]


@pytest.mark.parametrize("line", ORDINARY)
def test_a_line_without_secrets_is_left_as_it_is(line):
    assert len(line) <= LONGEST
    assert quote_of(line) == line


def test_ids_of_projects_are_hidden_like_keys_and_the_path_around_them_is_left():
    line = "GET http://10.71.16.12:8776/v3/94b64eb11bf148c5b5b96b2e972f44df/volumes/detail"
    assert quote_of(line) == f"GET http://10.71.16.12:8776/v3/{HIDDEN}/volumes/detail"


def test_the_ids_of_the_run_are_shown():
    project = "94b64eb11bf148c5b5b96b2e972f44df"
    assert quote_of(f"quota of {project}", {project}) == f"quota of {project}"
    assert quote_of(f"quota of {project}", {SERVER}) == f"quota of {HIDDEN}"


def test_messages_of_a_recorded_run_keep_most_of_their_words():
    lines = [line for path in RECORDED.glob("followed/logs/*/var/log/nova/*.log") for line in path.open()]
    messages = [line.partition("] ")[2][:200] for line in lines if "] " in line]
    words = [word for message in messages for word in message.split()]
    hidden = [word for message in messages for word in quote_of(message).split() if HIDDEN in word]
    assert len(words) > 500
    assert 0 < len(hidden) < 0.04 * len(words)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a\nb\tc  d", "a b c d"),
        ("\x1b[01;31mred\x1b[00m \x1b[2J", "red"),
        ("bell\x07 null\0 delete\x7f next\x85line", "bell null delete next line"),
        # Marks that change the direction of writing, of no width, and halves of a character
        ("a\u202eb\u2066c\u200bd\ufeffe\u2028f", "abcde f"),
        ("half \udcff\ud800 end", "half end"),
        ("", ""),
    ],
)
def test_a_quote_is_one_line_without_marks_that_nobody_sees(text, expected):
    assert quote_of(text) == expected


def test_a_quote_is_not_long_and_says_so():
    shown = quote_of("first " + "word " * 100 + "last")
    assert LONGEST - 1 <= len(shown) <= LONGEST
    # What a command said stands behind the command.
    begin, end = shown.split(CUT)
    assert (begin[:6], end[-5:]) == ("first ", " last")
    assert quote_of("x" * LONGEST) == "x" * LONGEST


def test_a_secret_at_the_end_of_what_is_looked_at_is_not_shown_in_part():
    for length in range(960, 1010):
        assert CHOSEN["plain"] not in quote_of(f"{'a' * length} password={CHOSEN['plain'] * 2}")


UNITS = [
    "a", "'", '"', "\\", "key=", "key ", "auth.", "a.", "://", "://a:", "x://a@", "http://a:1/", "[", "(", "{'key': ",
    "token ", "cookie: ", "0f", "A1/", "key>", "key\\'", "\x1b[", "\u202e", "\0", "-p ", " --key", "secret is ", "=",
]  # fmt: skip


@pytest.mark.parametrize("unit", UNITS)
def test_a_line_that_is_made_to_be_slow_takes_no_time(unit):
    began = time.process_time()
    for text in (unit * (100_000 // len(unit)), "word " * 20 + unit * 100_000, (unit * 1000)[:999]):
        assert len(quote_of(text)) <= LONGEST
    assert time.process_time() - began < 1


def test_the_secrets_of_recorded_settings_are_never_shown():
    """Each option, as a service logs it when it starts, and as a parser quotes it."""
    (rows,) = (
        [json.loads(line) for line in (RECORDED / f"hosts/{name}.jsonl").read_text().splitlines()]
        for name in ["examined-controller1"]
    )
    (settings,) = (row["out"].splitlines() for row in rows if "grep" in row["words"])
    options = [line.partition(":")[2] for line in settings]
    planted = [option for option in options if "planted-" in option]
    assert len(planted) > 10
    for form in ("{}", "nova.{} log_opt_values cfg.py:2824", "at nova.conf:12, no ':' found in assignment: '{}'"):
        assert [option for option in planted if "planted-" in quote_of(form.replace("{}", option))] == []


def test_of_a_traceback_the_exception_is_left():
    frames = '  File "/usr/lib/python3/nova/compute/manager.py", line 2901, in _build\n    yield resources\n'
    text = f"Build aborted\nTraceback (most recent call last):\n{frames}rbd.PermissionError: [errno 1] no\n"
    again = f"{text}\nDuring handling of the above exception, another exception occurred:\n\n{text}"
    assert words_of(text) == "Build aborted\nrbd.PermissionError: [errno 1] no"
    assert words_of(again).count("rbd.PermissionError: [errno 1] no") == 2
    assert "Traceback" not in words_of(f"['Traceback (most recent call last):\\n', {frames!r}]")


def test_what_a_long_command_said_is_shown_and_not_all_of_its_words():
    words = [f"--dhcp-range=set:subnet-{number},192.168.{number}.0,static" for number in range(40)]
    said = "env: \u2018dnsmasq\u2019: No such file or directory"
    failed = (
        f"Exit code: 127; Cmd: {['ip', 'netns', 'exec', 'env', 'dnsmasq', *words]}; Stdin: ; Stdout: ; Stderr: {said}"
    )
    quote = quote_of(failed)
    assert quote.startswith("Exit code: 127; Cmd: ['ip', 'netns', 'exec', 'env', 'dnsmasq', ")
    assert quote.endswith(f" [...]; Stderr: {said}")
    assert quote_of(f"neutron_lib.ProcessExecutionError: {failed}").endswith(f" [...]; Stderr: {said}")
    # Another line may end in such words as well.
    assert "static" in quote_of(failed.replace("Exit code: 127; ", ""))
