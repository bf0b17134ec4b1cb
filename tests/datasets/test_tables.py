"""A user's tables: CSV and Parquet."""

import sys
from pathlib import Path

import pyarrow
import pyarrow.parquet
import pytest

from ignn_solver.datasets.tables import read_own_table
from ignn_solver.errors import InputError


def test_csv_and_tsv_are_read_alike(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text('\ufeffa, b\n\n"x,y",2\n')
    (tmp_path / "a.tsv").write_text("a\tb\nx,y\t2\n")
    one = read_own_table(tmp_path / "a.csv", (2, 2), "pairs")
    two = read_own_table(tmp_path / "a.tsv", (2, 2), "pairs")
    assert one.rows == two.rows == [["a", "b"], ["x,y", "2"]]
    assert (one.lines, two.lines) == ([1, 3], [1, 2])
    assert one.where(1) == "a.csv, line 3"


def test_parquet_has_its_names_beside_its_rows(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    table = pyarrow.table({"source": [1, 2], "target": ["x", None]})
    pyarrow.parquet.write_table(table, path)
    read = read_own_table(path, (2, 2), "pairs")
    assert read.rows == [["1", "x"], ["2", ""]]
    assert read.without_header(lambda _: True) is read
    assert read.where(1) == "a.parquet, row 2"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "is empty; each row should be pairs"),
        ("a\n", "line 1: 1 cells; each row should be pairs"),
        ("a,b\nc,d\n\ne\n", "line 4: 1 cells where 2 are expected"),
        ('a,b\n"c,d\n', "cannot read .*unexpected end of data"),
    ],
)
def test_bad_tables_are_refused(tmp_path: Path, content: str, message: str) -> None:
    (tmp_path / "a.csv").write_text(content)
    with pytest.raises(InputError, match=message):
        read_own_table(tmp_path / "a.csv", (2, 2), "pairs")


def test_unreadable_files_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"cannot read .*none\.csv: No such file"):
        read_own_table(tmp_path / "none.csv", (2, 2), "pairs")
    (tmp_path / "a.csv").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InputError, match="cannot read"):
        read_own_table(tmp_path / "a.csv", (2, 2), "pairs")
    (tmp_path / "a.parquet").write_bytes(b"nothing")
    with pytest.raises(InputError, match="cannot read"):
        read_own_table(tmp_path / "a.parquet", (2, 2), "pairs")


def test_parquet_without_pyarrow_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(InputError, match=r"pip install 'ignn-solver\[tables\]'"):
        read_own_table(tmp_path / "a.parquet", (2, 2), "pairs")


@pytest.mark.parametrize(("cell", "message"), [("x", "'x' is not a number"), ("inf", "not finite")])
def test_cells_must_be_numbers_where_numbers_are_wanted(
    tmp_path: Path, cell: str, message: str
) -> None:
    (tmp_path / "a.csv").write_text(f"1,2\n3,{cell}\n")
    table = read_own_table(tmp_path / "a.csv", (2, 2), "pairs")
    assert table.number(0, 1) == 2.0
    with pytest.raises(InputError, match=f"a.csv, line 2: .*{message}"):
        table.number(1, 1)
