"""The notes in ``changes/``, gathered by kind: what the changelog is until the next release."""

from __future__ import annotations

from pathlib import Path

from docutils import nodes
from docutils.statemachine import StringList
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

NOTES = Path(__file__).resolve().parents[2] / "changes"
KINDS = {
    "breaking": "What you must change in your code",
    "feature": "What is new",
    "fix": "What was wrong and is right now",
    "speed": "What is quicker or smaller",
    "docs": "What is told better",
}


def gathered(folder: Path = NOTES) -> str:
    """The notes of a folder as one text, under a heading for each kind."""
    parts = []
    for kind, title in KINDS.items():
        notes = [file.read_text(encoding="utf-8") for file in sorted(folder.glob(f"*.{kind}.md"))]
        if notes:
            parts += [f"## {title}", *notes]
    return "\n\n".join(parts)


class Changes(SphinxDirective):
    """Puts the notes where it stands."""

    def run(self) -> list[nodes.Node]:
        """The notes as parts of the document."""
        for file in NOTES.glob("*.md"):
            self.env.note_dependency(str(file))
        text = StringList(gathered().splitlines(), source=str(NOTES))
        holder = nodes.Element()
        self.state.nested_parse(text, self.content_offset, holder, match_titles=True)
        return holder.children


def setup(app: Sphinx) -> dict[str, bool]:
    """Add the directive."""
    app.add_directive("changes", Changes)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
