"""Jobs that follow others."""

from __future__ import annotations

import asyncio
import sys
from contextlib import contextmanager
from dataclasses import dataclass

import pytest

import leaseq
import leaseq.asyncio
from leaseq.jobs import AsyncWorker, Job, Jobs, Worker
from leaseq.testing import inline


@dataclass
class Loaded:
    rows: int
    table: str


def chained() -> tuple[Jobs, list[object]]:
    jobs, seen = Jobs(queue="one"), []

    @jobs.job("load")
    def load(rows: int) -> Loaded:
        if rows < 0:
            raise ValueError("no rows")
        return Loaded(rows, "t")

    @jobs.job("report", queue="two")
    async def report(job: Job, to: str) -> str:
        seen.append((to, job.previous_id, job.previous(Loaded), job.attempt))
        return f"told {to}"

    @jobs.job("last")
    def last(job: Job) -> None:
        seen.append(("last", job.previous(), job.previous(str)))

    return jobs, seen


def types(jobs):
    return {kind.name: kind for kind in jobs}


def test_each_follows_the_one_before_and_gets_its_result(url):
    jobs, seen = chained()
    load, report, last = types(jobs).values()
    with leaseq.connect(url) as client:
        chain = load.using(id="a").new(3).then(report.using(id="b").new("ada"), last.new())
        ref = jobs.enqueue(client, chain.on_failure(report.new("never")))
        assert ref.added
        Worker(client, jobs, queues=["one", "two"], threads=2).run_until_idle()
        assert seen == [("ada", "a", Loaded(3, "t"), 1), ("last", "told ada", "told ada")]
        assert client.queue("one").get("a") is None


def test_a_job_follows_a_group_of_jobs(url):
    jobs, seen = chained()
    load, report, last = types(jobs).values()
    with leaseq.connect(url) as client:
        following = leaseq.FollowUp("completed", last.new().item(), with_trigger=True)
        group = client.queue("one").create_group("g", [following])
        members = [load.using(group=group, place=0).new(3), report.using(group=group, place=1)]
        assert all(
            ref.added for ref in jobs.enqueue_many(client, [members[0], members[1].new("ada")])
        )
        assert client.queue("one").seal_group(group, 2)
        Worker(client, jobs, queues=["one", "two"], threads=1).run_until_idle()
        assert seen == [("ada", None, None, 1), ("last", None, None)]
        with pytest.raises(leaseq.InvalidError, match="a member of a group"):
            jobs.enqueue(client, load.new(1).then(members[0]))
        with pytest.raises(leaseq.InvalidError, match="a group without a place"):
            load.using(group=group).enqueue(client, 1)


def test_jobs_follow_a_group_in_one_call(url):
    jobs, seen = chained()
    load, report, last = types(jobs).values()
    with leaseq.connect(url) as client:

        def run():
            Worker(client, jobs, queues=["one", "two"], threads=1).run_until_idle()
            found, seen[:] = seen[:], []
            return sorted(found, key=str)

        members = [load.new(1), report.using(id=b"own").new("ada"), load.new(3)]
        then = [report.using(id="told").new("bob"), last.new()]
        never = [report.new("never")]
        end = [report.new("end")]
        added = jobs.enqueue_group(client, "g", members, then=then, on_failure=never, on_end=end)
        assert [(ref.id, ref.queue, ref.added) for ref in added.jobs] == [
            ("g/0", "one", True),
            ("own", "two", True),
            ("g/2", "one", True),
        ]
        assert (added.group.queue, added.group.id) == ("one", "g")
        with pytest.raises(TimeoutError, match=r"group 'g' has not ended within 0.001 s"):
            added.wait(0.001)
        assert run() == [
            ("ada", None, None, 1),
            ("bob", "g", None, 1),
            ("end", "g", None, 1),
            ("last", "told bob", "told bob"),
        ]
        ended = added.wait()
        assert (ended.kind, ended.info and ended.info.completed) == ("completed", 3)
        home = client.queue("one")
        home.remove_group(added.group)
        assert added.wait().kind == "gone"
        other = home.create_group("g")
        home.add_item(leaseq.Item("x", id="x", group=other, place=0))
        home.seal_group(other, 1)
        home.remove("x")
        assert home.group_outcome("g").kind == "ended"
        assert added.wait().kind == "gone"
        fails = [load.new(1), load.using(max_attempts=1).new(-1)]
        failing = jobs.enqueue_group(
            client, "fails", fails, queue="two", on_success=never, on_failure=[report.new("sees")]
        )
        assert run() == [("sees", "fails", None, 1)]
        assert failing.wait().kind == "ended"


