"""The commands in docs/command_line.md run; those of other documents have known options."""

from __future__ import annotations

import doctest
import re
import shlex
from pathlib import Path

import pytest
import typer
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split

from secateur import cli

from .conftest import QUICK  # noqa: TID252 - beside this file

ROOT = Path(__file__).resolve().parents[2]
DOCUMENT = ROOT / "docs" / "command_line.md"
DOCUMENTS = [
    file
    for file in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    if not {"_build", "auto_examples", "generated"} & set(file.parts)
]
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


def commands_of(text):
    """The commands of a document, in blocks and within sentences."""
    blocks = re.findall(r"^```(?:sh|dockerfile)\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    lines = [line.partition("#")[0].removeprefix("RUN ") for b in blocks for line in b.splitlines()]
    prose = re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)
    inline = re.findall(r"`(secateur [a-z][^`]*)`", prose)
    return [each for each in (*lines, *inline) if each.startswith("secateur ")]


@pytest.mark.parametrize("file", DOCUMENTS, ids=lambda file: file.name)
def test_commands_of_documents_have_known_options(file):
    known = typer.main.get_command(cli._app())
    for command in commands_of(file.read_text(encoding="utf-8")):
        _, name, *arguments = shlex.split(command)
        if name.startswith("-"):
            continue
        assert name in known.commands, command
        options = {each for given in known.commands[name].params for each in given.opts}
        options |= {each for given in known.commands[name].params for each in given.secondary_opts}
        asked = {each.partition("=")[0] for each in arguments if re.match(r"-\D", each)}
        assert asked <= options | {"--help", "-h"}, command


@pytest.mark.slow
def test_the_tutorial_prints_what_it_shows(run, tmp_path):
    text = (ROOT / "docs" / "tutorial.md").read_text(encoding="utf-8")
    data = load_breast_cancer(as_frame=True)
    X, _, y, _ = train_test_split(
        data.data, data.target, test_size=0.3, stratify=data.target, random_state=0
    )
    X.assign(benign=y).to_csv(tmp_path / "tumours.csv", index=False)
    shown = re.findall(
        r"```sh\n(secateur [^\n]*)\n```\n+<!-- prints -->\n```text\n(.*?)^```",
        text,
        re.MULTILINE | re.DOTALL,
    )
    assert len(shown) == text.count("<!-- prints -->") == 2
    for command, wanted in shown:
        done = run(*shlex.split(command)[1:])
        assert done.code == 0, done.err
        flags = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
        assert doctest.OutputChecker().check_output(wanted, done.out, flags), done.out
