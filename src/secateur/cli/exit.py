"""How a command ends: an exit code that scripts can use, and one sentence on stderr."""

from __future__ import annotations

import functools
import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar, cast

import typer

from secateur.cli import INTERRUPTED, USER_ERROR
from secateur.exceptions import SecateurError

Command = TypeVar("Command", bound=Callable[..., Any])


def ends_well(command: Command) -> Command:
    """Turn what goes wrong in a command into a sentence and an exit code.

    Errors that are not ours are bugs and keep their traceback.
    """

    @functools.wraps(command)
    def guarded(*args: Any, **options: Any) -> Any:
        try:
            return command(*args, **options)
        except KeyboardInterrupt:
            _say("interrupted.")
            raise typer.Exit(INTERRUPTED) from None
        except BrokenPipeError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise typer.Exit(USER_ERROR) from None
        except SecateurError as error:
            _say("\n".join([str(error), *getattr(error, "__notes__", [])]))
            raise typer.Exit(USER_ERROR) from None
        except OSError as error:
            _say(_of_the_system(error))
            raise typer.Exit(USER_ERROR) from None
        except MemoryError:
            _say("there is not enough memory. Use fewer rows or columns, or a sparse format.")
            raise typer.Exit(USER_ERROR) from None

    return cast("Command", guarded)


@contextmanager
def ended_by_interrupts() -> Iterator[None]:
    """See to it that Ctrl-C ends the command: a fit would keep what it has, and go on."""
    pressed: list[int] = []

    def note(number: int, frame: Any) -> None:
        pressed.append(number)
        signal.default_int_handler(number, frame)

    with _handled_by(note):
        yield
    if pressed:
        raise KeyboardInterrupt


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Let Ctrl-C wait for a few file operations, then come."""
    waiting: list[int] = []
    with _handled_by(lambda number, _: waiting.append(number)):
        yield
    if waiting:
        raise KeyboardInterrupt


@contextmanager
def _handled_by(handler: Callable[[int, Any], None]) -> Iterator[None]:
    try:
        before = signal.signal(signal.SIGINT, handler)
    except ValueError:  # signals belong to the main thread
        yield
        return
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _of_the_system(error: OSError) -> str:
    where = f"{error.filename}: " if error.filename else ""
    return f"{where}{error.strerror or error}."


def _say(text: str) -> None:
    sys.stderr.write(f"secateur: {text}\n")
