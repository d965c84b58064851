# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The commonest mistakes of a newcomer: each is named in one line, with what to do, and leaves nothing behind.

Each is made with ansible-playbook itself, once with Ansible's own output and once with the project's. The calls
run two at a time; the tests then look at what each of them led to.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import signal
import socket
import ssl
import subprocess
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from guard import assert_no_defect, assert_no_secret
from newcomer import LONGEST_CLEANUP, Newcomer, Outcome, fake_cloud, wait_until

CALLBACKS = {"default": "default", "progress": "stackproof.provision.progress"}
# A playbook is busy half of its time, so more of them would not be done earlier on two cores.
AT_ONCE = 2
RUN_ID = "my-run"
# The answer of a sudo that needs a password and has no terminal
NO_SUDO = "echo 'sudo: a password is required' >&2; exit 1"
# One connection for each command: a shared one has a socket, whose path must be shorter than that of a test may be.
# What the user of this machine has set up for ssh does not count.
SSH_OPTIONS = "-F none -o ConnectTimeout=5 -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null"
CAN_MOUNT = (
    os.geteuid() == 0
    and subprocess.run(["unshare", "--mount", "true"], capture_output=True, check=False).returncode == 0
)


@dataclass(frozen=True)
class Mistake:
    """One line of the table."""

    name: str
    make: Callable[[Newcomer], object]
    # The words of the message, all in one line: how it begins, what is wrong, and what to do
    says: tuple[str, ...]
    # Whether the run passes all the same, as the mistake is not about the cloud
    passes: bool = False
    expired: bool = False
    needs_mount: bool = False


def with_variables(**variables: object) -> Callable[[Newcomer], None]:
    return lambda newcomer: newcomer.variables.update(variables)


def with_refusals(method: str, path: str, answer: str) -> Callable[[Newcomer], None]:
    """Have a cloud that refuses something, however often it is asked."""
    return lambda newcomer: newcomer.cloud.trouble(method, path, answer, times=1000)


def reserve_closed_port(newcomer: Newcomer) -> int:
    """Return a port that nothing listens on, and that nobody else gets: it is bound."""
    reserved = newcomer.closing.enter_context(socket.socket())
    reserved.bind(("127.0.0.1", 0))
    return reserved.getsockname()[1]


def mistype_password(newcomer: Newcomer) -> None:
    entry = newcomer.cloud.entry()
    entry["auth"]["password"] = "mistyped-" + newcomer.cloud.password[::-1]
    newcomer.passwords.append(entry["auth"]["password"])
    newcomer.write_clouds(small=entry)


def forget_clouds_yaml(newcomer: Newcomer) -> None:
    newcomer.clouds_yaml.unlink()


def name_closed_port(newcomer: Newcomer) -> None:
    entry = newcomer.cloud.entry()
    entry["auth"]["auth_url"] = f"http://127.0.0.1:{reserve_closed_port(newcomer)}/identity/v3"
    newcomer.write_clouds(small=entry)


def write_wrong_region(newcomer: Newcomer) -> None:
    newcomer.write_clouds(small=newcomer.cloud.entry(region_name="RegionTwo"))


def boot_as_recorded(newcomer: Newcomer, host: str) -> None:
    """Have a cloud that shows of its server, network and image what checks of hosts ask for."""
    port, network, subnet = (
        fake_cloud.COLLECTIONS[f"/network/v2.0/{kind}"][1] for kind in ("ports", "networks", "subnets")
    )
    newcomer.cloud.put("networks", **{**network, "id": port["network_id"]})
    newcomer.cloud.put("subnets", **subnet)
    project = fake_cloud.template("server")["tenant_id"]
    shown = {
        "status": "ACTIVE",
        "flavor": {"vcpus": 1, "ram": 128, "disk": 1},
        "image": {"id": newcomer.cloud.all("images")[0]["id"]},
        # As nova makes it
        "hostId": hashlib.sha224(f"{project}{host}".encode()).hexdigest(),
    }
    newcomer.cloud.states["servers"] = [shown]


def name_silent_hosts(newcomer: Newcomer) -> None:
    name_ssh_port(newcomer, reserve_closed_port(newcomer))


def name_ssh_port(newcomer: Newcomer, port: int) -> None:
    boot_as_recorded(newcomer, "compute1")
    newcomer.environment["ANSIBLE_SSH_ARGS"] = "-C"
    newcomer.write_inventory(ansible_host="127.0.0.1", ansible_port=port, ansible_ssh_common_args=SSH_OPTIONS)


