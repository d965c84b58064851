# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The paths between two guests of a run: what each is asked to try, and what it shows on its console."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from .._model.details import CLIENT, FIRST, SECOND, NetworkDetails, PathCheck
from .._model.stage import Resource
from .._model.words import CheckStatus, StageName
from .._record.errors import StageError
from . import guest, handover, ipv6, login, resolving
from .showing import filled, lines_of, number, other, passed, seconds_between
from .stage import Stage

# How long a guest waits for the other one's first answer, in tries of a second each. The first guest runs before the
# second one is made.
PATIENCE = {FIRST: 600, SECOND: 30}
# What a guest waits for an answer on a port. An emulated guest takes a second to start the program that asks.
PORT_SECONDS = 5
ANSWERED_WITHIN_S = 4.0
PINGS = 3
# No service that a guest may run is there.
SHUT_PORTS = (4022, 4023, 4024)
LAST_PORT = 65535
# The protocols of the rules of a security group that open ports of TCP; a rule without one is for all.
TCP = ("tcp", "6", None)

# Appended to the user data of both guests. It needs a shell and ping, and curl or wget. Where ping can, it forbids
# fragments; a packet of the interface's own size is sent whole in any case.
SCRIPT = r"""
peer=@PEER@
now() { read -r up rest </proc/uptime; }
show() { echo "stackproof-path: {\"nonce\": \"@NONCE@\", \"guest\": \"@GUEST@\", \"check\": \"$1\"$2}"; }
send() { @PING@ "$@"; }
try() { send $whole -c 1 -W 1 -s "$1" $peer >/dev/null 2>&1; }
answers() { try "$1" || try "$1"; }
fetch() {
  if command -v curl >/dev/null; then
    LC_ALL=C curl -s -m @PORT_SECONDS@ -o /dev/null -w '%{time_connect}' "$1"
  else
    timeout @PORT_SECONDS@ wget -q -O /dev/null "$1"
  fi
} 2>/dev/null
knock() {
  now; from=$up; joined=$(fetch "http://@HOST@:$1/"); now
  show "$2" ", \"port\": $1, \"from\": $from, \"to\": $up, \"joined\": ${joined:-null}"
}
largest() {
@DEVICE@
  read -r mtu <"/sys/class/net/${device:-$other}/mtu"
  low=0 high=$((mtu - @HEADERS@))
  if answers $high; then low=$high; fi
  while [ $((high - low)) -gt 1 ]; do
    middle=$(((low + high) / 2))
    if answers $middle; then low=$middle; else high=$middle; fi
  done
  show size ", \"mtu\": $mtu, \"largest\": $((low + @HEADERS@))"
}
@FUNCTIONS@
paths() {
@BEFORE@
  whole=''
  if send -M do -c 1 -W 1 @LOOPBACK@ >/dev/null 2>&1; then whole='-M do'; fi
  tries=0
  until send -c 1 -W 1 $peer >/dev/null 2>&1 || [ $tries -ge @PATIENCE@ ]; do tries=$((tries + 1)); sleep 1; done
  output=$(send -c @PINGS@ -W 1 $peer 2>&1)
  count=$(echo "$output" | grep -c 'time=')
  time=$(echo "$output" | sed -n 's/.*time=\([0-9.]*\).*/\1/p' | tail -n 1)
  show ping ", \"answers\": $count, \"ms\": ${time:-null}"
  if [ "$count" -gt 0 ]; then largest; fi
@STEPS@
  show end ""
@WATCH@
}
paths &
@VOLUME@
"""
# Whether the first guest answers all the time: a line for packets that were lost, once one is answered again, and one
# every few seconds as a sign of life. ping numbers its packets from 0 or 1, and starts there again if it has ended.
WATCH = r"""  while :; do
    last='' seen=0
    send -i @INTERVAL@ $peer 2>/dev/null | while read -r line; do
      case $line in *seq=*) ;; *) continue ;; esac
      number=${line##*seq=} number=${number%% *} seen=$((seen + 1))
      lost=$((number - ${last:-$((number - 1))} - 1)) last=$number
      if [ $lost -gt 0 ] || [ $((seen % @SIGN@)) -eq 1 ]; then now; show watch ", \"at\": $up, \"lost\": $lost"; fi
    done
    sleep 1
  done"""
# In seconds between two packets, and in packets between two signs of life
INTERVAL_S = 0.2
SIGN = 15
MOST_LINES = 100


@dataclass(frozen=True)
class IpVersion:
    """A version of IP, as the rules of security groups call it, and what the script of the guests needs for it.

    ping: the command that sends its packets. headers: the bytes of its header and of ICMP's. host: the other guest in a
    URL. find_device: the lines that find the interface.
    """

    ether_type: str
    ping: str
    loopback: str
    headers: int
    host: str
    find_device: str


