"""An archive at hand is used as it is; else it is downloaded, once."""

import dataclasses
import functools
import threading
from collections.abc import Iterator
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from datasets.formats import amgcn, graphsaint, write_zip
from ignn_solver.datasets.fetch import find, obtain
from ignn_solver.datasets.loading import load_source
from ignn_solver.datasets.registry import SOURCES
from ignn_solver.errors import InputError


class Handler(SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


@pytest.fixture
def served(tmp_path: Path) -> Iterator[tuple[Path, str]]:
    folder = tmp_path / "served"
    folder.mkdir()
    handler = functools.partial(Handler, directory=str(folder))
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield folder, f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()
    thread.join()


def source(url: str | None, **changes):
    return dataclasses.replace(
        SOURCES["citeseer"], url=url, **{"sha256": None, "size": None, **changes}
    )


def test_an_archive_is_downloaded_once_and_loaded(served, empty_home: Path) -> None:
    folder, address = served
    write_zip(folder / "citeseer.zip", amgcn())
    where = source(f"{address}/citeseer.zip")
    assert find(where, empty_home) is None
    data = load_source(where, empty_home, None, 0, {})
    assert (data.num_nodes, data.num_classes) == (24, 6)
    assert find(where, empty_home) == empty_home / "citeseer.zip"
    (folder / "citeseer.zip").unlink()
    assert load_source(where, empty_home, None, 0, {}).num_nodes == 24


def test_a_wrong_digest_leaves_neither_archive_nor_cache(served, empty_home: Path) -> None:
    folder, address = served
    write_zip(folder / "citeseer.zip", amgcn())
    where = source(f"{address}/citeseer.zip", sha256="0" * 64)
    with pytest.raises(InputError, match="SHA-256"):
        load_source(where, empty_home, None, 0, {})
    assert list(empty_home.rglob("*")) == []


def test_an_archive_at_hand_is_used_as_it_is(empty_home: Path) -> None:
    write_zip(empty_home / "citeseer.zip", amgcn())
    nowhere = source("http://127.0.0.1:9/", sha256="0" * 64)
    assert obtain(nowhere, empty_home) == empty_home / "citeseer.zip"


def test_other_names_are_found_too(empty_home: Path) -> None:
    wordnet = SOURCES["wordnet"]
    (empty_home / "wordnet-3.0.tar.xz").touch()
    assert find(wordnet, empty_home) == empty_home / "wordnet-3.0.tar.xz"


def test_a_read_only_data_directory_is_left_alone(served, empty_home: Path) -> None:
    folder, address = served
    write_zip(folder / "citeseer.zip", amgcn())
    where = source(f"{address}/citeseer.zip")
    empty_home.chmod(0o555)
    try:
        load_source(where, empty_home, None, 0, {})
        found = find(where, empty_home)
    finally:
        empty_home.chmod(0o755)
    assert list(empty_home.iterdir()) == []
    assert found is not None
    assert found.is_relative_to(empty_home.parent / "user-cache")
    assert list((found.parent / "cache").glob("citeseer-*.safetensors"))


def test_the_parts_of_a_folder_are_fetched_until_all_are_there(served, empty_home: Path) -> None:
    folder, address = served
    graphsaint(folder / "files")
    reddit = SOURCES["reddit"]
    parts = tuple((name, f"{address}/files/{name}") for name, _ in reddit.parts)
    where = dataclasses.replace(reddit, parts=parts)
    role = folder / "files" / "role.json"
    text = role.read_text()
    role.unlink()
    with pytest.raises(InputError, match=r"role\.json could not be downloaded"):
        obtain(where, empty_home)
    assert find(where, empty_home) is None
    (folder / "files" / "feats.npy").unlink()
    role.write_text(text)
    assert obtain(where, empty_home) == empty_home / "reddit"
    assert load_source(where, empty_home, None, 0, {}).num_nodes == 46


def test_what_only_a_person_can_fetch_is_said(empty_home: Path) -> None:
    with pytest.raises(InputError, match=r"get coraml-without-features\.zip from .* put it into"):
        obtain(SOURCES["corafull-knn"], empty_home)
