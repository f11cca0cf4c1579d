// What one rule decides, in Postfix's words.
#include "tests/decide/access/world.h"
#include <fmt/format.h>
#include <functional>

using namespace decide::access;

namespace {

struct Row {
    std::vector<std::string> rules; // of `recipient`
    std::string decided;
    std::function<void(Facts&, World&)> given = {};
    List list = List::recipient;
};

void check_rows(const std::vector<Row>& rows) {
    for (const auto& row : rows) {
        CAPTURE(row.rules);
        auto facts = stranger();
        World world;
        if (row.given) row.given(facts, world);
        RuleSet rules;
        rules.recipient_delimiter = '+';
        rules.lists[row.list] = rules_of(row.rules);
        rules.classes["strict"] = rules_of({"check_sender_access text:/good", "reject"});
        rules.classes["outer"] = rules_of({"strict"});
        rules.classes["loop"] = rules_of({"loop"});
        CHECK(shown(decide_by(rules, facts, world, {row.list})) == row.decided);
        world.slow_tables = true;
        world.fetched.clear();
        CHECK_MESSAGE(shown(decide_by(rules, facts, world, {row.list})) == row.decided, "with slow tables");
    }
}

// An access table with one entry.
std::function<void(Facts&, World&)> entry(std::string table, std::string key, std::string value) {
    return [=](Facts&, World& world) { world.tables[table][key] = value; };
}

} // namespace

TEST_CASE("rules without a subject of their own are about that of their list") {
    check_rows({
        {{}, "ok"},
        {{"permit", "reject"}, "ok"},
        {{"reject"}, "554 5.7.1 <ann@here.example>: Recipient address rejected: Access denied"},
        {{"defer"}, "450 4.3.2 <ann@here.example>: Recipient address rejected: Try again later"},
        {{"reject"}, "554 5.7.1 <mail.far.example[192.0.2.25]>: Client host rejected: Access denied", {}, List::client},
        {{"reject"}, "554 5.7.1 <mail.far.example>: Helo command rejected: Access denied", {}, List::helo},
        {{"reject"}, "554 5.7.1 <bob@far.example>: Sender address rejected: Access denied", {}, List::sender},
        {{"reject"}, "554 5.7.1 <ann@here.example>: Recipient address rejected: Access denied", {}, List::relay},
        {{"reject"}, "554 5.7.1 <DATA>: Data command rejected: Access denied", {}, List::data},
        {{"reject"}, "554 5.7.1 <END-OF-MESSAGE>: End-of-data rejected: Access denied", {}, List::end_of_data},
        {{"defer_if_permit"}, "450 4.7.0 <ann@here.example>: Recipient address rejected: defer_if_permit requested"},
        {{"defer_if_reject"}, "ok"},
        {{"defer_if_reject", "reject"},
         "450 4.7.0 <ann@here.example>: Recipient address rejected: defer_if_reject requested"},
        {{"defer_if_reject", "defer"}, "450 4.3.2 <ann@here.example>: Recipient address rejected: Try again later"},
        {{"reject_unauth_pipelining", "reject_unlisted_recipient"}, "ok"},
    });
}

