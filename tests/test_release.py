"""``./dev release`` on a small repository: what it refuses, writes and restores."""

from __future__ import annotations

import textwrap
import tomllib
from pathlib import Path

import change_notes
import check_packages
import pytest
import release

NOTES = {
    "b.fix.md": "Fixed.\n",
    "a.feature.md": "New: see [the page](../docs/page.md).\n",
    "c.fix.md": "Fixed too.\n",
}


def git(root: Path, *arguments: str) -> str:
    return release.run(root, "git", *arguments)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A repository with version 0.1.0, three notes and no release."""
    root = tmp_path / "project"
    source = root / "src" / "secateur"
    source.mkdir(parents=True)
    (source / "__init__.py").write_text('"""A library."""\n\n__version__ = "0.1.0"\n')
    (root / "CHANGELOG.md").write_text(f"# Changelog\n\nHow.\n\n{release.MARKER}\n")
    (root / "changes").mkdir()
    (root / "changes" / "README.md").write_text("how to write a note\n")
    add_notes(root, NOTES)
    git(root, "init", "-q")
    git(root, "config", "user.name", "A Person")
    git(root, "config", "user.email", "person@example.org")
    git(root, "config", "commit.gpgsign", "false")
    git(root, "config", "tag.gpgsign", "false")
    commit(root)
    return root


def add_notes(root: Path, notes: dict[str, str]) -> None:
    for name, text in notes.items():
        (root / "changes" / name).write_text(text)


def commit(root: Path) -> None:
    git(root, "add", "--all")
    git(root, "commit", "-q", "-m", "work")


def without_packages(root: Path, version: str) -> None:
    assert release.current_version(root) == version  # packages are built when all is written


def failing_packages(root: Path, version: str) -> None:
    msg = "the wheel is broken"
    raise release.ReleaseError(msg)


def state(root: Path) -> tuple[str, str, str]:
    return git(root, "rev-parse", "HEAD"), git(root, "status", "--porcelain"), git(root, "tag")


def test_notes_stand_under_their_kinds_in_order(root):
    text = change_notes.gather(root / "changes")
    wanted = ["## New features", "New: see", "## Bug fixes", "Fixed.", "Fixed too."]
    places = [text.index(part) for part in wanted]
    assert places == sorted(places)
    assert text.count("##") == 2
    assert "how to" not in text


def test_a_note_of_an_unknown_kind_is_refused(root):
    add_notes(root, {"d.fixed.md": "?"})
    with pytest.raises(ValueError, match=r"fix.*d\.fixed\.md"):
        change_notes.gather(root / "changes")


def test_the_notes_of_this_project_have_known_kinds():
    for file in change_notes.note_files():
        assert file.read_text(encoding="utf-8").strip() in change_notes.gather()


def test_a_release_writes_commits_and_tags(root):
    release.release(root, "0.1.0", without_packages)
    add_notes(root, {"e.speed.md": "Faster."})
    commit(root)
    release.release(root, "0.2.0", without_packages)
    text = (root / "CHANGELOG.md").read_text()
    newer = [release.MARKER, "## 0.2.0 (", "### Performance", "Faster."]
    older = ["## 0.1.0 (", "### New features", "[the page](docs/page.md)", "### Bug fixes"]
    places = [text.index(part) for part in ["How.", *newer, *older, "Fixed too."]]
    assert places == sorted(places)
    assert [file.name for file in (root / "changes").iterdir()] == ["README.md"]
    assert release.current_version(root) == "0.2.0"
    assert git(root, "tag").split() == ["v0.1.0", "v0.2.0"]
    assert git(root, "log", "-1", "--format=%s").strip() == "Release 0.2.0"
    assert git(root, "status", "--porcelain") == ""


@pytest.mark.parametrize("version", ["1.0", "v1.0.0", "1.0.0rc1", "1.0.0 ", "one"])
def test_a_version_of_another_form_is_refused(root, version):
    with pytest.raises(release.ReleaseError, match=r"X\.Y\.Z"):
        release.release(root, version, without_packages)


@pytest.mark.parametrize("name", ["CHANGELOG.md", "new.txt"])
def test_changes_that_are_not_committed_are_refused(root, name):
    (root / name).write_text("?")
    with pytest.raises(release.ReleaseError, match=name):
        release.release(root, "0.2.0", without_packages)


@pytest.mark.parametrize(
    ("version", "facts"),
    [("0.10.0", r"v0\.10\.0"), ("0.9.0", r"0\.10\.0.*0\.9\.0"), ("0.0.9", r"0\.10\.0.*0\.0\.9")],
)
def test_a_version_that_is_not_newer_is_refused(root, version, facts):
    git(root, "tag", "v0.9.1")
    git(root, "tag", "v0.10.0")
    with pytest.raises(release.ReleaseError, match=facts):
        release.release(root, version, without_packages)


def test_a_version_older_than_that_of_the_source_is_refused(root):
    with pytest.raises(release.ReleaseError, match=r"0\.1\.0.*0\.0\.5"):
        release.release(root, "0.0.5", without_packages)


def test_a_release_without_notes_is_refused(root):
    for name in NOTES:
        (root / "changes" / name).unlink()
    commit(root)
    with pytest.raises(release.ReleaseError, match="changes/"):
        release.release(root, "0.2.0", without_packages)


def test_a_failure_leaves_everything_as_it_was(root):
    before = state(root)
    with pytest.raises(release.ReleaseError, match="broken"):
        release.release(root, "0.2.0", failing_packages)
    assert state(root) == before
    assert release.current_version(root) == "0.1.0"
    assert {file.name for file in (root / "changes").iterdir()} == {"README.md", *NOTES}


def test_a_dry_run_shows_the_notes_and_changes_nothing(root):
    before = state(root)
    notes = release.try_release(root, "0.2.0", without_packages)
    assert notes.startswith("## 0.2.0 (")
    assert "Fixed too." in notes
    assert state(root) == before
    with pytest.raises(release.ReleaseError, match="broken"):
        release.try_release(root, "0.2.0", failing_packages)
    assert state(root) == before


def test_the_changelog_of_this_project_can_be_released():
    assert release.MARKER in (release.ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert release.FORM.fullmatch(release.current_version(release.ROOT))


def test_a_failing_command_shows_its_messages(root):
    with pytest.raises(release.ReleaseError, match=r"git nonsense[\s\S]*not a git command"):
        git(root, "nonsense")


def test_other_files_that_name_the_version_are_set(root):
    (root / "CITATION.cff").write_text("cff-version: 1.2.0\nversion: 0.1.0\n")
    recipe = root / "packaging" / "conda" / "recipe.yaml"
    recipe.parent.mkdir(parents=True)
    recipe.write_text('schema_version: 1\ncontext:\n  version: "0.1.0"\n')
    release.set_version(root, "0.2.0")
    assert (root / "CITATION.cff").read_text() == "cff-version: 1.2.0\nversion: 0.2.0\n"
    assert recipe.read_text() == 'schema_version: 1\ncontext:\n  version: "0.2.0"\n'


def test_the_example_of_the_readme_is_found(root):
    text = "# T\n\n```sh\n./dev\n```\n\n```python\nprint(1)\n```\n"
    (root / "README.md").write_text(text)
    assert check_packages.readme_example(root) == ("print(1)\n", "")
    (root / "README.md").write_text(f"{text}\n<!-- output -->\n```text\n1\n```\n")
    assert check_packages.readme_example(root) == ("print(1)\n", "1\n")
    (root / "README.md").write_text("# T\n")
    with pytest.raises(release.ReleaseError, match="must have an example"):
        check_packages.readme_example(root)


def test_every_extra_of_users_is_tried():
    text = (release.ROOT / "pyproject.toml").read_text(encoding="utf-8")
    extras = set(tomllib.loads(text)["project"]["optional-dependencies"])
    for_working = {"bench", "test", "lint", "docs", "release", "ecosystem", "dev"}
    assert set(check_packages.EXTRAS) == extras - for_working


@pytest.mark.parametrize(
    "extra",
    [
        pytest.param(name, marks=pytest.mark.slow if name == "dask" else ())
        for name in check_packages.EXTRAS
        if name != "cli"
    ],
)
def test_the_program_of_an_extra_runs(extra, tmp_path, monkeypatch):
    if extra == "export":
        pytest.importorskip("skl2onnx")
    monkeypatch.chdir(tmp_path)
    program = check_packages.FIT + textwrap.dedent(check_packages.EXTRAS[extra])
    exec(compile(program, extra, "exec", dont_inherit=True), {})  # noqa: S102


def test_the_tests_of_the_sdist_exist():
    for name in check_packages.SDIST_TESTS:
        file, _, test = name.partition("::")
        assert (release.ROOT / file).exists(), name
        function, _, case = test.partition("[")
        assert f"def {function}(" in (release.ROOT / file).read_text() if test else not case


def test_wheels_of_another_version_or_output_are_refused(monkeypatch):
    class Fake(check_packages.Environment):
        def __init__(self):
            self.folder = None

        def __exit__(self, *error):
            pass

        def install(self, requirement):
            pass

        def call(self, *arguments, at=None):
            return "0.2.0\n" if "__version__" in arguments[-1] else "4 of  30\n"

    monkeypatch.setattr(check_packages, "Environment", Fake)
    wheel = release.ROOT / "some.whl"
    check_packages.check_wheel(wheel, "0.2.0", "print(...)", "4 of 30\n")
    with pytest.raises(release.ReleaseError, match=r"must say version 0\.3\.0"):
        check_packages.check_wheel(wheel, "0.3.0", "print(...)", "4 of 30\n")
    with pytest.raises(release.ReleaseError, match=r"5 of 30\n[\s\S]*4 of  30"):
        check_packages.check_wheel(wheel, "0.2.0", "print(...)", "5 of 30\n")
