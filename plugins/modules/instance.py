#!/usr/bin/python
# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: instance
short_description: 'Used by verify: reads from the API what the hosts of an instance must agree with'
version_added: 0.1.0
description:
  - Returns the ports, networks, volumes and image of a server, as far as its hosts must agree with them. Nothing is
    changed on the cloud.
  - With an administrator's rights, it also returns which services and agents do not report to the cloud, if the run
    failed, and when other users created instances, as evidence without an id may belong to those. If the cloud did not
    have what the run asked for, such as a host for the flavor, it returns what the cloud has.
extends_documentation_fragment:
  - stackproof.provision._stage.cloud
  - stackproof.provision._attributes.writes
options:
  server:
    description: Id of the server. Defaults to that of the run.
    type: str
  run_dir:
    description: Directory of a run. The result is also written into its record, which counts as a change.
    type: path
  admin_cloud:
    description: Name of a cloud in C(clouds.yaml) with an administrator's rights, to get the names of the hosts.
    type: str
  examine:
    description: Whether to examine the hosts after a failed stage.
    type: bool
    default: false
  timeout:
    description: How long all of it may take, in seconds.
    type: float
    default: 60
seealso:
  - module: stackproof.provision.evidence_info
    description: Reads the facts of the hosts about the instance.
"""

EXAMPLES = r"""
- name: Ask what the hosts should show of a server
  stackproof.provision.instance:
    cloud: mycloud
    server: 4798a21e-4aff-4a2f-9b6e-325ca47ee2d3
  register: looked
"""

RETURN = r"""
instance:
  description: The C(server), its C(ports), C(networks), C(volumes) and C(image). Null if the run has no server.
  returned: success
  type: dict
  sample:
    queried: '2026-11-21T11:06:56.839166+00:00'
    server:
      id: 8585247f-547f-46d6-8c03-334064b2be45
      name: stackproof-20261121-110109-02c608-server
      status: ACTIVE
      project_id: 6ed9ac1918034fe59ee3f9dc59c324e6
      host: compute2
      host_id: 1038bc1892f330184b313cb73cb7d8729d61ecf4a26444251669ce5a
      created: '2026-11-21T11:01:21Z'
      vcpus: 1
      memory_mib: 128
      disk_gib: 1
    ports:
      - id: bd6f4d7b-9cf8-4359-8587-aae420e24aca
        mac: fa:16:3e:2d:9a:e3
        addresses: [192.168.222.230]
        network: 43fab180-bf69-42bf-a74e-9ed8722a60fa
        host: compute2
        kind: ovs
        status: ACTIVE
        created: '2026-11-21T11:01:27Z'
        updated: '2026-11-21T11:01:36Z'
        revision: 5
    networks:
      - id: 43fab180-bf69-42bf-a74e-9ed8722a60fa
        mtu: 1500
        subnets:
          - id: d654e239-ceea-413b-bd06-c6c2d1b45599
            version: 4
            cidr: 192.168.222.0/24
            gateway: 192.168.222.1
            dhcp: true
            routes: []
        dhcp_ports: [dhcp79ac16b7-042f-5762-9c87-2b0b99a9dacb-43fab180-bf69-42bf-a74e-9ed8722a60fa]
        distributed: false
        routers: []
    volumes: [c08c8d35-6222-4d44-9ae8-9b014b0ac62b]
    image:
      id: c3510181-0439-45e7-9bf9-3834d50ac9cb
      direct_url: rbd://eaac1cc8-a867-490b-aa20-dbe5e2d0c38b/images/c3510181-0439-45e7-9bf9-3834d50ac9cb/snap
      stores: ceph
    allocations: null
    claimed_on: []
to_read:
  description: Whether the hosts should be read. They should if the run has an instance or has failed.
  returned: success
  type: bool
  sample: true
broken:
  description: Whether a stage of the run, or its removal, has failed.
  returned: success
  type: bool
  sample: false
examine:
  description:
    - What M(stackproof.provision.evidence_info) needs to examine a host, C(salt), C(since), C(endpoints) and C(hosts).
      Null if nothing has failed, or O(examine) is false.
  returned: success
  type: dict
  sample: null
