"""/etc/mailname, the name that all mail programs of a Debian host share: each test lays its own over the system's, in a
mount namespace that ends with the process."""
import json
import re
import subprocess

import pytest

from harness.mta import Mta

pytestmark = pytest.mark.needs("root", "mounts")


@pytest.fixture
def named(folder, block):
    """mta.name("example.com"): what its processes find in /etc/mailname."""
    mta = Mta(folder, block)
    (folder / "other").mkdir()

    def name(text):
        (folder / "mailname").write_text(text)
        mta.prefix = ["unshare", "--mount", "sh", "-ec", f'''
            mount -t tmpfs none {folder}/other
            cp -a /etc {folder}/other
            cp {folder}/mailname {folder}/other/etc
            mount --bind {folder}/other/etc /etc
            exec "$@"''', "sh"]
    mta.name = name
    del mta.config["mta"]["hostname"], mta.config["mta"]["origin"], mta.config["local"]["domains"]
    yield mta
    mta.kill_everything()
    assert not mta.crashes()


def check(mta, *options):
    mta.write_config()
    return subprocess.run([*mta.prefix, mta.programs / "postrider", "check", "-c", mta.file, *options], capture_output=True, text=True)


def test_check_says_where_the_names_come_from(named):
    named.name("Example.com\n")
    said = check(named).stdout
    assert re.search(r"^Host name   example\.com \(/etc/mailname\)$", said, re.M), said
    assert re.search(r"^Origin      example\.com \(/etc/mailname\)$", said, re.M), said
    named.config["mta"]["hostname"] = "mx.example.com"
    said = check(named).stdout
    assert "mx.example.com (mta.hostname)" in said and "Origin      example.com (/etc/mailname)" in said
    facts = json.loads(check(named, "--json").stdout)
    assert (facts["hostname_from"], facts["origin"], facts["origin_from"]) == ("mta.hostname", "example.com", "/etc/mailname")
    named.name("this is no name\n")
    done = check(named)
    assert "Origin      mx.example.com (the host name)" in done.stdout
    assert 'warning: /etc/mailname: "this is no name" is not a valid domain name' in done.stderr


def test_bare_names_get_it_and_are_users_of_this_host(named):
    named.name("\n# a comment\n example.com \n")
    named.config["mta"]["hostname"] = "mx.example.com"
    named.start()
    with named.client(hello=False) as client:
        assert client.banner.startswith("220 mx.example.com ")
    done = named.sendmail("-f", "root", named.user)
    assert done.returncode == 0, done.stderr
    [message] = named.wait_mailbox(1)
    assert re.search(r"^Delivered-To: someone@example\.com", message, re.M) or "someone@example.com" in message
    assert re.search(r"^Return-Path: <root@example\.com>", message, re.M), message
    named.wait_log(r"from=<root@example\.com>")
