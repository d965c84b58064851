# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What several projects share: the message broker, the database, memcached, dnsmasq and the emulator."""

from __future__ import annotations

from .component import Commands, Component, Port, Project, UrlScheme

PROJECTS = (
    Project("qemu", packages=("qemu-system-*",)),
    Project(
        "rabbitmq",
        configuration=("/etc/rabbitmq",),
        packages=("rabbitmq-server",),
        components=(
            Component(
                "rabbitmq",
                stages=("network", "volume", "boot", "metadata"),
                sections=("oslo_messaging_rabbit",),
                login_options="transport_url",
                carries=("AMQP cast", "AMQP call", "AMQP subscribe"),
                mentioned_as=(
                    "rabbit",
                    "amqp",
                    "access to vhost",
                    r"oslo\.messaging",
                    "message (?:queue|broker)",
                ),
                libraries=("amqp",),
                ports=(Port(5671, encrypted=True), Port(5672, "amqp")),
                url_schemes=(
                    UrlScheme("rabbit", 5672, "amqp"),
                    UrlScheme("amqp", 5672, "amqp"),
                ),
                programs=("beam.smp",),
                commands=Commands(
                    state=(
                        "rabbitmq-diagnostics alarms; rabbitmq-diagnostics status; df -h /var/lib/rabbitmq; "
                        "grep -rnsE '(disk_free_limit|vm_memory_high_watermark)' /etc/rabbitmq"
                    ),
                    rights="rabbitmqctl list_users; rabbitmqctl list_permissions; rabbitmq-diagnostics log_tail",
                    limits="rabbitmqctl list_user_limits --global; rabbitmqctl list_vhost_limits --global",
                ),
            ),
        ),
    ),
    Project(
        "mysql",
        configuration=("/etc/mysql",),
        packages=("mariadb-server",),
        components=(
            Component(
                "database",
                stages=(
                    "auth",
                    "image",
                    "network",
                    "volume",
                    "boot",
                    "metadata",
                ),
                sections=("database", "api_database"),
                login_options="connection",
                carries=("DB",),
                mentioned_as=(
                    "mysql",
                    "mariadb",
                    "sqlalchemy",
                    "queuepool",
                    r"(?-i:\bDB\b)",
                    # Open vSwitch and OVN have databases of their own.
                    "^(?!.*(?:ovsdb|multiple rows in|referential integrity violation))"
                    ".*(?<!northbound )(?<!southbound )database(?! connection failed)",
                ),
                libraries=("pymysql",),
                exceptions=("DBConnection", "DBError", "OperationalError"),
                ports=(Port(3306, "mysql"), Port(5432)),
                url_schemes=(
                    UrlScheme("mysql", 3306, "mysql"),
                    UrlScheme("postgresql", 5432, "tcp"),
                ),
                programs=("mariadbd", "mysqld"),
                commands=Commands(
                    state=(
                        'mysql --execute "SELECT @@read_only; SHOW FULL PROCESSLIST;'
                        ' SELECT * FROM information_schema.innodb_trx"'
                    ),
                    rights="mysql --execute 'SELECT user, host, password_expired FROM mysql.user'",
                    rights_of_user=(
                        'mysql --execute "SELECT user, host, plugin, password_expired FROM mysql.user'
                        " WHERE user = '{user}'; SHOW GRANTS FOR '{user}'@'%'\""
                    ),
                ),
            ),
        ),
    ),
    Project(
        "memcached",
        components=(
            Component(
                "memcached",
                stages=(
                    "auth",
                    "image",
                    "network",
                    "volume",
                    "boot",
                    "metadata",
                ),
                mentioned_as=("memcache",),
                libraries=(
                    "memcache",
                    "pymemcache",
                    "bmemcached",
                    "oslo_cache",
                ),
                ports=(Port(11211, "memcached"),),
                programs=("memcached",),
            ),
        ),
    ),
    Project(
        "dnsmasq",
        components=(
            Component(
                "dnsmasq",
                network_back_end="agents",
                mentioned_as=("dnsmasq",),
                programs=("dnsmasq",),
            ),
        ),
    ),
)
