"""What a command writes and how it ends: results on stdout, messages on stderr, exit codes."""

from __future__ import annotations

import functools
import json
import os
import signal
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar, cast

import typer

from secateur.cli import INTERRUPTED, USER_ERROR
from secateur.cli.options import OUTPUT, flag
from secateur.exceptions import InputError, SecateurError, printable

PLAIN_WIDTH = 120  # of tables that go into a file or a pipe

Command = TypeVar("Command", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class Console:
    """Writes results, as one JSON document or as tables, and messages unless it is quiet."""

    force: bool = flag(OUTPUT, "Replace existing results.", "--force")
    as_json: bool = flag(OUTPUT, "Print one JSON document.", "--json")
    quiet: bool = flag(OUTPUT, "Print results and errors only.", "--quiet", "-q")

    def message(self, *sentences: str) -> None:
        """Write what is not a result."""
        if not self.quiet:
            sys.stderr.write("".join(f"{printable(sentence)}\n" for sentence in sentences))

    def result(self, document: dict[str, Any], *shown: Any) -> None:
        """Write the result: as JSON, or as text and renderables of rich."""
        if self.as_json:
            sys.stdout.write(json_text(document))
        else:
            self._show(*shown)

    def answer(self, *shown: str) -> None:
        """Write a result that is not the last one: with --json it is a message."""
        if self.as_json:
            self.message(*shown)
        else:
            self._show(*shown)

    def _show(self, *shown: Any) -> None:
        from rich.console import Console as RichConsole
        from rich.text import Text

        console = RichConsole(highlight=False, width=None if sys.stdout.isatty() else PLAIN_WIDTH)
        for each in shown:
            # as Text, so that markup in names is not interpreted
            console.print(Text(printable(each)) if isinstance(each, str) else each)
        sys.stdout.flush()  # at once, also into a file or a pipe

    @contextmanager
    def warnings_as_messages(self) -> Iterator[None]:
        """Write warnings of secateur as messages, each once; drop those of other libraries."""
        from secateur.exceptions import InterruptedWarning, SecateurWarning, UnknownCategoryWarning

        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            yield
        # unknown categories are expected in held-out rows, and interruptions are reported anyway
        expected = InterruptedWarning | UnknownCategoryWarning
        found = (each for each in caught if not issubclass(each.category, expected))
        ours = (str(w.message) for w in found if issubclass(w.category, SecateurWarning))
        self.message(*dict.fromkeys(ours))

    @contextmanager
    def progress(self, description: str, total: int) -> Iterator[Progress]:
        """Show a progress bar on a terminal."""
        from rich import progress
        from rich.console import Console as RichConsole

        is_hidden = self.quiet or not sys.stderr.isatty()
        columns = (progress.BarColumn(), progress.TimeElapsedColumn(), "left")
        bar = progress.Progress(
            "{task.description}",
            *columns,
            progress.TimeRemainingColumn(),
            console=RichConsole(stderr=True, quiet=is_hidden),  # older rich prints an empty line
            transient=True,
            speed_estimate_period=600,
            redirect_stdout=False,  # results go where they belong
            disable=is_hidden,
        )
        with bar:
            yield Progress(bar, bar.add_task(description, total=total))


@dataclass
class Progress:
    """Counts fits, and how far the current one is, in a task of a bar of rich."""

    bar: Any
    task: Any
    n_done: int = 0

    def done(self, done: int, total: int) -> None:
        """Set how many are done."""
        self.n_done = done
        self.bar.update(self.task, completed=done, total=total)

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Hide the bar while something else is written."""
        if self.bar.disable:
            yield
            return
        self.bar.stop()
        yield
        self.bar.start()

    def within(self, share: float) -> None:
        """Set how far the current one is, from 0 to 1."""
        self.bar.update(self.task, completed=self.n_done + min(share, 0.99))


def json_text(document: Mapping[str, Any]) -> str:
    """A document as strict, indented JSON; null for numbers that are not finite."""
    finite = json.loads(json.dumps(document), parse_constant=lambda _: None)
    return json.dumps(finite, allow_nan=False, indent=2) + "\n"


def with_exit_codes(command: Command) -> Command:
    """Turn expected errors into a message and an exit code; bugs keep their traceback."""

    @functools.wraps(command)
    def guarded(*args: Any, **options: Any) -> Any:
        try:
            with ExitStack() as stack:
                if "data" in options:
                    options["data"] = stack.enter_context(_regular_file(options["data"]))
                return command(*args, **options)
        except KeyboardInterrupt:
            code, text = INTERRUPTED, "interrupted."
        except BrokenPipeError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            code, text = USER_ERROR, ""
        except SecateurError as error:
            code, text = USER_ERROR, "\n".join([str(error), *getattr(error, "__notes__", [])])
        except OSError as error:
            where = f"{error.filename}: " if error.filename else ""
            code, text = USER_ERROR, f"{where}{error.strerror or error}."
        except MemoryError:
            code = USER_ERROR
            text = "not enough memory. Use fewer rows or columns, or a sparse format."
        if text:
            sys.stderr.write(f"secateur: {printable(text)}\n")
        raise typer.Exit(code)

    return cast("Command", guarded)


@contextmanager
def _regular_file(file: Path) -> Iterator[Path]:
    """The file itself; a temporary copy of standard input (``-``) or of a pipe."""
    is_stdin = str(file) in {"-", "/dev/stdin"}
    if not is_stdin and (file.is_file() or file.is_dir() or not file.exists()):
        yield file
        return
    if is_stdin and sys.stdin.isatty():
        raise InputError(f"{file} must be a file or a pipe. Got a terminal. Name a file.")
    import shutil
    import tempfile

    with tempfile.TemporaryDirectory(prefix="secateur-") as folder:
        copy = Path(folder) / ("stdin" if is_stdin else "pipe")
        source = sys.stdin.buffer if is_stdin else file.open("rb")
        with copy.open("wb") as target, nullcontext(source) if is_stdin else source:
            shutil.copyfileobj(source, target)
        yield copy


@contextmanager
def interrupts_end_the_command(*, wait: bool = False) -> Iterator[None]:
    """Let Ctrl-C end the command, also where a fit would catch it; with `wait` after the block."""
    pressed: list[int] = []

    def note(number: int, frame: Any) -> None:
        pressed.append(number)
        if not wait:
            signal.default_int_handler(number, frame)

    try:
        before = signal.signal(signal.SIGINT, note)
    except ValueError:  # not the main thread, which signals belong to
        yield
        return
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if pressed:
        raise KeyboardInterrupt
