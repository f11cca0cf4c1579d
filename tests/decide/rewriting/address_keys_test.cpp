#include "daemons/decide/addressing/mailbox_path.h"
#include "daemons/decide/rewriting/address_keys.h"
#include "daemons/decide/rewriting/answer_memo.h"
#include "daemons/decide/routing/route_name.h"
#include "daemons/decide/routing/transport_entry.h"
#include <doctest/doctest.h>
#include <string>
#include <vector>

using decide::AddressKey;
using decide::BareNames;
using decide::TransportEntry;
using Match = AddressKey::Match;
using Texts = std::vector<std::string>;

namespace {

Texts texts(const std::vector<AddressKey>& keys) {
    Texts out;
    for (const auto& key : keys) out.push_back(key.text);
    return out;
}

} // namespace

TEST_CASE("the forms an address is looked for in") {
    CHECK(texts(decide::address_keys("Ann+Lists@Example.ORG", '+', BareNames::no)) ==
          Texts{"Ann+Lists@Example.ORG", "ann@example.org", "@example.org"});
    CHECK(texts(decide::address_keys("ann+x@here.example", '+', BareNames::yes)) ==
          Texts{"ann+x@here.example", "ann@here.example", "ann+x", "ann", "@here.example"});
    CHECK(texts(decide::address_keys("ann@here.example", '+', BareNames::yes)) ==
          Texts{"ann@here.example", "ann", "@here.example"});
    CHECK(texts(decide::address_keys("ann+x@here.example", '\0', BareNames::no)) ==
          Texts{"ann+x@here.example", "@here.example"});
    CHECK(texts(decide::address_keys("+x@here.example", '+', BareNames::no)) ==
          Texts{"+x@here.example", "@here.example"}); // no name before it
    CHECK(texts(decide::transport_keys("ann+x@a.b.example", '+')) ==
          Texts{"ann+x@a.b.example", "ann@a.b.example", "a.b.example", ".b.example", ".example", "*"});
    CHECK(texts(decide::transport_keys("ann@[192.0.2.1]", '+')) == Texts{"ann@[192.0.2.1]", "[192.0.2.1]", "*"});
    CHECK(decide::has_patterns("regexp:/x"));
    CHECK(!decide::has_patterns("text:/regexp:"));
}

TEST_CASE("the addresses a table answers with") {
    const auto of = [](std::string_view value, std::string_view key = "ann+x@a.example", Match match = Match::whole) {
        auto found = decide::addresses_of(value, key, match, '+', "here.example", 3);
        if (!found.error.empty()) found.addresses.push_back("!" + found.error);
        return found.addresses;
    };
    CHECK(of("b@x, c@y  d") == Texts{"b@x", "c@y", "d@here.example"});
    CHECK(of("@b.example") == Texts{"ann+x@b.example"});
    CHECK(of("b@x", "ann+x@a.example", Match::without_extension) == Texts{"b+x@x"});
    CHECK(of("b", "ann+x@a.example", Match::name) == Texts{"b+x@here.example"});
    CHECK(of("b@x", "ann+x@a.example", Match::domain) == Texts{"b@x"});
    CHECK(of("\"a, b\"@x,c@y") == Texts{"\"a, b\"@x", "c@y"});
    CHECK(of("Bob <b@x.>, (c) c") == Texts{"b@x", "c@here.example"});
    CHECK(of("<b@x>", "ann+x@a.example", Match::without_extension) == Texts{"b+x@x"});
    CHECK(of("\"b c\"@x", "ann+x@a.example", Match::without_extension) == Texts{"\"b c+x\"@x"});
    CHECK(of("b@x", "\"ann+x y\"@a.example", Match::without_extension) == Texts{"\"b+x y\"@x"});
    CHECK(of("@b.example", "\"a b\"@a.example") == Texts{"\"a b\"@b.example"});
    CHECK(of("b@x, c@@y") == Texts{"b@x", "!\"c@@y\" is not a valid address: domain expected after @"});
    CHECK(of("b@x> NOTIFY=NEVER") == Texts{"!\"b@x> NOTIFY=NEVER\" is not a valid address: expected a comma"});
    CHECK(of("@") == Texts{"!\"@\" is not a valid address: the domain is missing"});
    CHECK(of("@x y") == Texts{"!\"ann+x@x y\" is not a valid address: bad domain"});
    CHECK(of(" ,, ") == Texts{"!it contains no address"});
    CHECK(of("a b c d e f").size() == 4); // one more than allowed tells that there are more
    CHECK(of("\"never closed, a@b") ==
          Texts{"!\"\"never closed, a@b\" is not a valid address: quoted string is not closed"});
}

