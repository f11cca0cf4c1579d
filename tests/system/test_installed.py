"""What `meson install` makes of the build, run from where it was configured to lie: the installed tree is laid over the
machine's own in a mount namespace that ends with the command. The other tests run the build's programs side by side."""
import os
import shutil

import pytest

from harness.installed import Installed

pytestmark = pytest.mark.needs("root", "mounts")
NAMES = ("usr/sbin/sendmail", "usr/lib/sendmail", "usr/bin/mailq", "usr/bin/newaliases", "usr/sbin/postqueue", "usr/sbin/postsuper",
         "usr/sbin/postcat", "usr/sbin/postconf", "usr/sbin/postmap", "usr/sbin/postalias")


@pytest.fixture(scope="module")
def as_built(tmp_path_factory):
    place = tmp_path_factory.mktemp("installed")
    yield Installed(place)
    shutil.rmtree(place)


@pytest.fixture
def installed(as_built):
    """Nothing but our own programs lies there."""
    yield as_built
    for name in ("sendmail", "postconf", "simulate"):
        (as_built.sbin / name).unlink(missing_ok=True)


@pytest.fixture
def root(tmp_path):
    """Where the standard names are linked: not the machine's own."""
    (tmp_path / "var/lib/dpkg/info").mkdir(parents=True)
    return tmp_path


def linked(root):
    return {name: os.readlink(root / name) for name in NAMES if (root / name).is_symlink()}


def test_activate_knows_its_own_programs_by_their_place(installed, root):
    """Whoever's command stands beside the command postrider, it is not the program that ours is."""
    done = installed.run("postrider", "activate", "--root", root)
    assert done.returncode == 0, done.stderr
    assert linked(root) == {name: f"{installed.libexecdir}/{name.rpartition('/')[2]}" for name in NAMES}
    # As if the names had been made beside it: prefix is /usr where the README's way is gone.
    (installed.sbin / "sendmail").symlink_to(f"{installed.libexecdir}/sendmail")
    (installed.sbin / "postconf").write_text("#!/bin/sh\necho theirs\n")
    (installed.sbin / "postconf").chmod(0o755)
    again = installed.run("postrider", "activate", "--root", root)
    assert (again.returncode, again.stderr, again.stdout.count("already so")) == (0, "", len(NAMES))
    gone = installed.run("postrider", "deactivate", "--root", root)
    assert (gone.returncode, gone.stdout.count("removed")) == (0, len(NAMES))
    assert linked(root) == {}


def test_a_relative_link_leads_to_our_programs_too(installed, root):
    """Debian's packages have them so."""
    (root / "usr/sbin").mkdir(parents=True)
    (root / "usr/sbin/sendmail").symlink_to(os.path.relpath(f"{installed.libexecdir}/sendmail", "/usr/sbin"))
    done = installed.run("postrider", "activate", "--root", root)
    assert (done.returncode, done.stderr, done.stdout.count("already so")) == (0, "", 1)


def test_the_hint_names_our_own_command(installed, root):
    (installed.sbin / "sendmail").write_text("#!/bin/sh\necho theirs\n")
    (installed.sbin / "sendmail").chmod(0o755)
    (root / "usr/sbin").mkdir(parents=True)
    (root / "usr/sbin/sendmail").write_text("theirs")
    done = installed.run("postrider", "activate", "--root", root)
    assert done.returncode == 73
    assert f"use Postrider's commands under their own names: {installed.libexecdir}/sendmail\n" in done.stderr


def test_what_a_package_of_ours_owns_is_left_to_it(installed, root):
    assert installed.run("postrider", "activate", "--root", root).returncode == 0
    (root / "var/lib/dpkg/info/postrider-mta.list").write_text("".join(f"/{name}\n" for name in NAMES))
    done = installed.run("postrider", "deactivate", "--root", root)
    assert done.returncode == 73 and "belongs to the package postrider-mta: remove the package" in done.stderr
    assert len(linked(root)) == len(NAMES)