"""

import dataclasses
import functools
import secrets
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar

from ansible.module_utils.basic import AnsibleModule, missing_required_lib
from ansible_collections.stackproof.provision.plugins.module_utils._cloud import (
    connection,
    token_cache,
)
from ansible_collections.stackproof.provision.plugins.module_utils._cloud.errors import (
    CLOUD_ERRORS,
    explain,
)
from ansible_collections.stackproof.provision.plugins.module_utils._collect.api import (
    agents as agents_module,
)
from ansible_collections.stackproof.provision.plugins.module_utils._collect.api import (
    failed_request,
    guest_paths,
)
from ansible_collections.stackproof.provision.plugins.module_utils._collect.api import (
    instance as instance_module,
)
from ansible_collections.stackproof.provision.plugins.module_utils._judge import (
    checks,
)
from ansible_collections.stackproof.provision.plugins.module_utils._match import (
    rivals,
)
from ansible_collections.stackproof.provision.plugins.module_utils._model.capacity import (
    Capacity,
)
from ansible_collections.stackproof.provision.plugins.module_utils._model.codec import (
    from_json,
    iso_of,
    to_json,
)
from ansible_collections.stackproof.provision.plugins.module_utils._model.details import (
    DataplaneDetails,
)
from ansible_collections.stackproof.provision.plugins.module_utils._model.instance import (
    Claims,
    DescribedInstance,
    GuestPath,
)
from ansible_collections.stackproof.provision.plugins.module_utils._model.question import (
    Endpoint,
    Question,
)
from ansible_collections.stackproof.provision.plugins.module_utils._model.record import (
    Agent,
    Instance,
    OtherBoots,
    Record,
    first_failed,
)
from ansible_collections.stackproof.provision.plugins.module_utils._model.words import (
    StageName,
)
from ansible_collections.stackproof.provision.plugins.module_utils._record import (
    waiting,
)
from ansible_collections.stackproof.provision.plugins.module_utils._record.errors import (
    MALFORMED,
    StageError,
    failing,
    sentence,
)
from ansible_collections.stackproof.provision.plugins.module_utils._record.masking import (
    bounded,
    bounded_copy,
)
from ansible_collections.stackproof.provision.plugins.module_utils._record.run import (
    Run,
)

# Questions to a cloud that has just failed must not keep its user waiting: so long for all together. Each request
# that comes later has a second, so that one service that hangs does not hide the others.
PATIENCE = 3
# A cloud that answered slowly before it failed gets this multiple of its slowest answer, within a limit.
SLOWEST_ANSWERS = 3
LONGEST_PATIENCE = 12
# Who asks for a diagnosis would rather wait than have it without the instance.
PATIENCE_OF_DIAGNOSIS = 10
# In seconds, for all of those that come later: there are some ten.
LATECOMERS = 5
DOING = "asking what the hosts should show"

# What a question may raise that the cloud does not answer as it should
UNANSWERED: tuple[type[BaseException], ...] = (
    *CLOUD_ERRORS,
    *MALFORMED,
    StageError,
)

T = TypeVar("T")


def has_failed(run: Run | None) -> bool:
    """Return whether a stage of a run has failed, or the removal after all stages worked."""
    if run is None:
        return False
    return first_failed(run.record.stages_and_removal) is not None


def deadline_for(run: Run | None, timeout: float) -> waiting.Deadline:
    """Return the deadline for all questions."""
    if run is None or not has_failed(run):
        return waiting.Deadline(timeout)
    return waiting.Deadline(patience_with(run.record), grace=LATECOMERS)


def patience_with(record: Record) -> float:
    """Return for how many seconds a cloud that has failed is asked."""
    if record.operation:
        return PATIENCE_OF_DIAGNOSIS
    answered = [
        call.seconds
        for call in record.calls
        if call.method == "GET" and call.status
    ]
    slowest = max(answered, default=0)
    return min(max(PATIENCE, SLOWEST_ANSWERS * slowest), LONGEST_PATIENCE)


class Askers:
    """The run's user and an administrator, each with one connection, made when it is needed; both within one time."""

    def __init__(self, params: Mapping[str, Any], run: Run | None) -> None:
        self.params, self.run = params, run
        self.deadline = deadline_for(run, params["timeout"])
        self._one_at_a_time = threading.RLock()

    @property
    def member(self) -> Any:
        with self._one_at_a_time:
            return self._member

    @property
    def admin(self) -> Any:
        """Return the administrator's connection, or None if there is no administrator to ask."""
        with self._one_at_a_time:
            return self._admin

    @functools.cached_property
    def _member(self) -> Any:
        cloud = connection.connect(self.params, [], [], self.deadline)
        if self.run:
            token_cache.take(self.run.token_path, cloud.session.auth)
        return cloud

    @functools.cached_property
    def _admin(self) -> Any:
        theirs = connection.as_admin(self.params)
        return (
            connection.connect(theirs, [], [], self.deadline)
            if self.params["admin_cloud"]
            else None
        )