TEST_CASE("permissions of the client and of its recipient") {
    const auto trusted = [](Facts& facts, World&) { facts.trusted = true; };
    const auto user = [](Facts& facts, World&) { facts.login = "ann"; };
    const auto elsewhere = [](Facts& facts, World&) {
        facts.recipient = "x@else.example", facts.recipient_ours = false;
    };
    const auto encrypted = [](Facts& facts, World&) { facts.encrypted = true; };
    const auto bounce = [](Facts& facts, World&) { facts.sender = "", facts.recipients = 1; };
    const auto many = [](Facts& facts, World&) { facts.sender = "", facts.recipients = 2, facts.recipient.reset(); };
    const std::string rejected = "554 5.7.1 <ann@here.example>: Recipient address rejected: Access denied";
    check_rows({
        {{"permit_mynetworks", "reject"}, rejected},
        {{"permit_mynetworks", "reject"}, "ok", trusted},
        {{"permit_sasl_authenticated", "reject"}, rejected},
        {{"permit_sasl_authenticated", "reject"}, "ok", user},
        {{"permit_auth_destination", "reject"}, "ok"},
        {{"permit_auth_destination", "reject"},
         "554 5.7.1 <x@else.example>: Recipient address rejected: Access denied",
         elsewhere},
        {{"reject_unauth_destination"}, "ok"},
        {{"reject_unauth_destination"}, "554 5.7.1 <x@else.example>: Relay access denied", elsewhere},
        {{"defer_unauth_destination"}, "454 4.7.1 <x@else.example>: Relay access denied", elsewhere},
        {{"reject_plaintext_session"}, "450 4.7.1 Session encryption is required"},
        {{"reject_plaintext_session"}, "ok", encrypted},
        {{"reject_multi_recipient_bounce"}, "ok"},
        {{"reject_multi_recipient_bounce"},
         "550 5.5.3 <ann@here.example>: Recipient address rejected: Multi-recipient bounce",
         bounce},
        {{"reject_multi_recipient_bounce"}, "ok", bounce, List::data},
        {{"reject_multi_recipient_bounce"},
         "550 5.5.3 <DATA>: Data command rejected: Multi-recipient bounce",
         many,
         List::data},
    });
}

TEST_CASE("names that are invalid or not complete") {
    const auto helo = [](std::string name) { return [=](Facts& facts, World&) { facts.helo = name; }; };
    const auto sender = [](std::string name) { return [=](Facts& facts, World&) { facts.sender = name; }; };
    const auto invalid = [](std::string name) {
        return fmt::format("501 5.5.2 <{}>: Helo command rejected: Invalid name", name);
    };
    const auto literal = [](std::string name) {
        return fmt::format("501 5.5.2 <{}>: Helo command rejected: invalid ip address", name);
    };
    const auto incomplete = [](std::string name) {
        return fmt::format("504 5.5.2 <{}>: Helo command rejected: need fully-qualified hostname", name);
    };
    const auto partial = [](std::string name) {
        return fmt::format("504 5.5.2 <{}>: Sender address rejected: need fully-qualified address", name);
    };
    const std::vector<std::string> names = {"reject_invalid_helo_hostname"}, whole = {"reject_non_fqdn_helo_hostname"};
    check_rows({
        {names, "ok"},
        {names, "ok", helo("localhost")},
        {names, "ok", helo("192.0.2.1")},
        {names, "ok", helo("[192.0.2.1]")},
        {names, "ok", helo("[IPv6:2001:db8::1]")},
        {names, invalid("a..b"), helo("a..b")},
        {names, invalid("-x"), helo("-x")},
        {names, literal("[192.0.2]"), helo("[192.0.2]")},
        {names, literal("[x"), helo("[x")},
        {whole, "ok"},
        {whole, "ok", helo("a.example.")},
        {whole, "ok", helo("[192.0.2.1]")},
        {whole, incomplete("localhost"), helo("localhost")},
        {whole, incomplete("localhost."), helo("localhost.")},
        {whole, incomplete("192.0.2.1"), helo("192.0.2.1")},
        {whole, literal("[x]"), helo("[x]")},
        {{"reject_non_fqdn_sender"}, "ok"},
        {{"reject_non_fqdn_sender"}, "ok", sender("")},
        {{"reject_non_fqdn_sender"}, "ok", sender("a@[192.0.2.1]")},
        {{"reject_non_fqdn_sender"}, "ok", sender("a@bücher.example")},
        {{"reject_non_fqdn_sender"}, partial("bob"), sender("bob")},
        {{"reject_non_fqdn_sender"}, partial("bob@far"), sender("bob@far")},
        {{"reject_non_fqdn_sender"}, partial("bob@far."), sender("bob@far.")},
        {{"reject_non_fqdn_recipient"}, "ok"},
        {{"reject_non_fqdn_recipient"},
         "504 5.5.2 <ann@here>: Recipient address rejected: need fully-qualified address",
         [](Facts& facts, World&) { facts.recipient = "ann@here"; }},
    });
}

