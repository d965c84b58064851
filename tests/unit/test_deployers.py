# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Each name in a profile is one that the deployer's own files make, or is marked as made by another program."""

from __future__ import annotations

import subprocess
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader

import checkouts
import deployers
import pytest
import yaml
from deployers import CONTAINER, GROUP, JOURNAL, LOG, POD, UNIT
from tree import RECORDED, ROOT


def program():
    loader = SourceFileLoader("hold_profiles", str(ROOT / "tools/profiles"))
    module = module_from_spec(spec_from_loader(loader.name, loader))
    # A dataclass looks for its module by name.
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(__import__("sys").modules, loader.name, module)
        loader.exec_module(module)
    return module


profiles = program()
TABLES = {path.stem: yaml.safe_load(path.read_text()) for path in sorted((RECORDED / "platforms").glob("*.yml"))}
NAMES = sorted(TABLES)


def recorded_in(name):
    return {(record["kind"], record["name"]) for record in TABLES[name]["names"]}


def lost(name, profile):
    """Return the names of a profile that its table does not have."""
    return {(entry.kind, entry.name) for entry in profiles.entries_of(profile)} - recorded_in(name)


# The profiles and their tables


def test_each_profile_that_describes_a_deployer_has_a_table():
    ours = {path.stem for path in profiles.PROFILES.glob("*.yml")}
    # The names of this one are those of the profile that it is like.
    assert set(deployers.READERS) == set(TABLES) == ours - {"packages", "kolla_podman"}


@pytest.mark.parametrize("name", NAMES)
def test_each_name_of_a_profile_is_in_its_table_and_no_other(name):
    profile = profiles.profile_of(name)
    assert lost(name, profile) == set(), "run tools/profiles with --write (docs/platforms.md)"
    assert len(recorded_in(name)) == len(profiles.entries_of(profile))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    ("key", "more", "kind", "invented"),
    [
        ("units", [{"component": "x", "units": ["invented.service"]}], UNIT, "invented.service"),
        ("logs", [{"service": "x", "files": ["/var/log/invented.log"]}], LOG, "/var/log/invented.log"),
        ("logs", [{"service": "x", "journals": ["invented"]}], JOURNAL, "invented"),
        ("logs", [{"service": "x", "files": ["/var/log/pods/*_in-*/vented/[0-9]*.log"]}], POD, "in/vented"),
    ],
)
def test_an_invented_name_is_found_missing(name, key, more, kind, invented):
    profile = profiles.profile_of(name)
    assert lost(name, {**profile, key: [*profile[key], *more]}) == {(kind, invented)}


@pytest.mark.parametrize("name", NAMES)
def test_an_invented_container_or_group_is_found_missing(name):
    profile = profiles.profile_of(name)
    profile["prefixes"] = {"libvirt": [["docker", "exec", "invented"]]}
    profile["groups"] = {"compute": ["invented"]}
    assert lost(name, profile) == {(CONTAINER, "invented"), (GROUP, "invented")}


@pytest.mark.parametrize("name", NAMES)
def test_each_name_has_a_file_of_a_commit_or_another_maker(name):
    read = {(checkout["repository"], checkout["revision"]) for checkout in TABLES[name]["checkouts"]}
    others = {(other["kind"], other["name"]): other["by"] for other in profiles.others_of(name)}
    for record in TABLES[name]["names"]:
        if "made_by" in record:
            assert others[record["kind"], record["name"]] == record["made_by"]
        else:
            assert record["file"]
            assert (record["repository"], record["revision"]) in read


def test_each_commit_is_a_whole_one_with_its_date():
    for table in TABLES.values():
        for checkout in table["checkouts"]:
            assert len(checkout["commit"]) == 40
            assert checkout["date"].startswith("202")


