"""Training and evaluating classifiers of graphs, one fold of a cross-validation at a time."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import torch
from torch_geometric.data import Batch

from ..errors import InputError
from ..nn.base import GraphClassifier
from ..nn.classifiers import WarmStart
from .checks import loss_function
from .protocols import Curves

if TYPE_CHECKING:
    from torch_geometric.data import Data, InMemoryDataset

_MOST_NODES = 200_000


class Parts(Protocol):
    """Graph numbers of the parts of a fold, as ``datasets.folds`` gives them."""

    @property
    def train(self) -> np.ndarray:
        """Graphs to train on."""

    @property
    def val(self) -> np.ndarray:
        """Graphs to choose on."""

    @property
    def test(self) -> np.ndarray:
        """Graphs to report on."""


@dataclass(frozen=True)
class FoldBatches:
    """The batches of one fold, made once: their adjacencies are cached for as long as they live.

    Attributes:
        train: Mini-batches to train on.
        val: Batches to choose on.
        test: Batches to report on.
    """

    train: list[Batch]
    val: list[Batch]
    test: list[Batch]


def make_batches(graphs: Sequence[Data], batch_size: int | None = None) -> list[Batch]:
    """Cut graphs into block-diagonal batches of about equal size.

    Args:
        graphs: The graphs, in order.
        batch_size: Most graphs in a batch; by default as many as have 200,000 nodes together.
    """
    if batch_size is None:
        nodes = sum(graph.num_nodes for graph in graphs)
        count = -(-nodes // _MOST_NODES)
    else:
        count = -(-len(graphs) // batch_size)
    places = np.array_split(np.arange(len(graphs)), max(1, count))
    return [Batch.from_data_list([graphs[i] for i in place]) for place in places if place.size]


def fold_batches(
    dataset: InMemoryDataset, parts: Parts, batch_size: int, seed: int = 0
) -> FoldBatches:
    """The batches of a fold: training graphs shuffled once into mini-batches of ``batch_size``."""
    for name in ("train", "val", "test"):
        if len(getattr(parts, name)) == 0:
            raise InputError(f"the {name} part of the fold is empty: make folds with validation")
    order = np.random.default_rng(seed).permutation(parts.train)
    return FoldBatches(
        make_batches([dataset[int(i)] for i in order], batch_size),
        make_batches([dataset[int(i)] for i in parts.val]),
        make_batches([dataset[int(i)] for i in parts.test]),
    )


def train_fold(
    model: GraphClassifier,
    batches: FoldBatches,
    *,
    epochs: int = 200,
    lr: float = 0.01,
    weight_decay: float = 0.0,
    halve_every: int = 50,
    loss: str = "ce",
    seed: int = 0,
    warm_start: bool = True,
    on_epoch: Callable[[int, Curves], None] | None = None,
) -> Curves:
    """Train a classifier of graphs and measure it on every part after each epoch.

    Nothing is chosen here: the curves serve every protocol of ``protocols``. Implicit models start
    each solve from the last epoch's equilibrium of the same batch.

    Args:
        model: The model.
        batches: From ``fold_batches``.
        epochs: Epochs.
        lr: Adam's learning rate.
        weight_decay: Adam's weight decay.
        halve_every: Epochs after which the learning rate is halved, again and again; 0 for never.
        loss: ``"ce"`` or ``"bce"``.
        seed: Seeds the dropout and the order of the batches.
        warm_start: Whether solves start from the last epoch's equilibria.
        on_epoch: Called after each epoch with its number and the curves so far.

    Returns:
        The curves; training accuracy is that of the training passes, dropout included.
    """
    torch.manual_seed(seed)
    started = time.perf_counter()
    optimizer = torch.optim.Adam(model.parameters(), lr=lr, weight_decay=weight_decay)
    implicit = warm_start and hasattr(model, "warm_start")
    starts = [WarmStart() if implicit else None for _ in batches.train]
    curves = Curves()
    for epoch in range(epochs):
        for group in optimizer.param_groups:
            group["lr"] = lr * 0.5 ** (epoch // halve_every if halve_every else 0)
        model.train()
        right = 0
        for i in torch.randperm(len(batches.train)).tolist():
            right += _step(model, batches.train[i], optimizer, loss, starts[i])
        total = sum(batch.num_graphs for batch in batches.train)
        val, val_loss = evaluate(model, batches.val, loss)
        test, _ = evaluate(model, batches.test, loss)
        curves.train.append(right / total)
        curves.val.append(val)
        curves.val_loss.append(val_loss)
        curves.test.append(test)
        curves.seconds = time.perf_counter() - started
        if on_epoch is not None:
            on_epoch(epoch, curves)
    if implicit:
        model.warm_start = None  # type: ignore[assignment]
    model.eval()
    return curves


def _step(
    model: Any, batch: Batch, optimizer: torch.optim.Optimizer, loss: str, start: WarmStart | None
) -> int:
    """One step of training; returns how many graphs were classified rightly on the way."""
    if start is not None:
        model.warm_start = start
    optimizer.zero_grad()
    scores = model(batch)
    loss_function(loss, scores, batch.y).backward()
    if start is not None:
        model.remember_backward()
    optimizer.step()
    return int((scores.argmax(-1) == batch.y).sum())


@torch.no_grad()
def evaluate(
    model: GraphClassifier, batches: Sequence[Batch], loss: str = "ce"
) -> tuple[float, float]:
    """Accuracy, between 0 and 1, and mean loss of a model over the graphs of some batches."""
    model.eval()
    right, total, lost = 0, 0, 0.0
    for batch in batches:
        scores = model(batch)
        right += int((scores.argmax(-1) == batch.y).sum())
        lost += float(loss_function(loss, scores, batch.y)) * batch.num_graphs
        total += batch.num_graphs
    return right / total, lost / total


class CandidateClassifier(Protocol):
    """A model without epochs, such as a kernel machine: it is fitted once for each candidate value."""

    def fit(self, dataset: InMemoryDataset, train: np.ndarray) -> None:
        """Fit every candidate on the training graphs' numbers."""

    def predict(self, graphs: np.ndarray) -> np.ndarray:
        """The class of each of these graphs by each candidate, ``candidates x graphs``."""


def candidate_fold(model: CandidateClassifier, dataset: InMemoryDataset, parts: Parts) -> Curves:
    """The curves of a model without epochs: one point for each candidate of its hyper-parameter.

    The validation loss is the share of errors, so that ties go to the first candidate.
    """
    started = time.perf_counter()
    labels = dataset._data.y.flatten().numpy()
    model.fit(dataset, np.asarray(parts.train))

    def accuracies(part: np.ndarray) -> list[float]:
        return (model.predict(part) == labels[part]).mean(axis=1).tolist()

    val = accuracies(np.asarray(parts.val))
    return Curves(
        train=accuracies(np.asarray(parts.train)),
        val=val,
        val_loss=[1 - accuracy for accuracy in val],
        test=accuracies(np.asarray(parts.test)),
        seconds=time.perf_counter() - started,
    )
