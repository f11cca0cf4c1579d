"""A message over which its delivery agent dies each time: it is set aside, and everybody else's mail goes."""
import signal

from harness.mta import kill
from harness.watch import wait_until
from test_control import one


def test_a_message_that_ends_its_agent_each_time_is_held(mta, remote):
    mta.config["smtp_client"]["workers"] = 1
    mta.config["master"].update(restart_delay="10ms", restart_delay_limit="1s")
    mta.expects_crashes = True
    mta.config["queue"].update(glitch_interval="1s", jitter=0)
    sink = remote()
    mta.route("remote.example", sink)

    def bring_it_down(session, argument):
        if "deadly" in argument:
            for pid in mta.pids("smtp-client"):
                kill(pid, signal.SIGSEGV)
    sink.at("rcpt", bring_it_down)
    mta.start()
    deadly = mta.submit("deadly@remote.example")
    good = [mta.submit("user@remote.example", subject=f"good {n}") for n in range(10)]
    sink.wait_for(len(good), 60)
    wait_until(lambda: one(mta, "message", id=deadly)["recipients"][0]["state"] == "held", 60,
               lambda: f"it to be held: {one(mta, 'message', id=deadly)}\n{mta.last_words()}")
    assert mta.queued_ids() == {deadly}
    assert {m.header("Subject") for m in sink.messages} == {f"good {n}" for n in range(10)} and len(sink.messages) == 10
    later = mta.submit("user@remote.example", subject="later")
    mta.wait_log(rf"{later}: .*status=sent", 30)
    why = one(mta, "message", id=deadly)
    assert why["held_by"] and why["held_reason"]
