// What one rule decides, in Postfix's words.
#include "tests/decide/access/rows.h"
#include <fmt/format.h>

using namespace decide::access;

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
        facts.recipient = "x@else.example", facts.recipient_ours = Facts::Ours::no;
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

TEST_CASE("certificates of clients") {
    const auto shown = [](Facts& facts, World&) { facts.certificate = "AB:01", facts.certificate_key = "CD:02"; };
    const auto listed = [](Facts::Listed listed) {
        return [=](Facts& facts, World&) { facts.certificate = "AB:01", facts.certificate_listed = listed; };
    };
    const auto verified = [](Facts& facts, World&) { facts.certificate_verified = true; };
    const auto with = [](std::string key, std::string value) {
        return [=](Facts& facts, World& world) {
            facts.certificate = "AB:01", facts.certificate_key = "CD:02";
            world.tables["text:/c"][key] = value;
        };
    };
    const std::string rejected = "554 5.7.1 <ann@here.example>: Recipient address rejected: Access denied";
    check_rows({
        {{"permit_tls_clientcerts", "reject"}, rejected},
        {{"permit_tls_clientcerts", "reject"}, rejected, shown},
        {{"permit_tls_clientcerts", "reject"}, "ok", listed(Facts::Listed::yes)},
        {{"permit_tls_clientcerts"},
         "451 4.3.0 <ann@here.example>: Recipient address rejected: Temporary lookup failure",
         listed(Facts::Listed::unknown)},
        {{"permit_tls_all_clientcerts", "reject"}, rejected, listed(Facts::Listed::yes)},
        {{"permit_tls_all_clientcerts", "reject"}, "ok", verified},
        {{"check_ccert_access text:/c"}, "ok"}, // none was shown
        {{"check_ccert_access text:/c"}, "ok", shown},
        {{"check_ccert_access text:/c", "reject"}, "ok", with("AB:01", "OK")},
        {{"check_ccert_access text:/c"},
         "554 5.7.1 <mail.far.example[192.0.2.25]>: Client certificate rejected: stolen",
         with("CD:02", "REJECT stolen")},
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
        {sender, "ok", [&](Facts& facts, World&) { facts.sender_ours = Facts::Ours::yes; }},
        {sender, "ok", [&](Facts& facts, World&) { facts.sender = ""; }},
        {sender, "ok", [&](Facts& facts, World&) { facts.sender = "x@[192.0.2.1]"; }},
        {recipient, "ok"}, // ours
        {recipient, "450 4.1.2 <x@else.example>: Recipient address rejected: Domain not found",
         [](Facts& facts, World&) { facts.recipient = "x@else.example", facts.recipient_ours = Facts::Ours::no; }},
        {recipient,
         "556 5.1.10 <x@else.example>: Recipient address rejected: Domain else.example does not accept mail (nullMX)",
         [](Facts& facts, World& world) {
             facts.recipient = "x@else.example", facts.recipient_ours = Facts::Ours::no,
             world.dns["mx else.example"] = {""};
         }},
    });
}

