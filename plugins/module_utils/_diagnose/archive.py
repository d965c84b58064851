# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Unpack archives of logs for as long as they are read: only their files, below one folder, and only so much."""

from __future__ import annotations

import bz2
import contextlib
import errno
import gzip
import lzma
import os
import tarfile
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timezone
from typing import IO, Any

from .._record.errors import StageError
from . import unxz

# The endings of archives, and what unpacks the compression around a tar
TARS: dict[str, Callable[[Any], Any] | None] = {
    ".tar": None,
    ".tar.gz": gzip.open,
    ".tgz": gzip.open,
    ".tar.bz2": bz2.open,
    ".tar.xz": unxz.opened,
    ".txz": unxz.opened,
}
ZIP = ".zip"
ENDINGS = (*TARS, ZIP)
# The endings of the files that sos and others put beside an archive
CHECKSUMS = (".md5", ".sha1", ".sha256", ".asc")
# Of all archives together
MOST_BYTES = 32 << 30
MOST_FILES = 200_000
# A report of a cluster has those of its hosts in it.
DEEPEST = 3
BLOCK = 1 << 20
LONGEST_NAME = 200
# What a damaged archive may raise, or one with a password or an unknown compression
DAMAGED: tuple[type[BaseException], ...] = (
    tarfile.TarError,
    zipfile.BadZipFile,
    EOFError,
    zlib.error,
    lzma.LZMAError,
    unxz.TooMuchMemoryError,
    RuntimeError,
    OSError,
    NotImplementedError,
    MemoryError,
    ValueError,
)


@dataclass
class Budget:
    """How much may still be unpacked. left_out: how many things that are no files were not.

    unread: the archives in others that could not be read, as sentences.
    """

    size: int
    files: int
    left_out: int = 0
    unread: list[str] = field(default_factory=list)

    @property
    def doubts(self) -> list[str]:
        """Return what a reader has to know, as sentences."""
        left_out = (
            [
                f"{self.left_out} links and other things that are no files were not unpacked"
            ]
            if self.left_out
            else []
        )
        return [*left_out, *self.unread]

    def take(self, size: int) -> None:
        self.size -= size
        if self.size < 0:
            raise StageError(
                "invalid",
                f"more than {MOST_BYTES >> 30} GiB are packed",
                hint="Unpack what is needed of it.",
            )

    def take_file(self) -> None:
        self.files -= 1
        if self.files < 0:
            raise StageError(
                "invalid",
                f"more than {MOST_FILES} files are packed",
                hint="Unpack what is needed of it.",
            )


@contextlib.contextmanager
def directory_of(path: str) -> Iterator[tuple[str, list[str]]]:
    """Yield the directory of logs at a path: that itself, or for so long one with what the archives there have.

    The second part is what a reader has to know, as sentences.
    """
    packed = archives_at(path)
    if not packed:
        yield path, []
        return
    with tempfile.TemporaryDirectory(prefix="stackproof-bundle-") as folder:
        budget = Budget(MOST_BYTES, MOST_FILES)
        for archive in packed:
            unpack(archive, os.path.join(folder, stem(archive)), budget, 1)
        yield folder, budget.doubts


def archives_at(path: str) -> list[str]:
    """Return the archive at a path, or those in a directory that has only them and their checksums."""
    if os.path.isfile(path):
        if is_archive(path):
            return [path]
        return []
    try:
        listed = sorted(os.listdir(path))
    except OSError:
        return []
    names = [name for name in listed if not name.endswith(CHECKSUMS)]
    if not all(map(is_archive, names)):
        return []
    return [os.path.join(path, name) for name in names]


def is_archive(name: str) -> bool:
    return name.lower().endswith(ENDINGS)


def stem(path: str) -> str:
    """Return the name of an archive without its ending."""
    name = os.path.basename(path)
    return name[: -len(ending_of(name))] or "archive"


def ending_of(name: str) -> str:
    """Return the ending by which a name is that of an archive."""
    return max(
        (ending for ending in ENDINGS if name.lower().endswith(ending)),
        key=len,
    )