TEST_CASE("names that the DNS does not have") {
    const auto dns = [](std::string query, std::vector<std::string> values) {
        return [=](Facts&, World& world) { world.dns[query] = values; };
    };
    const auto failing = [](std::vector<std::string> queries) {
        return [=](Facts&, World& world) { world.dns_failures.insert(queries.begin(), queries.end()); };
    };
    const std::string no_host = "450 4.7.1 <mail.far.example>: Helo command rejected: Host not found";
    const std::string no_sender = "450 4.1.8 <bob@far.example>: Sender address rejected: Domain not found";
    const std::vector<std::string> helo = {"reject_unknown_helo_hostname"}, sender = {"reject_unknown_sender_domain"},
                                   recipient = {"reject_unknown_recipient_domain"};
    check_rows({
        {{"reject_unknown_client_hostname"}, "ok"},
        {{"reject_unknown_client_hostname"},
         "450 4.7.25 Client host rejected: cannot find your hostname, [192.0.2.25]",
         [](Facts& facts, World&) { facts.client_name = "unknown"; }},
        {{"reject_unknown_reverse_client_hostname"}, "ok", [](Facts& facts, World&) { facts.client_name = "unknown"; }},
        {{"reject_unknown_reverse_client_hostname"},
         "450 4.7.1 Client host rejected: cannot find your reverse hostname, [192.0.2.25]",
         [](Facts& facts, World&) { facts.client_name = facts.reverse_name = "unknown"; }},
        {helo, no_host},
        {helo, "ok", dns("a mail.far.example", {"192.0.2.25"})},
        {helo, "ok", dns("mx mail.far.example", {""})},
        {helo, no_host, failing({"a mail.far.example"})}, // nothing else rejects: deferred
        {{"reject_unknown_helo_hostname", "reject"},      // a rejection is stronger than a doubt
         "554 5.7.1 <ann@here.example>: Recipient address rejected: Access denied",
         failing({"a mail.far.example"})},
        {sender, no_sender},
        {sender, "ok", dns("mx far.example", {"mx.far.example"})},
        {sender, "ok", dns("a far.example", {"192.0.2.1"})},
        {sender,
         "550 5.7.27 <bob@far.example>: Sender address rejected: Domain far.example does not accept mail (nullMX)",
         dns("mx far.example", {""})},
        {sender, no_sender, failing({"mx far.example", "a far.example"})},
        {sender, "ok", [&](Facts& facts, World&) { facts.sender_ours = true; }},
        {sender, "ok", [&](Facts& facts, World&) { facts.sender = ""; }},
        {sender, "ok", [&](Facts& facts, World&) { facts.sender = "x@[192.0.2.1]"; }},
        {recipient, "ok"}, // ours
        {recipient, "450 4.1.2 <x@else.example>: Recipient address rejected: Domain not found",
         [](Facts& facts, World&) { facts.recipient = "x@else.example", facts.recipient_ours = false; }},
        {recipient,
         "556 5.1.10 <x@else.example>: Recipient address rejected: Domain else.example does not accept mail (nullMX)",
         [](Facts& facts, World& world) {
             facts.recipient = "x@else.example", facts.recipient_ours = false, world.dns["mx else.example"] = {""};
         }},
    });
}

