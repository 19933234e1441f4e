"""Results are written completely or not at all, and nothing is overwritten by accident."""

from __future__ import annotations

import pytest

from secateur.cli import output
from secateur.cli.output import check_folder, new_folder, reserved_folder
from secateur.exceptions import InputError

from .conftest import python  # noqa: TID252 - beside this file


def write(folder, text, *, force=False):
    with new_folder(folder, force=force) as draft:
        (draft / "selection.json").write_text(text)
        (draft / "features.txt").write_text(text)


def write_half(folder, error):
    with new_folder(folder, force=True) as draft:
        (draft / "selection.json").write_text("new")
        raise error


def content(folder):
    return {file.name: file.read_text() for file in folder.iterdir()}


def test_a_folder_is_written_completely(tmp_path):
    write(tmp_path / "r", "new")
    assert content(tmp_path / "r") == {"selection.json": "new", "features.txt": "new"}
    assert [file.name for file in tmp_path.iterdir()] == ["r"]


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt])
def test_what_goes_wrong_leaves_the_old_files(tmp_path, error):
    write(tmp_path / "r", "old")
    with pytest.raises(error):
        write_half(tmp_path / "r", error)
    assert content(tmp_path / "r") == {"selection.json": "old", "features.txt": "old"}
    assert [file.name for file in tmp_path.iterdir()] == ["r"]


@pytest.mark.parametrize("can_swap", [True, False])
def test_force_replaces_earlier_results(tmp_path, monkeypatch, can_swap):
    if not can_swap:
        monkeypatch.setattr(output, "_exchange", lambda one, other: False)
    write(tmp_path / "r", "old")
    with pytest.raises(InputError, match="--force"):
        write(tmp_path / "r", "new")
    write(tmp_path / "r", "new", force=True)
    assert set(content(tmp_path / "r").values()) == {"new"}
    assert [file.name for file in tmp_path.iterdir()] == ["r"]


def test_a_swap_that_fails_half_way_is_undone(tmp_path, monkeypatch):
    monkeypatch.setattr(output, "_exchange", lambda one, other: False)
    write(tmp_path / "r", "old")
    rename = type(tmp_path).rename

    def fail_for_drafts(self, target):
        if self.name.endswith(".tmp"):
            raise OSError(28, "No space left on device")
        return rename(self, target)

    monkeypatch.setattr(type(tmp_path), "rename", fail_for_drafts)
    with pytest.raises(OSError, match="No space"):
        write(tmp_path / "r", "new", force=True)
    assert set(content(tmp_path / "r").values()) == {"old"}


def test_files_of_another_origin_are_never_replaced(tmp_path):
    (tmp_path / "r").mkdir()
    (tmp_path / "r" / "thesis.tex").write_text("years of work")
    with pytest.raises(InputError, match=r"thesis\.tex"):
        write(tmp_path / "r", "new", force=True)
    assert content(tmp_path / "r") == {"thesis.tex": "years of work"}


def test_an_empty_folder_may_be_used(tmp_path):
    (tmp_path / "r").mkdir()
    write(tmp_path / "r", "new")
    assert set(content(tmp_path / "r").values()) == {"new"}


def test_a_file_in_the_place_of_the_folder(tmp_path):
    (tmp_path / "r").write_text("x")
    with pytest.raises(InputError, match="Got a file"):
        check_folder(tmp_path / "r", force=True)


def test_free_names(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "r").mkdir()
    (tmp_path / "r-2").mkdir()
    with (
        reserved_folder(None, "r", force=False) as first,
        reserved_folder(None, "r", force=False) as second,
        reserved_folder(None, "s", force=False) as third,
    ):
        assert [first.name, second.name, third.name] == ["r-3", "r-4", "s"]
    assert sorted(file.name for file in tmp_path.iterdir()) == ["r", "r-2"]


def test_a_folder_is_reserved_for_one_run(tmp_path):
    with (
        reserved_folder(tmp_path / "r", "", force=True),
        pytest.raises(InputError, match="another run"),
        reserved_folder(tmp_path / "r", "", force=True),
    ):
        pytest.fail("reserved twice")
    with reserved_folder(tmp_path / "r", "", force=True) as folder:
        write(folder, "new")
    assert [file.name for file in tmp_path.iterdir()] == ["r"]


def test_the_reservation_of_a_dead_run_is_taken_over(tmp_path):
    code = (
        "import os, sys, pathlib\n"
        "from secateur.cli.output import new_folder, reserved_folder\n"
        "folder = pathlib.Path(sys.argv[1])\n"
        "with reserved_folder(folder, '', force=False), new_folder(folder, force=False):\n"
        "    os.kill(os.getpid(), 9)\n"
    )
    assert python("-c", code, str(tmp_path / "r")).returncode == -9
    assert len(list(tmp_path.iterdir())) == 2  # a lock and a draft
    with reserved_folder(tmp_path / "r", "", force=False) as folder:
        write(folder, "new")
    assert [file.name for file in tmp_path.iterdir()] == ["r"]


def test_the_data_are_never_replaced(tmp_path):
    (tmp_path / "scores.csv").write_text("a,y")
    with pytest.raises(InputError, match=r"'scores\.csv'"):
        check_folder(tmp_path, force=True, data=tmp_path / "scores.csv")


def test_errors_name_the_folder_not_the_draft(tmp_path):
    with (
        pytest.raises(OSError, match="r/x/y") as caught,
        new_folder(tmp_path / "r", force=False) as d,
    ):
        (d / "x" / "y").write_text("")
    assert ".tmp" not in str(caught.value)
