# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The scanner finds what is planted, says where and never what; and nothing is in what the collection is made of."""

from __future__ import annotations

import base64
import gzip
import io
import json
import subprocess
import sys
import tarfile
from urllib.parse import quote

import pytest
import secret_scan
from tree import ROOT

# What the tarballs are built of; tests/browser may hold what npm has installed.
PARTS = (
    "changelogs",
    "docs",
    "lab",
    "meta",
    "playbooks",
    "plugins",
    "roles",
    "tests/catalogue",
    "tests/recorded",
    "tests/recorder",
    "tests/unit",
    "tests/lab",
    "tests/bench",
    "tools",
)
FERNET = "gAAAAABl" + "Zk3_-x9Q" * 12
CEPH = base64.b64encode(b"\x01\x00" + bytes(range(26))).decode()
PLANTED = [
    ("a Fernet token", f"token {FERNET} of somebody"),
    ("a private key", "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXk"),
    ("a private key", "-----BEGIN PRIVATE KEY-----\\nMIIEvQ"),
    ("a key of Ceph", f"key = {CEPH}"),
    ("a token in a header", f'-H "X-Auth-Token: {"5f3a" * 8}"'),
    ("a token in a header", f"'X-Subject-Token': '{'5f3a' * 8}'"),
    ("a signature in a header", f"X-Trace-HMAC: {'0a' * 20}"),
    ("a password", "password=hunter2hunter2"),
    ("a password", "admin_password = hunter2hunter2"),
    ("a password", '"adminPass": "Zk3x9Qabc"'),
    ("a password", '{\\"password\\": \\"Zk3x9Qabc\\"}'),
    ("a password", "metadata_proxy_shared_secret = 0f0f0f0f0f0f0f0f"),
    ("a password", "hmac_keys = SECRET_KEY_1"),
    ("a password in a URL", "connection = mysql+pymysql://nova:sesame@10.0.0.1/nova"),
    ("a password in a URL", "transport_url = rabbit://openstack:sesame@10.0.0.1:5672/"),
    ("a password in a URL", "connection_string = redis://:sesame@10.0.0.1:6379"),
]
HARMLESS = [
    "password = params['password']",
    "password={{ lab_secrets.admin }}",
    "auth = dict(password=password)",
    "password: hashed(password2)",
    "X-Auth-Token: {SHA256}5f3a5f3a5f3a5f3a5f3a",
    "the header X-Auth-Token: is not logged",
    '"secret": "5af674bc-00f1-4960-93ae-6eabdfb924b0"',
    "http://10.71.16.12:5000/v3 at 12:30, user@host",
    "-----BEGIN CERTIFICATE-----\nMIIEvQ",
    "-----BEGIN PRIVATE KEY----- it is",
    "gAAAA is how a token begins",
]


@pytest.fixture
def findings_in(tmp_path):
    """Return a function that gives what is found in a text, without its file."""

    def scan(content, secrets=None, name="a.log"):
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return [(finding.line, finding.what) for finding in secret_scan.Scanner(secrets).scan(path)]

    return scan


@pytest.mark.parametrize(("what", "text"), PLANTED)
def test_what_looks_like_a_secret_is_found_with_its_line(findings_in, what, text):
    assert (2, what) in findings_in(f"one line\n{text}\nand more\n")


@pytest.mark.parametrize("text", HARMLESS)
def test_what_only_speaks_of_secrets_is_none(findings_in, text):
    assert findings_in(text) == []


@pytest.mark.parametrize("secret", ["correct horse", 'quo"ted\\word', "ümläute", "0f" * 16])
def test_a_known_secret_is_found_in_whatever_form(findings_in, secret):
    secrets = {"admin": secret}
    forms = [secret, json.dumps(secret), quote(secret, safe="")]
    forms += [base64.b64encode(f"{'x' * before}{secret} and more".encode()).decode() for before in range(4)]
    for form in forms:
        assert (1, "the secret admin") in findings_in(f"it is <{form}>", secrets), form
    assert findings_in("it is another one", secrets) == []


def test_what_is_too_short_to_be_a_secret_is_not_looked_for(findings_in):
    assert findings_in("labels and laboratories", {"user": "lab"}) == []


def test_a_secret_itself_is_never_said(tmp_path):
    (tmp_path / "a.log").write_text(f"{FERNET}\npassword=hunter2hunter2\nsesame-open\n")
    shown = "\n".join(map(str, secret_scan.Scanner({"door": "sesame-open"}).scan(tmp_path)))
    assert shown == "a.log:1: a Fernet token\na.log:2: a password\na.log:3: the secret door"


def test_a_tree_is_looked_through_wholly(tmp_path):
    """Hidden files, names of files, binary ones, what is packed and what is packed in that; but no link is followed."""
    (tmp_path / "runs/.hidden").mkdir(parents=True)
    (tmp_path / "runs/.hidden/.file").write_text(FERNET)
    (tmp_path / "runs/binary").write_bytes(b"\0\xff\n" + FERNET.encode())
    (tmp_path / "runs" / FERNET).write_text("")
    (tmp_path / "runs/a.log.gz").write_bytes(gzip.compress(gzip.compress(f"\n\n{FERNET}".encode())))
    (tmp_path / "elsewhere").write_text(FERNET)
    (tmp_path / "runs/link").symlink_to(tmp_path / "elsewhere")
    places = {(finding.file, finding.line) for finding in secret_scan.Scanner().scan(tmp_path / "runs")}
    assert places == {(".hidden/.file", 1), ("binary", 2), (FERNET, 0), ("a.log.gz", 3)}