IPV4 = IpVersion(
    "IPv4",
    "ping",
    "127.0.0.1",
    28,
    "$peer",
    r"""  while read -r name to rest; do
    case $to in 00000000) device=$name ;; Destination) ;; *) other=$name ;; esac
  done </proc/net/route""",
)
IPV6 = IpVersion(
    "IPv6",
    "ping6_of",
    "::1",
    48,
    "[$peer]",
    "  device=$(sed -n '/ lo$/d; s/.* //p; q' /proc/net/if_inet6)",
)


@dataclass(frozen=True)
class Doors:
    """A TCP port that the security group opens and one that it does not; None where there is no such port."""

    open: int | None
    shut: int | None


@dataclass(frozen=True)
class Errand:
    """What a guest is to try.

    doors: None where no security group holds. ipv6: None where the ports have none. volume: the id of the one that is
    handed over. key_pair: the one with which the client logs in. watches: whether it looks at the other guest until its
    end.
    """

    peer: str
    doors: Doors | None = None
    name: resolving.Name | None = None
    ipv6: ipv6.Ends | None = None
    volume: str | None = None
    key_pair: login.KeyPair | None = None
    watches: bool = False

    @property
    def version(self) -> IpVersion:
        return version_of(self.peer)


def version_of(address: str) -> IpVersion:
    return IPV6 if ":" in address else IPV4


def doors_of(
    rules: Iterable[Mapping[str, Any]], ether_type: str = IPV4.ether_type
) -> Doors:
    """Return the ports to knock at, by the rules of a security group for what comes in over a version of IP."""
    opened = [
        ports_of(rule) for rule in rules if lets_in_tcp(rule, ether_type)
    ]
    first_open = opened[0].start if opened else None
    first_shut = next(
        (port for port in SHUT_PORTS if not is_in_any(port, opened)), None
    )
    return Doors(first_open, first_shut)


def lets_in_tcp(rule: Mapping[str, Any], ether_type: str) -> bool:
    is_inward = (rule["direction"], rule["ether_type"]) == (
        "ingress",
        ether_type,
    )
    return is_inward and rule["protocol"] in TCP


def ports_of(rule: Mapping[str, Any]) -> range:
    """Return the ports that a rule opens; all of them if it names none."""
    return range(
        rule["port_range_min"] or 1, (rule["port_range_max"] or LAST_PORT) + 1
    )


def is_in_any(port: int, ranges: Iterable[range]) -> bool:
    return any(port in ports for ports in ranges)


def steps_of(errand: Errand) -> list[str]:
    """Return the lines of the script that come after those about the size of packets."""
    doors = errand.doors or Doors(None, None)
    knocks = [("open", doors.open), ("shut", doors.shut)]
    steps = [
        f"  knock {port} {name}" for name, port in knocks if port is not None
    ]
    if errand.ipv6 and errand.version is IPV4:
        steps.append(errand.ipv6.command)
    if errand.name:
        steps.append(errand.name.command)
    if errand.key_pair:
        steps.append("  login")
    return steps


def functions_for(errand: Errand) -> str:
    """Return the functions of the script that only some errands need."""
    functions = [
        ipv6.SCRIPT if errand.ipv6 else "",
        resolving.SCRIPT if errand.name else "",
        errand.key_pair.script if errand.key_pair else "",
    ]
    return "".join(functions)


def script(guest_name: str, nonce: str, errand: Errand) -> str:
    """Return what a guest is to run after its own proof."""
    version = errand.version
    # Without IPv4 a guest needs its own address before anything else.
    own = errand.ipv6.own_command if errand.ipv6 and version is IPV6 else ""
    values = {
        "FUNCTIONS": functions_for(errand),
        "VOLUME": handover.script(guest_name, errand.volume)
        if errand.volume
        else "",
        "WATCH": WATCH if errand.watches else "  :",
        "STEPS": "\n".join(steps_of(errand)),
        "BEFORE": own,
        "DEVICE": version.find_device,
        "PING": version.ping,
        "LOOPBACK": version.loopback,
        "HOST": version.host,
        **ipv6.VALUES,
        "PEER": errand.peer,
        "NONCE": nonce,
        "GUEST": guest_name,
        "HEADERS": version.headers,
        "PINGS": PINGS,
        "PORT_SECONDS": PORT_SECONDS,
        "PATIENCE": PATIENCE[guest_name],
        "INTERVAL": INTERVAL_S,
        "SIGN": SIGN,
    }
    return filled(SCRIPT, values)


