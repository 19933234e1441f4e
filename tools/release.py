"""Make a release: ``./dev release X.Y.Z [--dry-run]``.

Moves the notes of ``changes/`` into CHANGELOG.md, sets the version, builds the packages into
``dist/X.Y.Z``, checks them, commits and tags. If a step fails, the files are as they were before.
Publishing is not part of it.
"""

from __future__ import annotations

import argparse
import re
import sys
import tempfile
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from change_notes import gather, note_files
from check_packages import (
    ROOT,
    VERSION_LINE,
    ReleaseError,
    build_and_check,
    current_version,
    run,
    version_file,
)

FORM = re.compile(r"(\d+)\.(\d+)\.(\d+)")
# Other files that name the version.
OTHER_VERSIONS = {
    "CITATION.cff": re.compile(r"(?<=^version: ).*$", re.MULTILINE),
    "packaging/conda/recipe.yaml": re.compile(r'(?<=^  version: ").*(?="$)', re.MULTILINE),
}
PLACEHOLDER = "//example.org/"
MARKER = "<!-- releases: ./dev release adds the next one below this line -->"


# ---- checks before anything is changed ----------------------------------------------------------


def check(root: Path, version: str) -> None:
    """Refuse a release that should not be made."""
    if not FORM.fullmatch(version):
        msg = f"The version must be three numbers, X.Y.Z. Got {version!r}. Write 1.2.0, say."
        raise ReleaseError(msg)
    changed = run(root, "git", "status", "--porcelain").strip()
    if changed:
        msg = f"All changes must be committed first. Not committed:\n{changed}"
        raise ReleaseError(msg)
    check_is_newer(root, version)
    if not note_files(root / "changes"):
        msg = "A release must have notes in changes/. There are none: add one for each change."
        raise ReleaseError(msg)


def check_is_newer(root: Path, version: str) -> None:
    """The version must be newer than all released ones, and not older than that of the source."""
    released = [tag.removeprefix("v") for tag in run(root, "git", "tag", "--list", "v*").split()]
    if version in released:
        msg = f"The tag v{version} exists already. Give the next version."
        raise ReleaseError(msg)
    newest = max((tag for tag in released if FORM.fullmatch(tag)), key=numbers, default=None)
    if newest is not None and numbers(version) < numbers(newest):
        msg = f"The version must be newer than the newest release, {newest}. Got {version}."
        raise ReleaseError(msg)
    current = current_version(root)
    if numbers(version) < numbers(current):
        msg = f"The version must not be older than __version__, {current}. Got {version}."
        raise ReleaseError(msg)


def numbers(version: str) -> tuple[int, ...]:
    """``"1.10.0"`` as ``(1, 10, 0)``."""
    return tuple(int(part) for part in version.split("."))


# ---- the files that change ----------------------------------------------------------------------


def set_version(root: Path, version: str) -> None:
    """Write the version into the source, and into the other files that name it."""
    changes = {version_file(root): (VERSION_LINE, f'__version__ = "{version}"')}
    changes |= {root / name: (pattern, version) for name, pattern in OTHER_VERSIONS.items()}
    for file, (pattern, new) in changes.items():
        if file.is_file():
            text = pattern.sub(new, file.read_text(encoding="utf-8"))
            file.write_text(text, encoding="utf-8", newline="\n")


def release_notes(root: Path, version: str) -> str:
    """The section of a version for CHANGELOG.md."""
    today = datetime.now(tz=UTC).date()
    notes = gather(root / "changes", level=3).replace("](../", "](")  # links of the upper folder
    return f"## {version} ({today})\n\n{notes}\n"


def move_notes(root: Path, version: str) -> None:
    """Put the notes into CHANGELOG.md, above those of older versions, and delete their files."""
    file = root / "CHANGELOG.md"
    text = file.read_text(encoding="utf-8")
    if MARKER not in text:
        msg = f"CHANGELOG.md must hold the line {MARKER!r}. Put it above the newest version."
        raise ReleaseError(msg)
    before, _, after = text.partition(MARKER)
    new = f"{before}{MARKER}\n\n{release_notes(root, version)}{after}"
    file.write_text(new.rstrip("\n") + "\n", encoding="utf-8", newline="\n")
    for note in note_files(root / "changes"):
        note.unlink()


def has_placeholders(root: Path) -> bool:
    """Whether the addresses of the project are still placeholders."""
    return PLACEHOLDER in (root / "pyproject.toml").read_text(encoding="utf-8")


# ---- the whole ----------------------------------------------------------------------------------


def release(
    root: Path, version: str, make_packages: Callable[[Path, str], None] = build_and_check
) -> None:
    """Make a release in a repository: files, packages, commit and tag."""
    check(root, version)
    try:
        move_notes(root, version)
        set_version(root, version)
        make_packages(root, version)
        run(root, "git", "add", "--all")
        run(root, "git", "commit", "-q", "-m", f"Release {version}")
    except BaseException:
        run(root, "git", "reset", "-q", "--hard")  # the tree was clean: only our edits are lost
        raise
    run(root, "git", "tag", "-a", f"v{version}", "-m", f"secateur {version}")


def try_release(
    root: Path, version: str, make_packages: Callable[[Path, str], None] = build_and_check
) -> str:
    """Make the release in a temporary clone and give its notes; here nothing changes."""
    check(root, version)
    with tempfile.TemporaryDirectory() as folder:
        clone = Path(folder) / "clone"
        run(root, "git", "clone", "-q", str(root), str(clone))
        for setting in ("user.name", "user.email"):
            run(clone, "git", "config", setting, run(root, "git", "config", setting).strip())
        notes = release_notes(clone, version)
        release(clone, version, make_packages)
    return notes


def main(arguments: list[str] | None = None) -> int:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="./dev release", description="Make a release.")
    parser.add_argument("version", help="three numbers, X.Y.Z")
    parser.add_argument(
        "--dry-run",
        action="store_true",
        help="do all of it in a temporary clone, and show the notes",
    )
    options = parser.parse_args(arguments)
    try:
        if options.dry_run:
            print(try_release(ROOT, options.version))
            print(f"{options.version} can be released. Nothing was changed.")
            if has_placeholders(ROOT):
                print("Before it is published: the addresses in pyproject.toml are placeholders.")
        else:
            release(ROOT, options.version)
            print(
                f"Released {options.version}: a commit, the tag v{options.version}, and packages."
            )
            print(f"To publish: git push --follow-tags; twine upload dist/{options.version}/*")
    except (ReleaseError, ValueError) as error:
        print(f"release: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
