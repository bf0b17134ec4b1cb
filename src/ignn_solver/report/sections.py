"""The sections of the page, top to bottom."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import Any

from .cells import NONE, StandIns, badge, cell, shown, table
from .headline import Measured, Tile, benchmarks, headline, warnings
from .plots import Plot
from .reading import COMMANDS, Results, missing
from .tables import tables


@dataclass(frozen=True)
class Section:
    """A part of the page: its id, its name in the navigation, its HTML."""

    name: str
    link: str
    html: str


def headline_section(files: list[Results], stand_ins: StandIns) -> Section:
    """What to take away."""
    notes = [f'<p class="note warn">{escape(line)}.</p>' for line in warnings(benchmarks(files))]
    notes += [
        f'<p class="note">{escape(name)} {badge(why)} {escape(why)}.</p>'
        for name, why in stand_ins.items()
    ]
    html = f"""<section id="headline">
<p class="eyebrow">Measured results</p>
<h1>Implicit graph networks, solved fast and proven</h1>
<p class="lead">A node's state is the fixed point of <code>Z = relu(A Z W + b)</code>. A solver learned for one
model on one graph reaches it in a few evaluations, and a certificate says for which nodes the class is already
proven.</p>
<div class="tiles">{"".join(map(_tile, headline(files)))}</div>
{_by_dataset(benchmarks(files), stand_ins)}
{"".join(notes)}
</section>"""
    return Section("headline", "Headline", html)


def _tile(tile: Tile) -> str:
    empty = "" if tile.figure else " none"
    return (
        f'<div class="tile"><span class="figure{empty}">{escape(tile.figure or NONE)}</span>'
        f'<span class="label">{escape(tile.label)}</span>'
        f'<span class="detail">{escape(tile.detail)}</span></div>'
    )


def _by_dataset(measured: list[Measured], stand_ins: StandIns) -> str:
    """The headline's figures for each dataset, where there are several."""
    if len(measured) < 2:
        return ""
    columns = ("dataset", "fastest rival", "× rival", "× published loop", "certified")
    rows = [
        [
            cell(column, value, stand_ins)
            for column, value in zip(columns, one.summary(), strict=True)
        ]
        for one in measured
    ]
    return table(columns, rows, f"The learned solver at relative residual {measured[0].tol:g}")


def graph_section(graph: dict[str, Any] | None, stand_ins: StandIns) -> Section | None:
    """The nodes of one dataset while the residual falls."""
    if graph is None:
        return None
    name = str(graph["dataset"])
    part = "" if graph["nodes"] == graph["all_nodes"] else f" of {shown(graph['all_nodes'])}"
    mark = f" {badge(stand_ins[name])}" if name in stand_ins else ""
    low, high = (f"10<sup>{level:.0f}</sup>" for level in graph["levels"])
    last = len(next(iter(graph["frames"].values()))) - 1
    html = f"""<section id="graph">
<h2>Watch it converge</h2>
<p class="lead">{escape(name)}{mark}: {shown(graph["nodes"])}{part} nodes. Each evaluation of f brings every node
closer to its equilibrium. A node grows a ring when its class is proven: nothing that follows can change it.</p>
<figure class="card graph">
{_choice("solver", list(graph["frames"]), values=list(graph["frames"]))}
<canvas role="img" aria-label="The graph of {escape(name)}, nodes coloured by residual"></canvas>
<div class="controls"><button type="button" class="play">Play</button>
<input type="range" min="0" max="{last}" value="0" step="1" aria-label="Evaluations of f"></div>
<p class="state" aria-live="polite"></p>
<div class="scale"><span><span>residual {low}</span><i></i><span>{high}</span></span>
<span><b></b>not proven</span><span><b class="proven"></b>certified</span></div>
<span class="source pointed"></span>
<span class="source">{escape(graph["file"])}.json</span>
</figure></section>"""
    return Section("graph", "Graph", html)


def plots_section(drawn: list[Plot]) -> Section | None:
    """The interactive plots, under their headings."""
    if not drawn:
        return None
    groups = []
    for group in dict.fromkeys(plot.group for plot in drawn):
        cards = "\n".join(_plot(plot) for plot in drawn if plot.group == group)
        groups.append(f'<h3 class="group">{escape(group)}</h3><div class="cards">{cards}</div>')
    return Section(
        "plots",
        "Plots",
        f"""<section id="plots"><h2>Plots</h2>
<p class="lead">Point at a curve for its numbers; click a name to hide it, twice to see it alone.</p>
{"".join(groups)}</section>""",
    )


