// Several lists, one after the other, and the work that they cost.
#include "tests/decide/access/world.h"
#include <fmt/format.h>

using namespace decide::access;

namespace {

RuleSet lists(std::map<List, std::vector<std::string>> texts) {
    RuleSet rules;
    for (const auto& [list, each] : texts) rules.lists[list] = rules_of(each);
    return rules;
}

} // namespace

TEST_CASE("permission ends a list, rejection ends all") {
    World world;
    const auto facts = stranger();
    const auto decided = [&](const RuleSet& rules) { return shown(decide_by(rules, facts, world)); };
    CHECK(decided(lists({{List::client, {"permit", "reject"}}, {List::sender, {"reject"}}})) ==
          "554 5.7.1 <bob@far.example>: Sender address rejected: Access denied");
    CHECK(decided(lists({{List::client, {"reject"}}, {List::sender, {"permit"}}})) ==
          "554 5.7.1 <mail.far.example[192.0.2.25]>: Client host rejected: Access denied");
    CHECK(decided(lists({{List::recipient, {"permit"}}})) == "ok");
    CHECK(decided(lists({})) == "ok");
}

TEST_CASE("relay control comes after the lists about client, greeting and sender, and cannot be overruled") {
    World world;
    auto facts = stranger();
    facts.recipient = "x@else.example", facts.recipient_ours = Facts::Ours::no;
    facts.relaying = smtp::Reply{554, {5, 7, 1}, "<x@else.example>: Relay access denied"};
    const auto decided = [&](const RuleSet& rules) { return shown(decide_by(rules, facts, world)); };
    CHECK(decided(lists({})) == "554 5.7.1 <x@else.example>: Relay access denied");
    CHECK(decided(lists({{List::sender, {"reject"}}})) ==
          "554 5.7.1 <bob@far.example>: Sender address rejected: Access denied");
    CHECK(decided(lists({{List::relay, {"permit"}}, {List::recipient, {"permit"}}})) ==
          "554 5.7.1 <x@else.example>: Relay access denied");
    // Mail that is discarded goes nowhere.
    world.tables["text:/t"]["192"] = "DISCARD";
    CHECK(decided(lists({{List::client, {"check_client_access text:/t"}}, {List::recipient, {"reject"}}})) ==
          "ok; discard: <mail.far.example[192.0.2.25]>: Client host triggers DISCARD action; discarded");
}

TEST_CASE("a deferral in case of permission lasts over all lists, one in case of rejection for its own") {
    World world;
    const auto facts = stranger();
    const auto decided = [&](const RuleSet& rules) { return shown(decide_by(rules, facts, world)); };
    const std::string requested = "rejected: defer_if_permit requested";
    CHECK(decided(lists({{List::client, {"defer_if_permit"}}, {List::recipient, {"permit"}}})) ==
          "450 4.7.0 <mail.far.example[192.0.2.25]>: Client host " + requested);
    CHECK(decided(lists({{List::client, {"defer_if_permit"}}, {List::sender, {"defer_if_permit"}}})) ==
          "450 4.7.0 <mail.far.example[192.0.2.25]>: Client host " + requested); // the first one
    CHECK(decided(lists({{List::client, {"defer_if_permit"}}, {List::recipient, {"reject"}}})) ==
          "554 5.7.1 <ann@here.example>: Recipient address rejected: Access denied");
    CHECK(decided(lists({{List::client, {"defer_if_reject"}}, {List::recipient, {"reject"}}})) ==
          "554 5.7.1 <ann@here.example>: Recipient address rejected: Access denied");
    CHECK(decided(lists({{List::relay, {"defer_if_reject"}}, {List::recipient, {"reject"}}})) ==
          "450 4.7.0 <ann@here.example>: Recipient address rejected: defer_if_reject requested");
    // With both, the rest of the list cannot change the result.
    CHECK(decided(lists({{List::recipient, {"defer_if_reject", "defer_if_permit", "reject_rbl_client bl.example"}}})) ==
          "450 4.7.0 <ann@here.example>: Recipient address " + requested);
    CHECK(!world.asked.contains({Lookup::Kind::addresses, "", "25.2.0.192.bl.example"}));
}

