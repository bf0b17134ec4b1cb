"""``ignn-solver bench``: time the solvers against each other and against their peers."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import InputError
from .options import DataDir, Json, Quiet, Seed, TensorBoard, show_table

if TYPE_CHECKING:
    from ..benchmark.measure import Report
    from ..scalars import Scalars

#: On more nodes than this, training the paper's solver takes longer than the benchmark.
_LARGE = 50_000
#: The datasets of ``bench all``.
ALL = ("citeseer", "acm", "blogcatalog", "flickr", "wordnet", "com-amazon", "blocks:arxiv")


def bench(
    dataset: Annotated[str, typer.Argument(help="A name of `ignn-solver datasets`, or `all`.")],
    tol: Annotated[float, typer.Option(help="Relative residual to reach.")] = 1e-3,
    rounds: Annotated[int, typer.Option(help="Rounds; the median counts.", min=1)] = 7,
    solver: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Only these; repeatable.")
    ] = None,
    run: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="A trained run. Default: runs/NAME, trained if missing."),
    ] = None,
    recipe: Annotated[
        str | None,
        typer.Option(help="By which recipe to train: tuned, paper or a TOML file. Default: tuned."),
    ] = None,
    memory: Annotated[
        float | None,
        typer.Option(
            metavar="GIB",
            help="Refuse what needs more than this, even with half-precision histories.",
        ),
    ] = None,
    seed: Seed = 0,
    data_dir: DataDir = None,
    tensorboard: TensorBoard = None,
    json: Json = None,
    quiet: Quiet = False,
) -> None:
    """Solve one trained model with every solver and its peers, interleaved, to the same residual.

    Everything a solver needs at inference is in its time: initializer, mixer, checks. What all share
    (injecting the features, the head) is timed apart. A solver that misses the tolerance gets no row.

    Example: ignn-solver bench citeseer --tol 1e-3 --json citeseer.json
    """
    from ..benchmark.machine import glance
    from ..results import write_results
    from ..scalars import scalars

    if dataset == "all" and run is not None:
        raise InputError("--run names the run of one dataset: name that dataset instead of all")
    names, named = _chosen(solver), solver is not None
    started = time.perf_counter()
    complaint = glance().complaint
    if complaint is not None:
        typer.echo(f"warning: {complaint}", err=True)
    reports: list[Report] = []
    with scalars(tensorboard) as written:
        for one in ALL if dataset == "all" else (dataset,):
            try:
                reports.append(
                    _bench(
                        one,
                        tol,
                        rounds,
                        names,
                        named,
                        run,
                        recipe,
                        memory,
                        seed,
                        data_dir,
                        quiet,
                        written,
                    )
                )
            except InputError as error:
                if dataset != "all":
                    raise
                typer.echo(f"{one} is left out: {error}", err=True)
                continue
            _show(reports[-1])
            if json is not None:
                write_results(json, started, **_content(reports, dataset == "all"))
    if not reports:
        raise InputError("no dataset of `bench all` is here: see `ignn-solver datasets`")


def _chosen(asked: list[str] | None) -> tuple[str, ...]:
    from ..benchmark import peers
    from ..benchmark.contenders import NAMES, PEERS

    unknown = sorted(set(asked or ()) - set(NAMES))
    if unknown:
        raise InputError(f"unknown solver {unknown[0]!r}: choose among {', '.join(NAMES)}")
    if peers.available():
        return tuple(asked or NAMES)
    if set(asked or ()) & set(PEERS):
        raise InputError("torchdeq is not installed: pip install 'ignn-solver[peers]'")
    typer.echo("torchdeq is not installed: its solvers are left out", err=True)
    return tuple(asked or (name for name in NAMES if name not in PEERS))


def _bench(
    dataset: str,
    tol: float,
    rounds: int,
    names: tuple[str, ...],
    named: bool,
    run: Path | None,
    recipe: str | None,
    memory: float | None,
    seed: int,
    data_dir: Path | None,
    quiet: bool,
    written: Scalars,
) -> Report:
    from ..benchmark.contenders import contenders
    from ..benchmark.measure import measure
    from ..benchmark.memory import check
    from ..benchmark.problem import Problem
    from ..benchmark.trained import hidden_channels, trained
    from ..learning.fit import fit_solver
    from ..tasks.checkpoint import read_config
    from .train import dataset_source, load_source

    def say(line: str) -> None:
        if not quiet:
            typer.echo(line, err=True)

    data = load_source(dataset_source(dataset, None, None, None, None, seed), data_dir)
    if not named and data.num_nodes > _LARGE:
        say(
            "learned-paper is left out: training it on so many nodes takes long; name it in --solver"
        )
        names = tuple(name for name in names if name != "learned-paper")
    suffix = "" if recipe is None else f"-{Path(recipe).stem}"
    folder = run or Path("runs") / f"{dataset.replace(':', '-')}-ignn-{seed}{suffix}"
    progress = False if quiet else None
    half: dict[str, float] = {}
    if memory is not None:
        entries = data.edge_index.shape[1] + data.num_nodes
        hidden = hidden_channels(dataset, folder, recipe)
        half = check(data.num_nodes, entries, hidden, names, memory)
    model = trained(dataset, data, folder, seed, progress=progress, say=say, recipe=recipe)
    for name, needed in half.items():
        say(
            f"{name} keeps its history in half precision: with a full one it needs about {needed:.1f} GiB, "
            f"but --memory allows {memory:g}"
        )
    wanted = {"learned" if name == "learned-certified" else name for name in names}
    learned: dict[str, Any] = {}
    for preset in sorted(name for name in wanted if name.startswith("learned")):
        options: dict[str, Any] = {"history": "half"} if preset in half else {}
        learned[preset] = fit_solver(model, data, preset, seed=seed, progress=progress, **options)
        say(f"{preset}: fitted in {learned[preset].details['seconds']:.1f} s")
    problem = Problem(dataset, model, data, tol)

    def after_round(number: int, times: dict[str, float]) -> None:
        written.add(number, {f"{dataset} ms/{name}": ms for name, ms in times.items()})

    entered = contenders(problem, names, learned, tuple(half))
    report = measure(problem, entered, rounds, say, after_round)
    report.header["half_history"] = list(half)
    report.header["recipe"] = read_config(folder).get("recipe", "")
    for row in report.rows:
        for kind in ("evals", "residual", "accuracy", "certified"):
            written.add(0, {f"{dataset} {kind}/{row['solver']}": row[kind]})
    report.header |= {
        f"fit_seconds_{name}": fitted.details["seconds"] for name, fitted in learned.items()
    }
    return report


def _show(report: Report) -> None:
    head = report.header
    show_table(
        f"{head['dataset']}{'*' if head['stand_in'] else ''}: {head['nodes']:,} nodes, "
        f"{head['edges']:,} edges, hidden {head['hidden']}, kappa {head['kappa']:g}, residual "
        f"{head['tol']:g}, {head['threads']} threads",
        ["solver", "ms", "evals", "residual", "error", "accuracy", "certified", "MB", "x picard",
         "x published", "ms to accuracy"],
        [
            [
                row["solver"], f"{row['ms']:.2f}", row["evals"], f"{row['residual']:.1e}",
                f"{row['error']:.1e}", _or_dash(row["accuracy"], ".4f"), f"{row['certified']:.3f}",
                f"{row['peak_mb']:.1f}", _or_dash(row["speedup_vs_picard"], ".2f"),
                _or_dash(row["speedup_vs_published"], ".2f"), _or_dash(row["ms_to_accuracy"], ".2f"),
            ]
            for row in report.rows
        ],
    )  # fmt: skip
    typer.echo(
        f"one evaluation {head['eval_ms']:.2f} ms (composed in torch {head['torch_eval_ms']:.2f} ms); "
        f"not counted above, as common to all: features {head['bias_ms']:.2f} ms, head "
        f"{head['head_ms']:.2f} ms; a two-layer GCN {head['gcn_ms']:.2f} ms"
    )
    for miss in report.misses:
        typer.echo(miss)
    if report.complaint is not None:
        typer.echo(f"warning: {report.complaint}", err=True)


def _or_dash(value: float | None, form: str) -> str:
    return "-" if value is None else format(value, form)


def _content(reports: list[Report], many: bool) -> dict[str, Any]:
    """One dataset: its header, rows and misses; several: all rows, each with its dataset."""
    if not many:
        return {**reports[0].header, "rows": reports[0].rows, "misses": reports[0].misses}
    return {
        "datasets": [{**report.header, "misses": report.misses} for report in reports],
        "rows": [
            {"dataset": report.header["dataset"], **row}
            for report in reports
            for row in report.rows
        ],
    }
