// Cursors and dead letters on a real disk, and what is in their files.
#include "daemons/events/hooks/cursor_file.h"
#include "daemons/events/hooks/dead_letters.h"
#include "libspool/disk/real_disk.h"
#include "tests/temporary_directory.h"
#include <doctest/doctest.h>

using namespace events;
using decide::hooks::HookProgress;
using decide::hooks::HookState;

namespace {

HookProgress some_progress() {
    return {.next = 4'611'686'018'427'387'904,
            .through = 77,
            .state = HookState::paused,
            .reason = "the endpoint answered 401: \"who\"\xff",
            .failures = 3,
            .failing_since = 1'795'000'000,
            .refusals = 2,
            .set_aside = 41};
}

} // namespace

TEST_CASE("a cursor is read as it was written") {
    auto progress = some_progress();
    progress.reason = "by root";
    CHECK(decode_progress(encode(progress)) == progress);
    CHECK(decode_progress(encode(HookProgress{})) == HookProgress{});
    CHECK(decode_progress(encode(some_progress()))->reason == "the endpoint answered 401: \"who\"\xef\xbf\xbd");
    CHECK(decode_progress("{\"v\":1,\"next\":5,\"state\":\"off\",\"other\":[]}\n") ==
          HookProgress{.next = 5, .state = HookState::switched_off});
}

TEST_CASE("what is not a whole cursor is refused") {
    const auto text = encode(some_progress());
    for (std::size_t size = 0; size < text.size(); ++size) CHECK(!decode_progress(text.substr(0, size)));
    for (const auto* odd :
         {"[]\n", "{}\n", "{\"v\":2,\"next\":1,\"state\":\"off\"}\n", "{\"v\":1,\"state\":\"off\"}\n",
          "{\"v\":1,\"next\":1}\n", "{\"v\":1,\"next\":1,\"state\":\"lost\"}\n",
          "{\"v\":1,\"next\":\"1\",\"state\":\"off\"}\n", "{\"v\":1,\"next\":-1,\"state\":\"off\"}\n",
          "{\"v\":1,\"next\":1.5,\"state\":\"off\"}\n", "{\"v\":1,\"next\":18446744073709551615,\"state\":\"off\"}\n",
          "{\"v\":1,\"next\":1,\"failures\":4294967296,\"state\":\"off\"}\n",
          "{\"v\":1,\"next\":1,\"failing_since\":9223372036854775807,\"state\":\"off\"}\n"})
        CHECK_MESSAGE(!decode_progress(odd), odd);
}

TEST_CASE("cursors are replaced as a whole") {
    TemporaryDirectory directory;
    const auto disk = *spool::RealDisk::open_at(directory.path());
    auto loaded = load_progress(*disk, "shop");
    REQUIRE(loaded);
    CHECK(!loaded->progress);
    CHECK(!loaded->damaged);
    directory.write("rest", "");
    REQUIRE(save_progress(*disk, "shop", some_progress()));
    directory.write("cursors/shop.new", std::string(5000, 'x')); // left by a kill
    REQUIRE(save_progress(*disk, "shop", HookProgress{.next = 9}));
    CHECK(load_progress(*disk, "shop")->progress == HookProgress{.next = 9});
    CHECK(directory.names("cursors") == std::vector<std::string>{"shop"});
    directory.write("cursors/shop", "{torn");
    CHECK(load_progress(*disk, "shop")->damaged);
}

TEST_CASE("dead letters are appended, also after a line that is not whole") {
    TemporaryDirectory directory;
    const auto disk = *spool::RealDisk::open_at(directory.path());
    const DeadLetter letter{{7, R"({"v":1,"seq":7})"}, "refused \"twice\"", "2026-11-26T18:00:00Z"};
    const std::string line = R"({"time":"2026-11-26T18:00:00Z","reason":"refused \"twice\"","event":{"v":1,"seq":7}})"
                             "\n";
    REQUIRE(append_dead_letter(*disk, "shop", letter));
    REQUIRE(append_dead_letter(*disk, "shop", letter));
    CHECK(directory.text("dead/shop.jsonl") == line + line);
    directory.write("dead/shop.jsonl", "{torn");
    REQUIRE(append_dead_letter(*disk, "shop", letter));
    CHECK(directory.text("dead/shop.jsonl") == "{torn\n" + line);
    std::filesystem::resize_file(directory.path() / "dead/shop.jsonl", largest_dead_file - 1);
    const auto full = append_dead_letter(*disk, "shop", letter);
    REQUIRE(!full);
    CHECK(full.error().what == "dead/shop.jsonl has reached 64 MiB: remove or rename it");
}
