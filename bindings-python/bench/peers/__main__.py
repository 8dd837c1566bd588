"""Measures one peer once: `python -m peers NAME ITEMS`; says its rates as JSON."""

from __future__ import annotations

import importlib
import importlib.metadata
import json
import logging
import sys

_, name, items = sys.argv
peer = importlib.import_module(f"peers.{name.replace('-', '_')}")
logging.disable(logging.CRITICAL)
said = {
    "version": importlib.metadata.version(peer.PACKAGE),
    "concurrency": {"add": peer.ADDING, "process": peer.WORKING},
    "how": peer.HOW,
    "rates": peer.measure(int(items)),
}
print(json.dumps(said))
