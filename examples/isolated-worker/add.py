"""Adds jobs, and waits for a result: `python add.py`."""

from tasks import count, crash

import leaseq

if __name__ == "__main__":
    with leaseq.connect() as client:  # LEASEQ_URL
        crash.enqueue(client)
        print(count.enqueue(client, words="one two three").result(timeout=30, progress=True))
