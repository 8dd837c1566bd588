"""The tasks of the Django example."""

try:
    from django.tasks import task
except ImportError:  # before Django 6: the package django-tasks
    from django_tasks import task


@task
def welcome(to: str) -> str:
    """Pretend to send a mail."""
    return f"sent to {to}"


@task(takes_context=True)
def fail(context: object, number: int) -> None:
    """Fail."""
    raise ValueError(f"number {number}, attempt {context.attempt}")


@task
async def double(number: int) -> int:
    """Compute, as `async def`."""
    return 2 * number
