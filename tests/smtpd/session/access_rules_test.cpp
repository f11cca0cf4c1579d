// Access rules in a worker's sessions: real tables, real files, what clients are told and what is queued.
#include "daemons/common/config/config.h"
#include "libspool/message/message_reader.h"
#include "tests/smtpd/worker.h"

using namespace smtpd::testing;

namespace {

std::vector<decide::access::Rule> rules(std::initializer_list<const char*> texts) {
    std::vector<decide::access::Rule> out;
    for (const auto* text : texts) {
        auto rule = decide::access::Rule::parse(text);
        REQUIRE(rule);
        out.push_back(*std::move(rule));
    }
    return out;
}

// A table of entries in the configuration itself.
config::LookupTable table(std::string name, std::vector<std::string> entries) {
    config::LookupTable made;
    made.name = std::move(name);
    made.kind = config::LookupKind::entries;
    made.entries = std::move(entries);
    return made;
}

std::function<void(config::Config&)> access(std::function<void(config::AccessRules&)> fill,
                                            std::vector<config::LookupTable> tables = {}) {
    return [fill, tables](config::Config& config) {
        config::AccessRules made;
        made.name = "all";
        fill(made);
        config.access = {made};
        config.tables = tables;
    };
}

std::vector<std::string> session(Worker& worker, std::initializer_list<std::string> lines) {
    std::vector<std::string> replies;
    worker.with([&] {
        Client client(worker.port);
        replies.push_back(client.reply());
        for (const auto& line : lines) replies.push_back(client.say(line));
    });
    return replies;
}

std::size_t count(const std::string& text, std::string_view what) {
    std::size_t n = 0;
    for (auto at = text.find(what); at != text.npos; at = text.find(what, at + 1)) ++n;
    return n;
}

} // namespace

TEST_CASE("a client that is rejected learns so at RCPT, as in Postfix, and the log has Postfix's line") {
    Worker worker(access([](auto& it) { it.client = rules({"check_client_access table:t"}); },
                         {table("t", {"127.0.0 REJECT not from here"})}));
    const auto said = session(worker, {"EHLO client.example", "MAIL FROM:<a@b.example>", "RCPT TO:<bob@here.example>",
                                       "RCPT TO:<x@elsewhere.example>", "RCPT TO:<postmaster>"});
    CHECK(said[2] == "250 2.1.0 Ok");
    CHECK(said[3] == "554 5.7.1 <localhost[127.0.0.1]>: Client host rejected: not from here");
    CHECK(said[4] == said[3]);
    CHECK(said[5] == "250 2.1.5 Ok"); // which every client may reach
    CHECK(worker.asked == 0);         // about bob: the client was rejected before
    CHECK(worker.logged().find("NOQUEUE: reject: RCPT from localhost[127.0.0.1]: 554 5.7.1 <localhost[127.0.0.1]>: "
                               "Client host rejected: not from here; from=<a@b.example> to=<bob@here.example> "
                               "proto=ESMTP helo=<client.example>") != std::string::npos);
}

TEST_CASE("tables are asked for the whole address of a recipient whose domain a client of ours leaves out") {
    Worker worker(access([](auto& it) { it.recipient = rules({"check_recipient_access table:t"}); },
                         {table("t", {"eve@here.example REJECT closed"})}));
    const auto said =
        session(worker, {"EHLO client.example", "MAIL FROM:<a@b.example>", "RCPT TO:<eve>", "RCPT TO:<bob>"});
    CHECK(said[3] == "554 5.7.1 <eve>: Recipient address rejected: closed");
    CHECK(said[4] == "250 2.1.5 Ok");
    Worker strict(access([](auto& it) { it.recipient = rules({"reject_non_fqdn_recipient"}); }));
    CHECK(session(strict, {"EHLO client.example", "MAIL FROM:<a@b.example>", "RCPT TO:<bob>"})[3] ==
          "504 5.5.2 <bob>: Recipient address rejected: need fully-qualified address");
}

