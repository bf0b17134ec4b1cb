"""What tables I and II share: cells that are run when missing, and the tables made of them."""

from __future__ import annotations

import statistics
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..errors import InputError
from ..files import write_text
from ..results import write_results
from .grid import Cell, finished, run_grid
from .node_models import FORMS, NETWORKS, TITLES, WIDEST, network_of, published_name
from .published import published
from .request import Report, Request, chosen
from .tables import Entry, Table, latex, markdown

PROTOCOLS = {
    "validation": "the epoch is chosen on validation nodes; test labels are never looked at",
    "paper": "the best test epoch, as the paper's released code chooses: only to compare with its figures",
}


@dataclass(frozen=True)
class NodeTable:
    """A table of the paper.

    Attributes:
        name: Its name on the command line.
        title: What it shows.
        datasets: Title of each column by the dataset's name.
        large: Whether its graphs count as large in the paper's section "Baselines".
        epochs: For datasets where time allows no more: as many epochs for every model alike.
    """

    name: str
    title: str
    datasets: Mapping[str, str]
    large: bool
    epochs: Mapping[str, int] = field(default_factory=dict)

    def run(self, request: Request) -> Report:
        """Run the cells that are missing; then write the table from all that are finished."""
        started = time.perf_counter()
        datasets = chosen(request.datasets, self.datasets, "dataset")
        models = chosen(request.models, TITLES, "model")
        protocols = chosen(request.protocols or ("validation",), PROTOCOLS, "protocol")
        if request.trials < 1:
            raise InputError(f"a table needs at least 1 trial, not {request.trials}")
        folder = request.output / self.name
        networks = list(dict.fromkeys(map(network_of, models)))
        # A seed of every model first: a table that is stopped early is short of trials, not of rows.
        asked = [
            self.cell(dataset, network, seed, request)
            for dataset in datasets
            for seed in range(request.seed, request.seed + request.trials)
            for network in networks
        ]
        run_grid(
            asked, self._worker(request, folder), folder,
            resume=request.resume, progress=request.progress, title=self.name,
        )  # fmt: skip
        rows = [
            row
            for dataset in self.datasets
            for model in TITLES
            for row in self.rows(dataset, model, request, folder)
        ]
        text = "\n".join(markdown(self.table(rows, protocol, request)) for protocol in protocols)
        tex = "\n".join(latex(self.table(rows, protocol, request)) for protocol in protocols)
        files = [request.output / f"{self.name}{ending}" for ending in (".json", ".md", ".tex")]
        write_results(
            files[0], started, experiment=self.name, seed=request.seed, trials=request.trials,
            rows=rows,
        )  # fmt: skip
        write_text(files[1], f"## {self.title}\n\n{text}")
        write_text(files[2], tex)
        return Report(text, rows, files)

    def cell(self, dataset: str, network: str, seed: int, request: Request) -> Cell:
        """The cell of a network on a dataset with a seed."""
        epochs = self.epochs.get(dataset) if request.epochs is None else request.epochs
        arguments = {
            "dataset": dataset,
            "network": network,
            **NETWORKS[network].settings(dataset, self.large, epochs),
            "seed": seed,
        }
        # A quick try with few epochs must not write over hours of work.
        name = f"seed-{seed}" + ("" if request.epochs is None else f"-epochs-{request.epochs}")
        return Cell((dataset.replace(":", "-"), network, name), arguments)

    def _worker(self, request: Request, folder: Path) -> Any:
        from . import node_cell

        def work(arguments: Mapping[str, Any]) -> dict[str, Any]:
            first = self.cell(arguments["dataset"], arguments["network"], request.seed, request)
            known = None if arguments["seed"] == request.seed else finished(first, folder)
            return node_cell.run_cell(
                arguments, request.data_dir, request.hours, request.memory, known
            )

        return work

    def rows(
        self, dataset: str, model: str, request: Request, folder: Path
    ) -> list[dict[str, Any]]:
        """The figures of a model on a dataset, one row a protocol, over the trials there are."""
        seeds = range(request.seed, request.seed + request.trials)
        cells = [self.cell(dataset, network_of(model), seed, request) for seed in seeds]
        results = [found for cell in cells if (found := finished(cell, folder)) is not None]
        if not results:
            return []
        arguments = cells[0].arguments
        mean, std = published(self.name).get((dataset, published_name(model)), (None, None))
        common = {
            "dataset": dataset,
            "model": model,
            "published": mean,
            "published_std": std,
            "hidden": arguments["model"]["hidden_channels"],
            "recipe": arguments["recipe"],
        }
        # A limit may be reached with one seed and not with another.
        done = [result for result in results if _skipped(result, model) is None]
        if not done:
            why = _skipped(results[0], model)
            missing = {"mean": None, "std": None, "trials": 0, "skipped": why}
            return [{**common, "protocol": protocol, **missing} for protocol in PROTOCOLS]
        common["trials"] = len(done)
        return [
            {**common, "protocol": protocol, **_figures(done, model, protocol)}
            for protocol in PROTOCOLS
        ]

    def table(self, rows: list[dict[str, Any]], protocol: str, request: Request) -> Table:
        """The table of one protocol."""
        from ..datasets import describe

        shown = [row for row in rows if row["protocol"] == protocol]
        entries = {
            (model, dataset): Entry(None, None, *figure)
            for dataset in self.datasets
            for model in TITLES
            if (figure := published(self.name).get((dataset, published_name(model))))
        }
        entries |= {
            (row["model"], row["dataset"]): Entry(
                row["mean"], row["std"], row["published"], row["published_std"]
            )
            for row in shown
        }
        stand_ins = {name: describe(name, request.data_dir).stand_in for name in self.datasets}
        return Table(
            f"{self.title}: accuracy in percent, mean ± standard deviation, protocol {protocol}",
            self.datasets,
            TITLES,
            entries,
            stand_ins={name: why for name, why in stand_ins.items() if why},
            notes=[f"Protocol `{protocol}`: {PROTOCOLS[protocol]}.", *self._notes(shown)],
        )

    def _notes(self, rows: list[dict[str, Any]]) -> list[str]:
        trials = sorted({row["trials"] for row in rows if row["mean"] is not None})
        counts = " to ".join(str(count) for count in dict.fromkeys([*trials[:1], *trials[-1:]]))
        notes = [
            f"Over {counts or 'no'} seeds. Every model has width {WIDEST} (the paper: 512 on "
            "CoraFull, BlogCatalog, Flickr and Reddit).",
            "The four forms of IGNN-Solver share one training for each seed; each form is then fitted "
            "to it and solves to a relative residual of 1e-3. The paper has one IGNN-Solver: its "
            "figure stands beside both of ours.",
        ]
        for dataset, title in self.datasets.items():
            here = [row for row in rows if row["dataset"] == dataset]
            tuned = [TITLES[row["model"]] for row in here if _is_tuned(row)]
            if tuned:
                names = "all" if len(tuned) == len(TITLES) else ", ".join(tuned)
                notes.append(f"Tuned on validation, {title}: {names}.")
        gaps = {row["model"]: 0.0 for row in rows if "exact_gap" in row}
        for row in rows:
            if "exact_gap" in row:
                gaps[row["model"]] = max(gaps[row["model"]], row["exact_gap"])
        if gaps:
            each = ", ".join(f"{TITLES[model]} {gap:.1f}" for model, gap in gaps.items())
            notes.append(
                "Largest difference, in points and over all seeds, from the accuracy of the same "
                f"weights solved to 1e-6: {each}."
            )
        seen = dict.fromkeys(
            f"{TITLES[row['model']]} on {self.datasets[row['dataset']]} was not run: {row['skipped']}."
            for row in rows
            if "skipped" in row
        )
        return [*notes, *seen]


