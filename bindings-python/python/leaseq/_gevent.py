"""Programs whose threads gevent has replaced by greenlets, which must not block."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any


def has_replaced_threads() -> bool:
    """Whether `monkey.patch_all()` was called."""
    monkey: Any = sys.modules.get("gevent.monkey")
    return monkey is not None and bool(monkey.is_module_patched("threading"))


def start_real_thread(run: Callable[[], object]) -> None:
    """Run this on a thread of the operating system, where `threading` has none."""
    monkey: Any = sys.modules["gevent.monkey"]
    monkey.get_original("_thread", "start_new_thread")(run, ())
