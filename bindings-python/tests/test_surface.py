"""Both interfaces have the same surface, which is the documented and the typed one."""

import ast
import asyncio
import doctest
import inspect
import logging
import subprocess
import sys
import types
import typing
from pathlib import Path

import pytest

import leaseq
import leaseq.asyncio
import leaseq.jobs

HERE = Path(__file__).parent
# The methods behind `with` blocks, by those behind `async with`.
DUNDERS = {"__enter__": "__aenter__", "__exit__": "__aexit__"}
CLASSES = ["Client", "Queue", "Lease"]
INTERFACES = (leaseq, leaseq.asyncio)


def public(cls):
    names = [name for name in vars(cls) if not name.startswith("_") or name in DUNDERS]
    names += [name for name in DUNDERS.values() if name in vars(cls)]
    own = {DUNDERS.get(name, name): inspect.getattr_static(cls, name) for name in names}
    return {name: member for name, member in own.items() if name != "__module__"}


def shape(function):
    """Its parameters with names, kinds, defaults and annotations, and what it returns at last."""
    signature = inspect.signature(function)
    parameters = [
        (p.name, p.kind, p.default, str(p.annotation)) for p in signature.parameters.values()
    ]
    returns = str(signature.return_annotation).replace(
        "AsyncGenerator[Lease, None]", "Generator[Lease, None, None]"
    )
    return parameters, returns


def test_the_modules_export_the_same():
    exported = set(leaseq.asyncio.__all__)
    assert exported == {"connect", *CLASSES}
    assert exported <= set(leaseq.__all__)
    assert shape(leaseq.connect) == shape(leaseq.asyncio.connect)
    for name in leaseq.__all__:
        assert getattr(leaseq, name) is not None
    with pytest.raises(AttributeError):
        leaseq.nothing  # noqa: B018


@pytest.mark.parametrize("name", CLASSES)
def test_the_classes_have_the_same_members(name):
    blocking, asynchronous = getattr(leaseq, name), getattr(leaseq.asyncio, name)
    ours, theirs = public(blocking), public(asynchronous)
    # A thread cannot be stopped.
    assert set(ours) | ({"stop_if_cancelled"} if name == "Lease" else set()) == set(theirs)
    for member, function in ours.items():
        twin = theirs[member]
        if (name, member) == ("Lease", "__aexit__"):
            # The blocking one is native: no signal may come before it begins.
            continue
        assert type(function) is type(twin), member
        if not inspect.isfunction(function):
            continue
        assert shape(function) == shape(twin), member
        # A method that makes no request is not awaited.
        waits = inspect.iscoroutinefunction(twin) or inspect.isasyncgenfunction(twin)
        assert waits == (name != "Client" or member != "queue"), member
        assert not inspect.iscoroutinefunction(function), member


def test_leases_are_the_same_but_for_what_waits():
    assert leaseq.Lease.__bases__ == leaseq.asyncio.Lease.__bases__
    assert set(public(leaseq.Lease)) == {*DUNDERS.values(), "cancelled"}


def test_every_operation_of_the_contract_is_there():
    operations = [
        "add_item",
        "add_items",
        "lease",
        "lease_many",
        "leases",
        "complete",
        "complete_many",
        "complete_and_lease",
        "extend",
        "extend_many",
        "set_progress",
        "release",
        "release_many",
        "fail",
        "fail_many",
        "light_clean",
        "deep_clean",
        "check",
        "queue_len",
        "processing",
        "counts",
        "get",
        "get_many",
        "outcome",
        "outcome_many",
        "list",
        "remove",
        "remove_many",
        "requeue",
        "cancel",
        "cancel_many",
        "attach",
        "attach_many",
        "create_group",
        "seal_group",
        "cancel_group",
        "remove_group",
        "group",
        "group_outcome",
        "group_places",
        "bury",
        "revise",
        "revise_many",
        "configure",
        "settings",
        "set_key_limits",
        "get_keys",
        "pause",
        "resume",
        "record_history",
        "history",
        "events",
        "put_schedule",
        "sync_schedules",
        "schedules",
        "remove_schedule",
        "pause_schedule",
        "resume_schedule",
        "run_now",
        "purge",
        "drop_queue",
    ]
    assert set(public(leaseq.Queue)) == {*operations, "name", "close", *DUNDERS.values()}


def test_everything_public_is_documented():
    things = [leaseq, leaseq.asyncio]
    things += [getattr(leaseq, name) for name in leaseq.__all__ if name != "__version__"]
    for thing in things:
        is_union = isinstance(thing, types.UnionType) or typing.get_origin(thing) is typing.Literal
        assert thing.__doc__ or is_union, thing
        if inspect.isclass(thing):
            for name, member in vars(thing).items():
                if not name.startswith("_") and callable(member):
                    assert member.__doc__, f"{thing}.{name}"
    for cls in (leaseq.Item, leaseq.Lease.__base__):
        for name, member in vars(cls).items():
            assert name.startswith("_") or member.__doc__, f"{cls}.{name}"
    for name in CLASSES:
        for member, function in public(getattr(leaseq.asyncio, name)).items():
            assert member.startswith("__") or function.__doc__, member


def examples():
    finder = doctest.DocTestFinder()
    for interface in INTERFACES:
        names = [name for name in interface.__all__ if name not in ("__version__", "asyncio")]
        words = {**vars(leaseq._blocking), **vars(leaseq), **vars(interface)}
        found = finder.find(interface, interface.__name__, interface, globs=dict(words))
        for name in names:
            thing = getattr(interface, name)
            # Not by module: the classes name the package as theirs.
            found += finder.find(thing, f"{interface.__name__}.{name}", False, globs=dict(words))
        yield from (each for each in found if each.examples)


