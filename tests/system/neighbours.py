"""The program behind `scripts/soak neighbours`: one neighbour after the other misbehaves, and the worst delay of a probe on
each road is printed as a table, Postrider's beside that of Debian's Postfix under the same misbehaviour.

  neighbours.py [--seconds 30] [--only WORDS] [--system postrider|postfix] [--markdown FILE]
"""
import argparse
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from harness.hanging_fs import can_hang  # noqa: E402
from harness.neighbours import NEIGHBOURS, Ground  # noqa: E402
from harness.network import enter_own_network  # noqa: E402
from harness.ports import Block  # noqa: E402
from harness.roads import ROADS, in_words  # noqa: E402
from harness.side_by_side import Ours, Theirs  # noqa: E402


def measure(kind, neighbour, seconds):
    """({road: …}, how much of the neighbour's waited in the end, what went wrong)."""
    ground = Ground(kind, Block(), neighbour)
    try:
        ground.start()
        warm = ground.roads(gap=0.2)  # what a first message costs is not the neighbour's doing
        time.sleep(2)
        warm.stop(10)
        begun = threading.Thread(target=neighbour.begin, daemon=True)
        begun.start()
        time.sleep(1)
        roads = ground.roads()
        time.sleep(seconds)
        roads.stop(10)
        result = roads.result()
        try:
            waits = neighbour.waits()
        except subprocess.TimeoutExpired:
            waits = None
        return result, waits, roads.wrong
    finally:
        ground.close()


def row(title, system, result, waits):
    return f"| {title} | {system} | " + " | ".join(in_words(result[road]) for road in ROADS) + f" | {waits} |"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=30)
    parser.add_argument("--only", default="")
    parser.add_argument("--system", choices=["postrider", "postfix"])
    parser.add_argument("--markdown", type=Path)
    options = parser.parse_args()
    if not enter_own_network():
        sys.exit("neighbours: needs root (users, mounts, a network of its own)")
    lines = ["| neighbour | system | " + " | ".join(f"{road}, s" for road in ROADS) + " | of the neighbour's still there |",
             "|---" * (len(ROADS) + 3) + "|"]
    print("\n".join(lines), flush=True)
    for Misbehaviour in NEIGHBOURS:
        title = Misbehaviour().title
        if options.only.lower() not in f"{Misbehaviour.__name__} {title}".lower():
            continue
        if "fuse" in Misbehaviour.needs and not can_hang():
            print(f"(left out: {title}: no /dev/fuse)", flush=True)
            continue
        for kind in (Ours, Theirs):
            if options.system and kind.name.lower() != options.system:
                continue
            try:
                result, waits, wrong = measure(kind, Misbehaviour(), options.seconds)
            except Exception as why:
                print(f"{title}, {kind.name}: {why!r}", file=sys.stderr, flush=True)
                continue
            lines.append(row(title, kind.name, result, waits))
            print(lines[-1], flush=True)
            for text, count in sorted({w: wrong.count(w) for w in wrong}.items()):
                print(f"  {count} × {text}", file=sys.stderr, flush=True)
            if options.markdown:
                options.markdown.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
    sys.stdout.flush()
    os._exit(0)  # threads of sessions that hang wait for nobody
