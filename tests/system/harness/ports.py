"""Addresses nobody else uses: every test process has a /24 of loopback, every test its own ports in it."""
import itertools
import os


class Block:
    _number = itertools.count()

    def __init__(self):
        pid = os.getpid()
        self.network = f"127.{64 + pid // 256 % 128}.{pid % 256}"
        self.base = 3000 + next(Block._number) % 1000 * 20  # below the ephemeral ports
        self._next = itertools.count()

    def host(self, last):
        return f"{self.network}.{last}"

    def port(self):
        n = next(self._next)
        assert n < 20, "a test has 20 ports"
        return self.base + n