def test_no_name_is_marked_as_made_by_others_without_need():
    marked = yaml.safe_load(profiles.OTHERS.read_text())
    for name, others in marked.items():
        tables = TABLES.values() if name == "any" else [TABLES[name]]
        made = {
            (record["kind"], record["name"]) for table in tables for record in table["names"] if "made_by" in record
        }
        assert {(other["kind"], other["name"]) for other in others} <= made


@pytest.mark.parametrize(
    ("name", "fact", "fitting"),
    [
        ("nova-api.service", "nova-api.service", True),
        ("nova-ap.service", "nova-api.service", False),
        ("nova-*.service", "nova-api.service", True),
        ("agent_dnsmasq_*", "*_dnsmasq_*", True),
        ("nova-cell*-conductor/nova-cell*-conductor-conductor", "nova*-conductor/nova*-conductor-conductor", True),
        ("ceph-mon@*.service", "ceph-mon@.service", True),
        ("/var/log/a/*.log", "/var/log/b/c.log", False),
    ],
)
def test_a_pattern_fits_what_it_may_become(name, fact, fitting):
    assert profiles.fits(name, fact) is fitting


# The tool, on small deployers


@pytest.fixture
def repository(tmp_path):
    """Return a function that makes a repository of some files, and gives its checkout."""

    def make(files, name="project=openstack/example.git\n"):
        for path, text in {".gitreview": name, **files}.items():
            (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / path).write_text(text)
        identity = ["-c", "user.name=x", "-c", "user.email=x@example.org"]
        for words in (["init", "-q"], ["add", "."], [*identity, "commit", "-q", "-m", "x"]):
            subprocess.run(["git", "-C", str(tmp_path), *words], check=True, capture_output=True)
        return checkouts.opened(tmp_path, ["no-such-branch"])[0]

    return make


def names_in(facts):
    return {(fact.kind, fact.name) for fact in facts}


def test_a_repository_says_its_own_name_and_is_read_at_its_head_without_the_revision(repository):
    checkout = repository({"a/b.yml": "x", "c": "y"})
    assert (checkout.repository, checkout.revision, len(checkout.commit)) == ("openstack/example", "HEAD", 40)
    assert list(checkout.files(r"^a/")) == [("a/b.yml", "x")]


def test_names_of_openstack_ansible(repository):
    facts = deployers.openstack_ansible(
        repository(
            {
                "defaults/main.yml": "a_services:\n  a-api: {group: g, service_name: a-one}\n  a-wsgi: {group: g}\n"
                "  a-none: {service_en: false}\nweb_name: '{{ _web_name }}'\n",
                "vars/debian.yml": "_web_name: web2\nsome: [lib.service, lib.socket]\n",
                "vars/redhat.yml": "_web_name: webd\n",
                "handlers/main.yml": "- ansible.builtin.service: {name: '{{ web_name }}'}\n"
                "- service: {name: '{{ x }}'}\n",
                "tasks/main.yml": "- copy: {dest: /etc/systemd/system/made.service}\n"
                "- include_role: {name: x}\n  vars: {systemd_services: [{service_name: listed}]}\n- broken: !tag 1\n",
                "templates/site.j2": "CustomLog \"|logger -p x -t {{ web_name }}:{{ v['name'] }}\" f\n",
                "inventory/env.d/a.yml": "component_skel:\n  a_api: {belongs_to: [a_all]}\nphysical_skel: {}\n",
            }
        )
    )
    units = {"a-one", "a-wsgi", "web2", "webd", "lib", "made", "listed"}
    others = {(JOURNAL, "web2:*"), (JOURNAL, "webd:*"), (GROUP, "a_api"), (GROUP, "a_all")}
    assert names_in(facts) == {(UNIT, f"{name}.service") for name in units} | others


