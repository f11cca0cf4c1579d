"""What is asked of others before a recipient is taken: policy servers, DNS lists, rates; the delayed greeting."""
import re

import pytest

from harness.client import Client, message
from harness.policy import PolicyServer


@pytest.fixture
def guarded(mta):
    """An MTA for which every client of the tests is a stranger."""
    mta.config["relay"] = {"networks": ["192.0.2.0/24"]}
    return mta


@pytest.fixture
def policy(block):
    server = PolicyServer(block.host(40), block.port())
    yield server
    server.stop()


def use(mta, policy, name="greylisting", **settings):
    mta.config[f"policy.{name}"] = {"address": f"inet:{policy.address}:{policy.port}", "timeout": "2s", **settings}


def rcpt(mta, recipient=None, sender="stranger@remote.example"):
    with mta.client() as c:
        reply = c.say(f"MAIL FROM:<{sender}>")
        assert reply.startswith("250"), reply
        return c.say(f"RCPT TO:<{recipient or mta.user + '@test.example'}>")


@pytest.mark.smoke
def test_a_policy_server_greylists_then_permits(guarded, policy):
    policy.answer = lambda question: "DEFER_IF_PERMIT 4.2.0 Greylisted, come back"
    use(guarded, policy)
    guarded.start()
    user = f"{guarded.user}@test.example"
    assert rcpt(guarded) == f"450 4.2.0 <{user}>: Recipient address rejected: Greylisted, come back"
    guarded.wait_log(r"NOQUEUE: reject: RCPT from \S+: 450 4\.2\.0 .*Greylisted, come back; from=<stranger@remote.example> "
                     rf"to=<{user}> proto=ESMTP helo=<client.example>")
    asked = policy.questions[-1]
    assert asked["protocol_state"] == "RCPT" and asked["recipient"] == user and asked["sender"] == "stranger@remote.example"
    assert asked["client_address"].startswith("127.") and asked["helo_name"] == "client.example"
    policy.answer = lambda question: "PREPEND X-Greylist: delayed 1 second"
    guarded.submit(user, "after a while", sender="stranger@remote.example")
    received = guarded.wait_mailbox(1)[0]
    assert re.search(r"^X-Greylist: delayed 1 second$", received, re.M), received


def test_a_new_greeting_is_asked_about_without_anything_of_the_message_before(guarded, policy):
    policy.answer = lambda question: "DUNNO"
    use(guarded, policy, stage="helo")
    guarded.start()
    with guarded.client() as c:
        assert c.deliver("stranger@remote.example", [f"{guarded.user}@test.example"], message()).startswith("250")
        assert c.say("EHLO client.example").startswith("250")
    first, second = policy.questions
    for name in ("sender", "queue_id", "instance", "size", "recipient"):
        assert second[name] == first[name] and second[name] in ("", "0"), name


def test_an_unknown_recipient_is_not_worth_a_question(guarded, policy):
    use(guarded, policy)
    guarded.start()
    assert rcpt(guarded, "nobody@test.example").startswith("550 5.1.1")
    assert rcpt(guarded, "user@elsewhere.example").startswith("554 5.7.1")
    assert policy.questions == []


@pytest.mark.parametrize("settings, code", [({"on_failure": "tempfail"},
                                             "451 4.3.5 Error: a policy service is not available, try again later"), 
                                            ({"on_failure": "reject"}, "554 5.3.5 Error: a policy service is not available"),
                                            ({"on_failure": "accept"}, "250 2.1.5")])
def test_a_policy_server_that_is_of_no_use(guarded, policy, settings, code):
    use(guarded, policy, **{**settings, "timeout": "300ms"})
    guarded.start()
    for trouble in (None, "FROBNICATE", "not an answer\n\n", "x" * 20000 + "\n\n"):
        policy.answer = lambda question: trouble
        assert rcpt(guarded).startswith(code), trouble
    policy.stop()
    assert rcpt(guarded).startswith(code)
    guarded.wait_log(r"warning: policy service greylisting: .*(no answer in time|malformed|unknown action|cannot be reached)", count=5)


