# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Libvirt, and the emulator that it starts."""

from __future__ import annotations

from .component import Component, Port, Project

PROJECTS = (
    Project(
        "libvirt",
        configuration=("/etc/libvirt",),
        packages=("libvirt-daemon*",),
        components=(
            Component(
                "libvirt",
                depends_on=("ceph-mon", "ceph-osd", "ovsdb"),
                is_beside_instance=True,
                # Where libvirt of another host asks during a live migration: in the clear, and with TLS
                ports=(Port(16509), Port(16514, encrypted=True)),
                carries=("libvirt",),
                mentioned_as=(
                    "libvirt",
                    r"\bvirsh\b",
                    "qemu(?!-img)",
                    "hypervisor",
                ),
                libraries=("libvirt",),
                exceptions=("libvirt", "Hypervisor"),
                programs=("libvirtd", "virtqemud", "qemu-kvm"),
                # What Nova writes there goes into the domain: libvirt takes it, or not.
                sections=("vnc", "spice", "serial_console"),
                starts=("qemu-system-x86_64", "qemu-system-aarch64"),
            ),
        ),
    ),
)
