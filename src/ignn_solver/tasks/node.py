"""Training and evaluating classifiers of nodes."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from ..errors import InputError
from ..learning.alternate import Alternating
from ..nn.base import NodeClassifier
from ..nn.classifiers import IGNN, WarmStart
from ..progress import bar
from ..tensors import load_metadata, load_tensors, load_weights, save_tensors
from .checkpoint import (
    RESUME,
    WEIGHTS,
    pack_optimizer,
    save_config,
    start_run,
    unpack_optimizer,
)
from .checks import check_settings, check_training_data, loss_function, mask

if TYPE_CHECKING:
    from torch_geometric.data import Data

_SECONDS_BETWEEN_SAVES = 10.0
_EPOCHS, _PATIENCE = 200, 50


@dataclass
class FitResult:
    """What training reached.

    Attributes:
        epochs: Epochs trained.
        best_epoch: The epoch kept, chosen on validation.
        val_accuracy: Its validation accuracy, between 0 and 1.
        val_loss: Its validation loss.
        seconds: Wall time, resumed parts included.
        history: One entry an epoch: loss, accuracies, evaluations of f, seconds.
    """

    epochs: int = 0
    best_epoch: int = -1
    val_accuracy: float = -1.0
    val_loss: float = float("inf")
    seconds: float = 0.0
    history: list[dict[str, float]] = field(default_factory=list, repr=False)

    def improves(self, accuracy: float, loss: float) -> bool:
        """Whether an epoch is better than the best so far: by accuracy, then by loss."""
        return (accuracy, -loss) > (self.val_accuracy, -self.val_loss)

    def is_over(self, epochs: int = _EPOCHS, patience: int = _PATIENCE) -> bool:
        """Whether a training with these settings of ``fit`` ends here."""
        return self.epochs >= epochs or self.epochs - self.best_epoch > patience


def fit(
    model: NodeClassifier,
    data: Data,
    *,
    epochs: int = _EPOCHS,
    lr: float = 0.01,
    weight_decay: float = 5e-4,
    patience: int = _PATIENCE,
    loss: str = "ce",
    seed: int = 0,
    warm_start: bool = True,
    solver: str | None = None,
    run: str | Path | None = None,
    resume: bool = False,
    progress: bool | None = None,
    on_epoch: Callable[[int, dict[str, float]], None] | None = None,
    on_scores: Callable[[Tensor], None] | None = None,
    details: dict[str, Any] | None = None,
) -> FitResult:
    """Train a classifier of nodes; afterwards it has the weights of its best validation epoch.

    Implicit models start each solve from the last epoch's equilibrium. With ``run``, the best weights
    are on disk after every improvement, and a killed training goes on with ``resume``.

    Args:
        model: The model.
        data: The graph, with ``x``, ``edge_index``, ``y``, ``train_mask`` and ``val_mask``.
        epochs: Most epochs.
        lr: Adam's learning rate.
        weight_decay: Adam's weight decay.
        patience: Stop after this many epochs without improvement on validation.
        loss: ``"ce"`` (cross-entropy) or ``"bce"`` (binary cross-entropy on one-hot labels).
        seed: Seeds the dropout; the same seed gives the same training.
        warm_start: Whether solves start from the last epoch's equilibria.
        solver: ``"alternating"`` learns a solver along with an implicit model (the paper's appendix
            B): after some epochs of plain iteration, and again from time to time.
        run: A folder for checkpoints.
        resume: Go on from ``run`` where an earlier training stopped.
        progress: Show a progress bar; by default on a terminal.
        on_epoch: Called after each epoch with its number and history entry.
        on_scores: Called in each epoch with the scores of every node that validation looked at,
            ``n x num_classes``.
        details: Kept in the run's ``config.json``.

    Returns:
        What was reached; test labels are never looked at.

    Raises:
        InputError: When the graph is not fit for training, or ``run`` cannot be used.
    """
    check_settings(epochs, lr, weight_decay, patience, loss)
    check_training_data(data, model.num_classes)
    alternating = _alternating(model, data, solver)
    folder = Path(run) if run else None
    training = _Training(model, data, lr, weight_decay, loss, folder, alternating, on_scores)
    torch.manual_seed(seed)
    with _prepared(model, warm_start):
        if folder is not None:
            if resume and (folder / RESUME).exists():
                training.restore()
                save_config(folder, model, **(details or {}))
            else:
                start_run(folder, model, **(details or {}))
        result = training.result
        with bar("training", epochs, progress) as shown:
            try:
                while not result.is_over(epochs, patience):
                    entry = training.epoch()
                    shown.update(
                        result.epochs,
                        f"loss {entry['loss']:.3f}  val {entry['val_accuracy']:.3f}  "
                        f"evaluations {entry['forward_evals']:.0f}+{entry['backward_evals']:.0f}",
                    )
                    if on_epoch is not None:
                        on_epoch(result.epochs - 1, entry)
            finally:
                training.save()
    model.load_state_dict(training.best)
    model.eval()
    return result


@contextmanager
def _prepared(model: NodeClassifier, warm_start: bool) -> Iterator[None]:
    """An implicit model with room for warm starts, and afterwards as it was before."""
    if not isinstance(model, IGNN):
        yield
        return
    conv = model.conv
    solvers = conv.solver, conv.backward_solver
    model.warm_start = WarmStart() if warm_start else None
    try:
        yield
    finally:
        model.warm_start = None
        conv.solver, conv.backward_solver = solvers


def _alternating(model: NodeClassifier, data: Data, solver: str | None) -> Alternating | None:
    if solver is None:
        return None
    if solver != "alternating":
        raise InputError(
            f'unknown solver {solver!r} for training: say "alternating", or leave it out'
        )
    if not isinstance(model, IGNN):
        raise InputError(
            f"{type(model).__name__} has no equilibrium to solve for: leave out the solver, or train IGNN"
        )
    return Alternating(model, data)


class _Training:
    """One training run: what an epoch does, and how it is kept."""

    def __init__(
        self,
        model: NodeClassifier,
        data: Data,
        lr: float,
        weight_decay: float,
        loss: str,
        folder: Path | None,
        alternating: Alternating | None,
        on_scores: Callable[[Tensor], None] | None = None,
    ) -> None:
        self.model, self.data, self.loss, self.folder = model, data, loss, folder
        self.alternating, self.on_scores = alternating, on_scores
        self.optimizer = torch.optim.Adam(model.parameters(), lr=lr, weight_decay=weight_decay)
        self.train_mask, self.val_mask = mask(data, "train"), mask(data, "val")
        self.result = FitResult()
        self.best: dict[str, Tensor] = {}
        self.saved_at = time.perf_counter()
        #: Whether an epoch is half done, so that what there is cannot be resumed from.
        self.within_epoch = False

    def epoch(self) -> dict[str, float]:
        """Train one epoch, judge it on validation, keep it if it is the best."""
        started = time.perf_counter()
        model, data, result = self.model, self.data, self.result
        self.within_epoch = True
        if self.alternating is not None:
            self.alternating.before(result.epochs)
        model.train()
        self.optimizer.zero_grad()
        scores = model(data)
        objective = loss_function(self.loss, scores[self.train_mask], data.y[self.train_mask])
        auxiliary = getattr(model, "auxiliary_loss", None)
        if auxiliary is not None:
            objective = objective + auxiliary()
        objective.backward()
        forward, backward = model.evaluations()
        if isinstance(model, IGNN):
            model.remember_backward()
        self.optimizer.step()
        trained = time.perf_counter()
        with torch.no_grad():
            model.eval()
            scores = model(data)
            if self.on_scores is not None:
                self.on_scores(scores)
            scores = scores[self.val_mask]
            labels = data.y[self.val_mask]
            val_loss = float(loss_function(self.loss, scores, labels))
            val_accuracy = float((scores.argmax(-1) == labels).double().mean())
        if not math.isfinite(val_loss):
            raise InputError(
                f"training diverged: the loss of epoch {result.epochs + 1} is {val_loss}; lower the "
                f"learning rate ({self.optimizer.param_groups[0]['lr']:g})"
            )
        seconds = time.perf_counter() - started
        entry = {
            "loss": float(objective.detach()),
            "val_loss": val_loss,
            "val_accuracy": val_accuracy,
            "forward_evals": float(forward),
            "backward_evals": float(backward),
            "train_seconds": trained - started,
            "seconds": seconds,
        }
        result.history.append(entry)
        if result.improves(val_accuracy, val_loss):
            result.best_epoch = result.epochs
            result.val_accuracy, result.val_loss = val_accuracy, val_loss
            self.best = {name: tensor.clone() for name, tensor in model.state_dict().items()}
            if self.folder is not None:
                save_tensors(self.folder / WEIGHTS, self.best)
        result.epochs += 1
        result.seconds += seconds
        self.within_epoch = False
        if time.perf_counter() - self.saved_at > _SECONDS_BETWEEN_SAVES:
            self.save()
        return entry

    def save(self) -> None:
        """Keep everything that the next epoch depends on.

        In the middle of an epoch, that is after Ctrl-C, the last save stands: going on from there
        repeats at most a few seconds and ends with exactly the same weights.
        """
        if self.folder is None or self.within_epoch or not self.best:
            return
        tensors = {f"model.{name}": tensor for name, tensor in self.model.state_dict().items()}
        tensors |= {f"best.{name}": tensor for name, tensor in self.best.items()}
        tensors |= pack_optimizer(self.optimizer)
        tensors["random"] = torch.get_rng_state()
        if isinstance(self.model, IGNN) and self.model.warm_start is not None:
            states = self.model.warm_start.states
            tensors |= {f"warm.{name}": tensor for name, tensor in states.items()}
        kept: dict[str, Any] = {"result": asdict(self.result)}
        if self.alternating is not None:
            learned, kept["alternating"] = self.alternating.kept()
            tensors |= {f"solver.{name}": tensor for name, tensor in learned.items()}
        save_tensors(self.folder / RESUME, tensors, kept)
        self.saved_at = time.perf_counter()

    def restore(self) -> None:
        """Take up a training where ``save`` left it."""
        assert self.folder is not None
        path = self.folder / RESUME
        tensors, kept = load_tensors(path, "checkpoint to resume from")

        def part(prefix: str) -> dict[str, Tensor]:
            return {
                name.removeprefix(prefix): tensor
                for name, tensor in tensors.items()
                if name.startswith(prefix)
            }

        # The best weights first: they are checked, and then overwritten by the last ones.
        self.best = part("best.")
        load_weights(self.model, self.best, path)
        load_weights(self.model, part("model."), path)
        try:
            unpack_optimizer(self.optimizer, tensors)
            torch.set_rng_state(tensors["random"])
            self.result = FitResult(**kept["result"])
            if self.alternating is not None and "alternating" in kept:
                self.alternating.restore(part("solver."), kept["alternating"])
        except (KeyError, TypeError, ValueError, RuntimeError) as error:
            raise InputError(
                f"{path} lacks parts of a checkpoint to resume from ({error}): train anew, without resuming"
            ) from error
        if isinstance(self.model, IGNN) and self.model.warm_start is not None:
            self.model.warm_start.states = part("warm.")


def read_result(folder: str | Path) -> FitResult:
    """What the training of the run in ``folder`` has reached so far, as ``fit`` returns it."""
    path = Path(folder) / RESUME
    kept = load_metadata(path, "checkpoint to resume from")
    try:
        return FitResult(**kept["result"])
    except (KeyError, TypeError) as error:
        raise InputError(f"{path} holds no result of a training ({error}): train anew") from error


@torch.no_grad()
def accuracy(model: NodeClassifier, data: Data, split: str) -> float:
    """Share of the nodes of a split that the model classifies rightly, between 0 and 1."""
    members = mask(data, split)
    model.eval()
    return float((model(data)[members].argmax(-1) == data.y[members]).double().mean())
