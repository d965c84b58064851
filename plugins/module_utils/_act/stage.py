# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The frame of all stages: options, the connection, making things once, waiting, and the stage record."""

from __future__ import annotations

import contextlib
import json
import signal
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from types import FrameType
from typing import Any, Generic, TypeVar

from ansible.module_utils.basic import AnsibleModule, missing_required_lib

from .._cloud import addresses, connection, session, token_cache
from .._cloud.errors import CLOUD_ERRORS, failing, failure_of
from .._cloud.transport import Sample, reason_of
from .._model import codec
from .._model.details import Details
from .._model.stage import Call, Failure, Resource, Wait
from .._model.stage import Stage as StageRecord
from .._model.words import StageName, StageStatus
from .._record import ledger, waiting
from .._record.clock import Stopwatch, now, seconds_of
from .._record.errors import HINTS, Interrupted, StageError, sentence, trace_of
from .._record.masking import bounded_copy
from .._record.run import Run
from .._record.waiting import Look

# How many seconds to look for a resource whose creation was not answered
LOOKS_AFTER_BREAK, LOOKS_AFTER_TIMEOUT = 6, 60
# What a request has its values from that a cloud refuses
VALUES = {
    StageName.IMAGE: "Look at stackproof_image_file and the variables that begin with stackproof_image_.",
    StageName.NETWORK: "Look at the variables that begin with stackproof_network_.",
    StageName.VOLUME: "Look at the variables that begin with stackproof_volume_.",
    StageName.BOOT: "Look at the flavor (stackproof_flavor) and at the image (stackproof_image, or "
    "stackproof_image_file with stackproof_image_min_disk and stackproof_image_properties).",
}
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

D = TypeVar("D", bound=Details)
T = TypeVar("T")
# Return what a cloud gives for a resource: an object with its id and its name.
Make = Callable[[], Any]


@dataclass(frozen=True)
class Named:
    """A resource of which the answer to its creation gives no more than the id."""

    id: str
    name: str

    @classmethod
    def from_json(cls, resource: Mapping[str, Any]) -> Named:
        """Return a resource that a service lists."""
        return cls(resource["id"], resource["name"])


