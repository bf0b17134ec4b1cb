"""Which datasets of the results stand in for another, and why."""

from __future__ import annotations

from .reading import Results


def stand_ins(files: list[Results]) -> dict[str, str]:
    """Why each dataset that is a stand-in is one, by its name in the results.

    The files say so themselves; where they do not, the registry of datasets does.
    """
    from ..datasets.presets import PRESETS, stand_in_reason
    from ..datasets.registry import SOURCES

    known = {name: source.stand_in for name, source in SOURCES.items() if source.stand_in}
    known |= {f"blocks:{like}": stand_in_reason(like) for like in PRESETS}
    found: dict[str, str] = {}
    for file in files:
        told = file.content.get("stand_ins")
        heads = file.content.get("datasets")
        for head in [file.content, *file.rows, *(heads if isinstance(heads, list) else [])]:
            if not isinstance(head, dict) or not isinstance(head.get("dataset"), str):
                continue
            name = head["dataset"]
            why = head.get("stand_in") or (told.get(name) if isinstance(told, dict) else "")
            if why or name in known:
                found[name] = str(why or known[name])
    return found
