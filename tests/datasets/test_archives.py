"""Archives are read in place, and what is wrong with one is said in a sentence."""

import gzip
import io
import struct
import tarfile
import zipfile
from pathlib import Path

import pytest

from datasets.formats import write_zip
from ignn_solver.datasets.archives import Archive
from ignn_solver.errors import InputError

MEMBERS = {"set/a.txt": b"first\n", "set/deep/b.txt": b"second\n"}


def make_tar(path: Path, members: dict[str, bytes], *extra: tarfile.TarInfo) -> Path:
    with tarfile.open(path, "w:xz" if path.suffix == ".xz" else "w:bz2") as tar:
        for name, content in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
        for info in extra:
            tar.addfile(info)
    return path


def make(kind: str, tmp_path: Path) -> Path:
    if kind == "folder":
        for name, content in MEMBERS.items():
            (tmp_path / "f" / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / "f" / name).write_bytes(content)
        return tmp_path / "f"
    if kind == "zip":
        return write_zip(tmp_path / "a.zip", MEMBERS)
    return make_tar(tmp_path / f"a.tar.{kind}", MEMBERS)


@pytest.mark.parametrize("kind", ["zip", "xz", "bz2", "folder"])
def test_all_kinds_give_the_same_files(kind: str, tmp_path: Path) -> None:
    with Archive(make(kind, tmp_path)) as archive:
        assert sorted(archive.names()) == sorted(MEMBERS)
        assert archive.has("deep/b.txt")
        assert not archive.has("eep/b.txt")
        with archive.open(archive.find("nothing", "b.txt")) as stream:
            assert stream.read() == b"second\n"


def test_a_missing_member_means_the_wrong_archive(tmp_path: Path) -> None:
    with (
        Archive(make("zip", tmp_path)) as archive,
        pytest.raises(InputError, match=r"a\.zip is not the archive expected: it has no c\.txt"),
    ):
        archive.find("c.txt")


@pytest.mark.parametrize("name", ["../evil", "a/../../evil", "/etc/evil", "..\\evil", "C:/evil"])
def test_names_that_point_outside_are_refused(name: str, tmp_path: Path) -> None:
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(name, b"x")
    with pytest.raises(InputError, match=r"a\.zip is unsafe: .* points outside"):
        Archive(path)
    if "\\" not in name:
        with pytest.raises(InputError, match="is unsafe"):
            Archive(make_tar(tmp_path / "a.tar.xz", {name: b"x"}))


def test_links_are_refused(tmp_path: Path) -> None:
    link = tarfile.TarInfo("link")
    link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
    with pytest.raises(InputError, match="'link' is a link"):
        Archive(make_tar(tmp_path / "a.tar.xz", {}, link))
    entry = zipfile.ZipInfo("link")
    entry.external_attr = 0o120777 << 16
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr(entry, "/etc/passwd")
    with pytest.raises(InputError, match="'link' is a link"):
        Archive(tmp_path / "a.zip")


def test_bombs_are_refused(tmp_path: Path) -> None:
    content = {"big": b"\0" * 100_000}
    for path in (write_zip(tmp_path / "a.zip", content), make_tar(tmp_path / "a.tar.xz", content)):
        assert path.stat().st_size < 1000
        with pytest.raises(InputError, match=r"unpacks to .* more than"):
            Archive(path, limit=50_000)
        Archive(path, limit=100_000).close()


def test_a_zip_that_lies_about_its_size_is_cut_off(tmp_path: Path) -> None:
    path = write_zip(tmp_path / "a.zip", {"big": b"\0" * 100_000})
    raw = path.read_bytes().replace(struct.pack("<I", 100_000), struct.pack("<I", 10))
    path.write_bytes(raw)
    with (
        Archive(path, limit=1000) as archive,
        pytest.raises(InputError, match="truncated or not an archive"),
        archive.open("big") as stream,
    ):
        stream.read()


def test_a_gzip_bomb_inside_is_cut_off(tmp_path: Path) -> None:
    path = write_zip(tmp_path / "a.zip", {"x.csv.gz": gzip.compress(b"0\n" * 100_000)})
    with Archive(path, limit=10_000) as archive:
        with (
            pytest.raises(InputError, match="unpacks to"),
            archive.unpack("x.csv.gz") as stream,
        ):
            stream.read(10_001)
        with archive.open("x.csv.gz") as stream:
            assert len(stream.read()) < 10_000


@pytest.mark.parametrize("kind", ["zip", "xz", "bz2"])
@pytest.mark.parametrize("part", [0.0, 0.3, 0.9])
def test_a_truncated_archive_is_said_to_be_one(kind: str, part: float, tmp_path: Path) -> None:
    path = make(kind, tmp_path)
    content = path.read_bytes()
    path.write_bytes(content[: int(len(content) * part)])
    with pytest.raises(InputError, match=f"^{path.name} is truncated or not an archive"):
        Archive(path)


def test_damaged_content_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr("a", b"precious content")
    path.write_bytes(path.read_bytes().replace(b"precious", b"precioux"))
    with (
        Archive(path) as archive,
        pytest.raises(InputError, match=r"a\.zip:a is truncated"),
        archive.open("a") as stream,
    ):
        stream.read()


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"none\.zip"):
        Archive(tmp_path / "none.zip")


def test_an_empty_folder_called_slash_does_no_harm(tmp_path: Path) -> None:
    with Archive(write_zip(tmp_path / "a.zip", {"/": b"", **MEMBERS})) as archive:
        assert sorted(archive.names()) == sorted(MEMBERS)
