"""The core's warnings reach the logger `leaseq`."""

import logging
import time

from conftest import eventually

import leaseq


def test_a_warning_arrives_without_the_password(start_redis, caplog):
    """A wait is interrupted, and the server dies before the lease is given back."""
    server = start_redis("--requirepass", "secret")
    url = f"redis://:secret@127.0.0.1:{server.port}/?timeout_ms=1000"
    with caplog.at_level(logging.WARNING, "leaseq"):
        client = leaseq.connect(url)
        queue = client.queue("q")
        queue.add_item("x")
        lease = queue.lease(30)
        server.stop()
        queue._native.give_back([lease])
        time.sleep(0)
        client.close()

        # On a busy machine there may be other warnings.
        def records():
            return [it for it in caplog.records if "run out by themselves" in it.getMessage()]

        eventually(records, "a record")
    record = records()[0]
    assert (record.name, record.levelname) == ("leaseq", "WARNING")
    assert "queue=q" in record.getMessage()
    assert "secret" not in caplog.text


def test_warnings_of_a_child_are_its_own(url, program):
    code = """
        import logging, os, sys
        import leaseq
        logging.basicConfig(stream=sys.stdout, format="%(name)s %(process)d %(message)s")
        client = leaseq.connect()
        queue = client.queue("q")
        queue.add_item("x")
        pid = os.fork()
        if pid == 0:
            import leaseq._process
            assert leaseq._process._log.thread.is_alive()
            sys.exit(0)
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
        assert leaseq._process._log.thread.is_alive()
    """
    program(code, url).ends()
