// Messages in parts: cut, joined, bounded; and said in order with others.
#include "daemons/common/ipc/listener.h"
#include "daemons/common/ipc/ordered_sender.h"
#include "daemons/common/ipc/parts.h"
#include "daemons/common/net/local_socket.h"
#include "daemons/common/proto/categorize.h"
#include "daemons/common/proto/delivery.h"
#include "tests/temporary_directory.h"
#include <doctest/doctest.h>

using namespace ipc;
using proto::categorize::Categorize;
using proto::delivery::Done;
using Question = PartSplitter<Categorize, &Categorize::recipients>;
using Questions = PartAssembler<Categorize, &Categorize::recipients>;
using Result = PartSplitter<Done, &Done::replies>;
using Results = PartAssembler<Done, &Done::replies>;

namespace {

Categorize question(std::uint64_t request, std::uint32_t recipients, std::size_t length) {
    Categorize out{request, spool::QueueId{7}, "ann@example.org", {}};
    for (std::uint32_t n = 0; n < recipients; ++n) {
        auto address = std::to_string(n);
        address.resize(length, 'x');
        out.recipients.push_back({n, std::move(address)});
    }
    return out;
}

std::string wire_of(const Categorize& message) {
    std::string wire;
    encode<proto::categorize::Message>(message, wire);
    return wire;
}

Done result(std::uint64_t delivery, std::uint32_t recipients) {
    Done out{.connection = 3, .delivery = delivery, .queue_id = spool::QueueId{9}, .results = {}, .replies = {}};
    out.host = "mx.example.org[192.0.2.1]:25";
    for (std::uint32_t n = 0; n < recipients; ++n) {
        out.results.push_back({n, proto::delivery::Outcome::failed, n, false});
        out.replies.push_back(
            {"5.1.1", std::string(512, 't'), std::to_string(n) + std::string(500, 's'), "", smtp::Stage::rcpt, 550});
    }
    return out;
}

} // namespace

