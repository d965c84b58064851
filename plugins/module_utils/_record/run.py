# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The directory of a run: its record, always whole and valid, and its ledger."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import math
import os
import re
import secrets
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timezone
from typing import Any, BinaryIO, TextIO, TypeVar

from .._model import codec
from .._model.inventory import Tools
from .._model.level import RunLevel
from .._model.record import ORDER, SCHEMA, Record
from .._model.record import RUN_ID as RUN_ID_PATTERN
from .._model.stage import Resource, Stage
from .._model.verdict import Verdict
from .._model.words import Result, StageName
from . import shared_memory
from .clock import now, parse, seconds_of
from .errors import MALFORMED, StageError
from .ledger import (
    LONGEST_RECORD,
    ForeignFileError,
    Ledger,
    own_text,
    private,
    regular,
)
from .masking import words_of

# Only if a user asks for them
OPTIONAL = (StageName.DATAPLANE, StageName.JOURNEY)
# The stages of every run. The removal of what it has made is recorded as a stage of its own, beside these.
STAGES = tuple(
    name for name in ORDER if name not in (*OPTIONAL, StageName.REMOVAL)
)
# The file that a process locks that works on a run, and what the names of the locks of stages begin with
LOCK = "lock"
# The link to the newest run
LATEST = "latest"
RUN_ID = re.compile(RUN_ID_PATTERN)
# A record that could not be read, and was replaced by one that tells only of the removal
LOST_RECORD = "run.json.unreadable"
# In characters: a line of progress is for a terminal.
LONGEST_LINE = 1000
LONGEST_PATH = 4096
GENERATED_ID = re.compile(r"\d{8}-\d{6}-[0-9a-f]{6}")

# A record, or the part of one that is read
T = TypeVar("T")


def new_run_id() -> str:
    """Return an id that sorts by time, and differs between two runs of the same second."""
    return f"{datetime.now(timezone.utc):%Y%m%d-%H%M%S}-{secrets.token_hex(3)}"


