"""Whatever one user, list, destination or service does, everybody else's mail flows. Here several neighbours misbehave at
the same time, and probes arrive on every road while the neighbours' mail still waits. How long the probes take, beside
Debian's Postfix under the same misbehaviour, is printed by `scripts/soak neighbours`."""
import pytest

from harness.hanging_fs import can_hang
from harness.neighbours import (FullDisk, Flapping, Ground, HangingCommand, HangingHome, HangingMilter, HangingPolicy, HangingStore,
                                HangingTable, LockedMailbox, LongReplies, ManyRecipients, Silent, SilentNames, SmallerList,
                                StoppedProcesses, Tarpit)
from harness.roads import ROADS
from harness.side_by_side import Ours
from harness.watch import wait_until

pytestmark = pytest.mark.needs("root", "mounts", "own network")


@pytest.fixture
def among(block):
    """among(Neighbour …) → a running system among them, all of them misbehaving; their mail waits, unless to_wait=False."""
    made = []

    def make(*neighbours, to_wait=True):
        neighbours = [each for each in neighbours if "fuse" not in each.needs or can_hang()]
        made.append(Ground(Ours, block, *neighbours))
        made[0].start()
        for each in neighbours:
            each.begin()
        for each in neighbours if to_wait else ():
            wait_until(each.waits, 60, lambda: f"mail of this neighbour's to wait: {each.title}\n{made[0].system.last_words()[-4000:]}")
        return made[0]
    yield make
    crashes = [line for each in made for line in each.system.mta.crashes()]
    for each in made:
        each.close()
    assert not crashes


def probes_arrive(ground):
    """On every road, twice."""
    roads = ground.roads(gap=0.1)
    try:
        wait_until(lambda: all(len(roads.took[road]) > 1 for road in ROADS), 90,
                   lambda: f"probes on all roads: {roads.result()}, {roads.wrong[:3]}\n{ground.system.last_words()[-4000:]}")
    finally:
        roads.stop(30)
    assert not roads.wrong


def test_users(among):
    ground = among(LockedMailbox(60), StoppedProcesses(60), HangingCommand(60), HangingHome(20), FullDisk(30))
    probes_arrive(ground)
    assert all(each.waits() for each in ground.neighbours)


def test_destinations(among):
    ground = among(Tarpit(60), Silent(60), Flapping(60), SilentNames(150), HangingStore(60))
    probes_arrive(ground)
    assert all(each.waits() for each in ground.neighbours)


def test_services(among):
    ground = among(HangingMilter(30), HangingPolicy(30), HangingTable(30))
    probes_arrive(ground)
    assert all(each.waits() for each in ground.neighbours)


def test_lists_and_reports(among):
    """Their own reports come, too."""
    ground = among(SmallerList(2), LongReplies(1), many := ManyRecipients(2), to_wait=False)
    probes_arrive(ground)
    for each in ground.neighbours[:2]:
        ground.good.wait_for_one_to(each.sender, 90)
    wait_until(lambda: many.waits() == many.number, 90, "all that sendmail took to be listed")
