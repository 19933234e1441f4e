"""Folders that are written whole or not at all, and by one process at a time.

A process writes into a folder of another name, and renames it when all is on the disk. Meanwhile
it holds a lock, a file with its name, whose time it renews; others wait for the folder.
"""

from __future__ import annotations

import errno
import os
import re
import shutil
import socket
import tempfile
import time
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Event, Thread
from uuid import uuid4

from secateur.exceptions import StorageError

RENEWED = 5.0  # seconds after which the time of a lock is renewed
EXPIRED = 60.0  # a lock that was not renewed for so many seconds is that of a process that ended
POLLED = 0.1  # seconds between looks at the lock of another process
_OWNED = re.compile(r"(?:\.|secateur-)(\d+@[\w-]+)\.\w{8}(?:\.part)?")  # folders of one process


class TemporaryFolder:
    """A new folder that is deleted when this object is garbage collected."""

    def __init__(self) -> None:
        _remove_left(Path(tempfile.gettempdir()))
        self.path = Path(tempfile.mkdtemp(prefix=f"secateur-{_owner()}."))
        weakref.finalize(self, shutil.rmtree, self.path, ignore_errors=True)


def write_folder(folder: Path, write: Callable[[Path], object], *, keep: bool) -> None:
    """Have a folder written, unless it is there; ``keep`` one that others may use, or use later."""
    try:
        with _lock(folder) if keep else _no_lock() as is_mine:
            if is_mine and not folder.exists():
                _write(folder, write, keep=keep)
    except OSError as error:
        raise _unwritable(folder, error) from error


def _write(folder: Path, write: Callable[[Path], object], *, keep: bool) -> None:
    part = folder.with_name(f".{_owner()}.{uuid4().hex[:8]}.part")
    try:
        part.mkdir(parents=True)
        write(part)
        if keep:
            for file in (*part.iterdir(), part):
                _to_disk(file)
        if folder.exists():  # another process took this one for dead
            return
        part.rename(folder)
        if keep:
            _to_disk(folder.parent)
    finally:
        shutil.rmtree(part, ignore_errors=True)


def _to_disk(path: Path) -> None:
    """Have the system write a file or the names in a folder, which not all systems can open."""
    if path.is_dir() and os.name == "nt":
        return
    opened = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)


def _unwritable(folder: Path, error: OSError) -> StorageError:
    fact = f"a folder that can be written to. Got {str(folder.parent)!r}: {error}"
    if error.errno in {errno.ENOSPC, errno.EDQUOT}:
        fact = f"a folder with room for the table. Got a full disk at {str(folder.parent)!r}"
    return StorageError(
        f"The cache must be {fact}. Free some space, or give another folder as 'cache'. Nothing "
        "was kept."
    )


# ---- locks ------------------------------------------------------------------------------------


@contextmanager
def _no_lock() -> Iterator[bool]:
    yield True


@contextmanager
def _lock(folder: Path) -> Iterator[bool]:
    """Hold the lock of a folder, or wait until another process wrote it: whether it is held.

    Two processes that write the same folder all the same do no harm: the first one's is kept.
    """
    folder.parent.mkdir(parents=True, exist_ok=True)
    lock = folder.with_name(f".{folder.name}.lock")
    while not _created(lock):
        _wait(lock)
        if folder.exists():
            yield False
            return
    ended = Event()
    Thread(target=_renew, args=(lock, ended), daemon=True).start()
    try:
        _remove_left(folder.parent)
        yield True
    finally:
        ended.set()
        lock.unlink(missing_ok=True)


def _created(lock: Path) -> bool:
    try:
        opened = os.open(lock, os.O_CREAT | os.O_EXCL | os.O_WRONLY)
    except FileExistsError:
        return False
    with os.fdopen(opened, "w", encoding="utf-8") as file:
        file.write(_owner())
    return True


def _renew(lock: Path, ended: Event) -> None:
    while not ended.wait(RENEWED):
        with suppress(OSError):
            os.utime(lock)


def _wait(lock: Path) -> None:
    """Return when a lock is gone; remove that of a process that ended, or does not renew it."""
    last, since = None, time.monotonic()
    while True:
        try:
            owner, renewed = lock.read_text(encoding="utf-8"), lock.stat().st_mtime_ns
        except OSError:
            return
        if renewed != last:
            last, since = renewed, time.monotonic()
        if _has_ended(owner) or time.monotonic() - since > EXPIRED:
            lock.unlink(missing_ok=True)
            return
        time.sleep(POLLED)


def _remove_left(parent: Path) -> None:
    """Remove the unfinished and temporary folders of processes that ended."""
    for folder in parent.iterdir():
        found = _OWNED.fullmatch(folder.name)
        if found and _has_ended(found[1]):
            shutil.rmtree(folder, ignore_errors=True)


def _owner() -> str:
    """Return the number of this process, and where that number means something."""
    return f"{os.getpid()}@{_place()}"


def _place() -> str:
    try:
        space = str(Path("/proc/self/ns/pid").readlink())  # containers have their own numbers
    except OSError:
        space = ""
    return re.sub(r"\W+", "-", f"{socket.gethostname()}-{space}")


def _has_ended(owner: str) -> bool:
    """Whether a process is known to have ended: one of this place that is not there any more."""
    number, _, place = owner.partition("@")
    if place != _place() or not number.isdigit() or os.name == "nt":  # os.kill would end it there
        return False
    try:
        os.kill(int(number), 0)
    except ProcessLookupError:
        return True
    except (OSError, OverflowError):  # that of another user
        return False
    return False
