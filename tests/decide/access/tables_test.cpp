// What rules make of tables and policy services, in Postfix's words.
#include "tests/decide/access/rows.h"
#include <fmt/format.h>

using namespace decide::access;

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
        decided("FILTER smtp:[127.0.0.1]:10024",
                fmt::format("ok; filter: {} triggers FILTER smtp:[127.0.0.1]:10024; through [127.0.0.1]:10024", whose)),
        decided("FILTER Scanner:", fmt::format("ok; filter: {} triggers FILTER Scanner:; through scanner:", whose)),
        decided("FILTER smtp:scanner.example",
                "451 4.3.5 Server configuration error; warning: text:/t: \"filter smtp:scanner.example\": expected a "
                "host in brackets, such as smtp:[127.0.0.1]:10024, or the name of a [route]"),
        {{"check_sender_access text:/t", "check_recipient_access text:/t"},
         fmt::format(
             "ok; filter: {} triggers FILTER one; filter: <ann@here.example>: Recipient address triggers FILTER "
             "two; through two:",
             whose),
         [](Facts&, World& world) {
             world.tables["text:/t"]["bob@far.example"] = "FILTER one";
             world.tables["text:/t"]["ann@here.example"] = "FILTER two";
         }},
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

TEST_CASE("who owns a sender") {
    World world;
    world.tables["t"] = {{"bob@far.example", "ann, bob"}, {"@far.example", "postmaster"}};
    RuleSet rules;
    rules.recipient_delimiter = '+';
    rules.sender_login_tables = {"other", "t"};
    const auto reply = [&](const char* rule, const char* sender, const char* login) {
        rules.lists[List::sender] = rules_of({rule});
        auto facts = stranger();
        facts.sender = sender, facts.login = login;
        const auto decision = decide_by(rules, facts, world);
        world.slow_tables = true;
        world.fetched.clear();
        CHECK(shown(decide_by(rules, facts, world)) == shown(decision));
        world.slow_tables = false;
        return decision.rejection ? decision.rejection->line() : "";
    };
    const std::string not_owner = "553 5.7.1 <bob+x@far.example>: Sender address rejected: not owned by user carl";
    const std::string stranger_of = "553 5.7.1 <bob@far.example>: Sender address rejected: not logged in";
    const std::string unknown = "553 5.7.1 <x@else.example>: Sender address rejected: not owned by user ann";
    const std::string both = "reject_sender_login_mismatch", users = "reject_authenticated_sender_login_mismatch",
                      others = "reject_unauthenticated_sender_login_mismatch",
                      known = "reject_known_sender_login_mismatch";
    for (const auto& rule : {both, users, others, known}) {
        CAPTURE(rule);
        CHECK(reply(rule.c_str(), "bob@far.example", "ANN") == "");
        CHECK(reply(rule.c_str(), "", "ann") == "");
        CHECK(reply(rule.c_str(), "bob+x@far.example", "carl") == (rule == others ? "" : not_owner));
        CHECK(reply(rule.c_str(), "bob@far.example", "") == (rule == users ? "" : stranger_of));
        CHECK(reply(rule.c_str(), "x@else.example", "ann") == (rule == both || rule == users ? unknown : ""));
        CHECK(reply(rule.c_str(), "x@else.example", "") == "");
        CHECK(reply(rule.c_str(), "x@far.example", "postmaster") == "");
    }
    // Names alone are users of this system; quotation marks and the script of a domain make no other sender.
    world.tables["t"] = {{"ann", "ann"}, {"bob@far.example", "bob"}, {"@xn--bcher-kva.example", "bob"}};
    const auto as = [&](const char* sender, Facts::Ours local, const char* dns_domain) {
        rules.lists[List::sender] = rules_of({known.c_str()});
        auto facts = stranger();
        facts.sender = sender, facts.login = "carl", facts.sender_local = local, facts.sender_domain = dns_domain;
        facts.look_up_local = [](Questions& questions) {
            const auto answer = questions.ask(Lookup::Kind::table, "domains", "here.example");
            return answer ? answer->status : Answer::Status::pending;
        };
        return decide_by(rules, facts, world).rejection.has_value();
    };
    CHECK(as("ann@here.example", Facts::Ours::yes, "here.example"));
    CHECK(as("Ann+x@here.example", Facts::Ours::yes, "here.example"));
    CHECK_FALSE(as("ann@here.example", Facts::Ours::no, "here.example"));
    CHECK_FALSE(as("ann@here.example", Facts::Ours::in_tables, "here.example"));
    world.tables["domains"] = {{"here.example", "any"}};
    CHECK(as("ann@here.example", Facts::Ours::in_tables, "here.example"));
    CHECK(as("\"bob+ x\"@far.example", Facts::Ours::no, "far.example"));
    CHECK(as("x@bücher.example", Facts::Ours::no, "xn--bcher-kva.example"));
    world.broken = {"other"};
    CHECK(reply(both.c_str(), "bob@far.example", "ann") ==
          "451 4.3.0 <bob@far.example>: Sender address rejected: Temporary lookup failure");
    auto facts = stranger(); // the log has to say which table it was
    facts.sender = "bob@far.example";
    CHECK(decide_by(rules, facts, world).warnings == std::vector<std::string>{"other: broken"});
}
