# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Ways to break a part of a cloud for a while. Each puts everything back, and waits until the cloud is well."""

from __future__ import annotations

import contextlib

from breaking import REPORTING, cut_off, drop_in, edited, recovered, undone

MYSQL = "mysql"


def reporting(part):
    return [unit for unit in part.services if unit in REPORTING]


@contextlib.contextmanager
def with_clients_restarted(lab, part, fault):
    """A fault after which the clients of a part are restarted: they would fail once each, in later runs."""
    with recovered(lab, part.host):
        try:
            with fault(lab):
                yield
        finally:
            if part.clients:
                lab.run(part.host, f"systemctl restart {' '.join(part.clients)}")


@contextlib.contextmanager
def commanded(lab, host, make, back):
    with recovered(lab, host), undone(lab, host, make, back):
        yield


@contextlib.contextmanager
def crashing(lab, part):
    """Every start of it fails, and it is killed once."""
    unit = part.units[-1]
    make, back = drop_in(unit, "ExecStartPre=\\nExecStart=\\nExecStart=/bin/false")
    make += f" && systemctl kill --signal=KILL {unit}"
    back += "".join(f"; systemctl start {other}" for other in part.ended_with)
    with recovered(lab, part.host, part.units), undone(lab, part.host, make, back):
        yield


@contextlib.contextmanager
def few_files(lab, part):
    """The limit of open files lets it start, and do little more."""
    unit = part.units[-1]
    make, back = drop_in(unit, "LimitNOFILE=40")
    make += f"; systemctl restart {unit} || true"
    with recovered(lab, part.host, part.units), undone(lab, part.host, make, back):
        yield


@contextlib.contextmanager
def turned_away(lab, part, peer):
    """Each new connection to the peer's port is answered by a reset."""
    rule = f"OUTPUT --protocol tcp --dport {peer.port} --jump REJECT --reject-with tcp-reset"
    make, back = (f"iptables --wait {verb} {rule}" for verb in ("--insert", "--delete"))
    with recovered(lab, part.host, reporting(part)), undone(lab, part.host, make, back):
        yield


def cut(lab, part, peer):
    return cut_off(lab, part.host, peer.port, reporting(part))


def changed_settings(lab, part, edit):
    """Its settings are changed, and it is restarted, whether it comes up or not."""
    names = " ".join(part.services)
    make = f"{edit}; systemctl restart {names} || true; sleep 3"
    restart = f"systemctl reset-failed {names}; systemctl restart {names}"
    return edited(lab, part.host, part.settings, make, restart, part.services)


def malformed(lab, part):
    """No parser takes the first line of its settings."""
    return changed_settings(lab, part, f"sed -i '1i [broken' {part.settings}")


def at_wrong_port(lab, part, peer):
    """Its settings name a port of the peer's host at which nobody listens."""
    return changed_settings(lab, part, f"sed -i -E 's/:{peer.port}\\b/:{peer.port + 20000}/g' {part.settings}")


@contextlib.contextmanager
def without_database_rights(lab, part, restarted):
    """restarted: the services that would meet their broken connections one by one, in later runs."""
    shown = f"{MYSQL} --batch --skip-column-names --execute \"SHOW GRANTS FOR {part.rights}@'%'\""
    grants = [grant for grant in lab.run(part.host, shown).splitlines() if "USAGE" not in grant]
    revoke = f"REVOKE ALL PRIVILEGES, GRANT OPTION FROM {part.rights}@'%'; FLUSH PRIVILEGES; KILL USER {part.rights}"
    back = f"{MYSQL} <<'END'\n{'; '.join(grants)}; FLUSH PRIVILEGES;\nEND\nsystemctl restart {' '.join(restarted)}"
    with recovered(lab, part.host), undone(lab, part.host, f'{MYSQL} --execute "{revoke}"', back):
        yield


@contextlib.contextmanager
def without_account(lab, part, restarted):
    """Keystone no longer lets the service's user in. restarted: services that keep its tokens, which nobody takes."""
    identity = lab.admin.identity
    user = identity.find_user(part.account)
    with recovered(lab, part.host):
        identity.update_user(user, is_enabled=False)
        try:
            lab.run(part.host, "systemctl restart memcached")
            yield
        finally:
            identity.update_user(user, is_enabled=True)
            lab.run(part.host, f"systemctl restart {' '.join(restarted)}")


@contextlib.contextmanager
def unexecutable(lab, part, program):
    with recovered(lab, part.host), undone(lab, part.host, f"chmod a-x {program}", f"chmod a+x {program}"):
        yield


@contextlib.contextmanager
def full_disk(lab, host, folder, owner):
    """A small disk without space in the place of a folder."""
    mount = f"mount -t tmpfs -o size=128k,mode=0755 tmpfs {folder} && chown {owner} {folder}"
    fill = f"dd if=/dev/zero of={folder}/filler bs=1k count=128 2>/dev/null"
    with recovered(lab, host), undone(lab, host, f"{mount} && {fill}; true", f"umount --lazy {folder}"):
        yield


def sql(statement, client=MYSQL):
    return f"{client} --execute '{statement}'"


@contextlib.contextmanager
def few_connections(lab, host, units, client=MYSQL):
    """The database takes ten connections, which these services use up when they start."""
    before = lab.run(host, f"{client} --batch --skip-column-names --execute 'SELECT @@max_connections'").strip()
    make = sql("SET GLOBAL max_connections=10", client) + f" && systemctl restart {' '.join(units)}"
    back = sql(f"SET GLOBAL max_connections={before}", client)
    with recovered(lab, host), undone(lab, host, make, back):
        yield
