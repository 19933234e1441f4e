"""The output folder: written completely or not at all, and never overwritten by accident."""

from __future__ import annotations

import ctypes
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from itertools import count
from pathlib import Path
from typing import Any

from secateur.cli.console import interrupts_end_the_command, json_text
from secateur.cli.documents import about_page
from secateur.exceptions import InputError
from secateur.report import Entry, is_page, write_page
from secateur.storage.writing import draft_beside, lock_beside

OWN_FILES = {
    *("selection.json", "path.json", "features.txt", "report.html"),
    *("comparison.json", "summary.json", "scores.csv"),
}
AT_FDCWD, RENAME_EXCHANGE = -100, 2  # of the system call renameat2


@contextmanager
def reserved_folder(
    given: Path | None, default: str, *, force: bool, data: Path | None = None
) -> Iterator[Path]:
    """The output folder, reserved for this run; ``default-2``, ... where `default` is taken."""
    names = (default if n == 1 else f"{default}-{n}" for n in count(1))
    for folder in [given] if given is not None else map(Path, names):
        if given is None and folder.exists():
            continue
        check_folder(folder, force=force, data=data)
        with ExitStack() as stack:
            try:
                is_free = stack.enter_context(lock_beside(folder.resolve(), wait=False))
            except OSError as error:
                raise InputError(
                    f"Results must be written to {str(folder.resolve().parent)!r}. Got "
                    f"{error.strerror}. Use another --out."
                ) from error
            if is_free:
                yield folder
                return
    raise InputError(f"{given} is being written by another run. Use another --out, or wait.")


def check_folder(folder: Path, *, force: bool, data: Path | None = None) -> None:
    """Refuse a folder with results, unless `force`, and one with other files or the `data`."""
    if not folder.exists():
        if not folder.absolute().parent.is_dir():
            raise InputError(f"The folder {str(folder.parent)!r} must exist. Make it first.")
        return
    if not folder.is_dir():
        raise InputError(f"{folder} must be a folder. Got a file. Use another --out.")
    present = sorted(entry.name for entry in folder.iterdir())
    foreign = [name for name in present if name not in OWN_FILES and ".selected." not in name]
    if foreign:
        raise InputError(
            f"{folder} must hold nothing but results. Got {foreign[0]!r}. Use another --out."
        )
    if data is not None and data.resolve().parent == folder.resolve():
        raise InputError(
            f"The output folder must not hold the data. Got {data.name!r} in it. Use another --out."
        )
    if present and not force:
        raise InputError(
            f"{folder} already has results. Use another --out, or --force to overwrite them."
        )


def check_page(file: Path, *, force: bool) -> None:
    """Refuse a file that would be overwritten, before any work; with `force` what is no page."""
    if file.is_dir():
        raise InputError(f"{file} must be a file. Got a folder. Use another --out.")
    if file.exists() and not is_page(file):
        raise InputError(
            f"{file} must be a new file or a page of secateur. Got another file. Use another --out."
        )
    if file.exists() and not force:
        raise InputError(f"{file} already exists. Use another --out, or --force to overwrite it.")
    if not file.absolute().parent.is_dir():
        raise InputError(f"The folder of {file} must exist. Got none. Make it first.")


@contextmanager
def new_folder(folder: Path, *, force: bool) -> Iterator[Path]:
    """Give a temporary folder to write to; at the end it replaces `folder` in one step."""
    target = folder.resolve()
    with draft_beside(target) as draft:
        yield draft
        check_folder(target, force=force)  # it may have been created meanwhile
        with interrupts_end_the_command(wait=True):
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
    places = AT_FDCWD, os.fsencode(one), AT_FDCWD, os.fsencode(other)
    return bool(swap(*places, RENAME_EXCHANGE) == 0)


def write_selection(
    folder: Path,
    entry: Entry,
    document: Mapping[str, Any],
    *,
    force: bool,
    data: tuple[str, bytes] | None = None,
) -> dict[str, Any]:
    """Write selection, path, names of columns, report and reduced data; return folder and files."""
    with new_folder(folder, force=force) as draft:
        saved = None if entry.evidence is None else entry.evidence.to_json()
        entry.path.save(draft / "path.json", evidence=saved, rule=entry.cut.chooser)
        (draft / "selection.json").write_text(json_text(document), encoding="utf-8")
        names = (" ".join(name.splitlines()) for name in entry.cut.names)  # one line each
        (draft / "features.txt").write_text("".join(f"{n}\n" for n in names), encoding="utf-8")
        write_page(draft / "report.html", [entry], about=about_page(document))
        if data is not None:
            (draft / data[0]).write_bytes(data[1])
        return files_in(draft, folder)


def files_in(draft: Path, folder: Path) -> dict[str, Any]:
    """The files of a draft, for the document of the folder that it becomes."""
    return {"folder": str(folder), "files": sorted(file.name for file in draft.iterdir())}
