// What the journal must account for: each message and each recipient.
#include "daemons/common/history/books.h"
#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

using history::Books;
using nlohmann::json;
using spool::QueueId;

namespace {

const QueueId id{0x0C5A0000001010}; // of November 2026
constexpr std::string_view before = "2026-01-01T00:00:00.000000Z", later = "2027-01-01T00:00:00.000000Z";

json event(std::string_view type, json more = json::object()) {
    json out = {{"type", type}, {"id", id.text()}, {"time", before}};
    out.update(more);
    return out;
}
json accepted(std::uint64_t recipients) { return event("message.accepted", {{"recipients_total", recipients}}); }
json ended(std::string_view how, std::string_view recipient) { return event(how, {{"recipient", recipient}}); }
json finished(json counts) { return event("message.finished", {{"counts", std::move(counts)}}); }

Books books_of(const std::vector<json>& events) {
    Books books;
    for (const auto& each : events) books.add(each);
    return books;
}
std::string found_in(const std::vector<json>& events) {
    const auto books = books_of(events);
    return books.imbalances().empty() ? "" : books.imbalances().front().why;
}

spool::MessageState in_spool(spool::Status status) {
    spool::Envelope envelope;
    envelope.recipients = {{.address = "a@x.example"}, {.address = "b@x.example"}};
    spool::MessageState state(envelope);
    state.recipients[0].status = status;
    return state;
}

} // namespace

TEST_CASE("a message whose recipients have all ended balances") {
    const auto books =
        books_of({accepted(2), ended("message.delivered", "a@x.example"), ended("message.failed", "b@x.example"),
                  finished({{"delivered", 1u}, {"failed", 1u}})});
    CHECK(books.imbalances().empty());
    CHECK(books.open().empty());
    CHECK(books.totals().accepted == 1);
    CHECK(books.totals().finished == 1);
}

TEST_CASE("what a crash made the journal say twice counts once") {
    CHECK(found_in({accepted(1), accepted(1), ended("message.delivered", "a@x.example"),
                    ended("message.delivered", "a@x.example"), finished({{"delivered", 1u}})}) == "");
    CHECK(books_of({accepted(1), accepted(1)}).totals().accepted == 1);
}

TEST_CASE("a message that a crash made the journal move twice was moved once") {
    const auto out = event("message.transferred_out");
    CHECK(found_in({accepted(1), out, out}) == "");
    CHECK(books_of({accepted(1), out, out}).totals().removed == 1);
    CHECK_FALSE(books_of({accepted(1), out, out}).is_open(id));
    CHECK(found_in({out}) == "removed, and its acceptance is not recorded, or it was finished before");
    CHECK(found_in({accepted(1), out, event("message.removed")}) != "");
    auto first = event("config.reloaded");
    first["time"] = later;
    CHECK(books_of({first, out, out}).totals().older == 1);
}

TEST_CASE("an alias ends by becoming others") {
    CHECK(found_in({accepted(1), ended("message.expanded", "list@x.example"), ended("message.delivered", "a@x.example"),
                    ended("message.delivered", "b@x.example"), finished({{"delivered", 2u}, {"expanded", 1u}})}) == "");
}

TEST_CASE("an end without its event, an event without its end") {
    CHECK(found_in({accepted(2), ended("message.delivered", "a@x.example"), finished({{"delivered", 2u}})}) ==
          "finished with 2 delivered, and 1 such event is recorded");
    CHECK(found_in({accepted(1), ended("message.delivered", "a@x.example"), finished({{"failed", 1u}})}) ==
          "finished with 0 delivered, and 1 such event is recorded");
}

TEST_CASE("a recipient without an end") {
    CHECK(found_in({accepted(2), ended("message.delivered", "a@x.example"), finished({{"delivered", 1u}})}) ==
          "finished with 1 of 2 recipients accounted for");
    CHECK(found_in({accepted(1), finished(json::object())}) == "finished with 0 of 1 recipients accounted for");
}

TEST_CASE("an end without a beginning") {
    CHECK(found_in({finished({{"delivered", 1u}})}) ==
          "finished, and its acceptance is not recorded, or it was finished before");
    CHECK(found_in({event("message.removed")}) ==
          "removed, and its acceptance is not recorded, or it was finished before");
    CHECK(found_in({accepted(1), ended("message.delivered", "a@x.example"), finished({{"delivered", 1u}}),
                    finished({{"delivered", 1u}})}) != "");
}

TEST_CASE("what was accepted before the journal begins is not judged") {
    auto first = event("config.reloaded");
    first["time"] = later;
    const auto books = books_of({first, ended("message.delivered", "a@x.example"), finished({{"delivered", 3u}})});
    CHECK(books.imbalances().empty());
    CHECK(books.totals().older == 1);
    CHECK(books.compare(id, in_spool(spool::Status::delivered)) == "");
}

TEST_CASE("messages that are neither finished nor removed are open") {
    CHECK(books_of({accepted(1)}).open() == std::vector{id});
    CHECK(books_of({accepted(1), event("message.held")}).is_open(id));
    CHECK_FALSE(books_of({accepted(1), event("message.removed")}).is_open(id));
    CHECK(books_of({accepted(1), event("message.removed"), event("message.restored")}).is_open(id));
}

TEST_CASE("a queued message and its file say the same") {
    const auto books = books_of({accepted(2), ended("message.delivered", "a@x.example")});
    CHECK(books.compare(id, in_spool(spool::Status::delivered)) == "");
    CHECK(books.compare(id, in_spool(spool::Status::pending)) == ""); // it is delivered again: known, and no loss
    CHECK(books_of({accepted(2)}).compare(id, in_spool(spool::Status::failed)) ==
          "in the spool, where <a@x.example> has come to its end, which is not recorded");
    CHECK(books_of({event("config.reloaded")}).compare(id, in_spool(spool::Status::pending)) ==
          "in the spool, and its acceptance is not recorded, or it was finished before");
}

TEST_CASE("imbalances beyond a bound are counted") {
    Books books;
    for (std::size_t n = 0; n < Books::most_kept + 5; ++n) books.add(finished({{"delivered", 1u}}));
    CHECK(books.imbalances().size() == Books::most_kept);
    CHECK(books.totals().imbalances == Books::most_kept + 5);
}
