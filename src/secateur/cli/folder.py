"""The folder of results: written whole or not at all, nothing overwritten unasked."""

from __future__ import annotations

import ctypes
import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from secateur.cli.exit import uninterrupted
from secateur.exceptions import InputError

OURS = {
    *("selection.json", "path.json", "features.txt", "report.html"),
    *("comparison.json", "race.json", "scores.csv"),
}
_HERE = -100  # AT_FDCWD
_EXCHANGE = 2  # RENAME_EXCHANGE


def free_name(wanted: Path) -> Path:
    """A name that is not taken: ``results``, ``results-2``, ``results-3``, ..."""
    name, number = wanted, 1
    while name.exists():
        number += 1
        name = wanted.with_name(f"{wanted.name}-{number}")
    return name


def check_folder(folder: Path, *, force: bool) -> None:
    """Refuse a folder that results would overwrite, before any work.

    With `force` results replace earlier results, but never files of another origin.
    """
    if not folder.exists():
        if not folder.absolute().parent.is_dir():
            raise InputError(
                f"Results need a folder to be in. Got {str(folder)!r} in none. Make "
                f"{str(folder.parent)!r} first."
            )
        return
    if not folder.is_dir():
        raise InputError(f"{folder} must be a folder. Got a file. Name another with --out.")
    present = sorted(entry.name for entry in folder.iterdir())
    foreign = [name for name in present if not _is_ours(name)]
    if foreign:
        raise InputError(
            f"{folder} must hold results and nothing else to be replaced. Got {foreign[0]!r}. Name "
            "another folder with --out."
        )
    if present and not force:
        raise InputError(
            f"{folder} holds results already. Got no leave to replace them. Name another folder "
            "with --out, or add --force."
        )


@contextmanager
def whole_folder(folder: Path, *, force: bool) -> Iterator[Path]:
    """Give a folder to write to, which takes its place at the end, all at once.

    Whatever goes wrong before, the place keeps what was there.
    """
    target = folder.resolve()
    # beside the target, because only within one file system a rename is one act
    draft = target.with_name(f".{target.name}.{secrets.token_hex(8)}.tmp")
    try:
        draft.mkdir()
        yield draft
        check_folder(target, force=force)  # it may have come into being meanwhile
        with uninterrupted():
            _put(draft, target)
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def check_file(file: Path, *, force: bool) -> None:
    """Refuse a file that would be overwritten, before any work."""
    if file.is_dir():
        raise InputError(f"{file} must be a file. Got a folder. Name a file in it.")
    if file.exists() and not force:
        raise InputError(
            f"{file} is there already. Got no leave to replace it. Name another file with --out, "
            "or add --force."
        )
    if not file.absolute().parent.is_dir():
        raise InputError(f"{file} needs a folder to be in. Got none. Make it first.")


def _put(draft: Path, target: Path) -> None:
    if not target.exists():
        draft.rename(target)
    elif not _exchange(draft, target):
        aside = draft.with_name(f"{draft.name}.old")
        target.rename(aside)
        try:
            draft.rename(target)
        except OSError:
            aside.rename(target)
            raise
        shutil.rmtree(aside, ignore_errors=True)


def _exchange(one: Path, other: Path) -> bool:
    """Swap two folders in one act, where the system can; what was old is then at ``one``."""
    try:
        swap = ctypes.CDLL(None, use_errno=True).renameat2
    except (AttributeError, OSError, TypeError):
        return False
    done: int = swap(_HERE, os.fsencode(one), _HERE, os.fsencode(other), _EXCHANGE)
    return done == 0


def _is_ours(name: str) -> bool:
    return name in OURS or ".selected." in name
