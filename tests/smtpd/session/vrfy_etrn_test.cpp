// VRFY and ETRN by a worker that asks a categorizer and a queue-manager.
#include "daemons/common/config/config.h"
#include "tests/smtpd/worker.h"

using namespace smtpd::testing;

namespace {

std::function<void(config::Listener&)> vrfy(config::Vrfy answer) {
    return [answer](config::Listener& listener) { listener.vrfy = answer; };
}

std::vector<std::string> said_to(Worker& worker, std::initializer_list<std::string> lines) {
    std::vector<std::string> out;
    worker.with([&] {
        Client client(worker.port);
        client.reply();
        client.say("EHLO client.example");
        for (const auto& line : lines) out.push_back(client.say(line));
    });
    return out;
}

// Until the queue-manager is there to be asked.
void wait_for_queue_manager(Worker& worker) {
    worker.with([&] {
        Client client(worker.port);
        client.reply();
        client.say("EHLO client.example");
        deliver(client, "bob@here.example", "x\r\n");
        worker.wait_submitted(1);
    });
}

void etrn_by_anybody(config::Listener& listener) { listener.etrn_networks = {*common::Network::parse("127.0.0.0/8")}; }

} // namespace

TEST_CASE("VRFY: nothing is told, unless it is to be") {
    Worker discreet;
    CHECK(said_to(discreet, {"VRFY nobody@here.example"}).at(0) ==
          "252 2.0.0 nobody@here.example: send some mail, I will try my best");
    CHECK(discreet.asked == 0);
    Worker silent({}, config::Service::relay, vrfy(config::Vrfy::off));
    CHECK(said_to(silent, {"VRFY bob@here.example"}).at(0) == "502 5.5.1 Error: command is not offered here");
}

TEST_CASE("VRFY that verifies says what RCPT would") {
    Worker worker(
        [](config::Config& config) {
            config.relay.domains = {"relay.example"};
            config.relay.networks.clear();
        },
        config::Service::relay, vrfy(config::Vrfy::verify));
    const auto said = said_to(worker, {"VRFY <bob@here.example>", "VRFY bob@here.example", "VRFY nobody@here.example",
                                       "VRFY far@remote.example", "VRFY ann@relay.example", "VRFY Bob Smith",
                                       "VRFY <bob@here.example> x", "VRFY later@here.example",
                                       "VRFY b\xc3\xb6\x62@here.example SMTPUTF8"});
    CHECK(said[0] == "250 2.1.5 <bob@here.example>");
    CHECK(said[1] == said[0]);
    CHECK(said[2] == "550 5.1.1 <nobody@here.example>: User unknown");
    CHECK(said[3] == "554 5.7.1 <far@remote.example>: Relay access denied");
    CHECK(said[4] == "252 2.1.5 <ann@relay.example>: not a local mailbox, but mail for it is accepted");
    CHECK(said[5] == "501 5.1.3 Bob Smith: Bad address syntax");
    CHECK(said[6] == "501 5.1.3 <bob@here.example> x: Bad address syntax");
    CHECK(said[7] == "450 4.3.0 <later@here.example>: unverified address, try again later");
    CHECK(said[8] == "550 5.1.1 <b\xc3\xb6\x62@here.example>: User unknown");
    CHECK(worker.asked == 4);
    CHECK(worker.logged().find("NOQUEUE: reject: VRFY from localhost[127.0.0.1]: 550 5.1.1 "
                               "<nobody@here.example>: User unknown; proto=ESMTP") != std::string::npos);
}

TEST_CASE("EXPN and other old things are known and not offered") {
    Worker worker;
    for (const auto& reply : said_to(worker, {"EXPN list", "TURN", "SEND FROM:<a@b>"}))
        CHECK(reply == "502 5.5.1 Error: command is not offered here");
    CHECK(said_to(worker, {"XYZZY"}).at(0) == "500 5.5.2 Error: command not recognized");
}

TEST_CASE("ETRN: not for everybody") {
    Worker closed;
    CHECK(said_to(closed, {"ETRN here.example"}).at(0) == "502 5.5.1 Error: command is not offered here");
    Worker others({}, config::Service::relay, [](config::Listener& listener) { listener.etrn_users = true; });
    CHECK(said_to(others, {"ETRN here.example"}).at(0) == "459 4.7.1 Node here.example not allowed");
    CHECK(others.wishes.empty());
    CHECK(others.logged().find("NOQUEUE: reject: ETRN from localhost[127.0.0.1]: 459 4.7.1 Node here.example not "
                               "allowed; proto=ESMTP") != std::string::npos);
}

