"""A job, its worker, and a queue in a file."""

import leaseq
from leaseq.jobs import Jobs, Worker

jobs = Jobs(queue="mail")


@jobs.job("mail.send")
def send(to: str) -> None:
    """Say to whom."""
    print("sent to", to)


with leaseq.connect("sqlite:jobs.db") as client:
    send.enqueue(client, to="anna")
    Worker(client, jobs, burst=True).run()