def name_refusing_hosts(newcomer: Newcomer) -> None:
    """Have an ssh server that ends each connection, as one does that refuses an address."""
    server = newcomer.closing.enter_context(socket.create_server(("127.0.0.1", 0)))

    def refuse() -> None:
        try:
            while True:
                connection, _address = server.accept()
                # Closed before the client's first line is read, a connection would sometimes be reset instead.
                with connection, contextlib.suppress(ConnectionError):
                    connection.recv(256)
        except OSError:
            return  # the test has ended

    threading.Thread(target=refuse, daemon=True).start()
    name_ssh_port(newcomer, server.getsockname()[1])


def become_without_sudo(newcomer: Newcomer) -> None:
    boot_as_recorded(newcomer, "compute1")
    sudo = newcomer.write_program("sudo", NO_SUDO)
    # Ansible asks for no sudo if the user is root already, as the one of the tests may be.
    newcomer.environment["ANSIBLE_BECOME_ALLOW_SAME_USER"] = "true"
    newcomer.write_inventory(ansible_connection="local", ansible_become="true", ansible_become_exe=str(sudo))


def log_in_without_sudo(newcomer: Newcomer) -> None:
    """Have hosts whose user is not root, whoever runs the tests."""
    boot_as_recorded(newcomer, "compute1")
    newcomer.write_program("sudo", NO_SUDO)
    newcomer.write_program("id", "echo 1000")
    newcomer.write_program("hostname", "echo compute1")
    newcomer.write_inventory(ansible_connection="local")


def limit_disk(kibibytes: int, full: bool = False) -> Callable[[Newcomer], None]:
    """Have runs on a small disk, which only the playbook and its children see."""

    def limit(newcomer: Newcomer) -> None:
        runs = newcomer.work / "runs"
        runs.mkdir()
        steps = [f"mount -t tmpfs -o size={kibibytes}k tmpfs {runs}"]
        if full:
            steps.append(f"head -c {kibibytes}K /dev/zero > {runs}/others")
        newcomer.prefix = ["unshare", "--mount", "sh", "-c", " && ".join([*steps, 'exec "$@"']), "sh"]

    return limit


def start_until_building(newcomer: Newcomer) -> subprocess.Popen[str]:
    """Start a run of a known name, and wait until its server builds, which it does for good."""
    newcomer.variables.update(stackproof_run_id=RUN_ID)
    newcomer.cloud.states["servers"] = ["BUILD"]
    first = newcomer.start()
    wait_until(lambda: bool(newcomer.cloud.all("servers")), "a server of the first run")
    return first


def use_id_of_going_run(newcomer: Newcomer) -> None:
    """Have a run of the same name that boots its server, and goes on as soon as the second call has ended."""
    newcomer.set_timeout("boot", LONGEST_CLEANUP)
    first = start_until_building(newcomer)

    def pass_first() -> None:
        newcomer.cloud.all("servers")[0]["_states"] = [{"status": "ACTIVE"}]
        output, _errors = first.communicate(timeout=LONGEST_CLEANUP)
        assert first.returncode == 0, output

    newcomer.closing.callback(pass_first)


def start_and_interrupt(newcomer: Newcomer) -> None:
    """Have a run whose playbook got a Ctrl-C while its server was building."""
    first = start_until_building(newcomer)
    # A terminal sends it to all processes of the group.
    os.killpg(first.pid, signal.SIGINT)
    first.communicate(timeout=LONGEST_CLEANUP)


def take_up_cleaned_run(newcomer: Newcomer) -> None:
    start_and_interrupt(newcomer)
    wait_until(lambda: newcomer.has_finished(RUN_ID), "the end of the interrupted run", LONGEST_CLEANUP)


def take_up_killed_run(newcomer: Newcomer) -> None:
    """Have a run that was killed together with its watch, as with a container: nothing was removed yet."""
    first = start_until_building(newcomer)
    for process in processes_of(newcomer.run_dir(RUN_ID)):
        os.kill(process, signal.SIGKILL)
    os.killpg(first.pid, signal.SIGKILL)
    first.communicate(timeout=LONGEST_CLEANUP)
    newcomer.cloud.all("servers")[0]["_states"] = [{"status": "ACTIVE"}]


