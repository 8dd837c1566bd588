"""Settings of a queue: which arguments are given, and what comes back."""

from datetime import datetime, timedelta, timezone

import pytest

import leaseq


def test_what_is_not_given_stays_and_none_removes(queue):
    settings = queue.settings()
    assert settings == leaseq.Settings(
        None, 0.0, None, None, None, None, 1, None, None, None, 0, False, None, None, "", "", None
    )
    settings = queue.configure(
        max_attempts=5,
        retain=timedelta(minutes=1),
        max_dead=10,
        max_retained=20,
        max_dead_age=0.5,
        max_retained_age=86_400,
        events=100,
        rate=leaseq.Rate(10, timedelta(seconds=0.5), burst=20),
        key_rate=leaseq.Rate(2, 1, burst=3),
    )
    assert settings is not None
    assert (settings.max_attempts, settings.retain, settings.max_dead) == (5, 60.0, 10)
    assert (settings.max_retained, settings.max_dead_age) == (20, 0.5)
    assert (settings.max_retained_age, settings.paused) == (86_400.0, False)
    assert (settings.rate, settings.rate_limited_until) == (leaseq.Rate(10, 0.5, 20), None)
    assert settings.key_rate == leaseq.Rate(2, 1.0, 3)
    assert settings.events == 100
    assert settings.revision > 1_600_000_000_000
    assert queue.settings() == settings
    changed = queue.configure(max_attempts=None, retain=None, max_dead_age=None)
    assert changed is not None
    assert (changed.max_attempts, changed.retain, changed.max_dead_age) == (None, 0.0, None)
    assert (changed.max_dead, changed.max_retained) == (10, 20)
    assert changed.revision > settings.revision
    assert queue.configure() == changed
    changed = queue.configure(rate=leaseq.Rate(3, 60))
    assert changed is not None
    assert changed.rate == leaseq.Rate(3, 60.0, 3), "the burst is the count"
    changed = queue.configure(rate=None)
    assert changed is not None
    assert changed.rate is None


def test_another_revision_is_refused(queue):
    settings = queue.configure(max_dead=5, revision=0)
    assert settings is not None
    for revision in (0, settings.revision - 1, 2**64 - 1):
        assert queue.configure(max_dead=6, revision=revision) is None
    changed = queue.configure(max_dead=6, revision=settings.revision)
    assert changed is not None
    assert (changed.max_dead, queue.settings()) == (6, changed)


def test_a_pause_has_a_duration(queue):
    before = datetime.now(timezone.utc)
    queue.pause(timedelta(hours=1))
    until = queue.settings().paused_until
    assert until is not None
    assert timedelta(minutes=59) < until - before < timedelta(minutes=61)
    assert until.tzinfo is not None
    queue.pause()
    settings = queue.settings()
    assert (settings.paused, settings.paused_until) == (True, None)
    assert settings.paused_at is not None
    assert abs(settings.paused_at - before) < timedelta(minutes=1)
    assert (settings.paused_by, settings.pause_reason) == ("", "")
    queue.pause(60, by="ada", reason="full")
    settings = queue.settings()
    assert (settings.paused_by, settings.pause_reason) == ("ada", "full")
    for wrong in (
        {"by": "x" * 129},
        {"reason": "x" * 257},
        {"by": "\n"},
        {"by": "\ud800"},
        {"by": None},
    ):
        with pytest.raises((leaseq.InvalidError, TypeError)):
            queue.pause(**wrong)
    queue.pause()
    queue.add_item("x")
    assert queue.lease(1, wait=0) is None
    queue.pause(0.05)
    lease = queue.lease(1, wait=10)
    assert lease is not None, "the end of the pause wakes it"


def test_a_rate_is_used_up(queue):
    queue.add_items(leaseq.Item("x") for _ in range(3))
    queue.configure(rate=leaseq.Rate(1, 60, burst=2))
    assert not queue.counts().rate_limited
    assert len(queue.lease_many(3, 10, wait=0)) == 2
    assert queue.counts().rate_limited
    until = queue.settings().rate_limited_until
    assert until is not None
    assert timedelta(0) < until - datetime.now(timezone.utc) < timedelta(minutes=2)


def test_wrong_values_change_nothing(queue):
    refused = [
        ({"max_attempts": 0}, "max_attempts 0 is not between 1 and 65535"),
        ({"max_attempts": 65_536}, "max_attempts 65536"),
        ({"max_dead": 0}, "max_dead 0 is not between 1 and 1000000000"),
        ({"max_retained": 10**12}, "max_retained 1000000000000"),
        ({"retain": timedelta(days=367)}, "366 days"),
        ({"retain": -1}, "retain of -1 seconds"),
        ({"max_dead_age": 0}, "max_dead_age of 0 ms"),
        ({"max_retained_age": float("nan")}, "max_retained_age of nan"),
        ({"rate": leaseq.Rate(0, 1)}, "count 0 is not between 1 and 1000000"),
        ({"rate": leaseq.Rate(1, 0)}, "period of a rate of 0 ms"),
        ({"rate": leaseq.Rate(1, timedelta(days=32))}, "31 days"),
        ({"rate": leaseq.Rate(1, 1, 0)}, "burst 0 is not between 1 and 1000000"),
        ({"key_rate": leaseq.Rate(1, 86400, 367)}, "366 days"),
        ({"revision": -1}, "a revision of -1"),
        ({"revision": 2**64}, "a revision of 18446744073709551616"),
    ]
    for given, message in refused:
        with pytest.raises(leaseq.InvalidError, match=message):
            queue.configure(**given)
    wrong = ({"max_attempts": "5"}, {"max_dead": 1.0}, {"max_dead": True}, {"retain": "1"})
    for given in (*wrong, {"revision": "1"}, {"max_dead_age": False}):
        with pytest.raises(TypeError):
            queue.configure(**given)
    for rate in (5, (1, 1), leaseq.Rate("1", 1), leaseq.Rate(1, "1"), leaseq.Rate(1, 1, 1.0)):
        with pytest.raises(TypeError):
            queue.configure(rate=rate)
    with pytest.raises(TypeError):
        queue.configure(5)
    for duration in (0, -1, timedelta(days=367)):
        with pytest.raises(leaseq.InvalidError, match="a pause of"):
            queue.pause(duration)
    with pytest.raises(TypeError):
        queue.pause("1")
    assert queue.settings().revision == 0