class Stage(Generic[D]):
    """One stage at work. Its calls, waits, resources and details become the record."""

    def __init__(
        self,
        name: StageName,
        run: Run,
        params: Mapping[str, Any],
        details: D,
        check: bool = False,
    ) -> None:
        self.name = name
        self.run = run
        self.params = params
        self.details = details
        self.check = check
        self.calls: list[Call] = []
        self.samples: list[Sample] = []
        self.waits: list[Wait] = []
        self.resources: list[Resource] = []
        self.doing = "starting"
        self.changed = False
        self.deadline = waiting.Deadline(params["timeout"])
        self._watch = Stopwatch()
        self._cloud: Any = None

    @property
    def cloud(self) -> Any:
        """The connection, made at its first use: a stage with nothing to do sends no request."""
        if self._cloud is None:
            self._cloud = connection.connect(
                self.params, self.calls, self.samples, self.deadline
            )
            if self.name != StageName.AUTH:
                token_cache.take(self.run.token_path, self._cloud.session.auth)
        return self._cloud

    def keep_token(self) -> None:
        if self._cloud is not None and not self.check:
            token_cache.put(self.run.token_path, self._cloud.session.auth)

    def say(self, text: str) -> None:
        self.run.say(self.name, text)

    def begin(self, doing: str) -> None:
        self.doing = doing
        if not self.check:
            self.say(doing)

    def details_of(self, name: StageName, kind: type[T]) -> T:
        """Return what an earlier stage of the run knows; nothing if it has not begun."""
        return codec.from_json(
            kind,
            self.run.record.stage_or_skipped(name).details,
            f"{name}.details",
        )

    def resource(self, kind: str) -> Resource | None:
        """Return the first resource of a kind that a stage of the run has made or chosen."""
        return self.run.resource(kind)

    def needed(self, kind: str) -> Resource:
        """Return the same, without which the stage can do nothing."""
        resource = self.resource(kind)
        if resource is None:
            message = f"there is no {kind.replace('_', ' ')} yet"
            hint = "Run the earlier stages of this run first, with the same variables."
            raise StageError("invalid", message, hint=hint)
        return resource

    def use(self, kind: str, resource: Any, made: bool = False) -> Any:
        """Record a resource that this run works with."""
        if not isinstance(resource.id, str) or not isinstance(
            resource.name, (str, type(None))
        ):
            message = f"the answer has the id {resource.id!r:.80} and the name {resource.name!r:.80}"
            raise StageError(
                "malformed", f"{self.doing}: {message}, which no service gives"
            )
        used = Resource(
            kind=kind, id=resource.id, name=resource.name, created=made
        )
        if not any(
            (other.kind, other.id) == (kind, used.id)
            for other in self.resources
        ):
            self.resources.append(used)
        return resource

    def create(self, kind: str, name: str, make: Make, find: Make) -> Any:
        """Make a resource exactly once per run and name. find returns it if it exists already, else None."""
        self.begin(f"creating the {kind.replace('_', ' ')} {name}")
        entry = self.run.ledger.find(kind, name)
        resource = find() if entry or self.run.has_chosen_id else None
        if resource is not None and not entry:
            raise name_conflict(kind, name)
        if resource is None:
            self.run.ledger.write(ledger.BEGUN, kind, name)
            resource = self._make(kind, name, make, find)
        self._check_own(kind, name, resource)
        self.run.ledger.write(ledger.MADE, kind, name, id=resource.id)
        self.changed = True
        return self.use(kind, resource, made=True)

    def _check_own(self, kind: str, name: str, resource: Any) -> None:
        """Refuse an answer that is not about what was asked for: its id could lead anywhere."""
        if not ledger.is_id(kind, resource.id):
            # It is still begun in the ledger: the cleanup looks for its name.
            message = f"the answer has the id {resource.id!r:.80}, which no service gives"
            raise StageError(
                "malformed", f"{self.doing}: {message}", resource=name
            )
        if resource.name != name:
            # Somebody else's must neither be used nor removed.
            message = f"the answer is about {resource.name!r:.80}, which this run has not asked for"
            raise StageError(
                "malformed", f"{self.doing}: {message}", resource=name
            )

    def _make(self, kind: str, name: str, make: Make, find: Make) -> Any:
        try:
            return make()
        except session.OutOfTimeError:
            self.run.ledger.write(ledger.REFUSED, kind, name)
            raise
        except CLOUD_ERRORS as exc:
            if not session.is_unanswered(exc):
                self._note_refusal(exc, kind, name)
                raise
            hangs = session.may_still_take_effect(exc)
            self.run.ledger.write(
                ledger.LOST, kind, name, **{ledger.HANGS: hangs}
            )
            looks = LOOKS_AFTER_BREAK
            if hangs:
                looks = LOOKS_AFTER_TIMEOUT
            resource = self._find_lost(name, find, looks)
            if resource is None and hangs:
                raise
        return resource or make()

    def _note_refusal(self, exc: BaseException, kind: str, name: str) -> None:
        status = session.status_of(exc)
        # After an error of the service, the resource may exist all the same: cleanup looks for it.
        if not status or status >= 500:
            return
        self.run.ledger.write(ledger.REFUSED, kind, name)

    def _find_lost(self, name: str, find: Make, looks: int) -> Any:
        """Return the resource whose creation was not answered, if it exists: look before making a second one."""
        for _look in range(looks):
            if self.deadline.left() <= 0:
                break
            time.sleep(1)
            resource = find()
            if resource is not None:
                self.details = replace(
                    self.details,
                    found_without_answer=(
                        *self.details.found_without_answer,
                        name,
                    ),
                )
                return resource
        return None

    def wait(
        self,
        what: str,
        look: Callable[[], Look],
        pace: Callable[[float], float] = waiting.usual_pace,
    ) -> Any:
        """Look until it is done. Until the deadline, a look without an answer is a state as well."""

        def patient_look() -> Look:
            try:
                return look()
            except CLOUD_ERRORS as exc:
                if not session.is_unanswered(exc):
                    raise
                return False, f"no answer ({reason_of(exc)})", None

        self.doing = f"waiting for {what}"
        say = self.say if not self.check else lambda _text: None
        return waiting.wait_until(
            what, patient_look, self.deadline, self.waits, say, pace
        )

    def record(
        self, status: StageStatus, failure: Failure | None = None
    ) -> StageRecord:
        """Return the stage as it is now, without the secrets that a cloud may have put into its texts."""
        endpoints = (
            connection.known_endpoints(self._cloud) if self._cloud else []
        )
        record = StageRecord(
            stage=self.name,
            status=status,
            started=self._watch.began,
            finished=seconds_of(now()),
            duration_s=self._watch.seconds(),
            resources=tuple(self.resources),
            calls=addresses.with_services(self.calls, endpoints),
            waits=tuple(self.waits),
            details=codec.to_json(self.details),
            error=failure,
        )
        return bounded_copy(record)


# Do the work of a stage. Return SKIPPED if there was none.
Act = Callable[[Stage[D]], "StageStatus | None"]


