"""Archives read in place and safely: nothing is unpacked to disk, nothing is trusted."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import BinaryIO, cast

from ..errors import InputError

GIBIBYTE = 1024**3
_COMPRESSIONS: dict[bytes, Callable[[Path], object]] = {
    b"\xfd7zXZ\x00": lzma.open,
    b"BZh": bz2.open,
    b"\x1f\x8b": gzip.open,
}
_BROKEN = (zipfile.BadZipFile, tarfile.TarError, zlib.error, lzma.LZMAError, EOFError, OSError)


class _Limited:
    """A stream that is refused once it has given more bytes than allowed."""

    def __init__(self, stream: gzip.GzipFile, check: Callable[[int], None]) -> None:
        self._stream = stream
        self._check = check
        self._given = 0

    def read(self, size: int = -1) -> bytes:
        piece = self._stream.read(size)
        self._given += len(piece)
        self._check(self._given)
        return piece


class Archive:
    """The files of a zip, a tar (any compression) or a plain folder, by name.

    Args:
        path: The archive.
        limit: Largest total size of the unpacked files, in bytes: a bomb stops here.

    Raises:
        InputError: Not a whole archive, an unsafe name in it, a link, or too large.
    """

    def __init__(self, path: Path, limit: int = 2 * GIBIBYTE) -> None:
        self.path = path
        self._limit = limit
        self._unpacked: dict[str, bytes] = {}
        self._zip: zipfile.ZipFile | None = None
        with self._explained(path.name):
            if path.is_dir():
                files = sorted(p for p in path.rglob("*") if p.is_file())
                self._names = [p.relative_to(path).as_posix() for p in files]
            elif zipfile.is_zipfile(path):
                self._open_zip(path)
            else:
                self._open_tar()

    def _open_zip(self, file: Path | BinaryIO) -> None:
        self._zip = zipfile.ZipFile(file)
        # Dropbox puts a folder called "/" into the zips it makes; it holds nothing.
        entries = [entry for entry in self._zip.infolist() if entry.filename.strip("/")]
        for entry in entries:
            self._check_name(entry.filename)
            if (entry.external_attr >> 16) & 0o170000 == 0o120000:
                raise self._unsafe(f"{entry.filename!r} is a link")
        self._check_size(sum(entry.file_size for entry in entries))
        self._names = [entry.filename for entry in entries if not entry.is_dir()]

    def _open_tar(self) -> None:
        # Compressed tars have no index: one pass, keeping the (few, small) files in memory.
        total = 0
        with self._decompressed() as stream, tarfile.open(fileobj=stream, mode="r|") as tar:
            for member in tar:
                self._check_name(member.name)
                if member.isdir():
                    continue
                if not member.isfile():
                    raise self._unsafe(f"{member.name!r} is a link or a device")
                total += member.size
                self._check_size(total)
                content = tar.extractfile(member)
                assert content is not None
                self._unpacked[member.name] = content.read()
            # A cut in what comes after the last file shows only when it is read.
            while piece := stream.read(GIBIBYTE // 1024):
                total += len(piece)
                self._check_size(total)
        self._names = list(self._unpacked)

    def _decompressed(self) -> BinaryIO:
        with self.path.open("rb") as file:
            start = file.read(6)
        for magic, opener in _COMPRESSIONS.items():
            if start.startswith(magic):
                return cast(BinaryIO, opener(self.path))
        return self.path.open("rb")

    def names(self) -> list[str]:
        """Names of the files inside."""
        return list(self._names)

    def find(self, *endings: str) -> str:
        """Name of the one file whose path ends with one of ``endings`` (whole path parts)."""
        for ending in endings:
            wanted = PurePosixPath(ending).parts
            found = [n for n in self._names if PurePosixPath(n).parts[-len(wanted) :] == wanted]
            if found:
                return min(found, key=len)
        raise InputError(
            f"{self.path.name} is not the archive expected: it has no {' or '.join(endings)}; "
            f"delete {self.path} and load again, or get it from the dataset's home"
        )

    def has(self, ending: str) -> bool:
        """Whether ``find`` would find this file."""
        wanted = PurePosixPath(ending).parts
        return any(PurePosixPath(n).parts[-len(wanted) :] == wanted for n in self._names)

    def label(self, name: str) -> str:
        """How messages call a file inside: ``flickr.zip:flickr/flickr.edge``."""
        return f"{self.path.name}:{name}"

    @contextmanager
    def open(self, name: str) -> Iterator[BinaryIO]:
        """Open a file inside for reading bytes."""
        with self._explained(self.label(name)):
            if name in self._unpacked:
                yield io.BytesIO(self._unpacked[name])
            elif self._zip is not None:
                with self._zip.open(name) as stream:
                    yield cast(BinaryIO, stream)
            else:
                with (self.path / name).open("rb") as stream:
                    yield stream

    @contextmanager
    def unpack(self, name: str) -> Iterator[BinaryIO]:
        """Open a gzipped file inside for reading what it unpacks to, up to the size limit."""
        with self.open(name) as packed, gzip.GzipFile(fileobj=packed) as stream:
            yield cast(BinaryIO, _Limited(stream, self._check_size))

    @classmethod
    def nested(cls, stream: BinaryIO, label: str, limit: int) -> Archive:
        """A zip (an ``.npz``) inside an archive or folder, open while ``stream`` is."""
        inner = cls.__new__(cls)
        inner.path, inner._limit, inner._unpacked, inner._zip = Path(label), limit, {}, None
        with inner._explained(label):
            inner._open_zip(stream)
        return inner

    def close(self) -> None:
        """Release the file; an ``Archive`` is also a context manager."""
        if self._zip is not None:
            self._zip.close()

    def __enter__(self) -> Archive:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _check_name(self, name: str) -> None:
        parts = PurePosixPath(name.replace("\\", "/")).parts
        if not parts or parts[0] == "/" or ".." in parts or ":" in parts[0]:
            raise self._unsafe(f"{name!r} points outside the archive")

    def _check_size(self, size: int) -> None:
        if size > self._limit:
            raise InputError(
                f"{self.path.name} unpacks to {size / GIBIBYTE:.1f} GiB, more than the "
                f"{self._limit / GIBIBYTE:.1f} GiB this dataset may take: it is damaged or "
                f"malicious; delete {self.path}"
            )

    def _unsafe(self, what: str) -> InputError:
        return InputError(f"{self.path.name} is unsafe: {what}; delete {self.path}")

    @contextmanager
    def _explained(self, what: str) -> Iterator[None]:
        try:
            yield
        except _BROKEN as error:
            raise InputError(
                f"{what} is truncated or not an archive ({error}); "
                f"delete {self.path} and load again to fetch a whole one"
            ) from error
