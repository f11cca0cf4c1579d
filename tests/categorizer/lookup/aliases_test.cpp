#include "daemons/categorizer/lookup/aliases.h"
#include "daemons/common/runtime/loop.h"
#include "tests/temporary_directory.h"
#include <doctest/doctest.h>
#include <filesystem>
#include <fstream>

using categorizer::Aliases;
using Status = decide::AliasAnswer::Status;

namespace {

struct World {
    TemporaryDirectory here{"state"};
    common::Loop loop;
    common::Log log{loop, "test"};
    const std::string file = (here.path() / "aliases").string();
    std::string trouble;
    smtp::Now now{smtp::Monotonic(std::chrono::hours(1)), smtp::WallTime(std::chrono::hours(1'000'000))};

    // As of a categorizer that has just been started.
    Aliases fresh(const std::vector<std::string>& by_default) {
        Aliases out(log, (here.path() / "state").string(), [this](std::string_view text) { trouble = text; });
        out.configure({file}, by_default);
        out.refresh(now);
        return out;
    }
};

} // namespace

TEST_CASE("an alias file that nobody named need not be there; once it was, its mail waits, after a restart, too") {
    World w;
    CHECK(w.fresh({w.file}).find("team").status == Status::none);
    CHECK(w.trouble.empty());
    std::ofstream(w.file) << "team: ann\n";
    CHECK(w.fresh({w.file}).find("team").status == Status::found);
    std::filesystem::remove(w.file);
    auto aliases = w.fresh({w.file});
    CHECK(aliases.find("team").status == Status::unreadable);
    CHECK(aliases.find("nobody").why == "alias table " + w.file + ": No such file or directory");
    CHECK(w.trouble.find("No such file") != std::string::npos);
    // Who says that there is none is believed, and it is as in the beginning.
    aliases.configure({}, {w.file});
    CHECK(aliases.find("team").status == Status::none);
    CHECK(w.fresh({w.file}).find("team").status == Status::none);
}

TEST_CASE("an alias file that somebody named must be there from the beginning") {
    World w;
    CHECK(w.fresh({}).find("team").status == Status::unreadable);
    CHECK_FALSE(std::filesystem::exists(w.here.path() / "state/alias-files"));
}

TEST_CASE("without a place for the note aliases are what they are") {
    World w;
    std::filesystem::remove(w.here.path() / "state");
    std::ofstream(w.file) << "team: ann\n";
    auto aliases = w.fresh({w.file});
    CHECK(aliases.find("team").status == Status::found);
    std::filesystem::remove(w.file);
    aliases.configure({w.file}, {w.file}); // a reload
    aliases.refresh(w.now);
    CHECK(aliases.find("team").status == Status::unreadable);
}