def test_a_cancelled_group_runs_no_more(url):
    jobs, seen = chained()
    load, report, _ = types(jobs).values()
    members = [load.new(1), report.new("never")]
    then = {"on_success": [report.new("never")], "on_failure": [report.new("sees")]}
    with leaseq.connect(url) as client:
        added = jobs.enqueue_group(client, "g", members, **then)
        assert added.cancel() is True
        Worker(client, jobs, queues=["one", "two"], threads=1).run_until_idle()
        assert seen == [("sees", "g", None, 1)]
        assert added.wait().kind == "ended"
        assert added.cancel() is False

    async def cancel():
        async with await leaseq.asyncio.connect(url) as client:
            added = await jobs.aenqueue_group(client, "h", members)
            assert await added.cancel() is True
            assert (await added.wait()).kind == "ended"

    asyncio.run(cancel())


def test_a_group_is_added_again_after_a_crash(url):
    jobs, seen = chained()
    _, report, _ = types(jobs).values()
    with leaseq.connect(url) as client:
        queue = client.queue("two")

        def run():
            Worker(client, jobs, queues=["two"], threads=1).run_until_idle()
            found, seen[:] = [each[0] for each in seen], []
            return sorted(found)

        # The program dies after it has added one of the members, which then ends.
        group = queue.create_group("g", [leaseq.FollowUp("completed", report.new("sum").item())])
        assert report.using(id="g/0", group=group, place=0).enqueue(client, "a").added
        assert run() == ["a"]
        members = [report.new("a"), report.new("b")]
        for added, ran in [([False, True], ["b", "sum"]), ([False, False], [])]:
            again = jobs.enqueue_group(client, "g", members, then=[report.new("sum")])
            assert again.group == group
            assert [(ref.id, ref.added) for ref in again.jobs] == [
                ("g/0", added[0]),
                ("g/1", added[1]),
            ]
            assert run() == ran
        with pytest.raises(leaseq.InvalidError, match="another number of jobs"):
            jobs.enqueue_group(client, "g", members * 2)
        assert run() == []  # nothing was added
        with pytest.raises(leaseq.InvalidError, match="0 jobs, not between 1 and 100000"):
            jobs.enqueue_group(client, "g", [])
        with pytest.raises(leaseq.InvalidError, match="NaN"):
            jobs.enqueue_group(client, "new", [jobs.named("n").new(value=float("nan"))])
        assert client.queue("default").group("new") is None


def test_a_group_of_jobs_with_asyncio(url):
    jobs, seen = chained()
    load, report, _ = types(jobs).values()

    async def main():
        async with await leaseq.asyncio.connect(url) as client:
            names: list[list[str]] = []

            @jobs.around_enqueue
            @contextmanager
            def trace(added):
                names.append([job.name for job in added])
                yield

            members = [load.new(1), load.new(2)]
            added = await jobs.aenqueue_group(client, "g", members, then=[report.new("ada")])
            assert names == [["load", "load", "report"]]
            await AsyncWorker(client, jobs, queues=["one", "two"]).run_until_idle()
            assert [await ref.info() for ref in added.jobs] == [None, None]
            assert (await added.wait(30)).completed
            assert seen == [("ada", "g", None, 1)]
            again = await jobs.aenqueue_group(client, "g", members)
            assert [ref.added for ref in again.jobs] == [False, False]
            with pytest.raises(leaseq.InvalidError, match="another number of jobs"):
                await jobs.aenqueue_group(client, "g", members[:1])

    asyncio.run(main())
    with (
        inline(jobs),
        leaseq.connect("memory:") as client,
        pytest.raises(leaseq.InvalidError, match="do not run inline"),
    ):
        jobs.enqueue_group(client, "g", [load.new(1)])


