"""The program behind `scripts/soak migration`: Postfix configurations of others, each run by Debian's Postfix and, after
`postrider import-postfix`, by Postrider, in worlds of their own (harness/migration_world.py) with the same sessions; every reply and
every destination that differs is listed.

What was changed to make a configuration run is in report.json (`changes`), as is everything that differs.

  migration.py [--sessions N] [--seed S] [--keep DIRECTORY] [--jobs J] DIRECTORY…      directories with main.cf, or of such directories
"""
import argparse
import collections
import json
import re
import subprocess
import sys
import tempfile
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from harness.migration_files import Adapted, Unusable, is_configuration  # noqa: E402
from harness.migration_sessions import Material, users_of  # noqa: E402
from harness.migration_world import every_address_is_here  # noqa: E402
from harness.network import enter_own_network  # noqa: E402

WORLD = ["unshare", "--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc", sys.executable, "-B", "-m", "harness.migration_world"]
PORTS = (25, 24, 587, 465, 2525)


def zones_of(adapted):
    """The DNS lists it asks."""
    text = " ".join(adapted.everything().values()) + (adapted.place / "master.cf").read_text()
    found = re.findall(r"(?:reject_rbl_client|reject_rhsbl_\w+|permit_dnswl_client|permit_rhswl_client)[\s=]+([A-Za-z][\w.-]+)", text)
    for each in re.split(r"[\s,]+", adapted.value("postscreen_dnsbl_sites")):
        found.append(re.split(r"[=*]", each)[0])
    return sorted({f".{each.strip('.')}" for each in found if "." in each})


def servers_of(adapted):
    """[address, port]: wherever mail may go."""
    text = " ".join([*adapted.everything().values(), *(f.read_text(errors="replace") for _, f in sum(adapted.tables.values(), []))])
    text += (adapted.place / "master.cf").read_text()
    addresses = {"192.0.2.10", *re.findall(r"\[(\d+\.\d+\.\d+\.\d+)\]", text)}
    ports = {*PORTS, *(int(p) for p in re.findall(r"[\w\]]:(\d{2,5})\b", text) if 1 < int(p) < 65536)}
    return sorted([a, p] for a in addresses for p in ports if not (a.startswith("127.") and p == 25))


def run_world(system, folder, sessions, adapted):
    home = folder / system
    home.mkdir()
    (home / "etc-postfix").symlink_to(adapted.place)
    # Postfix's program for tables of aliases is another one.
    (home / "aliases").write_text(" " + " ".join(f"/etc/postfix/made-up/{f.name}" for user in ("alias_maps", "alias_database")
                                                 for _, f in adapted.tables.get(user, [])) + " ")
    (home / "world.json").write_text(json.dumps({
        "sessions": sessions, "users": users_of(adapted), "zones": zones_of(adapted), "servers": servers_of(adapted),
        "directories": [adapted.value("virtual_mailbox_base")] if adapted.value("virtual_mailbox_base").startswith("/") else []}))
    with open(home / "world.out", "wb") as out:
        subprocess.run([*WORLD, system, str(home)], cwd=Path(__file__).parent, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT, timeout=1200)
    file = home / "result.json"
    if not file.exists():
        return {"trouble": "the world ended: " + (home / "world.out").read_text(errors="replace")[-1500:]}
    return json.loads(file.read_text())


def code_of(reply):
    return reply[:3] if reply[:3].isdigit() else reply.partition(" ")[0]


def outcome(text):
    """Without what is only this session's."""
    return re.sub(r"queued as \w+|<[^>]*>|\d+\.\d+\.\d+\.\d+|\b[0-9A-F]{10,}\b|m\d+|\[[^\]]*\]", "~", text)[:110]


