"""How much memory a solve will need, before it is begun."""

from __future__ import annotations

from ..errors import InputError

GIBIBYTE = 2**30

#: Arrays of the size of the states that a solve has in use at once, at most; b included.
STATES = {
    "picard": 5,
    "sweep": 6,
    "anderson": 20,
    "broyden": 38,
    "learned": 12,
    "learned-certified": 18,
    "learned-paper": 30,
    "ignn-published": 9,
    "torchdeq-fixed_point_iter": 11,
    "torchdeq-anderson": 30,
    "torchdeq-broyden": 116,
}
#: Fitting the default learned solver, which holds its regressors besides.
_FITTED = {"learned": 14, "learned-certified": 14}
#: Bytes an entry of A takes while A is built (sorting), and afterwards (A and the edge list).
_BUILD, _KEPT = 140, 26


def estimate(nodes: int, entries: int, hidden: int, solver: str, itemsize: int = 4) -> int:
    """Bytes that building A, fitting and solving need at most.

    Args:
        nodes: Nodes.
        entries: Entries of A: both directions of every edge, and the self-loops.
        hidden: Width of the states.
        solver: One of ``STATES``.
        itemsize: Bytes of a number.
    """
    state = nodes * hidden * itemsize
    count = max(STATES[solver], _FITTED.get(solver, 0))
    if solver == "torchdeq-broyden":
        # Limited to what fits into 8 GiB: see peers.
        return max(
            _BUILD * entries, _KEPT * entries + min(count * state, 8 * GIBIBYTE + 16 * state)
        )
    return max(_BUILD * entries, _KEPT * entries + count * state)


def check(nodes: int, entries: int, hidden: int, solvers: tuple[str, ...], limit: float) -> None:
    """Raise an ``InputError`` unless each solver fits into ``limit`` gibibytes.

    Args:
        nodes: Nodes.
        entries: Entries of A.
        hidden: Width of the states.
        solvers: Who is to run.
        limit: The budget.
    """
    needs = {name: estimate(nodes, entries, hidden, name) / GIBIBYTE for name in solvers}
    worst = max(needs, key=lambda name: needs[name])
    if needs[worst] <= limit:
        return
    fitting = [name for name in solvers if needs[name] <= limit]
    remedy = f"choose {', '.join(fitting)}, or " if fitting else ""
    raise InputError(
        f"{worst} needs about {needs[worst]:.1f} GiB on {nodes:,} nodes and {entries:,} entries with hidden "
        f"size {hidden}, but --memory allows {limit:g}: {remedy}lower the hidden size or raise --memory"
    )
