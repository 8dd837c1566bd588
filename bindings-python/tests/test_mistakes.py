"""What one caller does wrong touches nothing, and no call of another."""

import array
import asyncio
import logging
import mmap
import sys

import pytest
from conftest import eventually

import leaseq
from leaseq import Item


def closed_map():
    mapped = mmap.mmap(-1, 16)
    mapped.close()
    return mapped


def released_view():
    view = memoryview(b"x")
    view.release()
    return view


@pytest.mark.parametrize("buffer", [closed_map, released_view])
def test_a_released_buffer_raises_and_adds_nothing(queue, buffer):
    for call in (
        lambda: queue.add_item(buffer()),
        lambda: queue.add_items(["fine", buffer()]),
        lambda: queue.remove(buffer()),
        lambda: Item("x", id=buffer()),
    ):
        with pytest.raises(ValueError, match=r"closed|released"):
            call()
    assert queue.queue_len() == 0


def test_a_buffer_is_released_after_the_call(queue):
    changing, numbers, mapped = bytearray(b"ab"), array.array("B", [1, 2]), mmap.mmap(-1, 4)
    view = memoryview(changing)[::-1]
    assert queue.add_items([changing, numbers, mapped, view]) == [True] * 4
    with pytest.raises(TypeError, match="bytes or str"):
        queue.add_items([changing, view, 5])
    view.release()
    changing.extend(b"c" * 10_000)
    numbers.append(3)
    mapped.close()
    stored = [item.data for item in queue.list("ready").items]
    assert stored == [b"ab", b"\1\2", b"\0" * 4, b"ba"]


@pytest.mark.skipif(sys.version_info < (3, 12), reason="Python has no __buffer__ before")
def test_the_error_of_a_buffer_is_raised(queue):
    class Buffer:
        def __init__(self, error):
            self.error = error

        def __buffer__(self, flags):
            raise self.error

    for error in (ZeroDivisionError("mine"), KeyboardInterrupt()):
        with pytest.raises(type(error)):
            queue.add_items(["fine", Buffer(error)])
    assert queue.queue_len() == 0


def test_an_iterable_may_use_the_queue_and_close_the_client(url):
    client = leaseq.connect(url)
    queue = client.queue("q")

    def items():
        for name in "ab":
            assert queue.add_item(Item("inner", id=name))
            yield Item("outer", id=name + name)

    def leases():
        yield queue.lease(30)
        client.close()
        yield lease

    assert queue.add_items(items()) == [True, True]
    lease = queue.lease(30)
    assert lease.id == "a"
    with pytest.raises(leaseq.ClosedError):
        queue.complete_many(leases())
    with leaseq.connect(url) as other:
        assert other.queue("q").counts().totals.completed == 0


def test_an_iterable_of_leases_that_fails_settles_none(queue):
    queue.add_items(["x"] * 3)
    leases = queue.lease_many(3, 30)

    def some():
        yield from leases[:2]
        raise OSError("mine")

    for call in (
        lambda: queue.complete_many(some()),
        lambda: queue.complete_and_lease(some(), 1, 30, 0),
        lambda: queue.release_many(some()),
        lambda: queue.extend_many(some(), 30),
        lambda: queue.fail_many(some(), "x"),
    ):
        with pytest.raises(OSError, match="mine"):
            call()
    with pytest.raises(leaseq.InvalidError, match="2 errors for 3 leases"):
        queue.fail_many(leases, ["x", "y"])
    assert queue.complete_many(leases, strict=True) == [True] * 3


def test_an_endless_iterable_can_be_interrupted_and_lets_others_go_on(program):
    code = """
        import leaseq, os, signal, threading
        queue = leaseq.connect().queue("q")
        other = leaseq.connect().queue("q")
        reads = threading.Event()
        def endless():
            while True:
                yield b"x"
                reads.set()
        def work():
            reads.wait()
            for _ in range(20):
                assert other.add_item("x")
            os.kill(os.getpid(), signal.SIGINT)
        thread = threading.Thread(target=work)
        thread.start()
        try:
            queue.add_items(endless())
        except KeyboardInterrupt:
            print("interrupted")
        thread.join()
        assert queue.queue_len() == 0 and other.queue_len() == 20
    """
    out, _ = program(code, "memory:").ends()
    assert out == "interrupted\n"


class SpeechlessError(Exception):
    def __str__(self):
        raise RuntimeError("no text")


def test_an_error_that_cannot_be_written_fails_the_item(queue):
    queue.add_items([Item("x", id="a"), Item("x", id="b")])
    with pytest.raises(SpeechlessError), queue.lease(30):
        raise SpeechlessError
    queue.fail_many([queue.lease(30)], [SpeechlessError()])
    for id in ("a", "b"):
        assert queue.get(id).last_error == "SpeechlessError"
        assert queue.get(id).failures == 1


def test_subclasses_of_numbers_and_texts(queue):
    class Seconds(float):
        def __float__(self):
            raise RuntimeError("not asked")

    class Count(int):
        def __index__(self):
            raise RuntimeError("not asked")

        __int__ = __str__ = __index__

    class Text(str):
        def __str__(self):
            raise RuntimeError("not asked")

        encode = __str__

    assert queue.add_item(Item(Text("x"), id=Text("a"), priority=Count(3)))
    lease = queue.lease(Seconds(30), Seconds(0))
    assert lease.priority == 3
    with pytest.raises(leaseq.InvalidError):
        queue.lease_many(Count(0), 30)
    queue.fail(lease, Text("why"))
    assert queue.get(Text("a")).last_error == "why"


def test_texts_that_are_not_utf_8_are_invalid_and_never_shown(client, queue):
    url = "redis://user:secret\udcff@127.0.0.1/"
    for call in (
        lambda: leaseq.connect(url),
        lambda: leaseq.connect("memory:", namespace="\udcff"),
        lambda: client.queue("\udcff"),
        lambda: queue.list("ready", "\udcff"),
        lambda: asyncio.run(leaseq.asyncio.connect(url)),
    ):
        with pytest.raises(leaseq.InvalidError, match="is not UTF-8") as caught:
            call()
        assert "secret" not in repr(caught.value) + repr(caught.value.__cause__)


def test_the_repr_of_a_client_has_no_password(start_redis):
    server = start_redis("--requirepass", "secret")
    with leaseq.connect(f"redis://:secret@127.0.0.1:{server.port}/") as client:
        queue = client.queue("q")
        queue.add_item("x")
        lease = queue.lease(30)
        things = (client, queue, lease, client._native, queue._native)
        assert "secret" not in "".join(repr(thing) + str(thing) for thing in things)


def test_a_handler_that_raises_does_not_end_the_log():
    class Raises(logging.Filter):
        def filter(self, record):
            raised.append(record)
            raise RuntimeError("mine")

    logger, raised, seen = logging.getLogger("leaseq"), [], []
    raises = Raises()
    logger.addFilter(raises)
    try:
        warn()
        eventually(lambda: raised, "a record")
    finally:
        logger.removeFilter(raises)
    handler = logging.Handler()
    handler.emit = seen.append
    logger.addHandler(handler)
    try:
        warn()
        eventually(lambda: seen, "a record")
    finally:
        logger.removeHandler(handler)


def warn():
    """Has the core log something: what is given back too late."""
    with leaseq.connect("memory:") as other:
        queue = other.queue("q")
        queue.add_item("x")
        lease = queue.lease(30)
    queue._native.give_back([lease])
