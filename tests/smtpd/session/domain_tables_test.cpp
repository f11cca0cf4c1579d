// Domains that tables have, in a worker's sessions: whose recipients are asked about, and what clients are told while a
// table does not answer.
#include "daemons/common/config/config.h"
#include "daemons/smtpd/session/session_replies.h"
#include "tests/smtpd/worker.h"

using namespace smtpd::testing;

namespace {

config::LookupTable domains_table(std::vector<std::string> entries) {
    config::LookupTable made;
    made.name = "domains";
    made.kind = config::LookupKind::entries;
    made.entries = std::move(entries);
    return made;
}

std::vector<std::string> replies_to(Worker& worker, std::initializer_list<std::string> lines) {
    std::vector<std::string> out;
    worker.with([&] {
        Client client(worker.port);
        client.reply();
        client.say("EHLO client.example");
        for (const auto& line : lines) out.push_back(client.say(line));
    });
    return out;
}

// No service answers at this port of loopback.
constexpr const char* away = "tcp:127.0.0.1:1";

} // namespace

TEST_CASE("recipients in domains of tables are checked and accepted, those elsewhere are not relayed") {
    Worker worker([](config::Config& config) {
        config.relay.networks.clear();
        config.tables = {domains_table({"boxes.example x", "xn--bcher-kva.example x", "relayed.example x"})};
        config.addresses.virtual_mailbox.domain_tables = {"table:domains"};
        config.addresses.virtual_mailbox.deliver = "lmtp:/run/lmtp";
    });
    const auto said =
        replies_to(worker, {"MAIL FROM:<a@b.example>", "RCPT TO:<bob@Boxes.Example>", "RCPT TO:<nobody@boxes.example>",
                            "RCPT TO:<bob@sub.boxes.example>", "RCPT TO:<bob@here.example>",
                            "RCPT TO:<bob@else.example>", "RCPT TO:<later@boxes.example>"});
    CHECK(said[1] == "250 2.1.5 Ok");
    CHECK(said[2] == "550 5.1.1 <nobody@boxes.example>: Recipient address rejected: User unknown in local recipient "
                     "table");
    CHECK(said[3] == "554 5.7.1 <bob@sub.boxes.example>: Relay access denied");
    CHECK(said[4] == "250 2.1.5 Ok");
    CHECK(said[5] == "554 5.7.1 <bob@else.example>: Relay access denied");
    CHECK(said[6].starts_with("450 4.3.0 "));
    CHECK(worker.asked == 4);
}

TEST_CASE("a table of relayed domains, with parents") {
    Worker worker([](config::Config& config) {
        config.relay.networks.clear();
        config.tables = {domains_table({"relayed.example x"})};
        config.relay.domain_tables = {"table:domains"};
        config.relay.parent_domains = true;
    });
    const auto said = replies_to(worker, {"MAIL FROM:<a@b.example>", "RCPT TO:<x@relayed.example>",
                                          "RCPT TO:<x@sub.relayed.example>", "RCPT TO:<x@else.example>"});
    CHECK(said[1] == "250 2.1.5 Ok");
    CHECK(said[2] == "250 2.1.5 Ok");
    CHECK(said[3] == "554 5.7.1 <x@else.example>: Relay access denied");
    CHECK(worker.asked == 0); // there is no list of recipients
}

TEST_CASE("while a table does not answer: 451 for what depends on it, and nothing is relayed") {
    Worker worker([](config::Config& config) {
        config.relay.networks.clear();
        config.relay.domains = {"relayed.example"};
        config.relay.domain_tables = {away};
    });
    const auto said =
        replies_to(worker, {"MAIL FROM:<a@b.example>", "RCPT TO:<bob@unknown.example>", "RCPT TO:<bob@here.example>",
                            "RCPT TO:<x@relayed.example>", "RCPT TO:<bob@else.example>", "RCPT TO:<postmaster>"});
    CHECK(said[1] == "451 4.3.0 <bob@unknown.example>: Temporary lookup failure");
    CHECK(said[2] == "250 2.1.5 Ok");
    CHECK(said[3] == "250 2.1.5 Ok");
    CHECK(said[4] == "451 4.3.0 <bob@else.example>: Temporary lookup failure");
    CHECK(said[5] == "250 2.1.5 Ok");
    CHECK(worker.logged().find("the class of domain unknown.example is not known: table tcp:127.0.0.1:1: ") !=
          std::string::npos);
    CHECK(worker.trouble.find("tcp:127.0.0.1:1") != std::string::npos);
}

