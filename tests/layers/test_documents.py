"""What the documents name is there: README.md, the manual's pages, libspool/FORMAT.md and tests/system/FAULTS.md speak of keys of
the configuration, files of the tree, tests and other pages."""
import re
from fnmatch import fnmatch
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
PAGES = {page.name: page for page in sorted((ROOT / "man").rglob("*.[1-8]"))}
MANUAL = [ROOT / "README.md", *PAGES.values()]
DOCUMENTS = [*MANUAL, ROOT / "libspool/FORMAT.md", ROOT / "tests/system/FAULTS.md"]

# Pages that others bring.
OF_OTHERS = {"aliases.5", "comsat.8", "crypt.3", "fcntl.2", "logger.1", "logrotate.8", "journalctl.1", "openssl-ciphers.1", "pcre_table.5",
             "pipe.8", "qshape.1", "sh.1", "sysexits.3", "tcp_table.5", "mysql_table.5", "pgsql_table.5",
             "ldap_table.5"}


def keys():
    """{section: its keys}, of the sample."""
    found, section = {}, None
    for line in (ROOT / "conf/postrider.toml").read_text().splitlines():
        if head := re.match(r"#?\[([a-z_]+)", line):
            section = found.setdefault(head[1], set())
        elif key := re.match(r"#([a-z_0-9]+) = ", line):
            section.add(key[1])
    return found


def test_every_key_that_is_named_is_one():
    known, found = keys(), 0
    name = r'(?:\.(?:NAME|<name>|"(?:DOMAIN|ZONE|<domain>)"))?'
    named = {"listen", "policy", "milter", "pool", "retry", "table", "access", "access_class", "hook", "command"}  # behind the dot stands a section's own name
    wrong = []
    for file in MANUAL:
        for section, key in re.findall(rf"(?<![\w./\"@-])([a-z_]+){name}\.([a-z_]+)\b(?![.(/\w-])", file.read_text()):
            if section not in known or key == "cf" or (section in named and key not in known[section] and f"[{section}.{key}]" in file.read_text()):
                continue
            found += 1
            if key not in known[section]:
                wrong.append(f"{file.name}: {section}.{key}")
    assert found > 300 and not wrong, wrong


def test_every_file_of_the_tree_that_is_named_is_there():
    wrong, found = [], 0
    for file in DOCUMENTS:
        for name in re.findall(r"(?<![\w/.-])((?:conf|daemons|libsmtp|libspool|man|scripts|tests)/[\w./-]*[\w/])", file.read_text()):
            found += 1
            if not (ROOT / name).exists() and not (ROOT / "tests" / name).exists():
                wrong.append(f"{file.name}: {name}")
    assert found > 30 and not wrong, wrong


def test_every_test_that_faults_name_is_there():
    text = (ROOT / "tests/system/FAULTS.md").read_text()
    wrong, found, file = [], 0, None
    for name in re.findall(r"`([^`\s]+)`", text):
        test = re.fullmatch(r"(test_\w+\.py)?(?:::(\w[\w*]*))?", name)
        if name.endswith("_test.cpp"):
            found += 1
            wrong += [] if (ROOT / "tests" / name).is_file() else [name]
        elif test:
            found += 1
            file = test[1] or file
            place = ROOT / "tests/system" / file
            there = re.findall(r"^def (test_\w+)", place.read_text(), re.M) if place.is_file() else []
            wrong += [] if any(fnmatch(one, test[2] or "*") for one in there) else [name]
    assert found > 60 and not wrong, wrong


def test_every_page_that_is_named_is_there():
    linked = set(re.findall(r"'([\w-]+\.\d)': '", (ROOT / "man/meson.build").read_text()))
    assert {"postcat.1", "newaliases.1"} <= linked
    wrong = {f"{page}: {name}({section})" for page in PAGES
             for name, section in re.findall(r"^\.(?:It )?Xr (\S+) (\d)", PAGES[page].read_text(), re.M)
             if f"{name}.{section}" not in {*PAGES, *linked, *OF_OTHERS}}
    assert not wrong, wrong


def test_every_page_is_installed_and_can_be_found_from_the_overview():
    installed = (ROOT / "man/meson.build").read_text()
    assert not [page for page, file in PAGES.items() if f"'{file.relative_to(ROOT / 'man')}'" not in installed]
    overview = PAGES["postrider.7"].read_text().split(".Sh SEE ALSO")[1]
    recipes = PAGES["postrider-recipes.7"].read_text()
    assert not [page for page, file in PAGES.items() if page != "postrider.7"
                and f"Xr {page[:-2]} {page[-1]}" not in (recipes if file.parent.name == "recipes" else overview)]


def texts_of_the_sources():
    """String literals as the compiler joins them."""
    for path in sorted((ROOT / "daemons").rglob("*.cpp")):
        yield re.sub(r'"\s*\n\s*"', "", path.read_text()).replace('\\"', '"')


def test_every_line_of_the_log_that_is_explained_is_written():
    page = (ROOT / "man/postrider-log.7").read_text().split(".Sh LINES AND WHAT TO DO")[1].split("\n.Sh ")[0]
    items = [item.replace("\\-", "-") for item in re.findall(r"^\.It (.*)$", page, re.M)]
    sources, missing = list(texts_of_the_sources()), []
    for item in items:
        parts = re.split(r"\b[A-Z]{2,}(?![a-z]*[A-Z])|[a-z]+(?:\|[a-z]+)+|\d{4}\|\d{4}| it can be read$", item)
        parts = [part for part in parts if re.search(r"[a-z]{2}", part)]
        if not any(all(part.strip(" :") in text for part in parts) for text in sources):
            missing.append(item)
    assert len(items) > 30 and not missing, "\n".join(missing)


def test_an_installation_is_not_built_where_the_clone_is_tried():
    """There meson says "already configured", and would install where and what the quickstart's build was configured for."""
    tried = {directory for script in ("quickstart", "test")
             for directory in re.findall(r"meson setup (\S+)", (ROOT / "scripts" / script).read_text())}
    installed = set(re.findall(r"meson setup (\S+) --prefix", (ROOT / "README.md").read_text()))
    assert tried == {"build", "build-quick"} and installed and not installed & tried
    assert "meson install -C build-usr --strip" in (ROOT / "README.md").read_text(), "debug information is fifty times the programs"
