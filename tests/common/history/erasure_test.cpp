// What is erased for the sake of an address, and what stays of it.
#include "daemons/common/history/books.h"
#include "daemons/common/history/erasure.h"
#include "libspool/journal/journal_line.h"
#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

using history::Erasure;
using nlohmann::json;

namespace {

const history::AddressHash hash(std::string(history::address_secret_size, 's'));
const Erasure ann("Ann@example.org", &hash);

std::string line(std::uint64_t number, const std::string& more) {
    return R"({"v":1,"seq":)" + std::to_string(number) +
           R"(,"node":"n","time":"2026-11-26T18:00:00.000001Z","type":"message.failed","id":"0C5A0000001010",)" + more +
           "}\n";
}
std::string tombstone(std::uint64_t number) {
    return R"({"v":1,"seq":)" + std::to_string(number) +
           R"(,"node":"n","time":"2026-11-26T18:00:00.000001Z","type":"message.failed","id":"0C5A0000001010",)" +
           "\"erased\":true}\n";
}

} // namespace

TEST_CASE("an event that has the address anywhere becomes a tombstone, the others stay byte for byte") {
    const std::string named[] = {
        R"("recipient":"ann@example.org")",
        R"("sender":"ANN@EXAMPLE.ORG")",
        R"("recipients":["bob@x.example","ann@example.org"])",
        R"("text":"550 <ann@example.org>: no such user")",
        R"("text":"write to ann@example.org.")",
        R"("submitter":"sasl:ann@example.org")",
        R"("meta":{"user":"ann@example.org"})",
        R"("remote":{"deep":[{"x":"ann@example.org"}]})",
        "\"recipient\":\"" + hash.of("ann@example.org") + "\"",
    };
    const std::string others[] = {
        R"("recipient":"joann@example.org")",    R"("recipient":"ann@example.org.uk")",
        R"("recipient":"ann@example.orgs")",     R"("recipient":"x.ann@example.org")",
        R"("recipient":"ann@mail.example.org")", R"("text":"ann at example.org")",
        R"("ann@example.org":"as a name only")", R"("recipient":"bob@example.org")",
    };
    for (const auto& each : named) {
        CAPTURE(each);
        const auto kept = line(1, R"("recipient":"bob@x.example")");
        std::uint64_t erased = 0;
        const auto text = ann.erased_from(kept + line(2, each) + kept, erased);
        REQUIRE(text);
        CHECK(*text == kept + tombstone(2) + kept);
        CHECK(erased == 1);
        std::uint64_t again = 0;
        CHECK_FALSE(ann.erased_from(*text, again));
    }
    for (const auto& each : others) {
        CAPTURE(each);
        std::uint64_t erased = 0;
        CHECK_FALSE(ann.erased_from(line(2, each), erased));
        CHECK(erased == 0);
    }
}

TEST_CASE("an address that JSON has to escape is found") {
    const Erasure odd(R"("a \" b"@example.org)", nullptr);
    std::uint64_t erased = 0;
    CHECK(odd.erased_from(line(1, R"("recipient":"\"a \\\" b\"@example.org")"), erased) == tombstone(1));
}

TEST_CASE("a line that is damaged stays, and so does what is no event") {
    std::uint64_t erased = 0;
    CHECK_FALSE(ann.erased_from("{\"v\":1,\"seq\":1,\"recipient\":\"ann@example.org\n[\"ann@example.org\"]\n", erased));
}

TEST_CASE("a tombstone is a line of the journal, and the books balance with it") {
    const auto text = tombstone(7);
    const auto parsed = spool::parse_line(std::string_view(text).substr(0, text.size() - 1));
    REQUIRE(parsed);
    CHECK(parsed->number == 7);
    CHECK(spool::type_of(*parsed) == "message.failed");
    CHECK(history::is_erased(json::parse(text)));
    CHECK_FALSE(history::is_erased(json::parse(line(1, R"("erased":"no")"))));

    history::Books books;
    const auto add = [&](std::string type, json more) {
        json event = {{"v", 1}, {"id", "0C5A0000001010"}, {"time", "2026-01-01T00:00:00.000000Z"}, {"type", type}};
        event.update(more);
        books.add(event);
    };
    add("message.accepted", {{"erased", true}});
    add("message.delivered", {{"recipient", "bob@x.example"}});
    add("message.failed", {{"erased", true}});
    add("message.failed", {{"erased", true}});
    add("message.finished", {{"counts", {{"delivered", 1U}, {"failed", 2U}}}});
    CHECK(books.imbalances().empty());
    CHECK(books.totals().finished == 1);
}