TEST_CASE("a message of any length comes out of its parts as it was, and each part is small") {
    for (const auto& [recipients, length] : std::initializer_list<std::pair<std::uint32_t, std::size_t>>{
             {0, 0}, {1, 5}, {1, 200'000}, {600, 105}, {10'000, 320}, {100'000, 320}, {1'000'000, 20}}) {
        const auto whole = question(5, recipients, length);
        Question parts(whole);
        Questions questions(proto::categorize::largest_questions);
        std::optional<Questions::Whole> out;
        std::size_t count = 0;
        while (parts.more()) {
            REQUIRE_FALSE(out);
            const auto wire = wire_of(parts.next());
            CHECK(wire.size() < part_size + length + 200);
            auto part = decode<proto::categorize::Message>(wire);
            REQUIRE(part);
            out = questions.add(std::get<Categorize>(*std::move(part)));
            ++count;
        }
        REQUIRE(out);
        CHECK(out->complete);
        CHECK(wire_of(out->message) == wire_of(whole));
        CHECK((length > part_size || count >= recipients * length / part_size));
    }
}

TEST_CASE("parts of several messages may come in any order among each other") {
    Question a(question(1, 5000, 100)), b(question(2, 3000, 100));
    Questions questions(64 << 20);
    std::vector<std::uint64_t> whole;
    while (a.more() || b.more())
        for (auto* each : {&a, &b})
            if (each->more())
                if (auto out = questions.add(each->next())) {
                    CHECK(out->complete);
                    whole.push_back(out->message.request);
                }
    CHECK(whole == std::vector<std::uint64_t>{2, 1});
}

TEST_CASE("what is beyond the bound comes out empty, and does not hinder others") {
    Questions questions(1 << 20);
    Question large(question(1, 100'000, 100)), small(question(2, 2000, 100));
    bool seen = false;
    while (large.more()) {
        const auto out = questions.add(large.next());
        if (large.more()) REQUIRE_FALSE(out);
        if (!out) continue;
        seen = true;
        CHECK_FALSE(out->complete);
        CHECK(out->message.request == 1);
        CHECK(out->message.recipients.empty());
    }
    CHECK(seen);
    std::optional<Questions::Whole> out;
    while (small.more()) out = questions.add(small.next());
    REQUIRE(out);
    CHECK(out->complete);
    CHECK(out->message.recipients.size() == 2000);
}

TEST_CASE("a question that is begun anew counts from there; a missing part is noticed") {
    Questions questions(64 << 20);
    Question first(question(1, 5000, 100)), second(question(1, 4000, 100)), holed(question(3, 5000, 100));
    REQUIRE_FALSE(questions.add(first.next()));
    REQUIRE_FALSE(questions.add(first.next()));
    std::optional<Questions::Whole> out;
    while (second.more()) out = questions.add(second.next());
    REQUIRE(out);
    CHECK(out->complete);
    CHECK(out->message.recipients.size() == 4000);
    REQUIRE_FALSE(questions.add(holed.next()));
    static_cast<void>(holed.next());
    while (holed.more()) out = questions.add(holed.next());
    REQUIRE(out);
    CHECK_FALSE(out->complete);
}

TEST_CASE(
    "results for ten thousand recipients with the longest replies arrive whole, in order with what is said besides") {
    TemporaryDirectory directory;
    const std::string path = directory.path() / "queue-manager";
    common::Loop loop;
    common::Log log(loop, "test");
    using Message = proto::delivery::Message;
    std::unique_ptr<Channel<Message>> serving;
    std::string order;
    Results results(proto::delivery::largest_done);
    auto fd = common::listen_local(path, 0600);
    REQUIRE(fd);
    const ExpectedTokens expected = {"its key", {proto::Role::smtp_client}};
    Listener listener(loop, log, *std::move(fd), expected);
    listener.serve<Message>(
        proto::delivery::conversation, {proto::Role::smtp_client},
        [&](Peer, std::unique_ptr<Channel<Message>> channel) {
            serving = std::move(channel);
            serving->set_callbacks(
                {[&](Message&& message) {
                     if (auto* done = std::get_if<Done>(&message)) {
                         if (auto whole = results.add(std::move(*done))) {
                             CHECK(whole->complete);
                             CHECK(whole->message.replies.size() == whole->message.results.size());
                             CHECK(whole->message.replies.back().remote_reply.starts_with(
                                 std::to_string(whole->message.replies.size() - 1) + "s"));
                             order += fmt::format("done{}:{} ", whole->message.delivery, whole->message.replies.size());
                         }
                     } else {
                         order += fmt::format("closed{} ", std::get<proto::delivery::Closed>(message).connection);
                         if (std::get<proto::delivery::Closed>(message).connection == 10) loop.stop();
                     }
                 },
                 [&](const std::string& why) { FAIL(why); }});
        });
    std::unique_ptr<Connector<Message>> connector;
    std::unique_ptr<OrderedSender<Message>> say;
    std::vector<Done> all;
    for (std::uint64_t n = 1; n <= 10; ++n) all.push_back(result(n, n % 2 == 0 ? 10'000 : 1));
    const auto up = [&] { // more than a channel may have unsent
        for (const auto& done : all) {
            say->send_parts([&say, parts = Result(done)]() mutable {
                CHECK(say->put(parts.next()) == SendResult::yes);
                return parts.more() ? OrderedSender<Message>::Step::more : OrderedSender<Message>::Step::done;
            });
            proto::delivery::Closed closed;
            closed.connection = done.delivery;
            CHECK(say->send(closed) == SendResult::yes);
            CHECK(connector->unsent() < 3 * Connection::high_water);
        }
    };
    connector = std::make_unique<Connector<Message>>(
        loop, log, path, proto::delivery::conversation,
        Identity{proto::Role::smtp_client, 0, {{"queue-manager", token_of(expected.key, proto::Role::smtp_client, 0)}}},
        Connector<Message>::Callbacks{{}, up, [&](const std::string& why) { FAIL(why); }, [&] { say->drained(); }});
    say = std::make_unique<OrderedSender<Message>>(*connector, [] { FAIL("too long"); });
    loop.run();
    std::string wanted;
    for (std::uint64_t n = 1; n <= 10; ++n) wanted += fmt::format("done{}:{} closed{} ", n, n % 2 == 0 ? 10'000 : 1, n);
    CHECK(order == wanted);
}
