"""How the testees in Python answer."""

from __future__ import annotations

import json
import os
from typing import Any

# With a buffer, even where the environment wants none (PYTHONUNBUFFERED): without one,
# Python forgets the rest of a line that was written in part, as happens to a process that is
# stopped meanwhile.
output = os.fdopen(1, "w", closefd=False)


def say(answer: dict[str, Any]) -> None:
    print(json.dumps(answer), file=output, flush=True)