TEST_CASE("lists in the DNS") {
    const auto dns = [](std::map<std::string, std::vector<std::string>> records) {
        return [=](Facts&, World& world) { world.dns = records; };
    };
    const std::string blocked = "554 5.7.1 Service unavailable; Client host [192.0.2.25] blocked using bl.example";
    const std::string address = "a 25.2.0.192.bl.example";
    const std::vector<std::string> client = {"reject_rbl_client bl.example"};
    check_rows({
        {client, "ok"},
        {client, blocked, dns({{address, {"127.0.0.2"}}})},
        {client, blocked + "; see the web / twice",
         dns({{address, {"127.0.0.2"}}, {"txt 25.2.0.192.bl.example", {"see the web", "twice"}}})},
        {client, "ok", dns({{address, {"127.255.255.254"}}})}, // the list refuses to answer
        {client, "ok", [&](Facts&, World& world) { world.dns_failures = {address}; }},
        {{"reject_rbl_client bl.example=127.0.0.[3..5]"}, "ok", dns({{address, {"127.0.0.2"}}})},
        {{"reject_rbl_client bl.example=127.0.0.[3..5]"}, blocked, dns({{address, {"127.0.0.2", "127.0.0.4"}}})},
        {client, "ok", [](Facts& facts, World&) { facts.client_address = "unknown"; }},
        {{"reject_rhsbl_sender bl.example"},
         "554 5.7.1 Service unavailable; Sender address [bob@far.example] blocked using bl.example",
         dns({{"a far.example.bl.example", {"127.0.0.2"}}})},
        {{"reject_rhsbl_sender bl.example"}, "ok", [](Facts& facts, World&) { facts.sender = ""; }},
        {{"reject_rhsbl_sender bl.example"},
         "ok",
         [](Facts& facts, World& world) {
             facts.sender = "a@[192.0.2.1]", world.dns["a [192.0.2.1].bl.example"] = {"127.0.0.2"};
         }},
        {{"reject_rhsbl_helo bl.example"},
         "554 5.7.1 Service unavailable; Helo command [mail.far.example] blocked using bl.example",
         dns({{"a mail.far.example.bl.example", {"127.0.0.2"}}})},
        {{"reject_rhsbl_helo bl.example"},
         "ok",
         [](Facts& facts, World& world) {
             facts.helo = "192.0.2.1", world.dns["a 192.0.2.1.bl.example"] = {"127.0.0.2"};
         }},
        {{"reject_rhsbl_client bl.example"},
         "554 5.7.1 Service unavailable; Client host [mail.far.example] blocked using bl.example",
         dns({{"a mail.far.example.bl.example", {"127.0.0.2"}}})},
        {{"reject_rhsbl_reverse_client bl.example"},
         "554 5.7.1 Service unavailable; Unverified Client host [mail.far.example] blocked using bl.example",
         dns({{"a mail.far.example.bl.example", {"127.0.0.2"}}})},
        {{"reject_rhsbl_recipient bl.example"},
         "554 5.7.1 Service unavailable; Recipient address [ann@here.example] blocked using bl.example",
         dns({{"a here.example.bl.example", {"127.0.0.2"}}})},
        {{"permit_dnswl_client wl.example", "reject"}, "ok", dns({{"a 25.2.0.192.wl.example", {"127.0.0.2"}}})},
        {{"permit_dnswl_client wl.example"}, "ok"},
        {{"permit_dnswl_client wl.example", "reject"},
         "450 4.7.1 <192.0.2.25>: Client host rejected: Service unavailable",
         [](Facts&, World& world) { world.dns_failures = {"a 25.2.0.192.wl.example"}; }},
        // A good client must not relay because of that.
        {{"permit_dnswl_client wl.example", "reject"},
         "554 5.7.1 <x@else.example>: Recipient address rejected: Access denied",
         [](Facts& facts, World& world) {
             facts.recipient = "x@else.example", facts.recipient_ours = false;
             world.dns["a 25.2.0.192.wl.example"] = {"127.0.0.2"};
         }},
        {{"permit_rhswl_client wl.example", "reject"}, "ok", dns({{"a mail.far.example.wl.example", {"127.0.0.2"}}})},
    });
}

