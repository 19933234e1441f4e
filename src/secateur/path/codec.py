"""Results as strict JSON: `Saved` frozen dataclasses, with a format name and a version.

The fields of a dataclass and their types say what a file holds. Loading checks every value once and
raises `StorageError` where one is missing or wrong, with its place in the file: ``steps[3].order``.
Keys it does not know are ignored.
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
MAX_DEPTH = 60  # of lists and objects inside of each other
NOT_FINITE = ("nan", "inf", "-inf")  # numbers that strict JSON has not


class _DamagedError(ValueError):
    """A value that is wrong, and its place in the file."""


_ERRORS = (TypeError, ValueError, OverflowError, SecateurError)


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
            return from_document(cls, document)
        except (*_ERRORS, KeyError, IndexError, AttributeError) as error:
            found = error if isinstance(error, _DamagedError) else repr(error)
            raise StorageError(
                f"The {known.what} is damaged. Got {found}. {known.advice}"
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
    for entry in _entries(type(value)):  # type: ignore[arg-type]  # a type can be hashed
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
    if _is_deep(document):
        raise StorageError(
            f"A {known.what} must be nested at most {MAX_DEPTH} deep. Got more. {known.advice}"
        )
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


def _is_deep(document: Any) -> bool:
    """Whether a document is nested too deeply to be read by recursion."""
    level: list[Any] = [[document]]
    for _ in range(MAX_DEPTH):
        level = [
            item
            for each in level
            for item in (each.values() if isinstance(each, dict) else each)
            if isinstance(item, dict | list)
        ]
        if not level:
            return False
    return True


def from_document(kind: type[T], document: Any, where: str = "") -> T:
    """Read what `to_document` returned; `where` is its place in the file."""
    _require(dict, document, "an object", where)
    values = {}
    for entry in _entries(kind):  # type: ignore[arg-type]  # a type can be hashed
        inside = f"{where}.{entry.key}".lstrip(".")
        if entry.key in document:
            values[entry.name] = _decode(entry.kind, document[entry.key], inside)
        elif not entry.optional:
            raise _DamagedError(f"no {inside}")
    build: Callable[..., T] = getattr(kind, "_from_saved", kind)
    with _at(where):
        return build(**values)


@contextmanager
def _at(where: str) -> Iterator[None]:
    """Say where a value is that a class refuses."""
    try:
        yield
    except _DamagedError:
        raise
    except _ERRORS as error:
        raise _DamagedError(f"{where}: {error}" if where else str(error)) from error


def _decode(kind: Any, value: Any, where: str) -> Any:
    origin, inner = get_origin(kind), get_args(kind)
    if kind is Any:
        return _decode_any(value, where)
    if origin in (Union, UnionType):
        return None if value is None else _decode(_not_none(inner), value, where)
    if is_dataclass(kind):
        return from_document(kind, value, where)  # type: ignore[arg-type]
    if origin is tuple:
        items = _require(list, value, "a list", where)
        kinds = _item_kinds(inner, items)
        if len(kinds) != len(items):
            raise _wrong(where, f"a list of {len(kinds)} values", value)
        pairs = zip(kinds, items, strict=True)
        return tuple(_decode(k, item, f"{where}[{i}]") for i, (k, item) in enumerate(pairs))
    if origin is Mapping:
        items = _require(dict, value, "an object", where).items()
        return {
            _key(inner[0], key, where): _decode(inner[1], item, f"{where}.{key}")
            for key, item in items
        }
    if origin is np.ndarray:
        return _decode_array("float" in str(inner[1]), value, where)
    return _decode_scalar(kind, value, where)


def _decode_array(is_float: bool, value: Any, where: str) -> Any:
    items = _require(list, value, "a list", where)
    types = set(map(type, items))
    if is_float and not types <= {int, float}:
        items = [_float(item, f"{where}[{i}]") for i, item in enumerate(items)]
    if not is_float and not types <= {int}:
        place, wrong = next((i, item) for i, item in enumerate(items) if type(item) is not int)
        raise _wrong(f"{where}[{place}]", "a whole number", wrong)
    with _at(where):
        return np.array(items, np.float64 if is_float else np.int64)


def _decode_scalar(kind: Any, value: Any, where: str) -> Any:
    if kind is float:
        return _float(value, where)
    if get_origin(kind) is Literal:
        if value not in get_args(kind):
            raise _wrong(where, f"one of {', '.join(map(repr, get_args(kind)))}", value)
        return value
    if issubclass(kind, Enum):
        with _at(where):
            return kind(value)
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise _wrong(where, f"of type {kind.__name__}", value)
    if kind is int and not -(2**63) <= value < 2**63:
        raise _wrong(where, "a number of at most 64 bits", value)
    return _text(value, where) if kind is str else value


def _decode_any(value: Any, where: str) -> Any:
    if isinstance(value, dict):
        if value.keys() == {"$float"}:
            return _float(value, where)
        return {_text(k, where): _decode_any(item, f"{where}.{k}") for k, item in value.items()}
    if isinstance(value, list):
        return [_decode_any(item, f"{where}[{i}]") for i, item in enumerate(value)]
    return _text(value, where) if isinstance(value, str) else value


def _float(value: Any, where: str) -> float:
    given: Any = value.get("$float") if isinstance(value, dict) else value
    is_number = isinstance(given, int | float) and not isinstance(given, bool)
    if not is_number and given not in NOT_FINITE:
        raise _wrong(where, "a number", value)
    with _at(where):
        return float(given)


def _key(kind: Any, key: str, where: str) -> Any:
    with _at(where):
        return kind(_text(key, where))


def _text(value: str, where: str) -> str:
    with _at(where):
        value.encode()  # half a surrogate pair cannot be written
    return value


def _require(kind: type, value: Any, wanted: str, where: str) -> Any:
    if not isinstance(value, kind):
        raise _wrong(where, wanted, value)
    return value


def _wrong(where: str, wanted: str, value: Any) -> _DamagedError:
    return _DamagedError(f"{where or 'a file'} that is not {wanted}: {ascii(value)[:80]}")


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
    except OSError as error:
        if error.filename is None:
            raise
        # with the name of the file, not of the draft
        raise OSError(error.errno, error.strerror, str(target)) from error
    finally:
        draft.unlink(missing_ok=True)
    return target
