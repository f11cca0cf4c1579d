// The addresses of a transaction and of its header, by the tables of its recipients' routes.
#include "daemons/smtp-client/session/delivery_job.h"
#include "tests/smtp-client/session/world.h"
#include <fmt/format.h>

using namespace smtp_client;
using namespace smtp_client::testing;

namespace {

// Tables of generic addresses, a message, and how it leaves.
struct GenericWorld : World {
    GenericWorld() : maps(loop(), log()) {
        settings.rewriting = {
            .origin = "test.example", .delimiter = '+', .is_local = [](auto, auto&) { return false; }};
    }
    std::string table(const std::string& text) {
        const auto path = fmt::format("{}/table{}", place.path().string(), ++tables);
        std::ofstream(path) << text;
        return "text:" + path;
    }
    void route(const std::string& pattern, std::vector<std::string> generic_tables) {
        auto& rule = settings.routes.emplace_back();
        rule.pattern = pattern;
        rule.generic_tables = std::move(generic_tables);
    }
    // "sender to recipient recipient: header"
    std::string leaves(const std::string& content, std::vector<std::string> to = {"r@three"}) {
        maps.configure(settings);
        delivery::Deliver order;
        order.delivery = 1;
        order.queue_id = write(content, to);
        for (std::uint32_t n = 0; n < to.size(); ++n) order.recipients.push_back(n);
        DeliveryJob job(order);
        REQUIRE(job.open(context()));
        job.take_form(DeliveryJob::Form::as_others_see_it);
        state = job.rewrite(maps, [] {}).value();
        static_cast<void>(job.rewrite(maps, [] {})); // as a server that takes another form asks again
        warnings.clear();
        for (const auto& each : job.take_warnings()) warnings += each + "\n";
        CHECK(job.take_warnings().empty());
        if (state != OutgoingAddresses::State::ready) return "";
        REQUIRE(job.prepare(Content::Server::takes_eight_bit, nullptr, common::Loop::now().wall) ==
                Content::Prepared::yes);
        const auto transaction = job.transaction(DeliveryJob::Reach::abroad);
        REQUIRE(transaction);
        auto out = transaction->reverse_path + " to";
        for (const auto& recipient : transaction->recipients) out += " " + recipient.address;
        const auto piece = job.next_piece(DeliveryJob::From::start);
        REQUIRE(piece);
        return out + ": " + std::string(piece->bytes);
    }

    TemporaryDirectory place;
    int tables = 0;
    GenericMaps::Settings settings;
    GenericMaps maps;
    OutgoingAddresses::State state = OutgoingAddresses::State::waits;
    std::string warnings;
};

} // namespace

TEST_CASE("each recipient of one transaction has the generic tables of its own domain") {
    GenericWorld world;
    const auto general = world.table("a@x ann@general\nr@one 1@general\nr@two 2@general\nr@three 3@general\n");
    world.settings.tables = {general};
    world.route("one", {world.table("a@x ann@one\nr@one 1@one\nr@two 2@one\n")});
    world.route("two", {});
    const std::string header = "From: a@x\r\nTo: r@one, r@two\r\n\r\n";
    // Alone.
    CHECK(world.leaves(header, {"r@one"}) == "ann@one to 1@one: From: ann@one\r\nTo: 1@one, 2@one\r\n\r\n");
    CHECK(world.leaves(header, {"r@two"}) == "a@x to r@two: " + header);
    CHECK(world.leaves(header, {"r@three"}) == "ann@general to 3@general: From: ann@general\r\nTo: 1@general, "
                                               "2@general\r\n\r\n");
    // The sender and the header: by the general tables if a recipient has them, …
    CHECK(world.leaves(header, {"r@two", "r@one", "r@three"}) ==
          "ann@general to r@two 1@one 3@general: From: ann@general\r\nTo: 1@general, 2@general\r\n\r\n");
    // … else by those of the first recipient that has some, whatever the order.
    const auto of_one = "From: ann@one\r\nTo: 1@one, 2@one\r\n\r\n";
    CHECK(world.leaves(header, {"r@two", "r@one"}) == std::string("ann@one to r@two 1@one: ") + of_one);
    CHECK(world.leaves(header, {"r@one", "r@two"}) == std::string("ann@one to 1@one r@two: ") + of_one);
    world.settings.tables = {};
    CHECK(world.leaves(header, {"r@three", "r@one"}) == std::string("ann@one to r@three 1@one: ") + of_one);
    CHECK(world.leaves(header, {"r@three"}) == "a@x to r@three: " + header);
}

TEST_CASE(
    "a generic address beyond ASCII: its domain as the DNS has it; else the address stays, and mail does not wait") {
    GenericWorld world;
    world.settings.tables = {world.table("a@x ann@b\xc3\xbc"
                                         "cher.example\nc@x j\xc3\xb6rg@example.com\n")};
    const auto domain = world.leaves("From: a@x\r\n\r\n");
    CHECK(world.state == OutgoingAddresses::State::ready);
    CHECK(domain == "ann@xn--bcher-kva.example to r@three: From: ann@xn--bcher-kva.example\r\n\r\n");
    CHECK(world.warnings == "");
    const auto name = world.leaves("From: a@x\r\nTo: c@x, Carol <c@x>\r\n\r\n", {"r@three", "c@x"});
    CHECK(world.state == OutgoingAddresses::State::ready);
    CHECK(name == "ann@xn--bcher-kva.example to r@three c@x: From: ann@xn--bcher-kva.example\r\nTo: c@x, Carol "
                  "<c@x>\r\n\r\n");
    CHECK(world.warnings ==
          "<c@x> is not rewritten: the other address is not ASCII, and the message does not need SMTPUTF8\n");
}

TEST_CASE("what stays as it is in the header is said once, with the field") {
    GenericWorld world;
    world.settings.tables = {world.table("a@x ann@general\n")};
    CHECK(world.leaves("From: a@x\r\nTo: a@x b@x\r\nCc: nobody at all\r\n\r\n") ==
          "ann@general to r@three: From: ann@general\r\nTo: a@x b@x\r\nCc: nobody at all\r\n\r\n");
    CHECK(world.warnings ==
          "addresses in the header are not rewritten: To is not a list of addresses: expected a comma\n");
    std::string many = "From: a@x\r\n";
    for (int n = 0; n < 10'001; ++n) many += "To: b@x\r\n";
    CHECK(world.leaves(many + "\r\n").starts_with("ann@general to r@three: From: ann@general\r\n"));
    CHECK(world.warnings == "addresses in the header are not rewritten: the header has fields that are too long, or "
                            "too many addresses\n");
}
