// Which recipients are decided about without the categorizer, and that the answer is the one it would give.
#include "daemons/queue-manager/conversion/immediate_expansion.h"
#include "tests/queue-manager/conversion/messages.h"
#include <doctest/doctest.h>

using namespace queue_manager;
using decide::AddressClass;
using decide::TableAnswer;
using List = ImmediateExpansion::SuppressionList;

namespace {

// example.org is local, relayed.example is relayed, tables decide about maybe.example; all else is remote.
decide::ExpansionSettings relay() {
    decide::ExpansionSettings out;
    out.origin = "example.org";
    out.class_of = [](std::string_view domain, decide::Lookups& lookups) -> decide::ClassAnswer {
        if (domain == "example.org") return AddressClass::local;
        if (domain == "relayed.example") return AddressClass::relay;
        if (domain == "virtual.example") return AddressClass::virtual_alias;
        if (domain != "maybe.example") return AddressClass::remote;
        auto answer = lookups.table("cdb:domains", std::string(domain));
        if (answer.status == TableAnswer::Status::not_yet) return std::unexpected(std::move(answer));
        return AddressClass::remote;
    };
    return out;
}

CategorizationInput about(std::vector<std::string> recipients) {
    return CategorizationInput::of(testing::message(std::move(recipients)), 1000);
}

// What the categorizer makes of it where no table has anything.
void check_same(const decide::ExpansionSettings& settings, const CategorizationInput& subject) {
    const auto answer = ImmediateExpansion(settings).of(subject, List::empty);
    REQUIRE(answer);
    const auto expected = decide::expand(subject.open, subject.reverse_path, settings, {});
    REQUIRE(expected.unanswered.empty());
    REQUIRE(answer->outcomes.size() == expected.recipients.size());
    for (std::size_t n = 0; n < expected.recipients.size(); ++n) {
        const auto &got = answer->outcomes[n], &wanted = expected.recipients[n];
        CHECK(got.origin == wanted.origin);
        CHECK(got.fate == wanted.fate);
        CHECK(got.changed == wanted.changed);
        CHECK(got.address == wanted.address);
        CHECK(got.reverse_path == wanted.reverse_path);
        CHECK(got.status == wanted.status);
        CHECK(got.text == wanted.text);
    }
    CHECK(judge(subject, *answer));
}

bool is_asked_about(const decide::ExpansionSettings& settings, std::vector<std::string> recipients,
                    List list = List::empty) {
    return !ImmediateExpansion(settings).of(about(std::move(recipients)), list);
}

} // namespace

TEST_CASE("remote and relayed recipients, doubles, invalid addresses: decided about at once, as by the categorizer") {
    check_same(relay(), about({"bob@example.net"}));
    check_same(relay(), about({"bob@example.net", "eve@relayed.example", "Bob@EXAMPLE.net", "bob@example.net"}));
    check_same(relay(), about({"two@at@example.net", "bob@example.net"}));
    check_same(relay(), about({"unknown@virtual.example"}));
    auto masking = relay();
    masking.masquerade = decide::MasqueradeRules{{"example.net"}, {}};
    masking.masquerade_classes.envelope_recipient = true;
    check_same(masking, about({"bob@deep.example.net"}));
    const auto one = ImmediateExpansion(relay()).of(about({"bob@example.net"}), List::empty);
    REQUIRE(one);
    CHECK(one->outcomes.front().fate == spool::Fate::remote);
    CHECK_FALSE(one->outcomes.front().changed);
}

TEST_CASE("whatever a table, a file, a user or the suppression list may decide is for the categorizer") {
    CHECK(is_asked_about(relay(), {"ann@example.org"}));
    CHECK(is_asked_about(relay(), {"postmaster"}));
    CHECK(is_asked_about(relay(), {"bob@example.net", "ann@example.org"}));
    CHECK(is_asked_about(relay(), {"bob@maybe.example"}));
    CHECK(is_asked_about(relay(), {"bob@example.net"}, List::has_entries));
    const std::vector<std::string> table{"text:some"};
    using Tables = decide::AddressTables;
    for (const auto which : {&Tables::sender_canonical, &Tables::common_sender_canonical, &Tables::recipient_canonical,
                             &Tables::common_recipient_canonical, &Tables::virtual_alias, &Tables::relocated,
                             &Tables::transport, &Tables::sender_relay}) {
        auto settings = relay();
        settings.tables.*which = table;
        CHECK(is_asked_about(settings, {"bob@example.net"}));
    }
    auto settings = relay();
    settings.tables.relay_recipients = table;
    CHECK(is_asked_about(settings, {"bob@relayed.example"}));
    CHECK_FALSE(is_asked_about(settings, {"bob@example.net"}));
    CHECK_FALSE(
        is_asked_about(relay(), std::vector<std::string>(ImmediateExpansion::most_recipients, "b@example.net")));
    CHECK(is_asked_about(relay(), std::vector<std::string>(ImmediateExpansion::most_recipients + 1, "b@example.net")));
}