def id_of(run: Run, kind: str) -> str | None:
    """Return the id of a run's resource of a kind."""
    resource = run.resource(kind)
    return resource.id if resource else None


def server_of(run: Run | None) -> str | None:
    """Return the id of the server that a run has made: of the second one, if its guest failed."""
    if run is None:
        return None
    is_second = run.record.is_about_second_guest
    return id_of(run, "second_server" if is_second else "server")


def look(
    askers: Askers, module: AnsibleModule, run: Run | None
) -> Instance | None:
    identity = module.params["server"] or server_of(run)
    if not identity:
        return None
    described = instance_module.look(askers.member, identity, askers.admin)
    paths = (
        ask_or_warn(module, lambda: look_at_paths(askers, run, described))
        if run
        else None
    )
    described = dataclasses.replace(described, paths=paths or ())
    claims, traits, server = None, None, described.server
    if askers.admin:
        claims = ask_or_warn(
            module, lambda: instance_module.claims(askers.admin, server)
        )
    if askers.admin and server.traits:
        traits = ask_or_warn(
            module, lambda: instance_module.traits_of(askers.admin, server)
        )
    return bounded_copy(Instance.of(described, claims or Claims(), traits))


def look_at_paths(
    askers: Askers, run: Run, described: DescribedInstance
) -> tuple[GuestPath, ...]:
    """Return the paths between the guests of a run on which packets were lost."""
    second = id_of(run, "second_server")
    failed = run.record.failed_stage
    if second is None or failed is None:
        return ()
    cloud = askers.admin or askers.member
    if run.record.has_silent_guest:
        return guest_paths.look(cloud, described, second, guest_paths.SILENT)
    if failed.stage != StageName.DATAPLANE:
        return ()
    details = from_json(DataplaneDetails, failed.details, "dataplane.details")
    return guest_paths.look(cloud, described, second, details.checks or ())


def look_at_agents(
    askers: Askers, module: AnsibleModule, run: Run | None
) -> tuple[Agent, ...]:
    """Return the services and agents of a cloud that failed, as an administrator sees them.

    A missing answer is a warning.
    """
    if not (has_failed(run) and module.params["admin_cloud"]):
        return ()
    answer = ask_or_warn(module, lambda: agents_module.look(askers.admin))
    agents, unread = answer or ([], [])
    for reason in unread:
        module.warn(reason)
    return tuple(map(bounded_copy, agents))


def look_at_capacity(
    askers: Askers, module: AnsibleModule, run: Run | None
) -> Capacity | None:
    """Return what the cloud has for the request at which the run failed; None if it failed at something else."""
    failed = run.record.failed_stage if run else None
    if run is None or failed is None or failed.error is None:
        return None
    request = failed_request.Request(
        stage=failed,
        error=failed.error,
        id_of=functools.partial(id_of, run),
        member=lambda: askers.member,
        admin=(lambda: askers.admin) if module.params["admin_cloud"] else None,
    )
    capacity = ask_or_warn(module, lambda: failed_request.look(request))
    if capacity is None:
        return None
    for reason in capacity.unread:
        module.warn(reason)
    return bounded_copy(capacity)


def look_at_others(
    askers: Askers, module: AnsibleModule, run: Run | None
) -> OtherBoots | None:
    """Return other boots at the time of this one, as an administrator sees them. Without one the logs say enough."""
    ours = server_of(run)
    if run is None or ours is None or not module.params["admin_cloud"]:
        return None
    since = iso_of(run.record.started - rivals.RIVALRY)
    others = ask_or_warn(
        module, lambda: instance_module.other_boots(askers.admin, ours, since)
    )
    if others is None:
        return None
    return bounded_copy(others)


