"""What a handler takes and returns."""

from __future__ import annotations

import functools
import inspect
import json
import typing
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any

from .. import _leaseq
from ..exceptions import InvalidError
from ._context import Job
from ._decode import Decoder, MismatchError, decoder, inside
from ._encode import encode

_PLAIN = (str, int, float, bool)
"""Values of these types come back from JSON as they were."""
_VARIABLE = inspect.Parameter.VAR_KEYWORD
_REFUSED = {inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.VAR_POSITIONAL}


def _is_job(annotation: object) -> bool:
    if isinstance(annotation, str):
        return annotation.rpartition(".")[2] == "Job"
    return annotation is Job


def annotated(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function that has the annotations: that of a `partial`, or of an object."""
    while isinstance(function, functools.partial):
        function = function.func
    if inspect.isroutine(function) or inspect.isclass(function):
        return function
    call: Callable[..., Any] = type(function).__call__
    return call


def check_handler(name: str, function: Callable[..., Any]) -> None:
    """Raise `TypeError` for what a worker cannot call, or not to its end."""
    if not callable(function):
        raise TypeError(f"job {name}: {function!r} is no function")
    written = annotated(function)
    if inspect.isclass(written):
        raise TypeError(f"job {name}: {function!r} is a class, not a function")
    if inspect.isgeneratorfunction(written) or inspect.isasyncgenfunction(written):
        raise TypeError(f"job {name}: a handler may not `yield`, since nobody would go on with it")


class Signature:
    """The arguments of a handler. Arguments of jobs have names."""

    def __init__(self, name: str, function: Callable[..., Any]) -> None:
        self._name = name
        self._function = function
        signature = inspect.signature(function)
        parameters = list(signature.parameters.values())
        self.takes_job = bool(parameters) and _is_job(parameters[0].annotation)
        if self.takes_job:
            del parameters[0]
        for parameter in parameters:
            if parameter.kind in _REFUSED:
                raise TypeError(f"job {name}: parameter {parameter} has no name in the job")
        self._signature = signature.replace(parameters=parameters)
        self._parameters = {p.name: p for p in parameters if p.kind is not _VARIABLE}
        self._takes_more = len(self._parameters) < len(parameters)

    def bind(self, args: tuple[object, ...], kwargs: Mapping[str, object]) -> dict[str, object]:
        """Name the arguments of a call. Raises `TypeError`."""
        try:
            bound = self._signature.bind(*args, **kwargs)
        except TypeError as error:
            raise TypeError(f"job {self._name}: {error}") from None
        for name, parameter in self._signature.parameters.items():
            if parameter.kind is _VARIABLE and name in bound.arguments:
                more = bound.arguments.pop(name)
                return {**bound.arguments, **more}
        return dict(bound.arguments)

    def check(self, args: Mapping[str, object]) -> None:
        """Raise `TypeError` for arguments with which a worker would not call the handler."""
        decoders, hints = self._decoders, self._hints
        for name, value in args.items():
            kind = type(value)
            if name not in decoders or (kind in _PLAIN and hints.get(name) is kind):
                continue
            try:
                inside(name, decoders[name], json.loads(_leaseq.to_json(value, encode)))
            except InvalidError:
                # It says so when it is added.
                continue
            except (MismatchError, ValueError) as error:
                raise TypeError(f"job {self._name}: {error}") from None

    def decode(self, values: dict[str, Any]) -> dict[str, Any]:
        """Check the arguments of a job, and decode them in place. Raises `MismatchError`."""
        decoders = self._decoders
        for name in values:
            if name in decoders:
                values[name] = inside(name, decoders[name], values[name])
            elif not self._takes_more:
                raise MismatchError(f"unknown argument {name!r:.60}")
        for name, parameter in self._parameters.items():
            if name not in values and parameter.default is inspect.Parameter.empty:
                raise MismatchError(f"argument {name!r} is missing")
        return values

    @cached_property
    def result(self) -> Decoder:
        """Read a result."""
        return decoder(self._hint("return"))

    @cached_property
    def _decoders(self) -> dict[str, Decoder]:
        return {name: decoder(self._hint(name)) for name in self._parameters}

    @cached_property
    def _hints(self) -> dict[str, Any]:
        try:
            return typing.get_type_hints(annotated(self._function), include_extras=True)
        except Exception:
            # A name is only known to type checkers. The other annotations still count.
            return self._each_hint()

    def _each_hint(self) -> dict[str, Any]:
        known = {}
        function = annotated(self._function)
        words = getattr(inspect.unwrap(function), "__globals__", {})
        for name, annotation in getattr(function, "__annotations__", {}).items():
            try:
                known[name] = eval(annotation, words) if isinstance(annotation, str) else annotation
            except Exception:
                known[name] = Any
        return known

    def _hint(self, name: str) -> Any:  # noqa: ANN401
        return self._hints.get(name, Any)
