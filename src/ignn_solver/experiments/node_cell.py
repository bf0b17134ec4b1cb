"""One cell of tables I and II: a network trained once on a dataset with a seed, and measured."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from ..benchmark.timing import peak_bytes
from ..freed import give_back
from ..models import build
from ..nn.base import NodeClassifier
from ..nn.classifiers import IGNN
from ..recipe import load_recipe
from ..tasks.checks import loss_function, mask
from ..tasks.node import fit
from .limits import LimitError, foretell, memory_limit, time_limit
from .node_models import FORMS

if TYPE_CHECKING:
    from torch_geometric.data import Data

_MEBIBYTE = 2**20
_ROUNDS = 3
#: How closely a learned solver solves, and what stands for the exact equilibrium.
TOLERANCE, EXACT = 1e-3, 1e-6


@lru_cache(maxsize=1)
def load_data(dataset: str, data_dir: Path | None) -> Data:
    """The graph; validation nodes are the same for every seed of the training."""
    from ..datasets import load

    return load(dataset, data_dir)


def run_cell(
    arguments: Mapping[str, Any],
    data_dir: Path | None = None,
    hours: float = 1.0,
    memory: float = 12.0,
    known: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Train and measure one network: the figures, or ``skipped`` with the reason.

    The forms of our solver are limited one by one: one that takes too long leaves the others.

    Args:
        arguments: ``dataset``, ``network``, ``model``, ``training`` and ``seed``.
        data_dir: Where datasets lie.
        hours: How long the training, and the fit of each form, may take.
        memory: Gibibytes each may take.
        known: The result with another seed: what it skipped is skipped again.
    """
    known = known or {}
    if "skipped" in known:
        return dict(known)
    data = load_data(arguments["dataset"], data_dir)
    seconds = 3600 * hours
    try:
        with time_limit(seconds), memory_limit(memory):
            network, measured = _train_and_measure(arguments, data, seconds)
    except LimitError as error:
        return {"skipped": str(error)}
    if not isinstance(network, IGNN):
        return measured
    exact = network.predict(data, tol=EXACT, on_failure="return").classes
    measured["exact"] = _accuracy(exact, data.y, mask(data, "test"))
    measured["forms"] = {}
    for form in FORMS:
        give_back()
        found = known.get("forms", {}).get(form, {})
        if "skipped" not in found:
            try:
                with time_limit(seconds), memory_limit(memory):
                    found = _measure(network, data, form, arguments, exact)
            except LimitError as error:
                found = {"skipped": str(error)}
        measured["forms"][form] = found
    return measured


def _train_and_measure(
    arguments: Mapping[str, Any], data: Data, seconds: float
) -> tuple[NodeClassifier, dict[str, Any]]:
    """The trained network, and its figures."""
    training, seed = dict(arguments["training"]), arguments["seed"]
    test, labels = mask(data, "test"), data.y
    seen: list[float] = []

    def watch(scores: Tensor) -> None:
        seen.append(_accuracy(scores.argmax(-1), labels, test))

    torch.manual_seed(seed)
    network = build(
        arguments["network"],
        in_channels=data.num_features,
        num_classes=data.num_classes,
        **arguments["model"],
    )
    result = fit(
        network, data, seed=seed, progress=False, on_scores=watch,
        on_epoch=foretell(training["epochs"], seconds), **training,
    )  # fmt: skip
    measured: dict[str, Any] = {
        "val": result.val_accuracy,
        "test": seen[result.best_epoch],
        "best_test": max(seen),
        "epochs": result.epochs,
        "best_epoch": result.best_epoch,
        "seconds": round(result.seconds, 3),
        "parameters": network.num_parameters,
        "peak_mb": round(peak_bytes(_training_step(network, data)) / _MEBIBYTE, 3),
    }
    network.eval()
    if not isinstance(network, IGNN):
        with torch.no_grad():
            measured["inference_seconds"] = _seconds(lambda: network(data))
    return network, measured


def _measure(
    network: IGNN, data: Data, form: str, arguments: Mapping[str, Any], exact: Tensor
) -> dict[str, Any]:
    """Fit one form of the solver and classify with it."""
    from ..learning.fit import fit_solver

    options = {} if form == "learned" else dict(load_recipe(arguments["dataset"]).solver)
    solver = fit_solver(network, data, form, seed=arguments["seed"], progress=False, **options)

    def predict() -> Any:
        return network.predict(data, solver=solver, tol=TOLERANCE, on_failure="return")

    prediction = predict()
    test = mask(data, "test")
    return {
        "test": _accuracy(prediction.classes, data.y, test),
        "changed": float((prediction.classes != exact)[test].double().mean()),
        "converged": prediction.solution.converged,
        "evals": prediction.solution.num_evals,
        "fit_seconds": round(solver.details["seconds"], 3),
        "inference_seconds": _seconds(predict),
        "parameters": network.num_parameters + solver.num_parameters,
        "peak_mb": round(peak_bytes(predict) / _MEBIBYTE, 3),
    }


def _accuracy(classes: Tensor, labels: Tensor, members: Tensor) -> float:
    return float((classes[members] == labels[members]).double().mean())


def _seconds(call: Callable[[], Any]) -> float:
    """The median time of a few calls, after one that counts for nothing."""
    call()
    times = []
    for _ in range(_ROUNDS):
        began = time.perf_counter()
        call()
        times.append(time.perf_counter() - began)
    return round(statistics.median(times), 6)


def _training_step(network: NodeClassifier, data: Data) -> Callable[[], None]:
    train = mask(data, "train")

    def step() -> None:
        network.train()
        network.zero_grad()
        loss_function("ce", network(data)[train], data.y[train]).backward()

    return step