def _is_tuned(row: dict[str, Any]) -> bool:
    """Whether a row's recipe was found for its own model."""
    return row["recipe"].startswith("tuned") and not row["recipe"].endswith(", of ignn")


def _skipped(result: dict[str, Any], model: str) -> str | None:
    """Why a model, or a form of ours, has no figures in a trial; ``None`` if it has."""
    why: str | None = result.get("skipped") or result.get("forms", {}).get(model, {}).get("skipped")
    return why


def _figures(results: list[dict[str, Any]], model: str, protocol: str) -> dict[str, Any]:
    """Mean, deviation and costs of a row over its trials."""
    forms = [result["forms"][model] for result in results] if model in FORMS else []
    if protocol == "paper":
        test = [result["best_test"] for result in results]
    else:
        test = [one["test"] for one in forms or results]
    cost = forms or results
    figures = {
        "mean": round(100 * statistics.fmean(test), 2),
        "std": round(100 * statistics.pstdev(test), 2),
        "validation": round(100 * statistics.fmean(r["val"] for r in results), 2),
        "seconds": _mean([r["seconds"] for r in results]),
        "inference_seconds": _mean([one["inference_seconds"] for one in cost], 6),
        "parameters": cost[0]["parameters"],
        "peak_mb": max(result["peak_mb"] for result in results),
        "epochs": _mean([r["epochs"] for r in results], 1),
    }
    if not forms:
        return figures
    gaps = [abs(one["test"] - r["exact"]) for one, r in zip(forms, results, strict=True)]
    return figures | {
        "exact": round(100 * statistics.fmean(r["exact"] for r in results), 2),
        "exact_gap": round(100 * max(gaps), 2),
        "solver_seconds": _mean([one["fit_seconds"] for one in forms]),
        "evals": _mean([one["evals"] for one in forms], 1),
        "converged": all(one["converged"] for one in forms),
        "inference_peak_mb": max(one["peak_mb"] for one in forms),
    }


def _mean(values: list[float], digits: int = 3) -> float:
    return round(statistics.fmean(values), digits)
