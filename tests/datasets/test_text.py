"""Numbers from text: exact, in pieces of any size, and wrong lines by their number."""

import io
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ignn_solver.datasets import text
from ignn_solver.errors import InputError

values = st.sampled_from([0, 0, 0, 1, 2.5, -3, 1e-7, 12])
tables = st.integers(1, 6).flatmap(
    lambda columns: st.lists(
        st.lists(values, min_size=columns, max_size=columns), min_size=1, max_size=20
    )
)


def write(rows: list[list[Any]], separator: str = " ") -> io.BytesIO:
    return io.BytesIO("".join(separator.join(map(str, r)) + "\n" for r in rows).encode())


@given(tables, st.sampled_from([" ", ",", ", ", "\t", ";"]), st.integers(5, 80))
def test_both_readers_give_the_numbers_written(
    rows: list[list[float]], separator: str, block: int
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(text, "_BLOCK", block)
        dense = text.read_table(write(rows, separator), "f", dtype=np.float32)
        sparse = text.read_sparse(write(rows, separator), "f")
    expected = np.array(rows, dtype=np.float32)
    np.testing.assert_array_equal(dense, expected)
    np.testing.assert_array_equal(sparse.toarray(), expected)
    assert sparse.nnz == np.count_nonzero(expected)


@pytest.mark.parametrize("zero", ["0", "0.0", "0.000000", "-0.0", ".0", "00", "0e5"])
def test_every_way_to_write_zero_is_zero(zero: str) -> None:
    matrix = text.read_sparse(io.BytesIO(f"{zero} 1\n1 {zero}\n".encode()), "f")
    np.testing.assert_array_equal(matrix.toarray(), [[0, 1], [1, 0]])
    assert matrix.nnz == 2


@pytest.mark.parametrize("read", [text.read_table, text.read_sparse])
@pytest.mark.parametrize("block", [4, 1000])
@pytest.mark.parametrize(
    ("content", "line", "message"),
    [
        ("1 2\n3 4\n5\n", 3, "1 values where 2"),
        ("1 2\n3 4 5\n6\n", 2, "3 values where 2"),
        ("1 2\n\n3 x\n", 3, "'x' is not a"),
        ("1 2\n3 1.2.3\n", 2, "'1.2.3' is not a"),
    ],
)
def test_the_bad_line_is_named(
    monkeypatch: pytest.MonkeyPatch, read: Any, block: int, content: str, line: int, message: str
) -> None:
    monkeypatch.setattr(text, "_BLOCK", block)
    with pytest.raises(InputError, match=f"^some.edge, line {line}: {message}"):
        read(io.BytesIO(content.encode()), "some.edge")


@pytest.mark.parametrize("value", ["nan", "inf", "-inf", "1e999"])
def test_features_must_be_finite(value: str) -> None:
    with pytest.raises(InputError, match=f"line 2: '{value}' is not a finite number"):
        text.read_sparse(io.BytesIO(f"0 1\n{value} 0\n".encode()), "f")
    with pytest.raises(InputError, match=f"line 2: '{value}' is not a finite number"):
        text.read_table(io.BytesIO(f"0 1\n{value} 0\n".encode()), "f", dtype=np.float32)


def test_whole_numbers_are_not_rounded() -> None:
    with pytest.raises(InputError, match=r"line 1: '1\.5' is not a whole number that fits"):
        text.read_table(io.BytesIO(b"1.5 2\n"), "f")
    big = 2**62 + 1
    assert text.read_table(io.BytesIO(f"{big}\n".encode()), "f")[0, 0] == big


def test_comments_and_empty_lines_are_passed_over_but_counted() -> None:
    content = b"% a comment\n\n1 2\n% another\n3 4\nx 5\n"
    good = text.read_table(io.BytesIO(content[:-4]), "f", comment=b"%")
    np.testing.assert_array_equal(good, [[1, 2], [3, 4]])
    with pytest.raises(InputError, match="line 6"):
        text.read_table(io.BytesIO(content), "f", comment=b"%")


@pytest.mark.parametrize("read", [text.read_table, text.read_sparse])
def test_an_empty_file_is_refused(read: Any) -> None:
    with pytest.raises(InputError, match=r"^f is empty"):
        read(io.BytesIO(b"\n \n"), "f")


def test_ids_out_of_range_name_their_line() -> None:
    with pytest.raises(InputError, match="line 2: there is no node 7; they are 0 to 4"):
        text.check_ids(np.array([[0, 1], [7, 2]]), 5, "f")
    with pytest.raises(InputError, match="line 1: there is no class -1"):
        text.check_ids(np.array([-1]), 5, "f", "class")


def test_ragged_lines_keep_their_lengths(monkeypatch: pytest.MonkeyPatch) -> None:
    for block in (3, 100):
        monkeypatch.setattr(text, "_BLOCK", block)
        counts, numbers = text.read_ragged(io.BytesIO(b"2 5 6\n0\n1 9"), "f")
        assert counts.tolist() == [3, 1, 2]
        assert numbers.tolist() == [2, 5, 6, 0, 1, 9]
    with pytest.raises(InputError, match="line 2"):
        text.read_ragged(io.BytesIO(b"1\n\n2\n"), "f")
    with pytest.raises(InputError, match="line 2: 'a' is not a whole number that fits"):
        text.read_ragged(io.BytesIO(b"1\na 2\n"), "f")


@pytest.mark.parametrize("value", [2**63 - 1, 2**64, -(2**63), 10**30])
def test_numbers_too_large_are_not_cut(value: int) -> None:
    with pytest.raises(InputError, match=f"line 2: '{value}' is not a whole number that fits"):
        text.read_table(io.BytesIO(f"1\n{value}\n".encode()), "f")
