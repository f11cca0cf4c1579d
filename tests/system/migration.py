"""The program behind `scripts/soak migration`: Postfix configurations of others, each run by Debian's Postfix and, after
`postrider import-postfix`, by Postrider, in worlds of their own (harness/migration_world.py) with the same sessions; every reply and
every destination that differs is listed.

What was changed to make a configuration run is in report.json (`changes`), as is everything that differs.

  migration.py [--sessions N] [--seed S] [--keep DIRECTORY] [--jobs J] DIRECTORY…      directories with main.cf, or of such directories
  migration.py --keep DIRECTORY --again                                               compares again what was kept
"""
import argparse
import collections
import json
import re
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from harness.migration_files import Adapted, Unusable, is_configuration  # noqa: E402
from harness.migration_reasons import CANONICAL, compare, outcome  # noqa: E402
from harness.migration_sessions import Material, users_of  # noqa: E402
from harness.migration_world import every_address_is_here  # noqa: E402
from harness.mta import gather_programs  # noqa: E402
from harness.network import enter_own_network  # noqa: E402

WORLD = ["unshare", "--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc", sys.executable, "-B", "-m", "harness.migration_world"]
PORTS = (25, 24, 587, 465, 2525)
SYSTEMS = ("postfix", "postrider")


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
    if system == "postrider":
        gather_programs(home / "bin")  # links: in its world, on another file system, they would be copies
    (home / "etc-postfix").symlink_to(adapted.place)
    # Postfix's program for tables of aliases is another one.
    (home / "aliases").write_text(" " + " ".join(f"/etc/postfix/made-up/{f.name}" for user in ("alias_maps", "alias_database")
                                                 for _, f in adapted.tables.get(user, [])) + " ")
    (home / "world.json").write_text(json.dumps({
        "sessions": sessions, "users": users_of(adapted), "zones": zones_of(adapted), "servers": servers_of(adapted),
        "directories": [each for each in map(adapted.value, ("virtual_mailbox_base", "mail_spool_directory")) if each.startswith("/")]}))
    with open(home / "world.out", "wb") as out:
        subprocess.run([*WORLD, system, str(home)], cwd=Path(__file__).parent, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT, timeout=1200)


def result_of(home):
    file = home / "result.json"
    if not file.exists():
        return {"trouble": "the world ended: " + (home / "world.out").read_text(errors="replace")[-1500:]}
    return json.loads(file.read_text())


def try_one(source, folder, options):
    folder.mkdir(parents=True)
    try:
        adapted = Adapted(source, folder / "postfix-configuration")
        sessions = Material(adapted).draw(options.seed, options.sessions)
    except Unusable as e:
        return {"name": source.name, "unusable": str(e)}
    (folder / "facts.json").write_text(json.dumps({"changes": adapted.changes, "sessions": sessions, "settings": adapted.everything()}))
    for system in SYSTEMS:
        try:
            run_world(system, folder, sessions, adapted)
        except subprocess.TimeoutExpired as e:
            (folder / system / "result.json").write_text(json.dumps({"trouble": str(e)}))
    (folder / "settings.json").write_text(json.dumps(settings_of(source, folder)))
    shutil.rmtree(folder / "postrider/bin", ignore_errors=True)  # half a gigabyte each
    return compared(folder)


def compared(folder):
    """The report of what was run in the folder."""
    facts = json.loads((folder / "facts.json").read_text())
    results = {system: result_of(folder / system) for system in SYSTEMS}
    report = {"name": folder.name, "changes": facts["changes"], "settings": json.loads((folder / "settings.json").read_text())}
    for system, result in results.items():
        if result["trouble"]:
            return report | {"trouble": [system, result["trouble"]]}
    imported = json.loads((folder / "postrider/import.json").read_text())
    tables = re.findall(r":/etc/postfix/(made-up/\S+?)(?=[,\s]|$)", " ".join(facts["settings"][name] for name in CANONICAL))
    canonical = "\n".join((folder / "postfix-configuration" / each).read_text(errors="replace") for each in tables)
    facts["settings"]["mynetworks"] = re.sub(r"/etc/postfix/(made-up/\S+)", lambda m: (folder / "postfix-configuration" / m[1]).read_text(), facts["settings"]["mynetworks"])
    found, recipients, destinations = compare(facts["sessions"], results["postfix"], results["postrider"], facts["settings"], imported["undecided"], canonical)
    differs = [{"kind": d.kind, "why": d.why, "stage": d.stage, "postfix": outcome(d.theirs), "postrider": outcome(d.ours),
                "recipient": d.recipient, "session": d.session["number"]} for d in found]
    return report | {"differs": differs, "recipients": recipients, "destinations": destinations, "undecided": imported["undecided"]}


