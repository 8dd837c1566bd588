"""What leaving a `with` block does: of a lease, a queue and a client."""

import pytest
from test_operations import counted

import leaseq
from leaseq import Item, State


def test_leaving_a_block_completes(queue):
    queue.add_items([Item("x", id="1"), Item("x", id="2")])
    for lease in queue.leases(30, wait=0):
        with lease as same:
            assert same is lease
    assert counted(queue) == (0, 0, 0, 0)
    assert queue.counts().totals.completed == 2


def test_an_exception_fails_the_item_and_goes_on(queue):
    queue.add_item(Item("x", id="1"))
    with pytest.raises(ZeroDivisionError), queue.lease(30):
        1 / 0  # noqa: B018
    assert queue.get("1").last_error == "ZeroDivisionError: division by zero"
    assert queue.get("1").failures == 1


@pytest.mark.parametrize("kind", [KeyboardInterrupt, SystemExit, GeneratorExit])
def test_an_interruption_releases_the_item(queue, kind):
    queue.add_item(Item("x", id="1"))
    with pytest.raises(kind), queue.lease(30):
        raise kind
    assert (queue.get("1").state, queue.get("1").failures) == (State.READY, 0)


def test_a_block_leaves_alone_what_was_settled_in_it(queue):
    queue.add_item(Item("x", id="1"))
    with queue.lease(30) as lease:
        queue.release(lease, delay=60)
    assert queue.get("1").state is State.DELAYED
    queue.add_item(Item("y", id="2"))
    with queue.lease(30) as lease:
        assert queue.complete(lease)
    with pytest.raises(OSError, match="mine"), leased(queue) as lease:
        queue.fail(lease, "by hand")
        raise OSError("mine")
    assert queue.get("3").last_error == "by hand"


def leased(queue):
    queue.add_item(Item("z", id="3"))
    return queue.lease(30)


def test_an_exception_is_not_hidden_by_a_lease_that_is_lost(queue, caplog):
    queue.add_item(Item("x", id="1"))
    with pytest.raises(OSError, match="mine"), queue.lease(30):
        queue.remove("1")
        raise OSError("mine")
    assert "could not be given back" in caplog.text


def test_a_queue_is_closed_by_its_block_and_its_client_goes_on(client):
    with client.queue("one") as one:
        one.add_item("x")
    with pytest.raises(leaseq.ClosedError, match="the queue is closed"):
        one.add_item("x")
    assert client.queue("one").queue_len() == 1
    assert repr(one) == "<leaseq.Queue 'one'>"
    assert one.name == "one"


def test_a_client_is_closed_by_its_block(url):
    with leaseq.connect(url) as client:
        queue = client.queue("q")
        queue.add_item("x")
        lease = queue.lease(30)
    for call in (lambda: queue.add_item("x"), lambda: client.queue("q"), client.queues):
        with pytest.raises(leaseq.ClosedError):
            call()
    client.close()
    assert lease.data == b"x"
