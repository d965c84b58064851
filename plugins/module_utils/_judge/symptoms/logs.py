# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Symptoms in the logs: errors, each with the component that failed, and the one at which it failed."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import filterfalse
from operator import attrgetter

from ..._collect.logs.error_text import mentioned_in
from ..._collect.logs.line_formats import QUEUE_UNREACHABLE
from ..._components.tables import (
    APIS,
    CARRIERS,
    LIBRARIES,
    OVSDB_SERVERS,
    answering_as,
    answering_calls_of,
    depends_on,
    meant_by_exception,
    project_of,
    service_type_of,
    share_of_healthy_runs,
    writer_of,
)
from ..._model.how import How
from ..._model.record import LoggedError
from ..._model.symptom import (
    ELSEWHERE,
    NO_ENDPOINT,
    Code,
    Kind,
    Symptom,
)
from ..._record.sole import sole
from ..case import Case
from ..weights import Weights
from .hosts import resources
from .reach import CATALOG

QUEUE = "rabbitmq"
PLACE = attrgetter("service", "host")
# A call over the queue had no answer: from the service behind it, or from the queue.
TIMED_OUT = "MessagingTimeout"
# The exception of who asks with the token and the catalog of a request, which has no catalog
EMPTY_CATALOG = "EmptyCatalog"
# A service that was called has sent back the text of an exception.
REMOTE = "RemoteError"
OF_CALLS = re.compile(f"{TIMED_OUT}|{REMOTE}$")
# How a service fails that writes to its own disk what it gets, or for no known reason
OF_OWN_DISK = (None, How.FULL, How.READ_ONLY)
# What lines call what carries the packets of a host's guests, with any back end
CARRIER = CARRIERS["agents"]
OVSDB_LIBRARIES = {"ovsdbapp", "ovsdb_idl"}
# Packages of drivers that a service loads into itself, and exceptions of theirs about what it was told to load
LOADED = ("glance_store", "os_brick", "os_vif", "castellan", "tooz")
OWN_CHOICE = re.compile(
    r"(?:Unknown|Unrecognized|NoMatching)\w+|\w+Configuration"
)
# Exceptions about the settings of a service, raised before it asks any peer
OF_SETTINGS = re.compile(
    r"DriverLoadFailure|NoSuchModuleError|ArgumentError|InvalidTransportURL|MissingRequiredOptions|MissingAuthPlugin"
    r"|NoMatchingPlugin|NoSuchOptError|NoSuchGroupError|RequiredOptError|ConfigFile\w+"
)
# Exceptions of Python itself about code, which is that of the service: a peer has no part in it
OF_CODE = (
    "TypeError",
    "AttributeError",
    "NameError",
    "UnboundLocalError",
    "ImportError",
    "ModuleNotFoundError",
    "NotImplementedError",
)
# The HTTP client of all services
HTTP_CLIENT = "keystoneauth1"
# The cloud has no address left for what was asked, and nothing is broken.
NO_ROOM = ("NoMoreFixedIps", "IpAddressGenerationFailure")
# These are about a value that was read, and not about the code that reads it.
ABOUT_VALUES = (
    "ValidationError",
    "JSONDecodeError",
    "InvalidJSON",
    "MalformedResponse",
    "InvalidResponse",
)
# These say only that something else had failed before.
AFTERWARDS = (
    "MaxRetriesExceeded",
    "RescheduledException",
    "BuildAbortException",
    "NoValid",
)


def errors(case: Case) -> list[Symptom]:
    """Return the errors in the logs: of this run, or of anybody while it ran."""
    logged = without_refusals(
        telling(case.record.known_errors, case.weights), case.weights
    )
    informative = without_remote(
        [error for error in logged if is_informative(error, case.weights)]
    )
    traced = [
        with_peer(error, informative, case.weights) for error in informative
    ]
    first = first_time(traced, case.weights)
    symptoms: list[Symptom] = []
    for error in traced:
        symptoms += symptoms_of(error, error.at == first, case)
    return symptoms


def telling(
    logged: Sequence[LoggedError], weights: Weights
) -> list[LoggedError]:
    """Return the errors, and the warnings that stand right before or with an error of the run.

    Without such an error all warnings of the run count: there is nothing else that reports how it failed.
    """
    failures = [error.at for error in logged if error.is_of_run]
    if not failures:
        return list(logged)

    def is_near(error: LoggedError) -> bool:
        return any(0 <= at - error.at <= weights.warned_s for at in failures)

    return [
        error for error in logged if not error.is_warning or is_near(error)
    ]


