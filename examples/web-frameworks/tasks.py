"""The jobs of the examples. Web servers enqueue them, and a worker runs them."""

from leaseq.jobs import Job, Jobs

jobs = Jobs(queue="mail")


@jobs.job("mail.welcome", timeout=30, retain=3600)
def welcome(job: Job, to: str) -> str:
    """Pretend to send a mail."""
    job.progress(f"sending to {to}")
    return f"sent to {to}"
