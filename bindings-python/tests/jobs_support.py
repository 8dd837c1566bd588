"""Runs workers of both kinds."""

import asyncio

import leaseq
from leaseq.jobs import AsyncWorker, Worker

KINDS = ["threads", "asyncio"]


def run_until_idle(kind, url, jobs, **options):
    """Run what can be leased, with threads or with asyncio."""
    if kind == "threads":
        with leaseq.connect(url) as client:
            return Worker(client, jobs, **options).run_until_idle()

    async def run():
        async with await leaseq.asyncio.connect(url) as client:
            return await AsyncWorker(client, jobs, **options).run_until_idle()

    return asyncio.run(run())