def processes_of(directory: Path) -> list[int]:
    """Find the processes whose command names a directory: for that of a run, its watch."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = path.read_bytes().split(b"\0")
        except OSError:
            continue  # it has ended
        if str(directory).encode() in words:
            found.append(int(path.parent.name))
    return found


MISTAKES = (
    Mistake("wrong_password", mistype_password, ("auth: getting a token for small", "401", "Look at user, password")),
    Mistake(
        "wrong_cloud_name",
        with_variables(stackproof_cloud="smal"),
        ("auth: the cloud smal cannot be used", "was not found", "known clouds: small", "Look at clouds.yaml"),
    ),
    Mistake(
        "no_clouds_yaml",
        forget_clouds_yaml,
        ("auth: the cloud small cannot be used", "no clouds.yaml was found", "Look at clouds.yaml"),
    ),
    Mistake(
        "unreachable_auth_url",
        name_closed_port,
        ("auth: getting a token for small", "Connection refused", "whether this machine reaches the address"),
    ),
    Mistake(
        "expired_certificate",
        lambda _newcomer: None,
        ("auth: getting a token for small", "certificate has expired", "Look at the certificate of the endpoint"),
        expired=True,
    ),
    Mistake(
        "unknown_image",
        with_variables(stackproof_image="debian-99"),
        ("image: the cloud has no image debian-99", "it has probe", "Look at the name or id"),
    ),
    Mistake(
        "unknown_flavor",
        with_variables(stackproof_flavor="m1.nosuch"),
        ("boot: the cloud has no flavor m1.nosuch", "it has probe", "Look at the name or id"),
    ),
    Mistake(
        "unknown_network",
        with_variables(stackproof_network="lan"),
        ("network: the cloud has no network lan", "Look at the name or id"),
    ),
    Mistake(
        "no_quota_for_instances",
        with_refusals("POST", "/servers$", "nova quota instances"),
        ("boot: creating the server", "Quota exceeded for instances", "Raise the project's quota"),
    ),
    Mistake(
        "no_quota_for_volumes",
        with_refusals("POST", "/volumes$", "cinder quota"),
        ("volume: creating the volume", "exceeds allowed gigabytes quota", "Raise the project's quota"),
    ),
    Mistake(
        "no_permission",
        with_refusals("POST", "/networks$", "neutron forbidden"),
        ("network: creating the network", "disallowed by policy", "look at its roles and at the service's policy"),
    ),
    Mistake(
        "wrong_region",
        with_variables(stackproof_region="RegionTwo"),
        ("auth: the cloud small cannot be used", "RegionTwo is not a valid region name", "Valid choices are RegionOne"),
    ),
    Mistake(
        "wrong_region_in_clouds_yaml",
        write_wrong_region,
        ("auth: reading the versions of the service identity", "in RegionTwo region not found", "Look at"),
    ),
    Mistake(
        "hosts_do_not_answer",
        name_silent_hosts,
        (
            "compute1, controller1 could not be read",
            "Connection refused",
            "Make sure this host can be reached over ssh",
        ),
        passes=True,
    ),
    Mistake(
        "ssh_is_refused",
        name_refusing_hosts,
        (
            "compute1, controller1 could not be read",
            "Make sure this host can be reached",
            "Connection closed by 127.0.0.1",
        ),
        passes=True,
    ),
    Mistake(
        "become_without_sudo",
        become_without_sudo,
        ("compute1, controller1 could not be read", "sudo: a password is required", "docs/security.md"),
        passes=True,
    ),
    Mistake(
        "user_without_sudo",
        log_in_without_sudo,
        ("could not run", "sudo refuses", "sudo: a password is required", "docs/security.md"),
        passes=True,
    ),
    Mistake(
        "wrong_platform",
        with_variables(stackproof_platform="nosuch"),
        (
            "stackproof_platform cannot be 'nosuch'",
            "neither a path nor one of devstack, kolla, kolla_podman, kubernetes, osa, packages, rhoso",
            "docs/platforms.md",
        ),
    ),
    Mistake(
        "misspelt_variable",
        with_variables(stackproof_volme="none"),
        ("unknown variable stackproof_volme", "stackproof_volume"),
    ),
    Mistake(
        "size_that_is_no_number",
        with_variables(stackproof_volume_size="big"),
        ("stackproof_volume_size cannot be 'big'", "docs/variables.md"),
    ),
    Mistake(
        "several_wrong_values",
        with_variables(stackproof_attach="later", stackproof_timeouts={"bot": 60}),
        (
            "stackproof_attach cannot be 'later': it is not one of at_boot, after, root",
            "stackproof_timeouts cannot be {'bot': 60}: it has no key 'bot'; its keys are auth, image",
            "docs/variables.md",
        ),
    ),
    Mistake(
        "rules_that_are_no_list",
        with_variables(stackproof_network_rules=5),
        ("stackproof_network_rules cannot be 5", "it is not a list", "docs/variables.md"),
    ),
    Mistake(
        "disk_without_room",
        limit_disk(64, full=True),
        ("beginning the run", "No space left on device", "Look at the free space"),
        needs_mount=True,
    ),
    Mistake(
        "disk_that_fills_up",
        limit_disk(64),
        ("No space left on device", "Look at the free space"),
        needs_mount=True,
    ),
    Mistake(
        "run_id_in_use",
        use_id_of_going_run,
        ("another process works on the run my-run", "Wait until it ends, or use another run_id"),
    ),
    Mistake(
        "interrupted_run_is_taken_up",
        take_up_cleaned_run,
        ("Run my-run ended before", "nothing new is made", "another stackproof_run_id"),
    ),
    Mistake("killed_run_is_taken_up", take_up_killed_run, ("PASS: The cloud provisions an instance",), passes=True),
)
CALLS = {f"{mistake.name}-{name}": (mistake, name) for mistake in MISTAKES for name in CALLBACKS}


def expired_context(folder: Path) -> tuple[ssl.SSLContext, Path]:
    """Return the TLS of a server whose certificate ended yesterday, and the path of that certificate."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "127.0.0.1")])
    yesterday = datetime.now(UTC) - timedelta(days=1)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(yesterday - timedelta(days=90))
        .not_valid_after(yesterday)
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    pem, form = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8
    certificate_path, key_path = folder / "certificate.pem", folder / "key.pem"
    certificate_path.write_bytes(certificate.public_bytes(pem))
    key_path.write_bytes(key.private_bytes(pem, form, serialization.NoEncryption()))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate_path, key_path)
    return context, certificate_path


