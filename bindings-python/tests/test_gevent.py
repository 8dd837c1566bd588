"""In a program whose threads gevent has replaced."""

import leaseq


def test_items_and_jobs_are_added_where_gevent_has_replaced_threads(url, program):
    """Such as in a web server with greenlets."""
    code = """
        from gevent import monkey
        monkey.patch_all()
        import gevent, leaseq, logging
        from leaseq.jobs import Jobs, Worker
        logging.basicConfig()
        jobs = Jobs(queue="q")
        @jobs.job("a")
        def a(n: int) -> None: ...
        with leaseq.connect() as client:
            greenlets = [gevent.spawn(a.enqueue, client, n) for n in range(20)]
            gevent.joinall(greenlets, raise_error=True)
            print(client.queue("q").counts().ready)
            try:
                Worker(client, jobs).run_until_idle()
            except leaseq.InvalidError as error:
                print(error)
    """
    out, _ = program(code, url).ends()
    added, error = out.splitlines()
    assert added == "20"
    assert error.startswith("gevent has replaced the threads of this program")
    with leaseq.connect(url) as client:
        assert client.queue("q").counts().ready == 20
