#include "daemons/queue-manager/conversion/answer_parts.h"
#include <doctest/doctest.h>

using namespace queue_manager;
using proto::categorize::Categorized;
using Outcome = spool::ResolvedRecipient;

namespace {

Categorized part(std::uint64_t request, std::vector<std::string> addresses, bool more) {
    Categorized out{request, {}, more};
    for (auto& address : addresses) {
        out.outcomes.emplace_back();
        out.outcomes.back().address = std::move(address);
    }
    return out;
}

std::string addresses(const std::optional<Categorized>& answer) {
    if (!answer) return "not yet";
    std::string out = std::to_string(answer->request) + ":";
    for (const auto& outcome : answer->outcomes) out += " " + outcome.address;
    return out;
}

} // namespace

TEST_CASE("an answer in parts is nothing before its last one, whatever comes between") {
    AnswerParts parts;
    CHECK(addresses(parts.add(part(1, {"a", "b"}, true))) == "not yet");
    CHECK(addresses(parts.add(part(2, {"x"}, false))) == "2: x");
    CHECK(addresses(parts.add(part(3, {"m"}, true))) == "not yet");
    CHECK(addresses(parts.add(part(1, {"c"}, true))) == "not yet");
    CHECK(addresses(parts.add(part(1, {"d"}, false))) == "1: a b c d");
    CHECK(addresses(parts.add(part(3, {}, false))) == "3: m");
    CHECK(addresses(parts.add(part(1, {"again"}, false))) == "1: again");
}

TEST_CASE("parts of a categorizer that went away are no part of the next one's answer") {
    AnswerParts parts;
    CHECK(!parts.add(part(1, {"old"}, true)));
    parts.forget();
    CHECK(addresses(parts.add(part(1, {"new"}, false))) == "1: new");
}

TEST_CASE("an answer beyond the bound comes out empty, and takes no room") {
    AnswerParts parts(200); // each outcome counts 48 and its texts
    CHECK(!parts.add(part(1, {"a", "b", "c"}, true)));
    CHECK(!parts.add(part(1, {"d", "e"}, true)));
    CHECK(!parts.add(part(1, {"f"}, true)));
    CHECK(!parts.add(part(2, {"x", "y", "z"}, true)));
    CHECK(addresses(parts.add(part(1, {"g"}, false))) == "1:");
    CHECK(addresses(parts.add(part(2, {"0"}, false))) == "2: x y z 0");
}
