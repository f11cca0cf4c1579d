#include "daemons/queue-manager/control/recipient_part.h"
#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

using namespace queue_manager;

namespace {

// Of five recipients the second has been delivered, and the third has become the fifth.
spool::MessageState five_recipients() {
    spool::Envelope envelope;
    for (const char* address : {"a@d.example", "b@d.example", "list@d.example", "d@d.example", "e@d.example"})
        envelope.recipients.emplace_back().address = address;
    spool::MessageState state(envelope);
    state.recipients[1].status = spool::Status::delivered;
    state.recipients[2].status = spool::Status::expanded;
    return state;
}

} // namespace

TEST_CASE("a part of the recipients, how many there are, and where the rest begins") {
    const auto message = five_recipients();
    const auto check = [&](Recipients which, RecipientPart part, const std::vector<std::uint32_t>& numbers,
                           std::uint64_t total, std::uint64_t next) {
        const auto chosen = choose(message, which, part);
        CHECK(chosen.numbers == numbers);
        CHECK(chosen.total == total);
        CHECK(chosen.next == next);
    };
    check(Recipients::all, {}, {0, 1, 3, 4}, 4, 0);
    check(Recipients::unfinished, {}, {0, 3, 4}, 3, 0);
    check(Recipients::unfinished, {.from = 0, .limit = 1}, {0}, 3, 3);
    check(Recipients::unfinished, {.from = 3, .limit = 1}, {3}, 3, 4);
    check(Recipients::unfinished, {.from = 4, .limit = 1}, {4}, 3, 0);
    check(Recipients::all, {.from = 5}, {}, 4, 0);
    check(Recipients::all, {.from = ~std::uint64_t{0}}, {}, 4, 0);
}

TEST_CASE("the range of a part has no other recipient than those between its first and last") {
    const auto message = five_recipients();
    const auto range = range_of(choose(message, Recipients::unfinished, {.from = 1, .limit = 2}));
    CHECK(range.first == 3);
    CHECK(range.last == 4);
    CHECK_FALSE(range_of(choose(message, Recipients::all, {.from = 9})).contains(0));
    CHECK_FALSE(no_recipient.contains(0));
    CHECK_FALSE(no_recipient.contains(1));
}

TEST_CASE("a request without a limit gets a part, too") {
    CHECK(recipient_part(nlohmann::json::object()).limit == RecipientPart::most);
    CHECK(recipient_part({{"limit", 5}, {"from", 7}}).limit == 5);
    CHECK(recipient_part({{"limit", 5}, {"from", 7}}).from == 7);
    CHECK(recipient_part({{"limit", 1'000'000}}).limit == RecipientPart::most);
}
