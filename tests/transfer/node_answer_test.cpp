// What another node's answers mean for the message that was sent.
#include "daemons/transfer/node_answer.h"
#include <doctest/doctest.h>
#include <fmt/format.h>

using common::Https;
using proto::transfer::Result;

namespace {

const spool::QueueId sent_id{0x0123456789ABCD};

proto::transfer::Sent meaning(unsigned status, std::string content) {
    Https::Answer answer;
    answer.sent = true;
    answer.status = status;
    answer.content = std::move(content);
    return transfer::meaning_of(answer, sent_id, 7);
}

proto::transfer::Sent meaning(Https::Failure failure, bool sent) {
    Https::Answer answer;
    answer.failure = failure;
    answer.sent = sent;
    answer.why = "it\nbroke";
    return transfer::meaning_of(answer, sent_id, 7);
}

} // namespace

TEST_CASE("a node that has the message names it") {
    for (const unsigned status : {200U, 202U}) {
        const auto sent = meaning(status, R"({"id":"0C5D183A07F310","duplicate":true})");
        CHECK(sent.result == Result::taken);
        CHECK(spool::QueueId{sent.its_id}.text() == "0C5D183A07F310");
        CHECK(sent.queue_id == sent_id);
        CHECK(sent.generation == 7);
    }
    for (const auto* body : {"", "{}", "[]", R"({"id":1})", R"({"id":"x"})", "<html>"})
        CHECK(meaning(200, body).result == Result::unknown);
}

TEST_CASE("a node that refuses the message, or does not take it now, does not have it") {
    for (const unsigned status : {400U, 409U, 413U, 422U}) CHECK(meaning(status, "{}").result == Result::refused);
    for (const unsigned status : {401U, 403U, 404U, 405U, 415U, 429U})
        CHECK(meaning(status, "{}").result == Result::not_taken);
    const auto later = meaning(503, R"({"code":"not-taken","detail":"the mail queue is full"})");
    CHECK(later.result == Result::not_taken);
    CHECK(later.text == "503: the mail queue is full");
    CHECK(meaning(503, R"({"code":"not-read","detail":"too many requests are being received"})").result ==
          Result::not_taken);
}

TEST_CASE("without a clear answer it is not known") {
    for (const unsigned status : {100U, 204U, 301U, 408U, 500U, 502U, 503U, 504U})
        for (const auto* code : {"busy", "in-doubt", ""})
            CHECK(meaning(status, fmt::format(R"({{"code":"{}"}})", code)).result == Result::unknown);
    CHECK(meaning(Https::Failure::timeout, true).result == Result::unknown);
    CHECK(meaning(Https::Failure::connection, true).result == Result::unknown);
    CHECK(meaning(Https::Failure::too_large, true).result == Result::unknown);
    CHECK(meaning(Https::Failure::connection, false).result == Result::not_taken);
    CHECK(meaning(Https::Failure::certificate, false).result == Result::not_taken);
    CHECK(meaning(Https::Failure::connection, false).text == "it?broke");
}
