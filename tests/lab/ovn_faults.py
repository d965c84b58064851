# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Faults of OVN's parts, made on a lab with OVN, each with what a verdict on it has to say to be right."""

from __future__ import annotations

import contextlib

from breaking import changed, cut_off, frozen, limited, recovered, stopped, undone, unplugged
from faults import NOTHING, empty_image
from lab_under_test import GROUPS
from truths import fault_of

CONTROLLER, NETWORK, COMPUTE, OTHER = (
    GROUPS["controller"][0],
    GROUPS["network"][0],
    GROUPS["compute"][0],
    GROUPS["compute"][-1],
)
# Only an administrator may say which host takes the instance.
HERE = {"cloud": "lab-admin", "host": COMPUTE, "volume": "none"}
ANYWHERE = {"volume": "none"}
AGENT, AGENT_FILE = "neutron-ovn-metadata-agent", "/etc/neutron/neutron_ovn_metadata_agent.ini"

FAULTS = {}


def fault(name, *truth, **variables):
    FAULTS[name] = fault_of(name, *truth, **variables)


def setting(name, value, back):
    """Another value for a setting of a chassis in its Open vSwitch. back: the value that the lab gives it."""
    change = "ovs-vsctl set open . external-ids:{}={}".format

    @contextlib.contextmanager
    def make(lab):
        with recovered(lab, COMPUTE), undone(lab, COMPUTE, change(name, value), change(name, back)):
            yield

    return make


@contextlib.contextmanager
def without_bridge(lab):
    with recovered(lab, COMPUTE):
        lab.run(COMPUTE, "ovs-vsctl del-br br-int")
        yield


@contextlib.contextmanager
def northd_alone(lab):
    """It alone: Debian's script ends the databases as well, and nothing starts them again."""
    folder = "/run/systemd/system/ovn-northd.service.d"
    stop = "/usr/share/ovn/scripts/ovn-ctl stop_northd --no-monitor --ovn-manage-ovsdb=no"
    make = f"mkdir -p {folder} && printf '[Service]\\nExecStop=\\nExecStop={stop}\\n' > {folder}/zz-alone.conf"
    back = f"rm {folder}/zz-alone.conf && systemctl daemon-reload && systemctl start ovn-northd"
    command = f"{make} && systemctl daemon-reload && systemctl stop ovn-northd"
    with recovered(lab, CONTROLLER), undone(lab, CONTROLLER, command, back):
        yield


def few_files(lab):
    """So few that haproxy, which inherits the limit of its agent, cannot start."""
    return limited(lab, COMPUTE, AGENT, 1024)


@contextlib.contextmanager
def deaf_to_dhcp(lab):
    """The guest's requests end at the bridge, so that ovn-controller has nothing to answer."""
    flow = "priority=65535,udp,tp_src=68,tp_dst=67"
    add = f"ovs-ofctl --protocols=OpenFlow15 add-flow br-int {flow},actions=drop"
    remove = f"ovs-ofctl --protocols=OpenFlow15 --strict del-flows br-int {flow}"
    with recovered(lab, COMPUTE), undone(lab, COMPUTE, add, remove):
        yield


def wrong_secret(lab):
    edit = f"sed -i 's/^\\(metadata_proxy_shared_secret\\) = .*/\\1 = wrong/' {AGENT_FILE}"
    return changed(lab, COMPUTE, AGENT_FILE, edit, [AGENT])


@contextlib.contextmanager
def name_of_another(lab):
    """Two chassis with one name take the row in the southbound database from each other."""
    change = "ovs-vsctl set open . external-ids:system-id={}".format
    with recovered(lab, COMPUTE):
        try:
            with undone(lab, COMPUTE, change(OTHER), change(COMPUTE)):
                yield
        finally:
            for host in (COMPUTE, OTHER):
                lab.run(host, "systemctl restart ovn-controller")


fault("ovn-controller-stopped", lambda lab: stopped(lab, COMPUTE, "ovn-controller"), "boot", "ovn-controller", COMPUTE,
      "N22", **HERE)  # fmt: skip
fault("ovn-controller-frozen", lambda lab: frozen(lab, COMPUTE, "ovn-controller"), "boot", "ovn-controller", COMPUTE,
      "N22", **HERE)  # fmt: skip
fault("ovn-controller-cut-off", lambda lab: cut_off(lab, COMPUTE, 6642), "boot", "ovn-controller ovn-sb-db",
      f"{COMPUTE} {CONTROLLER}", "N22", **HERE)  # fmt: skip
fault("northd-stopped", northd_alone, "boot", "ovn-northd", CONTROLLER, "N21 N22", **ANYWHERE)
fault("northd-frozen", lambda lab: frozen(lab, CONTROLLER, "ovn-northd"), "boot", "ovn-northd", CONTROLLER,
      "N21 N22", **ANYWHERE)  # fmt: skip
fault("northbound-stopped", lambda lab: stopped(lab, CONTROLLER, "ovn-ovsdb-server-nb"), "network", "ovn-nb-db",
      CONTROLLER, **ANYWHERE)  # fmt: skip
fault("southbound-stopped", lambda lab: stopped(lab, CONTROLLER, "ovn-ovsdb-server-sb"), "boot", "ovn-sb-db",
      CONTROLLER, "N21 N22", **ANYWHERE)  # fmt: skip
# Neutron binds no port of a VLAN on a chassis that does not name its physical network.
fault("bridge-mapping-wrong", setting("ovn-bridge-mappings", "nowhere:br-ex", "public:br-ex"), "boot",
      "ovn-controller neutron-server", f"{COMPUTE} {CONTROLLER}", "26 N20", **HERE)  # fmt: skip
# ovn-controller makes it again at once.
fault("integration-bridge-gone", without_bridge, None, "ovn-controller", COMPUTE, **HERE)
fault("metadata-agent-stopped", lambda lab: stopped(lab, COMPUTE, AGENT), "metadata", AGENT, COMPUTE, "N26 52", **HERE)
fault("haproxy-few-files", few_files, "metadata", AGENT, COMPUTE, "N26 52", **HERE)
fault("metadata-secret-wrong", wrong_secret, "metadata", f"{AGENT} nova-metadata", f"{COMPUTE} {CONTROLLER}",
      "53 53a 54 N18", **HERE)  # fmt: skip
fault("chassis-of-another-name", name_of_another, "boot", "ovn-controller", f"{COMPUTE} {OTHER}", "N22", **HERE)
fault("provider-network-unplugged", lambda lab: unplugged(lab, NETWORK, "eth1"), "metadata",
      "data-network ovn-controller openvswitch", NETWORK, floating_ip=True, tcp_port=80, **ANYWHERE)  # fmt: skip
# Its flows are those that ovn-controller makes.
fault("dhcp-unheard", deaf_to_dhcp, "metadata", "ovn-controller openvswitch", COMPUTE, "N27", **HERE)
# The guest's own trouble
fault("image-empty", empty_image, "metadata", "guest", f"{COMPUTE} {OTHER}", "N27 52", image_file=str(NOTHING),
      **ANYWHERE)  # fmt: skip
