"""Folders that are written whole or not at all, and by one process at a time.

A process writes into a folder of another name, and renames it when all is on the disk. Meanwhile
it holds a lock, a file next to the folder, which the system releases when the process ends.
"""

from __future__ import annotations

import errno
import os
import shutil
import tempfile
import weakref
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from glob import escape
from pathlib import Path
from typing import Any
from uuid import uuid4

from secateur.exceptions import StorageError

LOCK = ".secateur-lock"  # how the names of locks end


class TemporaryFolder:
    """A new folder that is deleted when this object is garbage collected."""

    def __init__(self) -> None:
        parent = Path(tempfile.gettempdir())
        remove_left(parent)
        name = f"secateur-{uuid4().hex}"
        with ExitStack() as stack:
            stack.enter_context(lock_beside(parent / name, wait=True))
            self.path = Path(tempfile.mkdtemp(".tmp", f".{name}.", parent))
            stack.callback(shutil.rmtree, self.path, ignore_errors=True)
            weakref.finalize(self, stack.pop_all().close)


def write_folder(folder: Path, write: Callable[[Path], Any], *, keep: bool) -> Any:
    """Have a folder written, unless it is there; ``keep`` one that others may use, or use later."""
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with lock_beside(folder, wait=True) if keep else nullcontext():
            return None if folder.exists() else _write(folder, write, keep=keep)
    except OSError as error:
        fact = f"a folder that can be written to. Got {str(folder.parent)!r}: {error}"
        if error.errno in {errno.ENOSPC, errno.EDQUOT}:
            fact = f"a folder with room for the table. Got a full disk at {str(folder.parent)!r}"
        raise StorageError(
            f"The cache must be {fact}. Free some space, or give another folder as 'cache'. "
            "Nothing was kept."
        ) from error


def _write(folder: Path, write: Callable[[Path], Any], *, keep: bool) -> Any:
    if keep:
        remove_left(folder.parent)
    with draft_beside(folder) as draft:
        written = write(draft)
        if keep:
            for file in (*draft.iterdir(), draft):
                _to_disk(file)
        if not folder.exists():  # where there are no locks another process may have written it
            draft.rename(folder)
        if keep:
            _to_disk(folder.parent)
    return written


@contextmanager
def draft_beside(folder: Path) -> Iterator[Path]:
    """A new folder next to another, to be renamed: that is atomic within one file system only."""
    draft = folder.with_name(f".{folder.name}.{uuid4().hex}.tmp")
    try:
        draft.mkdir()
        yield draft
    except OSError as error:
        if error.filename is not None:  # the name of the draft means nothing to users
            error.filename = str(error.filename).replace(str(draft), str(folder))
        raise
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def _to_disk(path: Path) -> None:
    """Have the system write a file or the names in a folder, which not all systems can open."""
    if path.is_dir() and os.name == "nt":
        return
    opened = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)


@contextmanager
def lock_beside(folder: Path, *, wait: bool) -> Iterator[bool]:
    """Hold the lock of a folder, without its old drafts; False if another process has it."""
    try:
        import fcntl
    except ImportError:  # Windows
        yield True
        return
    file, how = folder.with_name(f".{folder.name}{LOCK}"), fcntl.LOCK_EX
    with ExitStack() as stack:
        is_own = False
        while not is_own:
            stream = stack.enter_context(file.open("wb"))
            try:
                fcntl.flock(stream, how if wait else how | fcntl.LOCK_NB)
            except OSError as error:
                if is_free := not isinstance(error, BlockingIOError):  # no locks in this place
                    file.unlink(missing_ok=True)
                yield is_free
                return
            with suppress(FileNotFoundError):  # not that of a process which has just removed it
                is_own = os.path.samestat(file.stat(), os.fstat(stream.fileno()))
        stack.callback(file.unlink, missing_ok=True)
        for draft in folder.parent.glob(f".{escape(folder.name)}.*.tmp"):
            shutil.rmtree(draft, ignore_errors=True)
        yield True


def remove_left(parent: Path) -> None:
    """Remove the locks and drafts of processes that ended."""
    for lock in parent.glob(f".*{LOCK}"):
        with suppress(OSError), lock_beside(parent / lock.name[1 : -len(LOCK)], wait=False):
            pass