TEST_CASE("ETRN: what the queue-manager found") {
    Worker worker({}, config::Service::relay, etrn_by_anybody);
    wait_for_queue_manager(worker);
    const auto reply = [&](std::uint64_t deliveries, bool loading, std::string obstacle = "") {
        worker.tried.deliveries = deliveries;
        worker.tried.loading = loading;
        worker.tried.obstacle = std::move(obstacle);
        return said_to(worker, {"ETRN Remote.Example"}).at(0);
    };
    CHECK(reply(0, false) == "251 2.0.0 Ok, no messages waiting for node remote.example");
    CHECK(reply(7, false) == "253 2.0.0 Ok, 7 pending messages for node remote.example started");
    CHECK(reply(0, true) == "250 2.0.0 Ok, queuing for node remote.example started");
    CHECK(reply(7, true) == "252 2.0.0 Ok, pending messages for node remote.example started");
    CHECK(reply(0, false, "mail for remote.example is held back") ==
          "458 4.3.2 Unable to queue messages for node remote.example: mail for remote.example is held back");
    CHECK(said_to(worker, {"ETRN @remote.example"}).at(0).starts_with("458 "));
    REQUIRE(worker.wishes.size() == 6);
    CHECK(worker.wishes[0].domain == "remote.example");
    CHECK_FALSE(worker.wishes[0].with_subdomains);
    CHECK(worker.wishes[5].with_subdomains);
    CHECK(worker.logged().find("etrn: remote.example from localhost[127.0.0.1]: 7 deliveries") != std::string::npos);
}

TEST_CASE("ETRN: too often, and without a queue-manager") {
    Worker worker([](config::Config& config) { config.smtpd.etrn_per_hour = 2; }, config::Service::relay,
                  etrn_by_anybody);
    wait_for_queue_manager(worker);
    const auto said = said_to(worker, {"ETRN a.example", "ETRN a.example", "ETRN a.example"});
    CHECK(said[1] == "251 2.0.0 Ok, no messages waiting for node a.example");
    CHECK(said[2] == "458 4.7.1 Unable to queue messages for node a.example: too many requests");
    Worker alone({}, config::Service::relay, etrn_by_anybody);
    alone.queue_manager.reset();
    CHECK(said_to(alone, {"ETRN a.example"}).at(0) ==
          "458 4.3.0 Unable to queue messages for node a.example: try again later");
}

TEST_CASE("an international message: what is kept of it, and what its Received field says") {
    Worker worker([](config::Config& config) { config.local.domains = {"xn--bcher-kva.example"}; });
    std::string reply;
    worker.with([&] {
        Client client(worker.port);
        client.reply();
        client.say("EHLO client.example");
        client.say("MAIL FROM:<j\xc3\xb6rg@client.example> SMTPUTF8 BODY=8BITMIME");
        client.say("RCPT TO:<bob@B\xc3\x9c\x63her.example>");
        client.say("DATA");
        reply = client.say("Subject: Gr\xc3\xbc\xc3\x9f\x65\r\n\r\nx\r\n.");
        worker.wait_submitted(1);
    });
    CHECK(reply.starts_with("250 2.0.0 Ok: queued as "));
    const auto envelope = spool::decode(worker.submitted.at(0).envelope);
    REQUIRE(envelope);
    CHECK(envelope->smtputf8);
    CHECK_FALSE(envelope->require_tls);
    CHECK(envelope->reverse_path == "j\xc3\xb6rg@client.example");
    CHECK(envelope->recipients.at(0).address == "bob@B\xc3\x9c\x63her.example"); // as it was written
    CHECK(envelope->protocol == "UTF8SMTP");
    CHECK(worker.asked == 1); // it is one of our own
    const auto file = worker.folder.text(worker.files().at(0));
    CHECK(file.find("with UTF8SMTP id ") != file.npos);
    CHECK(file.find("for <") == file.npos); // its address would make the field one of SMTPUTF8
    CHECK(worker.logged().find("from=<j\xc3\xb6rg") == std::string::npos); // nothing was refused
}

TEST_CASE("a domain that has no form in the DNS") {
    Worker worker;
    const auto said =
        said_to(worker, {"MAIL FROM:<ann@\xe2\x80\xa8.example> SMTPUTF8", "MAIL FROM:<ann@client.example> SMTPUTF8",
                         "RCPT TO:<bob@\xe2\x80\xa8.example>"});
    CHECK(said[0] == "550 5.1.8 <ann@\xe2\x80\xa8.example>: Sender address rejected: Domain not found");
    CHECK(said[2] == "550 5.1.2 <bob@\xe2\x80\xa8.example>: Recipient address rejected: Domain not found");
}
