"""Header checks and automatic copies, over SMTP and for mail of programs on this host."""
import re

import pytest

from harness.client import message

RULES = [r"/^Subject:.*make money fast/ REJECT 5.7.9 no advertisements", r"/^X-Mailer:/ IGNORE",
         r"/^X-Mark: (.*)/ PREPEND X-Seen: $1", r"/^Subject: elsewhere/ REDIRECT other@test.example"]


def over_smtp(mta, content, sender="ann@test.example"):
    with mta.client() as c:
        return c.deliver(sender, [f"{mta.user}@test.example"], content)


def by_sendmail(mta, content, sender="ann@test.example"):
    done = mta.sendmail("-i", "-f", sender, f"{mta.user}@test.example", input=content.replace("\r\n", "\n"))
    return {0: "250", 69: "550", 75: "450"}[done.returncode] + " " + done.stderr


@pytest.mark.smoke
@pytest.mark.parametrize("way", [over_smtp, by_sendmail])
def test_header_checks(mta, way):
    mta.config["content"] = {"header_checks": RULES}
    mta.start()
    refused = way(mta, message("Make Money Fast"))
    assert refused.startswith("550") and "5.7.9 no advertisements" in refused
    source = r"\S+\[127\.\S+\]" if way is over_smtp else "local"
    mta.wait_log(rf"postfix/cleanup\[\d+\]: [0-9A-F]{{14}}: reject: header Subject: Make Money Fast from {source}; "
                 r"from=<ann@test.example> to=<.*: 5\.7\.9 no advertisements$")
    assert way(mta, message("edited", extra="X-Mailer: x\r\nX-Mark: y\r\n")).startswith("250")
    header = mta.wait_mailbox(1)[0].partition("\n\n")[0].split("\n")
    assert "X-Mailer: x" not in header and header[header.index("X-Mark: y") - 1] == "X-Seen: y"
    assert way(mta, message("elsewhere")).startswith("250")
    assert "Subject: elsewhere" in mta.wait_mailbox(1, "other")[0]
    mta.wait_until_empty()
    assert len(mta.mailbox()) == 1


def test_an_odd_rule_is_found_before_anything_starts(mta):
    mta.config["content"] = {"header_checks": [RULES[0], "/(/ REJECT"]}
    mta.write_config()
    checked = mta.run("postrider", "check", "-c", mta.file)
    assert checked.returncode != 0
    assert re.search(r'content\.header_checks: "/\(/ REJECT": missing closing parenthesis', checked.stdout + checked.stderr)


@pytest.mark.parametrize("way", [over_smtp, by_sendmail])
def test_rules_of_a_block_apply_where_its_condition_holds(mta, way):
    mta.config["content"] = {"header_checks": ["if /^Subject:/", "if !/harmless/", "/secret/ REJECT 5.7.9 within", "endif", "/harmless/ HOLD",
                                               "endif"], "body_checks": ["if /^A/", "/secret/ REJECT 5.7.8 of the body", "endif"]}
    mta.start()
    assert "5.7.9 within" in way(mta, message("secret"))
    assert "5.7.8 of the body" in way(mta, message("x", "A secret\r\n"))
    assert way(mta, message("open", "B secret\r\n", extra="X-Other: secret\r\n")).startswith("250")
    assert way(mta, message("harmless secret")).startswith("250")
    assert "Subject: open" in mta.wait_mailbox(1)[0]
    mta.wait_log(r"hold: header Subject: harmless secret")


def test_a_block_without_its_end_is_found_before_anything_starts(mta):
    mta.config["content"] = {"header_checks": ["if /^Subject:/", "/x/ HOLD"]}
    mta.write_config()
    checked = mta.run("postrider", "check", "-c", mta.file)
    assert checked.returncode != 0
    assert re.search(rf'{mta.file}:\d+:\d+: content\.header_checks: "if /\^Subject:/" without "endif"', checked.stdout + checked.stderr)


@pytest.mark.parametrize("way", [over_smtp, by_sendmail])
def test_copies(mta, way):
    mta.config["automatic_bcc"] = {"always": ["other@test.example"], "by_sender": ["ann@test.example other@test.example"]}
    mta.start()
    assert way(mta, message("copied")).startswith("250")
    assert "Subject: copied" in mta.wait_mailbox(1, "other")[0]
    assert "other@test.example" not in mta.wait_mailbox(1)[0]
    mta.wait_until_empty()
    assert len(mta.mailbox("other")) == 1 and len(mta.mailbox()) == 1


def test_the_sender_hears_nothing_of_a_copy_that_fails(mta):
    mta.config["automatic_bcc"] = {"always": ["nobody@test.example"]}
    mta.start()
    mta.submit("other@test.example", "copied", sender=f"{mta.user}@test.example", rcpt_parameters=" NOTIFY=SUCCESS,FAILURE")
    mta.wait_mailbox(1, "other")
    report = mta.wait_mailbox(1)[0]  # of the success
    assert "other@test.example" in report and "nobody@test.example" not in report
    mta.wait_until_empty()
    assert len(mta.mailbox()) == 1
