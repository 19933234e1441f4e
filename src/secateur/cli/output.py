"""The output folder: written completely or not at all, and never overwritten by accident."""

from __future__ import annotations

import ctypes
import json
import os
import secrets
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from secateur.cli.console import interrupts_wait
from secateur.exceptions import InputError

if TYPE_CHECKING:
    from secateur.path import Selection, SelectionPath
    from secateur.report import Evidence


OWN_FILES = {
    *("selection.json", "path.json", "features.txt", "report.html"),
    *("comparison.json", "summary.json", "scores.csv"),
}
_AT_FDCWD = -100
_RENAME_EXCHANGE = 2


def free_name(wanted: Path) -> Path:
    """A name that does not exist yet: ``results``, ``results-2``, ``results-3``, ..."""
    name, number = wanted, 1
    while name.exists():
        number += 1
        name = wanted.with_name(f"{wanted.name}-{number}")
    return name


def check_folder(folder: Path, *, force: bool) -> None:
    """Refuse a folder that results would overwrite, before any work.

    With `force` results replace earlier results, but never other files.
    """
    if not folder.exists():
        if not folder.absolute().parent.is_dir():
            raise InputError(
                f"The parent of the output folder must exist. Got {str(folder)!r}. Make "
                f"{str(folder.parent)!r} first."
            )
        return
    if not folder.is_dir():
        raise InputError(f"{folder} must be a folder. Got a file. Use another --out.")
    present = sorted(entry.name for entry in folder.iterdir())
    foreign = [name for name in present if name not in OWN_FILES and ".selected." not in name]
    if foreign:
        raise InputError(
            f"{folder} must hold results of secateur only. Got {foreign[0]!r}. Use another --out."
        )
    if present and not force:
        raise InputError(
            f"{folder} must be new or empty. Got results of an earlier run. Use another --out, or "
            "--force to replace them."
        )


def check_file(file: Path, *, force: bool) -> None:
    """Refuse a file that would be overwritten, before any work."""
    if file.is_dir():
        raise InputError(f"{file} must be a file. Got a folder. Use another --out.")
    if file.exists() and not force:
        raise InputError(
            f"{file} must be new. Got a file that exists. Use another --out, or --force to "
            "replace it."
        )
    if not file.absolute().parent.is_dir():
        raise InputError(f"The folder of {file} must exist. Got none. Make it first.")


@contextmanager
def new_folder(folder: Path, *, force: bool) -> Iterator[Path]:
    """Give a temporary folder to write to; at the end it replaces `folder` in one step."""
    target = folder.resolve()
    # next to the target, because a rename is atomic within one file system only
    draft = target.with_name(f".{target.name}.{secrets.token_hex(8)}.tmp")
    try:
        draft.mkdir()
        yield draft
        check_folder(target, force=force)  # it may have been created meanwhile
        with interrupts_wait():
            _put(draft, target)
    finally:
        shutil.rmtree(draft, ignore_errors=True)


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
    """Swap two folders in one step, where the system can."""
    try:
        swap = ctypes.CDLL(None, use_errno=True).renameat2
    except (AttributeError, OSError, TypeError):
        return False
    paths = os.fsencode(one), os.fsencode(other)
    done: int = swap(_AT_FDCWD, paths[0], _AT_FDCWD, paths[1], _RENAME_EXCHANGE)
    return done == 0


def write_json(file: Path, document: Mapping[str, Any]) -> None:
    """Write a document as strict, indented JSON."""
    file.write_text(json.dumps(document, allow_nan=False, indent=2) + "\n", encoding="utf-8")


def write_selection(
    folder: Path,
    path: SelectionPath,
    selection: Selection,
    evidence: Evidence | None,
    document: Mapping[str, Any],
    *,
    title: str,
    force: bool,
    data: tuple[str, bytes] | None = None,
) -> list[str]:
    """Write selection, path, names, report and the reduced data; return the names of the files."""
    from secateur.cli.documents import about_page
    from secateur.report import Entry, write_page

    with new_folder(folder, force=force) as draft:
        saved = None if evidence is None else evidence.to_json()
        path.save(draft / "path.json", evidence=saved, rule=selection.chooser)
        write_json(draft / "selection.json", document)
        names = (" ".join(name.splitlines()) for name in selection.names)  # one line each
        (draft / "features.txt").write_text("".join(f"{n}\n" for n in names), encoding="utf-8")
        entry = Entry(title, path, selection, evidence)
        write_page(draft / "report.html", [entry], about=about_page(document))
        if data is not None:
            (draft / data[0]).write_bytes(data[1])
        return sorted(file.name for file in draft.iterdir())