def fates(session, said):
    """{recipient: what became of it: taken, later, refused, closed}, and the reply that decided it."""
    replies, found = dict(said), {}
    word = {"2": "taken", "3": "taken", "4": "later", "5": "refused"}
    for recipient in session["recipients"]:
        deciding = None
        for stage in ("greeting", "hello", "starttls", "mail", f"rcpt {recipient}", "data", "dot", "end"):
            reply = replies.get(stage)
            if reply is not None:
                deciding = (stage.split()[0], reply)
                if word.get(reply[0]) not in ("taken",) and stage != "starttls":
                    break
        found[recipient] = (word.get(deciding[1][0], "closed") if deciding else "nothing", *(deciding or ("", "")))
    return found


# Why Postrider does otherwise, on purpose or because Postfix cannot do what it was told. (The kinds, the test, the reason.)
REASONS = (
    ("any", lambda s, r, a, b: re.search(r"^4\d\d 4\.3\.[05].*(error|failure)", a), "Postfix cannot work as it is configured here: a table, a service or a program is missing"),
    ("any", lambda s, r, a, b: "SSLError" in a, "Postfix offers no version of TLS that a client of today speaks"),
    ("any", lambda s, r, a, b: "%" in r, "user%domain@host is not taken for user@domain"),
    ("any", lambda s, r, a, b: re.search(r"@\[", r), "mail to [address] of this host is not taken for local"),
    ("any", lambda s, r, a, b: "@" not in r and b.startswith("550 5.1.3"), "strangers' recipients need a domain"),
    ("any", lambda s, r, a, b: s["sender"] and "@" not in s["sender"] and b.startswith("553 5.1.7"), "strangers' senders need a domain"),
    ("any", lambda s, r, a, b: b.startswith("530 5.7.0 Authentication"), "a submission port is for those who log in: others are refused at MAIL"),
    ("refused", lambda s, r, a, b: "not owned by user" in b or "not logged in" in b, "senders are held to their own addresses"),
    ("other refusal", lambda s, r, a, b: a.startswith("454 4.7.1") and b[0] == "5", "relaying is refused for good, not for now"),
    ("other refusal", lambda s, r, a, b: {a[0], b[0]} <= {"4", "5"}, "several rules refuse it, and another comes first or says it otherwise"),
    ("other reply", lambda s, r, a, b: True, "another rule or another code says the same"),
)


def reason(kind, session, recipient, theirs, ours, undecided):
    """Why it differs; "": nobody knows yet."""
    for kinds, applies, why in REASONS:
        if kinds in ("any", kind) and applies(session, recipient, theirs, ours):
            return why
    if undecided and kind in ("let in", "destination"):
        return "the configuration has lines of [undecided]; whether one of them is about this has to be looked at"
    return ""


def compare(sessions, theirs, ours, undecided):
    """[{kind, why, stage, postfix, postrider, session}] of what differs, and how many fates and destinations were compared. Kinds:
    "let in" what Postfix refuses, "refused" what it takes, "other refusal", "other reply" with the same result, "destination"."""
    found, count, destinations = [], 0, 0

    def note(kind, session, recipient, stage, a, b):
        found.append({"kind": kind, "why": reason(kind, session, recipient, a, b, undecided), "stage": stage, "postfix": outcome(a),
                      "postrider": outcome(b), "session": session["number"]})
    for session in sessions:
        number = str(session["number"])
        left, right = fates(session, theirs["replies"].get(number, [])), fates(session, ours["replies"].get(number, []))
        same = True
        for recipient, (a, stage_a, reply_a) in left.items():
            b, stage_b, reply_b = right[recipient]
            count += 1
            if a != b:
                same = False
                kind = "let in" if b == "taken" else "refused" if a == "taken" else "other refusal"
                note(kind, session, recipient, f"{stage_a} / {stage_b}", reply_a, reply_b)
            elif code_of(reply_a) != code_of(reply_b):
                note("other reply", session, recipient, f"{stage_a} / {stage_b}", reply_a, reply_b)
        if same:
            def of(result, key=f"m{number}"):
                return {(who, f"{where} {status}"): text for who, where, status, text in result["went"].get(key, [])}
            here, there = of(theirs), of(ours)
            destinations += len(here)
            if here.keys() != there.keys():
                only = sorted(set(here) ^ set(there))

                def say(mine):
                    return "; ".join(f"{who.partition('@')[0]} {what} ({mine[who, what][:60]})" for who, what in only if (who, what) in mine) or "nothing more"
                note("destination", session, " ".join(who for who, _ in only), "", say(here), say(there))
    return found, count, destinations


