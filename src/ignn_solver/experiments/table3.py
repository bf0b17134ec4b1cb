"""The paper's table III: twelve models on five sets of graphs, judged by three protocols."""

from __future__ import annotations

import time
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from ..files import write_text
from ..results import write_results
from ..tasks.protocols import MEANING, PROTOCOLS, Curves, summarise
from .graph_models import MODELS, sort_pooling_size
from .graph_solver import ChosenWeights, compare_solvers, solver_figures, solver_note
from .grid import Cell, finished, run_grid
from .published import published
from .request import Report, Request, chosen
from .tables import Entry, Table, latex, markdown

if TYPE_CHECKING:
    from torch_geometric.data import InMemoryDataset

TITLE = (
    "Table III: classification of graphs, 10-fold cross-validation, twelve models, five datasets"
)
DATASETS = {
    "mutag": "MUTAG",
    "ptc_mr": "PTC_MR",
    "cox2": "COX2",
    "proteins": "PROTEINS",
    "nci1": "NCI1",
}
QUICK = {"datasets": ("mutag",), "folds": 3, "epochs": 10}
#: Every model sees one-hot node labels and degrees, and no coordinates.
FEATURES = {"degree": True, "attributes": False}
_DIGITS = 5


def run(request: Request) -> Report:
    """Run the cells that are missing; then write the table from all that are finished."""
    started = time.perf_counter()
    datasets = chosen(request.datasets, DATASETS, "dataset")
    models = chosen(request.models, MODELS, "model")
    protocols = chosen(request.protocols, PROTOCOLS, "protocol")
    folder = request.output / "table3"
    asked = [cell for d in datasets for m in models for cell in cells(d, m, request)]

    def work(arguments: Mapping[str, Any]) -> dict[str, Any]:
        return run_fold(arguments, request.data_dir)

    run_grid(
        asked, work, folder, resume=request.resume, progress=request.progress, title="table III"
    )
    rows = [
        row
        for d in DATASETS
        for m in MODELS
        for row in summary_rows(d, m, request, folder, list(PROTOCOLS))
    ]
    tables = [protocol_table(rows, protocol) for protocol in protocols]
    text = "\n".join(markdown(table) for table in tables)
    files = [request.output / f"table3{ending}" for ending in (".json", ".md", ".tex")]
    write_results(
        files[0], started, experiment="table3", seed=request.seed, folds=request.folds, rows=rows
    )
    write_text(files[1], f"## {TITLE}\n\n{text}")
    write_text(files[2], "\n".join(latex(table) for table in tables))
    return Report(text, rows, files)


def cells(dataset: str, model: str, request: Request) -> list[Cell]:
    """The folds of a model on a dataset."""
    arguments = {
        "dataset": dataset,
        "features": FEATURES,
        "model_name": model,
        **MODELS[model].settings(dataset, request.epochs),
        "folds": request.folds,
        "seed": request.seed,
    }
    # A quick try with few epochs must not write over hours of work.
    run_name = f"seed-{request.seed}-folds-{request.folds}"
    if request.epochs is not None:
        run_name += f"-epochs-{request.epochs}"
    return [
        Cell((dataset, model, run_name, f"fold-{k}"), {**arguments, "fold": k})
        for k in range(request.folds)
    ]


def run_fold(arguments: Mapping[str, Any], data_dir: Path | None = None) -> dict[str, Any]:
    """Train and measure one model on one fold: its curves, and how many numbers it learns."""
    from ..tasks.graph import candidate_fold, fold_batches, train_fold

    dataset = _dataset(arguments["dataset"], data_dir)
    parts = _folds(dataset, arguments["folds"], arguments["seed"])[arguments["fold"]]
    chosen_model = MODELS[arguments["model_name"]]
    options, training = dict(arguments["model"]), dict(arguments["training"])
    seed = arguments["seed"] + arguments["fold"]
    if not chosen_model.epochs:
        return _rounded(candidate_fold(chosen_model.load()(**options), dataset, parts))
    if arguments["model_name"] == "dgcnn":
        options["k"] = sort_pooling_size(dataset)
    torch.manual_seed(seed)
    network = chosen_model.load()(
        in_channels=dataset.num_features, num_classes=dataset.num_classes, **options
    )
    batches = fold_batches(dataset, parts, training.pop("batch_size"), seed)
    if not chosen_model.learned_solver:
        result = _rounded(train_fold(network, batches, seed=seed, **training))
        return {**result, "parameters": network.num_parameters}
    kept = ChosenWeights(network)
    result = _rounded(train_fold(network, batches, seed=seed, on_epoch=kept, **training))
    kept.restore()
    solvers = compare_solvers(network, dataset, parts, seed)
    return {**result, "parameters": network.num_parameters, "solvers": solvers}


def _rounded(curves: Curves) -> dict[str, Any]:
    return {
        name: [round(x, _DIGITS) for x in value] if isinstance(value, list) else value
        for name, value in curves.to_dict().items()
    }


@lru_cache(maxsize=2)
def _dataset(name: str, data_dir: Path | None) -> InMemoryDataset:
    from ..datasets import load

    return load(name, data_dir, **FEATURES)


def _folds(dataset: InMemoryDataset, count: int, seed: int) -> list[Any]:
    from ..datasets import folds

    return folds(dataset, count, seed)


def summary_rows(
    dataset: str, model: str, request: Request, folder: Path, protocols: list[str]
) -> list[dict[str, Any]]:
    """The figures of a model on a dataset, one row a protocol; none until every fold is finished."""
    results = [finished(cell, folder) for cell in cells(dataset, model, request)]
    known = [result for result in results if result is not None]
    if len(known) < len(results):
        return []
    names = ("train", "val", "val_loss", "test", "seconds")
    folds = [Curves(**{name: result[name] for name in names}) for result in known]
    figures = published("table3").get((dataset, model), (None, None))
    tried = [result["solvers"] for result in known if "solvers" in result]
    rows = []
    for protocol in protocols:
        summary = summarise(folds, protocol)
        # IGNN's way of choosing is the one the paper follows: only there do its figures compare.
        mean, std = figures if protocol == "ignn" else (None, None)
        rows.append(
            {
                "dataset": dataset,
                "model": model,
                "protocol": protocol,
                "mean": round(summary.mean, 2),
                "std": round(summary.std, 2),
                "validation": round(summary.val, 2),
                "published": mean,
                "published_std": std,
                "seconds": round(sum(fold.seconds for fold in folds), 2),
                "folds": len(folds),
                "epochs": len(folds[0]),
                "parameters": known[0].get("parameters"),
            }
        )
        # The solver was tried with the weights of the epoch that this protocol chooses.
        if protocol == "nested" and tried:
            rows[-1] |= solver_figures(tried)
    return rows


def protocol_table(rows: list[dict[str, Any]], protocol: str) -> Table:
    """The table of one protocol."""
    entries = {
        (row["model"], row["dataset"]): Entry(
            row["mean"], row["std"], row["published"], row["published_std"]
        )
        for row in rows
        if row["protocol"] == protocol
    }
    notes = [f"Protocol `{protocol}`: {MEANING[protocol]}."]
    if protocol == "ignn":
        notes.append("It looks at test labels to choose, so its figures are too good to expect.")
    own = [row for row in rows if row["protocol"] == protocol]
    if (note := solver_note(own, DATASETS)) is not None:
        notes.append(note)
    return Table(
        f"Accuracy in percent, mean ± standard deviation over folds, protocol {protocol}",
        DATASETS,
        {name: model.title for name, model in MODELS.items()},
        entries,
        stand_ins={},
        notes=notes,
    )