TEST_CASE("while a table does not answer, clients that may relay are accepted: their mail waits in the queue") {
    Worker worker([](config::Config& config) { config.local.domain_tables = {away}; });
    const auto said = replies_to(
        worker, {"MAIL FROM:<a@b.example>", "RCPT TO:<bob@unknown.example>", "RCPT TO:<nobody@here.example>"});
    CHECK(said[1] == "250 2.1.5 Ok");
    CHECK(said[2].starts_with("550 5.1.1 ")); // a name decides
    CHECK(worker.asked == 1);
}

TEST_CASE("access rules ask the tables, too") {
    const auto with_rules = [](std::vector<std::string> tables) {
        return [tables](config::Config& config) {
            config.relay.networks.clear();
            config.tables = {domains_table({"boxes.example x"})};
            config.addresses.virtual_alias.domain_tables = tables;
            config.addresses.virtual_alias.tables = {"table:domains"};
            config::AccessRules rules;
            rules.name = "all";
            rules.recipient = {*decide::access::Rule::parse("permit_auth_destination"),
                               *decide::access::Rule::parse("reject")};
            config.access = {rules};
        };
    };
    Worker worker(with_rules({"table:domains"}));
    const auto said =
        replies_to(worker, {"MAIL FROM:<a@b.example>", "RCPT TO:<bob@boxes.example>", "RCPT TO:<bob@else.example>"});
    CHECK(said[1] == "250 2.1.5 Ok");
    CHECK(said[2] == "554 5.7.1 <bob@else.example>: Relay access denied");
    Worker without(with_rules({away}));
    const auto later = replies_to(without, {"MAIL FROM:<a@b.example>", "RCPT TO:<bob@boxes.example>"});
    CHECK(later[1] == "451 4.3.0 <bob@boxes.example>: Temporary lookup failure");
}

TEST_CASE("VRFY asks the tables, too") {
    const auto with_tables = [](std::vector<std::string> tables) {
        return [tables](config::Config& config) {
            config.relay.networks.clear();
            config.tables = {domains_table({"boxes.example x"})};
            config.addresses.virtual_mailbox.domain_tables = tables;
        };
    };
    const auto verify = [](config::Listener& listener) { listener.vrfy = config::Vrfy::verify; };
    Worker worker(with_tables({"table:domains"}), config::Service::relay, verify);
    const auto said =
        replies_to(worker, {"VRFY bob@boxes.example", "VRFY nobody@boxes.example", "VRFY x@else.example"});
    CHECK(said[0] == "250 2.1.5 <bob@boxes.example>");
    CHECK(said[1] == "550 5.1.1 <nobody@boxes.example>: User unknown");
    CHECK(said[2] == "554 5.7.1 <x@else.example>: Relay access denied");
    Worker without(with_tables({away}), config::Service::relay, verify);
    CHECK(replies_to(without, {"VRFY bob@boxes.example"}).at(0) ==
          "451 4.3.0 <bob@boxes.example>: Temporary lookup failure");
}

TEST_CASE("a domain that only smtpd sees as ours so far is no reason to reject for good") {
    const auto reply = smtpd::recipient_rejection("ann@new.example", {proto::recipient_check::Verdict::not_ours});
    CHECK(reply.line() ==
          "450 4.3.0 <ann@new.example>: Recipient address rejected: its domain is changing, try again later");
}
