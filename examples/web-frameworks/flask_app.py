"""Flask: `flask --app flask_app run`, and a worker: `python -m leaseq.jobs tasks:jobs`."""

from flask import Flask, abort, request
from tasks import welcome

import leaseq

app = Flask(__name__)
client = leaseq.connect()  # LEASEQ_URL; threads share it, and forked servers connect anew


@app.post("/welcome")
def enqueue() -> tuple[dict[str, str], int]:
    """Add a job, and return at once."""
    ref = welcome.enqueue(client, to=request.args["to"])
    return {"id": ref.id}, 202


@app.get("/welcome/<id>")
def look(id: str) -> dict[str, str | None]:  # noqa: A002
    """Return how far the job is."""
    info = welcome.ref(client, id).info()
    if info is None:
        abort(404)
    result = welcome.ref(client, id).result() if info.result else None
    return {"state": str(info.state), "result": result}
