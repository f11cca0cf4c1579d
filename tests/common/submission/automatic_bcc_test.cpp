#include "daemons/common/submission/automatic_bcc.h"
#include <doctest/doctest.h>

namespace {

// What a message is addressed to in the end, those added in brackets.
std::string addressed(const config::AutomaticBcc& copies, const std::string& sender,
                      std::vector<std::string> recipients) {
    spool::Envelope envelope;
    envelope.reverse_path = sender;
    for (auto& each : recipients) envelope.recipients.emplace_back().address = each;
    const bool added = common::add_automatic_bcc({copies, "+"}, envelope);
    CHECK(added == (envelope.recipients.size() > recipients.size()));
    std::string out;
    for (const auto& each : envelope.recipients) {
        const bool copy = each.notify == spool::Notify::never;
        out += (out.empty() ? "" : " ") + (copy ? "[" + each.address + "]" : each.address);
    }
    return out;
}

} // namespace

TEST_CASE("copies: always, by sender, by recipient; to nobody twice, and none of a copy") {
    const config::AutomaticBcc always{.always = {"archive@x.example", "Bob@Example.net"}};
    CHECK(addressed(always, "ann@example.org", {"carol@example.net"}) ==
          "carol@example.net [archive@x.example] [Bob@Example.net]");
    CHECK(addressed(always, "", {"bob@example.net"}) == "bob@example.net [archive@x.example]");
    const config::AutomaticBcc by_sender{
        .by_sender = {{"ann@example.org", "boss@x.example"}, {"@example.org", "all@x.example"}}};
    CHECK(addressed(by_sender, "ANN@example.org", {"b@y"}) == "b@y [boss@x.example]");
    CHECK(addressed(by_sender, "ann+lists@example.org", {"b@y"}) == "b@y [boss@x.example]");
    CHECK(addressed(by_sender, "eve@Example.ORG", {"b@y"}) == "b@y [all@x.example]");
    CHECK(addressed(by_sender, "eve@sub.example.org", {"b@y"}) == "b@y");
    CHECK(addressed(by_sender, "", {"b@y"}) == "b@y");
    const config::AutomaticBcc by_recipient{
        .by_recipient = {{"@y.example", "copies@z.example"}, {"copies@z.example", "more@z.example"}}};
    CHECK(addressed(by_recipient, "a@b", {"b@y.example", "c@y.example", "d@w.example"}) ==
          "b@y.example c@y.example d@w.example [copies@z.example]");
    CHECK(addressed(by_recipient, "a@b", {"copies@z.example"}) == "copies@z.example [more@z.example]");
    CHECK(addressed({}, "a@b", {"b@y.example"}) == "b@y.example");
}
