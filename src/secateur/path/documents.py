"""Strict JSON with a format and a version: what all saved results share."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

from secateur.exceptions import StorageError
from secateur.path.values import thawed_json


def checked_document(text: str | bytes, *, form: str, version: int, what: str) -> dict[str, Any]:
    """Read a JSON object of the given format, of this version or an older one.

    >>> checked_document('{"format": "a.b", "version": 1}', form="a.b", version=1, what="path")
    {'format': 'a.b', 'version': 1}
    """
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:  # UnicodeDecodeError is a ValueError too
        raise StorageError(
            f"A {what} must be JSON. Got text that breaks off or is something else ({error}). "
            "Save it again, or check that this is the right file."
        ) from error
    found = document.get("format") if isinstance(document, dict) else None
    if not isinstance(document, dict) or found != form:
        raise StorageError(
            f"A {what} must have the format {form!r}. Got {found!r}. "
            f"Check that this is a file in which a {what} was saved."
        )
    _check_version(document.get("version"), version, what)
    return document


def _check_version(found: Any, known: int, what: str) -> None:
    if not isinstance(found, int) or isinstance(found, bool) or found < 1:
        raise StorageError(
            f"A {what} must have a whole number >= 1 as its version. Got {found!r}. Save it again."
        )
    if found > known:
        raise StorageError(
            f"The {what} must be of version {known} or older. Got version {found}. "
            "Install a newer secateur to read it."
        )


def float_out(value: float) -> float | str:
    """Write a float. Strict JSON has no NaN and no infinity; float() reads their names back."""
    return value if math.isfinite(value) else repr(value)


def encoded(value: Any) -> Any:
    """Write a frozen JSON value; where anything may stand, a special float needs a mark."""
    if isinstance(value, Mapping):
        return {key: encoded(item) for key, item in value.items()}
    if isinstance(value, tuple):
        return [encoded(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return {"$float": repr(value)}
    return thawed_json(value)


def decoded(value: Any) -> Any:
    """Read what `encoded` wrote."""
    if isinstance(value, dict):
        if value.keys() == {"$float"}:
            return float(value["$float"])
        return {key: decoded(item) for key, item in value.items()}
    if isinstance(value, list):
        return [decoded(item) for item in value]
    return value
