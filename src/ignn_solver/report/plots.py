"""Interactive plots: from charts and rows to what plotly draws in the browser."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from math import ceil, floor, log10
from statistics import mean
from typing import Any

from .charts import CHARTS, Chart
from .reading import Results, Row, is_number, of_kind

#: The same name has the same colour in every plot: its place in the page's palette.
_INKS = {
    "learned": 0, "ignn-solver": 0, "ours": 0, "local update": 0, "gn": 0,
    "picard": 1, "ignn": 1, "classical": 1, "torch's composition": 1,
    "anderson": 2, "learned-aa": 2, "ignn-solver-aa": 2, "aa": 2, "torchdeq": 2,
    "learned-paper": 3, "broyden": 4, "ignn-published": 6, "published": 6,
    "learned-nn": 4, "ignn-solver-nn": 4, "nn": 4, "sweep": 5,
}  # fmt: skip
_COLOURS = 8
#: A curve of more points is drawn without marks.
_MOST_MARKERS = 40
_SYMBOLS = ("circle", "square", "triangle-up", "diamond", "triangle-down", "cross", "x", "star")


@dataclass(frozen=True)
class Panel:
    """One picture: the traces and the layout that plotly takes, without colours."""

    label: str
    data: list[dict[str, Any]]
    layout: dict[str, Any]


@dataclass(frozen=True)
class Plot:
    """A chart with its data.

    Attributes:
        name: Its id in the page.
        group: The heading it stands under.
        title: Its heading.
        caption: How to read it.
        source: The results file it is drawn from.
        panels: What can be shown, one at a time.
    """

    name: str
    group: str
    title: str
    caption: str
    source: str
    panels: list[Panel]


def plots(files: list[Results]) -> list[Plot]:
    """Every chart that the files have numbers for."""
    made = []
    for number, chart in enumerate(CHARTS):
        sources = [file for file in of_kind(files, chart.kind) if chart.prepare(file)]
        panels: dict[str, Panel] = {}
        for file in reversed(sources):
            panels |= {panel.label: panel for panel in _panels(chart, chart.prepare(file))}
        if panels:
            names = ", ".join(file.source for file in sources)
            heads = (f"plot-{number}", chart.group, chart.title, chart.caption)
            made.append(Plot(*heads, names, list(panels.values())))
    return made


def _panels(chart: Chart, rows: list[Row]) -> list[Panel]:
    labels = list(dict.fromkeys(_text(row.get(chart.panel, "")) for row in rows))
    found = []
    for label in labels:
        some = [row for row in rows if _text(row.get(chart.panel, "")) == label]
        data = _traces(chart, some)
        if data:
            across = label if chart.panel == "axis" else chart.labels[0]
            found.append(Panel(label, data, _layout(chart, across, data)))
    return found


def _text(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _traces(chart: Chart, rows: list[Row]) -> list[dict[str, Any]]:
    names = list(dict.fromkeys(_text(row.get(chart.series)) for row in rows))
    inks = _inks(names)
    traces = []
    for name in names:
        points = _points(chart, [r for r in rows if _text(r.get(chart.series)) == name])
        if not points:
            continue
        trace: dict[str, Any] = {
            # Plotly reads markup in names and labels.
            "name": escape(name, quote=False),
            "x": [escape(x, quote=False) if isinstance(x, str) else x for x, _, _ in points],
            "y": [y for _, y, _ in points],
            "meta": {"ink": inks[name]},
            "type": "bar" if chart.bars else "scatter",
        }
        if chart.bars and chart.log:
            # A bar has no length on a logarithmic axis: a mark has a place.
            trace |= {"type": "scatter", "mode": "markers"}
        elif not chart.bars:
            trace["mode"] = "lines+markers" if len(points) <= _MOST_MARKERS else "lines"
        if trace["type"] == "scatter":
            trace["marker"] = {"symbol": _SYMBOLS[inks[name] % len(_SYMBOLS)]}
        if any(deviation for _, _, deviation in points):
            trace["error_y"] = {"type": "data", "array": [d for _, _, d in points], "thickness": 1}
        traces.append(trace)
    if chart.lying:
        for trace in traces:
            trace |= {"x": trace["y"], "y": trace["x"], "orientation": "h"}
    return traces


def _points(chart: Chart, rows: list[Row]) -> list[tuple[Any, float, float]]:
    """The points of a curve, those at the same place averaged; what has no place is left out."""
    places: dict[Any, list[Row]] = {}
    for row in rows:
        x, y = row.get(chart.x), row.get(chart.y)
        across = (chart.bars and isinstance(x, str)) or is_number(x)
        if not across or not is_number(y):
            continue
        if ("y" in chart.log and y <= 0) or ("x" in chart.log and is_number(x) and x <= 0):
            continue
        places.setdefault(x, []).append(row)
    order = list(places) if chart.bars else sorted(places)
    points = []
    for x in order:
        values = [row[chart.y] for row in places[x]]
        errors = [row[chart.error] for row in places[x] if is_number(row.get(chart.error))]
        error = mean(errors) if chart.error and errors else 0.0
        points.append((x, _short(chart.scale * mean(values)), _short(chart.scale * error)))
    return points


def _short(value: float) -> float:
    """Six digits are more than anybody sees, and a third of the bytes."""
    return float(f"{value:.6g}")


def _inks(names: list[str]) -> dict[str, int]:
    """A colour for each name: known names keep theirs, the others take what is free."""
    inks: dict[str, int] = {}
    for name in names:
        known = _INKS.get(name.lower())
        if known is not None and known not in inks.values():
            inks[name] = known
    free = [ink for ink in range(_COLOURS) if ink not in inks.values()]
    for number, name in enumerate(name for name in names if name not in inks):
        inks[name] = free[number % len(free)] if free else number % _COLOURS
    return inks


def _layout(chart: Chart, across: str, data: list[dict[str, Any]]) -> dict[str, Any]:
    layout: dict[str, Any] = {
        "xaxis": {"title": {"text": escape(across, quote=False)}},
        "yaxis": {"title": {"text": escape(chart.labels[1], quote=False)}},
    }
    for axis in chart.log:
        # Bars have names across, not numbers.
        if not (axis == "x" and chart.bars):
            layout[f"{axis}axis"] |= {"type": "log", "exponentformat": "power"}
            values = [value for trace in data for value in trace[axis]]
            low, high = log10(min(values)), log10(max(values))
            if axis == "y" and chart.highest and high > log10(chart.highest):
                high = log10(chart.highest)
                layout["yaxis"]["range"] = [low, high]
            layout[f"{axis}axis"] |= _log_ticks(low, high)
    if chart.lying:
        layout["xaxis"], layout["yaxis"] = layout["yaxis"], layout["xaxis"]
        # Each name has one bar, of whatever series: the longest lies at the bottom.
        layout["yaxis"]["categoryorder"] = "total descending"
        layout["barmode"] = "stack"
    if chart.bars:
        layout["yaxis" if chart.lying else "xaxis"] |= {"type": "category", "automargin": True}
        layout["bargap"] = 0.3
    if chart.falling:
        layout["xaxis"]["autorange"] = "reversed"
    return layout


def _log_ticks(low: float, high: float) -> dict[str, Any]:
    """Where a logarithmic axis from ``10 ** low`` to ``10 ** high`` has numbers: about six of them."""
    if high - low > 2:
        return {"dtick": ceil((high - low) / 6)}
    steps = (1, 2, 5) if high - low > 0.7 else (1, 1.5, 2, 3, 4, 5, 7)
    values = [step * 10.0**power for power in range(floor(low), ceil(high) + 1) for step in steps]
    return {"tickvals": values, "ticktext": [f"{value:g}" for value in values]}
