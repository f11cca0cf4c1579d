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


# Of Postrider with access tables to Postrider without.
GOALS_OF_TABLES = {(case, row): goal for case in "abcdegh"
                   for row, goal in (("end to end/s", (AT_LEAST, 0.9)), ("CPU ms/message", (AT_MOST, 1.1)))}


class Goal:
    def __init__(self, direction="", bound=None):
        self.direction, self.bound = direction, bound

    @classmethod
    def of(cls, case, row, tables=False):
        return cls(*(GOALS_OF_TABLES if tables else GOALS).get((case, row), ()))

    def reached(self, ratio):
        """None: nothing is asked of it."""
        if not self.direction:
            return None
        return ratio >= self.bound if self.direction == AT_LEAST else ratio <= self.bound

    def text(self):
        return f"{self.direction} {self.bound}" if self.direction else ""


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