def what_to_examine(
    askers: Askers, module: AnsibleModule, run: Run | None
) -> dict[str, Any] | None:
    """Return what a host needs to know for a second look; None if nothing has failed, or examination is off."""
    if run is None or not (has_failed(run) and module.params["examine"]):
        return None
    # A run has the catalogue with its token, even if a service in it did not answer afterwards.
    has_catalog = (
        "token" in run.record.stage_or_skipped(StageName.AUTH).details
    )
    endpoints = (
        ask_or_warn(module, lambda: endpoints_of(askers.member.session))
        if has_catalog
        else None
    )
    # By this word the hosts make digests that can be compared in this run, and with nothing else.
    question = Question(
        secrets.token_hex(16), run.record.started, endpoints or ()
    )
    examine: dict[str, Any] = bounded(to_json(question))
    return examine


def hosts_of_moves(run: Run | None, agents: tuple[Agent, ...]) -> list[str]:
    """Return the names by which compute hosts reach each other, if an operation failed that may have moved a server."""
    failed = run.record.failed_stage if run else None
    if failed is None or failed.stage is not StageName.JOURNEY:
        return []
    return [
        agent.host for agent in agents if agent.component == "nova-compute"
    ]


def endpoints_of(session: Any) -> tuple[Endpoint, ...]:
    """Return the endpoints of all services in the catalogue."""
    catalogue = session.auth.get_access(session).service_catalog.catalog
    found: set[Endpoint] = set()
    for service in catalogue:
        found.update(
            Endpoint(service["type"], endpoint["url"])
            for endpoint in service["endpoints"]
        )
    return tuple(sorted(found, key=str))


def ask_or_warn(module: AnsibleModule, ask: Callable[[], T]) -> T | None:
    """Return an answer, or None with a warning: a service that does not answer must not hide what others say."""
    try:
        return ask()
    except UNANSWERED as exc:
        module.warn(sentence(explain(exc, DOING)))
        return None


def look_or_file_why_not(
    askers: Askers, module: AnsibleModule, run: Run | None
) -> Instance | None:
    """Return the instance by the API. A run goes on without it, to its cleanup, but says so.

    What was to be removed is described as it was before.
    """
    if run and run.record.removal:
        return run.record.instance
    try:
        return look(askers, module, run)
    except UNANSWERED as exc:
        if run is None or module.check_mode:
            raise
        reason = sentence(explain(exc, DOING))
        with run.alone():
            checks.file_checks(
                run,
                [
                    checks.unreadable(
                        "The API was asked what the hosts should show", reason
                    )
                ],
            )
        module.warn(reason)
        return None


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            **connection.CLOUD_OPTIONS,
            "server": {"type": "str"},
            "run_dir": {"type": "path"},
            "admin_cloud": {"type": "str"},
            "examine": {"type": "bool", "default": False},
            "timeout": {"type": "float", "default": 60},
        },
        required_one_of=[("server", "run_dir")],
        supports_check_mode=True,
    )
    connection.hide_only_secrets(module)
    if not connection.HAS_SDK:
        module.fail_json(msg=missing_required_lib("openstacksdk"))
    params = module.params
    with failing(module, DOING, explain):
        run = Run(params["run_dir"]) if params["run_dir"] else None
        askers = Askers(params, run)
        # All at once: a service that lets its users wait must not take the time of the other questions.
        questions = (
            look_at_agents,
            look_or_file_why_not,
            look_at_others,
            what_to_examine,
            look_at_capacity,
        )
        with ThreadPoolExecutor(len(questions)) as pool:
            asked: list[Future[Any]] = [
                pool.submit(question, askers, module, run)
                for question in questions
            ]
        agents, instance, others, examine, capacity = (
            question.result() for question in asked
        )
        if examine is not None:
            examine["hosts"] = hosts_of_moves(run, agents)
        if run and not module.check_mode:
            with run.alone():
                run.update(
                    instance=instance, agents=agents, other_boots=others
                )
                if capacity is not None:
                    run.update(capacity=capacity)
                run.save()
        broken = has_failed(run)
    to_read = instance is not None or broken
    described = to_json(instance)
    module.exit_json(
        changed=bool(run),
        instance=described,
        to_read=to_read,
        broken=broken,
        examine=examine,
    )


if __name__ == "__main__":
    main()