TEST_CASE("where tables decide whether a domain is ours, the rules that need it ask them") {
    // Of the sender's domain and the recipient's; `there`: in the table.
    const auto by_table = [](std::string there, bool broken = false) {
        return [=](Facts& facts, World& world) {
            facts.sender_ours = facts.recipient_ours = Facts::Ours::in_tables;
            facts.look_up_ours = [](Subject subject, Questions& questions) {
                const auto key = subject == Subject::sender ? "far.example" : "here.example";
                const auto answer = questions.ask(Lookup::Kind::table, "mysql:/d", key);
                return answer ? answer->status : Answer::Status::pending;
            };
            world.slow_tables = true;
            if (broken) world.broken = {"mysql:/d"};
            if (!there.empty()) world.tables["mysql:/d"][there] = "any";
            world.dns["a 25.2.0.192.wl.example"] = {"127.0.0.2"};
        };
    };
    const std::string relaying = "<ann@here.example>: Relay access denied",
                      failure = "451 4.3.0 <ann@here.example>: Recipient address rejected: Temporary lookup failure";
    check_rows({
        {{"reject_unauth_destination"}, "ok", by_table("here.example")},
        {{"reject_unauth_destination"}, "554 5.7.1 " + relaying, by_table("")},
        {{"reject_unauth_destination"}, failure, by_table("here.example", true)},
        {{"defer_unauth_destination"}, "454 4.7.1 " + relaying, by_table("")},
        {{"defer_unauth_destination"}, failure, by_table("", true)},
        {{"permit_auth_destination", "defer"}, "ok", by_table("here.example")},
        {{"permit_auth_destination", "defer"},
         "450 4.3.2 <ann@here.example>: Recipient address rejected: Try again later",
         by_table("", true)},
        {{"permit_dnswl_client wl.example", "reject"}, "ok", by_table("here.example")},
        // A rule that permits need not know; only if another rejects, the client is to come again.
        {{"permit_dnswl_client wl.example", "permit"}, "ok", by_table("", true)},
        {{"permit_dnswl_client wl.example", "reject"},
         "451 4.3.0 <mail.far.example[192.0.2.25]>: Client host rejected: Temporary lookup failure",
         by_table("", true)},
        {{"permit_auth_destination", "permit"}, "ok", by_table("", true)},
        {{"permit_auth_destination", "reject"}, failure, by_table("", true)},
        {{"reject_unknown_sender_domain"}, "ok", by_table("far.example")},
        {{"reject_unknown_sender_domain"},
         "450 4.1.8 <bob@far.example>: Sender address rejected: Domain not found",
         by_table("")},
        {{"reject_unknown_sender_domain"},
         "451 4.3.0 <bob@far.example>: Sender address rejected: Temporary lookup failure",
         by_table("", true)},
        {{"permit"}, "ok", by_table("", true)}, // it does not need to know
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
             facts.recipient = "x@else.example", facts.recipient_ours = Facts::Ours::no;
             world.dns["a 25.2.0.192.wl.example"] = {"127.0.0.2"};
         }},
        {{"permit_rhswl_client wl.example", "reject"}, "ok", dns({{"a mail.far.example.wl.example", {"127.0.0.2"}}})},
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

TEST_CASE("addresses that are verified") {
    using decide::verification::Deliverability;
    const auto is = [](std::string address, Deliverability what) {
        return [=](Facts&, World& world) {
            world.verified[address] = {.status = Answer::Status::found, .why = "said so", .what = what};
        };
    };
    const std::string ann = "ann@here.example", bob = "bob@far.example";
    const auto null_sender = [](Facts& facts, World&) { facts.sender = ""; };
    const auto several = [](Facts& facts, World&) { facts.recipient.reset(); };
    const auto postmaster = [](Facts& facts, World&) { facts.recipient = "postmaster"; };
    const std::string recipient = "450 4.1.1 <ann@here.example>: Recipient address rejected: unverified address: ",
                      sender = "450 4.1.7 <bob@far.example>: Sender address rejected: unverified address: ";
    check_rows({
        {{"reject_unverified_recipient"}, "ok", is(ann, Deliverability::deliverable)},
        {{"reject_unverified_recipient"}, recipient + "said so", is(ann, Deliverability::undeliverable)},
        {{"reject_unverified_recipient"}, recipient + "said so", is(ann, Deliverability::unreachable)},
        {{"reject_unverified_recipient"}, recipient + "in progress"},
        {{"reject_unverified_recipient"}, "ok", several, List::data},
        {{"reject_unverified_recipient"}, "ok", postmaster},
        {{"reject_unverified_sender"}, "ok", is(bob, Deliverability::deliverable)},
        {{"reject_unverified_sender"}, sender + "said so", is(bob, Deliverability::undeliverable)},
        {{"reject_unverified_sender"}, sender + "in progress"},
        {{"reject_unverified_sender"}, "ok", null_sender},
        // In their order; a deferral is one only if nothing rejects.
        {{"permit", "reject_unverified_recipient"}, "ok"},
        {{"reject_unverified_recipient", "reject"},
         "554 5.7.1 <ann@here.example>: Recipient address rejected: Access denied"},
        {{"warn_if_reject reject_unverified_recipient"}, "ok; reject_warning: " + recipient + "in progress"},
    });
}

TEST_CASE("replies about verified addresses have the codes and the reason of the configuration") {
    using decide::verification::Deliverability;
    const auto reply = [](Deliverability what, std::string rule, const VerificationReplies::Of& replies) {
        const auto facts = stranger();
        World world;
        for (const auto* address : {"ann@here.example", "bob@far.example"})
            world.verified[address] = {.status = Answer::Status::found, .why = "said so", .what = what};
        RuleSet rules;
        rules.lists[List::recipient] = rules_of({rule});
        (rule.ends_with("sender") ? rules.verification.sender : rules.verification.recipient) = replies;
        return shown(decide_by(rules, facts, world, {List::recipient}));
    };
    using enum Deliverability;
    CHECK(reply(undeliverable, "reject_unverified_recipient", {550, 451, ""}) ==
          "550 5.1.1 <ann@here.example>: Recipient address rejected: undeliverable address: said so");
    CHECK(reply(unreachable, "reject_unverified_recipient", {550, 451, ""}) ==
          "451 4.1.1 <ann@here.example>: Recipient address rejected: unverified address: said so");
    CHECK(reply(undeliverable, "reject_unverified_sender", {553, 451, "Unknown"}) ==
          "553 5.1.7 <bob@far.example>: Sender address rejected: undeliverable address: Unknown");
    CHECK(reply(unknown, "reject_unverified_sender", {553, 451, "Unknown"}) ==
          "451 4.1.7 <bob@far.example>: Sender address rejected: unverified address: Unknown");
    CHECK(reply(deliverable, "reject_unverified_sender", {553, 451, "Unknown"}) == "ok");
}
