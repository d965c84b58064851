# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A cloud of one thread on this machine: it answers as a real one did when it was recorded, and fails as a test says.

recorded/cloud holds what a real cloud said. What is made here is kept, shown again
under the same paths, and gone after its deletion.

recorded/hosts are the commands that were run on hosts of a real cloud for one instance, and what they said; only
the list of pools and what the emulator's command line has of encrypted secrets were taken out. What the API said of
that instance is in recorded/cloud/instance.json.
"""

from __future__ import annotations

import contextlib
import copy
import fnmatch
import gc
import hashlib
import io
import json
import os
import re
import secrets
import signal
import socket
import ssl
import struct
import subprocess
import threading
import time
import uuid
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace
from urllib.parse import parse_qsl, urlsplit

import pytest
import yaml
from ansible_collections.stackproof.provision.plugins.module_utils._act import stage as stage_module
from ansible_collections.stackproof.provision.plugins.module_utils._cloud import connection as connection_module
from ansible_collections.stackproof.provision.plugins.module_utils._cloud import session, transport
from ansible_collections.stackproof.provision.plugins.module_utils._collect import commands
from ansible_collections.stackproof.provision.plugins.module_utils._model.details import Details
from ansible_collections.stackproof.provision.plugins.module_utils._model.words import StageName
from ansible_collections.stackproof.provision.plugins.module_utils._record import masking, waiting
from ansible_collections.stackproof.provision.plugins.module_utils._record import run as run_module
from recorded_hosts import UNITS
from tree import RECORDED


def pytest_configure(config):
    # The SDK's plans for its next versions are no matter of these tests.
    for kind in ("DeprecationWarning", "PendingDeprecationWarning"):
        config.addinivalue_line("filterwarnings", f"ignore::{kind}:openstack")
    config.addinivalue_line("filterwarnings", "ignore:Parameter 'subnet_id' has been renamed")


def pytest_collection_finish():
    # What is loaded by now stays: looking through it for rubbish takes a tenth of the time.
    gc.freeze()


ANSWERS = {
    line["name"]: line
    for name in ("answers.jsonl", "refusals.jsonl")
    for line in map(json.loads, (RECORDED / "cloud" / name).read_text().splitlines())
}
# Where the recorded cloud had its services, and under which path they are here
PLACES = {5000: "identity", 9292: "image", 9696: "network", 8776: "volume", 8774: "compute", 8778: "placement"}
PROJECT = json.loads(ANSWERS["token"]["text"])["token"]["project"]["id"]
NAMES = {"identity": "keystone", "image": "glance", "network": "neutron", "volume": "cinder", "compute": "nova"}
# What placement says, which was not recorded
PLACEMENT = {"id": "v1.0", "min_version": "1.0", "max_version": "1.39", "status": "CURRENT",
             "links": [{"rel": "self", "href": ""}]}  # fmt: skip
# What a cloud of hosts that are made by hand answers instead
OF_HOSTS = re.compile(
    r"/(?:placement|compute/v2\.1)(?P<path>/(?:os-services|os-hypervisors/detail|os-aggregates|os-migrations"
    r"|resource_providers|allocation_candidates)(?:/.*)?)"
)
HELD = {"resources": {"VCPU": 1, "MEMORY_MB": 128, "DISK_GB": 1}}


def template(name):
    """What the recorded cloud showed of one thing."""
    body = json.loads(ANSWERS[name]["text"])
    return body[0] if isinstance(body, list) else next(iter(body.values()))


PLAIN = {"status": "ACTIVE", "name": "", "description": ""}
# Each collection's path, the word for one of it, and what one looks like
COLLECTIONS = {
    "/network/v2.0/networks": ("network", template("network")),
    "/network/v2.0/subnets": ("subnet", template("subnet")),
    "/network/v2.0/ports": ("port", template("ports")[0]),
    "/network/v2.0/routers": ("router", PLAIN),
    "/network/v2.0/floatingips": ("floatingip", {**PLAIN, "floating_ip_address": "127.0.0.1"}),
    "/network/v2.0/security-groups": ("security_group", template("group")),
    "/network/v2.0/security-group-rules": ("security_group_rule", template("group")["security_group_rules"][0]),
    "/image/v2/images": ("image", next(image for image in template("images") if image["name"] == "probe")),
    f"/volume/v3/{PROJECT}/volumes": ("volume", template("volume")),
    f"/volume/v3/{PROJECT}/types": ("volume_type", {"name": ""}),
    f"/volume/v3/{PROJECT}/attachments": ("attachment", {"status": "attached"}),
    "/compute/v2.1/servers": ("server", template("server")),
    "/compute/v2.1/flavors": ("flavor", template("flavors")[0]),
    "/compute/v2.1/os-server-groups": ("server_group", {"name": ""}),
    "/compute/v2.1/os-keypairs": ("keypair", {"name": ""}),
}
# What is always the same, without and with a token
PUBLIC = {"/network": "neutron versions", "/image": "glance versions", "/compute/v2.1": "nova v2.1"}
PRIVATE = {
    "/network/v2.0": "neutron v2.0",
    "/volume/v3": "cinder v3",
    "/image/v2/info/stores": "glance stores",
    f"/volume/v3/{PROJECT}/messages": "cinder messages",
}


# What a server is like after each action, one state after the other
AFTER_ACTION = {
    "reboot": [{"status": "REBOOT"}, {"status": "ACTIVE"}],
    "os-stop": [{"status": "ACTIVE", "OS-EXT-STS:task_state": "powering-off"}, {"status": "SHUTOFF"}],
    "os-start": [{"status": "ACTIVE"}],
    "pause": [{"status": "PAUSED"}],
    "unpause": [{"status": "ACTIVE"}],
    "suspend": [{"status": "SUSPENDED"}],
    "resume": [{"status": "ACTIVE"}],
    "shelve": [{"status": "SHELVED"}, {"status": "SHELVED_OFFLOADED"}],
    "unshelve": [{"status": "ACTIVE"}],
    "rebuild": [{"status": "REBUILD"}, {"status": "ACTIVE"}],
    "resize": [{"status": "RESIZE"}, {"status": "VERIFY_RESIZE", "hostId": "another"}],
    "migrate": [{"status": "RESIZE"}, {"status": "VERIFY_RESIZE", "hostId": "another"}],
    "confirmResize": [{"status": "ACTIVE"}],
    "revertResize": [{"status": "REVERT_RESIZE"}, {"status": "ACTIVE", "hostId": "the first"}],
    # Nova shows the new host a moment after the server is active.
    "evacuate": [{"status": "REBUILD"}, {"status": "ACTIVE"}, {"status": "ACTIVE", "hostId": "another"}],
    "os-migrateLive": [{"status": "MIGRATING"}, {"status": "ACTIVE", "hostId": "another"}],
}


class FakeCloud:
    """What the tests see of it: its url, the requests it got, what it has, and what it is told to fail at."""

    def __init__(self, scheme="http", context=None):
        self.password, self.tokens, self.token_life = secrets.token_urlsafe(12), [], timedelta(hours=1)
        self.after_action = copy.deepcopy(AFTER_ACTION)
        self.requests, self.troubles, self.closing, self.old_tokens = [], [], threading.Event(), []
        self.things = {path: {} for path in COLLECTIONS}
        # Of the one compute host in Placement
        self.traits = []
        self.console, self.states, self.bodies, self.hints, self.watchers = "", {}, [], [], []
        # Compute hosts of hosts_by_hand
        self.hosts = None
        self.connections = set()
        # Whether nova-compute fails to attach a volume
        self.gives_up = False
        # Filters of listings that this cloud does not know, and so ignores
        self.ignored = set()
        self._lock = threading.RLock()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads, self._server.block_on_close, self._server.cloud = True, False, self
        if context:
            self._server.socket = context.wrap_socket(self._server.socket, server_side=True)
        self.url = f"{scheme}://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, args=(0.002,), daemon=True).start()
        self.put("flavors", **template("flavors")[0])
        for image in template("images"):
            self.put("images", **image)

    def close(self):
        self.closing.set()
        self._server.shutdown()
        self._server.server_close()
        for connection in list(self.connections):
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    def entry(self, **more):
        """What clouds.yaml says of this cloud."""
        auth = {
            "auth_url": f"{self.url}/identity/v3",
            "username": "lab",
            "password": self.password,
            "project_name": "lab",
            "user_domain_name": "Default",
            "project_domain_name": "Default",
        }
        return {"auth": auth, "region_name": "RegionOne", "identity_api_version": 3, **more}

    def put(self, collection, /, **fields):
        """Have a thing from the start, or from elsewhere."""
        path = next(path for path in COLLECTIONS if path.endswith("/" + collection))
        # Nova knows a key pair by its name.
        identity = fields["name"] if collection == "os-keypairs" else str(uuid.uuid4())
        thing = {**copy.deepcopy(COLLECTIONS[path][1]), "id": identity, **fields}
        self.things[path][thing["id"]] = thing
        return thing

    def all(self, collection):
        return [
            thing
            for path, things in self.things.items()
            if path.endswith("/" + collection)
            for thing in things.values()
        ]

    def trouble(self, method, path, how, times=1, effect=False, **more):
        """Have the next requests that fit answered otherwise; with effect, they are carried out all the same.

        how is a status, a whole answer, the name of a recorded one, or one of reset, hang, cut, drip, and drip-headers.
        """
        self.troubles.append(SimpleNamespace(method=method, path=path, how=how, left=times, effect=effect, **more))

    def expire_tokens(self):
        self.old_tokens += self.tokens
        self.tokens = []

    def asked(self, method=None, path=""):
        """The requests so far, as (method, path)."""
        return [
            (request.method, request.path)
            for request in self.requests
            if method in (None, request.method) and path in request.path
        ]

    # What follows answers requests.

    def answer(self, request):
        """Return (status, headers, body) or the word for what happens instead."""
        with self._lock:
            self.requests.append(request)
            for watcher in self.watchers:
                watcher(request)
            trouble = next(
                (
                    planned
                    for planned in self.troubles
                    if planned.left and planned.method == request.method and re.search(planned.path, request.path)
                ),
                None,
            )
            if trouble is None:
                return self._answer(request)
            trouble.left -= 1
            usual = self._answer(request) if trouble.effect or trouble.how in ("cut", "drip", "drip-headers") else None
            if isinstance(trouble.how, int):
                text = f"<html><body><h1>{trouble.how} of the gateway</h1></body></html>"
                # A gateway gives a request no number.
                return trouble.how, {"content-type": "text/html", "x-openstack-request-id": None}, text
            if isinstance(trouble.how, tuple):
                return trouble.how
            if trouble.how in ANSWERS:
                return self.recorded(trouble.how)
            return trouble.how, usual

    def recorded(self, name):
        line = ANSWERS[name]
        headers = {**line["headers"], "x-openstack-request-id": f"req-{uuid.uuid4()}"}
        return line["status"], headers, self._here(line["text"])

    def _here(self, text):
        for port, place in PLACES.items():
            text = text.replace(f"http://10.71.16.12:{port}", f"{self.url}/{place}")
        return text

    def _answer(self, request):
        path = request.path.rstrip("/")
        service = path.split("/")[1]
        of_hosts = OF_HOSTS.fullmatch(path) if self.hosts and request.token in self.tokens else None
        if of_hosts:
            status, body = self.hosts.answer(of_hosts["path"], dict(request.query))
            return status, {}, body
        if service == "placement":
            return self._placement(path, request.token)
        if service not in NAMES:
            return self.recorded("keystone not found")
        if service == "identity":
            return self._identity(request)
        if path in PUBLIC:
            return self.recorded(PUBLIC[path])
        if request.token not in self.tokens:
            return self.recorded(f"{NAMES[service]} unauthorized")
        return self._permitted(path, request, service)

    def _placement(self, path, token):
        if token not in self.tokens:
            return 200, {}, {"versions": [PLACEMENT]}
        if path.endswith("/traits"):
            return 200, {}, {"traits": self.traits}
        if path.startswith("/placement/resource_providers/"):
            return 200, {}, {"uuid": path.rpartition("/")[2], "name": "compute2"}
        held = path.startswith("/placement/allocations/")
        return 200, {}, {"allocations": {str(uuid.uuid4()): HELD}} if held else {"versions": [PLACEMENT]}

    def _permitted(self, path, request, service):
        """Answer a request whose token is valid."""
        if path in PRIVATE:
            return self.recorded(PRIVATE[path])
        if "/os-instance-actions/" in path:
            return self.recorded("actions")
        if path.endswith("/os-instance-actions"):
            status, headers, text = self.recorded("actions")
            return status, headers, {"instanceActions": [json.loads(text)["instanceAction"]]}
        if path.endswith("/action") and service == "volume":
            volume = self._volume(path.split("/")[-2])
            volume["size"] = request.body["os-extend"]["new_size"]
            return 202, {}, None
        if path.endswith("/action"):
            return self._action(path.split("/")[-2], request.body)
        if path.endswith("/os-volume_attachments"):
            volume = self._volume(request.body["volumeAttachment"]["volumeId"])
            volume["status"] = "in-use"
            if not self.gives_up:
                volume["attachments"] = [{"server_id": path.split("/")[-2]}]
            return 200, {}, request.body
        if "/os-volume_attachments/" in path:
            volume = self._volume(path.rpartition("/")[2])
            # Of a volume for several servers one is left that has it.
            volume["status"] = "in-use" if volume.get("multiattach") else "available"
            return 202, {}, None
        if path.endswith("_router_interface"):
            return self._interface(request)
        return self._thing(path, request, service)

    def _volume(self, identity):
        return self.things[f"/volume/v3/{PROJECT}/volumes"][identity]

    def _identity(self, request):
        if request.path != "/identity/v3/auth/tokens":
            return self.recorded("keystone /v3" if request.path.startswith("/identity/v3") else "keystone ")
        if request.body["auth"]["identity"]["password"]["user"]["password"] != self.password:
            return self.recorded("keystone unauthorized")
        status, headers, text = self.recorded("token")
        body, born = json.loads(text), datetime.now(UTC)
        body["token"].update(issued_at=f"{born:%FT%T.%fZ}", expires_at=f"{born + self.token_life:%FT%T.%fZ}")
        self.tokens.append(secrets.token_urlsafe(24))
        return status, {**headers, "x-subject-token": self.tokens[-1]}, body

    def _thing(self, path, request, service):
        plain = path.removesuffix("/detail")
        collection = plain if plain in COLLECTIONS else plain.rpartition("/")[0]
        if collection not in COLLECTIONS:
            if path.endswith("/file"):
                return self._upload(request)
            return self.recorded(f"{NAMES[service]} not found")
        word, _like = COLLECTIONS[collection]
        if plain == collection and request.method == "POST":
            return 201, {}, shown(word, self._make(collection, word, request))
        if plain == collection:
            return 200, {}, self._listing(collection, request.query)
        things = self.things[collection]
        thing = things.get(plain.rpartition("/")[2])
        if thing is None:
            return self.recorded(f"{NAMES[service]} not found")
        if request.method == "DELETE":
            self._delete(things, thing)
            return 204, {}, None
        if request.method == "PUT":
            thing.update(request.body[word])
        else:
            self._advance(things, thing)
        return 200, {}, shown(word, thing)

    def _listing(self, collection, query):
        plural = collection.rpartition("/")[2].removeprefix("os-").replace("-", "_").replace("types", "volume_types")
        asked = {name: [] for name, _value in query if name not in self.ignored}
        for name, value in query:
            if name in asked:
                asked[name].append(value)
        listed = [
            thing
            for thing in self.things[collection].values()
            if all(any(fits(thing, name, value) for value in values) for name, values in asked.items())
        ]
        for thing in listed:
            if thing.get("_going"):
                self._advance(self.things[collection], thing)
        return {plural: [{"keypair": thing} for thing in listed] if plural == "keypairs" else listed}

    def _delete(self, things, thing):
        # What is seen after each deletion, if it does not go at once; from an error, or softly deleted, it stays.
        thing["_going"] = thing["_after_delete"].pop(0) if thing.get("_after_delete") else []
        if not thing["_going"]:
            self._drop(things, thing)

    def _advance(self, things, thing):
        """Take a thing that is looked at to its next state."""
        if thing.get("_going"):
            thing["status"] = thing["_going"][0]
            if len(thing["_going"]) > 1:
                thing["_going"].pop(0)
            elif not thing["status"].startswith(("error", "SOFT_DELETED")):
                self._drop(things, thing)
        elif thing.get("_states"):
            thing.update(thing["_states"].pop(0) if len(thing["_states"]) > 1 else thing["_states"][0])

    def _action(self, server, body):
        (action,) = body
        if action in self.after_action:
            states = [{"OS-EXT-STS:task_state": None, **state} for state in self.after_action[action]]
            thing = self.things["/compute/v2.1/servers"][server]
            if action == "resize":
                thing["flavor"] = {"id": body["resize"]["flavorRef"]}
            thing["_states"] = states
            return 202, {}, None
        if action == "createImage":
            image = self.put("images", name=body["createImage"]["name"], status="active")
            return 202, {}, {"image_id": image["id"]}
        if "forceDelete" in body:
            servers = self.things["/compute/v2.1/servers"]
            if not servers[server].get("_stays"):
                self._drop(servers, servers[server])
            return 202, {}, None
        return 200, {}, {"output": self.console(server) if callable(self.console) else self.console}

    def _drop(self, things, thing):
        """A server's ports go with it."""
        del things[thing["id"]]
        ports = self.things["/network/v2.0/ports"]
        for port in [candidate for candidate in ports.values() if candidate["device_id"] == thing["id"]]:
            del ports[port["id"]]

    def _make(self, collection, word, request):
        fields = request.body if word == "image" else request.body[word]
        self.bodies.append((word, fields))
        if word == "server":
            self.hints.append(request.body.get("os:scheduler_hints"))
        plural = collection.rpartition("/")[2]
        states = [{"status": state} if isinstance(state, str) else state for state in self.states.get(plural, [])]
        thing = self.put(plural, **fields, **({"_states": states} if states else {}))
        if word == "image":
            thing.update(status="queued", size=None, os_hash_value=None, os_hash_algo=None)
        if word == "volume" and not states:
            thing["status"] = "available"
        if word == "server":
            network = fields["networks"][0]
            if "port" not in network:
                self.put("ports", device_id=thing["id"], name="", description="")
        if states:
            thing.update(states[0])
        return thing

    def _upload(self, request):
        image = self.things["/image/v2/images"][request.path.split("/")[-2]]
        image.update(status="active", size=len(request.raw), os_hash_algo="sha512", os_hash_value=request.sha512)
        return 204, {}, None

    def _interface(self, request):
        router, way = request.path.split("/")[-2:]
        ports = self.things["/network/v2.0/ports"]
        if way == "add_router_interface":
            self.put(
                "ports", device_id=router, fixed_ips=[{"subnet_id": request.body["subnet_id"], "ip_address": "1.2.3.4"}]
            )
        else:
            gone = [port for port in ports.values() if port["device_id"] == router]
            for port in gone:
                del ports[port["id"]]
        return 200, {}, {"id": router, "subnet_id": request.body["subnet_id"]}