TEST_CASE("what a transport table may say") {
    using Kind = TransportEntry::Kind;
    const auto is = [](std::string_view text, Kind kind, std::string_view value = "", std::string_view status = "") {
        const auto word = TransportEntry::parse(text);
        REQUIRE_MESSAGE(word.has_value(), text);
        CHECK_MESSAGE(word->kind == kind, text);
        CHECK(word->value == value);
        CHECK(word->status == status);
    };
    for (const auto* usual : {"", ":"}) is(usual, Kind::as_usual);
    for (const auto* here : {"local:", "Local:", "local:here.example"}) is(here, Kind::local);
    is("virtual:", Kind::mailbox);
    is("[relay.example]:25", Kind::next_hop, "[relay.example]");
    is("relay.example.net:2525", Kind::next_hop, "relay.example.net:2525");
    is("mx", Kind::next_hop, "mx");
    is("smtp:", Kind::next_hop, "mx");
    is("relay:[Relay.Example]:2525", Kind::next_hop, "[relay.example]:2525");
    is(":[192.0.2.1]", Kind::next_hop, "[192.0.2.1]");
    is("lmtp:/run/lmtp", Kind::next_hop, "lmtp:/run/lmtp");
    is("lmtp:unix:/run/lmtp", Kind::next_hop, "lmtp:/run/lmtp");
    is("lmtp:inet:store.example:24", Kind::next_hop, "lmtp:[store.example]");
    is("discard:", Kind::discard, "as configured in a transport table", "2.0.0");
    is("error: 5.1.2 no such place", Kind::fail, "no such place", "5.1.2");
    is("error:closed", Kind::fail, "closed", "5.0.0");
    is("error:\t5.1.2\tgone", Kind::fail, "gone", "5.1.2");
    is("error:5.1.2", Kind::fail, "mail for this address is not accepted", "5.1.2");
    is("error:4.5.0 text", Kind::fail, "text", "5.0.0"); // as bounce_append(3) of Postfix has it
    is("retry:5.1.1 later", Kind::defer, "later", "4.0.0");
    is("discard:2.1.5 seen", Kind::discard, "seen", "2.1.5");
    is("discard:5.1.1 seen", Kind::discard, "seen", "2.0.0");
    is("error:5.1.2.3 gone", Kind::fail, "5.1.2.3 gone", "5.0.0"); // no status
    is("error:550 gone", Kind::fail, "550 gone", "5.0.0");
    CHECK(TransportEntry::parse("error:4.5.0 text")->warning ==
          "4.5.0 has the wrong class for this entry: 5.0.0 is used instead (\"retry:\" defers mail)");
    CHECK(TransportEntry::parse("retry:5.1.1 x")->warning ==
          "5.1.1 has the wrong class for this entry: 4.0.0 is used instead");
    CHECK(TransportEntry::parse("error:5.5.0 text")->warning.empty());
    is("retry:4.3.2 later", Kind::defer, "later", "4.3.2");
    is("Defer:", Kind::defer, "mail for this address is deferred", "4.0.0");
    is("smtp:[a.example], [B.example]:26", Kind::next_hop, "[a.example],[b.example]:26");
    is("relay:[a.example] [192.0.2.1]", Kind::next_hop, "[a.example],[192.0.2.1]");
    is(":[a.example],[b.example]", Kind::next_hop, "[a.example],[b.example]");
    is("[a.example],[b.example]", Kind::next_hop, "[a.example],[b.example]");
    is("lmtp:inet:a.example, [b.example]:26", Kind::next_hop, "lmtp:[a.example],lmtp:[b.example]:26");
    is("lmtp:[a.example],lmtp:[b.example]:26", Kind::next_hop, "lmtp:[a.example],lmtp:[b.example]:26"); // the same
    for (const auto* path : {"lmtp:unix:/run/a,b", "lmtp:/run/a,b", "lmtp:/run/a,[b]"})
        is(path, Kind::next_hop, path == std::string("lmtp:/run/a,[b]") ? "lmtp:/run/a,[b]" : "lmtp:/run/a,b");
    for (const auto* bad : {"smtp:a.example, b.example", "smtp:[a.example], b.example", "smtp:[a.example],[b",
                            "[a.example], mx"}) // names whose MX hosts are meant
        CHECK_MESSAGE(!TransportEntry::parse(bad), bad);
    for (const auto* bad : {"[", "ftp:[x]", "smtp:[x", "a b", "[x]:99999", "lmtp:", "unix:/run/x", "../etc"})
        CHECK_MESSAGE(!TransportEntry::parse(bad), bad);
    const decide::TransportNames programs{{"sympa", "mailman"}, {}};
    for (const auto* text : {"command:sympa", "Command: sympa ", "sympa:", "sympa:lists.example"}) {
        const auto entry = TransportEntry::parse(text, programs);
        REQUIRE_MESSAGE(entry.has_value(), text);
        CHECK_MESSAGE((entry->kind == Kind::command && entry->value == "sympa"), text);
        CHECK_MESSAGE(!TransportEntry::parse(text), text); // there is no such program
    }
    CHECK(!TransportEntry::parse("command:other", programs));
    CHECK(!TransportEntry::parse("command:", programs));
    CHECK(TransportEntry::parse("sympa", programs)->kind == Kind::next_hop); // a host of that name
    const decide::TransportNames routes{{"sympa"}, {"slow", "sympa"}};
    const auto by = [&](std::string_view text) { return TransportEntry::parse(text, routes); };
    for (const auto* text : {"slow:", " Slow: "}) CHECK(by(text) == TransportEntry{Kind::next_hop, "slow:", "", ""});
    CHECK(by("slow:[Relay.Example]:26")->value == "slow:[relay.example]:26");
    CHECK(by("slow:relay.example")->value == "slow:relay.example:25"); // its MX hosts, whatever the recipient's domain
    CHECK(by("slow:relay.example:587")->value == "slow:relay.example:587");
    CHECK(by("slow:[a.example], [b.example]:26")->value == "slow:[a.example],[b.example]:26");
    CHECK(decide::RouteName::parse("slow:[a.example],[b.example]:26")->to_string() ==
          "slow:[a.example],[b.example]:26");
    CHECK(!decide::RouteName::parse("slow:a.example,b.example"));
    CHECK(by("sympa:")->kind == Kind::command);
    for (const auto* bad : {"other:", "slow:lmtp:/run/x", "slow:mx", "slow:srv:relay.example", "slow:[x"})
        CHECK_MESSAGE(!by(bad), bad);
}

