"""The page of a class: what secateur adds, not what scikit-learn brings; escaped underscores."""

from __future__ import annotations

import inspect
import re
from types import MemberDescriptorType
from typing import Any

from sphinx.application import Sphinx

CODE = re.compile(r"(``.*?``|`[^`]*`)")
ENDS_IN_UNDERSCORE = re.compile(r"(?<=\w)_(?!\w)")


def is_ours(member: Any) -> bool:
    """Whether a member was written here, and has a docstring."""
    if isinstance(member, MemberDescriptorType):  # a field, described in the docstring of its class
        return False
    if isinstance(member, property):
        member = member.fget
    if isinstance(member, classmethod | staticmethod):
        member = member.__func__
    home = getattr(inspect.unwrap(member), "__module__", None) if callable(member) else None
    return str(home).startswith("secateur") and bool(getattr(member, "__doc__", None))


def skip(
    _app: Sphinx, _what: str, name: str, member: Any, _skip: bool, _options: Any
) -> bool | None:
    """Say which members to leave out."""
    return True if name.startswith("_") or not is_ours(member) else None


def escape(
    _app: Sphinx, _what: str, _name: str, _object: Any, _options: Any, lines: list[str]
) -> None:
    """Take ``n_features_in_`` in a type for a name: reST would look for a link."""
    for number, line in enumerate(lines):
        if line.lstrip().startswith((">>>", "...")):
            continue
        parts = CODE.split(line)  # every other part is code
        parts[::2] = [ENDS_IN_UNDERSCORE.sub(r"\\_", part) for part in parts[::2]]
        lines[number] = "".join(parts)


def setup(app: Sphinx) -> dict[str, bool]:
    """Ask at every member, and look at every docstring when numpydoc is done with it."""
    app.connect("autodoc-skip-member", skip)
    app.connect("autodoc-process-docstring", escape, priority=900)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
