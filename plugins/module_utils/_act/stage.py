# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The frame of all stages: options, the connection, making things once, waiting, and the stage record."""

from __future__ import annotations

import contextlib
import json
import signal
import time

from ansible.module_utils.basic import AnsibleModule, missing_required_lib

from .._cloud import addresses, connection, session, token_cache
from .._cloud.errors import CLOUD_ERRORS, explain, failing
from .._record import ledger, shapes, waiting
from .._record.clock import Stopwatch, now
from .._record.errors import Interrupted, StageError, sentence, trace_of
from .._record.masking import bounded
from .._record.run import Run

# How many seconds to look for a resource whose creation was not answered
LOOKS_AFTER_BREAK, LOOKS_AFTER_TIMEOUT = 6, 60


class Stage:
    """One stage at work. Its calls, waits, resources and details become the record."""

    def __init__(self, name, run, params, check=False):
        self.name = name
        self.run = run
        self.params = params
        self.check = check
        self.calls, self.samples = [], []
        self.waits, self.resources, self.details = [], [], {}
        self.doing, self.changed = "starting", False
        self.deadline = waiting.Deadline(params["timeout"])
        self._watch, self._cloud = Stopwatch(), None

    @property
    def cloud(self):
        """The connection, made at its first use: a stage with nothing to do sends no request."""
        if self._cloud is None:
            self._cloud = connection.connect(self.params, self.calls, self.samples, self.deadline)
            if self.name != "auth":
                token_cache.take(self.run.token_path, self._cloud.session.auth)
        return self._cloud

    def keep_token(self):
        if self._cloud is not None and not self.check:
            token_cache.put(self.run.token_path, self._cloud.session.auth)

    def say(self, text):
        self.run.say(self.name, text)

    def begin(self, doing):
        self.doing = doing
        if not self.check:
            self.say(doing)

    def use(self, kind, resource, made=False):
        """Record a resource that this run works with."""
        if not any(used["kind"] == kind and used["id"] == resource.id for used in self.resources):
            self.resources.append({"kind": kind, "id": resource.id, "name": resource.name, "made": made})
        return resource

    def create(self, kind, name, make, find):
        """Make a resource exactly once per run and name. find returns it if it exists already, else None."""
        self.begin(f"making the {kind.replace('_', ' ')} {name}")
        entry = self.run.ledger.find(kind, name)
        resource = find() if entry or self.run.has_chosen_id else None
        if resource is not None and not entry:
            raise name_conflict(kind, name)
        if resource is None:
            self.run.ledger.write(ledger.BEGUN, kind, name)
            resource = self._make(kind, name, make, find)
        if not ledger.is_id(kind, resource.id):
            # It is still begun in the ledger: the cleanup looks for its name.
            message = f"the answer has the id {resource.id!r:.80}, which no service gives"
            raise StageError("malformed", f"{self.doing}: {message}", resource=name)
        if resource.name != name:
            # Somebody else's must neither be used nor removed.
            message = f"the answer is about {resource.name!r:.80}, which this run has not asked for"
            raise StageError("malformed", f"{self.doing}: {message}", resource=name)
        self.run.ledger.write(ledger.MADE, kind, name, id=resource.id)
        self.changed = True
        return self.use(kind, resource, made=True)

    def _make(self, kind, name, make, find):
        try:
            return make()
        except session.OutOfTimeError:
            self.run.ledger.write(ledger.REFUSED, kind, name)
            raise
        except CLOUD_ERRORS as exc:
            if not session.is_unanswered(exc):
                # After an error of the service, the resource may exist all the same: cleanup looks for it.
                if (session.status_of(exc) or 500) < 500:
                    self.run.ledger.write(ledger.REFUSED, kind, name)
                raise
            self.run.ledger.write(ledger.LOST, kind, name)
            # A service that hangs may still make it. One that broke off did so at once, or never will.
            hangs = isinstance(exc, session.ConnectTimeout) or session.status_of(exc) == session.GATEWAY_TIMEOUT
            resource = self._find_lost(name, find, LOOKS_AFTER_TIMEOUT if hangs else LOOKS_AFTER_BREAK)
            if resource is None and hangs:
                raise
        return resource or make()

    def _find_lost(self, name, find, looks):
        """The resource whose creation was not answered, if it exists: look before making a second one."""
        for _look in range(looks):
            if self.deadline.left() <= 0:
                break
            time.sleep(1)
            resource = find()
            if resource is not None:
                self.details.setdefault("found_without_answer", []).append(name)
                return resource
        return None

    def wait(self, what, look, pace=waiting.usual_pace):
        """Look until it is done. Until the deadline, a look without an answer is a state as well."""

        def patient_look():
            try:
                return look()
            except CLOUD_ERRORS as exc:
                if not session.is_unanswered(exc):
                    raise
                return False, f"no answer ({type(exc).__name__})", None

        self.doing = f"waiting for {what}"
        say = self.say if not self.check else lambda _text: None
        return waiting.wait_until(what, patient_look, self.deadline, self.waits, say, pace)

    def as_record(self, status, error=None):
        addresses.name_services(self.calls, connection.known_endpoints(self._cloud) if self._cloud else [])
        # The error has been masked already, as words; the rest is data of the cloud.
        return bounded(
            shapes.stage(
                self.name,
                status,
                started=self._watch.started,
                finished=now(),
                duration_s=self._watch.seconds(),
                resources=self.resources,
                calls=self.calls,
                waits=self.waits,
                details=self.details,
                error=error,
            )
        )


