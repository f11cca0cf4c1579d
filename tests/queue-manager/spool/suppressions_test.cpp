// The keeper of the suppression list with a real store; without threads every job is done at once, its end on
// the next turn.
#include "daemons/queue-manager/spool/suppressions.h"
#include "libspool/disk/real_disk.h"
#include "tests/temporary_directory.h"
#include <doctest/doctest.h>
#include <filesystem>
#include <fstream>

using decide::Suppression;
using queue_manager::Suppressions;
using namespace std::chrono_literals;

namespace {

Suppression entry(std::string recipient, bool automatic = false) {
    Suppression out;
    out.recipient = std::move(recipient);
    out.automatic = automatic;
    out.who = automatic ? "queue-manager" : "root";
    out.added = common::Loop::now().wall;
    return out;
}

struct Keeper {
    explicit Keeper(const std::string& spool)
        : disk(*spool::RealDisk::open_at(spool)), pool(*disk, 0, [] {}),
          list({.loop = loop,
                .pool = pool,
                .spool = spool,
                .report_problem = [this](std::string text) { report_problem = std::move(text); },
                .added =
                    [this](std::span<const Suppression> entries) {
                        for (const auto& each : entries) added.push_back(each.recipient);
                    },
                .removed =
                    [this](std::span<const Suppression> entries) {
                        for (const auto& each : entries) removed.push_back(each.recipient);
                    },
                .changed = [this](bool any) { changed.push_back(any); }}) {
        list.open();
        drain();
    }
    void drain() {
        for (int n = 0; n < 10; ++n) pool.drain();
    }
    Suppressions::ChangeCounts change(Suppressions::Order order) {
        Suppressions::ChangeCounts out;
        order.done = [&](const spool::Result<Suppressions::ChangeCounts>& counts) {
            REQUIRE(counts);
            out = *counts;
        };
        list.change(std::move(order));
        drain();
        return out;
    }
    std::string who(std::string_view address) {
        std::string out;
        list.look([&](const common::SuppressionList* found) {
            REQUIRE(found);
            const auto its = found->find(address, {}, common::Loop::now().wall);
            REQUIRE(its);
            if (*its) out = (*its)->who;
        });
        return out;
    }

    common::Loop loop;
    std::unique_ptr<spool::RealDisk> disk;
    spool::CommitPool pool;
    std::string report_problem = "?";
    std::vector<std::string> added, removed;
    std::vector<bool> changed;
    Suppressions list;
};

using Operation = Suppressions::Operation;

} // namespace

TEST_CASE("put, counted, taken away; durable for the next keeper") {
    TemporaryDirectory place;
    {
        Keeper k(place.path());
        CHECK(k.report_problem.empty());
        CHECK_FALSE(k.list.any());
        const auto counts = k.change({.entries = {entry("ann@example.org"), entry("@whole.example")}});
        CHECK(counts.made == 2);
        CHECK(k.added == std::vector<std::string>{"ann@example.org", "@whole.example"});
        CHECK(k.changed.back());
        CHECK(k.change({.entries = {entry("ann@example.org")}}).other == 1);
        CHECK(k.list.figures(common::Loop::now().wall).entries == 2);
    }
    Keeper k(place.path());
    CHECK(k.list.any());
    CHECK(k.list.figures(common::Loop::now().wall).entries == 2);
    CHECK(k.who("x@whole.example") == "root");
    const auto counts =
        k.change({.doing = Operation::erase, .entries = {entry("ann@example.org"), entry("bob@example.org")}});
    CHECK(counts.made == 1);
    CHECK(counts.other == 1);
    CHECK(k.removed == std::vector<std::string>{"ann@example.org"}); // there was no bob
    k.change({.doing = Operation::erase, .entries = {entry("@whole.example")}});
    CHECK_FALSE(k.changed.back());
}

TEST_CASE("a dry run changes nothing") {
    TemporaryDirectory place;
    Keeper k(place.path());
    CHECK(k.change({.entries = {entry("ann@example.org")}, .dry_run = true}).made == 1);
    CHECK(k.added.empty());
    CHECK_FALSE(k.list.any());
    k.change({.entries = {entry("ann@example.org")}});
    CHECK(k.change({.doing = Operation::erase, .entries = {entry("ann@example.org")}, .dry_run = true}).made == 1);
    CHECK(k.list.any());
}

TEST_CASE("refusals are gathered; what an operator put there stays") {
    TemporaryDirectory place;
    Keeper k(place.path());
    k.change({.entries = {entry("ann@example.org")}});
    k.added.clear();
    for (const auto* each : {"ann@example.org", "bob@example.org", "bob@example.org"})
        k.list.refused(entry(each, true));
    CHECK(k.added.empty());
    k.list.flush();
    k.drain();
    CHECK(k.added == std::vector<std::string>{"bob@example.org"});
    CHECK(k.who("ann@example.org") == "root");
    CHECK(k.who("bob@example.org") == "queue-manager");
    CHECK(k.list.figures(common::Loop::now().wall).automatic_today == 1);
}

TEST_CASE("a list that was damaged is put aside, and that is said until its file has gone") {
    TemporaryDirectory place;
    {
        Keeper(place.path()).change({.entries = {entry("ann@example.org")}});
    }
    const auto file = place.path() / "suppression/data.mdb";
    const auto size = std::filesystem::file_size(file);
    std::ofstream(file) << std::string(size, 'x');
    for (int start = 0; start < 2; ++start) {
        Keeper k(place.path());
        CHECK(k.report_problem.find("data.mdb.damaged") != std::string::npos);
        CHECK_FALSE(k.list.any());
        k.change({.entries = {entry("bob@example.org")}});
        CHECK(k.report_problem.find("data.mdb.damaged") != std::string::npos);
        k.change({.doing = Operation::erase, .entries = {entry("bob@example.org")}});
    }
    std::filesystem::remove(place.path() / "suppression/data.mdb.damaged");
    CHECK(Keeper(place.path()).report_problem.empty());
}

TEST_CASE("a list that cannot be opened: nobody knows who is on it") {
    TemporaryDirectory place;
    std::ofstream(place.path() / "suppression") << "not a directory";
    Keeper k(place.path());
    CHECK(k.report_problem.find("mail waits") != std::string::npos);
    CHECK(k.list.any());
    bool asked = false;
    k.list.look([&](const common::SuppressionList* list) { asked = list == nullptr; });
    CHECK(asked);
    bool refused = false;
    k.list.change({.entries = {entry("ann@example.org")}, .done = [&](const auto& counts) { refused = !counts; }});
    CHECK(refused);
}