def errand_for(stage: Stage[Any], guest_name: str) -> Errand:
    """Return what one of the run's guests is to try, by the ports and the security group of its network stage."""
    network = stage.details_of(StageName.NETWORK, NetworkDetails)
    own, peers = network.fixed_ips, network.second_fixed_ips
    if guest_name == SECOND:
        own, peers = peers, own
    # IPv4 goes first: guests that have both are asked for IPv6 besides.
    usable = sorted(peers or (), key=lambda address: ":" in address)
    if not network.ipv6:
        usable = [address for address in usable if ":" not in address]
    if not usable:
        message = "the ports of the guests have no addresses by which they reach each other"
        raise StageError(
            "invalid",
            message,
            hint="Run the stage network with dataplane, on a network with IPv4, or with IPv6 that a router of Neutron"
            " advertises.",
        )
    peer = usable[0]
    return Errand(
        peer,
        doors_for(stage, version_of(peer)),
        resolving.given(stage.params["dataplane_name"]),
        ipv6.ends_of(own, peers) if network.ipv6 else None,
    )


def script_for(stage: Stage[Any], guest_name: str, errand: Errand) -> str:
    """Return the script of one of the run's guests."""
    nonces = guest.nonces(stage.run.id, stage.run.record.started)
    return script(guest_name, nonces.user_data, errand)


def doors_for(stage: Stage[Any], version: IpVersion) -> Doors | None:
    """Return the ports to knock at, by the rules of the run's security group; None where it has none."""
    group = stage.resource("security_group")
    if not group:
        return None
    return doors_of(rules_of(stage, group), version.ether_type)


def opens(stage: Stage[Any], port: int) -> bool:
    """Return whether the run's security group, if it has one, opens a TCP port of its guests over IPv4."""
    group = stage.resource("security_group")
    if group is None:
        return True
    return is_in_any(
        port,
        [
            ports_of(rule)
            for rule in rules_of(stage, group)
            if lets_in_tcp(rule, IPV4.ether_type)
        ],
    )


def rules_of(stage: Stage[Any], group: Resource) -> list[Any]:
    rules = stage.cloud.network.security_group_rules(
        security_group_id=group.id
    )
    # A cloud that ignores the filter lists the rules of others, too.
    return [rule for rule in rules if rule["security_group_id"] == group.id]


# What consoles show


@dataclass(frozen=True)
class Shown:
    """What a guest has shown: its lines by their check, and whether it has come to its end."""

    guest: str
    lines: Mapping[str, Mapping[str, Any]]

    @property
    def ended(self) -> bool:
        return "end" in self.lines

    @property
    def failed(self) -> bool:
        return any(
            check.status == CheckStatus.FAILED for check in checks_of(self)
        )


def read(console: str, guest: str, nonce: str) -> Shown:
    """Return what a console shows of the paths. A guest may write anything, so only lines with its nonce count."""
    lines: dict[str, Mapping[str, Any]] = {}
    for line in lines_of(console, nonce):
        check = line.get("check")
        if (
            line.get("guest") == guest
            and isinstance(check, str)
            and len(lines) < MOST_LINES
        ):
            lines.setdefault(check, line)
    return Shown(guest, lines)


def losses(console: str, nonce: str) -> list[int]:
    """Return how many packets the second guest missed before each of its signs of life."""
    return [
        int(number(line.get("lost")) or 0)
        for line in lines_of(console, nonce)
        if line.get("check") == "watch"
    ]


def checks_of(shown: Shown) -> tuple[PathCheck, ...]:
    """Return the checks that a guest has made, in their order."""
    made = [
        READERS[name](shown.guest, line)
        for name, line in shown.lines.items()
        if name in READERS
    ]
    return tuple(made)


def of_ping(guest: str, line: Mapping[str, Any]) -> PathCheck:
    answers, took = number(line.get("answers")) or 0, number(line.get("ms"))
    status = CheckStatus.OK if answers else CheckStatus.FAILED
    text = f"{answers:.0f} of {PINGS} packets were answered"
    seconds = None if took is None else took / 1000
    return PathCheck(
        "ping", guest, other(guest), status, text, seconds, answers, PINGS
    )


def of_size(guest: str, line: Mapping[str, Any]) -> PathCheck:
    mtu, largest = number(line.get("mtu")), number(line.get("largest"))
    if mtu is None or largest is None:
        return PathCheck(
            "size",
            guest,
            other(guest),
            CheckStatus.UNREADABLE,
            "the guest does not know its MTU",
        )
    is_whole = largest >= mtu
    text = f"packets of {largest:.0f} bytes pass, as its interface sends them"
    if not is_whole:
        text = f"packets over {largest:.0f} bytes are lost; its interface sends {mtu:.0f}"
    status = CheckStatus.OK if is_whole else CheckStatus.FAILED
    return PathCheck(
        "size", guest, other(guest), status, text, None, largest, mtu
    )