def name_conflict(kind: str, name: str) -> StageError:
    message = f"the {kind.replace('_', ' ')} {name} is on the cloud already, and this run did not make it"
    hint = "Choose another run_id: this one was used before, perhaps from another machine."
    return StageError("conflict", message, resource=name, hint=hint)


def interrupt(number: int, _frame: FrameType | None) -> None:
    raise Interrupted(signal.Signals(number).name)


def check_texts(options: Mapping[str, Any]) -> None:
    """Refuse bytes that are not text, before anything is asked for: no request could hold them."""
    for name, value in options.items():
        try:
            json.dumps(value, ensure_ascii=False, default=str).encode()
        except UnicodeEncodeError:
            raise StageError(
                "invalid",
                f"{name} is not text in UTF-8: {value!a:.80}",
                resource=name,
            ) from None


def perform(stage: Stage[D], act: Act[D]) -> tuple[StageRecord, str | None]:
    """Run a stage to its record, whatever happens. Return it, and a traceback if a defect of ours ended the stage."""
    for number in SIGNALS:
        signal.signal(number, interrupt)
    trace = None
    try:
        if not stage.check:
            write_unfinished(stage)
        check_texts(stage.params)
        status = act(stage) or StageStatus.OK
        record = stage.record(status)
    except (Exception, Interrupted) as exc:
        failure = with_variables(failure_of(exc, stage.doing), stage.name)
        record = stage.record(StageStatus.FAILED, failure)
        trace = trace_of(failure.kind)
    # After a failure, too: what later processes mask is kept beside the token.
    stage.keep_token()
    for number in SIGNALS:
        signal.signal(number, signal.SIG_IGN)
    return record if stage.check else written(stage, record), trace


def with_variables(failure: Failure, stage: StageName) -> Failure:
    """Return a failure that names the variables of its stage, where the cloud has refused the values of a request."""
    if failure.hint != HINTS["invalid"]:
        return failure
    return replace(failure, hint=VALUES.get(stage, failure.hint))


def write_unfinished(stage: Stage[D]) -> None:
    """Write the record that stays if the process dies."""
    unfinished = StageError(
        "interrupted",
        f"the stage {stage.name} began and did not come to its end",
    )
    stage.run.put_stage(stage.record(StageStatus.FAILED, unfinished.failure))


def written(stage: Stage[D], record: StageRecord) -> StageRecord:
    """Write the record of a stage that has ended, and return it; a failed one if it cannot be written."""
    try:
        stage.run.put_stage(record)
    except (OSError, StageError) as exc:
        record = replace(
            record,
            status=StageStatus.FAILED,
            error=failure_of(exc, "writing run.json"),
        )
    stage.say(f"{record.status} after {record.duration_s:.1f} s")
    return record


def run_stage(
    name: StageName,
    act: Act[D],
    details: D,
    options: dict[str, Any],
    timeout: float,
    **rules: Any,
) -> None:
    """Be the main function of a stage's module. details: what the stage knows at its beginning, nothing."""
    module = AnsibleModule(
        argument_spec={
            **connection.CLOUD_OPTIONS,
            "run_dir": {"type": "path", "required": True},
            "timeout": {"type": "float", "default": timeout},
            **options,
        },
        supports_check_mode=True,
        **rules,
    )
    connection.hide_only_secrets(module)
    if not connection.HAS_SDK:
        module.fail_json(msg=missing_required_lib("openstacksdk"))
    trace = None
    with failing(module, f"{name}: opening {module.params['run_dir']}"):
        run = (
            Run.imagined(module.params["run_dir"])
            if module.check_mode
            else Run(module.params["run_dir"])
        )
        stage = Stage(name, run, module.params, details, module.check_mode)
        with (
            contextlib.nullcontext() if module.check_mode else run.beside(name)
        ):
            record = finished_record(run, name)
            if record is None:
                record, trace = perform(stage, act)
    result = codec.to_json(record)
    if record.status == StageStatus.FAILED:
        # The whole record is in run.json: here it would bury the message.
        message = f"{name}: {sentence(result['error'])}"
        module.fail_json(
            msg=message,
            exception=trace,
            changed=stage.changed,
            error=result["error"],
        )
    module.exit_json(changed=stage.changed, record=result)


def finished_record(run: Run, name: StageName) -> StageRecord | None:
    """Return the record of an earlier call of this stage, if there is one. An interrupted stage may run again."""
    record = run.stage(name)
    if record is None or run.record.finished is not None:
        return record
    if record.error_kind == "interrupted":
        return None
    return record