def settings_of(source, folder):
    """What becomes of each setting as the repository has it: {"carried over", "answered by name", "its file is missing", "unknown": number}."""
    done = subprocess.run([folder / "postrider/bin/postrider", "import-postfix", source, "--json"], capture_output=True, text=True)
    if not done.stdout:
        return {"not read": done.stderr.strip()}
    counts = collections.Counter()
    for each in json.loads(done.stdout)["settings"]:
        remarks = " ".join(each["remarks"])
        if re.search("no such file|does not exist", remarks):
            counts["its file is missing"] += 1
        elif "has no such setting" in remarks or (each["result"] == "unsupported" and not remarks):
            counts["unknown"] += 1
        else:
            counts["answered by name" if each["result"] == "unsupported" else "carried over"] += 1
    return counts


def print_settings(reports):
    counts = sum((collections.Counter(r["settings"]) for r in reports if "not read" not in r.get("settings", {"not read": ""})), collections.Counter())
    known, all_ = counts["carried over"] + counts["answered by name"], sum(counts.values()) - counts["its file is missing"]
    if all_:
        print(f"\nOf {all_} settings (beside {counts['its file is missing']} whose file the repositories lack) {counts['carried over']} "
              f"({counts['carried over'] / all_:.1%}) are carried over, {counts['answered by name']} answered by name: together {known / all_:.1%}.")


def print_one(report):
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


def print_differences(reports):
    together, examples, configurations = collections.Counter(), {}, collections.defaultdict(set)
    for report in reports:
        for each in report.get("differs", []):
            key = (each["kind"], each["why"]) if each["why"] else (each["kind"], "", each["stage"], each["postfix"], each["postrider"])
            together[key] += 1
            configurations[key].add(report["name"])
            examples.setdefault(key, f"{report['name']}, session {each['session']}, {each['recipient']}")
    print("\nWhat differs, for a known reason:")
    for (kind, why, *_), count in sorted(((k, n) for k, n in together.items() if k[1]), key=lambda each: -each[1]):
        print(f"{count:6} {kind}: {why} ({len(configurations[kind, why])} configurations; {examples[kind, why]})")
    print("\nWhat differs otherwise:")
    for key, count in sorted(((k, n) for k, n in together.items() if not k[1]), key=lambda each: (each[0][0], -each[1])):
        print(f"{count:6} {key[0]} {key[2]} ({len(configurations[key])} configurations; {examples[key]})\n"
              f"         Postfix:   {key[3]}\n         Postrider: {key[4]}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sessions", type=int, default=500)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep")
    parser.add_argument("--again", action="store_true", help="compare again what an earlier run left in --keep; nothing is run")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("places", nargs="*", type=Path)
    options = parser.parse_args()
    if options.again:
        return summary(Path(options.keep), [compared(f.parent) for f in sorted(Path(options.keep).glob("*/settings.json"))])
    if not enter_own_network():
        sys.exit("migration: needs root (networks and mounts of its own)")
    every_address_is_here()
    sources = [each for place in options.places for each in ([place] if is_configuration(place) else sorted(filter(is_configuration, place.iterdir())))]
    work = Path(options.keep or tempfile.mkdtemp(prefix="migration-"))
    work.mkdir(exist_ok=True)
    work.chmod(0o755)
    reports = []
    with ThreadPoolExecutor(options.jobs) as pool:
        for report in map(Future.result, as_completed([pool.submit(try_one, source, work / source.name, options) for source in sources])):
            reports.append(report)
            print_one(report)
    summary(work, reports)


def summary(work, reports):
    (work / "report.json").write_text(json.dumps(reports, indent=1))
    print_differences(reports)
    print_settings(reports)
    run = [each for each in reports if "differs" in each]
    print(f"\n{len(run)} of {len(reports)} ran; {sum(r['recipients'] for r in run)} recipients and {sum(r['destinations'] for r in run)} destinations; "
          f"{sum(len(r['differs']) for r in run)} differ, {sum(not d['why'] for r in run for d in r['differs'])} without a known reason. All of it: {work}/report.json")


if __name__ == "__main__":
    main()
