"""The commands in docs/command_line.md run, in the order in which they stand there."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

from .conftest import QUICK  # noqa: TID252 - beside this file

DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "command_line.md"
BLOCK = re.compile(r"^```(python|sh)\n(.*?)^```", re.MULTILINE | re.DOTALL)


def quicker(arguments):
    """The same command with fewer and larger rounds, where it would take half a minute."""
    if arguments[0] != "select":
        return arguments
    return [*arguments, *(("--cv", "2") if "--method" in arguments else QUICK)]


def test_every_command_of_the_document_runs(run, tmp_path):
    n_commands = 0
    for language, code in BLOCK.findall(DOCUMENT.read_text(encoding="utf-8")):
        if language == "python":
            exec(compile(code, str(DOCUMENT), "exec"), {})  # noqa: S102 - our own document
            continue
        for line in code.splitlines():
            program, *arguments = shlex.split(line)
            assert program == "secateur"
            done = run(*quicker(arguments))
            assert done.code == 0, f"{line}\n{done.err}"
            n_commands += 1
    assert n_commands >= 10
    assert (tmp_path / "tumours-selection" / "tumours.selected.csv").exists()
    assert (tmp_path / "both.html").exists()