@contextlib.contextmanager
def replaced(path: str) -> Iterator[BinaryIO]:
    """Replace a file as a whole: a reader finds the old content or the new one, also after a crash."""
    handle, new = tempfile.mkstemp(prefix=".new-", dir=os.path.dirname(path))
    try:
        with os.fdopen(handle, "wb") as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(new, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(new)
        raise


def write_whole(path: str, text: str) -> None:
    """Replace a file with a text, as a whole."""
    with replaced(path) as stream:
        stream.write(text.encode("utf-8"))


def new_record(
    run_id: str,
    cloud: str | None,
    level: RunLevel | None = None,
    tools: Tools | None = None,
) -> Record:
    return Record(
        schema=SCHEMA,
        run_id=run_id,
        cloud=cloud,
        started=seconds_of(now()),
        finished=None,
        duration_s=None,
        verdict=Verdict(Result.INCOMPLETE, None, "The run has not finished."),
        stages=(),
        hosts=(),
        flows=(),
        thresholds=(),
        history={},
        created=0,
        deleted=0,
        kept=False,
        leftovers=(),
        level=level,
        tools=tools,
    )


def write_record(directory: str, record: Record) -> None:
    write_whole(
        os.path.join(directory, "run.json"),
        json.dumps(codec.to_json(record), indent=1) + "\n",
    )


class Run:
    """A run and its directory.

    With recover the ledger is enough where there is no record that can be read, and the record where there is no
    ledger: what was made can be removed by either of them.
    """

    def __init__(
        self,
        directory: str,
        record: Record | None = None,
        recover: bool = False,
    ) -> None:
        # Not the link to the latest
        self.directory = os.path.realpath(directory)
        self.id = os.path.basename(self.directory)
        self.recover = recover
        # Why the record could not be read, if the run goes on by its ledger
        self.lost_record: str | None = None
        self.ledger = Ledger(self.path("ledger.jsonl"), recover)
        self.record = record or self._read()
        shared_memory.learn_secrets(self.token_path)

    def _read(self) -> Record:
        try:
            return read_record(self.directory)
        except StageError as exc:
            if (
                not self.recover
                or not os.path.lexists(self.ledger.path)
                or isinstance(exc, ForeignFileError)
            ):
                raise
            self.lost_record = str(exc)
        begun = [
            seconds_of(entry["begun"])
            for entry in self.ledger.entries.values()
            if is_time(entry["begun"])
        ]
        record = new_record(self.id, None)
        return replace(record, started=min(begun, default=record.started))

    def put_lost_record_aside(self) -> None:
        """Keep a record that cannot be read under another name, so that a new one can be written."""
        if os.path.lexists(self.path("run.json")):
            os.replace(self.path("run.json"), self.path(LOST_RECORD))
            self.say("cleanup", f"{self.lost_record}: kept as {LOST_RECORD}")
        self.lost_record = None

    @classmethod
    def imagined(cls, directory: str) -> Run:
        """Return a run for check mode. It need not exist, and nothing is written to it."""
        exists = os.path.exists(os.path.join(directory, "run.json"))
        return cls(
            directory,
            None if exists else new_record(os.path.basename(directory), None),
        )

    def path(self, name: str) -> str:
        return os.path.join(self.directory, name)

    @property
    def mark(self) -> str:
        """Return the beginning of the name or the description of everything that this run makes."""
        return f"stackproof-{self.id}"

    @property
    def has_chosen_id(self) -> bool:
        """Return whether a user chose the id, and may have used it elsewhere, too. A generated id is unique."""
        return not GENERATED_ID.fullmatch(self.id)

    def update(self, **changes: Any) -> None:
        """Replace fields of the record. It is written by save."""
        self.record = replace(self.record, **changes)

    def stage(self, name: StageName) -> Stage | None:
        return self.record.stage(name)

    def put_stage(self, stage: Stage) -> None:
        """Write a stage's record, and replace an older one of the same stage. Others may be written meanwhile."""
        with self._locked("lock.record", fcntl.LOCK_EX):
            self.record = self._read()
            others = [
                other
                for other in self.record.stages
                if other.stage is not stage.stage
            ]
            in_order = sorted(
                [*others, stage], key=lambda each: ORDER.index(each.stage)
            )
            self.update(stages=tuple(in_order))
            self.save()

    def resource(self, kind: str) -> Resource | None:
        """Return the first resource of a kind that a stage has made or chosen."""
        return next(
            (
                resource
                for resource in self.record.resources
                if resource.kind == kind
            ),
            None,
        )

    @property
    def token_path(self) -> str:
        """Return the path of the run's memory while the run is watched, else an empty text."""
        with (
            contextlib.suppress(OSError, ValueError),
            open(self.path("watched"), "rb", opener=regular) as stream,
        ):
            return stream.read(LONGEST_PATH).decode("ascii")
        return ""

    @property
    def login_key(self) -> str:
        """Return the path of the private key with which the client logs in to a guest."""
        return self.path("login_key")

    def forget_login_key(self) -> None:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self.login_key)

    def say(self, stage: str, text: str) -> None:
        """Write a line for the users who follow the run. A full disk fails where the record is written, not here."""
        line = {
            "at": now(),
            "stage": stage,
            "text": words_of(text, LONGEST_LINE),
        }
        with (
            contextlib.suppress(OSError),
            open(self.path("progress.jsonl"), "a", opener=private) as stream,
        ):
            stream.write(json.dumps(line) + "\n")

    def save(self) -> None:
        if self.lost_record:
            self.put_lost_record_aside()
        write_record(self.directory, self.record)

    def finish(self) -> None:
        finished = self.ended_at()
        # Several processes have done the run, so there is no other clock than one that may have been set back.
        self.update(
            finished=finished,
            duration_s=max(0.0, round(finished - self.record.started, 6)),
        )

    def ended_at(self) -> float:
        """Return when the run has ended: now, or when the operation did that was asked about."""
        operation = self.record.operation
        return (
            seconds_of(now())
            if operation is None or operation.ended is None
            else operation.ended
        )

    @contextlib.contextmanager
    def alone(self) -> Iterator[None]:
        """Hold the run's lock, so that no second process works on the run."""
        with self._locked(LOCK, fcntl.LOCK_EX | fcntl.LOCK_NB) as lock:
            sign(lock, str(os.getpid()))
            self._read_again()
            yield

    @contextlib.contextmanager
    def beside(self, stage: StageName) -> Iterator[None]:
        """Hold the lock of a stage. Meanwhile other processes may go through other stages, and do nothing else."""
        own_lock = f"{LOCK}.{stage}"
        with (
            self._locked(LOCK, fcntl.LOCK_SH | fcntl.LOCK_NB) as whole,
            self._locked(own_lock, fcntl.LOCK_EX | fcntl.LOCK_NB) as own,
        ):
            # Whoever had the run alone does not have it any more.
            sign(whole, "")
            sign(own, str(os.getpid()))
            self._read_again()
            yield

    @contextlib.contextmanager
    def _locked(self, name: str, how: int) -> Iterator[TextIO]:
        with open(
            self.path(name), "a", encoding="utf-8", opener=private
        ) as lock:
            try:
                fcntl.flock(lock, how)
            except BlockingIOError:
                hint = "Wait until it ends, or use another run_id."
                raise StageError(
                    "conflict",
                    f"another process works on the run {self.id}",
                    hint=hint,
                ) from None
            yield lock

    def _read_again(self) -> None:
        """Read what another process may have changed since."""
        self.ledger = Ledger(self.path("ledger.jsonl"), self.recover)
        self.record = self._read()