def test_links_in_the_place_of_files_that_were_removed(installed, root):
    """As activate advises, beside another mail system: its package lists the names still, but the links are not its own."""
    (root / "usr/sbin").mkdir(parents=True)
    (root / "usr/sbin/sendmail").write_text("theirs")
    (root / "var/lib/dpkg/info/exim4-daemon-light.list").write_text("".join(f"/{name}\n" for name in NAMES))
    refused = installed.run("postrider", "activate", "--root", root)
    assert refused.returncode == 73 and "nothing was changed; remove these files" in refused.stderr
    (root / "usr/sbin/sendmail").unlink()
    assert installed.run("postrider", "activate", "--root", root).returncode == 0
    assert (root / "var/lib/postrider/activated").exists(), "a package that takes the names back is noticed"
    assert installed.run("postrider", "activate", "--root", root).returncode == 0
    done = installed.run("postrider", "deactivate", "--root", root)
    assert (done.returncode, done.stderr, linked(root)) == (0, "", {})


def test_commands_that_are_programs_of_their_own(installed, tmp_path):
    (tmp_path / "world.toml").write_text('[traffic.one]\ndomains = ["a.example"]\nprofile = "burst"\nmessages = 1\n')
    (tmp_path / "postrider.toml").write_text(f'[mta]\nmulti_user = false\n[spool]\ndirectory = "{tmp_path}/spool"\n')
    (tmp_path / "main.cf").write_text("mydestination = here.example\n")
    (tmp_path / "master.cf").write_text("smtp inet n - y - - smtpd\n")
    (installed.sbin / "simulate").write_text("#!/bin/sh\necho theirs\n")
    (installed.sbin / "simulate").chmod(0o755)
    simulate = ("simulate", "-c", tmp_path / "postrider.toml", "--world", tmp_path / "world.toml", "--until", "1h")
    done = installed.run("postrider", *simulate)
    assert (done.returncode, done.stderr) == (0, "") and "Summary: in 60 min, " in done.stdout
    done = installed.run("postrider", "import-postfix", tmp_path)
    assert done.returncode == 0 and "here.example" in done.stdout, done.stderr
    done = installed.shell(f'rm "{installed.libexecdir}/simulate"; exec "$@"', f"{installed.sbindir}/postrider", *simulate)
    assert done.returncode == 69
    assert f"the program {installed.libexecdir}/simulate is missing: reinstall Postrider " in done.stderr


@pytest.mark.parametrize("then, said", [
    ("rm /usr/sbin/sendmail", 'warning: /usr/sbin/sendmail: missing, although "postrider activate" created it: '
                              'programs that run it fail; run "postrider activate" to restore it, or "postrider deactivate" to accept the change'),
    ("ln -sf exim4 /usr/sbin/sendmail; ln -sf exim4 /usr/bin/mailq",
     'warning: /usr/sbin/sendmail, /usr/bin/mailq: replaced by another mail system, although "postrider activate" created it: '
     'mail submitted there goes to that system; remove its package and run "postrider activate"'),
    ("postrider deactivate >/dev/null; ln -sf exim4 /usr/sbin/sendmail", None),
    ("true", None),
], ids=["gone", "taken", "let go", "kept"])
def test_names_that_were_ours_are_missed(installed, mta, then, said):
    """Exim's package takes sendmail over, and after its purge there is none."""
    mta.config["mta"].update(multi_user=True, user="nobody", drop_group="nogroup", admin_group="nogroup")
    mta.config["local"]["users"] = []
    mta.write_config()
    done = installed.shell(f"""
        for path in sbin/sendmail lib/sendmail bin/mailq bin/newaliases sbin/postqueue sbin/postsuper sbin/postcat sbin/postconf \
                    sbin/postmap sbin/postalias; do rm -f /usr/$path; done
        PATH={installed.sbindir}:$PATH
        postrider activate >/dev/null
        {then}
        postrider check -c "$1\"""", mta.file)
    assert done.returncode == 0, done.stderr
    if said:
        assert said in done.stderr
    else:
        assert "postrider activate" not in done.stderr


def test_completion_and_the_manual_are_where_they_are_looked_for(as_built):
    share = as_built.place / as_built.prefix.lstrip("/") / "share"
    for name in ("bash-completion/completions/postrider", "zsh/site-functions/_postrider", "fish/vendor_completions.d/postrider.fish",
                 "doc/postrider/html/index.html", "doc/postrider/html/postcat.1.html", "doc/postrider/html/manual.css",
                 "man/man7/postrider-recipes.7", "man/man7/postrider-rspamd.7"):
        assert (share / name).stat().st_size > 0, name
