# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How a cloud is named and configured: out of clouds.yaml, a dictionary, or options."""

from __future__ import annotations

import copy
import json
from types import SimpleNamespace

import openstack.config
import os_service_types
import pytest
from ansible_collections.stackproof.provision.plugins.module_utils._cloud import configuration, credentials, errors
from ansible_collections.stackproof.provision.plugins.module_utils._cloud import connection as connection_module
from ansible_collections.stackproof.provision.plugins.module_utils._record.errors import StageError


@pytest.mark.parametrize(
    ("given", "name"),
    [
        ({"cloud": "lab"}, "lab"),
        ({"cloud": {"profile": "vexxhost", "auth": {"auth_url": "http://a/v3"}}}, "vexxhost"),
        ({"cloud": {"auth": {"auth_url": "http://a/v3"}}}, "http://a/v3"),
        ({"auth": {"auth_url": "http://b/v3"}}, "http://b/v3"),
        ({"cloud": "lab", "auth": {"auth_url": "http://b/v3"}}, "lab"),
        ({"cloud": {}}, "environment"),
        ({"_cloud": {"auth": {"auth_url": "http://a/v3"}}}, "http://a/v3"),
        ({"auth": {"auth_url": "http://me:secret@b/v3"}}, "http://b/v3"),
        ({}, "environment"),
    ],
)
def test_what_a_record_calls_a_cloud(given, name, monkeypatch):
    for variable in ("OS_CLOUD", "OS_AUTH_URL"):
        monkeypatch.delenv(variable, raising=False)
    assert connection_module.cloud_name(given) == name


@pytest.mark.parametrize(("variable", "value"), [("OS_CLOUD", "lab"), ("OS_AUTH_URL", "http://a/v3")])
def test_what_a_record_calls_a_cloud_of_the_environment(monkeypatch, variable, value):
    for name in ("OS_CLOUD", "OS_AUTH_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv(variable, value)
    assert connection_module.cloud_name({}) == value


def works(connection):
    return bool(connection.session.get_project_id())


def test_a_cloud_is_found_by_its_name(cloud, connect):
    assert works(connect())
    assert cloud.asked("POST") == [("POST", "/identity/v3/auth/tokens")]


def test_a_cloud_may_be_given_as_a_dictionary(cloud, connect, know_cloud):
    know_cloud()
    assert works(connect(cloud=cloud.entry()))
    assert works(connect(cloud=None, _cloud=cloud.entry()))


def test_a_cloud_may_be_given_by_options(cloud, connect, know_cloud):
    know_cloud()
    assert works(connect(cloud=None, auth=cloud.entry()["auth"]))


def test_a_cloud_may_be_given_by_the_environment(cloud, connect, know_cloud, monkeypatch):
    know_cloud()
    for name, value in cloud.entry()["auth"].items():
        monkeypatch.setenv(f"OS_{name.upper()}", value)
    assert works(connect(cloud=None))


def test_options_change_what_clouds_yaml_says(cloud, connect, know_cloud):
    entry = cloud.entry()
    entry["auth"]["password"] = "wrong"
    know_cloud(small=entry)
    assert works(connect(auth={"password": cloud.password}))


@pytest.mark.parametrize("cloud", [5, True, ["a"], {"profile": 5}, {"auth": 5}])
def test_what_cannot_be_a_cloud_is_refused(cloud):
    with pytest.raises(StageError, match="the cloud cannot be"):
        connection_module.cloud_name({"cloud": cloud})


def test_the_message_about_an_unknown_cloud_names_the_known_ones(cloud, connect, know_cloud, tmp_path):
    know_cloud(small=cloud.entry(), large=cloud.entry())
    with pytest.raises(StageError) as caught:
        connect(cloud="medium")
    error = caught.value.record
    assert error["kind"] == "config"
    assert "medium" in error["message"]
    assert "known clouds: large, small" in error["message"]
    assert str(tmp_path / "clouds.yaml") in error["message"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("clouds: [", "{path} is not valid YAML"),
        (None, "known clouds: none (no clouds.yaml was found)"),
    ],
)
def test_without_a_list_of_clouds_the_message_says_why(connect, know_cloud, tmp_path, monkeypatch, text, words):
    know_cloud()
    monkeypatch.setattr(configuration.openstack.config.loader, "CONFIG_FILES", [])
    path = tmp_path / "clouds.yaml"
    path.write_text(text) if text else path.unlink()
    with pytest.raises(StageError) as caught:
        connect(cloud="medium")
    assert words.format(path=path) in caught.value.record["message"]


def test_options_beside_a_dictionary_are_not_silently_lost(cloud, connect):
    with pytest.raises(StageError, match="cacert, verify") as caught:
        connect(cloud=cloud.entry(), validate_certs=False, ca_cert="x.pem")
    assert caught.value.record["kind"] == "config"


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"auth": {"username": "lab"}}, "auth_url"),
        ({"auth_type": "nonsense"}, "nonsense"),
    ],
)
def test_an_entry_that_cannot_work_is_a_matter_of_configuration(cloud, connect, know_cloud, change, words):
    know_cloud(small={**cloud.entry(), **change})
    with pytest.raises(Exception, match=words) as caught:
        connect()
    assert errors.explain(caught.value, "connecting")["kind"] == "config"


