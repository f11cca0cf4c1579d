// Addresses as the journal records them when it must not name them.
#include "daemons/common/history/address_hash.h"
#include "daemons/common/history/history_query.h"
#include "tests/libspool/disk/fake_disk.h"
#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

using history::AddressHash;
using nlohmann::json;

namespace {

const AddressHash hash(std::string(history::address_secret_size, 's'));
const std::string ann = hash.of("ann@example.org");

std::string hashed(const std::string& line) {
    std::string buffer = "before" + line;
    hash.hash_line(buffer, 6);
    CHECK(buffer.starts_with("before"));
    return buffer.substr(6);
}

} // namespace

TEST_CASE(
    "the domain stays; the same address is always the same, whatever its letters, and another secret's is another") {
    CHECK(ann.size() == 33 + std::string_view("@example.org").size());
    CHECK(ann.starts_with('#'));
    CHECK(ann.ends_with("@example.org"));
    CHECK(ann.substr(1, 32).find_first_not_of("0123456789abcdef") == ann.npos);
    CHECK(hash.of("Ann@Example.ORG").substr(0, 33) == ann.substr(0, 33));
    CHECK(hash.of("anne@example.org").substr(0, 33) != ann.substr(0, 33));
    CHECK(hash.of("ann@example.com").substr(0, 33) != ann.substr(0, 33));
    CHECK(AddressHash(std::string(history::address_secret_size, 't')).of("ann@example.org") != ann);
    CHECK(hash.of(ann) == ann);
    CHECK(hash.of("").empty());
    CHECK(hash.of("root").size() == 33);
    // HMAC-SHA256 of the address with 32 letters s, computed elsewhere; FORMAT.md says so.
    CHECK(ann == "#b61d03b7a58f1354674d142316a684da@example.org");
}

TEST_CASE("in a text only what is an address is replaced") {
    CHECK(hash.in_text("550 5.1.1 <ann@example.org>: unknown") == "550 5.1.1 <" + ann + ">: unknown");
    CHECK(hash.in_text("ann@example.org.") == ann + ".");
    CHECK(hash.in_text("to=ann@example.org,ann@example.org") ==
          hash.of("to=ann@example.org") + "," + ann); // "=" may be in an address
    CHECK(hash.in_text("<\"a b\"@example.org>") == "<" + hash.of("\"a b\"@example.org") + ">");
    CHECK(hash.in_text("@example.org, at @, a@ b, @") == "@example.org, at @, a@ b, @");
    CHECK(hash.in_text("no address").find('#') == std::string::npos);
    CHECK(hash.in_text("").empty());
}

TEST_CASE("of a line the members with addresses are replaced, and nothing else") {
    const std::string line =
        R"({"v":1,"seq":7,"node":"n","time":"t","type":"message.failed","id":"0C5A","message_id":"<1@example.org>",)"
        R"("sender":"ann@example.org","submitter":"sasl:ann@example.org","recipient":"\"a \\\" b\"@example.org",)"
        R"("meta":{"recipient":"ann@example.org","sender":"x@y"},"remote":{"host":"mx@odd","text":"ann@example.org"},)"
        R"("recipients":["ann@example.org","bob@example.org"],"text":"<ann@example.org> \u00fc","code":550})";
    const auto out = json::parse(hashed(line));
    auto expected = json::parse(line);
    expected["sender"] = ann;
    expected["recipient"] = hash.of("\"a \\\" b\"@example.org");
    expected["recipients"] = {ann, hash.of("bob@example.org")};
    expected["text"] = "<" + ann + "> \xc3\xbc";
    CHECK(out == expected);
    CHECK(hashed(hashed(line)) == hashed(line));
}

TEST_CASE("the null sender stays, and so does a domain on the suppression list") {
    CHECK(hashed(R"({"type":"message.x","sender":""})") == R"({"type":"message.x","sender":""})");
    CHECK(hashed(R"({"type":"suppression.added","recipient":"example.org"})") ==
          R"({"type":"suppression.added","recipient":"example.org"})");
    CHECK(hashed(R"({"type":"suppression.added","recipient":"ann@example.org"})") ==
          R"({"type":"suppression.added","recipient":")" + ann + R"("})");
    CHECK(hashed(R"({"type":"message.x","recipient":"root"})") ==
          R"({"type":"message.x","recipient":")" + hash.of("root") + R"("})");
}

TEST_CASE("a question with an address finds both forms") {
    const json clear = {{"type", "message.failed"}, {"recipient", "ann@example.org"}, {"sender", "s@x.example"}};
    const json other = {{"type", "message.failed"}, {"recipient", ann}, {"sender", hash.of("s@x.example")}};
    for (const std::string word : {"Ann@example.org", "recipient=ann@example.org", "sender=s@x.example"}) {
        const auto query = *history::HistoryQuery::parse(std::vector{word}, {}, &hash);
        CHECK(query.matches(clear));
        CHECK(query.matches(other));
        CHECK_FALSE(history::HistoryQuery::parse(std::vector{word}, {})->matches(other));
    }
    for (const std::string word : {"recipient=ann@*", "text=ann@example.org", "ann@example.com"})
        CHECK_FALSE(history::HistoryQuery::parse(std::vector{word}, {}, &hash)->matches(other));
    CHECK(history::HistoryQuery::parse(std::vector<std::string>{"domain=example.org"}, {}, &hash)->matches(other));
}

TEST_CASE("the secret is made once, and is there or not whenever the power goes") {
    const std::string random(history::address_secret_size, 'r'), others(history::address_secret_size, 'o');
    for (std::uint64_t n = 0;; ++n) {
        spool::test::FakeDisk disk;
        REQUIRE(disk.make_directory("history", 0700));
        REQUIRE(disk.sync(*disk.open(".", spool::Open::directory)));
        CHECK_FALSE(history::read_address_secret(disk, "history")->has_value());
        disk.cut_power_after(n);
        const auto made = history::make_address_secret(disk, "history", random);
        const bool whole = !disk.power_is_off();
        disk.restart(spool::test::FakeDisk::Keep::by_seed, n);
        const auto secret = history::read_address_secret(disk, "history");
        REQUIRE(secret);
        if (made) CHECK(*secret == random);
        if (*secret) CHECK(*secret == random);
        CHECK(history::make_address_secret(disk, "history", others) == (*secret ? random : others));
        if (whole) break;
    }
}

TEST_CASE("a secret that is cut off is an error, and is not replaced") {
    spool::test::FakeDisk disk;
    REQUIRE(disk.make_directory("history", 0700));
    disk.set_contents("history/address.secret", "short");
    CHECK_FALSE(history::read_address_secret(disk, "history"));
    CHECK_FALSE(history::make_address_secret(disk, "history", std::string(history::address_secret_size, 'r')));
    CHECK(disk.contents("history/address.secret") == "short");
}