def unpack(path: str, folder: str, budget: Budget, depth: int) -> None:
    """Unpack an archive into a folder, and the archives in it."""
    os.makedirs(folder, mode=0o700, exist_ok=True)
    members = of_zip if ending_of(path) == ZIP else of_tar
    try:
        inner = list(filter(is_archive, members(path, folder, budget)))
    except DAMAGED as exc:
        if is_of_this_machine(exc):
            raise
        note_damaged(path, exc, budget, depth)
        return
    if depth >= DEEPEST:
        return
    for target in inner:
        unpack(
            target,
            os.path.join(os.path.dirname(target), stem(target)),
            budget,
            depth + 1,
        )
        os.unlink(target)


def is_of_this_machine(exc: BaseException) -> bool:
    """Return whether an error is of this machine, such as a full disk, and not of an archive."""
    # Those have a number; a place before the beginning of a file has this one.
    return isinstance(exc, OSError) and exc.errno not in (None, errno.EINVAL)


def note_damaged(
    path: str, exc: BaseException, budget: Budget, depth: int
) -> None:
    """Note that an archive in another one cannot be read; refuse one that was given itself."""
    message = f"{os.path.basename(path)} cannot be read as an archive: {str(exc) or type(exc).__name__}"
    if depth == 1:
        hint = "Unpack it yourself, and give the directory."
        raise StageError(
            "invalid", message, resource=path, hint=hint
        ) from None
    budget.unread.append(message)


def of_tar(path: str, folder: str, budget: Budget) -> Iterator[str]:
    """Unpack the files of a tar, and yield the path of each. It is read as a stream: nothing has to be sought."""
    with contextlib.ExitStack() as stack:
        raw: IO[bytes] = stack.enter_context(open(path, "rb"))
        opener = TARS[ending_of(path)]
        stream = stack.enter_context(opener(raw)) if opener else raw
        archive = stack.enter_context(tarfile.open(fileobj=stream, mode="r|"))
        for member in archive:
            content = archive.extractfile(member) if member.isreg() else None
            if content is None:
                budget.left_out += not member.isdir()
                continue
            target = target_of(member.name, folder, budget)
            if target is not None:
                write(content, target, float(member.mtime), budget)
                yield target


def of_zip(path: str, folder: str, budget: Budget) -> Iterator[str]:
    """Unpack the files of a zip, and yield the path of each. A link in it becomes a file with its target as text."""
    with zipfile.ZipFile(path) as archive:
        for member in archive.infolist():
            target = (
                None
                if member.is_dir()
                else target_of(member.filename, folder, budget)
            )
            if target is None:
                continue
            with archive.open(member) as content:
                write(content, target, time_of(member), budget)
            yield target


def time_of(member: zipfile.ZipInfo) -> float:
    """Return when a member of a zip was changed; a zip has no time zone, and any numbers for a time."""
    try:
        return datetime(*member.date_time, tzinfo=timezone.utc).timestamp()
    except ValueError:
        return 0.0


def target_of(name: str, folder: str, budget: Budget) -> str | None:
    """Return where a member goes: below the folder. None for a name that leads elsewhere, or that no file can have."""
    parts = [part for part in name.split("/") if part not in ("", ".")]
    if leads_out(name, parts) or not can_be_written(name, parts):
        budget.left_out += 1
        return None
    target = os.path.join(folder, *parts)
    parent = os.path.dirname(target)
    try:
        os.makedirs(parent, mode=0o700, exist_ok=True)
    except (FileExistsError, NotADirectoryError):
        budget.left_out += 1
        return None
    if os.path.lexists(target):
        return None
    return target


def leads_out(name: str, parts: Sequence[str]) -> bool:
    return name.startswith("/") or ".." in parts


def can_be_written(name: str, parts: Sequence[str]) -> bool:
    """Return whether a file can have a name that is made of these parts."""
    if not parts or "\0" in name:
        return False
    longest = max(map(len, parts))
    return longest <= LONGEST_NAME


def write(
    content: IO[bytes], target: str, changed: float, budget: Budget
) -> None:
    """Write a file for this user alone, with the time that it had: it shows in which zone a log is."""
    budget.take_file()
    with open(
        os.open(
            target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600
        ),
        "wb",
    ) as stream:
        while block := content.read(BLOCK):
            budget.take(len(block))
            stream.write(block)
    with contextlib.suppress(OSError, OverflowError, ValueError):
        os.utime(target, (changed, changed))
