"""Downloads against a real server that behaves and one that does not."""

import hashlib
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from ignn_solver.datasets.download import download
from ignn_solver.errors import InputError

CONTENT = bytes(range(256)) * 5000
DIGEST = hashlib.sha256(CONTENT).hexdigest()


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        getattr(self, "serve_" + self.path.strip("/").replace("-", "_"))()

    def head(self, code=200, **headers):
        self.send_response(code)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), str(value))
        self.end_headers()

    def serve_good(self):
        self.head(Content_Length=len(CONTENT))
        self.wfile.write(CONTENT)

    def serve_unannounced(self):
        self.head()
        self.wfile.write(CONTENT)

    def serve_truncated(self):
        self.head(Content_Length=len(CONTENT))
        self.wfile.write(CONTENT[:1000])

    def serve_truncated_unannounced(self):
        self.head()
        self.wfile.write(CONTENT[:1000])

    def serve_stalls(self):
        self.head(Content_Length=len(CONTENT))
        self.wfile.write(CONTENT[:1000])
        self.wfile.flush()
        self.server.released.wait(10)

    def serve_silent(self):
        self.server.released.wait(10)

    def serve_wrong(self):
        self.head(Content_Length=len(CONTENT))
        self.wfile.write(CONTENT[::-1])

    def serve_moved(self):
        self.head(302, Location="/good", Content_Length=0)

    def serve_circle(self):
        self.head(302, Location="/circle", Content_Length=0)

    def serve_to_a_file(self):
        self.head(302, Location="file:///etc/passwd", Content_Length=0)

    def serve_missing(self):
        self.send_error(404)

    def serve_page(self):
        self.head(Content_Type="text/html")
        self.wfile.write(b"<html>please log in</html>")

    def serve_resets(self):
        self.connection.close()

    def log_message(self, *_):
        pass


class Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_):
        """A client that gives up is what some of these tests are about."""


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    running = Server(("127.0.0.1", 0), Handler)
    running.released = threading.Event()
    thread = threading.Thread(target=running.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{running.server_port}"
    running.released.set()
    running.shutdown()
    running.server_close()
    thread.join()


@pytest.mark.parametrize("path", ["good", "moved", "unannounced"])
def test_whole_files_arrive(server: str, path: str, tmp_path: Path) -> None:
    target = tmp_path / "new" / "file.zip"
    download(f"{server}/{path}", target, DIGEST, len(CONTENT))
    assert target.read_bytes() == CONTENT
    assert list(target.parent.iterdir()) == [target]


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("truncated", "bytes came where 1280000 the server announced|the connection broke"),
        ("truncated-unannounced", "1000 bytes came where 1280000 are expected"),
        ("stalls", "no byte came for 0.5 seconds"),
        ("silent", "no byte came for 0.5 seconds"),
        ("wrong", "its SHA-256 is"),
        ("circle", "infinite loop"),
        ("to-a-file", "the server says 302"),
        ("missing", "the server says 404"),
        ("page", "26 bytes came where 1280000 are expected"),
        ("resets", "the connection broke"),
    ],
)
def test_anything_else_leaves_nothing(server: str, path: str, message: str, tmp_path: Path) -> None:
    target = tmp_path / "file.zip"
    started = time.perf_counter()
    with pytest.raises(InputError, match=message) as caught:
        download(f"{server}/{path}", target, DIGEST, len(CONTENT), timeout=0.5)
    assert time.perf_counter() - started < 5
    assert list(tmp_path.iterdir()) == []
    assert f"{server}/{path}" in str(caught.value)
    assert str(tmp_path) in str(caught.value)


def test_an_older_file_survives_a_failed_download(server: str, tmp_path: Path) -> None:
    target = tmp_path / "file.zip"
    target.write_bytes(b"older")
    with pytest.raises(InputError, match="SHA-256"):
        download(f"{server}/wrong", target, DIGEST)
    assert target.read_bytes() == b"older"


def test_a_digest_is_not_needed(server: str, tmp_path: Path) -> None:
    download(f"{server}/good", tmp_path / "file")
    assert (tmp_path / "file").read_bytes() == CONTENT


def test_more_than_the_limit_is_refused(server: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="sends more than 1000 bytes"):
        download(f"{server}/unannounced", tmp_path / "file", limit=1000)
    assert list(tmp_path.iterdir()) == []


def test_no_server_is_said(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="Connection refused"):
        download("http://127.0.0.1:9/file", tmp_path / "file", timeout=2)


@pytest.mark.parametrize("url", ["ftp://127.0.0.1/file", "file:///etc/passwd"])
def test_only_the_web_is_read(url: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="not an http or https address"):
        download(url, tmp_path / "file")


def test_an_interruption_leaves_nothing(
    server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("hashlib.sha256", interrupted)
    with pytest.raises(KeyboardInterrupt):
        download(f"{server}/good", tmp_path / "file")
    assert list(tmp_path.iterdir()) == []
