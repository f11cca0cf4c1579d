// Header checks and copies as a worker's clients meet them.
#include "daemons/common/config/config.h"
#include "libspool/message/message_reader.h"
#include "tests/smtpd/worker.h"

using namespace smtpd::testing;

TEST_CASE("header checks refuse, edit and hold what comes over SMTP") {
    Worker worker([](config::Config& config) {
        config.smtpd.complete_headers.clear();
        config.content.header_checks = {"/^Subject: .*lottery/ REJECT no lotteries", "/^Subject: wait/ HOLD look at it",
                                        "/^Received: from c / IGNORE", "/^X-Old:/ REPLACE X-New: y",
                                        "/^Subject: hide/ DISCARD"};
    });
    std::string refused, edited, held, gone;
    worker.with([&] {
        Client client(worker.port);
        client.reply();
        client.say("EHLO c");
        refused = deliver(client, "far@remote.example", "Subject: win the\r\n lottery\r\n\r\nx\r\n");
        edited = deliver(client, "far@remote.example", "X-Old: x\r\nSubject: y\r\n\r\nx\r\n");
        held = deliver(client, "far@remote.example", "Subject: wait\r\n\r\nx\r\n");
        gone = deliver(client, "far@remote.example", "Subject: hide\r\n\r\nx\r\n");
        worker.wait_submitted(2);
    });
    CHECK(refused == "550 5.7.1 no lotteries");
    CHECK(gone.starts_with("250 2.0.0 Ok: queued as "));
    const auto log = worker.logged();
    CHECK(log.find("postfix/cleanup[") != log.npos);
    CHECK(log.find(": reject: header Subject: win the lottery from localhost[127.0.0.1]; from=<ann@client.example> "
                   "to=<far@remote.example> proto=ESMTP helo=<c>: 5.7.1 no lotteries") != log.npos);
    CHECK(log.find(": hold: header Subject: wait from localhost[127.0.0.1]; ") != log.npos);
    CHECK(log.find(gone.substr(24) + ": discard: header Subject: hide from localhost[127.0.0.1]; ") != log.npos);
    REQUIRE(worker.submitted.size() == 2);
    CHECK(worker.message(0).read_content().value() == "X-New: y\r\nSubject: y\r\n\r\nx\r\n");
    CHECK(worker.message(0).envelope().verdict == spool::Verdict::accept);
    CHECK(worker.message(1).envelope().verdict == spool::Verdict::hold);
    CHECK(worker.message(1).envelope().verdict_reason == "look at it");
}

TEST_CASE("a redirection to what is no address does not happen, and the log does not say it did") {
    Worker worker(
        [](config::Config& config) { config.content.header_checks = {"/^X-To: (.*)/ REDIRECT $1@archive.example"}; });
    worker.with([&] {
        Client client(worker.port);
        client.reply();
        client.say("EHLO c");
        CHECK(deliver(client, "far@remote.example", "X-To: one\r\n\r\nx\r\n").starts_with("250"));
        CHECK(deliver(client, "far@remote.example", "X-To: two words\r\n\r\nx\r\n").starts_with("250"));
        worker.wait_submitted(2);
    });
    REQUIRE(worker.submitted.size() == 2);
    CHECK(spool::decode(worker.submitted[0].envelope)->recipients.at(0).address == "one@archive.example");
    CHECK(spool::decode(worker.submitted[1].envelope)->recipients.at(0).address == "far@remote.example");
    const auto log = worker.logged();
    CHECK(log.find(": redirect: header X-To: one from ") != log.npos);
    CHECK(log.find(": redirect: header X-To: two words") == log.npos);
    CHECK(log.find("header check: not an address to redirect to: two words@archive.example") != log.npos);
}

TEST_CASE("a copy is added where nobody sees it, and its fate is nobody's business") {
    Worker worker([](config::Config& config) {
        config.automatic_bcc.always = {"archive@x.example"};
        config.automatic_bcc.by_recipient = {{"bob@here.example", "boss@x.example"}};
        config.automatic_bcc.by_sender = {{"@client.example", "Far@remote.example"}};
    });
    worker.with([&] {
        Client client(worker.port);
        client.reply();
        client.say("EHLO c");
        client.say("MAIL FROM:<ann@client.example>");
        client.say("RCPT TO:<bob@here.example> NOTIFY=SUCCESS");
        client.say("RCPT TO:<far@remote.example>");
        client.say("DATA");
        client.say("Subject: x\r\n\r\nx\r\n.");
        worker.wait_submitted(1);
    });
    REQUIRE(worker.submitted.size() == 1);
    const auto envelope = spool::decode(worker.submitted[0].envelope);
    REQUIRE(envelope);
    std::vector<std::string> addresses;
    for (const auto& each : envelope->recipients) {
        addresses.push_back(each.address);
        CHECK((each.notify == spool::Notify::never) == each.address.ends_with("@x.example"));
    }
    CHECK(addresses ==
          std::vector<std::string>{"bob@here.example", "far@remote.example", "archive@x.example", "boss@x.example"});
    const auto stored = worker.folder.text(worker.files().at(0));
    CHECK(stored.substr(stored.find("Received: ")).find("x.example") == std::string::npos);
}

