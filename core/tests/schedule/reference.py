"""Writes `ticks.txt`, what another library computes for a year: `python reference.py > ticks.txt`.

Needs `pip install cronsim==2.7 tzdata==2026.6`. Each line: zone, expression, how many ticks there are in the year
from 2026-01-01 UTC on, a checksum of them in Unix time (s), and those near changes of the clock, separated by tabs.
"""

from datetime import datetime, timedelta, timezone
from zoneinfo import ZoneInfo

from cronsim import CronSim

ZONES = [
    "UTC",
    "Europe/Berlin",
    "America/New_York",
    "America/Sao_Paulo",
    "Africa/Casablanca",
    "Australia/Lord_Howe",
    "Asia/Kathmandu",
    "Pacific/Chatham",
    "America/Havana",
]
EXPRESSIONS = [
    "30 2 * * *",
    "0 0 * * *",
    "15 1 * * *",
    "0,30 2 * * *",
    "59 1-3 * * *",
    "*/20 * * * *",
    "0 * * * *",
    "*/30 2 * * *",
    "0 9 * * mon-fri",
    "45 2 29 2 *",
    "0 3 L * *",
    "30 0 1,15 * sun",
    "0 12 * jan,jul 2#1",
    "15 30 9 * * mon",
]


def ticks(expression: str, zone: ZoneInfo) -> list[datetime]:
    begin = datetime(2026, 1, 1, tzinfo=timezone.utc)
    end = datetime(2027, 1, 1, tzinfo=timezone.utc)
    found: list[datetime] = []
    for tick in CronSim(expression, begin.astimezone(zone)):
        tick = tick.astimezone(timezone.utc)
        if tick >= end:
            break
        found.append(tick)
    return found


def is_near_change(tick: datetime, zone: ZoneInfo) -> bool:
    around = [(tick + timedelta(hours=hours)).astimezone(zone).utcoffset() for hours in (-3, 3)]
    return around[0] != around[1]


for zone_name in ZONES:
    zone = ZoneInfo(zone_name)
    for expression in EXPRESSIONS:
        # Lord Howe leaves out 02:00 to 02:30 and has a 02:30, which cronsim does not find.
        if (zone_name, expression) == ("Australia/Lord_Howe", "*/30 2 * * *"):
            continue
        found = ticks(expression, zone)
        seconds = [str(int(tick.timestamp())) for tick in found]
        near = [s for tick, s in zip(found, seconds, strict=True) if is_near_change(tick, zone)]
        checksum = 0
        for tick in found:
            checksum = (checksum * 31 + int(tick.timestamp())) % 1_000_000_007
        print(zone_name, expression, len(found), checksum, " ".join(near), sep="\t")