def _plot(plot: Plot) -> str:
    several = _choice(plot.name, [panel.label for panel in plot.panels])
    about = escape(f"{plot.title}. {plot.caption}", quote=True)
    return f"""<figure class="card"><h4>{escape(plot.title)}</h4>
<figcaption>{escape(plot.caption)}</figcaption>
{several if len(plot.panels) > 1 else ""}
<div class="plot" role="img" aria-label="{about}" data-plot="{plot.name}"></div>
<span class="source">{_one_panel(plot)}{escape(plot.source)}</span></figure>"""


def _one_panel(plot: Plot) -> str:
    label = plot.panels[0].label if len(plot.panels) == 1 else ""
    return f"{escape(label)} · " if label else ""


def _choice(name: str, labels: list[str], values: list[str] | None = None) -> str:
    """Buttons of which one is chosen; by default each stands for its place."""
    marks = values or [str(i) for i in range(len(labels))]
    options = "".join(
        f'<label><input type="radio" name="{escape(name, quote=True)}" '
        f'value="{escape(mark, quote=True)}"{" checked" if i == 0 else ""}>'
        f"<span>{escape(label)}</span></label>"
        for i, (label, mark) in enumerate(zip(labels, marks, strict=True))
    )
    return f'<fieldset class="choice"><legend>{escape(name)}</legend>{options}</fieldset>'


def tables_section(files: list[Results], stand_ins: StandIns) -> Section:
    """Every results file as tables: what was published first, then the known ones, then the rest."""
    order = ["table1", "table2", "table3", *COMMANDS]
    ranked = sorted(
        files,
        key=lambda file: (order.index(file.kind) if file.kind in order else len(order), file.name),
    )
    cards, folded = [], []
    for one in (made for file in ranked for made in tables(file, stand_ins)):
        body = f'{one.html}<span class="source">{escape(one.source)}</span>'
        if one.folded:
            folded.append(f"<details><summary>{escape(one.title)}</summary>{body}</details>")
        else:
            cards.append(f'<div class="card"><h3>{escape(one.title)}</h3>{body}</div>')
    if folded:
        cards.append(
            f'<div class="card"><h3>The numbers behind the plots</h3>{"".join(folded)}</div>'
        )
    return Section(
        "tables",
        "Tables",
        f"""<section id="tables"><h2>Tables</h2>
<p class="lead">Click a heading to sort. Figures marked “published” are the paper's own; all others were measured
here.</p>{"".join(cards)}</section>""",
    )


def sources_section(files: list[Results]) -> Section:
    """Where every number comes from, and what has not been measured."""
    listed = "".join(map(_source, files))
    absent = missing(files)
    todo = ""
    if absent:
        items = "".join(
            f"<li>{escape(kind)}: <code>{escape(command)}</code></li>"
            for kind, command in absent.items()
        )
        todo = (
            '<h3>Not measured yet</h3><p class="about">This page leaves out what has no results; these '
            f'commands make them.</p><ul class="todo">{items}</ul>'
        )
    return Section(
        "sources",
        "Sources",
        f"""<section id="sources"><h2>Where the numbers come from</h2>
<p class="lead">The command, the machine and the versions behind each results file.</p>
<div class="card">{listed}</div>
{f'<div class="card">{todo}</div>' if todo else ""}</section>""",
    )


def _source(file: Results) -> str:
    content = file.content
    about = {
        "command": content.get("command"),
        "measured": content.get("created"),
        "wall seconds": content.get("wall_seconds"),
    }
    environment = content.get("environment")
    if isinstance(environment, dict):
        versions = environment.get("versions")
        for key, value in environment.items():
            about[str(key)] = value if key != "versions" else None
        if isinstance(versions, dict):
            about["versions"] = ", ".join(f"{name} {v}" for name, v in versions.items())
    lines = "".join(
        f"<dt>{escape(key)}</dt><dd>{_code(key, value)}</dd>"
        for key, value in about.items()
        if value is not None
    )
    return f"<details><summary>{escape(file.name)}.json</summary><dl>{lines}</dl></details>"


def _code(key: str, value: Any) -> str:
    return f"<code>{escape(shown(value))}</code>" if key == "command" else escape(shown(value))
