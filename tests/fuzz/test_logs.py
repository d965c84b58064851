# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Lines of logs and whole bundles that nobody expects."""

from __future__ import annotations

import io
import tarfile
import tempfile
import warnings
import zipfile
from pathlib import Path

import pytest
from ansible_collections.stackproof.provision.plugins.module_utils._collect.logs import line_formats
from ansible_collections.stackproof.provision.plugins.module_utils._diagnose import archive as archive_module
from ansible_collections.stackproof.provision.plugins.module_utils._diagnose import line
from ansible_collections.stackproof.provision.plugins.module_utils._record import masking
from ansible_collections.stackproof.provision.plugins.module_utils._record.errors import StageError
from ansible_collections.stackproof.provision.plugins.modules import bundle_info, diagnosis
from mutations import PLANTED, SECRETS, STRANGE, mutated_bytes
from tree import RECORDED

LINES = [
    line
    for path in sorted((RECORDED / "followed/logs").rglob("*.log"))
    for line in path.read_bytes().splitlines()
    if line.strip()
]


@pytest.mark.cases(250)
def test_a_line_is_read_or_left_out_and_its_secret_is_not_quoted(cases):
    for chance in cases:
        for _line in range(200):
            text = mutated_bytes(chance.choice(LINES), chance).decode(errors="surrogateescape")
            parsed = line_formats.parse(text, 1795272180.0, chance.choice((0, 19800, -43200)))
            if parsed:
                line.line_of(parsed, text, "a", "nova-compute")
            told = f"{text[:200]} {chance.choice(SECRETS).format(PLANTED)}"
            assert PLANTED not in (masking.quote_of(told) or "")


def options_of(bundle, chance):
    """What is asked about: mostly ids that are there, and now and then something strange."""
    known = {
        "server_id": bundle.boot.server,
        "request_id": bundle.boot.request,
        "resource_id": bundle.boot.volume,
        "error": f"No (HTTP 500) (Request-ID: {bundle.boot.request})",
        "since": "2026-11-21T14:40:00Z",
    }
    name = chance.choice(list(known))
    strange = [text for text in STRANGE if isinstance(text, str) and "\0" not in text and "\udc80" not in text]
    return {name: known[name] if chance.random() < 0.8 else chance.choice(strange)}


@pytest.mark.cases(60)
def test_a_bundle_is_refused_or_judged(cases, call, bundle, bundle_options, tmp_path):
    whole = {key: list(lines) for key, lines in bundle.lines.items()}
    for number, chance in enumerate(cases):
        top = bundle.top = tmp_path / f"bundle-{number}"
        top.mkdir()
        bundle.lines = {key: list(lines) for key, lines in whole.items()}
        for key in chance.sample(list(whole), 5):
            text = "\n".join(whole[key]).encode(errors="surrogateescape")
            bundle.lines[key] = mutated_bytes(text, chance).decode(errors="surrogateescape").split("\n")
        options = bundle_options(bundle.write(), **options_of(bundle, chance))
        read = call(bundle_info, **options)
        if not read.get("failed"):
            about = {"bundle": read["bundle"], "flows": options["flows"], "diagnoses": str(tmp_path / "diagnoses")}
            call(diagnosis, **about)


def packed(chance):
    """Return the name and the bytes of an archive of a few logs."""
    kind = chance.choice(["tar", "tar.gz", "tar.bz2", "tar.xz", "zip"])
    stream = io.BytesIO()
    names = [
        chance.choice(["a/nova.log", "../b", "/c", "d" * 300, "e\\f", "g/../h", "a", "i/j.tar.gz"])
        for _name in range(4)
    ]
    if kind == "zip":
        with zipfile.ZipFile(stream, "w") as archive, warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of names that stand twice
            for name in names:
                archive.writestr(name, chance.choice(LINES))
        return f"b.{kind}", stream.getvalue()
    with tarfile.open(fileobj=stream, mode=f"w:{kind.partition('.')[2]}") as archive:
        for name in names:
            info, content = tarfile.TarInfo(name), chance.choice(LINES)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return f"b.{kind}", stream.getvalue()


@pytest.mark.cases(200)
def test_an_archive_is_refused_or_unpacked_below_its_folder(cases, tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    for number, chance in enumerate(cases):
        name, content = packed(chance)
        path = tmp_path / f"{number}-{name}"
        path.write_bytes(mutated_bytes(content, chance) if chance.random() < 0.8 else content)
        before = set(tmp_path.iterdir())
        refused = None
        try:
            with archive_module.directory_of(str(path)) as (directory, _doubts):
                assert Path(directory).parent == tmp_path
        except StageError as exc:
            refused = exc.failure
        assert refused is None or refused.hint
        assert set(tmp_path.iterdir()) == before
