"""Values of the command line."""

from __future__ import annotations

from argparse import ArgumentTypeError


def queue(text: str) -> tuple[str, int]:
    """Read `mail` or `mail=3`."""
    name, equals, weight = text.partition("=")
    if not name or (equals and not weight.isdigit()):
        raise ArgumentTypeError(f"{text!r} is not a name, or NAME=WEIGHT with a whole number")
    return name, int(weight) if equals else 1


def seconds_from_text(text: str) -> float:
    """Read seconds."""
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1.0
    if not 0 <= seconds < float("inf"):
        raise ArgumentTypeError(f"{text!r} is not a number of seconds")
    return seconds


def mebibytes(text: str) -> int:
    """Read MiB as bytes."""
    if not text.isdigit() or not int(text):
        raise ArgumentTypeError(f"{text!r} is not a whole number of MiB, at least 1")
    return int(text) << 20


def throttle(text: str) -> tuple[str, tuple[int, int]]:
    """Read `memory=90:80`."""
    what, _, marks = text.partition("=")
    high, _, low = marks.partition(":")
    if what not in ("memory", "swap", "gpu") or not (high.isdigit() and low.isdigit()):
        raise ArgumentTypeError(f"{text!r} is not memory, swap or gpu, and =HIGH:LOW in percent")
    return what, (int(high), int(low))


def deployment(text: str) -> tuple[str, int]:
    """Read `PROGRAM:REVISION`."""
    program, _, revision = text.rpartition(":")
    if not program or not revision.isdecimal():
        raise ArgumentTypeError(f"{text!r} is not PROGRAM:REVISION, such as billing:17")
    return program, int(revision)