def test_a_missing_password_is_a_matter_of_configuration(cloud, connect, know_cloud):
    entry = cloud.entry()
    del entry["auth"]["password"]
    know_cloud(small=entry)
    with pytest.raises(Exception, match="password") as caught:
        works(connect())
    assert errors.explain(caught.value, "connecting")["kind"] == "config"


@pytest.mark.usefixtures("cloud")
def test_a_region_that_the_cloud_does_not_have_is_refused(connect):
    with pytest.raises(Exception, match="Elsewhere") as caught:
        list(connect(region_name="Elsewhere").network.networks())
    assert errors.explain(caught.value, "looking")["kind"] in ("config", "catalog")


@pytest.mark.parametrize(
    ("entry", "options", "interface"),
    [
        ({}, {}, "public"),
        ({}, {"interface": "internal"}, "internal"),
        ({"interface": "internal"}, {}, "internal"),
        ({"interface": "internal"}, {"interface": "admin"}, "admin"),
    ],
)
def test_the_interface_chooses_the_endpoint(cloud, connect, know_cloud, monkeypatch, entry, options, interface):
    def apart(text):
        body = json.loads(here(text))
        for service in body.get("token", {}).get("catalog", []):
            for endpoint in service["endpoints"]:
                endpoint["url"] += "" if service["type"] != "network" else f"/{endpoint['interface']}"
        return json.dumps(body)

    here = cloud._here
    monkeypatch.setattr(cloud, "_here", apart)
    know_cloud(small=cloud.entry(**entry))
    with pytest.raises(errors.CLOUD_ERRORS):
        list(connect(**options).network.networks())
    assert any(path.startswith(f"/network/{interface}") for _method, path in cloud.asked())


@pytest.mark.parametrize(
    ("given", "interfaces"),
    [(None, ["public"]), ("internalURL", ["internal"]), (["internal", "publicURL"], ["internal", "public"])],
)
def test_an_interface_has_two_names(given, interfaces):
    cloud = SimpleNamespace(config=SimpleNamespace(get_interface=lambda: given))
    assert connection_module.interfaces_of(cloud) == interfaces


def test_an_administrator_does_not_log_in_as_the_user_does():
    params = {"cloud": "mine", "admin_cloud": "boss", "auth": {"x": 1}, "auth_type": "token", "client_key": "k", "a": 1}
    theirs = connection_module.as_admin(params)
    assert (theirs["cloud"], theirs["a"]) == ("boss", 1)
    assert {theirs[name] for name in ("_cloud", "auth", "auth_type", "client_key", "client_cert")} == {None}


def test_only_what_is_secret_is_hidden():
    cloud = {
        "auth": {"username": "stack", "password": "correct horse", "application_credential_secret": "3x"},
        "identity_api_version": 3,
        "clients": [{"totp": 77, "name": "demo"}],
    }
    hidden = {"stack", "correct horse", "3x", "3", "77", "demo", "of another option"}
    module = SimpleNamespace(params={"_cloud": cloud, "auth": None}, no_log_values=hidden)
    connection_module.hide_only_secrets(module)
    assert module.no_log_values == {"correct horse", "3x", "77", "of another option"}


@pytest.mark.usefixtures("cloud")
def test_an_answer_is_its_body(connect):
    network = connect().network
    made = connection_module.answer_of(network.post("/networks", json={"network": {"name": "n"}}))
    assert made["network"]["name"] == "n"
    assert connection_module.answer_of(network.delete(f"/networks/{made['network']['id']}")) is None
    with pytest.raises(errors.CLOUD_ERRORS, match="could not be found"):
        connection_module.answer_of(network.get(f"/networks/{made['network']['id']}"))


@pytest.mark.usefixtures("cloud")
def test_opening_a_service_copies_no_table_of_service_types(connect, monkeypatch):
    connection, copied = connect(), []
    original = copy.deepcopy
    monkeypatch.setattr(copy, "deepcopy", lambda value, *more: copied.append(value) or original(value, *more))
    assert connection.network.get_endpoint()
    known = os_service_types.ServiceTypes().all_types_by_service_type
    copied = [value for value in copied if value == known]
    assert len(copied) == 1  # by the line before
    assert connection.config.get_service_type("volume") == "block-storage"


def test_settings_of_the_sdk_are_no_secrets(monkeypatch):
    for variable in ("OS_CLOUD", "OS_CLIENT_CONFIG_FILE"):
        monkeypatch.delenv(variable, raising=False)
    auth = {"auth_url": "http://a/v3", "username": "me", "password": "correct horse"}
    config = openstack.config.OpenStackConfig(load_yaml_config=False, load_envvars=False)
    settings = config.get_one(auth_type="password", auth=auth).config
    assert settings["image_status_code_retries"]
    secrets = [secret for secret in credentials.secrets_of(settings) if secret]
    assert secrets == ["correct horse"]


@pytest.mark.parametrize(
    ("key", "value", "secrets"),
    [
        ("image_status_code_retries", "5", []),
        ("code_challenge_method", "S256", []),
        ("token_ttl", 300, []),
        ("token_reuse", "false", []),
        ("code", "31", ["31"]),
        ("password", 5, ["5"]),
        ("passcode", "123456", ["123456"]),
        ("totp", 7, ["7"]),
        ("client_secret", "9", ["9"]),
        ("token", "gAAAA5", ["gAAAA5"]),
    ],
)
def test_number_is_a_secret_only_as_a_password(key, value, secrets):
    assert credentials.secrets_of({"auth": {key: value}}) == secrets