def is_informative(error: LoggedError, weights: Weights) -> bool:
    # That no host passed the filters of a scheduler is no failure of its own.
    if error.filters or error.insufficient:
        return False
    exception = error.exception or ""
    if any(word in exception for word in AFTERWARDS):
        return False
    return unusual(error, weights) >= weights.least_unusual


def without_refusals(
    errors: Sequence[LoggedError], weights: Weights
) -> list[LoggedError]:
    """Return errors without requests that an API did not accept by a rule of its own, and lines without words on them.

    Who has sent such a request may be wrong, and reports it.
    """
    refusals = list(filter(is_refusal, errors))

    def is_about_one(error: LoggedError) -> bool:
        return any(is_beside(error, other, weights) for other in refusals)

    others = [error for error in errors if error not in refusals]
    return [one for one in others if one.says_what or not is_about_one(one)]


def is_beside(
    error: LoggedError, other: LoggedError, weights: Weights
) -> bool:
    """Return whether two errors were logged by one service at one time."""
    is_near = abs(error.at - other.at) <= weights.reraised_s
    return is_near and PLACE(error) == PLACE(other)


def is_refusal(error: LoggedError) -> bool:
    component = writer_of(error.service)
    is_own = module_of(error.exception) == project_of(component)
    is_refused = is_own and error.how == How.MALFORMED
    return is_refused and component in APIS.values()


def without_remote(errors: Sequence[LoggedError]) -> list[LoggedError]:
    """Return errors without those that a caller logs of a service it called, if the run has any others."""
    others = [error for error in errors if error.exception_class != REMOTE]
    has_others = any(error.is_of_run for error in others)
    return others if has_others else list(errors)


def first_time(
    errors: Sequence[LoggedError], weights: Weights
) -> float | None:
    """Return when the first error was logged: of this run, or of anybody if the run has none.

    A line without words goes before the one that says what failed. A connection to the queue that was lost may have
    been so for long, and is made again.
    """
    of_run = list(filter(attrgetter("is_of_run"), errors)) or errors
    of_run = list(filterfalse(is_lost_connection, of_run)) or of_run
    first = min(of_run, key=attrgetter("at"), default=None)
    if first is None:
        return None
    saying = [
        error.at
        for error in of_run
        if error.says_what
        and (error.host, error.service) == (first.host, first.service)
    ]
    at = min(saying, default=first.at)
    return at if at - first.at <= weights.reraised_s else first.at


def is_lost_connection(error: LoggedError) -> bool:
    """Return whether a service has found a connection to the queue broken off."""
    is_of_queue = (
        error.exception == QUEUE_UNREACHABLE or library_of(error) == QUEUE
    )
    return error.how == How.BROKEN_OFF and is_of_queue


def with_peer(
    error: LoggedError, errors: Sequence[LoggedError], weights: Weights
) -> LoggedError:
    """Return an error with the peer that had raised it before, if it names none itself."""
    if error.peer:
        return error
    return replace(error, peer=raised_by(error, errors, weights))


def raised_by(
    error: LoggedError, errors: Sequence[LoggedError], weights: Weights
) -> str | None:
    """Return the component that has sent an exception back to its caller, which logs it once more."""
    component = writer_of(error.service)
    called = {
        *depends_on(component),
        *answering_calls_of(project_of(component)),
    } - {component}
    senders = [
        writer_of(other.service)
        for other in errors
        if is_same(other, error, weights)
    ]
    return next((sender for sender in senders if sender in called), None)


def is_same(other: LoggedError, error: LoggedError, weights: Weights) -> bool:
    """Return whether two errors of the run are of one exception, which the other one logged right before."""
    if not other.own or not error.own:
        return False
    if not other.exception or not error.exception or is_of_client(other):
        return False
    if other.exception_class != error.exception_class:
        return False
    return 0 <= error.at - other.at <= weights.reraised_s


def is_of_client(error: LoggedError) -> bool:
    """Return whether a library that speaks to peers has raised an error: it is sent to nobody under that name."""
    return is_of_http(error) or library_of(error) is not None


def is_of_http(error: LoggedError) -> bool:
    """Return whether a request of HTTP failed, whatever driver logs it."""
    return module_of(error.exception) == HTTP_CLIENT


def symptoms_of(
    error: LoggedError, is_first: bool, case: Case
) -> list[Symptom]:
    """Return the symptoms in an error: one for each component at which it may have failed, or one of its own."""
    component = writer_of(error.service)
    peers = peers_in(error, component, case)
    base = Symptom(
        Code.LOGGED_FAILURE if peers else Code.LOGGED_ERROR,
        component,
        host=error.host,
        how=How.of(error.how),
        own=error.own,
        certain=len(peers) <= 1,
        share=rank_of(error, is_first, case.weights)
        * unusual(error, case.weights),
        quote=error.quote,
        at=error.at,
        answered=library_of(error) in peers,
        exception=error.exception,
    )
    if not peers:
        return [replace(base, logger=error.logger)]
    return [
        replace(base, peer=peer, peer_host=named_host(error, peer, case))
        for peer in peers
    ]


