"""The errors and warnings of secateur: one root, few children, each saying when it is raised."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from difflib import get_close_matches
from importlib import import_module
from itertools import islice
from typing import Any


class SecateurError(Exception):
    """The root of every error that secateur raises on purpose."""


class InputError(SecateurError, ValueError):
    """The data cannot be used as given: shapes, missing targets, infinities, unknown names."""


class ParameterError(SecateurError, ValueError):
    """A parameter is out of its range or does not fit the others."""


class InputTypeError(SecateurError, TypeError):
    """The data is of a kind that secateur does not read."""


class OutOfMemoryError(SecateurError, MemoryError):
    """Something would need more memory than there is; nothing of it was taken."""


class StorageError(SecateurError, ValueError):
    """A saved result cannot be read: not JSON, another kind of file, or a newer version."""


class ComparisonError(SecateurError, ValueError):
    """Two results cannot be set side by side, for instance scores of different origin."""


class MissingDependencyError(SecateurError, ImportError):
    """An optional package is needed for this; the message names the extra to install."""


class DownloadError(SecateurError, OSError):
    """A public set could not be downloaded, or is not the one that was expected."""


class ClusterError(SecateurError, RuntimeError):
    """A cluster is lost in the middle of a fit or a comparison.

    ``path`` holds the steps up to then, or the comparison of the trials that were done, if any.
    """

    path: Any = None


class SecateurWarning(UserWarning):
    """The root of secateur's warnings."""


class UnknownCategoryWarning(SecateurWarning):
    """A category at predict time was not there at fit time and counts as missing."""


class ManyClassesWarning(SecateurWarning):
    """A classifier was given so many classes that y may hold numbers, or that a fit takes long."""


class GroupTestingWarning(SecateurWarning):
    """Group testing was asked for where an exact search is as quick."""


class EmptySelectionWarning(SecateurWarning):
    """A fit selected no features, or its selection is used to take columns."""


class InterruptedWarning(SecateurWarning):
    """A fit was stopped from outside; what was found up to then is kept."""


def import_optional(module: str, what: str, install: str, instead: str = "") -> Any:
    """Import a library that something needs, or raise an error that says how to install it."""
    try:
        return import_module(module)
    except ImportError as error:
        raise MissingDependencyError(
            f"{what} needs {module.partition('.')[0]}. Got {error}. Install it with "
            f"pip install '{install}'{instead}."
        ) from error


# ---- parts of messages ------------------------------------------------------------------------

# With more names a search for similar ones takes too long.
_MAX_COMPARED = 20_000


def some_of(items: Collection[Any], limit: int = 5) -> str:
    """Return the first few items as Python writes them.

    >>> some_of(["a", "b", "c"], limit=2)
    "'a', 'b', ... (3 in all)"
    """
    import numpy as np  # here, because the help of the command line imports this module

    # numpy 2 writes np.float64(1.0) and np.str_('a') where users wrote 1.0 and 'a'
    first = (x.item() if isinstance(x, np.generic) else x for x in islice(items, limit))
    shown = ", ".join(map(repr, first))
    return shown if len(items) <= limit else f"{shown}, ... ({len(items)} in all)"


def similar_to(name: str, names: Collection[str]) -> str:
    """Return a sentence with the names closest to a wrong one, or nothing.

    >>> similar_to("agge", ("age", "height"))
    " Did you mean 'age'?"
    """
    close = get_close_matches(name, names, n=3) if len(names) <= _MAX_COMPARED else []
    return f" Did you mean {' or '.join(repr(match) for match in close)}?" if close else ""


# Control characters but tabs and line ends, marks of direction, invisible characters, surrogates.
_OBEYED = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f"
    "\ufeff\ufff9-\ufffb\ud800-\udfff\U000e0000-\U000e007f]"
)


def printable(value: Any) -> Any:
    r"""Escape in a text, or all texts in lists and dicts, what terminals and browsers would obey.

    >>> print(printable("age\x1b[2J"))
    age\x1b[2J
    """
    if isinstance(value, str):
        return _OBEYED.sub(lambda found: found[0].encode("unicode_escape").decode(), value)
    if isinstance(value, Mapping):
        return {printable(key): printable(item) for key, item in value.items()}
    return [printable(item) for item in value] if isinstance(value, list | tuple) else value