def sign(lock: TextIO, process: str) -> None:
    """Write into a lock which process holds it."""
    lock.truncate(0)
    lock.write(process)
    lock.flush()


def check_id(run_id: str) -> None:
    """Refuse what cannot be the name of a run and of its directory."""
    if not RUN_ID.fullmatch(run_id):
        message = f"{run_id!r} is not a run id, which has 3 to 40 small letters, digits and hyphens"
        raise StageError("invalid", message, resource=run_id)
    if run_id == LATEST:
        message = f"{run_id!r} is not a run id, as the link to the newest run has that name"
        raise StageError("invalid", message, resource=run_id)


def begin(
    runs: str,
    run_id: str,
    cloud: str | None,
    level: RunLevel | None = None,
    tools: Tools | None = None,
) -> tuple[Run, bool]:
    """Make the directory of a new run, or find that of an old one. Returns the run and whether it is new."""
    check_id(run_id)
    directory = os.path.join(os.path.abspath(runs), run_id)
    if os.path.exists(os.path.join(directory, "run.json")):
        run = Run(directory)
        check_own(run)
        return run, False
    make_private(directory)
    record = new_record(run_id, cloud, level, tools)
    os.close(
        os.open(
            os.path.join(directory, "ledger.jsonl"),
            os.O_CREAT | os.O_APPEND | os.O_WRONLY,
            0o600,
        )
    )
    write_record(directory, record)
    sync_directory(directory)
    point_latest(runs, run_id)
    return Run(directory), True


def make_directory(directory: str, kind: str, own_id: str) -> None:
    """Make the directory of something new that has many runs, such as a sweep. Each has an id of its own."""
    make_private(os.path.dirname(os.path.abspath(directory)))
    try:
        os.mkdir(directory, mode=0o700)
    except FileExistsError:
        hint = "Choose another id, or none."
        raise StageError(
            "conflict",
            f"there was a {kind} {own_id} before",
            resource=own_id,
            hint=hint,
        ) from None


def make_private(directory: str) -> None:
    """Make a directory and those above it that are missing, for this user alone, whatever the umask is."""
    missing, path = [], os.path.abspath(directory)
    while not os.path.isdir(path):
        missing.append(path)
        path = os.path.dirname(path)
    for path in reversed(missing):
        # Another run has just made it
        with contextlib.suppress(FileExistsError):
            os.mkdir(path, mode=0o700)
    if not os.path.isdir(directory):
        raise NotADirectoryError(
            errno.ENOTDIR, os.strerror(errno.ENOTDIR), directory
        )