def test_names_of_kolla(repository):
    role = "ansible/roles/nova"
    facts = deployers.kolla(
        repository(
            {
                f"{role}/defaults/main.yml": "s:\n  a: {container_name: nova_api}\n"
                "  b: {container_name: '{{ project_name }}'}\n  c: {container_name: '{{ x }}'}\n",
                f"{role}/vars/main.yml": "project_name: rabbitmq\n",
                "ansible/module_utils/kolla_systemd_worker.py": "x = 'kolla-' + name + '-container.service'\n",
                "ansible/inventory/multinode": "[control]\nhost\n[nova:children]\ncontrol\n",
                f"{role}/templates/nova.conf.j2": "log_dir = /var/log/kolla/nova\nlog_file = own.log\n",
                f"{role}/templates/c.json.j2": '{"command": "nova-conductor --config x"}\n',
                f"{role}/templates/l3.sh.j2": "#!/bin/bash\nneutron-l3-agent \\\n  --config x\n",
                f"{role}/templates/site.j2": "{% set d = '/var/log/kolla/web' %}\nCustomLog {{ d }}/access.log x\n",
                f"{role}/tasks/config.yml": "- include_role: {name: service-uwsgi-config}\n"
                "  vars: {service_name: '{{ item.name }}'}\n  loop: [{name: nova-api}]\n",
                "ansible/roles/cron/templates/x.j2": "/var/log/kolla/nova/read-only.log\n",
                "docker/neutron/neutron-base/dnsmasq": "NAME=${KOLLA_NAME}_dnsmasq_${NETNS}\n",
            }
        )
    )
    logs = {"nova/own", "nova/nova-conductor", "nova/neutron-l3-agent", "web/access", "nova/nova-api-uwsgi"}
    assert names_in(facts) == {
        *((CONTAINER, name) for name in ("nova_api", "rabbitmq", "*_dnsmasq_*")),
        *((UNIT, f"kolla-{name}-container.service") for name in ("nova_api", "rabbitmq")),
        *((GROUP, name) for name in ("control", "nova")),
        *((LOG, f"/var/log/kolla/{name}.log") for name in logs),
    }


def test_names_of_compute_nodes_of_openshift(repository):
    facts = deployers.rhoso(
        repository(
            {
                "roles/a/templates/quadlet/a.container.j2": "[Container]\nContainerName=agent_one\n",
                "roles/a/tasks/run.yml": "- vars: {edpm_container_standalone_container_defs: {agent_two: x}}\n"
                "- vars: {edpm_container_manage_config_patterns: agent_three.json}\n",
                "roles/a/templates/wrapper.j2": "NAME_PREFIX=side-car\n",
                "roles/a/defaults/main.yml": "a_services: [virtqemud]\n",
                "roles/a/tasks/x.yml": "- systemd: {name: 'edpm_{{ item }}.service'}\n",
            }
        )
    )
    agents = {"agent_one", "agent_two", "agent_three"}
    assert names_in(facts) == {
        *((CONTAINER, name) for name in (*agents, "side-car-*")),
        *((UNIT, f"edpm_{name}.service") for name in agents),
        (UNIT, "virtqemud.service"),
    }


def pod_in_go(pod, *containers):
    """Return code that makes a pod. The names are expressions."""
    parts = [f"{{\n\tName: {name},\n\tCommand: []string{{}},\n\tImage: i,\n\tEnv: e,\n}},\n" for name in containers]
    return (
        f"x := a.B{{\n\tObjectMeta: metav1.ObjectMeta{{\n\t\tName: {pod},\n\t}},\n\ta\n\tb\n" + "".join(parts) + "}\n"
    )


