"""The long run behind `scripts/soak storm`: load that never ends, faults by a seeded die, books every minute."""
import random
import shutil
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from harness.books import Load, balance, delivered  # noqa: E402
from harness.mta import BUILD, ROLES, Mta  # noqa: E402
from harness.ports import Block  # noqa: E402
from harness.sink import Sink, drop, garbage, reset  # noqa: E402

MISBEHAVIOURS = ["421 4.3.2 Closing", "451 4.3.0 Later", drop, reset, garbage]
STAGES = ["connect", "ehlo", "mail", "rcpt", "data", "content", "dot"]


def fault(die, mta, sink, say):
    what = die.choice(["kill", "kill", "kill", "everything", "stop", "reload", "sink", "sink", "away"])
    if what == "kill":
        role = die.choice([r for r in ROLES if r != "master"])
        say(f"kill -9 {role}")
        mta.kill(role)
    elif what == "everything":
        say("kill -9 everything")
        mta.kill_everything()
        mta.start()
    elif what == "stop":
        say("stop, start")
        mta.restart()
    elif what == "reload":
        say("reload")
        mta.command("reload")
    elif what == "sink":
        stage, how = die.choice(STAGES), die.choice(MISBEHAVIOURS)
        if stage == "content" and not callable(how):
            how = drop
        times = die.randrange(1, 30)
        say(f"the remote server: {getattr(how, '__name__', how)} at {stage}, {times} times")
        sink.at(stage, how, times=times)
    else:
        say("the remote server goes away for a while")
        sink.stop()
        time.sleep(die.uniform(0.2, 3))
        sink.start()


def main():
    minutes, seed = float(sys.argv[1]), int(sys.argv[2])
    die, begun = random.Random(seed), time.monotonic()
    folder = BUILD / "system-tests" / f"storm-{seed}"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    print(f"seed {seed}, {minutes:g} minutes, in {folder}")

    def say(text):
        print(f"{time.monotonic() - begun:8.1f} s  {text}", flush=True)
    block = Block()
    sink = Sink(block.host(10), block.port())
    mta = Mta(folder, block)
    mta.route("remote.example", sink)
    mta.config["master"].update(restart_delay="50ms", restart_delay_limit="1s")
    mta.config["metrics"] = {"listen": [f"{mta.address}:{block.port()}"]}
    mta.config["http"] = {"enabled": True}
    mta.start()
    try:
        while time.monotonic() - begun < minutes * 60:
            load = Load(mta, clients=4)
            minute = time.monotonic() + 60
            while time.monotonic() < minute:
                time.sleep(die.uniform(0.5, 4))
                fault(die, mta, sink, say)
            load.stop()
            sink.well_behaved()
            mta.flush()
            mta.wait_until_empty(120)
            twice = balance(load, [sink], duplicates_at_most=10**9)
            say(f"books balance: {load.so_far()} acknowledged, {sum(delivered(sink).values())} delivered, {twice} twice, "
                f"{len(load.unsure)} unsure, {load.refused} refused")
            checked = mta.command("history", "--check", check=False, seconds=900)
            assert checked.returncode == 0, checked.stdout
            assert not mta.crashes(), mta.crashes()
            with sink.lock:
                sink.messages.clear()
        say(f"{minutes:g} minutes: nothing lost, the books balance")
    except AssertionError:
        print(mta.last_words())
        raise
    finally:
        mta.kill_everything()
        sink.stop()
    shutil.rmtree(folder)


if __name__ == "__main__":
    main()
