"""Write the measured tables into the README and the docs, from the JSON files under ``results/``.

A table stands between ``<!-- table NAME -->`` and ``<!-- end -->``; what has not been measured is
named, with the command that measures it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from ..errors import InputError
from ..files import read_json, write_text
from . import accuracy, curves, graphs, learned, measured, paper, speed
from .findings import Finding
from .table import Row, Rows

_BLOCK = re.compile(r"<!-- table (\S+) -->\n.*?<!-- end -->", re.S)
#: Cores that other processes may use before a reader must hear of it.
_BUSY = 0.25


@dataclass(frozen=True)
class Block:
    """A generated part of a page.

    Attributes:
        file: Name of the results file, without its ending.
        make: From the content of the file to Markdown.
        command: What measures it.
        pictures: Whether to show the pictures that lie beside the file.
        joins: Makes one content of it and of the files whose names begin with its own, if these count too.
    """

    file: str
    make: Callable[[Row], str]
    command: str
    pictures: bool = False
    joins: Callable[[Rows], Row] | None = None


def _learned(part: str, make: Callable[[Row], str]) -> Block:
    return Block(f"learned-solver-{part}", make, f"python benchmarks/learned_solver.py {part}")


def _script(
    name: str, make: Callable[[Row], str], arguments: str = "", pictures: bool = False
) -> Block:
    command = f"python benchmarks/{name}.py{arguments}"
    return Block(name.replace("_", "-"), make, command, pictures)


def _bench(make: Callable[[Row], str]) -> Block:
    command = "ignn-solver bench all --json results/bench.json"
    return Block("bench", make, command, joins=speed.joined)


def _reproduce(name: str, make: Callable[[Row], str]) -> Block:
    return Block(name, make, f"ignn-solver reproduce {name}")


def _figure(name: str, make: Callable[[Row], str]) -> Block:
    return Block(f"figure-{name}", make, f"ignn-solver reproduce figure-{name}", pictures=True)


def _said(judge: Callable[[Rows], Finding]) -> Callable[[Row], str]:
    return lambda content: judge(content["rows"]).sentence


BLOCKS: dict[str, Block] = {
    "evaluations-1e-2": _learned("evaluations", partial(learned.evaluations, tol=1e-2)),
    "evaluations-1e-3": _learned("evaluations", partial(learned.evaluations, tol=1e-3)),
    "evaluations-1e-4": _learned("evaluations", partial(learned.evaluations, tol=1e-4)),
    "transfer": _learned("transfer", learned.transfer),
    "cost": _learned("cost", learned.cost),
    "fit-memory": _learned("memory", learned.memory),
    "ablation": _learned("ablation", learned.ablation),
    "alternating": _learned("alternating", learned.alternating),
    "speedups": _bench(speed.speedups),
    "times": _bench(speed.times),
    "certified-stop": _bench(speed.certified),
    "table1": _reproduce("table1", partial(accuracy.table, protocol="validation")),
    "table1-paper": _reproduce("table1", partial(accuracy.table, protocol="paper")),
    "table2": _reproduce("table2", partial(accuracy.table, protocol="validation")),
    "table2-paper": _reproduce("table2", partial(accuracy.table, protocol="paper")),
    "table3": _reproduce("table3", partial(accuracy.table, protocol="nested")),
    "table3-paper": _reproduce("table3", partial(accuracy.table, protocol="ignn")),
    "table3-protocols": _reproduce("table3", graphs.protocols),
    "table3-unseen": _reproduce("table3", graphs.unseen),
    "nci1-inference": _script("nci1_inference", graphs.inference),
    "pareto": _figure("pareto", measured.pareto),
    "overhead": _figure("overhead", measured.overhead),
    "convergence": _figure("convergence", _said(curves.convergence)),
    "mixers": _figure("mixers", _said(curves.mixers)),
    "parts": _figure("ablation", _said(curves.ablation)),
    "dynamics": _figure("dynamics", _said(curves.dynamics)),
    "chains": _figure("chains", accuracy.chains),
    "loop-overhead": _script("loop_overhead", measured.loop_overhead),
    "local-update": _script("local_update", measured.local_update),
    "certificate": _script("certificate", measured.certificate, " citeseer blogcatalog"),
    "proven-stop": _script("certificate", measured.proven_stop, " citeseer blogcatalog"),
    "certificate-search": _script("certificate_search", measured.certificate_search),
    "scaling": _script("scaling", measured.scaling, pictures=True),
    "roofline": _script("roofline", measured.roofline),
}
#: The one table that reads many files.
PAPER = "paper"


def filled(text: str, results: Path, link: str) -> str:
    """The text of a page with its tables made anew.

    Args:
        text: The page.
        results: Folder of the results files.
        link: The same folder as seen from the page.

    Raises:
        InputError: For a table that nobody makes.
    """

    def replaced(match: re.Match[str]) -> str:
        name = match[1]
        if name != PAPER and name not in BLOCKS:
            known = ", ".join([PAPER, *BLOCKS])
            raise InputError(f"no table {name!r}: choose among {known}")
        made = paper.statements(results) if name == PAPER else rendered(BLOCKS[name], results, link)
        return f"<!-- table {name} -->\n{made}\n\n<!-- end -->"

    return _BLOCK.sub(replaced, text)


def rendered(block: Block, results: Path, link: str) -> str:
    """The Markdown of a block: its table and where that comes from, or how to measure it."""
    path = results / f"{block.file}.json"
    if not path.exists():
        return f"Not measured yet: `{block.command}`."
    content = read_json(path, "results")
    threads = content["environment"]["threads"]
    quick = ", quick settings" if content.get("quick") else ""
    source = _source(path, content, link)
    if block.joins:
        others = {one: read_json(one, "results") for one in results.glob(f"{block.file}-*.json")}
        source = "; ".join([source, *(_source(one, others[one], link) for one in sorted(others))])
        content = block.joins([content, *others.values()])
    footer = f"From {source}{quick}; {_counted(threads, 'thread')}.{_busy(content)}"
    shown = sorted(results.glob(f"{block.file}*.png")) if block.pictures else []
    pictures = [f"![{one.stem}]({link}/{one.name})" for one in shown]
    return "\n\n".join([*pictures, block.make(content), footer])


def _source(path: Path, content: Row, link: str) -> str:
    command = content["command"].replace("__main__.py", "ignn-solver")
    return f"[{path.name}]({link}/{path.name}), made by `{command}`"


def _busy(content: Row) -> str:
    heads = [content, *content.get("datasets", ()), *content.get("rows", ())]
    most = max((head.get("others_cores") or 0.0 for head in heads), default=0.0)
    return f" Other processes used up to {most:.1f} cores meanwhile." if most > _BUSY else ""


def _counted(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


def pages(root: Path) -> list[Path]:
    """The pages of a checkout that may hold tables."""
    return [root / "README.md", *sorted((root / "docs").glob("*.md"))]


def outdated(root: Path) -> dict[Path, str]:
    """The pages of a checkout that disagree with its results, and what they should say."""
    found = {}
    for page in pages(root):
        text = page.read_text(encoding="utf-8")
        link = Path(os.path.relpath(root / "results", page.parent)).as_posix()
        fresh = filled(text, root / "results", link)
        if fresh != text:
            found[page] = fresh
    return found


def refresh(root: Path) -> list[Path]:
    """Bring the pages of a checkout up to date: the ones that changed."""
    changed = outdated(root)
    for page, text in changed.items():
        write_text(page, text)
    return list(changed)