TEST_CASE("tables are looked up by the names and addresses of their subject") {
    const std::string client_host = "554 5.7.1 <mail.far.example[192.0.2.25]>: Client host rejected: Access denied";
    const std::string greeting = "554 5.7.1 <mail.far.example>: Helo command rejected: Access denied";
    const std::string sender = "554 5.7.1 <bob@far.example>: Sender address rejected: Access denied";
    const std::string recipient = "554 5.7.1 <ann@here.example>: Recipient address rejected: Access denied";
    const auto with = [](std::string rule, std::string key, std::string decided, std::string table = "text:/t") {
        return Row{{rule + " " + table}, decided, entry(table, key, "REJECT")};
    };
    check_rows({
        with("check_client_access", "mail.far.example", client_host),
        with("check_client_access", "far.example", client_host),
        with("check_client_access", "example", client_host),
        with("check_client_access", "192.0.2.25", client_host),
        with("check_client_access", "192.0.2", client_host),
        with("check_client_access", "192", client_host),
        with("check_client_access", "192.0.2.2", "ok"),
        with("check_client_access", "192.0.2.25", client_host, "cidr:/t"),
        with("check_client_access", "192.0.2", "ok", "cidr:/t"), // tables of patterns: whole keys only
        with("check_client_access", "far.example", "ok", "regexp:/t"),
        with("check_client_access", "mail.far.example", client_host, "regexp:/t"),
        with("check_reverse_client_hostname_access", "far.example",
             "554 5.7.1 <mail.far.example>: Unverified Client host rejected: Access denied"),
        with("check_helo_access", "far.example", greeting),
        with("check_helo_access", "mail.far.example", greeting),
        with("check_sender_access", "bob@far.example", sender),
        with("check_sender_access", "far.example", sender),
        with("check_sender_access", "example", sender),
        with("check_sender_access", "bob@", sender),
        with("check_sender_access", "@far.example", "ok"),
        with("check_sender_access", "bob@far.example", sender, "regexp:/t"),
        with("check_sender_access", "bob@", "ok", "regexp:/t"),
        with("check_recipient_access", "ann@here.example", recipient),
        with("check_recipient_access", "here.example", recipient),
        with("check_recipient_access", "ann@", recipient),
        {{"check_sender_access text:/t"},
         "554 5.7.1 <>: Sender address rejected: Access denied",
         [](Facts& facts, World& world) { facts.sender = "", world.tables["text:/t"]["<>"] = "REJECT"; }},
        {{"check_recipient_access text:/t"},
         "554 5.7.1 <ann+x@here.example>: Recipient address rejected: Access denied",
         [](Facts& facts, World& world) {
             facts.recipient = "ann+x@here.example", world.tables["text:/t"]["ann@here.example"] = "REJECT";
         }},
        {{"check_sasl_access text:/t"}, "ok", entry("text:/t", "ann", "REJECT")},
        {{"check_sasl_access text:/t"},
         "554 5.7.1 <ann>: SASL login name rejected: Access denied",
         [](Facts& facts, World& world) { facts.login = "ann", world.tables["text:/t"]["ann"] = "REJECT"; }},
        {{"check_client_access text:/t"},
         "554 5.7.1 <unknown[192.0.2.25]>: Client host rejected: Access denied",
         [](Facts& facts, World& world) {
             facts.client_name = "unknown", world.tables["text:/t"]["unknown"] = "REJECT";
         }},
        {{"check_sender_access text:/t"},
         "ok",
         [](Facts& facts, World& world) { facts.sender.reset(), world.tables["text:/t"]["<>"] = "REJECT"; }},
        // The most specific entry counts, and DUNNO ends the search.
        {{"check_sender_access text:/t"},
         "ok",
         [](Facts&, World& world) {
             world.tables["text:/t"] = {{"bob@far.example", "DUNNO"}, {"far.example", "REJECT"}};
         }},
        // A table that cannot be asked is not one without the entry.
        {{"check_sender_access text:/t"},
         "451 4.3.5 <bob@far.example>: Sender address rejected: Server configuration error; warning: text:/t: broken",
         [](Facts&, World& world) { world.broken.insert("text:/t"); }},
    });
}

