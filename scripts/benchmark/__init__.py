"""The parts of scripts/bench: the ground both MTAs stand on, the MTAs, the load, the measuring."""
