# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Many compute services with nova's fake driver, on a host of the lab that has nova and neutron: run there as root.

    fake_computes.py PREFIX NUMBER [AGENT.json]

Each is a process of its own, as on a host of its own, and has its own name. All are forked from one that has loaded
nova before, so that they share most of their memory. Neutron binds a port only where an agent lives, so one more
process reports an agent for each of them, like the one that AGENT.json describes. All end with their parent.
"""

from __future__ import annotations

import ctypes
import json
import os
import pwd
import signal
import sys
import traceback
from importlib import import_module
from os import wait
from pathlib import Path
from time import sleep

# Nova replaces sleep and wait by those of eventlet as soon as it is loaded; a parent that has used these has what its
# children must not share. So they are imported by name, before; and what is OpenStack's is loaded by name in the
# process that shall have it: in the parent what all share, the first of which patches what it must before the rest.
LOADED = ("nova.cmd", "nova.cmd.compute", "nova.compute.manager", "nova.network.neutron", "nova.virt.fake")

# Reports are as rare as nova and neutron allow without taking a host for dead, and what a service does by itself now
# and then is left out: a hundred hosts share two cores with the cloud that they are of.
CONFIGURATION = """
[DEFAULT]
host = {name}
compute_driver = fake.FakeDriver
state_path = {folder}
lock_path = {folder}
debug = false
default_log_levels = oslo.messaging=WARN,oslo_messaging=WARN,amqp=WARN,amqplib=WARN,keystoneauth=WARN,urllib3=WARN
report_interval = 25
update_resources_interval = 600
sync_power_state_interval = 0
heal_instance_info_cache_interval = 0
volume_usage_poll_interval = 0
running_deleted_instance_poll_interval = 0
instance_delete_interval = 0
shelved_poll_interval = -1
reboot_timeout = 0
rescue_timeout = 0
[image_cache]
manager_interval = -1
[oslo_concurrency]
lock_path = {folder}
"""
REPORT_S = 30
PARENT_DEATH = 1  # PR_SET_PDEATHSIG


def fork(user, work, *arguments):
    """Start a child that runs some work as a user, and ends with its parent."""
    child = os.fork()
    if child:
        return child
    account = pwd.getpwnam(user)
    os.initgroups(user, account.pw_gid)
    os.setgid(account.pw_gid)
    os.setuid(account.pw_uid)
    os.environ["HOME"] = account.pw_dir
    ctypes.CDLL(None).prctl(PARENT_DEATH, signal.SIGKILL)
    status = 1
    try:
        status = work(*arguments) or 0
    except BaseException:
        traceback.print_exc()
        sys.stderr.flush()
    finally:
        os._exit(status)


def serve(name, folder):
    """Be the compute service of a host."""
    # What wakes one of those that share their parent's hub would wake all of them.
    import_module("eventlet.hubs").use_hub()
    path = folder / f"{name}.conf"
    path.write_text(CONFIGURATION.format(name=name, folder=folder))
    log = ["--log-file", str(folder / "log")]
    sys.argv = ["nova-compute", "--config-file", "/etc/nova/nova.conf", "--config-file", str(path), *log]
    import_module("nova.cmd.compute").main()


def report(names, agent):
    """Say again and again that an agent lives on each of the hosts."""
    config, rpc = import_module("neutron.common.config"), import_module("neutron.agent.rpc")
    config.register_common_config_options()
    import_module("neutron.conf.agent.common").register_agent_state_opts_helper(import_module("oslo_config.cfg").CONF)
    config.init(["--config-file", "/etc/neutron/neutron.conf", "--log-file", "/dev/null"])
    reporter = rpc.PluginReportStateAPI(import_module("neutron_lib.agent.topics").REPORTS)
    who = import_module("neutron_lib.context").get_admin_context_without_session()
    state = {name: agent[name] for name in ("binary", "topic", "agent_type", "configurations")}
    first = True
    while True:
        for name in names:
            reporter.report_state(who, {**state, "host": name, "start_flag": first}, use_call=first)
        first = False
        sleep(REPORT_S)


def main():
    prefix, number = sys.argv[1], int(sys.argv[2])
    names = [f"{prefix}-{index:03d}" for index in range(1, number + 1)]
    if len(sys.argv) > 3:
        fork("neutron", report, names, json.loads(Path(sys.argv[3]).read_text()))
    for name in LOADED:
        import_module(name)
    owner = pwd.getpwnam("nova")
    for name in names:
        folder = Path("/tmp") / prefix / name
        folder.mkdir(parents=True)
        os.chown(folder, owner.pw_uid, owner.pw_gid)
        fork("nova", serve, name, folder)
        sleep(0.2)
    print("started", flush=True)
    wait()


if __name__ == "__main__":
    main()