TEST_CASE("tables about the servers of a domain") {
    const std::string sender = "554 5.7.1 <bob@far.example>: Sender address rejected: Access denied";
    const auto world = [](std::map<std::string, std::vector<std::string>> dns, std::string key,
                          std::string value = "REJECT") {
        return [=](Facts&, World& world) { world.dns = dns, world.tables["text:/t"][key] = value; };
    };
    const std::vector<std::string> mx = {"check_sender_mx_access text:/t"}, ns = {"check_sender_ns_access text:/t"},
                                   a = {"check_sender_a_access text:/t"};
    check_rows({
        {mx, "ok"},
        {mx, sender, world({{"mx far.example", {"mx.bad.example"}}}, "bad.example")},
        {mx, sender, world({{"mx far.example", {"mx.far.example"}}, {"a mx.far.example", {"127.0.0.1"}}}, "127.0.0")},
        {mx, sender, world({{"a far.example", {"127.0.0.1"}}}, "127.0.0.1")}, // no MX: the domain itself
        {mx, "ok", world({{"mx far.example", {""}}}, "127")},
        {ns, sender, world({{"ns far.example", {"ns.bad.example"}}}, "ns.bad.example")},
        {ns, sender, world({{"ns example", {"ns.bad.example"}}}, "ns.bad.example")}, // of the zone above
        {ns, "ok",
         world({{"ns far.example", {"ns.good.example"}}, {"ns example", {"ns.bad.example"}}}, "ns.bad.example")},
        {a, sender, world({{"a far.example", {"192.0.2.99"}}}, "192.0.2.99")},
        {a, "ok", world({{"a far.example", {"192.0.2.99"}}}, "far.example")}, // addresses only
        {a, "ok", world({}, "192.0.2.99")},
        // Permission by what the sender chooses is a mistake.
        {mx,
         "451 4.3.5 Server configuration error; warning: check_sender_mx_access text:/t: OK is not allowed for servers "
         "of others: use DUNNO",
         world({{"mx far.example", {"mx.good.example"}}}, "good.example", "OK")},
        {{"check_sender_mx_access text:/t"},
         sender.substr(0, 10) + "<b@[192.0.2.9]>: Sender address rejected: Access denied",
         [](Facts& facts, World& world) {
             facts.sender = "b@[192.0.2.9]", world.tables["text:/t"]["192.0.2.9"] = "REJECT";
         }},
    });
}

TEST_CASE("a domain with more servers than anybody needs does not make us look up all of them") {
    for (const std::size_t count : {50u, 51u}) {
        World world;
        auto& hosts = world.dns["mx far.example"];
        for (std::size_t n = 0; n < count; ++n) hosts.push_back(fmt::format("mx{}.far.example", n));
        RuleSet rules;
        rules.lists[List::sender] = rules_of({"check_sender_mx_access text:/t"});
        const auto decision = decide_by(rules, stranger(), world);
        CAPTURE(count);
        CHECK(
            shown(decision) ==
            (count == 50 ? "ok" : "450 4.7.1 <bob@far.example>: Sender address rejected: Domain has too many servers"));
        CHECK(world.fetched.size() == (count == 50 ? 51 : 1));
    }
}