def test_a_policy_server_that_was_restarted_is_asked_again_unnoticed(guarded, policy):
    use(guarded, policy)
    guarded.start()
    assert rcpt(guarded).startswith("250")
    policy.drop_connections()
    assert rcpt(guarded).startswith("250")
    assert not guarded.logged("policy service greylisting:")


def test_every_stage_can_be_asked(guarded, policy, block):
    stages = ("connect", "helo", "mail", "rcpt", "data", "end_of_data")
    for stage in stages:
        use(guarded, policy, stage, stage=stage)
    guarded.start()
    policy.questions.clear()
    guarded.submit(f"{guarded.user}@test.example", sender="stranger@remote.example")
    assert [q["protocol_state"] for q in policy.questions] == ["CONNECT", "HELO", "MAIL", "RCPT", "DATA", "END-OF-MESSAGE"]
    assert int(policy.questions[-1]["size"]) > 100 and policy.questions[-1]["recipient_count"] == "1"
    for refused in ("CONNECT", "HELO", "MAIL", "DATA", "END-OF-MESSAGE"):
        policy.answer = lambda question: "REJECT not here" if question["protocol_state"] == refused else "DUNNO"
        with Client(guarded.address, guarded.relay_port) as c:
            reply = c.banner
            for line in ("EHLO client.example", "MAIL FROM:<a@remote.example>", f"RCPT TO:<{guarded.user}@test.example>", "DATA"):
                if reply[0] in "23":
                    reply = c.say(line)
            if reply.startswith("354"):
                c.send(message().encode() + b".\r\n")
                reply = c.reply()
            assert re.match(r"554 (5\.7\.1 )?<.*rejected: not here", reply), (refused, reply)
            if refused == "END-OF-MESSAGE":
                assert c.say("QUIT").startswith("221")
    guarded.wait_until_empty()
    assert len(guarded.mailbox()) == 1


def test_a_refused_greeting_is_named_in_the_log(guarded, policy):
    use(guarded, policy, stage="helo")
    guarded.start()
    policy.answer = lambda question: "REJECT not that name"
    with Client(guarded.address, guarded.relay_port) as c:
        assert c.say("EHLO liar.example").startswith("554")
        assert c.say("HELO other.example").startswith("554")
    for name in ("liar", "other"):
        guarded.wait_log(rf"NOQUEUE: reject: HELO from \S+: 554 .*not that name; proto=SMTP helo=<{name}\.example>")


def test_hold_and_discard(guarded, policy):
    use(guarded, policy)
    guarded.start()
    policy.answer = lambda question: "HOLD looks odd"
    held = guarded.submit(f"{guarded.user}@test.example", sender="stranger@remote.example")
    guarded.wait_log(f"{held}: hold: RCPT from .*: looks odd")
    assert [(e[0], e[1]) for e in guarded.queue()] == [(held, "!")]
    policy.answer = lambda question: "DISCARD enough of these"
    gone = guarded.submit(f"{guarded.user}@test.example", sender="stranger@remote.example")
    guarded.wait_log(f"{gone}: discard: RCPT from .*: enough of these")
    policy.answer = lambda question: "DUNNO"
    guarded.submit(f"{guarded.user}@test.example", "the third", sender="stranger@remote.example")
    assert "the third" in guarded.wait_mailbox(1)[0]
    assert guarded.queued_ids() == {held}


def test_our_own_networks_are_not_asked_about(mta, policy):
    use(mta, policy)
    mta.config["smtpd"]["greeting_delay"] = "30s"
    mta.start()
    mta.submit(f"{mta.user}@test.example")
    assert policy.questions == []


# -- DNS lists

def reversed_name(address, zone):
    return ".".join(reversed(address.split("."))) + "." + zone


