"""Programs that mail is delivered to, [command.NAME]: which mail they get, as whom they run, what their end means."""
import pwd
import shutil

import pytest

from harness.unpacked import tree
from harness.watch import wait_until
from test_mailbox_owners import OWNER, place, rooted  # noqa: F401

# Keeps what it is given, by the first word; the exit status is the second word's.
PROGRAM = """#!/bin/sh
cd {folder}
case "$2" in
nobody) echo never heard of; exit 67 ;;
later) [ -e tried ] || {{ touch tried; echo come back; exit 75; }} ;;
slow) touch "slow.$$"; until [ -e finish ]; do sleep 0.1; done ;;
esac
printf '%s\\n' "$@" > "words.$$"; cat > "got.$$"
mv "words.$$" "words-$1-$2"; mv "got.$$" "got-$1-$2"
"""


@pytest.fixture
def lists(mta):
    program = mta.folder / "lists program"
    program.write_text(PROGRAM.format(folder=mta.folder))
    program.chmod(0o755)
    mta.config["relay"] = mta.config.get("relay", {}) | {"domains": ["lists.example"]}
    mta.config["transport"] = {"tables": [f"text:{mta.folder}/transport"]}
    (mta.folder / "transport").write_text("lists.example command:lists\nold.lists.example lists:\n")
    mta.config["command.lists"] = {"run": [str(program), "post", "{user}", "{extension}", "{domain}", "{sender}", "a  b;$(touch evil)"]}
    return mta


def got(mta, name):
    path = mta.folder / name
    wait_until(path.exists, 15, lambda: f"{path}\n{mta.last_words()}")
    return path.read_text()


def test_a_program_gets_the_mail_of_its_domain_word_by_word(lists):
    mta = lists
    mta.start()
    mta.submit("news+join@lists.example", "for the list", sender="someone@test.example")
    assert "Subject: for the list" in got(mta, "got-post-news")
    assert got(mta, "words-post-news").splitlines() == ["post", "news", "join", "lists.example", "someone@test.example", "a  b;$(touch evil)"]
    assert "Delivered-To: news+join@lists.example" in got(mta, "got-post-news") and not got(mta, "got-post-news").startswith("From ")
    assert not (mta.folder / "evil").exists()
    mta.wait_log(r"to=<news\+join@lists\.example>, .*relay=local.*status=sent \(delivered to command: lists\)")
    tried = mta.command("try", "news@lists.example", "--json", check=False).stdout
    assert "the program [command.lists]" in tried, tried


def test_its_exit_status_is_the_result(lists):
    mta = lists

    mta.start()
    mta.submit("nobody@lists.example", sender=f"{mta.user}@test.example")
    mta.wait_log(r"to=<nobody@lists\.example>, .*dsn=5\.1\.1, status=bounced \(.*never heard of")
    mta.wait_mailbox(1)
    later = mta.submit("later@lists.example", "second time")
    mta.wait_log(r"to=<later@lists\.example>, .*dsn=4\.3\.0, status=deferred \(.*come back")
    mta.command("message", "retry", later)
    assert "Subject: second time" in got(mta, "got-post-later")


def test_a_slow_program_holds_up_only_its_own_mail(lists):
    mta = lists
    mta.config["command.other"] = {"run": [mta.config["command.lists"]["run"][0], "other", "{user}"]}
    (mta.folder / "transport").write_text("lists.example command:lists\nother@lists.example command:other\n")
    mta.start()
    for _ in range(5):
        mta.submit("slow@lists.example")
    wait_until(lambda: list(mta.folder.glob("slow.*")), 15, mta.last_words)
    mta.submit("other@lists.example", "not mine")
    assert "Subject: not mine" in got(mta, "got-other-other")
    mta.submit("someone@test.example", "nor mine")
    mta.wait_log(r"to=<someone@test\.example>, .*status=sent")
    (mta.folder / "finish").touch()
    mta.wait_until_empty()


def test_an_address_that_looks_like_an_option_is_refused(lists):
    mta = lists
    mta.start()
    mta.submit("-oQ/tmp@lists.example", sender=f"{mta.user}@test.example")
    assert 'begins with "-": the program would take it for an option' in " ".join(mta.wait_mailbox(1)[0].split())


def test_a_program_that_is_missing_keeps_the_mail_waiting(lists):
    mta = lists
    mta.config["command.lists"]["run"] = ["/nowhere/program"]
    mta.start()
    mta.submit("news@lists.example")
    mta.wait_log(r"to=<news@lists\.example>, .*dsn=4\.3\.0, status=deferred \(.*/nowhere/program.*No such file")


def test_check_names_an_entry_for_a_program_that_is_not_configured(lists):
    mta = lists
    (mta.folder / "transport").write_text("lists.example command:lits\n")
    mta.write_config()
    done = mta.command("check", check=False)
    assert '"command:lits" is not a valid next hop: mail for it waits' in done.stdout + done.stderr


@pytest.mark.needs("root")
def test_procmail_as_a_transport_runs_as_its_user(rooted):  # noqa: F811
    """As Postfix's pipe(8) is used: the same transport table, by the name of the service."""
    mta = rooted
    shutil.copy(tree("procmail") / "usr/bin/procmail", mta.folder / "procmail")
    (mta.folder / "procmail").chmod(0o755)
    box, rules = mta.folder / "mail" / "sorted", mta.folder / "rules"
    rules.write_text(f":0\n* ^Subject: sorted\n{box}\n")
    (mta.folder / "transport").write_text("sorted.example procmail:\n")
    for each in (rules, mta.folder / "transport"):
        each.chmod(0o644)
    mta.config["relay"] = mta.config.get("relay", {}) | {"domains": ["sorted.example"]}
    mta.config["transport"] = {"tables": [f"text:{mta.folder}/transport"]}
    mta.config["command.procmail"] = {"run": [str(mta.folder / "procmail"), "-m", "EXTENSION={extension}", str(rules)],
                                      "user": OWNER, "from_line": True}
    mta.start()
    mta.submit("any@sorted.example", "sorted")
    wait_until(lambda: box.exists() and "Subject: sorted" in box.read_text(), 15, mta.last_words)
    assert pwd.getpwuid(box.stat().st_uid).pw_name == OWNER and box.read_text().startswith("From sender@test.example ")
    mta.wait_log(r"to=<any@sorted\.example>, .*status=sent \(delivered to command: procmail\)")
