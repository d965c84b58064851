# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The rules for sudo that the role evidence has: what they allow, by the little of sudoers(5) that they use.

Beside it, commands that no rule may allow. The unit tests ask the rules themselves, the tests of the lab a real sudo.
"""

from __future__ import annotations

import re
import shlex

from tree import ROOT

FOLDER = ROOT / "roles/evidence/files/sudoers"
PARTS = ("logs", "compute", "network", "ceph", "ovn", "examination")
USER = "stackproof"
UUID = "8585247f-547f-46d6-8c03-334064b2be45"
LOG, DHCP = "/var/log/nova/nova-compute.log", f"/var/lib/neutron/dhcp/{UUID}"
VIRSH = "virsh --connect qemu:///system --readonly"
GREP = "grep --text --with-filename --null --line-number --max-count=20000 --fixed-strings"
SETTINGS = "grep --text --with-filename --regexp=^[^#;] --"
FIND = "find /etc/nova /etc/neutron -maxdepth 4 -type f -printf '%T@ %m %u:%g %s %p\\n'"
VARIABLES = "SHOW GLOBAL VARIABLES WHERE Variable_name IN"
# What each of the programs would do for who may say anything to it
DANGEROUS = [
    *("bash", "sh -c id", "su", "id", "env", "timeout 15 id", "python3 -c pass", "sudoedit /etc/passwd"),
    *("docker exec nova_libvirt virsh list", "docker run --volume /:/host alpine", "rabbitmqctl list_users"),
    "cat /etc/shadow",
    f"cat {DHCP}/../../../../../etc/shadow",
    f"cat {DHCP}/host /etc/shadow",
    f"cat {DHCP}/leases/../host",
    "cat /var/lib/neutron/dhcp/x/host",
    "ls /root",
    f"ls {DHCP} /root",
    f"ls --recursive {DHCP}",
    "ls /etc/ceph/..",
    "cat /etc/ceph/ceph.client.admin.keyring",
    "head --verbose --lines=100 -- /etc/shadow",
    f"head --verbose --lines=100 -- {LOG} /etc/shadow",
    "head --verbose --lines=100 -- /var/log/nova/../../../etc/shadow",
    "head --verbose --lines=100 -- /var/log/nova/..log/../../../etc/shadow",
    "head --verbose --lines=100 -- /var/log/auth.log",
    "head --verbose --lines=100 -- /var/log/apache2/access.log",
    "head --verbose --lines=100 -- var/log/nova/nova-compute.log",
    "tail --verbose --lines=100 --follow -- " + LOG,
    "tail --verbose --lines=+1 -- " + LOG,
    f"{GREP} --regexp=x -- /etc/shadow",
    f"{GREP} --regexp=x /etc/shadow -- {LOG}",
    f"{GREP} --regexp=x --file=/etc/shadow -- {LOG}",
    f"{GREP} -f /etc/shadow -- {LOG}",
    f"{GREP} -e x -- {LOG}",
    # sudo sees the words as one text: in the first, grep takes a file for what looks like a word to look for.
    f"{GREP} -e : '-e a -e' /etc/shadow -- {LOG}",
    f"{GREP} --regexp=x --recursive -- /etc",
    f"{GREP} --regexp=x --recursive -- {LOG}",
    "grep --text --fixed-strings -- : /var/log/syslog",
    "grep --text --fixed-strings -- 0 /var/log/neutron/dnsmasq.log",
    "grep --text --fixed-strings -- fa:16:3e:2d:9a:e3 /etc/shadow",
    "grep --text --fixed-strings -- fa:16:3e:2d:9a:e3 /var/log/syslog /etc/shadow",
    "find / -maxdepth 3 -type f -newermt @1 -printf '%T@ %p\\n'",
    "find /var/log/nova /root -maxdepth 3 -type f -newermt @1 -printf '%T@ %p\\n'",
    "find /var/log/nova/.. -maxdepth 3 -type f -newermt @1 -printf '%T@ %p\\n'",
    "find /var/log/nova -maxdepth 3 -type f -newermt @1 -exec id ;",
    "find /var/log/nova -maxdepth 3 -type f -newermt @1 -delete",
    "find /var/log/nova -maxdepth 3 -type f -newermt @1 -fprintf /etc/cron.d/x '%T@ %p\\n'",
    "find /var/log/nova -maxdepth 3 -type f -newermt @1 -printf '%T@ %p\\n' -delete",
    "find /var/log/nova -maxdepth 3 -type f -newermt @1 -printf '%T@ %p\\n' -fls /etc/cron.d/x",
    "journalctl",
    "journalctl --vacuum-time=1s",
    "journalctl --quiet --field=SYSLOG_IDENTIFIER",
    "journalctl --no-pager --quiet --field=MESSAGE",
    "journalctl --output=export --no-pager --quiet --output-fields=MESSAGE,SYSLOG_IDENTIFIER,_SYSTEMD_UNIT --since=@1 "
    "SYSLOG_IDENTIFIER=sshd",
    "journalctl --output=export --no-pager --quiet --output-fields=MESSAGE,SYSLOG_IDENTIFIER,_SYSTEMD_UNIT --since=@1 "
    "SYSLOG_IDENTIFIER=dnsmasq-dhcp --file=/x",
    "journalctl --output=export --no-pager --quiet --output-fields=MESSAGE,SYSLOG_IDENTIFIER,_SYSTEMD_UNIT --since=@1 "
    "--until=@2 SYSLOG_IDENTIFIER=slapd + SYSLOG_IDENTIFIER=sudo",
    "journalctl --output=export --no-pager --quiet --output-fields=MESSAGE,SYSLOG_IDENTIFIER,_SYSTEMD_UNIT --since=@1 "
    "--until=@2",
    f"ovn-nbctl --no-leader-only lsp-del {UUID}",
    f"ovn-nbctl --no-leader-only --format=json --columns=name,acls find Port_Group ports{{>=}}{UUID} -- lsp-del {UUID}",
    f"ovn-nbctl --no-leader-only --format=json --columns=ports,nat destroy Logical_Router neutron-{UUID}",
    f"ovn-nbctl --db=tcp:10.0.0.1:6641 --columns=ports,nat find Logical_Router name=neutron-{UUID}",
    f"ovn-sbctl --no-leader-only --format=json --columns=hostname destroy Chassis {UUID}",
    f"virsh --connect qemu:///system dumpxml {UUID}",
    f"{VIRSH} dumpxml {UUID} --security-info",
    f"{VIRSH} dumpxml '{UUID};list'",
    f"{VIRSH} dumpxml instance-00000053",
    *(f"{VIRSH} {verb} {UUID}" for verb in ("edit", "destroy", "undefine", "console", "domstate", "dump", "save")),
    f"{VIRSH} secret-get-value {UUID}",
    f"virsh --connect qemu+ssh://elsewhere/system --readonly dumpxml {UUID}",
    "ss --no-header --tcp --numeric --processes --kill",
    "ss --no-header --tcp --numeric --processes --diag /etc/cron.d/x",
    "ss -K",
    "ovs-vsctl del-br br-int",
    "ovs-vsctl iface-to-br tapbd6f4d7b-9c -- del-br br-int",
    "ovs-vsctl iface-to-br --db=tcp:10.0.0.1:6640",
    "ovs-vsctl --log-file=/etc/cron.d/x iface-to-br tapbd6f4d7b-9c",
    f"ovs-vsctl --format=json --columns=name,ofport,external_ids,error set Interface external_ids:iface-id={UUID}",
    "ovs-ofctl del-flows br-int",
    "ovs-ofctl dump-flows br-int",
    "ovs-ofctl dump-flows unix:/tmp/x in_port=1",
    "ovs-ofctl --log-file=/etc/cron.d/x dump-flows br-int in_port=1",
    "ceph --id admin auth ls --format json",
    "ceph --id admin config-key dump --format json",
    "ceph --id admin osd down 0 --format json",
    "ceph --id admin health --format json --conf /tmp/x",
    "ceph --id admin osd dump --format json --in-file /etc/shadow",
    "ceph --id admin osd map images rbd_header.1 --format json",
    f"rbd --id admin rm vms/{UUID}_disk --format json",
    f"rbd --id admin export vms/{UUID}_disk /tmp/x",
    f"rbd --id admin snap purge vms/{UUID}_disk --format json",
    "rbd --id admin info vms/other --format json",
    f"rbd --id admin info vms/{UUID}_disk --format json --keyfile /etc/shadow",
    f"{SETTINGS} /etc/shadow",
    f"{SETTINGS} /etc/nova/nova.conf /etc/shadow",
    f"{SETTINGS} /etc/nova/../shadow.conf",
    f"{SETTINGS} /etc/nova/x/../../ssl/private/x.conf",
    f"{SETTINGS} /etc/nova/.../x.conf",
    f"{SETTINGS} /etc/nova/a/b/c/d/e.conf",
    f"{SETTINGS} /etc/ceph/ceph.client.admin.keyring",
    f"{SETTINGS} /etc/keystone/fernet-keys/0",
    f"{SETTINGS} /etc/rabbitmq/rabbitmq.conf",
    f"{SETTINGS} etc/nova/nova.conf",
    "grep --text --with-filename --regexp=^[^#;] --file=/etc/shadow -- /etc/nova/nova.conf",
    "grep --text --with-filename --regexp=^[^#;] --recursive -- /etc/nova/nova.conf",
    "grep --text --with-filename --regexp= -- /etc/nova/nova.conf",
    "grep --text --with-filename --regexp=^[^#;] /etc/nova/nova.conf",
    FIND,
    f"{FIND} -exec id ;",
    f"{FIND} -delete",
    "find /etc/nova -maxdepth 4 -type f -fprintf /etc/cron.d/x '%T@ %m %u:%g %s %p\\n'",
    "journalctl --no-pager --quiet --dmesg --output=short-unix",
    "journalctl --no-pager --quiet --output=short-unix --since=@1",
    "journalctl --no-pager --quiet --dmesg --output=export --since=@1",
    "journalctl --no-pager --quiet --dmesg --output=short-unix --since=@1 --file=/x",
    "ss --no-header --oneline --tcp --numeric --processes --info state syn-sent state established --kill",
    "ss --no-header --oneline --tcp --numeric --processes --info state established",
    "ss --no-header --oneline --tcp --numeric --processes --info --kill state syn-sent state established",
    "rabbitmq-diagnostics status",
    "rabbitmq-diagnostics eval 'os:cmd(\"id\").' --formatter json",
    "rabbitmq-diagnostics status --formatter json --node rabbit@elsewhere",
    "rabbitmq-diagnostics erlang_cookie_sources --formatter json",
    "rabbitmqctl eval 'os:cmd(\"id\").'",
    "rabbitmqctl --quiet --formatter json list_queues --vhost / name",
    "rabbitmqctl --quiet --formatter json list_queues --vhost / name messages_ready messages_unacknowledged pid",
    "rabbitmqctl --quiet --formatter json list_permissions --vhost --help",
    "rabbitmqctl --quiet --formatter json clear_permissions --vhost / openstack",
    "rabbitmqctl --quiet --formatter json list_connections user vhost state pid",
    "rabbitmqctl --quiet --formatter json list_user_limits --global --node rabbit@elsewhere",
    "rabbitmqctl --quiet --formatter json clear_user_limits openstack max-connections",
    "rabbitmq-diagnostics cluster_status --formatter json --node rabbit@elsewhere",
    "head --verbose --lines=100 -- /etc/pki/libvirt/private/serverkey.pem",
    "head --verbose --lines=100 -- /etc/pki/CA/cacert.pem /etc/pki/libvirt/clientcert.pem /etc/shadow",
    "journalctl --no-pager --quiet --output=short-unix --lines=50 _SYSTEMD_UNIT=ssh.service",
    "journalctl --no-pager --quiet --output=short-unix --lines=5000 _SYSTEMD_UNIT=nova-compute.service",
    "journalctl --no-pager --quiet --output=short-unix --lines=50 _SYSTEMD_UNIT=nova.service _SYSTEMD_UNIT=ssh.service",
    "mysql",
    "mysql --batch --skip-column-names '--execute=DROP DATABASE nova'",
    "mysql --batch --skip-column-names '--execute=SELECT * FROM mysql.global_priv'",
    f"mysql --batch --skip-column-names \"--execute={VARIABLES} ('read_only'); system id\"",
    f"mysql --batch --skip-column-names \"--execute={VARIABLES} ('read_only')\" --host=elsewhere",
    "mysql --batch --skip-column-names --execute='SELECT LOAD_FILE(\"/etc/shadow\")'",
    "ovs-vsctl --timeout=4 --format=json --columns=name,error,external_ids find interface error!=[] -- del-br br-int",
    "ovs-vsctl --timeout=4 --format=json --columns=name,error,external_ids set interface eth1 error=x",
    "ovs-vsctl --timeout=4 --format=json --columns=name,type,external_ids find interface link_state=up",
    "ovs-vsctl --timeout=4 --format=json --columns=name,type,external_ids,options find interface link_state=down",
    "ovs-vsctl --timeout=4 --if-exists set open . external-ids:ovn-remote=tcp:10.0.0.1:6642",
    "ovs-vsctl --timeout=4 --if-exists remove open . external-ids ovn-remote",
    "ovs-vsctl --timeout=4 --if-exists get open . other_config",
    "ovs-vsctl --timeout=4 --db=tcp:10.0.0.1:6640 get open . external-ids:ovn-remote",
]


class Rules:
    """What a file of rules allows. A line of another form than the rules have is an error, not passed over."""

    def __init__(self, text):
        self.commands = []
        lines = [line for line in text.replace("\\\n", "").splitlines() if line and not line.startswith("#")]
        alias, *others = lines
        name, commands = re.fullmatch(r"Cmnd_Alias (STACKPROOF_[A-Z]+) = (.*)", alias).groups()
        assert others == [f"Defaults!{name} env_reset", f"{USER} ALL=(root) NOPASSWD: NOSETENV: {name}"], others
        for command in re.split(r"\$, +(?=/)", commands.strip()):
            path, pattern = re.fullmatch(r"(/usr/s?bin/[a-z-]+) \^(.*?)\$?", command).groups()
            assert len(pattern) + 2 <= 1024, "sudo takes no longer one"
            self.commands.append((path, re.compile(pattern)))

    def allow(self, words):
        """As sudo does: the program by its path, and all other words as one text with blanks between them."""
        text = " ".join(words[1:])
        return any(path.rpartition("/")[2] == words[0] and pattern.fullmatch(text) for path, pattern in self.commands)


def rules(part):
    return Rules((FOLDER / part).read_text())


def dangerous():
    return [shlex.split(command) for command in DANGEROUS]
