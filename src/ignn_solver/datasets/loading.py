"""From a name to a graph."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

from torch_geometric.data import Data, InMemoryDataset

from ..errors import InputError
from . import parsed as parsed_files
from .archives import Archive
from .blocks import blocks
from .chains import chains
from .digits import digits
from .directory import data_directory, storage
from .fetch import obtain
from .presets import PRESETS
from .pyg import load_pyg
from .registry import SOURCES
from .source import Source

GENERATED: dict[str, Callable[..., Data]] = {"digits": digits, "chains": chains, "blocks": blocks}


def load(
    name: str,
    root: str | Path | None = None,
    split: str | float | None = None,
    seed: int = 0,
    **options: Any,
) -> Data | InMemoryDataset:
    """Load a dataset by name.

    Args:
        name: A name of ``ignn-solver datasets``; ``chains:LENGTH``; ``blocks:NODES`` or
            ``blocks:reddit|arxiv|products``; ``pyg:Class`` or ``pyg:Class/Name`` for any dataset
            of ``torch_geometric.datasets``.
        root: The data directory. Default: ``$IGNN_SOLVER_DATA``, else the user's cache directory.
        split: Which of the dataset's splits; default: the paper's.
        seed: Draws what is not published: validation nodes, generated graphs.
        **options: What the dataset itself takes, such as ``nodes=`` for ``blocks``.

    Returns:
        For node tasks a ``NodeData`` (a PyG ``Data``) with ``train_mask``, ``val_mask`` and
        ``test_mask``; for graph tasks a PyG ``InMemoryDataset``.

    Raises:
        InputError: Unknown name, split or option; an archive that is missing or damaged.
    """
    base, _, argument = name.partition(":")
    if base in GENERATED:
        if split is not None:
            raise InputError(f"{base} is generated with its split: leave split out, vary the seed")
        return _generate(base, argument, seed, options)
    if base == "pyg":
        return load_pyg(argument, data_directory(root), split, seed, options)
    if name not in SOURCES:
        known = ", ".join([*GENERATED, *SOURCES])
        raise InputError(f"no dataset {name!r}: choose among {known}, or pyg:Class/Name")
    chosen = None if split is None else str(split)
    return load_source(SOURCES[name], data_directory(root), chosen, seed, options)


def load_nodes(
    name: str, root: str | Path | None = None, split: str | float | None = None, seed: int = 0
) -> Data:
    """Load a graph whose nodes are to be classified; for the arguments see ``load``.

    Raises:
        InputError: As ``load``, and for a set of graphs.
    """
    data = load(name, root, split, seed)
    if not isinstance(data, Data):
        raise InputError(
            f"{name} is a set of graphs to classify, not one graph of nodes: "
            "name a dataset of task node in `ignn-solver datasets`"
        )
    return data


def load_source(
    source: Source, data: Path, split: str | None, seed: int, options: dict[str, Any]
) -> Data | InMemoryDataset:
    """Load what ``source`` describes: from parsed data, else from its archive, else from afar.

    Parsed data is kept only once a graph has been made of it, under the digest of the archive and
    the version of the parser, so that a bad archive leaves nothing and a new one is read anew.
    """
    module = import_module(f".{source.module}", __package__)
    _check_options(source.name, module.build, options, ("parsed", "source", "split", "seed"))
    path = obtain(source, data)
    kept = storage(data) / "cache"
    digest = parsed_files.digest(path, kept)
    place = kept / f"{source.name}-{module.VERSION}-{digest[:24]}.safetensors"
    parsed = parsed_files.read(place)
    if parsed is not None:
        return module.build(parsed, source, split=split, seed=seed, **options)
    with Archive(path, source.limit) as archive:
        parsed = module.parse(archive, source)
    result = module.build(parsed, source, split=split, seed=seed, **options)
    try:
        parsed_files.save(place, parsed)
    except InputError as error:
        warnings.warn(f"parsed {source.name} is not kept: {error}", stacklevel=3)
    return result


def _generate(base: str, argument: str, seed: int, options: dict[str, Any]) -> Data:
    _check_options(base, GENERATED[base], options, ("seed",))
    if not argument:
        return GENERATED[base](seed=seed, **options)
    if base == "blocks" and argument in PRESETS:
        return blocks(like=argument, seed=seed, **options)
    parameter = {"chains": "length", "blocks": "nodes"}.get(base)
    if parameter is None or not argument.isdecimal():
        raise InputError(
            f"{base}:{argument} is not a dataset; say "
            + {
                "chains": "chains:LENGTH, for example chains:10",
                "blocks": f"blocks:NODES or blocks:{'|'.join(PRESETS)}",
            }.get(base, base)
        )
    return GENERATED[base](**{parameter: int(argument)}, seed=seed, **options)


def _check_options(
    name: str, function: Callable[..., Any], options: dict[str, Any], reserved: tuple[str, ...]
) -> None:
    known = [p for p in inspect.signature(function).parameters if p not in reserved]
    for option in options:
        if option not in known:
            takes = f"it takes {', '.join(known)}" if known else "it takes none"
            raise InputError(f"{name} has no option {option!r}; {takes}")