TEST_CASE("without delay_reject each list is evaluated at its own stage") {
    const auto at_once = [](auto fill) {
        return access(
            [fill](auto& it) {
                it.delay_reject = false;
                fill(it);
            },
            {table("t", {"bad.example REJECT", "bad@here.example DEFER_IF_PERMIT"})});
    };
    Worker greeting(at_once([](auto& it) { it.client = rules({"reject"}); }));
    CHECK(session(greeting, {})[0] == "554 5.7.1 <localhost[127.0.0.1]>: Client host rejected: Access denied");
    Worker helo(at_once([](auto& it) { it.helo = rules({"check_helo_access table:t"}); }));
    const auto said = session(helo, {"EHLO bad.example", "EHLO good.example"});
    CHECK(said[1] == "554 5.7.1 <bad.example>: Helo command rejected: Access denied");
    CHECK(said[2].starts_with("250"));
    Worker sender(at_once([](auto& it) { it.sender = rules({"check_sender_access table:t"}); }));
    const auto mail = session(sender, {"EHLO a.example", "MAIL FROM:<x@bad.example>", "MAIL FROM:<x@good.example>",
                                       "RCPT TO:<bob@here.example>", "RSET", "MAIL FROM:<bad@here.example>",
                                       "RCPT TO:<bob@here.example>"});
    CHECK(mail[2] == "554 5.7.1 <x@bad.example>: Sender address rejected: Access denied");
    CHECK(mail[4] == "250 2.1.5 Ok");
    CHECK(mail[6] == "250 2.1.0 Ok");
    CHECK(mail[7] == "450 4.7.1 <bad@here.example>: Sender address rejected: Service unavailable");
}

TEST_CASE("relay control is in between, and no table permits relaying") {
    Worker worker([](config::Config& config) {
        access(
            [](auto& it) {
                it.client = rules({"permit"}), it.sender = rules({"check_sender_access table:t"}),
                it.recipient = rules({"permit"});
            },
            {table("t", {"bad@b.example REJECT"})})(config);
        config.relay.networks.clear();
    });
    const auto said = session(worker, {"EHLO a.example", "MAIL FROM:<a@b.example>", "RCPT TO:<x@else.example>", "RSET",
                                       "MAIL FROM:<bad@b.example>", "RCPT TO:<x@else.example>"});
    CHECK(said[3] == "554 5.7.1 <x@else.example>: Relay access denied");
    CHECK(said[6] == "554 5.7.1 <bad@b.example>: Sender address rejected: Access denied");
    CHECK(count(worker.logged(), "reject: RCPT") == 2);
}

TEST_CASE("what a table says to do with a message is done with it") {
    Worker worker(access(
        [](auto& it) {
            it.sender = rules({"check_sender_access table:t"});
            it.end_of_data = rules({"check_sender_access table:end"});
        },
        {table("t", {"hold@b.example HOLD look at it", "gone@b.example DISCARD",
                     "other@b.example REDIRECT bob@here.example", "mark@b.example PREPEND X-Marked: yes",
                     "copy@b.example BCC carl@here.example", "warn@b.example WARN so so"}),
         table("end", {"late@b.example HOLD too late"})}));
    std::vector<std::string> replies;
    worker.with([&] {
        Client client(worker.port);
        client.reply();
        client.say("EHLO client.example");
        for (const auto* sender : {"hold", "gone", "other", "mark", "copy", "warn", "late"}) {
            client.say(std::string("MAIL FROM:<") + sender + "@b.example>");
            client.say("RCPT TO:<bob@here.example>");
            client.say("RCPT TO:<far@remote.example>");
            client.say("DATA");
            replies.push_back(client.say("Subject: x\r\n\r\nx\r\n."));
        }
        worker.wait_submitted(6);
    });
    for (const auto& reply : replies) CHECK(reply.starts_with("250 2.0.0 Ok: queued as "));
    REQUIRE(worker.submitted.size() == 6); // one was discarded
    const auto envelope = [&](std::size_t n) { return worker.message(n).envelope(); };
    CHECK(envelope(0).verdict == spool::Verdict::hold);
    CHECK(envelope(0).verdict_reason == "look at it");
    REQUIRE(envelope(1).recipients.size() == 1);
    CHECK(envelope(1).recipients[0].address == "bob@here.example");
    CHECK(envelope(2).recipients.size() == 2);
    CHECK(envelope(3).recipients.size() == 3);
    CHECK(envelope(4).recipients.size() == 2);
    CHECK(envelope(5).verdict == spool::Verdict::hold);
    const auto log = worker.logged();
    CHECK(log.find("hold: RCPT from localhost[127.0.0.1]: <hold@b.example>: Sender address look at it; "
                   "from=<hold@b.example> to=<bob@here.example> proto=ESMTP helo=<client.example>") != log.npos);
    CHECK(count(log, "Sender address look at it") == 1); // not for each recipient
    CHECK(log.find(
              "discard: RCPT from localhost[127.0.0.1]: <gone@b.example>: Sender address triggers DISCARD action;") !=
          log.npos);
    CHECK(log.find("redirect: RCPT from localhost[127.0.0.1]: <other@b.example>: Sender address triggers REDIRECT "
                   "bob@here.example;") != log.npos);
    CHECK(log.find("warn: RCPT from localhost[127.0.0.1]: so so;") != log.npos);
    CHECK(log.find("hold: END-OF-MESSAGE from localhost[127.0.0.1]: <late@b.example>: Sender address too late;") !=
          log.npos);
    CHECK(worker.message(2).read_content().value().find("X-Marked: yes\r\n") != std::string::npos);
}

