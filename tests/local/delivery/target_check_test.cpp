#include "daemons/common/config/config.h"
#include "daemons/common/config/load.h"
#include "daemons/common/lookup/aliases/include_file.h"
#include "daemons/local/delivery/target_check.h"
#include "tests/temporary_directory.h"
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace local;
using Result = TargetCheck::Finding::Result;

namespace {

struct World {
    explicit World(std::string_view more = "") {
        chmod(place.path().c_str(), 0755);
        place.write("aliases", "");
        place.write("rules", "");
        configure(more);
    }
    void configure(std::string_view more) {
        const auto file = (place.path() / "postrider.toml").string();
        const auto read =
            config::parse(fmt::format("[local]\naliases = [\"{0}/aliases\"]\nalias_tables = [\"regexp:{0}/rules\"]\n"
                                      "default_user = \"daemon\"\n{1}",
                                      place.path().string(), more),
                          file, {"here.example", "ann", 1});
        REQUIRE(read);
        checks.configure(read->local, read->addresses, read->tables, read->commands);
    }
    std::string find(std::string_view address, std::string_view user, std::string_view target) {
        constexpr std::string_view names[] = {"named", "elsewhere", "refused", "unreadable"};
        return std::string(names[static_cast<int>(checks.find(address, user, target).result)]);
    }
    TemporaryDirectory place;
    TargetCheck checks;
};

} // namespace

TEST_CASE("what an alias file names is named, for that address and that user, as it stands there now") {
    World w;
    if (geteuid() != 0) return; // whose the files are is whom they run as
    w.place.write("aliases",
                  "Robot: \"|prog -x\", /var/file, ann\nlist: :include:" + w.place.path().string() + "/more\n");
    CHECK(w.find("robot@here.example", "daemon", "|prog -x") == "named");
    CHECK(w.find("ROBOT+any@localhost", "daemon", "/var/file") == "named");
    CHECK(w.find("robot@here.example", "games", "|prog -x") == "elsewhere"); // in games' own file, if anywhere
    CHECK(w.find("robot@here.example", "daemon", "|prog -y") == "elsewhere");
    CHECK(w.find("other@here.example", "daemon", "|prog -x") == "elsewhere");
    w.place.write("aliases", "robot: ann\n");
    CHECK(w.find("robot@here.example", "daemon", "|prog -x") == "elsewhere");
    REQUIRE(chown((w.place.path() / "aliases").c_str(), 5, 5) == 0);
    w.place.write("aliases", "robot: |prog\n");
    CHECK(w.find("robot@here.example", common::owner_name(5), "|prog") == "named");
    CHECK(w.find("robot@here.example", "daemon", "|prog") == "elsewhere");
    unlink((w.place.path() / "aliases").c_str());
    CHECK(w.find("robot@here.example", "daemon", "|prog") == "unreadable");
}

TEST_CASE("included files and what is not allowed from somewhere") {
    World w("commands_from = [\"includes\"]\nfiles_from = []\n");
    if (geteuid() != 0) return;
    w.place.write("aliases", "list: :include:" + w.place.path().string() + "/more, |prog\n");
    CHECK(w.find("list@here.example", "daemon", "|more") == "unreadable");
    w.place.write("more", "|more\n/file\n");
    CHECK(w.find("list@here.example", "daemon", "|more") == "named");
    CHECK(w.find("list@here.example", "daemon", "|prog") == "refused");
    CHECK(w.find("list@here.example", "daemon", "/file") == "refused");
}

TEST_CASE("tables name commands, and rules never with parts of the address") {
    World w;
    w.place.write("rules", "/^robot$/ |prog\n/^(.*)-do$/ |do $1\n");
    CHECK(w.find("robot@here.example", "daemon", "|prog") == "named");
    CHECK(w.find("x-do@here.example", "daemon", "|do x") == "elsewhere");
}

TEST_CASE("a virtual mailbox is where the configuration has it") {
    World w("[virtual_mailbox]\ndomains = [\"boxes.example\"]\ndeliver = \"maildir:/srv/{domain}/{user}/\"\nuser = "
            "\"daemon\"\n");
    CHECK(w.find("Ann+x@Boxes.example", "daemon", "maildir:/srv/boxes.example/ann/") == "named");
    CHECK(w.find("ann@boxes.example", "games", "maildir:/srv/boxes.example/ann/") == "refused");
    CHECK(w.find("ann@boxes.example", "daemon", "maildir:/srv/boxes.example/bob/") == "refused");
    CHECK(w.find("ann@boxes.example", "daemon", "mbox:/etc/passwd") == "refused");
    w.configure(
        "[virtual_mailbox]\ndomains = [\"boxes.example\"]\ndeliver = \"mbox:/srv/{value}/{user}/{value}\"\nuser = "
        "\"daemon\"\n"
        "recipients = [\"text:/etc/hostname\"]\n");
    CHECK(w.find("ann@boxes.example", "daemon", "mbox:/srv/a/b/ann/a/b") == "named");
    CHECK(w.find("ann@boxes.example", "daemon", "mbox:/srv/a/ann/b") == "refused");
    CHECK(w.find("ann@boxes.example", "daemon", "mbox:/srv/../ann/..") == "refused");
    CHECK(w.find("ann@boxes.example", "daemon", "mbox:/srv/") == "refused");
}

TEST_CASE("a program is named by its section, and only as its user") {
    World w("[command.sympa]\nrun = [\"/bin/true\"]\nuser = \"list\"\n");
    CHECK(w.find("x@lists.example", "list", "command:sympa") == "named");
    CHECK(w.find("x@lists.example", "root", "command:sympa") == "refused");
    CHECK(w.find("x@lists.example", "list", "command:other") == "refused");
}