def try_one(source, folder, options):
    folder.mkdir(parents=True)
    try:
        adapted = Adapted(source, folder / "postfix-configuration")
        sessions = Material(adapted).draw(options.seed, options.sessions)
    except Unusable as e:
        return {"name": source.name, "unusable": str(e)}
    results = {system: run_world(system, folder, sessions, adapted) for system in ("postfix", "postrider")}
    report = {"name": source.name, "changes": adapted.changes}
    for system, result in results.items():
        if result["trouble"]:
            return report | {"trouble": [system, result["trouble"]]}
    undecided = json.loads((folder / "postrider/import.json").read_text())["undecided"]
    found, recipients, destinations = compare(sessions, results["postfix"], results["postrider"], undecided)
    return report | {"differs": found, "recipients": recipients, "destinations": destinations, "undecided": undecided}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sessions", type=int, default=500)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("places", nargs="+", type=Path)
    options = parser.parse_args()
    if not enter_own_network():
        sys.exit("migration: needs root (networks and mounts of its own)")
    every_address_is_here()
    sources = [each for place in options.places for each in ([place] if is_configuration(place) else sorted(filter(is_configuration, place.iterdir())))]
    work = Path(options.keep or tempfile.mkdtemp(prefix="migration-"))
    work.mkdir(exist_ok=True)
    work.chmod(0o755)
    reports, together = [], collections.Counter()
    examples = {}
    with ThreadPoolExecutor(options.jobs) as pool:
        for report in map(Future.result, as_completed([pool.submit(try_one, source, work / source.name, options) for source in sources])):
            reports.append(report)
            name = report["name"]
            if "unusable" in report:
                print(f"{name}: not tried: {report['unusable']}", flush=True)
            elif "trouble" in report:
                system, why = report["trouble"]
                print(f"{name}: {system} does not run: {why.strip().splitlines()[0][:300]}", flush=True)
            else:
                new = sum(not each["why"] for each in report["differs"])
                print(f"{name}: {report['recipients']} recipients, {report['destinations']} destinations, {len(report['differs'])} differ, "
                      f"{new} without a known reason; {len(report['changes'])} changes to make it run", flush=True)
                for each in report["differs"]:
                    key = (each["kind"], each["why"]) if each["why"] else (each["kind"], "", each["stage"], each["postfix"], each["postrider"])
                    together[key] += 1
                    examples.setdefault(key, f"{name}, session {each['session']}")
    (work / "report.json").write_text(json.dumps(reports, indent=1))
    print("\nWhat differs, for a known reason:")
    for (kind, why, *_), count in sorted(((k, n) for k, n in together.items() if k[1]), key=lambda each: -each[1]):
        print(f"{count:6} {kind}: {why}")
    print("\nWhat differs otherwise:")
    for key, count in sorted(((k, n) for k, n in together.items() if not k[1]), key=lambda each: (each[0][0], -each[1])):
        print(f"{count:6} {key[0]} {key[2]} ({examples[key]})\n         Postfix:   {key[3]}\n         Postrider: {key[4]}")
    run = [each for each in reports if "differs" in each]
    print(f"\n{len(run)} of {len(reports)} ran; {sum(r['recipients'] for r in run)} recipients and {sum(r['destinations'] for r in run)} destinations; "
          f"{sum(len(r['differs']) for r in run)} differ, {sum(not d['why'] for r in run for d in r['differs'])} without a known reason. All of it: {work}/report.json")


if __name__ == "__main__":
    main()
