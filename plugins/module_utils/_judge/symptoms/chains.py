# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Symptoms in the chains: the links at which what should be in a store is not there."""

from __future__ import annotations

from dataclasses import replace

from ..._model.chain import LinkState
from ..._model.symptom import Code, Symptom
from ..case import Case


def breaks(case: Case) -> list[Symptom]:
    """Return the break of each chain: the first link that is broken, as what comes after it had no input.

    Where a link before it could not be read, its input may not have been there. Chains stand in their order, too: what
    breaks one may break those after it.
    """
    symptoms: list[Symptom] = []
    for chain in case.chains:
        link = chain.broken
        if link is None:
            continue
        before = chain.links[: chain.links.index(link)]
        certain = not symptoms and not any(
            other.state is LinkState.UNREADABLE for other in before
        )
        symptom = Symptom(
            Code.LINK_BROKEN,
            link.owner,
            host=link.host,
            own=True,
            certain=certain and link.carrier is None,
            link=link,
        )
        symptoms.append(symptom)
        if link.carrier is not None:
            symptoms.append(of_carrier(link.carrier, symptom, case))
    return symptoms


def of_carrier(carrier: str, symptom: Symptom, case: Case) -> Symptom:
    """Return the break as one of what carries requests there: on the way from another host it may be either end."""
    is_far = case.instance_host not in (None, symptom.host)
    host = None if is_far else symptom.host
    return replace(symptom, component=carrier, host=host)