TEST_CASE("the place of a mailbox never leaves its directories") {
    const auto at = [](std::string_view pattern, std::string_view user, std::string_view value = "v") {
        return decide::mailbox_path(pattern, user, "a.example", value);
    };
    CHECK(at("maildir:/m/{domain}/{user}/", "ann") == "maildir:/m/a.example/ann/");
    CHECK(at("mbox:/m/{value}", "ann", "a/b") == "mbox:/m/a/b");
    CHECK(at("mbox:/m/{user}{user}", "{domain}") == "mbox:/m/{domain}{domain}"); // put in once, literally
    for (const auto* bad : {"", "..", ".hidden", "a/b", "/etc", "a\nb"})
        CHECK_MESSAGE(at("mbox:/m/{user}", bad).empty(), bad);
    for (const auto* bad : {"", "..", "a/../b", "../x", "x/..", "a\nb"})
        CHECK_MESSAGE(at("mbox:/m/{value}", "u", bad).empty(), bad);
    CHECK(at("mbox:/m/{user}", std::string(256, 'a')).empty());
}

TEST_CASE("a notebook keeps what it was told, whatever the tables forget") {
    using decide::AliasAnswer;
    using decide::LookupRequest;
    using decide::TableAnswer;
    using decide::UserAnswer;
    bool known = false;
    decide::ExpansionTables tables;
    tables.alias = [](const std::string&) { return AliasAnswer{}; };
    tables.user = [&](const std::string&) { return known ? UserAnswer::known : UserAnswer::not_yet; };
    tables.table = [&](const std::string&, const std::string& key) {
        return known ? TableAnswer{TableAnswer::Status::found, key + "!", ""}
                     : TableAnswer{TableAnswer::Status::not_yet, "", ""};
    };
    decide::AnswerMemo memo;
    const LookupRequest user{LookupRequest::Kind::user, "ann", ""}, table{LookupRequest::Kind::table, "t", "k"};
    CHECK(!memo.look_up(user, tables));
    known = true;
    CHECK(memo.look_up(user, tables));
    CHECK(memo.look_up(table, tables));
    known = false;
    const auto now = memo.layered_over(tables);
    CHECK(now.user("ann") == UserAnswer::known);
    CHECK(now.user("bob") == UserAnswer::not_yet);
    CHECK(now.table("t", "k").value == "k!");
    CHECK(now.table("t", "other").status == TableAnswer::Status::not_yet);
    CHECK(!now.forward);
}
