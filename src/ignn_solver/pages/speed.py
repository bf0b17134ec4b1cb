"""Tables of ``ignn-solver bench``: time to the same residual, ours against everyone's."""

from __future__ import annotations

from ..benchmark.contenders import NAMES, PEERS, PUBLISHED
from ..names import CLASSICAL
from .table import MARK, Row, Rows, markdown, ordered, shown, where


def speedups(content: Row) -> str:
    """For each dataset the learned solver's time, and how many times less it is than its rivals'."""
    body = []
    for dataset, rows in by_dataset(content).items():
        times = {row["solver"]: row["ms"] for row in rows}
        if "learned" not in times:
            continue
        (learned,) = where(rows, solver="learned")
        line = [_title(content, dataset), f"{learned['ms']:.2f}", f"{learned['evals']}"]
        for rivals in (CLASSICAL, PEERS, (PUBLISHED,)):
            line.append(_against(times, rivals))
        body.append([*line, f"{learned['certified']:.1%}"])
    header = ["dataset", "learned, ms", "evaluations", "speed-up: fastest classical"]
    return markdown([*header, "torchdeq's best", "IGNN as published", "certified"], body)


def _against(times: dict[str, float], rivals: tuple[str, ...]) -> str:
    """How many times faster than the fastest of these, which is named when there are several."""
    met = {name: times[name] for name in rivals if name in times}
    if not met:
        return "-"
    fastest = min(met, key=lambda name: met[name])
    ratio = f"{met[fastest] / times['learned']:.2f}"
    return ratio if len(rivals) == 1 else f"{ratio} ({fastest.removeprefix('torchdeq-')})"


def times(content: Row) -> str:
    """Milliseconds and evaluations of everyone; the fastest to the tolerance in bold."""
    grouped = by_dataset(content)
    solvers = [name for name in NAMES if any(where(rows, solver=name) for rows in grouped.values())]
    fastest = {dataset: min(row["ms"] for row in rows) for dataset, rows in grouped.items()}
    body = []
    for name in solvers:
        line = [name]
        for dataset, rows in grouped.items():
            found = where(rows, solver=name)
            text = f"{found[0]['ms']:.2f} ({found[0]['evals']})" if found else "-"
            if not found and _missed(content, dataset, name):
                text = "missed"
            best = found and found[0]["ms"] == fastest[dataset]
            line.append(f"**{text}**" if best else text)
        body.append(line)
    return markdown(["ms (evaluations)", *(_title(content, name) for name in grouped)], body)


def certified(content: Row) -> str:
    """Stopping at a proof against stopping at a residual: time, evaluations, what is proven."""
    body = []
    for dataset, rows in by_dataset(content).items():
        for name in ("learned", "learned-certified"):
            for row in where(rows, solver=name):
                figures = [f"{row['ms']:.2f}", f"{row['evals']}", f"{row['certified']:.1%}"]
                accuracy = shown(row.get("accuracy"), ".2%")
                body.append([_title(content, dataset), name, *figures, accuracy])
    return markdown(["dataset", "solver", "ms", "evaluations", "certified", "accuracy"], body)


def joined(contents: Rows) -> Row:
    """Several files as one; of a model that stands in more than one, what was measured last."""
    heads: dict[str, Row] = {}
    rows: dict[str, Rows] = {}
    for content in sorted(contents, key=lambda one: str(one.get("created", ""))):
        for dataset, found in by_dataset(content).items():
            (head,) = where(content.get("datasets", [content]), dataset=dataset)
            name = _of_recipe(head)
            heads[name] = {**head, "dataset": name}
            rows[name] = [{**row, "dataset": name} for row in found]
    return {
        "datasets": list(heads.values()),
        "rows": [row for some in rows.values() for row in some],
    }


def _of_recipe(head: Row) -> str:
    """The dataset, and whether its model was trained by the paper's recipe and not by ours."""
    papers = str(head.get("recipe", "")).startswith("paper")
    return f"{head['dataset']}, paper's recipe" if papers else str(head["dataset"])


def by_dataset(content: Row) -> dict[str, Rows]:
    """The rows of each dataset; a file of one dataset names it at its top."""
    rows = content["rows"]
    if "datasets" not in content:
        return {content["dataset"]: rows}
    return {dataset: where(rows, dataset=dataset) for dataset in ordered(rows, "dataset")}


def _missed(content: Row, dataset: str, solver: str) -> bool:
    heads = where(content.get("datasets", [content]), dataset=dataset)
    return any(miss.startswith(f"{solver} ") for head in heads for miss in head.get("misses", ()))


def _title(content: Row, dataset: str) -> str:
    heads = content.get("datasets", [content])
    return dataset + "".join(MARK for head in where(heads, dataset=dataset) if head["stand_in"])
