"""Where a proof succeeded before: on the same graph, with the same weights, the next solve looks there first.

Features may have changed since. What is remembered only says when to look and where sweeps begin; the proof
itself owes nothing to it. So weights count as the same if what was measured of them is.
"""

from __future__ import annotations

from typing import NamedTuple

from ..adjacency import Adjacency
from .certify import Certificate
from .factor import Factor
from .stopping import CertifiedStop


class _Question(NamedTuple):
    """What was asked, and of which weights.

    Attributes:
        fraction: The share of the nodes to prove.
        matter: How many nodes matter.
        factor: What was measured of W.
        head: What was measured of the head.
    """

    fraction: float
    matter: int
    factor: Factor
    head: tuple[float, ...]


class Proven(NamedTuple):
    """A proof that ended a solve.

    Attributes:
        question: What was asked.
        residual: A relative residual just above the one at which it succeeded.
        certificate: What it found.
    """

    question: _Question
    residual: float
    certificate: Certificate


def recall(stop: CertifiedStop, adjacency: Adjacency) -> None:
    """Tell an observer where the last proof on this graph succeeded, if the same was asked."""
    found: Proven | None = adjacency.proven
    if found is not None and found.question == _question(stop):
        stop.expect(found.residual, found.certificate)


def keep(stop: CertifiedStop, adjacency: Adjacency) -> None:
    """Remember the proof with which an observer stopped a solve on this graph."""
    if stop.reached and stop.certificate is not None:
        adjacency.proven = Proven(_question(stop), stop.reached_at, stop.certificate)


def _question(stop: CertifiedStop) -> _Question:
    return _Question(stop.fraction, stop.matter, stop.certifier.factor, stop.head.numbers)
