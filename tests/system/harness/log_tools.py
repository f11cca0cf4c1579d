"""The log analysers of Debian, unpacked and not installed, each run over a finished mail log as its package runs it.
What they print is cut into numbers and lines here; what these should be the tests say."""
import os
import re
import shutil
import subprocess
from collections import Counter
from datetime import datetime, timedelta
from pathlib import Path

from .unpacked import tree


def run(*command, input=None, **environment):
    done = subprocess.run([str(word) for word in command], input=input, capture_output=True, text=True, timeout=60,
                          env=dict(os.environ, **{k: str(v) for k, v in environment.items()}))
    assert done.returncode == 0 and not done.stderr, f"{command}: {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def perl(place):
    """Where the package's Perl finds its modules, and these their libraries."""
    folders = [place / "usr/share/perl5", *place.glob("usr/lib/*/perl5/*")]
    return {"PERL5LIB": ":".join(map(str, folders)), "LD_LIBRARY_PATH": ":".join(map(str, place.glob("usr/lib/*-gnu")))}


def as_installed(place, script, *arguments):
    """Runs the script where the package's /usr lies over the machine's, and its /etc is one of its own."""
    under = f"mount -t overlay overlay -o lowerdir={place}/usr:/usr /usr\n"
    return run("unshare", "--mount", "sh", "-e", "-c", under + script, "sh", *arguments)


def pflogsumm(log, *options):
    """Its report: a section's title → its text."""
    place = tree("pflogsumm")
    said = run("perl", place / "usr/sbin/pflogsumm", *options, log, **perl(place))
    parts = re.split(r"^(\S.*?) *\n-{5,}\n", said, flags=re.M)
    return dict(zip(parts[1::2], parts[2::2]))


def logwatch(log, settings=None):
    """Its report on the service "postfix" at high detail. `settings`: a file for /etc/logwatch/conf/services."""
    place = tree("logwatch")
    etc = f"mount -t tmpfs tmpfs /etc/opt\nmkdir /etc/opt/upper /etc/opt/work\n" \
          f"mount -t overlay overlay -o lowerdir={place}/etc:/etc,upperdir=/etc/opt/upper,workdir=/etc/opt/work /etc\n"
    if settings:
        etc += f"mkdir -p /etc/logwatch/conf/services\ncp {settings} /etc/logwatch/conf/services/postfix.conf\n"
    folder = Path(log).parent / "for-logwatch"
    folder.mkdir(exist_ok=True)
    shutil.copy(log, folder / "mail.log")
    return as_installed(place, etc + "exec /usr/sbin/logwatch --service postfix --range all --detail high --output stdout "
                        '--format text --logdir "$1"', folder)


def fail2ban(log, filter, settings=None):
    """What that filter finds: [(address, line)]. `settings`: a file for filter.d, if the filter is not its own."""
    place = tree("fail2ban")
    etc = place / "etc/fail2ban"
    if settings:
        etc = Path(log).parent / "fail2ban"
        shutil.copytree(place / "etc/fail2ban", etc)
        shutil.copy(settings, etc / "filter.d" / f"{filter}.conf")
    said = run("python3", place / "usr/bin/fail2ban-regex", "-c", etc, "--usedns=no", "-o", "<ip> <matches>",
               log, filter, PYTHONPATH=place / "usr/lib/python3/dist-packages")
    return [tuple(line.split(" ", 1)) for line in said.splitlines() if re.match(r"\d", line)]


def sshguard(log):
    """The addresses it would count against, one for each attack."""
    said = run(tree("sshguard") / "usr/libexec/sshguard/sshg-parser", input=Path(log).read_text())
    return [line.split()[1] for line in said.splitlines()]


