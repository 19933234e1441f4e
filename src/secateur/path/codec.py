"""Results as strict JSON: `Saved` frozen dataclasses, with a format name and a version.

The fields of a dataclass and their types say what a file holds. Loading checks every value once and
raises `StorageError` where one is missing or wrong; keys it does not know are ignored.
"""

from __future__ import annotations

import json
import math
import os
import secrets
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields, is_dataclass
from enum import Enum
from functools import lru_cache
from pathlib import Path
from types import UnionType
from typing import (
    Any,
    ClassVar,
    Literal,
    NamedTuple,
    Self,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

import numpy as np

from secateur.exceptions import SecateurError, StorageError

T = TypeVar("T")


class Format(NamedTuple):
    """A file format: its name and version, what it holds, and what to do about a broken file."""

    name: str
    version: int
    what: str
    advice: str


class Saved:
    """A frozen dataclass that can be saved in a file of its own."""

    __slots__ = ()
    _format: ClassVar[Format]

    def to_json(self) -> str:
        """Return it as strict JSON."""
        return to_json(self)

    @classmethod
    def from_json(cls, text: str | bytes) -> Self:
        """Read what `to_json` returned."""
        document = read_document(cls, text)
        known = cls._format
        try:
            if document["version"] < known.version:
                document = cls._upgraded(document)
            return from_document(cls, document, known.what)
        except (KeyError, TypeError, ValueError, OverflowError, SecateurError) as error:
            raise StorageError(
                f"The {known.what} is damaged. Got {error}. {known.advice}"
            ) from error

    @classmethod
    def _upgraded(cls, document: dict[str, Any]) -> dict[str, Any]:
        """Turn a document of an older version into one of today's."""
        return document

    def save(self, file: str | os.PathLike[str]) -> None:
        """Write it to a file, whole or not at all."""
        write_whole(file, self.to_json() + "\n")

    @classmethod
    def load(cls, file: str | os.PathLike[str]) -> Self:
        """Read what `save` wrote."""
        with naming(file):
            return cls.from_json(Path(file).read_bytes())


def saved(key: str | None = None, *, optional: bool = False, skip: bool = False) -> dict[str, Any]:
    """Metadata of a field: its key in files, whether it may be missing, whether it is left out."""
    return {"key": key, "optional": optional, "skip": skip}


class _Entry(NamedTuple):
    """How one field is saved."""

    name: str
    key: str
    kind: Any
    optional: bool


@lru_cache
def _entries(kind: type) -> tuple[_Entry, ...]:
    hints = get_type_hints(kind)
    known = [(each.name, each.metadata) for each in fields(kind)]
    return tuple(
        _Entry(name, how.get("key") or name, hints[name], bool(how.get("optional")))
        for name, how in known
        if not how.get("skip")
    )


# ---- writing ----------------------------------------------------------------------------------


def to_document(value: Any) -> dict[str, Any]:
    """Return a dataclass as plain JSON values; optional fields only where they hold something."""
    document = {}
    for entry in _entries(type(value)):  # type: ignore[arg-type]
        held = getattr(value, entry.name)
        if not entry.optional or held:
            document[entry.key] = _encode(held, entry.kind)
    return document


def to_json(value: Saved, **more: Any) -> str:
    """Return a dataclass as strict JSON, with `more` keys that others may read."""
    known = value._format  # noqa: SLF001
    document = {"format": known.name, "version": known.version, **to_document(value), **more}
    return json.dumps(document, allow_nan=False, separators=(",", ":"))


def _encode(value: Any, kind: Any) -> Any:
    if is_dataclass(value):
        return to_document(value)
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, Mapping):
        return {str(key): _encode(item, kind) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_encode(item, kind) for item in value]
    if not isinstance(value, float) or math.isfinite(value):
        return value
    # Strict JSON has no NaN and no infinity; float() reads their names back. Where any value may
    # be, a name would be read as text, so it gets a mark.
    name = repr(float(value))
    return {"$float": name} if _may_be_any(kind) else name


def _may_be_any(kind: Any) -> bool:
    return kind is Any or any(map(_may_be_any, get_args(kind)))


# ---- reading ----------------------------------------------------------------------------------


