"""Every configuration that README.md and the pages of the manual show is taken by `postrider check` as it stands. Those of the
recipes are parts of one: test_recipes.py has them run."""
import re
import sqlite3
import subprocess
from pathlib import Path

import pytest

from harness.certificates import make_certificate
from harness.mta import gather_programs

SOURCE = Path(__file__).resolve().parents[2]
EVERYTHING = [SOURCE / "README.md", *sorted((SOURCE / "man").glob("*.[1-8]"))]


def literal_blocks(text):
    """Of a page, with what stands before it: (the file it is said to be, text)."""
    if ".Dd" not in text:
        return [("", re.sub(r"^    ", "", block, flags=re.M)) for block in re.findall(r"(?:^    .*\n|^\n(?=    ))+", text, re.M)]
    found = []
    for block in re.finditer(r"^\.Bd -literal.*\n((?:.*\n)*?)\.Ed$", text, re.M):
        named = re.search(r"\.Pa (/\S+) :\n$", re.sub(r"^\.Pp\n", "", text[:block.start()], flags=re.M))
        plain = block[1].replace("\\e", "\\").replace("\\&", "").replace("\\(dq", '"').replace("\\-", "-").replace("\\(aq", "'")
        found.append((named[1] if named else "", plain))
    return found


def is_configuration(text):
    ours = set(re.findall(r"^#?\[([a-z_]+)", (SOURCE / "conf/postrider.toml").read_text(), re.M))
    heads = re.findall(r"^\[([a-z_]+)[].]", text, re.M)
    return bool(heads) and set(heads) <= ours and "Summary:" not in text


def configurations():
    for file in EVERYTHING:
        for number, (_, text) in enumerate(literal_blocks(file.read_text()), 1):
            if is_configuration(text):
                yield pytest.param(text, id=f"{file.name}-{number}")


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """What examples find in /etc/postrider and elsewhere; as far as pages show it, as they show it."""
    place = tmp_path_factory.mktemp("etc")
    gather_programs(place / "bin")
    (place / "dkim").mkdir()
    for selector, file in (("s1", "example.com.pem"), ("postrider", "postrider.example.com.pem")):
        subprocess.run([place / "bin/postrider", "dkim-key", "example.com", selector, "--file", place / "dkim" / file],
                       check=True, capture_output=True)
    certificate, key = make_certificate(place, "mail.example.com", days=100)
    certificate.write_text(certificate.read_text() + key.read_text())
    accounts = next(text for _, text in literal_blocks((SOURCE / "man/postrider-credentials.5").read_text()) if "smtp.provider.example" in text)
    for name, text in {"credentials": accounts, "passwords": "", "shop.secret": f"whsec_{'A' * 32}\n", "mx2.token": "mx2-token\n",
                       "fleet.password": "secret\n"}.items():
        (place / name).touch(mode=0o600)
        (place / name).write_text(text)
    for name, text in literal_blocks((SOURCE / "man/postrider-addresses.7").read_text()):
        if name.startswith("/etc/postrider/"):
            (place / Path(name).name).write_text(text)
    with sqlite3.connect(place / "users.sqlite") as users:
        users.execute("CREATE TABLE aliases (address, target)")
    return place


@pytest.mark.parametrize("text", configurations())
def test_check_takes_the_example(place, tmp_path, text):
    """But for where its files are, and that it runs without root."""
    for name in re.findall(r'(?:text|cidr):/etc/postrider/([a-z_-]+)"', text):
        (place / name).touch()
    text = text.replace("/etc/postrider", str(place)).replace("/var/lib/mail", str(place)).replace("/run/dovecot", str(place))
    text = text.replace("/usr/local/bin/events-to-kafka", "/bin/cat")
    needed = {"mta": ("multi_user = false", 'hostname = "mail.example.com"'), "spool": (f'directory = "{tmp_path}/spool"',), "local": ("aliases = []",)}
    for section, lines in needed.items():
        head = f"[{section}]\n"
        if head not in text:
            text = f"{head}\n{text}"
        given = re.findall(r"^(\w+) =", text.partition(head)[2].partition("\n[")[0], re.M)
        text = text.replace(head, head + "".join(line + "\n" for line in lines if line.split()[0] not in given))
    file = tmp_path / "postrider.toml"
    file.write_text(text)
    done = subprocess.run([place / "bin/postrider", "check", "-c", file], capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0 and ": good" in done.stdout, f"{text}\n{done.stdout}{done.stderr}"


def test_there_are_examples():
    assert len(list(configurations())) >= 15
