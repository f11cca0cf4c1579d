"""What is asked of each ratio of Postrider's figure to Postfix's, and how a disturbed machine shows."""
import os
import statistics
from pathlib import Path

AT_LEAST, AT_MOST = "≥", "≤"

# {(case, row of the table): what the ratio should be}
GOALS = {
    ("a", "end to end/s"): (AT_LEAST, 6), ("a", "CPU ms/message"): (AT_MOST, 0.10),
    ("b", "end to end/s"): (AT_LEAST, 10), ("b", "CPU ms/message"): (AT_MOST, 0.07),
    ("c", "end to end/s"): (AT_LEAST, 5.5),
    ("d", "end to end/s"): (AT_LEAST, 2.2),
    ("e", "end to end/s"): (AT_LEAST, 12),
    ("f", "accepted/s"): (AT_LEAST, 6), ("f", "drained/s"): (AT_LEAST, 8),
    ("g", "end to end/s"): (AT_LEAST, 4),
    ("h", "end to end/s"): (AT_LEAST, 8),
    ("i", "handshakes/s"): (AT_LEAST, 3),
    ("j", "handshakes/s"): (AT_LEAST, 4),
    ("latency", "connect to 250 ms"): (AT_MOST, 0.35),
}

SPREAD_LIMIT = 0.10  # of the largest to the smallest run, as a part of the median
STEAL_LIMIT = 0.02   # of the processors' time, taken by the host for others
# Of these figures the spread is looked at: rates and times that the case is about.
WATCHED = {row for _, row in GOALS}


def reached(case, row, ratio):
    """None: nothing is asked of it."""
    if (case, row) not in GOALS:
        return None
    direction, bound = GOALS[case, row]
    return ratio >= bound if direction == AT_LEAST else ratio <= bound


def text_of(case, row):
    direction, bound = GOALS.get((case, row), ("", ""))
    return f"{direction} {bound}" if direction else ""


def spread(values):
    """Largest to smallest, as a part of the median."""
    middle = statistics.median(values)
    return (max(values) - min(values)) / middle if middle else 0


class Steal:
    """How much of the processors' time the host gave to others since the beginning."""

    def __init__(self):
        self.begin = self._ticks()

    @staticmethod
    def _ticks():
        fields = [int(n) for n in Path("/proc/stat").read_text().splitlines()[0].split()[1:]]
        return sum(fields[:8]), fields[7]

    def share(self):
        whole, stolen = (now - then for now, then in zip(self._ticks(), self.begin))
        return stolen / whole if whole else 0


def others_at_work():
    """How many other processes wanted a processor, averaged over the last minute."""
    return os.getloadavg()[0]
