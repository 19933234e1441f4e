"""A directive that shows the notes in ``changes/``: what the next release will bring."""

from __future__ import annotations

import sys
from pathlib import Path

from docutils import nodes
from docutils.statemachine import StringList
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools"))
from change_notes import FOLDER, gather


class Changes(SphinxDirective):
    """Puts the notes where it stands."""

    def run(self) -> list[nodes.Node]:
        """The notes as parts of the document."""
        for file in FOLDER.glob("*.md"):
            self.env.note_dependency(str(file))
        text = gather(level=3) or "Nothing yet."
        holder = nodes.Element()
        lines = StringList(text.splitlines(), source=str(FOLDER))
        self.state.nested_parse(lines, self.content_offset, holder, match_titles=True)
        return holder.children


def setup(app: Sphinx) -> dict[str, bool]:
    """Add the directive."""
    app.add_directive("changes", Changes)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
