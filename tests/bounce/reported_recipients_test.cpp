#include "daemons/bounce/reported_recipients.h"
#include <doctest/doctest.h>

using namespace bounce;
using proto::report::Outcome;
using proto::report::Report;
using proto::report::Reported;
using smtp::ReportKind;
using spool::QueueId;

namespace {

Addressee addressee(std::string reverse_path, std::initializer_list<std::uint32_t> numbers) {
    Addressee out;
    out.reverse_path = std::move(reverse_path);
    for (const auto number : numbers) {
        auto& each = out.recipients.emplace_back();
        each.number = number;
    }
    return out;
}

Report question(std::uint64_t id, std::initializer_list<std::uint32_t> numbers, ReportKind kind = ReportKind::failed) {
    Report out;
    out.queue_id = QueueId{id};
    out.kind = kind;
    out.recipients = addressee("", numbers).recipients;
    return out;
}

Reported by(std::uint64_t report) {
    Reported out;
    out.outcome = Outcome::submitted;
    out.report_id = QueueId{report};
    return out;
}

// "sender@: 0 1; owner@: 2"
std::string shown(const std::vector<Addressee>& addressees) {
    std::string out;
    for (const auto& each : addressees) {
        out += (out.empty() ? "" : "; ") + each.reverse_path + ":";
        for (const auto& recipient : each.recipients) out += " " + std::to_string(recipient.number);
    }
    return out;
}

} // namespace

TEST_CASE("who knows is left out when a question comes again, also among others") {
    ReportedRecipients told;
    told.add(question(7, {0, 1, 2}), addressee("owner@", {1, 2}), by(70));
    std::vector<Addressee> again = {addressee("sender@", {0, 3}), addressee("owner@", {1, 2, 4})};
    const auto before = told.remove_reported(question(7, {0, 1, 2, 3, 4}), again);
    REQUIRE(before);
    CHECK(before->report_id == QueueId{70});
    CHECK(shown(again) == "sender@: 0 3; owner@: 4");
    again = {addressee("owner@", {1, 2})};
    CHECK(told.remove_reported(question(7, {1, 2}), again));
    CHECK(again.empty());
    // Another message, or something else about this one, is news.
    again = {addressee("owner@", {1, 2})};
    CHECK_FALSE(told.remove_reported(question(8, {1, 2}), again));
    CHECK_FALSE(told.remove_reported(question(7, {1, 2}, ReportKind::delayed), again));
    CHECK(shown(again) == "owner@: 1 2");
}

TEST_CASE("what is answered is forgotten, and of very many the oldest") {
    ReportedRecipients told;
    told.add(question(7, {0, 1}), addressee("owner@", {0, 1}), by(70));
    told.add(question(7, {0}, ReportKind::delayed), addressee("owner@", {0}), by(71));
    told.forget(question(7, {0, 1}));
    std::vector<Addressee> again = {addressee("owner@", {0, 1})};
    CHECK_FALSE(told.remove_reported(question(7, {0, 1}), again));
    CHECK(told.remove_reported(question(7, {0}, ReportKind::delayed), again));
    for (std::uint64_t id = 100; id < 100 + ReportedRecipients::max_messages; ++id)
        told.add(question(id, {0}), addressee("owner@", {0}), by(70));
    again = {addressee("owner@", {0})};
    CHECK_FALSE(told.remove_reported(question(7, {0}, ReportKind::delayed), again));
    CHECK(told.remove_reported(question(100, {0}), again));
}
