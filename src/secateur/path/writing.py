"""Files written whole or not at all: a reader never sees half a file."""

from __future__ import annotations

import os
import secrets
from pathlib import Path


def write_whole(file: str | os.PathLike[str], text: str) -> Path:
    """Write `text` to `file`, whole or not at all, and return where it is.

    A link is followed, so that what it points to is replaced and not the link.
    """
    target = Path(file).resolve()
    # In the same folder, because a file can only be renamed in one go within one file system.
    draft = target.with_name(f".{target.name}.{secrets.token_hex(8)}.tmp")
    try:
        with draft.open("x", encoding="utf-8", newline="\n") as stream:
            stream.write(text)
        draft.replace(target)
    finally:
        draft.unlink(missing_ok=True)
    return target
