"""Commands that take bundles of options: the command line sees the options one by one."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from functools import wraps
from typing import Any, get_type_hints


def unbundled(command: Callable[..., Any]) -> Callable[..., Any]:
    """A command that takes the fields of its bundles instead of the bundles.

    A bundle is a parameter whose type is a dataclass with a default for every field.

    Parameters
    ----------
    command : callable
        With bundles among its keyword-only parameters.

    Examples
    --------
    >>> from secateur.cli.options import TalkingOptions
    >>> def greet(name: str, *, talking: TalkingOptions) -> str:
    ...     return name if talking.quiet else f"{name}!"
    >>> list(inspect.signature(unbundled(greet)).parameters)
    ['name', 'force', 'as_json', 'quiet']
    >>> unbundled(greet)(name="Ada", quiet=True)
    'Ada'
    """
    signature = inspect.signature(command, eval_str=True)
    bundles = {
        name: parameter.annotation
        for name, parameter in signature.parameters.items()
        if is_dataclass(parameter.annotation)
    }

    @wraps(command)
    def taken_apart(**given: Any) -> Any:
        for name, kind in bundles.items():
            own = {each.name: given.pop(each.name) for each in fields(kind) if each.name in given}
            given[name] = kind(**own)  # type: ignore[operator]  # a class, as is_dataclass has seen
        return command(**given)

    listed = [
        option
        for parameter in signature.parameters.values()
        for option in _options(parameter, bundles.get(parameter.name))
    ]
    told = signature.replace(parameters=listed)
    taken_apart.__signature__ = told  # type: ignore[attr-defined]  # inspect looks for it
    taken_apart.__annotations__ = {option.name: option.annotation for option in listed}
    return taken_apart


def _options(parameter: inspect.Parameter, bundle: Any) -> list[inspect.Parameter]:
    if bundle is None:
        return [parameter]
    hints = get_type_hints(bundle, include_extras=True)
    return [
        inspect.Parameter(
            each.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=each.default,
            annotation=hints[each.name],
        )
        for each in fields(bundle)
    ]
