"""What is solved in a benchmark, and how an answer to it is judged."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from ..equilibrium import EquilibriumMap
from ..kernels import plain
from ..nn.prediction import Proof, classify
from ..solving import Solution, Status, solve

if TYPE_CHECKING:
    from torch_geometric.data import Data

    from ..nn.classifiers import IGNN

#: The answer that errors are measured against is solved for this closely, in float64.
REFERENCE_TOLERANCE = 1e-7
#: How far, in accuracy, a classification may be from that of the exact equilibrium.
ACCURACY_MARGIN = 0.001


@dataclass(frozen=True)
class Judgement:
    """How good a returned state is; measured afterwards, in code that no solver runs.

    Attributes:
        residual: ``||f(v) - v|| / ||f(v)||`` at the state v itself.
        error: Its relative distance to the reference.
        accuracy: Share of the test nodes classified rightly, or ``None`` without a test split.
        certified: Share of the nodes whose class is proven.
    """

    residual: float
    error: float
    accuracy: float | None
    certified: float


class Problem:
    """A trained model on a graph, with its equilibrium known closely.

    Args:
        name: Name of the dataset.
        model: The model.
        data: The graph.
        tol: Relative residual to reach.
    """

    def __init__(self, name: str, model: IGNN, data: Data, tol: float) -> None:
        self.name, self.model, self.data, self.tol = name, model.eval(), data, tol
        with torch.no_grad():
            self.f: EquilibriumMap = model.equilibrium_map(data).detach()
        self.reference = reference(self.f)
        self.exact_accuracy = self.accuracy(self.reference.to(self.f.bias.dtype))

    @torch.no_grad()
    def accuracy(self, value: Tensor) -> float | None:
        """Share of the test nodes that these states classify rightly."""
        test = self.data.get("test_mask")
        if test is None or not bool(test.any()) or self.data.y.dim() != 1:
            return None
        classes = self.model.head(value[test]).argmax(-1)
        return float((classes == self.data.y[test]).double().mean())

    @torch.no_grad()
    def judge(self, value: Tensor) -> Judgement:
        """Measure a state that a solver returned."""
        f = self.f
        evaluated = plain.evaluate(
            f.adjacency.matrix, value @ f.weight, f.bias, value, f.activation, None, None
        )
        _, residual_sq, value_sq = evaluated
        total, size = residual_sq.sum(dtype=torch.float64), value_sq.sum(dtype=torch.float64)
        residual = 0.0 if float(total) == 0 else float((total / size).sqrt())
        difference = torch.linalg.norm(value.double() - self.reference)
        solution = _as_solution(value, residual_sq.sqrt(), residual)
        prediction = classify(f, self.model.head, solution, Proof(certify=True), "return")
        assert prediction.certified is not None
        return Judgement(
            residual,
            float(difference / torch.linalg.norm(self.reference)),
            self.accuracy(value),
            float(prediction.certified.double().mean()),
        )

    def settled(self, accuracies: list[float | None]) -> int | None:
        """The first evaluation from which on the accuracy stays that of the exact equilibrium.

        Args:
            accuracies: The accuracy after each evaluation, until the tolerance was reached.

        Returns:
            Its number, counted from 1, or ``None`` if the accuracy never settles.
        """
        settled = None
        for number, accuracy in reversed(list(enumerate(accuracies, 1))):
            if accuracy is None or self.exact_accuracy is None:
                return settled
            if abs(accuracy - self.exact_accuracy) > ACCURACY_MARGIN:
                return settled
            settled = number
        return settled


def reference(f: EquilibriumMap) -> Tensor:
    """The fixed point of ``f`` to a relative residual of 1e-7, in float64."""
    near = solve(f, tol=1e-5, on_failure="return").value
    exact = EquilibriumMap(
        f.adjacency.to(torch.float64),
        f.weight.double(),
        f.bias.double(),
        f.contraction,
        f.activation,
    )
    return solve(exact, z0=near.double(), tol=REFERENCE_TOLERANCE, on_failure="raise").value


def _as_solution(value: Tensor, node_residual: Tensor, residual: float) -> Solution:
    one = torch.tensor([residual], dtype=torch.float64)
    return Solution(
        value=value,
        statuses=(Status.CONVERGED,),
        residuals=one,
        evals=torch.zeros(1, dtype=torch.int64),
        trace=one.unsqueeze(0),
        seconds=[],
        node_residual=node_residual,
        rejected=torch.zeros(1, dtype=torch.int64),
        at_value=True,
    )


Observe = Callable[[int, Tensor], None]