def of_open(guest: str, line: Mapping[str, Any]) -> PathCheck:
    took = seconds_between(line)
    if took is None:
        return PathCheck(
            "open",
            guest,
            other(guest),
            CheckStatus.UNREADABLE,
            "the guest does not say how long it took",
        )
    port, is_answered = number(line.get("port")) or 0, answered(line, took)
    text = f"TCP port {port:.0f}, which the security group opens, {'answers' if is_answered else 'does not answer'}"
    return PathCheck(
        "open", guest, other(guest), passed(is_answered), text, took, port
    )


def of_shut(guest: str, line: Mapping[str, Any]) -> PathCheck:
    took = seconds_between(line)
    if took is None:
        return PathCheck(
            "shut",
            guest,
            other(guest),
            CheckStatus.UNREADABLE,
            "the guest does not say how long it took",
        )
    port, is_silent = number(line.get("port")) or 0, not answered(line, took)
    text = f"TCP port {port:.0f}, which the security group does not open, {'is silent' if is_silent else 'answers'}"
    return PathCheck(
        "shut", guest, other(guest), passed(is_silent), text, took, port
    )


def answered(line: Mapping[str, Any], took: float) -> bool:
    """Return whether a port answered: in time, if only by a refusal, or by a connection on which nothing came."""
    return took < ANSWERED_WITHIN_S or bool(number(line.get("joined")))


READERS = {
    "ping": of_ping,
    "size": of_size,
    "open": of_open,
    "shut": of_shut,
    ipv6.ADDRESS: ipv6.of_address,
    ipv6.PING: ipv6.of_ping,
    resolving.CHECK: resolving.check_of,
}


# What all of it means


def is_decided(shown: Mapping[str, Shown]) -> bool:
    """Return whether both guests have shown all, or one of them that a path fails.

    What keeps the packets of one guest may keep the other one from its user data, so that it never shows anything.
    """
    ended = [found for found in shown.values() if found.ended]
    if len(ended) == len(PATIENCE):
        return True
    return any(found.failed for found in ended)


def progress(shown: Mapping[str, Shown]) -> str:
    """Return how far both guests are, in a few words."""
    return ", ".join(
        f"{name}: {' '.join(found.lines) or 'nothing yet'}"
        for name, found in shown.items()
    )


KINDS = {
    "ping": "path_lost",
    "size": "path_narrow",
    "open": "path_shut",
    "shut": "path_open",
    ipv6.ADDRESS: "no_ipv6",
    ipv6.PING: "path6_lost",
    resolving.CHECK: "name_unresolved",
    handover.CHECK: "volume_differs",
    login.CHECK: "no_login",
}
HINTS = {
    "path_lost": "Look at the ports of both servers, the tunnel or VLAN between their hosts, and the security group.",
    "path_narrow": "Compare the MTU of the network with that of each interface between both hosts, with the header of"
    " the tunnel: ip -statistics link show.",
    "path_shut": "Look at the rules of the security group, and at what the hosts made of them for this port.",
    "path_open": "The security group does not hold: look at the firewall of the port on the host of the target.",
    "no_ipv6": "Look whether the router advertises the subnet: radvd in its namespace, or with OVN the column"
    " ipv6_ra_configs of its port. For DHCPv6, look at the DHCP agent or at OVN's DHCP_Options, too."
    " If the guest made another address in the same subnet, its image does not derive addresses from the MAC (EUI-64).",
    "path6_lost": "IPv4 passes between these ports. Look at the rules of the security group for IPv6, and at neighbour"
    " discovery: ip -6 neighbour in the guest.",
    "name_unresolved": "With agents, look at the dnsmasq of the network's DHCP agent; with OVN, at the rows of DNS in"
    " its northbound database. If the subnet names other resolvers, look whether the guest reaches them.",
    "volume_differs": "Look for the volume's id in the logs of cinder-volume and of nova-compute on both hosts."
    " Look whether its back end is healthy.",
    "no_login": "If the stage metadata has reached the guest, the network carries the connection. Look at the ssh"
    " server and at authorized_keys in the guest: openstack console log show.",
}


def failure_of(failed: Iterable[PathCheck]) -> StageError:
    """Return the error of checks that failed: the first one explains those after it."""
    texts = [f"{route_of(check)}: {check.text}" for check in failed]
    kind = KINDS[next(iter(failed)).check]
    return StageError(kind, "; ".join(texts), hint=HINTS[kind])


def route_of(check: PathCheck) -> str:
    if check.target is None:
        return f"from the {check.source} guest"
    if check.source == CLIENT:
        return f"from the client to the {check.target} guest"
    return f"from the {check.source} guest to the {check.target}"