TEST_CASE("results of tables, as in access(5)") {
    const std::string whose = "<bob@far.example>: Sender address";
    const auto table = [](std::string value) { return entry("text:/t", "bob@far.example", value); };
    const auto decided = [&](std::string value, std::string decided) {
        return Row{{"check_sender_access text:/t", "check_recipient_access text:/u"}, decided, table(value)};
    };
    const auto rejected = [&](std::string reply, std::string why) {
        return fmt::format("{} {} rejected: {}", reply, whose, why);
    };
    check_rows({
        decided("OK", "ok"),
        decided("ok whatever", "ok"),
        decided("RELAY", "ok"),
        decided("1700000000", "ok"),
        decided("550", "ok"), // any number is, even this one
        decided("DUNNO", "ok"),
        decided("REJECT", rejected("554 5.7.1", "Access denied")),
        decided("reject", rejected("554 5.7.1", "Access denied")),
        decided("REJECT go away", rejected("554 5.7.1", "go away")),
        decided("REJECT 5.7.2 go away", rejected("554 5.7.2", "go away")),
        decided("REJECT 4.7.2 go away", rejected("554 5.7.2", "go away")),
        decided("REJECT 5.1.1 no", rejected("554 5.1.7", "no")), // about a sender, not a recipient
        decided("REJECT 5.1.2 no", rejected("554 5.1.8", "no")),
        decided("REJECT 5.1.3 no", rejected("554 5.1.7", "no")),
        decided("DEFER", rejected("450 4.7.1", "Access denied")),
        decided("DEFER later", rejected("450 4.7.1", "later")),
        decided("550 no such sender", rejected("550 5.7.1", "no such sender")),
        decided("550 5.7.26 no such sender", rejected("550 5.7.26", "no such sender")),
        decided("421 4.7.0 later", rejected("421 4.7.0", "later")),
        decided("521 out", rejected("521 5.7.1", "out")),
        decided("DEFER_IF_PERMIT", rejected("450 4.7.1", "Service unavailable")),
        decided("DEFER_IF_PERMIT 4.2.1 not now", rejected("450 4.2.1", "not now")),
        decided("DEFER_IF_REJECT", "ok"),
        decided("WARN look at this", "ok; warn: look at this"),
        decided("INFO look at this", "ok; info: look at this"),
        decided("HOLD", fmt::format("ok; hold: {} triggers HOLD action; held", whose)),
        decided("HOLD see ticket", fmt::format("ok; hold: {} see ticket; held", whose)),
        decided("DISCARD", fmt::format("ok; discard: {} triggers DISCARD action; discarded", whose)),
        decided("REDIRECT box@here.example",
                fmt::format("ok; redirect: {} triggers REDIRECT box@here.example; to box@here.example", whose)),
        decided("REDIRECT nowhere", "ok; warning: text:/t: \"redirect nowhere\" has no effect: expected an address"),
        decided("BCC box@here.example",
                fmt::format("ok; bcc: {} triggers BCC box@here.example; copy box@here.example", whose)),
        decided("PREPEND X-Sender: bad", "ok; field X-Sender: bad"),
        decided("PREPEND nonsense",
                "ok; warning: text:/t: \"prepend nonsense\" has no effect: expected a header field"),
        decided(
            "FILTER smtp:[127.0.0.1]:10024",
            "451 4.3.5 Server configuration error; warning: text:/t: \"filter smtp:[127.0.0.1]:10024\": filters after "
            "the queue are not supported: use a [milter.NAME]"),
        decided("reject_unknown_sender_domain",
                "450 4.1.8 <bob@far.example>: Sender address rejected: Domain not found"),
        decided("permit_mynetworks, reject", "554 5.7.1 <bob@far.example>: Sender address rejected: Access denied"),
        decided("strict", "554 5.7.1 <bob@far.example>: Sender address rejected: Access denied"),
        decided("nonsense", "451 4.3.5 Server configuration error; warning: there is no [access_class.nonsense]"),
        decided(
            "check_client_access text:/u",
            "451 4.3.5 Server configuration error; warning: text:/t: \"check_client_access text:/u\": a value must not "
            "name a table: use an [access_class]"),
        {{"check_recipient_access text:/t"},
         "554 5.1.2 <ann@here.example>: Recipient address rejected: no",
         entry("text:/t", "ann@", "REJECT 5.1.8 no")},
        {{"check_helo_access text:/t"},
         "554 5.0.0 <mail.far.example>: Helo command rejected: no",
         entry("text:/t", "far.example", "REJECT 5.1.8 no")},
        // Before there is a message, nothing can be done with it.
        {{"check_client_access text:/t"},
         "ok; warning: text:/t: \"hold\" has no effect: with delay_reject = false, there is no message yet",
         [](Facts& facts, World& world) {
             facts.sender.reset(), facts.recipient.reset(), world.tables["text:/t"]["192"] = "HOLD";
         },
         List::client},
        {{"check_sender_access text:/t"},
         "ok; warning: text:/t: \"prepend X-A: b\" has no effect: it is too late to add a header field",
         table("PREPEND X-A: b"),
         List::end_of_data},
        {{"check_sender_access text:/t"},
         "ok; held",
         [](Facts& facts, World& world) { facts.held = true, world.tables["text:/t"]["bob@"] = "HOLD"; }},
    });
}