def peers_in(error: LoggedError, component: str, case: Case) -> list[str]:
    """Return the components at which a component failed, by the line itself and by what is known of its cloud."""
    if error.peer == CARRIER:
        return carriers(case)
    users = users_of_used_up(error, case)
    if users:
        return without(component, users)
    return corrected(peers_of(error, component), error, component, case)


def corrected(
    peers: list[str], error: LoggedError, component: str, case: Case
) -> list[str]:
    """Return the peers that a line shows, or who gives a wrong address rather than who is not there."""
    giver = case.givers.get(error.peer_address or "")
    if giver is not None:
        return [giver[0]]
    if error.exception_class == NO_ENDPOINT:
        return holders_of_endpoint(peers, case)
    if error.exception_class == EMPTY_CATALOG and case.catalog:
        # Keystone has one, as the run has seen: who has passed the request on has lost it.
        api = answering_as(service_type_of(project_of(component)))
        return without(component, filter(None, [api]))
    if not (peers or error.peer) and failed_elsewhere(error, component, case):
        return [component]
    return peers


def users_of_used_up(error: LoggedError, case: Case) -> list[str]:
    """Return the components of a file system that takes no more, if an error is about a file in it."""
    quote = error.quote or ""
    users = (
        used_up.component
        for used_up in resources(case)
        if used_up.host == error.host and f"{used_up.path}/" in quote
    )
    return list(filter(None, users))


def carriers(case: Case) -> list[str]:
    """Return what carries networks on the host for which Neutron could not bind a port; nothing if it names several."""
    carrier = CARRIERS.get(case.back_end or "", CARRIER)
    alike = [one for one in case.record.known_errors if one.peer == CARRIER]
    host = case.host_at(sole({one.peer_address for one in alike}))
    is_there = host is not None and case.units(carrier, host)
    return [carrier] if is_there else []


def failed_elsewhere(error: LoggedError, component: str, case: Case) -> bool:
    """Return whether a component failed to do something on another host, where it is as well."""
    named = case.host_at(error.peer_address)
    if named is None or named == error.host:
        return False
    return case.place_of(component, named) is not None


def named_host(error: LoggedError, peer: str, case: Case) -> str | None:
    """Return the host of a peer that an error names: by its address, or as the error is about the end of a move."""
    giver = case.givers.get(error.peer_address or "")
    if giver is not None and giver[0] == peer:
        return giver[1]
    named = case.place_of(peer, case.host_at(error.peer_address))
    if named or not error.at_destination:
        return named
    return case.place_of(peer, case.destination) or ELSEWHERE


def holders_of_endpoint(peers: list[str], case: Case) -> list[str]:
    """Return who is why a service finds no endpoint of others in the catalog.

    If the catalog has none, it is Keystone; if it has one, the service itself looks for another one.
    """
    sought = set(peers).intersection(APIS.values()) - {CATALOG}
    if case.catalog is None or not sought:
        return peers
    return [] if sought <= case.catalog else [CATALOG]


def rank_of(error: LoggedError, is_first: bool, weights: Weights) -> float:
    """Return how much an error counts by its level and its place among the others."""
    if error.is_warning:
        return weights.warning
    return 1.0 if is_first else weights.later_error


def unusual(error: LoggedError, weights: Weights) -> float:
    """Return how much an error says that a share of the healthy runs logs too: no more than the odds of that allow."""
    known = share_of_healthy_runs(error.service, error.logger, error.exception)
    rate = max(known, error.usual or 0.0)
    return (
        min(1.0, -math.log(rate) / weights.strength[Kind.ERROR])
        if rate
        else 1.0
    )


def library_of(error: LoggedError) -> str | None:
    """Return the component to which the library speaks that raised an error, or that has its class."""
    modules = list(map(module_of, (error.raised_in, error.exception)))
    return next(
        (LIBRARIES[module] for module in modules if module in LIBRARIES), None
    )


def module_of(name: str | None) -> str:
    """Return the first part of a dotted name."""
    return (name or "").partition(".")[0]


def databases_of(error: LoggedError, component: str) -> list[str]:
    """Return the servers of OVSDB that an error names, or else those that its service depends on."""
    named = [name for name in error.mentions if name in OVSDB_SERVERS]
    if named:
        return named
    return [name for name in depends_on(component) if name in OVSDB_SERVERS]


