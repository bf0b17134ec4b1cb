"""From a map and a head to classes, with their proofs when asked for."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor, nn

from ..certificate import Certificate, CertifiedStop, Certifier, Margins, is_certified, margins
from ..certificate.remembered import keep, recall
from ..equilibrium import EquilibriumMap
from ..errors import InputError
from ..solving import Solution, SolveError, Solver, solve


@dataclass(frozen=True)
class Prediction:
    """What a model says of every node, and how it was reached.

    Attributes:
        classes: The predicted class of each node, ``n``.
        probabilities: The probability of each class, ``n x classes``.
        solution: The solve behind it.
        margin: How far each node's state may be from the exact one without changing the class, ``n``.
        bound: How far it can be from the exact one, ``n``; proven.
        certified: Whether the class is that of the exact equilibrium, proven: ``margin > bound``, ``n``.
        certificate: What the bounds rest on.
        map: The map that was solved; local updates start from it.
    """

    classes: Tensor
    probabilities: Tensor
    solution: Solution = field(repr=False)
    margin: Tensor | None = field(default=None, repr=False)
    bound: Tensor | None = field(default=None, repr=False)
    certified: Tensor | None = field(default=None, repr=False)
    certificate: Certificate | None = field(default=None, repr=False)
    map: EquilibriumMap | None = field(default=None, repr=False)


@dataclass(frozen=True)
class Proof:
    """What of a prediction is to be proven.

    Attributes:
        certify: ``True`` for a certificate, ``"exact"`` for one whose residual is evaluated in float64.
        stop: ``"residual"``, or ``"certified"`` to stop when enough classes are proven.
        fraction: The share of the nodes to prove.
        nodes: The nodes that matter, a mask or ids; all by default.
    """

    certify: bool | str = False
    stop: str = "residual"
    fraction: float = 0.99
    nodes: Tensor | Sequence[int] | None = None

    def __post_init__(self) -> None:
        if self.certify not in (True, False, "exact"):
            raise InputError(f'certify must be True, False or "exact", not {self.certify!r}')
        if self.stop not in ("residual", "certified"):
            raise InputError(f'stop must be "residual" or "certified", not {self.stop!r}')


@torch.no_grad()
def predict_nodes(
    f: EquilibriumMap,
    head: nn.Module,
    solver: Solver | None,
    tol: float | None,
    max_evals: int,
    on_failure: str,
    proof: Proof,
) -> Prediction:
    """Solve for the states of the nodes and classify them; see ``IGNN.predict``."""
    if proof.stop == "certified":
        return _solve_until_proven(f, head, solver, tol, max_evals, on_failure, proof)
    tol = 1e-3 if tol is None else tol
    solution = solve(f, solver, tol=tol, max_evals=max_evals, on_failure=on_failure)
    return classify(f, head, solution, proof, on_failure)


def classify(
    f: EquilibriumMap, head: nn.Module, solution: Solution, proof: Proof, on_failure: str
) -> Prediction:
    """The prediction that a solution of ``f`` gives, with a certificate if ``proof`` asks for one."""
    if not proof.certify:
        scores = head(solution.value)
        return Prediction(scores.argmax(-1), scores.softmax(-1), solution, map=f)
    certificate = Certifier(f).certify(solution, exact=proof.certify == "exact")
    if certificate.reason is not None:
        _report(certificate.reason, solution, on_failure)
    return _with_certificate(f, head, solution, certificate)


def reclassify(
    before: Prediction,
    f: EquilibriumMap,
    head: nn.Module,
    solution: Solution,
    proof: Proof,
    on_failure: str,
    in_place: bool,
) -> Prediction:
    """The prediction after a local update: only nodes that moved are scored, unless a proof is asked for."""
    moved = solution.moved
    if proof.certify or moved is None:
        return classify(f, head, solution, proof, on_failure)
    rows, old = solution.value.shape[0], before.classes.shape[0]
    classes, probabilities = before.classes, before.probabilities
    if rows > old:
        classes = torch.cat([classes, classes.new_zeros(rows - old)])
        more = probabilities.new_zeros(rows - old, probabilities.shape[1])
        probabilities = torch.cat([probabilities, more])
    elif not in_place:
        classes, probabilities = classes.clone(), probabilities.clone()
    scores = head(solution.value[moved])
    classes[moved], probabilities[moved] = scores.argmax(-1), scores.softmax(-1)
    return Prediction(classes, probabilities, solution, map=f)


def _with_certificate(
    f: EquilibriumMap,
    head: nn.Module,
    solution: Solution,
    certificate: Certificate,
    found: Margins | None = None,
) -> Prediction:
    if found is None:
        found = margins(head, solution.value, certificate.norm)
    return Prediction(
        found.classes,
        found.scores.softmax(-1),
        solution,
        found.margin,
        certificate.bound,
        is_certified(found, certificate.bound),
        certificate,
        f,
    )


def _solve_until_proven(
    f: EquilibriumMap,
    head: nn.Module,
    solver: Solver | None,
    tol: float | None,
    max_evals: int,
    on_failure: str,
    proof: Proof,
) -> Prediction:
    certifier = Certifier(f)
    nodes = _check_nodes(proof.nodes, f.adjacency.num_nodes)
    stop = CertifiedStop(certifier, head, proof.fraction, nodes)
    if tol is None:
        # Below this, rounding is all that is left of the residual.
        tol = max(16 * torch.finfo(f.bias.dtype).eps, 1e-12)
    recall(stop, f.adjacency)
    solution = solve(f, solver, tol=tol, max_evals=max_evals, on_failure=on_failure, observer=stop)
    keep(stop, f.adjacency)
    if stop.reached and stop.certificate is not None:
        found = stop.margins if nodes is None else None
        return _with_certificate(f, head, solution, stop.certificate, found)
    # The allowance for rounding may be all that stands in the way: measure instead.
    result = _with_certificate(f, head, solution, certifier.certify(solution, exact=True))
    assert result.certified is not None
    proven = result.certified if nodes is None else result.certified[nodes]
    share = float(proven.double().mean())
    if share < proof.fraction:
        _report(
            f"{share:.2%} of the nodes are proven at relative residual {solution.residual:.1e}, wanted "
            f"{proof.fraction:.2%}: lower fraction, or name the nodes that matter in nodes",
            solution,
            on_failure,
        )
    return result


def _check_nodes(nodes: Tensor | Sequence[int] | None, count: int) -> Tensor | None:
    if nodes is None:
        return None
    ids = torch.as_tensor(nodes)
    if ids.dtype == torch.bool:
        if ids.shape != (count,):
            raise InputError(f"nodes is a mask of shape {tuple(ids.shape)} for {count} nodes")
        ids = ids.nonzero().squeeze(1)
    if ids.numel() == 0 or ids.is_floating_point():
        raise InputError("nodes names no node: give a mask, or integer ids")
    if int(ids.min()) < 0 or int(ids.max()) >= count:
        wrong = int(ids.min()) if int(ids.min()) < 0 else int(ids.max())
        raise InputError(f"nodes names node {wrong}, but the graph has nodes 0 to {count - 1}")
    return ids.long()


def _report(message: str, solution: Solution, on_failure: str) -> None:
    if on_failure == "raise":
        raise SolveError(message, solution)
    if on_failure == "warn":
        warnings.warn(message, RuntimeWarning, stacklevel=4)