TEST_CASE("policy services answer like tables, about the subject of the list") {
    const auto action = [](std::string action) {
        return [=](Facts&, World& world) { world.policies["grey"] = action; };
    };
    const std::vector<std::string> rules = {"check_policy_service grey"};
    check_rows({
        {rules, "ok"},
        {rules, "ok", action("OK")},
        {rules, "450 4.7.1 <ann@here.example>: Recipient address rejected: greylisted", action("DEFER greylisted")},
        {rules, "450 4.2.0 <ann@here.example>: Recipient address rejected: greylisted",
         action("DEFER_IF_PERMIT 4.2.0 greylisted")},
        {rules, "ok; field X-Greylist: yes", action("PREPEND X-Greylist: yes")},
        {rules, "554 5.7.1 <DATA>: Data command rejected: no", action("REJECT no"), List::data},
    });
}

TEST_CASE("warnings instead of rejections, within classes too") {
    const std::string denied = "<ann@here.example>: Recipient address rejected: Access denied";
    check_rows({
        {{"warn_if_reject reject"}, "ok; reject_warning: 554 5.7.1 " + denied},
        {{"warn_if_reject reject", "reject"}, "554 5.7.1 " + denied + "; reject_warning: 554 5.7.1 " + denied},
        {{"warn_if_reject strict"}, "ok; reject_warning: 554 5.7.1 " + denied},
        {{"warn_if_reject outer"}, "ok; reject_warning: 554 5.7.1 " + denied},
        {{"warn_if_reject permit", "reject"}, "ok"},
        {{"warn_if_reject defer_if_permit"},
         "ok; reject_warning: 450 4.7.0 <ann@here.example>: Recipient address rejected: defer_if_permit requested"},
        {{"warn_if_reject check_sender_access text:/t"},
         "ok; reject_warning: 554 5.7.1 <bob@far.example>: Sender address rejected: x",
         entry("text:/t", "bob@", "REJECT x")},
        // A faulty configuration is no reason to let mail through.
        {{"warn_if_reject check_sender_access text:/t"},
         "451 4.3.5 Server configuration error; warning: there is no [access_class.nonsense]",
         entry("text:/t", "bob@", "nonsense")},
    });
}

TEST_CASE("classes stand for their rules") {
    const std::string denied = "554 5.7.1 <ann@here.example>: Recipient address rejected: Access denied";
    check_rows({
        {{"strict"}, denied},
        {{"outer"}, denied},
        {{"strict", "reject"}, "ok", entry("text:/good", "bob@far.example", "OK")}, // permission ends the list
        {{"outer", "reject"}, "ok", entry("text:/good", "bob@far.example", "OK")},
        {{"check_client_access text:/t", "permit"},
         "554 5.7.1 <mail.far.example[192.0.2.25]>: Client host rejected: Access denied",
         entry("text:/t", "192.0.2.25", "strict")}, // in a table, about the table's subject
        {{"loop"}, "451 4.3.5 Server configuration error; warning: classes are nested too deeply"},
    });
}
