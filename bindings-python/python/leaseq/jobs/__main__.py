"""`python -m leaseq.jobs`."""

from __future__ import annotations

from ._command import main

if __name__ == "__main__":
    main()