def point_latest(runs: str, run_id: str) -> None:
    """Have the link to the newest run lead to this one. It is a convenience: no run fails for want of it."""
    new = os.path.join(runs, f".latest-{os.getpid()}")
    try:
        os.symlink(run_id, new)
        os.replace(new, os.path.join(runs, LATEST))
    except OSError:  # for example, a directory of somebody has that name
        with contextlib.suppress(OSError):
            os.unlink(new)


def sync_directory(path: str) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def read_record(directory: str) -> Record:
    record = read_as(Record, directory)
    if record.is_removal:
        # It has its place beside the stages, and none in their order.
        path = os.path.join(directory, "run.json")
        raise StageError(
            "no_run",
            f"{path} is no record of the schema {SCHEMA}: it has a removal among its stages",
        )
    return record


def read_as(kind: type[T], directory: str) -> T:
    """Return the record of a run, or the part of it that a class has. One of another form is refused with the place.

    Anybody may have put the file there.
    """
    path = os.path.join(directory, "run.json")
    try:
        text = own_text(path, LONGEST_RECORD)
    except FileNotFoundError:
        raise StageError(
            "no_run",
            f"{directory} is not the directory of a run: it has no run.json",
        ) from None
    except ValueError as exc:
        raise StageError("no_run", f"{path} cannot be read: {exc}") from None
    return parsed(kind, SCHEMA, path, text)


def parsed(kind: type[T], schema: str, path: str, text: str) -> T:
    """Return a record, or the part of it that a class has, of the text in a file. Anybody may have written it."""
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as exc:
        raise StageError("no_run", f"{path} cannot be read: {exc}") from None
    found = data.get("schema") if isinstance(data, dict) else None
    if found != schema:
        raise StageError(
            "no_run", f"the schema of {path} is {found}, not {schema}"
        )
    try:
        return codec.from_json(kind, data)
    except codec.MalformedError as exc:
        raise StageError(
            "no_run", f"{path} is no record of the schema {schema}: {exc}"
        ) from None
    except RecursionError:
        raise StageError(
            "no_run",
            f"{path} is no record of the schema {schema}: it is nested too deep",
        ) from None


def is_time(value: Any) -> bool:
    """Return whether a value is a time as records have it."""
    try:
        parse(value)
    except MALFORMED:
        return False
    return True


def is_finite(value: Any) -> bool:
    """Return whether a value is a number that others can be compared with, and that JSON can hold."""
    try:
        return (
            isinstance(value, (int, float))
            and not isinstance(value, bool)
            and math.isfinite(value)
        )
    except OverflowError:
        return False


def is_seconds(value: Any) -> bool:
    """Return whether a value is a duration. What JSON of others may have instead, such as NaN or 10**400, is not."""
    return is_finite(value) and 0 <= value <= codec.LONGEST


def check_own(run: Run) -> None:
    """Refuse a run whose ledger another user may have written: this user's rights would remove what it names."""
    hint = "Clean up as the user who made the run, in the directory in which it was made."
    if not RUN_ID.fullmatch(run.id) or run.record.run_id != run.id:
        message = f"the directory {run.directory} does not have the name of its run, {run.record.run_id}"
        raise StageError("invalid", message, resource=run.id, hint=hint)
    for path in (
        run.directory,
        run.path("run.json"),
        run.path("ledger.jsonl"),
    ):
        owner = (
            os.lstat(path).st_uid if os.path.lexists(path) else os.geteuid()
        )
        if owner != os.geteuid():
            message = f"{path} belongs to another user (number {owner}), so nothing that it names is removed"
            raise StageError("invalid", message, resource=run.id, hint=hint)


def run_directories(runs: str, *others: str) -> list[str]:
    """Return the directories of all runs, oldest first, without the link to the latest.

    others: names of files that also make a directory that of a run, where it has no record.
    """
    try:
        names = sorted(os.listdir(runs))
    except FileNotFoundError:
        return []
    paths = [os.path.join(runs, name) for name in names]
    return [
        path
        for path in paths
        if not os.path.islink(path) and has_any(path, ("run.json", *others))
    ]


def has_any(directory: str, names: tuple[str, ...]) -> bool:
    return any(os.path.exists(os.path.join(directory, name)) for name in names)