TEST_CASE("lists evaluated at their own stage hand a deferral over") {
    World world;
    auto facts = stranger();
    const auto rules = lists({{List::client, {"defer_if_permit"}}, {List::recipient, {"permit"}}});
    auto connected = facts;
    connected.sender.reset(), connected.recipient.reset();
    auto first = decide_by(rules, connected, world, {List::client});
    CHECK(!first.rejection);
    REQUIRE(first.defer_if_permit);
    facts.defer_if_permit = first.defer_if_permit;
    CHECK(shown(decide_by(rules, facts, world, {List::relay, List::recipient})) ==
          "450 4.7.0 <mail.far.example[192.0.2.25]>: Client host rejected: defer_if_permit requested");
}

TEST_CASE("nothing is asked that cannot change the result") {
    World world;
    const auto rules = lists({{List::recipient,
                               {"permit_mynetworks", "check_client_access text:/t", "reject_rbl_client bl.example",
                                "check_policy_service grey"}}});
    auto facts = stranger();
    facts.trusted = true;
    CHECK(shown(decide_by(rules, facts, world)) == "ok");
    CHECK(world.asked.empty());
    facts.trusted = false;
    world.tables["text:/t"]["192.0.2.25"] = "OK";
    CHECK(shown(decide_by(rules, facts, world)) == "ok");
    CHECK(world.fetched.empty());
}

TEST_CASE("each rule is asked for once, however often the evaluation waits") {
    World world;
    world.slow_tables = true;
    world.tables["text:/t"]["bob@far.example"] = "HOLD";
    world.tables["text:/u"]["ann@here.example"] = "WARN seen";
    const auto rules = lists({{List::sender, {"check_sender_access text:/t"}},
                              {List::recipient,
                               {"check_recipient_access text:/u", "reject_rbl_client a.example",
                                "reject_rbl_client b.example", "check_policy_service grey"}}});
    CHECK(shown(decide_by(rules, stranger(), world)) ==
          "ok; hold: <bob@far.example>: Sender address triggers HOLD action; warn: seen; held");
}

TEST_CASE("the work is bounded, whatever the rules are") {
    World world;
    RuleSet rules;
    rules.classes["wide"] = {};
    for (int i = 0; i < 100; ++i) rules.classes["wide"].push_back(*Rule::parse("inner"));
    rules.classes["inner"] = std::vector<Rule>(100, *Rule::parse("permit_mynetworks"));
    rules.lists[List::recipient] = rules_of({"wide"});
    CHECK(shown(decide_by(rules, stranger(), world)) ==
          "451 4.3.5 Server configuration error; warning: the rules take too many steps");
    // A table's value that is a class with the same table.
    rules.classes["again"] = rules_of({"check_sender_access text:/t"});
    rules.lists[List::recipient] = rules_of({"again"});
    world.tables["text:/t"]["bob@far.example"] = "again";
    CHECK(shown(decide_by(rules, stranger(), world)) ==
          "451 4.3.5 Server configuration error; warning: classes are nested too deeply");
}

TEST_CASE("a trace shows each rule, what it found, and the end") {
    World world;
    world.tables["cidr:/c"]["192.0.2.25"] = "strict";
    auto rules =
        lists({{List::client, {"permit_mynetworks", "check_client_access cidr:/c"}}, {List::recipient, {"permit"}}});
    rules.classes["strict"] = rules_of({"permit_sasl_authenticated", "reject"});
    const auto decision = decide_by(rules, stranger(), world, for_a_recipient, Evaluation::Tracing::on);
    std::string text;
    for (const auto& each : decision.trace)
        text += fmt::format("{}/{} {} [{}] {}\n", name_of(each.list), each.depth, each.rule, each.found, each.result);
    CHECK(text == "client/0 permit_mynetworks [] \n"
                  "client/0 check_client_access cidr:/c [192.0.2.25: strict] \n"
                  "client/1 strict [] \n"
                  "client/2 permit_sasl_authenticated [] \n"
                  "client/2 reject [] 554 5.7.1 <mail.far.example[192.0.2.25]>: Client host rejected: Access denied\n");
}
