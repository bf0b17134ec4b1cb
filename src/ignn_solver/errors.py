"""The one exception for what a user can put right."""

from __future__ import annotations


class InputError(ValueError):
    """Something the user gave is wrong: one sentence naming the offending thing and the remedy.

    The command line prints the sentence and exits with status 2; in Python it is a ``ValueError``.
    """
