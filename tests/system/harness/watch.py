"""Waiting for what is expected."""
import time


def wait_until(condition, seconds=15.0, what="it to happen", step=0.02):
    """Returns the condition's first true value; fails when not received in time."""
    end = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > end:
            raise AssertionError(f"waited {seconds:g} s for {what() if callable(what) else what}")
        time.sleep(step)
