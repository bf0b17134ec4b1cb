"""How much memory a solve will need, before it is begun."""

from __future__ import annotations

from ..errors import InputError
from ..learning.least_squares import MAX_ROWS
from ..rough import MOST

GIBIBYTE = 2**30

#: Arrays of the size of the states that a solve has in use at once, at most; b included.
STATES = {
    "picard": 5,
    "sweep": 6,
    "anderson": 20,
    "broyden": 36,
    "learned": 11.5,
    "learned-certified": 22,
    "learned-paper": 30,
    "ignn-published": 9,
    "torchdeq-fixed_point_iter": 11,
    "torchdeq-anderson": 30,
    "torchdeq-broyden": 116,
}
#: The same with the history in half precision.
HALF_STATES = {"anderson": 16, "broyden": 25, "learned-paper": 22}
#: Fitting the default learned solver: arrays of the size of the states, and of the rows it is fitted on.
_FITTED, _FITTED_ROWS = {"learned": 9, "learned-certified": 9}, 8
#: States that do not stay in the cache are turned into a better order of the nodes, and back.
_TURNED, _TURNED_FROM = 2, 2**25
#: What leaps of the default learned solver take, where there are any.
_ROUGH = 3
#: Bytes an entry of A takes while A is built (sorting), and afterwards (A and the edge list).
_BUILD, _KEPT = 140, 26


def estimate(
    nodes: int, entries: int, hidden: int, solver: str, itemsize: int = 4, history: str = "full"
) -> int:
    """Bytes that building A, fitting and solving need at most.

    Args:
        nodes: Nodes.
        entries: Entries of A: both directions of every edge, and the self-loops.
        hidden: Width of the states.
        solver: One of ``STATES``.
        itemsize: Bytes of a number.
        history: ``"half"`` for one of ``HALF_STATES`` with its history in half precision.
    """
    state = nodes * hidden * itemsize
    count: float = HALF_STATES[solver] if history == "half" else STATES[solver]
    if solver in _FITTED:
        sampled = min(nodes, MAX_ROWS) / nodes
        count = max(count, _FITTED[solver] + _FITTED_ROWS * sampled)
    if solver in _FITTED and nodes * hidden <= MOST:
        count += _ROUGH
    count += _TURNED if state > _TURNED_FROM else 0
    if solver == "torchdeq-broyden":
        # Limited to what fits into 8 GiB: see peers.
        count = min(count, 8 * GIBIBYTE / state + 16)
    return max(_BUILD * entries, _KEPT * entries + round(count * state))


def check(
    nodes: int, entries: int, hidden: int, solvers: tuple[str, ...], limit: float
) -> dict[str, float]:
    """Raise an ``InputError`` unless each solver fits into ``limit`` gibibytes.

    Args:
        nodes: Nodes.
        entries: Entries of A.
        hidden: Width of the states.
        solvers: Who is to run.
        limit: The budget.

    Returns:
        The solvers that fit only with their history in half precision, and what they need with a full one.
    """
    needs = {name: estimate(nodes, entries, hidden, name) / GIBIBYTE for name in solvers}
    half = {name: needs[name] for name in solvers if needs[name] > limit and name in HALF_STATES}
    for name in half:
        needs[name] = estimate(nodes, entries, hidden, name, history="half") / GIBIBYTE
    worst = max(needs, key=lambda name: needs[name])
    if needs[worst] <= limit:
        return half
    fitting = [name for name in solvers if needs[name] <= limit]
    remedy = f"choose {', '.join(fitting)}, or " if fitting else ""
    even = ", its history in half precision," if worst in half else ""
    raise InputError(
        f"{worst}{even} needs about {needs[worst]:.1f} GiB on {nodes:,} nodes and {entries:,} entries with "
        f"hidden size {hidden}, but --memory allows {limit:g}: {remedy}lower the hidden size or raise --memory"
    )