TEST_CASE("a message that is discarded is accepted for any recipient, the next one is checked again") {
    Worker worker([](config::Config& config) {
        access([](auto& it) { it.sender = rules({"check_sender_access table:t"}); },
               {table("t", {"gone@b.example DISCARD"})})(config);
        config.relay.networks.clear();
    });
    const auto said = session(worker, {"EHLO a.example", "MAIL FROM:<gone@b.example>", "RCPT TO:<x@else.example>",
                                       "RCPT TO:<nobody@here.example>", "RSET", "MAIL FROM:<a@b.example>",
                                       "RCPT TO:<x@else.example>", "RCPT TO:<nobody@here.example>"});
    CHECK(said[3] == "250 2.1.5 Ok");
    CHECK(said[4] == "250 2.1.5 Ok");
    CHECK(said[7] == "554 5.7.1 <x@else.example>: Relay access denied");
    CHECK(said[8].starts_with("550 5.1.1"));
}

TEST_CASE("after 421 and 521 from a table the connection is closed, as in Postfix") {
    Worker worker(
        access([](auto& it) { it.sender = rules({"check_sender_access table:t"}); },
               {table("t", {"closed@b.example 521 5.3.2 no mail here", "later@b.example 421 4.3.2 not now"})}));
    for (const auto& [sender, reply] :
         {std::pair("closed", "521 5.3.2 <closed@b.example>: Sender address rejected: no mail here"),
          std::pair("later", "421 4.3.2 <later@b.example>: Sender address rejected: not now")}) {
        const auto said = session(worker, {"EHLO a.example", std::string("MAIL FROM:<") + sender + "@b.example>",
                                           "RCPT TO:<bob@here.example>", "RSET"});
        CHECK(said[3] == reply);
        CHECK(said[4] == "");
    }
}

TEST_CASE("warnings are logged and reject nothing; what cannot be asked rejects for now") {
    Worker worker(access([](auto& it) {
        it.helo = rules({"warn_if_reject reject_non_fqdn_helo_hostname"});
        it.recipient = rules({"check_recipient_access text:/no/such/table"});
    }));
    const auto said = session(worker, {"EHLO incomplete", "MAIL FROM:<a@b.example>", "RCPT TO:<bob@here.example>"});
    CHECK(said[3] == "451 4.3.5 <bob@here.example>: Recipient address rejected: Server configuration error");
    const auto log = worker.logged();
    CHECK(log.find("NOQUEUE: reject_warning: RCPT from localhost[127.0.0.1]: 504 5.5.2 <incomplete>: Helo command "
                   "rejected: need fully-qualified hostname; from=<a@b.example> to=<bob@here.example> proto=ESMTP "
                   "helo=<incomplete>") != log.npos);
    CHECK(log.find("/no/such/table") != log.npos);
    CHECK(worker.trouble.find("/no/such/table") != std::string::npos); // in status
}

TEST_CASE("rules about DATA and about listeners that have none") {
    Worker worker(access([](auto& it) { it.data = rules({"reject_multi_recipient_bounce"}); }));
    const auto said = session(
        worker, {"EHLO a.example", "MAIL FROM:<>", "RCPT TO:<bob@here.example>", "RCPT TO:<x@else.example>", "DATA"});
    CHECK(said[5] == "550 5.5.3 <DATA>: Data command rejected: Multi-recipient bounce");
    Worker other(access([](auto& it) {
        it.listeners = {"another"};
        it.client = rules({"reject"});
    }));
    CHECK(session(other, {"EHLO a.example", "MAIL FROM:<>", "RCPT TO:<bob@here.example>"})[3] == "250 2.1.5 Ok");
}

TEST_CASE("a policy service that a rule names is asked there, and not at its own stage") {
    Worker worker([](config::Config& config) {
        access([](auto& it) { it.recipient = rules({"check_recipient_access table:t", "check_policy_service grey"}); },
               {table("t", {"bob@here.example OK"})})(config);
        config::PolicyService service;
        service.name = "grey";
        service.address = *common::ServiceAddress::parse("unix:/no/such/socket");
        service.stage = config::Stage::mail;
        service.listeners = {"relay"};
        config.policies = {service};
    });
    const auto said = session(worker, {"EHLO a.example", "MAIL FROM:<a@b.example>", "RCPT TO:<bob@here.example>",
                                       "RCPT TO:<x@else.example>"});
    CHECK(said[2] == "250 2.1.0 Ok");
    CHECK(said[3] == "250 2.1.5 Ok"); // permitted before it is asked
    CHECK(said[4] == "451 4.3.5 <x@else.example>: Recipient address rejected: a policy service is not available, try "
                     "again later");
}