EXAMPLES = {example.name: example for example in examples()}


@pytest.fixture
def may_await(monkeypatch):
    """Lets the examples await without a function around them, as in `python -m asyncio`."""
    flag = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
    loop = asyncio.new_event_loop()

    def compiled(source, name, mode, flags, dont_inherit):
        return compile(source, name, mode, flags | flag, dont_inherit)

    def execute(code, words):
        if code.co_flags & inspect.CO_COROUTINE:
            loop.run_until_complete(types.FunctionType(code, words)())
        else:
            exec(code, words)

    monkeypatch.setattr(doctest, "compile", compiled, raising=False)
    monkeypatch.setattr(doctest, "exec", execute, raising=False)
    yield
    loop.close()


@pytest.mark.parametrize("name", EXAMPLES)
@pytest.mark.usefixtures("may_await")
def test_the_examples_in_the_documentation_work(name):
    runner = doctest.DocTestRunner(optionflags=doctest.REPORT_NDIFF)
    assert runner.run(EXAMPLES[name]).failed == 0


def test_there_are_examples():
    few = {"leaseq", "leaseq.Item.json", "leaseq.Queue.lease", "leaseq.asyncio.Queue.lease"}
    assert few <= set(EXAMPLES)
    assert len(EXAMPLES) > 30


def test_the_jobs_are_documented_and_their_examples_work(may_await):
    words = {"leaseq": leaseq, "logging": logging, **vars(leaseq.jobs)}
    things = [getattr(leaseq.jobs, name) for name in leaseq.jobs.__all__]
    for thing in [
        leaseq.jobs,
        *(each for each in things if inspect.isroutine(each) or inspect.isclass(each)),
    ]:
        assert thing.__doc__, thing
        for name, member in vars(thing).items() if inspect.isclass(thing) else ():
            if not name.startswith("_") and (callable(member) or isinstance(member, property)):
                assert member.__doc__, f"{thing}.{name}"
        name = getattr(thing, "__name__", "")
        for example in doctest.DocTestFinder().find(thing, name, False, globs=dict(words)):
            assert doctest.DocTestRunner().run(example).failed == 0, example.name


def test_annotations_can_be_read_when_the_program_runs():
    for interface in INTERFACES:
        for member in public(interface.Queue).values():
            if inspect.isfunction(member):
                assert typing.get_type_hints(
                    member, vars(sys.modules[member.__globals__["__name__"]])
                )


def tool(*arguments):
    run = subprocess.run(
        [sys.executable, "-m", *arguments],
        capture_output=True,
        text=True,
        check=False,
        cwd=HERE.parent,
    )
    assert run.returncode == 0, run.stdout + run.stderr


def test_the_stubs_agree_with_what_they_stand_for():
    allowed = ["--allowlist", "tests/stubtest-allowlist.txt", "--ignore-unused-allowlist"]
    allowed += ["--mypy-config-file", "pyproject.toml"]
    tool("mypy.stubtest", "leaseq", *allowed)


def test_programs_of_users_are_checked_strictly(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(
        """
from datetime import timedelta
from typing import assert_type

import leaseq
import leaseq.asyncio as aio


def work(queue: leaseq.Queue) -> None:
    assert_type(queue.add_item("x"), bool)
    assert_type(queue.add_items([b"x", leaseq.Item("x", priority=5)]), list[bool])
    assert_type(queue.lease(30), leaseq.Lease)
    assert_type(queue.lease(timedelta(1), wait=5), leaseq.Lease | None)
    with queue.lease(30, keep_alive=True) as lease:
        assert_type(lease.data, bytes)
        assert_type(lease.endings, tuple[leaseq.Ending, ...])
        assert_type(lease.releases, leaseq.Releases | None)
    queue.release(lease, reason="no connection")
    queue.release(lease, reason=b"bytes")  # type: ignore[arg-type]
    assert_type(queue.fail(lease, "x", dead=True), leaseq.State)
    for each in queue.leases(30):
        assert_type(each, leaseq.Lease)
    assert_type(queue.list("ready"), leaseq.Page)
    assert_type(queue.get_many(["a"], data=False), list[leaseq.ItemInfo | None])
    assert_type(queue.outcome("a"), leaseq.Outcome)
    assert_type(queue.outcome("a", 1), leaseq.Outcome | None)
    assert_type(queue.group_outcome("a"), leaseq.GroupOutcome)
    assert_type(queue.group_outcome("a", 1), leaseq.GroupOutcome | None)
    outcomes = queue.outcome_many(["a"], expect=True)
    assert_type(outcomes, list[leaseq.Outcome | leaseq.LeaseqError | None])
    assert_type(queue.fail_many([lease], "x"), list[leaseq.State | None])
    queue.add_item(5)  # type: ignore[arg-type]
    queue.lease("30")  # type: ignore[call-overload]


async def aiowork(queue: aio.Queue) -> None:
    assert_type(await queue.add_item("x"), bool)
    assert_type(await queue.lease(30), aio.Lease)
    assert_type(await queue.lease(30, 5), aio.Lease | None)
    async with await queue.lease(30) as lease:
        assert_type(await queue.complete(lease), bool)
    async for each in queue.leases(30):
        assert_type(each, aio.Lease)
    with await queue.lease(30):  # type: ignore[attr-defined]
        pass


with leaseq.connect("memory:") as client:
    work(client.queue("q"))
try:
    pass
except leaseq.UnavailableError as error:
    assert_type(error.outcome_unknown, bool)
"""
    )
    tool("mypy", "--strict", "--python-version", "3.11", str(program))
