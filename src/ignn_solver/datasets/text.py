"""Numbers from text, in bounded memory, with the file and the line in every complaint."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any, BinaryIO

import numpy as np
import scipy.sparse

from ..errors import InputError

_BLOCK = 8 * 1024 * 1024
_LARGEST = np.iinfo(np.int64).max
_COMMAS = bytes.maketrans(b",;\t\r", b"    ")


def _blocks(stream: BinaryIO, comment: bytes | None) -> Iterator[tuple[int, bytes]]:
    """Yield (number of the first line, whole lines) in pieces of a few megabytes."""
    line = 1
    rest = b""
    while True:
        piece = stream.read(_BLOCK)
        text = rest + piece
        cut = text.rfind(b"\n") + 1 if piece else len(text)
        text, rest = text[:cut], text[cut:]
        if text:
            lines = text.count(b"\n") + (not text.endswith(b"\n"))
            yield line, _blanked(text, comment) if comment else text
            line += lines
        if not piece:
            return


def _blanked(text: bytes, comment: bytes) -> bytes:
    if comment not in text:
        return text
    return b"\n".join(b"" if row.startswith(comment) else row for row in text.split(b"\n"))


def read_rows(
    stream: BinaryIO,
    file: str,
    dtype: Any = np.int64,
    columns: int | None = None,
    comment: bytes | None = None,
) -> Iterator[np.ndarray]:
    """Yield the rows of a text table, a few megabytes at a time, as ``[rows, columns]`` arrays.

    Values are separated by blanks, tabs, commas or semicolons. Empty lines are passed over.

    Args:
        stream: The text, as bytes.
        file: Its name, for messages.
        dtype: ``np.int64`` for whole numbers, ``np.float32`` or ``np.float64`` for any.
        columns: How many values each row must have; default: as many as the first row.
        comment: Lines that start with this are passed over.

    Raises:
        InputError: A row has too few or too many values, or a value is not a (finite) number.
    """
    parsed_as = np.int64 if np.issubdtype(dtype, np.integer) else np.float64
    for first, text in _blocks(stream, comment):
        text = text.translate(_COMMAS)
        _, filled, columns = _layout(np.frombuffer(text, dtype=np.uint8), file, first, columns)
        if not filled.size:
            continue
        with warnings.catch_warnings():
            # numpy only warns when it stops at something that is not a number; we look ourselves.
            warnings.simplefilter("ignore", DeprecationWarning)
            try:
                values = np.fromstring(text, dtype=parsed_as, sep=" ")
            except ValueError:
                values = np.empty(0)
        if values.size != filled.size * columns:
            raise _not_a_number(file, first, text, parsed_as)
        rows = values.reshape(-1, columns)
        # What does not fit comes out as infinite, or as the largest whole number there is.
        largest = np.inf if parsed_as is np.float64 else _LARGEST
        # Written so that a NaN, too, is not between.
        if not ((rows > -largest) & (rows < largest)).all():
            raise _not_a_number(file, first, text, parsed_as)
        yield rows.astype(dtype, copy=False)


def _layout(
    data: np.ndarray, file: str, first: int, columns: int | None
) -> tuple[np.ndarray, np.ndarray, int]:
    """Where values start, which lines are not empty, and the (checked) number of columns."""
    blank = data <= 32
    begins_value = ~blank
    begins_value[1:] &= blank[:-1]
    starts = np.flatnonzero(begins_value)
    line_begins = np.concatenate([[0], np.flatnonzero(data == 10) + 1, [len(data)]])
    counts = np.diff(np.searchsorted(starts, line_begins))
    filled = np.flatnonzero(counts)
    if columns is None:
        columns = int(counts[filled[0]]) if filled.size else 0
    ragged = filled[counts[filled] != columns]
    if ragged.size:
        raise InputError(
            f"{file}, line {first + ragged[0]}: {counts[ragged[0]]} values where {columns} "
            f"are expected; correct that line"
        )
    return starts, filled, columns


def _not_a_number(file: str, first: int, text: bytes, kind: type) -> InputError:
    convert, wanted = (
        (int, "a whole number that fits") if kind is np.int64 else (float, "a finite number")
    )
    for offset, row in enumerate(text.split(b"\n")):
        for value in row.split():
            try:
                if abs(convert(value)) < (_LARGEST if convert is int else np.inf):
                    continue
            except ValueError:
                pass
            shown = value.decode("utf-8", "replace")[:40]
            return InputError(f"{file}, line {first + offset}: {shown!r} is not {wanted}")
    return InputError(f"{file}, near line {first}: not a table of numbers")


def read_table(
    stream: BinaryIO,
    file: str,
    dtype: Any = np.int64,
    columns: int | None = None,
    comment: bytes | None = None,
) -> np.ndarray:
    """Read a whole text table as one ``[rows, columns]`` array; see ``read_rows``."""
    parts = list(read_rows(stream, file, dtype, columns, comment))
    if not parts:
        raise InputError(f"{file} is empty; get the file again")
    return np.concatenate(parts)


def read_column(stream: BinaryIO, file: str, dtype: Any = np.int64) -> np.ndarray:
    """Read a text file of one value a line."""
    return read_table(stream, file, dtype, columns=1)[:, 0]


def read_sparse(stream: BinaryIO, file: str) -> scipy.sparse.csr_matrix:
    """Read a dense text matrix as a sparse one without ever holding the dense one whole.

    Only values that are not written as zero are converted, which is what makes it fast.
    """
    columns: int | None = None
    parts = []
    for first, text in _blocks(stream, None):
        text = text.translate(_COMMAS)
        data = np.frombuffer(text, dtype=np.uint8)
        starts, filled, columns = _layout(data, file, first, columns)
        if not filled.size:
            continue
        ends = np.append(starts[1:], len(data))
        places = _not_plainly_zero(data, starts)
        spans = zip(starts[places].tolist(), ends[places].tolist(), strict=True)
        try:
            values = np.array([float(text[begin:end]) for begin, end in spans], dtype=np.float32)
        except ValueError:
            values = np.array([np.nan])
        if not np.isfinite(values).all():
            raise _not_a_number(file, first, text, np.float64)
        shape = (filled.size, columns)
        parts.append(scipy.sparse.csr_matrix((values, np.divmod(places, columns)), shape=shape))
    if not parts:
        raise InputError(f"{file} is empty; get the file again")
    matrix = scipy.sparse.vstack(parts, format="csr")
    matrix.eliminate_zeros()
    return matrix


def _not_plainly_zero(data: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """Numbers of the values that are not written ``0``, ``0.0``, ``0.00`` and so on."""
    telling = (data > 32) & (data != ord("0"))
    points = starts[:-1][data[starts[:-1]] == ord("0")] + 1
    telling[points[data[points] == ord(".")]] = False
    return np.unique(np.searchsorted(starts, np.flatnonzero(telling), side="right") - 1)


def check_ids(
    values: np.ndarray, count: int, file: str, what: str = "node", unit: str = "line"
) -> np.ndarray:
    """Return ``values`` if every one is in ``0 .. count - 1``, else name the first bad line."""
    if not values.size:
        return values
    rows = values.reshape(len(values), -1)
    bad = np.flatnonzero(((rows < 0) | (rows >= count)).any(axis=1))
    if bad.size:
        row = rows[bad[0]]
        value = row[(row < 0) | (row >= count)][0]
        raise InputError(
            f"{file}, {unit} {bad[0] + 1}: there is no {what} {value}; they are 0 to {count - 1}"
        )
    return values


def read_ragged(stream: BinaryIO, file: str) -> tuple[np.ndarray, np.ndarray]:
    """Read whole numbers on lines of any length: how many each line has, and all of them."""
    counts: list[int] = []
    values: list[np.ndarray] = []
    for first, text in _blocks(stream, None):
        text = text.translate(_COMMAS)
        lines = [row.split() for row in text.split(b"\n")]
        if not lines[-1]:
            lines.pop()
        counts.extend(len(row) for row in lines)
        try:
            values.append(np.array([int(v) for row in lines for v in row], dtype=np.int64))
        except ValueError:
            raise _not_a_number(file, first, text, np.int64) from None
    if not values or 0 in counts:
        raise InputError(
            f"{file}, line {counts.index(0) + 1 if counts else 1}: empty; every line must have a number"
        )
    return np.array(counts), np.concatenate(values)