def peers_of(error: LoggedError, component: str) -> list[str]:
    """Return the components at which another one failed: by an address, a library, an exception's name, or a word."""
    exception = error.exception or ""
    if exception == QUEUE_UNREACHABLE:
        return [QUEUE]
    if is_of_own_side(error):
        return []
    if error.peer:
        return without(component, [error.peer])
    modules = (
        module_of(error.raised_in),
        module_of(error.exception),
        module_of(error.logger),
    )
    if not OVSDB_LIBRARIES.isdisjoint(modules):
        return without(component, databases_of(error, component))
    if OF_CALLS.search(exception):
        return answering(component, exception)
    library = library_of(error)
    if library and library != component:
        return [library]
    meant = without(component, meant_by_exception(exception))
    if meant:
        return meant
    return peers_by_words(error, component)


def is_of_own_side(error: LoggedError) -> bool:
    """Return whether an error is about a service's own settings or code, whatever library has met it."""
    if OF_SETTINGS.fullmatch(error.exception_class):
        return True
    is_of_code = error.how is None and error.exception in OF_CODE
    # A service that was called may have sent it back.
    return is_of_code and not error.peer


def without(component: str, peers: Iterable[str]) -> list[str]:
    return [peer for peer in peers if peer != component]


def answering(caller: str, exception: str) -> list[str]:
    """Return the components that answer the calls of one over the queue; without an answer, the queue as well."""
    carried_by = [QUEUE] if TIMED_OUT in exception else []
    called = answering_calls_of(project_of(caller))
    return without(caller, [*called, *carried_by])


def peers_by_words(error: LoggedError, component: str) -> list[str]:
    """Return the components that a line names, or its logger. A project speaks of itself all the time."""
    own_project = project_of(component)
    # Its own code went wrong, whatever the line speaks of.
    if is_of_own_code(error, own_project):
        return []
    named = [
        *named_in_words(error, own_project),
        *named_by_logger(error, own_project),
    ]
    of_raiser = mentioned_in(error.raised_in or "")
    # A value that cannot be used is as much the sender's as that of the module which has read it.
    if is_about_value(error):
        named += of_raiser
    peers = speaking(error, foreign(named, own_project))
    if peers or not is_translated(error, own_project):
        return peers
    return foreign(apis_among(of_raiser), own_project)


def foreign(named: Iterable[str], own_project: str) -> list[str]:
    """Return each of some components once that is of another project."""
    return [
        name
        for name in dict.fromkeys(named)
        if project_of(name) != own_project
    ]


def speaking(error: LoggedError, peers: list[str]) -> list[str]:
    """Return the components at which what failed may have failed: only an API is asked by HTTP."""
    return apis_among(peers) if is_of_http(error) else peers


def apis_among(components: Iterable[str]) -> list[str]:
    return [name for name in components if name in APIS.values()]


def is_of_own_code(error: LoggedError, own_project: str) -> bool:
    """Return whether the code of a service went wrong by itself, or a driver that it was told to load."""
    module = module_of(error.raised_in)
    if module in LOADED:
        return OWN_CHOICE.fullmatch(error.exception_class) is not None
    is_silent = error.how is None and not is_about_value(error)
    return module == own_project and is_silent


def is_about_value(error: LoggedError) -> bool:
    return error.exception_class in ABOUT_VALUES


def is_own_rule(error: LoggedError, own_project: str) -> bool:
    """Return whether something does not meet a rule of the service itself; who says nothing more may be its driver."""
    module = module_of(error.exception or error.logger)
    return error.how is None and module == own_project


def named_in_words(error: LoggedError, own_project: str) -> Iterable[str]:
    """Return the components that a line names; of an own rule only what that says, if it is known."""
    if error.words and is_own_rule(error, own_project):
        return mentioned_in(error.words)
    return error.mentions


def named_by_logger(error: LoggedError, own_project: str) -> list[str]:
    """Return the components in the name of a logger; a driver is called by what it drives."""
    if is_own_rule(error, own_project):
        return []
    # It waits for others than that.
    if error.how == How.SILENT and module_of(error.logger) == own_project:
        return []
    return mentioned_in(error.logger)


def is_translated(error: LoggedError, own_project: str) -> bool:
    """Return whether a service has put into its own words how something failed, as who speaks to an API does."""
    is_answer = error.how not in OF_OWN_DISK
    return is_answer and module_of(error.exception) == own_project


def is_out_of_room(case: Case) -> bool:
    """Return whether the first error of the run is the cloud's answer that it has no room for what was asked."""
    first = min(
        case.record.own_errors, key=lambda error: error.at, default=None
    )
    if first is None or first.exception is None:
        return False
    return any(word in first.exception for word in NO_ROOM)
