# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the module writes, and what it leaves alone."""

from __future__ import annotations

import os
import stat
import time

import pytest
from ansible_collections.stackproof.lab.plugins.modules import files as module

# The files of a lab belong to root, and only root can make such: as another user there is nothing to test with.
pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root may give files to root")

OTHER_GID = 1


@pytest.fixture
def path(tmp_path):
    return str(tmp_path / "etc" / "service" / "service.conf")


def entry(path, content="text\n", group="root", mode="0640", tree="service"):
    return {"tree": tree, "path": path, "content": content, "group": group, "mode": mode}


def read(path):
    with open(path, "rb") as file:
        return file.read()


def test_write_makes_content_owner_and_mode(path):
    module.write(path, b"text\n", OTHER_GID, 0o640)
    status = os.stat(path)
    assert read(path) == b"text\n"
    assert (status.st_uid, status.st_gid, stat.S_IMODE(status.st_mode)) == (0, OTHER_GID, 0o640)
    assert os.listdir(os.path.dirname(path)) == ["service.conf"]


def test_written_does_not_differ(path):
    module.write(path, b"text\n", OTHER_GID, 0o640)
    assert not module.differs(path, b"text\n", OTHER_GID, 0o640)


def test_missing_differs(path):
    assert module.differs(path, b"", 0, 0o644)


@pytest.mark.parametrize(
    "wanted",
    [(b"more\n", OTHER_GID, 0o640), (b"text\n", 0, 0o640), (b"text\n", OTHER_GID, 0o750)],
    ids=["content", "group", "mode"],
)
def test_other_differs_until_written(path, wanted):
    module.write(path, b"text\n", OTHER_GID, 0o640)
    assert module.differs(path, *wanted)
    module.write(path, *wanted)
    assert not module.differs(path, *wanted)


def test_other_owner_differs(path):
    module.write(path, b"text\n", 0, 0o644)
    os.chown(path, 1, 0)
    assert module.differs(path, b"text\n", 0, 0o644)


def test_link_is_replaced_and_its_target_is_not(path, tmp_path):
    target = tmp_path / "target"
    target.write_text("of the package\n")
    os.makedirs(os.path.dirname(path))
    os.symlink(target, path)
    assert module.differs(path, b"of the package\n", 0, 0o644)
    module.write(path, b"ours\n", 0, 0o644)
    assert not os.path.islink(path)
    assert target.read_text() == "of the package\n"


def test_module_writes_once(call, path):
    files = [entry(path), entry(path + ".d", mode="0755"), entry(path + ".e", tree="other")]
    begun = int(time.time())
    first = call(module, files=files)
    assert begun <= first["time"] <= time.time()
    assert (first["changed"], first["trees"]) == (True, ["service", "other"])
    assert first["paths"] == [path, path + ".d", path + ".e"]
    assert stat.S_IMODE(os.stat(path + ".d").st_mode) == 0o755
    second = call(module, files=files)
    assert (second["changed"], second["paths"], second["trees"]) == (False, [], [])


def test_module_names_only_the_tree_that_changed(call, path):
    call(module, files=[entry(path), entry(path + ".e", tree="other")])
    result = call(module, files=[entry(path), entry(path + ".e", "new\n", tree="other")])
    assert (result["paths"], result["trees"]) == ([path + ".e"], ["other"])
    assert read(path + ".e") == b"new\n"


def test_module_keeps_content_to_the_letter(call, path):
    content = "  no newline, ünïcode, {{ braces }}\r\n\n  last"
    call(module, files=[entry(path, content)])
    assert read(path) == content.encode()


def test_check_mode_writes_nothing(call, path):
    result = call(module, check=True, files=[entry(path)])
    assert (result["changed"], result["paths"]) == (True, [path])
    assert not os.path.exists(path)


def test_unknown_group_is_named_with_the_file(call, path):
    result = call(module, files=[entry(path, group="no-such-group")])
    assert result["failed"]
    assert path in result["msg"]
    assert "no-such-group" in result["msg"]


def test_path_that_is_a_folder_fails(call, path):
    os.makedirs(path, mode=0o755)
    result = call(module, files=[entry(path)])
    assert result["failed"]
    assert path in result["msg"]


def test_no_files_change_nothing(call):
    assert call(module)["changed"] is False
