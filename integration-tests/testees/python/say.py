"""The answers of the testees in Python."""

from __future__ import annotations

import json
import os
from typing import Any

# With a buffer, even if the environment disables it (PYTHONUNBUFFERED). Without a buffer, Python
# loses the rest of a partly written line, as happens in a process that is stopped meanwhile.
output = os.fdopen(1, "w", closefd=False)


def say(answer: dict[str, Any]) -> None:
    print(json.dumps(answer), file=output, flush=True)