def test_weights_of_dns_lists_add_up(guarded, names, block):
    guarded.use_names(names)
    guarded.config["smtpd"]["dns_list_threshold"] = 3
    guarded.config['dns_list."bad.example"'] = {"weight": 2}
    guarded.config['dns_list."worse.example"'] = {"weight": 2, "answers": ["127.0.0.4/30"]}
    guarded.config['dns_list."good.example"'] = {"weight": 2, "allow": True}
    guarded.config['dns_list."broken.example"'] = {"weight": 50}
    named = {
        block.host(61): ({"bad.example": "127.0.0.2"}, "250"),
        block.host(62): ({"bad.example": "127.0.0.2", "worse.example": "127.0.0.5"}, "554"),
        block.host(63): ({"bad.example": "127.0.0.2", "worse.example": "127.0.0.9"}, "250"),
        block.host(64): ({"bad.example": "127.0.0.2", "worse.example": "127.0.0.5", "good.example": "127.0.0.2"}, "250"),
        block.host(65): ({"bad.example": "127.0.0.2", "broken.example": "127.255.255.254"}, "250"),
    }
    for address, (lists, _) in named.items():
        names.fails(reversed_name(address, "broken.example"), "servfail")
        for zone, answer in lists.items():
            if answer.startswith("127.255"):
                names.heals(reversed_name(address, zone))
            names.address_of(reversed_name(address, zone), answer)
    guarded.start()
    for address, (_, code) in named.items():
        with Client(guarded.address, guarded.relay_port, source=address) as c:
            c.say("EHLO client.example")
            c.say("MAIL FROM:<a@remote.example>")
            reply = c.say(f"RCPT TO:<{guarded.user}@test.example>")
            assert reply.startswith(code), (address, reply)
            if code == "554":
                assert reply == (f"554 5.7.1 Service unavailable; Client host [{address}] blocked using "
                                 + reply.rpartition(" using ")[2]) and {"bad.example", "worse.example"} == set(
                                     reply.rpartition(" using ")[2].split(", "))
                assert c.say("RCPT TO:<postmaster@test.example>").startswith("250")
                guarded.wait_log(r"reject: RCPT from \S+: 554 5\.7\.1 Service unavailable; Client host")
    guarded.wait_log("warning: DNS list broken.example: ")


# -- rates and the greeting

def test_rates_of_a_network(guarded, block):
    guarded.config["smtpd"].update({"messages_per_minute": 2, "workers": 1})
    guarded.start()
    for source, replies in ((block.host(61), ["250", "250", "450"]), (block.host(62), ["250"])):
        for code in replies:
            with Client(guarded.address, guarded.relay_port, source=source) as c:
                c.say("EHLO client.example")
                reply = c.say("MAIL FROM:<a@remote.example>")
                assert reply.startswith(code), reply
    guarded.wait_log(rf"NOQUEUE: reject: MAIL from \S+: 450 4\.7\.1 Error: too many messages from {re.escape(block.host(61))}; "
                     "from=<a@remote.example>")


def test_rates_of_recipients(guarded):
    guarded.config["smtpd"].update({"recipients_per_minute": 3, "workers": 1})
    guarded.start()
    with guarded.client() as c:
        c.say("MAIL FROM:<a@remote.example>")
        replies = [c.say(f"RCPT TO:<{guarded.user}+{n}@test.example>") for n in range(4)]
    assert replies[:3] == ["250 2.1.5 Ok"] * 3
    assert replies[3].startswith("450 4.7.1 Error: too many recipients from 127."), replies


def test_who_speaks_before_the_greeting_is_refused(guarded):
    guarded.config["smtpd"]["greeting_delay"] = "500ms"
    guarded.start()
    with Client(guarded.address, guarded.relay_port, greet=False) as c:
        c.send(b"EHLO hasty.example\r\n")
        assert c.reply().startswith("554 5.5.0")
        assert c.closed_by_peer() == b""
    guarded.wait_log("improper command pipelining after CONNECT from .*EHLO hasty.example")
    with Client(guarded.address, guarded.relay_port) as c:
        assert c.banner.startswith("220") and c.say("EHLO patient.example").startswith("250")
