"""Downloads that are whole, verified and in place, or not there at all."""

from __future__ import annotations

import hashlib
import http.client
import urllib.error
import urllib.request
from pathlib import Path
from typing import BinaryIO, cast

from rich.console import Console
from rich.progress import (
    BarColumn,
    DownloadColumn,
    Progress,
    TextColumn,
    TimeRemainingColumn,
    TransferSpeedColumn,
)

from .. import files
from ..errors import InputError

_PIECE = 1024 * 1024
_HANDLERS = (
    # Only the web: a redirect to ftp: or file: finds no handler.
    urllib.request.ProxyHandler,
    urllib.request.HTTPHandler,
    urllib.request.HTTPSHandler,
    urllib.request.HTTPRedirectHandler,
    urllib.request.HTTPDefaultErrorHandler,
    urllib.request.HTTPErrorProcessor,
)


def download(
    url: str,
    path: Path,
    sha256: str | None = None,
    size: int | None = None,
    limit: int = 2 * 1024**3,
    timeout: float = 30.0,
) -> None:
    """Download ``url`` to ``path`` with a progress bar.

    The bytes go to a temporary name beside ``path`` and are moved there once complete and verified;
    an interruption, Ctrl-C included, leaves nothing.

    Args:
        url: An ``http`` or ``https`` address; redirects are followed.
        path: Where the file goes.
        sha256: Digest the file must have, where known.
        size: Size in bytes it must have, where known.
        limit: More bytes than this are refused.
        timeout: Seconds without a byte after which the server counts as stalled.

    Raises:
        InputError: No connection, an error from the server, a stall, or not the bytes expected.
    """
    opener = urllib.request.OpenerDirector()
    for handler in _HANDLERS:
        opener.add_handler(handler())
    request = urllib.request.Request(url, headers={"User-Agent": "ignn-solver"})  # noqa: S310
    with files.replacing(path) as temporary:
        try:
            response = opener.open(request, timeout=timeout)
            if response is None:
                raise _failed(url, path, "it is not an http or https address")
            with response, temporary.open("wb") as file:
                received, found = _copy(cast(BinaryIO, response), file, path.name, url, limit)
        except TimeoutError as error:
            raise _failed(url, path, f"no byte came for {timeout:g} seconds") from error
        except urllib.error.HTTPError as error:
            error.close()
            raise _failed(url, path, f"the server says {error.code} {error.reason}") from error
        except urllib.error.URLError as error:
            raise _failed(url, path, str(error.reason)) from error
        except (http.client.HTTPException, ConnectionError) as error:
            raise _failed(url, path, f"the connection broke ({error})") from error
        announced = response.headers.get("Content-Length")
        for expected, source in ((announced, "the server announced"), (size, "are expected")):
            if expected is not None and received != int(expected):
                raise _failed(url, path, f"{received} bytes came where {expected} {source}")
        if sha256 is not None and found != sha256:
            raise _failed(
                url, path, f"its SHA-256 is {found[:12]}... where {sha256[:12]}... is expected"
            )


def _copy(response: BinaryIO, file: BinaryIO, name: str, url: str, limit: int) -> tuple[int, str]:
    announced = getattr(response, "length", None)
    digest = hashlib.sha256()
    received = 0
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        DownloadColumn(),
        TransferSpeedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(f"downloading {name}", total=announced)
        while piece := response.read(_PIECE):
            received += len(piece)
            if received > limit:
                raise InputError(f"{url} sends more than {limit} bytes: not the file expected")
            file.write(piece)
            digest.update(piece)
            progress.update(task, advance=len(piece))
    return received, digest.hexdigest()


def _failed(url: str, path: Path, why: str) -> InputError:
    return InputError(
        f"{path.name} could not be downloaded from {url}: {why}; "
        f"try again, or put the file into {path.parent} yourself"
    )
