"""FastAPI: `uvicorn fastapi_app:app`, and a worker: `python -m leaseq.jobs tasks:jobs`."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import FastAPI, HTTPException
from tasks import welcome

import leaseq.asyncio


@asynccontextmanager
async def lifespan(app: FastAPI) -> AsyncIterator[None]:
    """Connect once, in the event loop of the server."""
    async with await leaseq.asyncio.connect() as client:  # LEASEQ_URL
        app.state.queue = client
        yield


app = FastAPI(lifespan=lifespan)


@app.post("/welcome", status_code=202)
async def enqueue(to: str) -> dict[str, str]:
    """Add a job, and return at once."""
    ref = await welcome.aenqueue(app.state.queue, to=to)
    return {"id": ref.id}


@app.get("/welcome/{id}")
async def look(id: str) -> dict[str, str | None]:  # noqa: A002
    """Return how far the job is."""
    info = await welcome.aref(app.state.queue, id).info()
    if info is None:
        raise HTTPException(404)
    result = await welcome.aref(app.state.queue, id).result() if info.result else None
    return {"state": str(info.state), "result": result}
