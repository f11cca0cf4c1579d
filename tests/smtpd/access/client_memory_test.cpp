// The memory of tested clients: shared, bounded, and never in the way.
#include "daemons/smtpd/access/client_memory.h"
#include "libspool/disk/real_disk.h"
#include <doctest/doctest.h>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>

using namespace std::chrono_literals;
using decide::screening::Passes;
using decide::screening::Test;
using smtpd::ClientMemory;

namespace {

// A memory whose jobs run within post().
struct Process {
    Process(const std::string& directory, bool keeper, std::uint64_t size = 1 << 20)
        : memory(loop, log, pool, {directory, size, keeper}, [this](std::string_view text) { problem = text; }) {}
    void drain() { pool.drain(); }
    Passes passes() const {
        Passes out;
        out.until[index_of(Test::early_talk)] = common::Loop::now().wall + 24h;
        return out;
    }
    bool knows(const std::string& address) { return memory.find(address, common::Loop::now().wall).has_value(); }
    void remember(const std::string& address, smtp::Duration kept = 24h) {
        memory.remember(address, passes(), common::Loop::now().wall + kept);
        memory.write_rest();
        drain();
    }

    common::Loop loop;
    common::Log log{loop, "smtpd"};
    std::unique_ptr<spool::RealDisk> disk = *spool::RealDisk::open_at("/");
    spool::CommitPool pool{*disk, 0, [] {}};
    std::string problem;
    ClientMemory memory;
};

struct Directory {
    Directory() : path(std::filesystem::temp_directory_path() / fmt::format("client_memory.{}", ::getpid())) {
        std::filesystem::remove_all(path);
        std::filesystem::create_directories(path);
    }
    ~Directory() { std::filesystem::remove_all(path); }
    std::filesystem::path path;
};

} // namespace

TEST_CASE("what one process remembers another one knows") {
    const Directory directory;
    Process keeper(directory.path, true), other(directory.path, false);
    other.memory.begin();
    other.drain();
    CHECK(!other.knows("192.0.2.1"));
    CHECK(other.problem.empty());      // it waits for the keeper
    CHECK(!keeper.knows("192.0.2.1")); // not open yet
    keeper.memory.begin();
    keeper.drain();
    keeper.remember("192.0.2.1");
    CHECK(keeper.memory.find("192.0.2.1", common::Loop::now().wall));
    CHECK(!keeper.knows("192.0.2.2"));
    CHECK(!keeper.memory.find("192.0.2.1", common::Loop::now().wall + 24h)); // expired
    CHECK(keeper.problem.empty());
    other.remember("192.0.2.3"); // opens it
    CHECK(other.knows("192.0.2.1"));
    other.remember("192.0.2.3");
    CHECK(keeper.knows("192.0.2.3"));
    CHECK(other.problem.empty());
}

static void fill(Process& process, const Passes& passes, smtp::WallTime expires) {
    process.memory.begin();
    process.drain();
    for (int n = 0; process.problem.empty() && n < 200; ++n) {
        for (int i = 0; i < 500; ++i)
            process.memory.remember(fmt::format("10.{}.{}.{}", n, i / 250, i % 250), passes, expires);
        process.memory.write_rest();
        process.drain();
    }
    REQUIRE(process.problem.find("maximum size") != std::string::npos);
}

TEST_CASE("a full memory takes no further addresses, says so, and renews those it has") {
    const Directory directory;
    Process process(directory.path, true);
    fill(process, process.passes(), common::Loop::now().wall + 24h);
    CHECK(process.knows("10.0.0.1"));
    process.remember("192.0.2.1");
    CHECK(!process.knows("192.0.2.1"));
    process.memory.remember("192.0.2.1", process.passes(), common::Loop::now().wall + 24h);
    process.remember("10.0.0.1", 48h); // in the same batch
    CHECK(process.memory.find("10.0.0.1", common::Loop::now().wall + 47h));
    CHECK(!process.knows("192.0.2.1"));
    process.remember("10.0.0.1", 49h);
    CHECK(process.problem.find("maximum size") != std::string::npos); // still
    CHECK(std::filesystem::file_size(directory.path / "data.mdb") < 2 << 20);
}

TEST_CASE("a full memory takes addresses again once what it has is over") {
    const Directory directory;
    Process process(directory.path, true);
    const auto now = common::Loop::now().wall;
    auto passes = process.passes();
    passes.until[index_of(Test::early_talk)] = now - 1h; // kept for the log only
    fill(process, passes, now + 24h);
    for (int n = 0; n < 100 && !process.problem.empty(); ++n) process.remember("192.0.2.1");
    CHECK(process.problem.empty());
    CHECK(process.knows("192.0.2.1"));
}

TEST_CASE("a damaged memory is replaced by the keeper") {
    const Directory directory;
    {
        Process process(directory.path, true);
        process.memory.begin();
        process.drain();
        process.remember("192.0.2.1");
    }
    std::ofstream(directory.path / "data.mdb") << std::string(100'000, 'x');
    Process process(directory.path, true);
    process.memory.begin();
    process.drain();
    CHECK(!process.knows("192.0.2.1"));
    process.remember("192.0.2.1");
    CHECK(process.knows("192.0.2.1"));
    CHECK(std::filesystem::exists(directory.path / "data.mdb.damaged"));
}

TEST_CASE("without a directory nothing is known, and nothing fails") {
    Process process("/no/such/directory", true);
    process.memory.begin();
    process.drain();
    CHECK(!process.problem.empty());
    process.remember("192.0.2.1");
    CHECK(!process.knows("192.0.2.1"));
}