def test_names_of_operators(repository):
    facts = deployers.rhoso(
        repository(
            {
                "internal/nova/api/deployment.go": pod_in_go("instance.Name", 'instance.Name + "-log"', "unknown"),
                "internal/glanceapi/statefulset.go": "n := instance.Name\n"
                + pod_in_go("n", 'glance.ServiceName + "-api"'),
                "internal/glance/const.go": 'const (\n\tServiceName = "glance"\n)\n',
                "internal/cindervolume/statefulset.go": pod_in_go("instance.Name", "ComponentName"),
                "internal/cindervolume/const.go": 'const (\n\tComponentName = "cinder-volume"\n)\n',
                "internal/cindervolume/statefulset_test.go": pod_in_go('"test"', '"test"'),
                "internal/cindervolume/volumes.go": pod_in_go('"other"', '"other"'),
            }
        )
    )
    pods = {"nova*-api/nova*-api-log", "glance*/glance-api", "cinder-volume*/cinder-volume"}
    assert names_in(facts) == {(POD, pod) for pod in pods}


def test_names_of_openstack_helm(repository):
    workload = (
        "kind: {}\nmetadata:\n  name: {}\nspec:\n      initContainers:\n        - name: init\n      containers:\n"
    )
    facts = deployers.openstack_helm(
        repository(
            {
                "a/templates/deployment.yaml": workload.format("Deployment", "a-api")
                + "        - name: a-one\n          x: y\n        - name: a-two\n"
                + "      volumes:\n        - name: disk\n",
                "b/templates/statefulset.yaml": '{{- $n := printf "%s-%s" $e.Release.Name "bus" }}\n'
                + workload.format("StatefulSet", "{{ $n | quote }}")
                + "        - name: b-one\n",
                "c/templates/job.yaml": workload.format("Job", "c") + "        - name: c\n",
                "d/values.yaml": "x: 1:file:/var/log/d/d.log\n",
                "doc/source/install/kubernetes.rst": "        k8s_nodes:\n",
            }
        )
    )
    pods = {"a-api/a-one", "a-api/a-two", "*-bus/b-one"}
    assert names_in(facts) == {(POD, pod) for pod in pods} | {(LOG, "/var/log/d/d.log"), (GROUP, "k8s_nodes")}


def test_names_of_devstack(repository):
    facts = deployers.devstack(
        repository({"lib/nova": '  run_process n-api "x"\n  run_process "n-cell${i}" x\n  restart_service bus\n'})
    )
    units = {"devstack@n-api.service", "devstack@n-cell*.service", "bus.service"}
    assert names_in(facts) == {(UNIT, unit) for unit in units}


@pytest.fixture
def run(tmp_path, monkeypatch, capsys, repository):
    """Return a function that holds a profile with one unit against a devstack with one, and gives what was said."""
    checkout = repository({"lib/nova": "run_process n-api x\n"})
    profile = {key: {} for key in ("groups", "prefixes", "dhcp_logs", "metadata_logs")}
    monkeypatch.setattr(profiles, "PROFILES", tmp_path)

    def hold(unit, *more):
        content = {**profile, "units": [{"component": "nova-api", "units": [unit]}]}
        (tmp_path / "devstack.yml").write_text(yaml.safe_dump({profiles.VARIABLE: content}))
        words = ["profiles", "devstack", str(checkout.directory), *more]
        monkeypatch.setattr("sys.argv", words)
        return profiles.main(), capsys.readouterr().out

    return hold


def test_the_tool_writes_a_table_if_all_is_found(run, tmp_path):
    code, said = run("devstack@n-api.service", "--write", str(tmp_path / "table.yml"))
    assert code == 0
    assert "1 names, 0 of them made by others, 0 not found" in said
    [record] = yaml.safe_load((tmp_path / "table.yml").read_text())["names"]
    assert (record["name"], record["file"]) == ("devstack@n-api.service", "lib/nova")


def test_the_tool_fails_for_an_invented_name_and_writes_nothing(run, tmp_path):
    code, said = run("devstack@invented.service", "--write", str(tmp_path / "table.yml"))
    assert code == 1
    assert "NOT FOUND" in said
    assert not (tmp_path / "table.yml").exists()


def test_the_tool_marks_a_name_of_a_package(run):
    code, said = run("ovs-vswitchd.service")
    assert code == 0
    assert "made by a package of Open vSwitch" in said
