"""The folder of compiled code: numba's own choice, or a private one where it finds none."""

from __future__ import annotations

import atexit
import os
import shutil
import stat
import tempfile
import warnings
from contextlib import suppress
from pathlib import Path

import numba

from secateur.exceptions import SecateurWarning, StorageError

VARIABLE = "NUMBA_CACHE_DIR"


def ensure_cache() -> None:
    """Have numba keep compiled code in a temporary folder if it cannot write to any of its own.

    Code that is in a given folder that cannot be written to, as in a container, is copied.
    """
    given = os.environ.get(VARIABLE, "")
    with suppress(RuntimeError):
        numba.njit(cache=True)(ensure_cache)  # whether numba finds a folder for this package
        return
    try:
        folder = _private_folder()
        if Path(given or "none").is_dir():
            shutil.copytree(given, folder, dirs_exist_ok=True, copy_function=shutil.copy)
    except OSError as error:
        raise StorageError(
            f"Compiled code must be kept in some folder. Got none that can be written to: {error}. "
            f"Set {VARIABLE} to one."
        ) from error
    os.environ[VARIABLE] = numba.config.CACHE_DIR = str(folder)  # processes that start here too
    if not given:
        warnings.warn(
            "Compiled code is kept in a temporary folder, since neither the folder of the package "
            f"nor the home folder can be written to. Got {str(folder)!r}. Set {VARIABLE} to a "
            "folder that stays; 'secateur warm-up --folder DIR' fills it.",
            SecateurWarning,
            stacklevel=2,
        )


def _private_folder() -> Path:
    """One folder for each user, which nobody else can write to; else one for this process."""
    user = os.getuid() if hasattr(os, "getuid") else ""
    folder = Path(tempfile.gettempdir()) / f"secateur-numba-{user}"
    with suppress(FileExistsError):
        folder.mkdir(mode=0o700)
    found = folder.lstat()
    is_private = os.name == "nt" or (found.st_uid == user and not found.st_mode & 0o077)
    if stat.S_ISDIR(found.st_mode) and is_private:
        return folder
    own = Path(tempfile.mkdtemp(prefix="secateur-numba-"))  # code of others must not be run
    atexit.register(shutil.rmtree, own, ignore_errors=True)
    return own