def shown(word, thing):
    """Return the body of an answer with one thing: Glance puts no word around an image."""
    return thing if word == "image" else {word: thing}


def fits(thing, name, value):
    """Whether a thing belongs into a listing; names of servers are patterns."""
    if name in ("limit", "sort", "sort_key", "sort_dir", "marker", "all_tenants") or name not in thing:
        return name != "router:external"
    if value.startswith("^"):
        return re.search(value, thing[name]) is not None
    return str(thing[name]).lower() == value.lower()


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # An answer goes out as a whole, and at once.
    wbufsize, disable_nagle_algorithm = -1, True

    def setup(self):
        super().setup()
        self.server.cloud.connections.add(self.connection)

    def finish(self):
        self.server.cloud.connections.discard(self.connection)
        super().finish()

    def log_message(self, *_args):
        pass

    def handle_one_request(self):
        try:
            super().handle_one_request()
        except OSError:  # the client went away
            self.close_connection = True

    def work(self):
        raw = self.rfile.read(int(self.headers.get("content-length") or 0))
        parts = urlsplit(self.path)
        is_json = "json" in (self.headers.get("content-type") or "")
        request = SimpleNamespace(
            method=self.command,
            path=parts.path,
            query=parse_qsl(parts.query),
            token=self.headers.get("x-auth-token"),
            headers=dict(self.headers),
            raw=raw,
            body=json.loads(raw) if raw and is_json else None,
            sha512=hashlib.sha512(raw).hexdigest(),
        )
        answer = self.server.cloud.answer(request)
        if answer[0] == "reset":
            # Zero seconds of lingering: the client gets a reset, not an end.
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.close_connection = True
            self.connection.close()
        elif answer[0] == "hang":
            self.server.cloud.closing.wait(30)
            self.close_connection = True
        elif answer[0] in ("cut", "drip", "drip-headers"):
            self.send(*answer[1], manner=answer[0])
        else:
            self.send(*answer)

    do_GET = do_POST = do_PUT = do_DELETE = work

    def send(self, status, headers, body, manner=None):
        text = b"" if body is None else body.encode() if isinstance(body, str) else json.dumps(body).encode()
        headers = {"content-type": "application/json", "x-openstack-request-id": f"req-{uuid.uuid4()}", **headers}
        self.send_response(status)
        for name, value in headers.items():
            if value is not None:
                self.send_header(name, value)
        self.send_header("Content-Length", str(len(text)))
        if manner == "drip-headers":
            self.flush_headers()
            for number in range(100):
                self.wfile.write(f"X-Slow-{number}: 1\r\n".encode())
                self.wfile.flush()
                if self.server.cloud.closing.wait(0.2):
                    return
        self.end_headers()
        if manner == "cut":
            text = text[: len(text) // 2]
            self.close_connection = True
        if manner == "drip":
            for number in range(len(text)):
                self.wfile.write(text[number : number + 1])
                self.wfile.flush()
                if self.server.cloud.closing.wait(0.2):
                    return
            return
        self.wfile.write(text)


@pytest.fixture
def cloud(tmp_path, monkeypatch):
    """The cloud, known as "small" in clouds.yaml, with retries that do not wait."""
    fake = FakeCloud()
    know(tmp_path, monkeypatch, small=fake.entry())
    yield fake
    fake.close()


@pytest.fixture
def tls_cloud(tmp_path, monkeypatch):
    """The same behind a certificate that nobody has signed; its path is in the attribute certificate."""
    certificate, key = tmp_path / "certificate.pem", tmp_path / "key.pem"
    command = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 1 -subj /CN=127.0.0.1"
    command += f" -addext subjectAltName=IP:127.0.0.1 -keyout {key} -out {certificate}"
    subprocess.run(command.split(), check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    fake = FakeCloud("https", context)
    fake.certificate = str(certificate)
    know(tmp_path, monkeypatch, small=fake.entry())
    yield fake
    fake.close()


@pytest.fixture
def know_cloud(tmp_path, monkeypatch):
    """Return a function that writes clouds.yaml."""
    return lambda **clouds: know(tmp_path, monkeypatch, **clouds)


def know(tmp_path, monkeypatch, **clouds):
    path = tmp_path / "clouds.yaml"
    path.write_text(yaml.safe_dump({"clouds": clouds}))
    # What the environment says of other clouds, or of a way to them, does not count.
    for name in list(os.environ):
        if name.startswith("OS_") or name.lower().endswith("_proxy"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("OS_CLIENT_CONFIG_FILE", str(path))


@pytest.fixture
def recorded_answer():
    """Return a function that gives a recorded answer by its name."""
    return lambda name: ANSWERS[name]


@pytest.fixture
def params():
    """What a stage's module is given, if nothing else is said."""
    options = {name: rule.get("default") for name, rule in connection_module.CLOUD_OPTIONS.items()}
    return {**options, "cloud": "small", "timeout": 20.0}


@pytest.fixture
def connect(params):
    """Return a function that connects to the cloud; the record of calls is in the attribute calls."""

    def make(timeout=20, **options):
        calls, samples = [], []
        connection = connection_module.connect({**params, **options}, calls, samples, waiting.Deadline(timeout))
        connection.calls, connection.samples = calls, samples
        return connection

    return make


@pytest.fixture(autouse=True)
def no_known_secrets():
    """Each test begins as a process does that has met no cloud yet."""
    masking.KNOWN.clear()


@pytest.fixture
def run(tmp_path):
    """A run that has just begun."""
    return run_module.begin(str(tmp_path / "runs"), "run-1", "small")[0]


@pytest.fixture
def stage(run, params):
    """Return a function that makes a stage of the run."""
    return lambda name="network", **options: stage_module.Stage(StageName(name), run, {**params, **options}, Details())


@pytest.fixture
def hurry(monkeypatch):
    """Pauses, between attempts of a request and between looks, are a fraction of what they are; so is a last second."""
    pauses = SimpleNamespace(**{**vars(time), "sleep": lambda seconds: time.sleep(seconds / 50)})
    for module in (session, stage_module):
        monkeypatch.setattr(module, "time", pauses)
    monkeypatch.setattr(transport, "LAST", 0.3)
    monkeypatch.setattr(waiting, "GRACE", 0.3)
    monkeypatch.setattr(stage_module.Stage.wait, "__defaults__", (lambda _waited: waiting.PERIOD / 10,))


@pytest.fixture(autouse=True)
def disks_are_believed(monkeypatch):
    """What is written need not outlive this machine."""
    monkeypatch.setattr("os.fsync", lambda _number: None)


@pytest.fixture
def nothing_secret():
    """Return a function that finds a cloud's password and tokens in the files of a run."""

    def check(fake, directory):
        words = [fake.password, *fake.tokens, *fake.old_tokens]
        for path in Path(directory).rglob("*"):
            if path.is_file():
                text = path.read_text(errors="replace")
                leaked = [word for word in words if word in text]
                assert not leaked, f"{path} holds a secret"

    return check


@pytest.fixture(autouse=True)
def signals_as_before():
    """A stage changes what signals do in its process, which here is that of all tests."""
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    before = [signal.getsignal(number) for number in numbers]
    yield
    for number, action in zip(numbers, before):
        signal.signal(number, action)


HOSTS_AND_API = json.loads((RECORDED / "cloud/instance.json").read_text())


# What every host is asked, and some of the recordings do not have yet
EVERYWHERE = {
    ("test", "-r", "/proc/1/cmdline"): (0, "", ""),
    ("date", "+%z"): (0, "+0000\n", ""),
    ("hostname", "--all-ip-addresses"): (0, "10.71.16.9 \n", ""),
}


def said_of_units(name, words):
    """What a recorded host says of the units that it is asked for, or None if it is asked for something else."""
    units = UNITS.get(name.partition("-")[0], UNITS["compute1"])
    if words[:2] == ["systemctl", "show"]:
        # Of what systemd does not know it says so; a pattern that nothing matches has no answer.
        asked = [
            word for word in words[words.index("--") + 1 :] if "*" not in word or fnmatch.filter(units["show"], word)
        ]
        matching = {word: fnmatch.filter(units["show"], word) for word in asked}
        blocks = [units["show"][unit] for word in asked for unit in matching[word]]
        return "\n".join([*blocks, *(NO_UNIT.format(word) for word in asked if not matching[word])])
    return {"ps": units["ps"], "cat": units["uptime"] if "/proc/uptime" in words else None}.get(words[0])


NO_UNIT = """Id={}
LoadState=not-found
ActiveState=inactive
SubState=dead
FreezerState=running
UnitFileState=
StateChangeTimestampMonotonic=0
ActiveEnterTimestampMonotonic=0
ExecMainStatus=0
NRestarts=0
"""


class Replay:
    """Answers commands as a recorded host did, or as a test says of those with certain words in them."""

    def __init__(self, name, instead):
        # Of some hosts nothing but the services was recorded.
        path = RECORDED / f"hosts/{name}.jsonl"
        lines = map(json.loads, path.read_text().splitlines()) if path.exists() else []
        answers = {tuple(line["words"]): (line["status"], line["out"], line["errors"]) for line in lines}
        self.answers = {**(EVERYWHERE if name else {}), **answers}
        self.name, self.instead, self.asked = name, instead or {}, []

    def __call__(self, words, take=None):
        status, out, errors = self.answer(words)
        return status, take(io.BytesIO(out.encode())) if take else out, errors

    def answer(self, words):
        # The recordings have the commands without the limit of their time.
        words = words[2:] if words[0] == "timeout" else words
        self.asked.append(" ".join(words))
        for part, answer in self.instead.items():
            if part in self.asked[-1]:
                return (0, answer, "") if isinstance(answer, str) else answer
        if self.name and tuple(words) not in self.answers and said_of_units(self.name, words) is not None:
            return 0, said_of_units(self.name, words), ""
        if tuple(words) not in self.answers:
            pytest.fail(f"nobody recorded {self.asked[-1]}")
        return self.answers[tuple(words)]


@pytest.fixture
def replay():
    """Return a function that gives a recorded host, with other answers to commands that have some words in them."""

    def make(name=None, instead=None, prefixes=None):
        return commands.Host(Replay(name, instead), prefixes)

    return make


@pytest.fixture
def api():
    """What the API said to a member and to an administrator, and what was made of it."""
    return copy.deepcopy(HOSTS_AND_API)


@pytest.fixture
def instance(api):
    return api["instance"]


OVN = RECORDED / "ovn"
FOLLOWED = RECORDED / "followed"


@pytest.fixture
def instance_in_ovn():
    """An instance on a lab with OVN, of which controller1-ovn and compute2-ovn are recorded."""
    return json.loads((OVN / "run.json").read_text())["instance"]


@pytest.fixture(scope="session")
def recorded_run():
    """The same as followed, once for all tests that change nothing of it."""
    return followed_in(FOLLOWED)


@pytest.fixture
def followed():
    """The record of a real run, and what was read in the logs of its hosts; most of its polls were taken out."""
    return followed_in(FOLLOWED)


@pytest.fixture
def followed_in_ovn():
    """The same of a run on a lab with OVN."""
    return followed_in(OVN)


def followed_in(folder):
    record, logs = json.loads((folder / "run.json").read_text()), {}
    for line in map(json.loads, (folder / "logs.jsonl").read_text().splitlines()):
        if "event" in line:
            logs[line["host"]]["events"].append(line["event"])
        else:
            logs[line["host"]] = {"events": [], "sources": line["sources"], "addresses": line["addresses"]}
    return SimpleNamespace(record=record, logs=logs)
