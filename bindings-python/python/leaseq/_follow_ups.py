"""Follow-ups as the queue has them."""

from __future__ import annotations

from typing import Literal, TypedDict


class FollowUpItem(TypedDict, total=False):
    """What a follow-up adds: its id and data, and the options that it was given."""

    id: str
    id_hex: str
    """Instead of `id`, if that is no text."""
    data: str
    data_hex: str
    """Instead of `data`, if that is no text."""
    queue: str
    priority: int
    delay_ms: int
    due_at: str
    """RFC 3339."""
    max_attempts: int
    retain_ms: int
    unique: str
    unique_hex: str
    unique_for_ms: int
    replace: bool
    successor: bool
    key: str
    key_hex: str
    expires_in_ms: int
    follow_ups: list[FollowUpInfo]


class _FollowUpInfo(TypedDict):
    on: Literal["completed", "dead", "ended"]
    """Which end fires it."""
    item: FollowUpItem


class FollowUpInfo(_FollowUpInfo, total=False):
    """A follow-up of an item."""

    with_trigger: bool
    """Whether it gives its trigger."""
