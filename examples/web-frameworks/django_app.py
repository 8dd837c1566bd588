"""Django in one file: `python django_app.py runserver`. Its tasks are Django's own.

A worker: `DJANGO_SETTINGS_MODULE=django_app python -m leaseq.jobs leaseq.django:jobs`.
"""

import sys

from django.core.management import execute_from_command_line
from django.http import HttpRequest, JsonResponse
from django.urls import path

# The settings. This module has them too, which no real project does.
DEBUG = False
SECRET_KEY = "only an example"
ALLOWED_HOSTS = ["*"]
ROOT_URLCONF = "django_app"
USE_TZ = True
TASKS = {
    "default": {
        "BACKEND": "leaseq.django.LeaseqBackend",  # the URL: LEASEQ_URL
        "OPTIONS": {"RETAIN": 3600, "ATTEMPTS": 2},
    }
}


def enqueue(request: HttpRequest) -> JsonResponse:
    """Add a task, and return at once."""
    from django_tasks_of_app import welcome

    return JsonResponse({"id": welcome.enqueue(to=request.GET["to"]).id}, status=202)


def look(request: HttpRequest, id: str) -> JsonResponse:  # noqa: A002
    """Return how far the task is."""
    from django_tasks_of_app import welcome

    found = welcome.get_result(id)
    result = found.return_value if found.status == "SUCCESSFUL" else None
    return JsonResponse({"state": found.status, "result": result})


urlpatterns = [path("welcome", enqueue), path("welcome/<id>", look)]

if __name__ == "__main__":
    execute_from_command_line(sys.argv)
