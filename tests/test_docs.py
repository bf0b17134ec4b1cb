"""The docs cannot rot: their code runs, their commands parse, their links lead somewhere.

Python blocks of a page run in order in one namespace, in an empty folder, with the numbers of epochs and of
unrolled updates cut: a page shows what a reader should run, and a test needs only to see that it does. A
block that cannot run here says so in its first line: ``# not run in the tests: REASON``.
"""

import re
import shlex
from pathlib import Path

import pytest
import typer

import ignn_solver
from ignn_solver.cli import app
from ignn_solver.datasets import describe
from ignn_solver.pages.fill import outdated

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.M | re.S)
NOT_RUN = re.compile(r"# not run in the tests: \S+")


def blocks(page, *languages):
    return [code for language, code in FENCE.findall(page.read_text()) if language in languages]


def python_blocks(page):
    return [code for code in blocks(page, "python") if not NOT_RUN.match(code)]


def needed_archives(code):
    names = re.findall(r"""load\(["']([\w:-]+)["']""", code)
    return [name for name in names if not name.startswith(("digits", "chains", "blocks"))]


def shortened(code):
    return re.sub(r"\b(epochs|iterations)=\d+", r"\1=2", code)


@pytest.mark.parametrize("page", [p for p in PAGES if python_blocks(p)], ids=lambda p: p.stem)
def test_the_code_runs(page, tmp_path, monkeypatch):
    code = python_blocks(page)
    for name in needed_archives("".join(code)):
        if describe(name).available != "here":
            pytest.skip(f"the archive of {name} is not here: set IGNN_SOLVER_DATA")
    monkeypatch.chdir(tmp_path)
    names = {"__name__": "__main__"}
    for number, block in enumerate(code, 1):
        where = f"{page.name}, Python block {number}"
        exec(compile(shortened(block), where, "exec"), names)


def command_lines(page):
    """What a reader would type: lines of blocks, and code in the text.

    Not what is abbreviated, or only names a command, as in "timed by ``ignn-solver bench``".
    """
    for block in blocks(page, "bash", ""):
        yield from block.splitlines()
    for code in re.findall(r"`([^`\n]+)`", FENCE.sub("", page.read_text())):
        if "..." not in code and len(code.split()) > 2:
            yield code


def parse(words):
    """What the command line does before it runs anything."""
    group = typer.main.get_command(app)
    context = group.make_context("ignn-solver", list(words[:1]), resilient_parsing=True)
    command = group.get_command(context, words[0])
    assert command is not None, f"no such command: {words[0]}"
    command.make_context(words[0], list(words[1:]), parent=context)


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.stem)
def test_the_commands_exist(page):
    targets = re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.M)
    for line in command_lines(page):
        words = shlex.split(line, comments=True) if "'" not in line else line.split()
        if words[:1] == ["ignn-solver"] and len(words) > 1:
            parse(words[1:])
        elif words[:1] == ["make"] and len(words) > 1:
            assert words[1] in targets, line
        elif words[:1] == ["python"] and len(words) > 1:
            assert (ROOT / words[1]).is_file(), line


def test_a_command_that_does_not_parse_is_noticed():
    for words in (["bench"], ["bench", "citeseer", "--speed", "9"], ["boil", "citeseer"]):
        with pytest.raises(Exception, match=r"(?i)missing|no such"):
            parse(words)


@pytest.mark.parametrize("page", [*PAGES, ROOT / "CONTRIBUTING.md"], ids=lambda p: p.stem)
def test_the_links_lead_somewhere(page):
    text = FENCE.sub("", page.read_text())
    for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", text):
        assert target.startswith("https://") or (page.parent / target).exists(), target


def test_every_page_is_in_the_navigation():
    index = (ROOT / "docs" / "index.md").read_text()
    listed = "\n".join(re.findall(r"^```\{toctree\}\n(.*?)^```$", index, re.M | re.S)).split("\n")
    assert {page.stem for page in PAGES[1:]} - {"index"} <= set(listed)


def test_the_worked_example_of_the_certificates_checks_itself():
    (example,) = [
        code for code in blocks(ROOT / "docs" / "certificates.md", "python") if "margins" in code
    ]
    assert example.count("assert") >= 4


def test_the_reference_has_every_public_name():
    shown = re.findall(r"^\.\. auto\w+:: ([\w.]+)", (ROOT / "docs" / "api.md").read_text(), re.M)
    packages = {"datasets", "solvers"}
    assert set(ignn_solver.__all__) - packages <= set(shown)


def test_the_tables_agree_with_the_results():
    stale = [page.name for page in outdated(ROOT)]
    assert stale == [], "run: python benchmarks/tables.py"