TEST_CASE("rules for parts and bodies refuse and edit; the body is stored as they change it") {
    Worker worker([](config::Config& config) {
        config.smtpd.complete_headers.clear();
        config.content.header_checks = {"/^Received: from c / IGNORE"};
        config.content.mime_header_checks = {"/name=.*\\.exe/ REJECT no programs"};
        config.content.body_checks = {"/^old (.*)/ REPLACE new $1", "/^gone/ IGNORE", "/^no (.*)/ REJECT no $1 here"};
    });
    const std::string parts = "Content-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\n";
    std::string program, line, edited;
    worker.with([&] {
        Client client(worker.port);
        client.reply();
        client.say("EHLO c");
        program = deliver(client, "far@remote.example", parts + "Content-Type: x/y; name=a.exe\r\n\r\nx\r\n--b--\r\n");
        line = deliver(client, "far@remote.example", "Subject: x\r\n\r\nno way\r\n");
        edited = deliver(client, "far@remote.example", parts + "\r\nold words\r\ngone\r\n--b--\r\n");
        worker.wait_submitted(1);
    });
    CHECK(program == "550 5.7.1 no programs");
    CHECK(line == "550 5.7.1 no way here");
    CHECK(edited.starts_with("250 "));
    const auto log = worker.logged();
    CHECK(log.find(": reject: header Content-Type: x/y; name=a.exe from localhost[127.0.0.1]; ") != log.npos);
    CHECK(log.find(": reject: body no way from localhost[127.0.0.1]; ") != log.npos);
    CHECK(log.find(": replace: body old words from localhost[127.0.0.1]; ") != log.npos);
    REQUIRE(worker.submitted.size() == 1);
    CHECK(worker.message(0).read_content().value() == parts + "\r\nnew words\r\n--b--\r\n");
}

TEST_CASE("addresses in the header are masqueraded, as edits") {
    Worker worker([](config::Config& config) {
        config.smtpd.complete_headers.clear();
        config.content.header_checks = {"/^Received: from c / IGNORE"};
        config.addresses.masquerade.rules.domains = {"example.com"};
    });
    worker.with([&] {
        Client client(worker.port);
        client.reply();
        client.say("EHLO c");
        CHECK(deliver(
                  client, "far@remote.example",
                  "From: Ann <ann@host.example.com>\r\nTo: a@x.example,\r\n b@h.example.com\r\n\r\na@h.example.com\r\n")
                  .starts_with("250 "));
        worker.wait_submitted(1);
    });
    REQUIRE(worker.submitted.size() == 1);
    CHECK(worker.message(0).read_content().value() ==
          "From: Ann <ann@example.com>\r\nTo: a@x.example,\r\n b@example.com\r\n\r\na@h.example.com\r\n");
    CHECK(worker.message(0).envelope().edits.changes.size() == 3);
}

TEST_CASE("a rule that takes too long defers; a part that cannot be found is refused") {
    Worker worker([](config::Config& config) {
        config.content.body_checks = {"/^(a+)+$/ REJECT no names"};
        config.content.mime_header_checks = {"/name=.*\\.exe/ REJECT no programs"};
    });
    worker.with([&] {
        Client client(worker.port);
        client.reply();
        client.say("EHLO c");
        CHECK(deliver(client, "far@remote.example", "Subject: x\r\n\r\n" + std::string(40, 'a') + "!\r\n") ==
              "451 4.3.0 message content cannot be checked now");
        CHECK(deliver(client, "far@remote.example", "Content-Type: multipart/mixed\r\n\r\nx\r\n") ==
              "550 5.6.0 cannot be examined: a part is multipart without a boundary");
    });
    const auto log = worker.logged();
    CHECK(log.find(": defer: body aaaaaaaa") != log.npos);
    CHECK(log.find("rule /^(a+)+$/ takes too long") != log.npos);
    CHECK(log.find(": reject: structure of the message from localhost[127.0.0.1]; ") != log.npos);
}