def mtail(log):
    """What its example for Postfix counts: {name: how many}, whatever the labels."""
    place, folder = tree("mtail"), Path(log).parent / "mtail"
    folder.mkdir()
    shutil.copy(place / "usr/share/doc/mtail/examples/postfix.mtail", folder)
    done = subprocess.run([place / "usr/bin/mtail", "--one_shot", "--one_shot_format=prometheus", "--progs", folder, "--logs", log],
                          capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    counted = Counter()
    for name, n in re.findall(r"^(\w+)\{.*\} (\S+)$", done.stdout, re.M):
        counted[name] += float(n)
    return counted


def awstats(log):
    """The lines its maillogconvert.pl makes of the log: [(date, time, from, to, from host, to host, SMTP, -, status, size)]."""
    script = tree("awstats") / "usr/share/doc/awstats/examples/maillogconvert.pl"
    return [tuple(line.split()) for line in run("perl", script, "standard", input=Path(log).read_text()).splitlines()]


def mailgraph(log):
    """What it put into its databases: received, sent … → how many. Their grain is eight minutes, and whole: a line long before
    the log and one long after it (which it counts as "delayed") make it so."""
    place, folder = tree("mailgraph"), Path(log).parent / "mailgraph"
    folder.mkdir()
    text = Path(log).read_text()
    last = datetime.strptime(f"{datetime.now().year} {text.splitlines()[-1][:15]}", "%Y %b %d %H:%M:%S")
    before, after = (f"{last + timedelta(minutes=m):%b %e %H:%M:%S} mail postgrey[1]: action=pass, delay=300\n" for m in (-30, 30))
    (folder / "log").write_text(before + text + after)
    run("perl", place / "usr/sbin/mailgraph", "--cat", "--logfile", folder / "log", f"--daemon-rrd={folder}", **perl(place))
    read = """
        my ($start, $step, $names, $data) = RRDs::fetch($ARGV[0], "AVERAGE", "-s", $ARGV[1], "-e", $ARGV[2]);
        for my $i (0 .. $#$names) {
            my $sum = 0;
            for (@$data) { $sum += $_->[$i] * $step if defined $_->[$i] }
            printf "%s %.0f\\n", $names->[$i], $sum;
        }"""
    counted, end = {}, int(last.timestamp())
    for file in ("mailgraph.rrd", "mailgraph_greylist.rrd"):
        said = run("perl", "-MRRDs", "-e", read, folder / file, end - 1800, end + 1800, **perl(place))
        counted.update((name, int(n)) for name, n in map(str.split, said.splitlines()))
    return counted


def logcheck(log, *rules):
    """The lines it would mail to an administrator at level "server", by Debian's rules on Postfix and what it looks for in
    everything, and these files of ours beside them. Its rules on other programs are left out: each costs a grep."""
    place, database = tree("logcheck"), tree("logcheck-database")
    folder = Path(log).parent / "logcheck"
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(database / "etc/logcheck", folder / "rules")
    for file in folder.glob("rules/ignore.d.*/*"):
        if not file.name.startswith(("postfix", "logcheck")):
            file.unlink()
    for file in rules:
        shutil.copy(file, folder / "rules/ignore.d.server/postrider")
    shutil.copy(log, folder / "mail.log")
    (folder / "conf").write_text("INTRO=0\nSORTUNIQ=0\n")
    (folder / "state").mkdir()
    for path in (folder, *folder.rglob("*")):
        os.chmod(path, 0o777 if path.is_dir() else 0o644)
    # Bound before anything lies over /tmp, where the clone may be.
    script = 'mount --bind "$1" /mnt\n' "mount -t tmpfs -o mode=1777 tmpfs /run/lock\nmount -t tmpfs -o mode=1777 tmpfs /tmp\n" \
             'cd /mnt\nexec setpriv --reuid 65534 --regid 65534 --clear-groups ' \
             "bash /usr/sbin/logcheck -o -t -s -c conf -r rules -S state -l mail.log"
    said = as_installed(place, script, folder)
    return [line for line in said.splitlines() if re.match(r"\w{3} [ \d]\d \d\d:", line)]
