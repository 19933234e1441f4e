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
WANTED = {dict: "an object", list: "a list", str: "text", int: "a whole number"}
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
            found = error if isinstance(error, _ERRORS) else repr(error)
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


@lru_cache
def _entries(kind: type) -> tuple[tuple[str, str, Any, bool], ...]:
    """Name, key in files and type of each field, and whether it may be missing."""
    hints = get_type_hints(kind)
    kept = [(each.name, each.metadata) for each in fields(kind) if not each.metadata.get("skip")]
    return tuple(
        (name, how.get("key") or name, hints[name], bool(how.get("optional"))) for name, how in kept
    )


def to_document(value: Any) -> dict[str, Any]:
    """Return a dataclass as plain JSON values; optional fields only where they hold something."""
    document = {}
    for name, key, kind, is_optional in _entries(type(value)):  # type: ignore[arg-type]  # can be hashed
        held = getattr(value, name)
        if not is_optional or held:
            document[key] = _encode(held, kind)
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
        inside = (each.values() if isinstance(each, dict) else each for each in level)
        level = [item for items in inside for item in items if isinstance(item, dict | list)]
        if not level:
            return False
    return True


def from_document(kind: type[T], document: Any, where: str = "") -> T:
    """Read what `to_document` returned; `where` is its place in the file."""
    _checked(dict, document)
    values = {}
    for name, key, its_kind, is_optional in _entries(kind):  # type: ignore[arg-type]  # a type can be hashed
        inside = f"{where}.{key}".lstrip(".")
        if key in document:
            values[name] = decode(its_kind, document[key], inside)
        elif not is_optional:
            raise _DamagedError(f"no {inside}")
    build: Callable[..., T] = getattr(kind, "_from_saved", kind)
    return build(**values)


def decode(kind: Any, value: Any, where: str) -> Any:
    """Read a value of a type; errors say where in the file it is."""
    try:
        return _decode(kind, value, where)
    except _DamagedError:
        raise
    except _ERRORS as error:
        raise _DamagedError(f"{where}: {error}") from error


def _decode(kind: Any, value: Any, where: str) -> Any:
    if kind is Any:
        if not isinstance(value, dict | list | str):
            return value
        kind = _kind_of_any(value)
    origin, inner = get_origin(kind), get_args(kind)
    if origin in (Union, UnionType):
        kind = next(each for each in inner if each is not type(None))
        return None if value is None else _decode(kind, value, where)
    if is_dataclass(kind):
        return from_document(kind, value, where)  # type: ignore[arg-type]
    if origin is Mapping:
        items = _checked(dict, value).items()
        key_of, of_items = inner
        return {key_of(_checked(str, k)): decode(of_items, v, f"{where}.{k}") for k, v in items}
    if origin is np.ndarray:
        number: Any = float if "float" in str(inner[1]) else int
        if not {*map(type, _checked(list, value))} <= {int, number}:
            value = _decode(tuple[number, ...], value, where)
        return np.array(value, np.float64 if number is float else np.int64)
    if origin is tuple:
        kinds = inner[:1] * len(_checked(list, value)) if inner[1:] == (...,) else inner
        if len(kinds) != len(value):
            raise _wrong(f"a list of {len(kinds)} values", value)
        pairs = enumerate(zip(kinds, value, strict=True))
        return tuple(decode(of_item, item, f"{where}[{i}]") for i, (of_item, item) in pairs)
    return _checked(kind, value)


def _kind_of_any(value: Any) -> Any:
    if isinstance(value, dict):
        return float if value.keys() == {"$float"} else Mapping[str, Any]
    return tuple[Any, ...] if isinstance(value, list) else type(value)


def _checked(kind: Any, value: Any) -> Any:
    """A plain value, if it is of its type; JSON has no types but these."""
    if kind is float:
        given: Any = value.get("$float") if isinstance(value, dict) else value
        if type(given) not in {int, float} and given not in NOT_FINITE:
            raise _wrong("a number", value)
        return float(given)
    if get_origin(kind) is Literal:
        if value not in get_args(kind):
            raise _wrong(f"one of {', '.join(map(repr, get_args(kind)))}", value)
    elif issubclass(kind, Enum):
        return kind(value)
    elif type(value) is not kind:
        raise _wrong(WANTED.get(kind, f"of type {kind.__name__}"), value)
    elif kind is str:
        value.encode()  # half a surrogate pair cannot be written
    elif kind is int and not -(2**63) <= value < 2**63:
        raise _wrong("a number of at most 64 bits", value)
    return value


def _wrong(wanted: str, value: Any) -> ValueError:
    return ValueError(f"{ascii(value)[:80]} is not {wanted}")


@contextmanager
def naming(file: str | os.PathLike[str]) -> Iterator[None]:
    """Put the name of the file in front of a `StorageError`."""
    try:
        yield
    except StorageError as error:
        raise StorageError(f"{os.fspath(file)}: {error}") from error


def write_whole(file: str | os.PathLike[str], content: str | bytes) -> Path:
    """Write `content` to `file`, whole or not at all, and return where it is."""
    target = Path(file).resolve()  # what a link points to is replaced, not the link
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
