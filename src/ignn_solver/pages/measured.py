"""Tables of the benchmarks of parts, and of two figures."""

from __future__ import annotations

from .findings import PARETO_TOLERANCE, arrival
from .table import Row, averaged, markdown, ordered, shown, titled, where


def loop_overhead(content: Row) -> str:
    """A whole solve against as many bare evaluations composed in torch."""
    header = ["nodes", "width", "evaluations", "solve, ms", "as many bare evaluations, ms", "ratio"]
    bare = content["evals"] * content["bare_ms"]
    figures = [f"{content['nodes']:,}", f"{content['hidden']}", f"{content['evals']}"]
    figures += [f"{content['solve_ms']:.0f}", f"{bare:.0f}", f"{content['ratio']:.2f}"]
    return markdown(header, [figures])


def local_update(content: Row) -> str:
    """An update after a change against solving again, from zero and from the old states."""
    header = [f"change, {content['nodes']:,} nodes", "nodes moved", "update, ms"]
    header += ["faster than solving again", "than a warm start"]
    body = [
        [
            row["change"],
            f"{row['moved_nodes']}",
            f"{row['update_ms']:.0f}",
            f"{row['times_faster_than_zero']:.0f}",
            f"{row['times_faster_than_warm']:.0f}",
        ]
        for row in content["rows"]
    ]
    return markdown(header, body)


def certificate_search(content: Row) -> str:
    """How hard the certificate was tried to be refuted."""
    total = content["total"]
    header = ["random problems", "proven classes", "wrong", "bounds below the error"]
    header.append("bound over error, median")
    figures = [
        f"{total[name]:,}"
        for name in ("cases", "certified", "certified_wrongly", "bounds_below_error")
    ]
    return markdown(header, [[*figures, f"{total['median_bound_over_error']:.1f}"]])


def certificate(content: Row) -> str:
    """The share of the classes proven at each residual, and how loose the bound is."""
    rows = where(content["rows"], rounding="a priori")
    body = [
        [
            titled(row["dataset"]),
            f"{row['tol']:g}",
            f"{row['evals']}",
            f"{row['certified']:.1%}",
            f"{row['certified_wrongly']}",
            f"{row['tightness_median']:.1f}",
        ]
        for row in rows
    ]
    header = ["dataset", "residual", "evaluations", "proven", "wrongly", "bound over error, median"]
    return markdown(header, body)


def proven_stop(content: Row) -> str:
    """What stopping at a proof saves, and what looking for it costs."""
    body = [
        [
            titled(row["dataset"]),
            f"{row['reached']:.1%}",
            f"{row['evals']}",
            f"{row['evals_at_1e-4']}",
            f"{row['checking_over_solve']:.1%}",
            f"{row['first_checking_over_solve']:.1%}",
        ]
        for row in content["stopping"]
    ]
    checks = ["checks, share of the solve", "the first time"]
    header = ["dataset", "proven", "evaluations", "to residual 1e-4", *checks]
    return markdown(header, body)


def scaling(content: Row) -> str:
    """The power of the size with which time and memory grow."""
    fits = content["fits"]
    body = []
    for axis in ordered(fits, "axis"):
        for solver in ordered(fits, "solver"):
            powers = [
                averaged(fits, "exponent", axis=axis, solver=solver, what=what)
                for what in ("ms_an_evaluation", "peak_mb")
            ]
            body.append([axis, solver, *(shown(power, ".2f") for power in powers)])
    return markdown(["growing", "solver", "power of the time", "power of the memory"], body)


def roofline(content: Row) -> str:
    """One evaluation against what the machine allows, and against torch's own operations."""
    body = [
        [
            titled(row["dataset"]),
            f"{row['eval_ms']:.2f}",
            f"{row['roofline_once_ms']:.2f} to {row['roofline_cold_ms']:.2f}",
            f"{row['torch_ms']:.2f}",
        ]
        for row in content["rows"]
    ]
    return markdown(["ms an evaluation", "ours", "the machine's limit", "torch's"], body)


def pareto(content: Row) -> str:
    """What each variant has when it first is at the residual that times are compared at."""
    rows = content["rows"]
    body = []
    for dataset in ordered(rows, "dataset"):
        for variant in ordered(where(rows, dataset=dataset), "variant"):
            row = arrival(where(rows, dataset=dataset, variant=variant))
            figures = ["not reached", "", "", ""]
            if row is not None:
                figures = [f"{row['ms']:.2f}", f"{row['evals']}"]
                figures += [shown(row[name], ".1%") for name in ("accuracy", "certified")]
            body.append([titled(dataset), variant, *figures])
    header = ["dataset", "variant", f"ms to {PARETO_TOLERANCE:g}", "evaluations", "accuracy"]
    return markdown([*header, "certified"], body)


def overhead(content: Row) -> str:
    """What a learned solver costs beside its model."""
    body = [
        [
            titled(row["dataset"]),
            row["preset"],
            f"{row['model_seconds']:.1f}",
            f"{row['solver_seconds']:.1f}",
            f"{row['share_seconds']:.1%}",
            f"{row['share_parameters']:.1%}",
        ]
        for row in content["rows"]
    ]
    header = ["dataset", "solver", "training the model, s", "the solver, s", "share of the time"]
    return markdown([*header, "share of the parameters"], body)