def name_conflict(kind, name):
    message = f"the {kind.replace('_', ' ')} {name} is on the cloud already, and this run did not make it"
    hint = "Choose another run_id: this one was used before, perhaps from another machine."
    return StageError("conflict", message, resource=name, hint=hint)


def interrupt(number, _frame):
    raise Interrupted(signal.Signals(number).name)


def check_texts(options):
    """Refuse bytes that are not text, before anything is asked for: no request could hold them."""
    for name, value in options.items():
        try:
            json.dumps(value, ensure_ascii=False, default=str).encode()
        except UnicodeEncodeError:
            raise StageError("invalid", f"{name} is not text in UTF-8: {value!a:.80}", resource=name) from None


def perform(stage, act):
    """Run a stage to its record, whatever happens. Returns the record, and a traceback if a defect of ours ended it."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, interrupt)
    trace = None
    try:
        if not stage.check:
            # The record says this if the process dies.
            unfinished = StageError("interrupted", f"the stage {stage.name} began and did not come to its end")
            stage.run.put_stage(stage.as_record("failed", unfinished.record))
        check_texts(stage.params)
        skipped = act(stage)
        record = stage.as_record("skipped" if skipped else "ok")
    except (Exception, Interrupted) as exc:
        record = stage.as_record("failed", explain(exc, stage.doing))
        trace = trace_of(record["error"])
    # After a failure, too: what later processes mask is kept beside the token.
    stage.keep_token()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    if not stage.check:
        try:
            stage.run.put_stage(record)
        except OSError as exc:
            record = {**record, "status": "failed", "error": explain(exc, "writing run.json")}
        stage.say(f"{record['status']} after {record['duration_s']:.1f} s")
    return record, trace


def run_stage(name, act, options, timeout, **rules):
    """The main function of a stage's module."""
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
        run = Run.imagined(module.params["run_dir"]) if module.check_mode else Run(module.params["run_dir"])
        stage = Stage(name, run, module.params, module.check_mode)
        with contextlib.nullcontext() if module.check_mode else run.alone():
            record = finished_record(run, name)
            if record is None:
                record, trace = perform(stage, act)
    if record["status"] == "failed":
        # The whole record is in run.json: here it would bury the message.
        message = f"{name}: {sentence(record['error'])}"
        module.fail_json(msg=message, exception=trace, changed=stage.changed, error=record["error"])
    module.exit_json(changed=stage.changed, record=record)


def finished_record(run, name):
    """The record of an earlier call of this stage, or None. An interrupted stage may run again."""
    record = run.stage(name)
    if record is None or run.record["finished"] is not None:
        return record
    interrupted = (record["error"] or {}).get("kind") == "interrupted"
    return None if interrupted else record
