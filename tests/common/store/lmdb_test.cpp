#include "daemons/common/runtime/fd.h"
#include "daemons/common/store/file_mutex.h"
#include "daemons/common/store/lmdb.h"
#include "tests/common/store/memory_store.h"
#include "tests/temporary_directory.h"
#include <atomic>
#include <cerrno>
#include <csignal>
#include <doctest/doctest.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <fstream>
#include <random>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace std::chrono_literals;
using store::Change;
using store::Durable;
using store::Entry;
using store::FileMutex;
using store::Lmdb;
using store::LmdbOptions;

namespace {

constexpr smtp::WallTime epoch{1'000'000s};

std::unique_ptr<Lmdb> opened(const TemporaryDirectory& directory, LmdbOptions options = {.keeper = true}) {
    auto store = Lmdb::open(directory.path(), options);
    REQUIRE_MESSAGE(store.has_value(), (store ? "" : store.error().what));
    return *std::move(store);
}

std::string value_of(store::Store& store, std::string_view key, smtp::WallTime now = epoch) {
    const auto found = store.get(key, now);
    REQUIRE(found.has_value());
    return *found ? (*found)->value : "(none)";
}

// "k0", "k1" …
std::vector<Change> many(const std::string& name, int number, const Entry& entry) {
    std::vector<Change> changes;
    for (int n = 0; n < number; ++n) changes.push_back(Change::put(name + std::to_string(n), entry));
    return changes;
}

// Runs `work` in a process of its own and gives its exit status; the signal, negative, if one has ended it.
template <class Work> pid_t started(Work work) {
    const pid_t pid = ::fork();
    if (pid == 0) {
        for (const int signal : {SIGABRT, SIGSEGV, SIGBUS}) ::signal(signal, SIG_DFL); // doctest reports them
        ::_exit(work());
    }
    return pid;
}
int ended(pid_t pid) {
    int status = 0;
    REQUIRE(::waitpid(pid, &status, 0) == pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

// Whether somebody waits for a lock on that file, by the kernel's list.
bool is_waited_for(ino_t inode) {
    std::ifstream locks("/proc/locks");
    for (std::string line; std::getline(locks, line);)
        if (line.find("-> FLOCK") != line.npos && line.find(":" + std::to_string(inode) + " ") != line.npos)
            return true;
    return false;
}

} // namespace

TEST_CASE("a store gives back what was put, until it expires") {
    TemporaryDirectory directory;
    auto store = opened(directory);
    CHECK(value_of(*store, "k") == "(none)");
    CHECK(*store->apply(Change::put("k", {"v", {}}), epoch));
    CHECK(*store->apply(Change::put("short", {std::string("a\0b", 3), epoch + 10s}), epoch));
    CHECK(value_of(*store, "k", epoch + 100h) == "v");
    CHECK(value_of(*store, "short", epoch + 9s) == std::string("a\0b", 3));
    CHECK(value_of(*store, "short", epoch + 10s) == "(none)");
    CHECK(*store->apply(Change::erase("k"), epoch));
    CHECK(value_of(*store, "k") == "(none)");
}

TEST_CASE("a change is made only where its condition holds, and tells what was there") {
    TemporaryDirectory directory;
    auto store = opened(directory);
    const auto twice =
        store->apply(std::vector{Change::put_if_absent("k", {"first", {}}), Change::put_if_absent("k", {"second", {}})},
                     epoch, Durable::soon);
    REQUIRE(twice.has_value());
    CHECK((*twice)[0].made);
    CHECK_FALSE((*twice)[0].before);
    CHECK_FALSE((*twice)[1].made);
    CHECK((*twice)[1].before->value == "first");
    CHECK_FALSE(*store->apply(Change::replace("k", "second", {"x", {}}), epoch));
    CHECK_FALSE(*store->apply(Change::erase_if("k", "second"), epoch));
    CHECK(value_of(*store, "k") == "first");
    CHECK(*store->apply(Change::replace("k", "first", {"x", epoch + 1s}), epoch));
    CHECK(*store->apply(Change::put_if_absent("k", {"after", {}}), epoch + 1s)); // the other has expired
    CHECK(value_of(*store, "k", epoch + 1h) == "after");
    CHECK(*store->apply(Change::erase_if("k", "after"), epoch));
    CHECK(value_of(*store, "k") == "(none)");
}

TEST_CASE("keys and values beyond their bounds are refused") {
    TemporaryDirectory directory;
    auto store = opened(directory);
    CHECK(store->apply(
        Change::put(std::string(store::longest_key, 'k'), {std::string(store::longest_value, 'v'), epoch + 1h}),
        epoch));
    CHECK(store->apply(Change::put(std::string(store::longest_key + 1, 'k'), {"v", {}}), epoch).error().code == EINVAL);
    CHECK(store->apply(Change::put("", {"v", {}}), epoch).error().code == EINVAL);
    CHECK(store->apply(Change::put("k", {std::string(store::longest_value + 1, 'v'), {}}), epoch).error().code ==
          EINVAL);
    CHECK_FALSE(*store->get("", epoch));
}

TEST_CASE("a store does what a map does, over random changes, walks and time") {
    for (unsigned seed = 0; seed < 10; ++seed) {
        TemporaryDirectory directory;
        auto real = opened(directory);
        MemoryStore model;
        std::mt19937 random(seed);
        const auto pick = [&](unsigned n) { return static_cast<unsigned>(random() % n); };
        const auto key = [&] { return std::string(1, static_cast<char>('a' + pick(3))) + std::to_string(pick(6)); };
        auto now = epoch;
        for (int step = 0; step < 60; ++step) {
            now += pick(3) * 1s;
            std::vector<Change> changes;
            for (unsigned n = pick(4); n > 0; --n) {
                Entry entry{std::string(pick(2) ? pick(3) : pick(6000), 'v'), {}};
                if (pick(2)) entry.expires = now + pick(8) * 1s;
                switch (pick(5)) {
                case 0: changes.push_back(Change::put(key(), entry)); break;
                case 1: changes.push_back(Change::put_if_absent(key(), entry)); break;
                case 2: changes.push_back(Change::replace(key(), std::string(pick(3), 'v'), entry)); break;
                case 3: changes.push_back(Change::erase(key())); break;
                default: changes.push_back(Change::erase_if(key(), std::string(pick(3), 'v'))); break;
                }
            }
            const auto got = real->apply(changes, now, Durable::soon),
                       wanted = model.apply(changes, now, Durable::soon);
            REQUIRE(got.has_value());
            for (std::size_t n = 0; n < changes.size(); ++n) {
                REQUIRE((*got)[n].made == (*wanted)[n].made);
                REQUIRE((*got)[n].before == (*wanted)[n].before);
            }
            const auto one = key();
            REQUIRE(*real->get(one, now) == *model.get(one, now));
            const auto prefix = pick(2) ? "" : std::string(1, static_cast<char>('a' + pick(3)));
            const auto after = pick(2) ? "" : key();
            const auto most = pick(9);
            REQUIRE(*real->walk(prefix, after, most, now) == *model.walk(prefix, after, most, now));
        }
        real.reset();
        REQUIRE(*opened(directory)->walk("", "", 1000, now) == *model.walk("", "", 1000, now));
        CHECK(opened(directory)->quarantine_reason().empty());
    }
}

TEST_CASE("of many processes that put the same key if it is absent one does") {
    TemporaryDirectory directory;
    opened(directory);
    constexpr int processes = 6, keys = 50;
    std::vector<pid_t> children;
    for (int n = 0; n < processes; ++n)
        children.push_back(started([&] {
            auto store = Lmdb::open(directory.path());
            if (!store) return fmt::print(stderr, "{}\n", store.error().what), 100;
            int won = 0;
            for (int k = 0; k < keys; ++k) {
                const auto made = (*store)->apply(
                    Change::put_if_absent("k" + std::to_string(k), {std::to_string(n), {}}), epoch, Durable::soon);
                if (!made) return 101;
                won += *made;
            }
            return won;
        }));
    int won = 0;
    for (const auto child : children) won += ended(child);
    CHECK(won == keys);
    CHECK(opened(directory)->walk("", "", 1000, epoch)->size() == keys);
}

TEST_CASE("a database that grows while it is opened is not taken for a damaged one") {
    for (int round = 0; round < 40; ++round) {
        TemporaryDirectory directory;
        opened(directory);
        std::vector<pid_t> children; // each makes it larger while others open it
        for (int n = 0; n < 4; ++n)
            children.push_back(started([&] {
                for (int k = 0; k < 5; ++k) {
                    auto store = Lmdb::open(directory.path());
                    if (!store) return fmt::print(stderr, "{}\n", store.error().what), 1;
                    if (!(*store)->apply(
                            Change::put(std::to_string(::getpid() * 100 + k), {std::string(20'000, 'x'), {}}), epoch,
                            Durable::soon))
                        return 2;
                }
                return 0;
            }));
        for (const auto child : children) CHECK(ended(child) == 0);
        REQUIRE(opened(directory)->quarantine_reason().empty());
    }
}

TEST_CASE("a process killed while it changes things leaves whole changes and blocks nobody") {
    TemporaryDirectory directory;
    opened(directory);
    for (int round = 0; round < 10; ++round) {
        int ready[2];
        REQUIRE(::pipe(ready) == 0);
        const auto child = started([&] {
            auto store = Lmdb::open(directory.path());
            for (int n = 0;; ++n) { // both keys always have the same value
                const auto value = std::to_string(n) + std::string(static_cast<std::size_t>(n % 9000), 'x');
                if (!(*store)->apply(std::vector{Change::put("a", {value, {}}), Change::put("b", {value, {}})}, epoch,
                                     Durable::soon))
                    return 1;
                if (n == 5 + round && ::write(ready[1], "x", 1) != 1) return 2;
            }
        });
        char byte;
        REQUIRE(::read(ready[0], &byte, 1) == 1);
        ::kill(child, SIGKILL);
        CHECK(ended(child) == -SIGKILL);
        ::close(ready[0]);
        ::close(ready[1]);
        auto store = opened(directory);
        CHECK(store->quarantine_reason().empty());
        CHECK(value_of(*store, "a") == value_of(*store, "b"));
        CHECK(*store->apply(Change::put("c", {"v", {}}), epoch));
    }
}

// LMDB's own mutexes lose a wake-up when who was woken is killed; so nobody is to wait for them.
TEST_CASE("who waits for a process that has its turn goes on when that is killed") {
    TemporaryDirectory directory;
    auto store = opened(directory);
    for (const std::string name : {"writers.lock", "readers.lock"}) {
        CAPTURE(name);
        const std::string file = directory.path() / name;
        int ready[2];
        REQUIRE(::pipe(ready) == 0);
        const auto child = started([&] {
            auto turns = FileMutex::open(file);
            if (!turns) return 1;
            (*turns)->lock();
            if (::write(ready[1], "x", 1) != 1) return 2;
            ::pause();
            return 3;
        });
        char byte;
        REQUIRE(::read(ready[0], &byte, 1) == 1);
        std::atomic<bool> through = false;
        std::thread waiter([&] {
            if (name == "writers.lock")
                through = store->apply(Change::put("a", {"v", {}}), epoch).has_value();
            else
                through = store->get("a", epoch).has_value();
        });
        struct stat facts{};
        REQUIRE(::stat(file.c_str(), &facts) == 0);
        while (!through && !is_waited_for(facts.st_ino)) std::this_thread::yield();
        CHECK(!through);
        ::kill(child, SIGKILL);
        CHECK(ended(child) == -SIGKILL);
        waiter.join();
        CHECK(through);
        ::close(ready[0]);
        ::close(ready[1]);
    }
}

TEST_CASE("a full store refuses what is new, keeps what it has, and takes more when something has gone") {
    TemporaryDirectory directory;
    auto store = opened(directory, {.max_size = 512 * 1024, .keeper = true});
    std::size_t taken = 0;
    spool::Result<std::vector<store::Outcome>> made;
    for (; taken < 10'000 && made; taken += 10)
        made = store->apply(many("k" + std::to_string(taken) + ".", 10, {std::string(1000, 'v'), epoch + 1h}), epoch,
                            Durable::soon);
    REQUIRE_FALSE(made);
    CHECK(made.error().code == ENOSPC);
    CHECK(made.error().what.find("maximum size") != std::string::npos);
    CHECK(taken > 200);
    CHECK(value_of(*store, "k0.0").size() == 1000);
    for (int n = 0; n < 150; ++n)
        REQUIRE(store->apply(Change::erase(fmt::format("k{}.{}", n / 10 * 10, n % 10)), epoch, Durable::soon));
    CHECK(store->apply(Change::put("again", {std::string(1000, 'v'), {}}), epoch));
    // What has expired makes room by itself, though nothing comes but what is new.
    spool::Result<bool> more = true;
    for (; taken < 20'000 && more; ++taken)
        more = store->apply(Change::put(fmt::format("more{}", taken), {std::string(1000, 'v'), epoch + 1h}), epoch,
                            Durable::soon);
    REQUIRE_FALSE(more);
    CHECK(store->apply(many("later", 20, {std::string(1000, 'v'), {}}), epoch + 2h, Durable::soon));
    CHECK(store->walk("", "", 1000, epoch)->size() < 100);
}

TEST_CASE("a full store that skips new keys makes all other changes") {
    TemporaryDirectory directory;
    auto store =
        opened(directory, {.max_size = 512 * 1024, .when_full = LmdbOptions::WhenFull::skip_new_keys, .keeper = true});
    const std::string value(1000, 'v');
    bool made = true;
    for (int n = 0; n < 10'000 && made; ++n)
        made = *store->apply(Change::put(fmt::format("k{}", n), {value, epoch + 1h}), epoch, Durable::soon);
    REQUIRE_FALSE(made);
    const auto mixed = store->apply(std::vector{Change::put("new", {value, {}}), Change::put("k0", {"renewed", {}})},
                                    epoch, Durable::soon);
    REQUIRE(mixed);
    CHECK_FALSE((*mixed)[0].made);
    CHECK((*mixed)[1].made);
    CHECK(value_of(*store, "new") == "(none)");
    CHECK(value_of(*store, "k0", epoch + 9h) == "renewed");
    CHECK(*store->apply(Change::put("new", {value, {}}), epoch + 2h, Durable::soon));
}

TEST_CASE("a disk that is full fails the change, and the store goes on once it is not") {
    TemporaryDirectory directory;
    opened(directory);
    CHECK(ended(started([&] { // the limit is the process's own
              auto store = Lmdb::open(directory.path());
              ::signal(SIGXFSZ, SIG_IGN);
              const rlimit small{128 * 1024, RLIM_INFINITY};
              ::setrlimit(RLIMIT_FSIZE, &small);
              int taken = 0;
              while (taken < 1000 &&
                     (*store)->apply(Change::put("k" + std::to_string(taken), {std::string(4000, 'v'), {}}), epoch))
                  ++taken;
              if (taken == 1000 || taken == 0) return 1;
              const rlimit large{RLIM_INFINITY, RLIM_INFINITY};
              ::setrlimit(RLIMIT_FSIZE, &large);
              if (!(*store)->apply(Change::put("after", {"v", {}}), epoch)) return 2;
              return static_cast<int>((*store)->walk("", "", 2000, epoch)->size()) == taken + 1 ? 0 : 3;
          })) == 0);
}

TEST_CASE("whoever is not the keeper finds no store before the keeper was there") {
    TemporaryDirectory directory;
    const auto refused = Lmdb::open(directory.path());
    REQUIRE_FALSE(refused);
    CHECK(refused.error().code == ENOENT);
    CHECK(refused.error().what.find("data.mdb") != std::string::npos);
    opened(directory);
    CHECK(Lmdb::open(directory.path()).has_value());
}

TEST_CASE("who has other work does not wait while a store is examined") {
    TemporaryDirectory directory;
    opened(directory);
    const LmdbOptions in_haste{.examined = LmdbOptions::Examined::report_busy};
    {
        const common::Fd keeper(::open(directory.path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
        REQUIRE(::flock(keeper.number(), LOCK_EX) == 0);
        const auto refused = Lmdb::open(directory.path(), in_haste);
        REQUIRE_FALSE(refused);
        CHECK(store::is_being_examined(refused.error()));
        CHECK(refused.error().what.find("it is being checked") != std::string::npos);
    }
    CHECK(Lmdb::open(directory.path(), in_haste).has_value());
}

TEST_CASE("a damaged store is refused to all but the keeper, who puts it aside") {
    TemporaryDirectory directory;
    {
        auto store = opened(directory);
        REQUIRE(store->apply(many("k", 500, {std::string(500, 'v'), {}}), epoch, Durable::soon));
    }
    const auto file = directory.path() / "data.mdb";
    SUBCASE("not a database at all") { directory.write("data.mdb", std::string(100'000, 'x')); }
    SUBCASE("cut short") { std::filesystem::resize_file(file, std::filesystem::file_size(file) / 2); }
    auto refused = Lmdb::open(directory.path());
    REQUIRE_FALSE(refused);
    CHECK(store::is_damaged(refused.error()));
    CHECK(refused.error().what.find("next start it is moved aside") != std::string::npos);
    auto anew = opened(directory);
    CHECK(anew->quarantine_reason().find("damaged") != std::string::npos);
    CHECK(anew->walk("", "", 10, epoch)->empty());
    CHECK(std::filesystem::exists(directory.path() / "data.mdb.damaged"));
}

TEST_CASE("who is killed while it examines a good store costs nothing, and what was put aside stays") {
    TemporaryDirectory directory;
    {
        CHECK(*opened(directory)->apply(Change::put("k", {"kept", {}}), epoch));
    }
    directory.write("data.mdb.damaged", "of last year");
    for (const auto* mark : {"x", "xx"}) { // left by those who were killed
        directory.write("examining", mark);
        auto store = opened(directory);
        CHECK(store->quarantine_reason().empty());
        CHECK(value_of(*store, "k") == "kept");
    }
    directory.write("examining", std::string(3, 'x'));
    auto anew = opened(directory);
    CHECK(anew->quarantine_reason().starts_with("3 processes ended while checking it"));
    CHECK(directory.text("data.mdb.damaged") == "of last year");
    CHECK(std::filesystem::file_size(directory.path() / "data.mdb.damaged.1") > 0);
}

TEST_CASE("whatever one page of a store becomes, the keeper comes to have a good one") {
    TemporaryDirectory directory;
    {
        auto store = opened(directory);
        for (const auto* name : {"a", "b", "c"})
            REQUIRE(store->apply(many(name, 100, {std::string(300, 'v'), epoch + 1h}), epoch, Durable::soon));
    }
    const auto whole = directory.text("data.mdb");
    std::mt19937 random(7);
    for (std::size_t page = 0; page < whole.size() / 4096; ++page) {
        auto bad = whole;
        for (std::size_t n = 0; n < 4096; ++n) bad[page * 4096 + n] = static_cast<char>(random());
        for (const auto& entry : std::filesystem::directory_iterator(directory.path())) std::filesystem::remove(entry);
        directory.write("data.mdb", bad);
        const auto examined = [&] {
            ::close(2); // LMDB says what it stumbles over
            const auto store = Lmdb::open(directory.path(), {.keeper = true});
            return store && (*store)->walk("", "", 1000, epoch) && (*store)->apply(Change::put("new", {"v", {}}), epoch)
                       ? 0
                       : 1;
        };
        auto how = ended(started(examined));
        // It may cost the process, but not again and again.
        for (int tries = 0; how < 0 && tries < 3; ++tries) how = ended(started(examined));
        CHECK_MESSAGE(how == 0, "page " << page << ": " << how);
    }
}

TEST_CASE("others follow to the store that the keeper has made anew") {
    TemporaryDirectory directory;
    {
        CHECK(*opened(directory)->apply(Change::put("k", {"old", {}}), epoch));
    }
    auto follower = opened(directory, {});
    CHECK(value_of(*follower, "k") == "old");
    for (const auto name : {"data.mdb", "lock.mdb"})
        std::filesystem::rename(directory.path() / name, directory.path() / (std::string(name) + ".away"));
    CHECK(value_of(*follower, "k") == "old"); // nothing has come in its place yet
    CHECK(ended(started([&] { return *opened(directory)->apply(Change::put("k", {"new", {}}), epoch) ? 0 : 1; })) == 0);
    CHECK(value_of(*follower, "k") == "new");
}