@pytest.mark.parametrize("mode", ["w", "w:gz"])
def test_an_archive_is_looked_through_with_the_names_in_it(tmp_path, mode):
    inner = io.BytesIO()
    with tarfile.open(fileobj=inner, mode="w:gz") as archive:
        add(archive, "deep/file", f"\n{FERNET}".encode())
    with tarfile.open(tmp_path / "a.tar", mode) as archive:
        add(archive, "tests/one", f"\n\n{FERNET}".encode())
        add(archive, "tests/logs.tar.gz", inner.getvalue())
        add(archive, "tests/none", b"nothing")
    places = {(finding.file, finding.line) for finding in secret_scan.Scanner().scan(tmp_path / "a.tar")}
    assert places == {("a.tar!tests/one", 3), ("a.tar!tests/logs.tar.gz!deep/file", 2)}


def add(archive, name, content):
    member = tarfile.TarInfo(name)
    member.size = len(content)
    archive.addfile(member, io.BytesIO(content))


def test_what_is_not_looked_at_is_said(tmp_path, monkeypatch):
    monkeypatch.setattr(secret_scan, "MOST", 1000)
    (tmp_path / "large").write_bytes(b"x" * 1001)
    (tmp_path / "bomb.gz").write_bytes(gzip.compress(b"x" * 100000))
    assert [(finding.file, finding.what.partition(":")[0]) for finding in secret_scan.Scanner().scan(tmp_path)] == [
        ("bomb.gz", "not looked at"),
        ("large", "not looked at"),
    ]


def test_there_is_no_looking_at_what_is_not_there(tmp_path):
    with pytest.raises(FileNotFoundError):
        secret_scan.Scanner().scan(tmp_path / "runs")


def test_what_is_allowed_is_allowed_in_one_file_only(tmp_path):
    for name in ("one.py", "two.py"):
        (tmp_path / name).write_text(f"{FERNET} password=hunter2hunter2")
    scanner = secret_scan.Scanner(allowed=[("one.py", "a password", "made up"), ("three.py", "*", "gone")])
    findings = [(finding.file, finding.what) for finding in scanner.scan(tmp_path)]
    assert findings == [("one.py", "a Fernet token"), ("two.py", "a Fernet token"), ("two.py", "a password")]
    assert scanner.unused == [("three.py", "*", "gone")]


def test_the_secrets_of_a_lab_are_known(tmp_path):
    (tmp_path / "secrets.yml").write_text(
        '# Secrets\nadmin: "0f0f0f0f0f0f0f0f"\nceph_fsid: "5af674bc-00f1-4960-93ae-6eabdfb924b0"\n'
    )
    (tmp_path / "clouds.yaml").write_text("clouds:\n  lab:\n    auth:\n      username: lab\n      password: sesame1\n")
    assert sorted(secret_scan.known_of(tmp_path).values()) == ["0f0f0f0f0f0f0f0f", "sesame1"]
    assert secret_scan.known_of(tmp_path / "none") == {}


def test_no_secret_is_in_what_the_collections_are_made_of():
    scanner = secret_scan.Scanner(allowed=secret_scan.OURS)
    findings = [
        f"{part}/{finding}"
        for part in PARTS
        for finding in scanner.scan(ROOT / part)
        if "__pycache__" not in finding.file
    ]
    assert findings == []
    assert scanner.unused == [], "what is allowed is not there any more"


def test_a_secret_in_the_tarball_ends_its_check(tmp_path):
    """As the tool calls it; the whole check builds and installs the collection, which is make importer."""
    with tarfile.open(tmp_path / "a.tar.gz", "w:gz") as archive:
        add(archive, "docs/a.md", FERNET.encode())
    code = (
        "import importlib.machinery as m, importlib.util as u, sys; from pathlib import Path\n"
        f"loader = m.SourceFileLoader('tool', {str(ROOT / 'tools/tarballs.py')!r})\n"
        "tool = u.module_from_spec(u.spec_from_loader('tool', loader)); loader.exec_module(tool)\n"
        f"tool.check_secrets(Path({str(tmp_path / 'a.tar.gz')!r}))"
    )
    done = subprocess.run(
        [sys.executable, "-B", "-c", code], cwd=ROOT / "tools", capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (1, "Secrets in the tarball:\na.tar.gz!docs/a.md:1: a Fernet token\n")


def test_an_exception_after_its_logger_is_no_secret():
    scanner = secret_scan.Scanner({}, [])
    name = b"keystonemiddleware.auth_token: keystoneauth1.exceptions.connection.ConnectFailure"
    assert list(scanner.content("x", name)) == []
    for secret in (b"hunter2.abcdefgh", b"hunter2.Abcdefgh-", b"hunter2.Abcdefgh1"):
        assert list(scanner.content("x", b"auth_token: " + secret))