def read_document(kind: type[Saved], text: str | bytes) -> dict[str, Any]:
    """Read a JSON object of the format of `kind`, of its version or an older one."""
    known = kind._format  # noqa: SLF001
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:  # UnicodeDecodeError is a ValueError too
        raise StorageError(
            f"A {known.what} must be JSON. Got text that is truncated or something else ({error}). "
            "Save it again, or check that this is the right file."
        ) from error
    found = document.get("format") if isinstance(document, dict) else None
    if not isinstance(document, dict) or found != known.name:
        raise StorageError(
            f"A {known.what} must have the format {known.name!r}. Got {found!r}. "
            f"Check that this is a file in which a {known.what} was saved."
        )
    version = document.get("version")
    if type(version) is not int or not 1 <= version <= known.version:
        raise StorageError(
            f"The version of a {known.what} must be a whole number from 1 to {known.version}. "
            f"Got version {version!r}. Save it again, or install a newer secateur to read it."
        )
    return document


def from_document(kind: type[T], document: Any, where: str) -> T:
    """Read what `to_document` returned; `where` is how errors call it."""
    _require(dict, document, "an object", where)
    values = {}
    for entry in _entries(kind):  # type: ignore[arg-type]
        if entry.key in document:
            inside = f"{where}.{entry.key}"
            values[entry.name] = _decode(entry.kind, document[entry.key], inside)
        elif not entry.optional:
            raise TypeError(f"{where} without {entry.key!r}")
    build: Callable[..., T] = getattr(kind, "_from_saved", kind)
    return build(**values)


def _decode(kind: Any, value: Any, where: str) -> Any:
    origin, inner = get_origin(kind), get_args(kind)
    if kind is Any:
        return _decode_any(value)
    if origin in (Union, UnionType):
        return None if value is None else _decode(_not_none(inner), value, where)
    if is_dataclass(kind):
        return from_document(kind, value, where)  # type: ignore[arg-type]
    if origin is tuple:
        items = _require(list, value, "a list", where)
        kinds = _item_kinds(inner, items)
        if len(kinds) != len(items):
            raise _wrong(where, f"a list of {len(kinds)} values", value)
        return tuple(_decode(k, item, where) for k, item in zip(kinds, items, strict=True))
    if origin is Mapping:
        items = _require(dict, value, "an object", where).items()
        return {inner[0](key): _decode(inner[1], item, f"{where}.{key}") for key, item in items}
    if origin is np.ndarray:
        is_float = "float" in str(inner[1])
        items = _require(list, value, "a list", where)
        return np.array([_float(item, where) for item in items] if is_float else items)
    return _decode_scalar(kind, value, where)


def _decode_scalar(kind: Any, value: Any, where: str) -> Any:
    if kind is float:
        return _float(value, where)
    if get_origin(kind) is Literal:
        return value  # the class checks it
    if issubclass(kind, Enum):
        return kind(value)
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise _wrong(where, f"of type {kind.__name__}", value)
    return value


def _decode_any(value: Any) -> Any:
    if isinstance(value, dict):
        if value.keys() == {"$float"}:
            return float(value["$float"])
        return {key: _decode_any(item) for key, item in value.items()}
    return [_decode_any(item) for item in value] if isinstance(value, list) else value


def _float(value: Any, where: str) -> float:
    if isinstance(value, dict):
        value = value.get("$float")
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise _wrong(where, "a number", value)
    return float(value)


def _require(kind: type, value: Any, wanted: str, where: str) -> Any:
    if not isinstance(value, kind):
        raise _wrong(where, wanted, value)
    return value


def _wrong(where: str, wanted: str, value: Any) -> TypeError:
    return TypeError(f"{where} that is not {wanted}: {str(value)[:80]!r}")


def _not_none(kinds: tuple[Any, ...]) -> Any:
    return next(kind for kind in kinds if kind is not type(None))


def _item_kinds(inner: tuple[Any, ...], items: Any) -> tuple[Any, ...]:
    """The types of the items of a tuple: ``tuple[T, ...]`` is as long as its items."""
    return (inner[0],) * len(items) if inner[1:] == (...,) else inner


# ---- files ------------------------------------------------------------------------------------


@contextmanager
def naming(file: str | os.PathLike[str]) -> Iterator[None]:
    """Put the name of the file in front of a `StorageError`."""
    try:
        yield
    except StorageError as error:
        raise StorageError(f"{os.fspath(file)}: {error}") from error


def write_whole(file: str | os.PathLike[str], content: str | bytes) -> Path:
    """Write `content` to `file`, whole or not at all, and return where it is.

    A link is followed, so that what it points to is replaced and not the link.
    """
    target = Path(file).resolve()
    # In the same folder, because a file can only be renamed in one go within one file system.
    draft = target.with_name(f".{target.name}.{secrets.token_hex(8)}.tmp")
    try:
        with draft.open("xb") as stream:
            stream.write(content.encode() if isinstance(content, str) else content)
        draft.replace(target)
    finally:
        draft.unlink(missing_ok=True)
    return target
