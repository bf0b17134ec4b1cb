"""An archive found on this machine, or brought to it."""

from __future__ import annotations

from pathlib import Path

from ..errors import InputError
from .directory import storage, user_cache
from .download import download
from .source import Source


def find(source: Source, data: Path) -> Path | None:
    """Path of the source's archive in the data directory or the user's cache, if it is there."""
    assert source.archive is not None
    for place in (data, user_cache()):
        for name in (source.archive, *source.also):
            path = place / name
            if path.is_file() or _complete(source, path):
                return path
    return None


def _complete(source: Source, path: Path) -> bool:
    """Whether a folder has every file it should; half a download is no dataset."""
    return path.is_dir() and all((path / name).is_file() for name, _ in source.parts)


def obtain(source: Source, data: Path, timeout: float = 30.0) -> Path:
    """Find the source's archive, or download it.

    Raises:
        InputError: It is nowhere and cannot be downloaded.
    """
    assert source.archive is not None
    found = find(source, data)
    if found is not None:
        return found
    target = storage(data) / source.archive
    if source.url is not None:
        download(source.url, target, source.sha256, source.size, source.limit, timeout)
    elif source.parts:
        for name, url in source.parts:
            if not (target / name).is_file():
                download(url, target / name, limit=source.limit, timeout=timeout)
    else:
        raise InputError(
            f"{source.name} cannot be downloaded by a program: get {source.archive} from "
            f"{source.home} and put it into {data}"
        )
    return target
