"""The notes in ``changes/`` as one text, grouped by kind: for the changelog and its page."""

from __future__ import annotations

from pathlib import Path

FOLDER = Path(__file__).resolve().parents[1] / "changes"
KINDS = {
    "breaking": "Breaking changes",
    "feature": "New features",
    "fix": "Bug fixes",
    "speed": "Performance",
    "docs": "Documentation",
}
"""The kinds of notes in the order of the changelog, with their headings."""


def note_files(folder: Path = FOLDER) -> list[Path]:
    """The files of all notes; a file of an unknown kind is an error."""
    files = sorted(file for file in folder.glob("*.md") if file.name != "README.md")
    for file in files:
        if kind_of(file) not in KINDS:
            msg = (
                f"A note must be named <topic>.<kind>.md, the kind one of {', '.join(KINDS)}. "
                f"Got changes/{file.name}. Rename the file."
            )
            raise ValueError(msg)
    return files


def kind_of(file: Path) -> str:
    """The kind of a note, from its name."""
    return file.stem.rpartition(".")[2]


def gather(folder: Path = FOLDER, *, level: int = 2) -> str:
    """All notes under a heading for each kind; ``level`` is the number of ``#`` of a heading."""
    files = note_files(folder)
    parts = []
    for kind, title in KINDS.items():
        of_kind = [file for file in files if kind_of(file) == kind]
        if of_kind:
            parts.append(f"{'#' * level} {title}")
            parts += [file.read_text(encoding="utf-8").strip() for file in of_kind]
    return "\n\n".join(parts)