def test_a_failure_and_an_end_are_followed_too(url):
    jobs, seen = chained()
    load, report, last = types(jobs).values()

    async def main():
        async with await leaseq.asyncio.connect(url) as client:
            job = load.using(id="a", max_attempts=1).new(-1).then(last.new())
            job = job.on_failure(report.new("failure")).on_end(report.new("end"))
            await jobs.aenqueue(client, job)
            await AsyncWorker(client, jobs, queues=["one", "two"]).run_until_idle()

    asyncio.run(main())
    assert sorted(seen) == [("end", "a", None, 1), ("failure", "a", None, 1)]


def test_a_result_that_does_not_fit_makes_the_next_job_dead(url):
    jobs = Jobs()

    @jobs.job("first")
    def first() -> str:
        return "text"

    @jobs.job("second", retain=60)
    def second(job: Job) -> None:
        job.previous(int)

    with leaseq.connect(url) as client:
        jobs.enqueue(client, first.using(id="a").new().then(second.using(id="b").new()))
        Worker(client, jobs).run_until_idle()
        info = client.queue("default").get("b")
    assert (info.state, info.failures) == ("dead", 1)
    assert "the result of job 'a', which was before: " in info.last_error


def test_what_is_wrong_in_a_chain_adds_nothing(url):
    jobs, _ = chained()
    load, _, last = types(jobs).values()
    with leaseq.connect(url) as client:
        for job, error in [
            (lambda: load.new(1).then(*[last.new()] * 17), "16"),
            (lambda: load.new(1).on_end(*[last.new()] * 17), "16"),
            (lambda: load.new(1).then(load.new(float("nan"))), "NaN"),
            (lambda: load.new(1).then(load.using(queue="no/name").new(1)), "no/name"),
        ]:
            with pytest.raises(leaseq.InvalidError, match=error):
                jobs.enqueue(client, job())
        assert client.queue("one").counts().ready == 0


def test_a_job_with_others_is_a_new_one_and_middleware_sees_them_all(url):
    jobs, _ = chained()
    load, report, last = types(jobs).values()
    seen = []

    @jobs.around_enqueue
    def traced(all_jobs):
        seen.append([job.name for job in all_jobs])
        for job in all_jobs:
            job.meta["trace"] = "t1"
        return pytest.MonkeyPatch.context()

    plain = load.new(1)
    chain = plain.then(report.new("x").on_end(last.new()))
    with leaseq.connect(url) as client:
        jobs.enqueue_many(client, [chain, plain])
        Worker(client, jobs, queues=["one", "two"], middleware=[_trace(seen)]).run_until_idle()
    assert seen[0] == ["load", "report", "last", "load"]
    assert sorted(seen[1:]) == [("last", "t1"), ("load", "t1"), ("load", "t1"), ("report", "t1")]


def _trace(seen):
    def around(job):
        seen.append((job.name, job.meta.get("trace")))
        return pytest.MonkeyPatch.context()

    return around


def test_chains_run_inline():
    jobs, seen = chained()
    load, report, last = types(jobs).values()
    with inline(jobs):
        ref = jobs.enqueue(None, load.using(id="a").new(2).then(report.new("ada"), last.new()))
    assert ref.result() == Loaded(2, "t")
    assert seen == [("ada", "a", Loaded(2, "t"), 1), ("last", "told ada", "told ada")]


def test_children_know_the_job_before(url, tmp_path, monkeypatch):
    (tmp_path / "chained_app.py").write_text(
        "from leaseq.jobs import Job, Jobs\n"
        "jobs = Jobs()\n"
        "@jobs.job('first')\n"
        "def first() -> list[int]:\n"
        "    return [1, 2]\n"
        "@jobs.job('second', retain=60)\n"
        "def second(job: Job) -> object:\n"
        "    return [job.previous_id, job.previous(list[int])]\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    import chained_app  # type: ignore[import-not-found]

    with leaseq.connect(url) as client:
        chain = chained_app.first.using(id="a").new().then(chained_app.second.using(id="b").new())
        chained_app.jobs.enqueue(client, chain)
        Worker(client, "chained_app:jobs", processes=1).run_until_idle()
        assert chained_app.second.ref(client, "b").result(0) == ["a", [1, 2]]
    del sys.modules["chained_app"]