def call(mistake: Mistake, callback: str, folder: Path) -> Outcome:
    """Make a mistake."""
    context, certificate = expired_context(folder) if mistake.expired else (None, None)
    newcomer = Newcomer(folder, CALLBACKS[callback], context)
    if certificate:
        # Nothing else is wrong with it: the newcomer has named it.
        newcomer.write_clouds(small=newcomer.cloud.entry(cacert=str(certificate)))
    with newcomer.closing:
        mistake.make(newcomer)
        status, output = newcomer.verify()
    return newcomer.outcome(status, output)


@pytest.fixture(scope="module")
def outcomes(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Any]]:
    """What each call led to that a chosen test looks at. All calls begin with the first test."""
    chosen = dict.fromkeys(
        item.callspec.params["outcome"]
        for item in request.session.items
        if isinstance(item, pytest.Function) and item.module is request.module
    )
    pool = ThreadPoolExecutor(AT_ONCE)
    futures: dict[str, Future[Outcome]] = {}
    for number, name in enumerate(chosen):
        mistake, callback = CALLS[name]
        if CAN_MOUNT or not mistake.needs_mount:
            # A short name, as paths of sockets may stand below it.
            futures[name] = pool.submit(call, mistake, callback, tmp_path_factory.mktemp(f"call{number}"))
    yield futures
    pool.shutdown(cancel_futures=True)


@pytest.fixture(scope="module", params=CALLS)
def outcome(request: pytest.FixtureRequest, outcomes: dict[str, Future[Outcome]]) -> tuple[Mistake, Outcome]:
    mistake, _callback = CALLS[request.param]
    if request.param not in outcomes:
        pytest.skip("needs root's right to mount a small disk for the playbook alone")
    return mistake, outcomes[request.param].result()


def messages(output: str, words: tuple[str, ...]) -> set[str]:
    """Return the texts of all lines that have the first word and then the others, each from the first word on.

    Ansible prints a message with a word before it, and again at the end of the run; as JSON, it is printed for
    programs.
    """
    lines = [line for line in output.splitlines() if words[0] in line and not line.startswith("fatal: ")]
    texts = {line[line.index(words[0]) :] for line in lines}
    return {text for text in texts if all(word in text for word in words)}


def test_mistake_is_named_in_one_line_with_what_to_do(outcome: tuple[Mistake, Outcome]) -> None:
    mistake, result = outcome
    assert len(messages(result.output, mistake.says)) == 1, result.output


def test_no_object_of_python_is_shown(outcome: tuple[Mistake, Outcome]) -> None:
    _mistake, result = outcome
    assert " object at 0x" not in result.output, result.output


def test_exit_status_says_whether_the_run_passed(outcome: tuple[Mistake, Outcome]) -> None:
    mistake, result = outcome
    assert (result.status == 0) == mistake.passes, result.output


def test_no_defect_is_shown_or_written(outcome: tuple[Mistake, Outcome]) -> None:
    _mistake, result = outcome
    assert_no_defect(result.output)
    assert_no_defect(result.folder)


def test_no_secret_is_shown_or_written(outcome: tuple[Mistake, Outcome]) -> None:
    _mistake, result = outcome
    assert_no_secret(result.secrets, result.output)
    assert_no_secret(result.secrets, result.folder, except_for=result.own_secrets)


def test_nothing_stays_on_the_cloud(outcome: tuple[Mistake, Outcome]) -> None:
    _mistake, result = outcome
    assert result.after == result.before
