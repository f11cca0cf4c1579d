// A worker's sessions, from the greeting to the message in the spool.
#include "daemons/common/config/config.h"
#include "tests/smtpd/worker.h"

using namespace std::chrono_literals;
using namespace smtpd::testing;

TEST_CASE("a listener that must have TLS and has none says so") {
    Worker worker({}, config::Service::relay,
                  [](config::Listener& listener) { listener.tls = config::ListenerTls::implicit; });
    std::string said;
    worker.with([&] { said = Client(worker.port).reply(); });
    CHECK(said == "421 4.7.0 mx.test TLS is not available");
}

TEST_CASE("who cannot be asked about is put off") {
    Worker worker;
    std::string said;
    worker.with([&] {
        Client client(worker.port);
        client.reply();
        client.say("EHLO client.example");
        client.say("MAIL FROM:<ann@client.example>");
        said = client.say("RCPT TO:<later@here.example>");
    });
    CHECK(said == "450 4.3.0 <later@here.example>: Recipient address rejected: unverified address, try again later");
}

TEST_CASE("a message: durable, announced, logged") {
    Worker worker;
    std::string greeting, reply;
    worker.with([&] {
        Client client(worker.port);
        greeting = client.reply();
        client.say("EHLO client.example");
        reply = deliver(client, "bob@here.example", "Message-ID: <1@client.example>\r\nSubject: x\r\n\r\nhello\r\n");
        client.say("QUIT");
        worker.wait_submitted(1);
    });
    CHECK(greeting == "220 mx.test ESMTP Postrider");
    REQUIRE(reply.starts_with("250 2.0.0 Ok: queued as "));
    const auto id = reply.substr(24);
    REQUIRE(worker.submitted.size() == 1);
    CHECK(worker.submitted[0].queue_id.text() == id);
    const auto envelope = spool::decode(worker.submitted[0].envelope);
    REQUIRE(envelope);
    CHECK(envelope->reverse_path == "ann@client.example");
    CHECK(envelope->recipients.at(0).address == "bob@here.example");
    CHECK(envelope->client_address == "127.0.0.1");
    CHECK(envelope->helo == "client.example");
    CHECK(envelope->protocol == "ESMTP");
    CHECK(envelope->listener == "relay");
    REQUIRE(worker.files().size() == 1);
    CHECK(worker.files()[0].filename() == id + ".reused");
    const auto log = worker.logged();
    CHECK(log.find("connect from localhost[127.0.0.1]") != log.npos);
    CHECK(log.find(id + ": client=localhost[127.0.0.1]") != log.npos);
    CHECK(log.find("postfix/cleanup[") != log.npos);
    CHECK(log.find(id + ": message-id=<1@client.example>") != log.npos);
    CHECK(log.find("disconnect from localhost[127.0.0.1] ehlo=1 mail=1 rcpt=1 data=1 quit=1 commands=5") != log.npos);
}

TEST_CASE("recipients are checked, once, and refused in the log's words") {
    Worker worker;
    std::vector<std::string> said;
    worker.with([&] {
        Client client(worker.port);
        client.reply();
        client.say("EHLO client.example");
        client.send("MAIL FROM:<ann@client.example>\r\nRCPT TO:<nobody@here.example>\r\nRCPT "
                    "TO:<bob@here.example>\r\n"
                    "RCPT TO:<bob@here.example>\r\nRCPT TO:<far@remote.example>\r\n");
        for (int i = 0; i < 5; ++i) said.push_back(client.reply());
    });
    CHECK(said[1] ==
          "550 5.1.1 <nobody@here.example>: Recipient address rejected: User unknown in local recipient table");
    CHECK(said[2] == "250 2.1.5 Ok");
    CHECK(said[3] == "250 2.1.5 Ok");
    CHECK(said[4] == "250 2.1.5 Ok");
    CHECK(worker.asked == 2);
    const auto log = worker.logged();
    CHECK(log.find("NOQUEUE: reject: RCPT from localhost[127.0.0.1]: 550 5.1.1 <nobody@here.example>: "
                   "Recipient address rejected: "
                   "User unknown in local recipient table; from=<ann@client.example> "
                   "to=<nobody@here.example> proto=ESMTP "
                   "helo=<client.example>") != log.npos);
}

TEST_CASE("what the session itself refuses is in the log, a run of the same once") {
    Worker worker([](config::Config& config) {
        config.smtpd.message_size = 1000;
        config.smtpd.recipients = 1;
    });
    worker.with([&] {
        Client client(worker.port);
        client.reply();
        client.say("EHLO c");
        client.say("MAIL FROM:<ann@client.example> SIZE=5000");
        client.say("MAIL FROM:<ann@client.example> LATER");
        client.say("XYZZY");
        client.say("MAIL FROM:<ann@client.example>");
        for (int i = 0; i < 5; ++i) client.say("RCPT TO:<far@remote.example>");
        client.say("XYZZY");
        client.say("DATA");
        client.say(std::string(2000, 'x') + "\r\n.");
        client.say("RCPT TO:<far@remote.example>");
    });
    const auto log = worker.logged();
    const auto times = [&](const std::string& text) {
        int n = 0;
        for (auto at = log.find(text); at != log.npos; at = log.find(text, at + 1)) ++n;
        return n;
    };
    const std::string from = " from localhost[127.0.0.1]: ", by = "; proto=ESMTP helo=<c>\n";
    CHECK(times("NOQUEUE: reject: MAIL" + from + "552 5.3.4 Message size exceeds fixed limit" + by) == 1);
    CHECK(times("warning: protocol error after MAIL" + from + "555 5.5.4 Unsupported option: LATER\n") == 1);
    CHECK(times("warning: protocol error after UNKNOWN" + from + "500 5.5.2 Error: command not recognized\n") == 1);
    CHECK(times(": protocol error after UNKNOWN" + from) == 2); // once with the id of a message
    CHECK(times(": reject: RCPT" + from +
                "452 4.5.3 Error: too many recipients; from=<ann@client.example> "
                "to=<far@remote.example> proto=ESMTP helo=<c>\n") == 1);
    CHECK(times(": reject: END-OF-MESSAGE" + from +
                "552 5.3.4 Message size exceeds fixed limit; "
                "from=<ann@client.example> to=<far@remote.example> proto=ESMTP helo=<c>\n") == 1);
    CHECK(times("warning: protocol error after RCPT" + from + "503 5.5.1 Error: need MAIL command\n") == 1);
}

TEST_CASE("what the queue-manager has not taken is said again") {
    Worker worker;
    worker.takes = false;
    worker.with([&] {
        Client client(worker.port);
        client.reply();
        client.say("EHLO c");
        deliver(client, "far@remote.example", "x\r\n");
        worker.wait_submitted(1);
    });
    REQUIRE(worker.submitted.size() == 1);
    CHECK_FALSE(worker.submitted[0].repeated);
    worker.takes = true;
    worker.submissions->fail("gone");
    worker.with([&] { worker.wait_submitted(2); });
    REQUIRE(worker.submitted.size() == 2);
    CHECK(worker.submitted[1].queue_id == worker.submitted[0].queue_id);
    CHECK(worker.submitted[1].repeated);
}

TEST_CASE(
    "a file that the queue-manager gives back takes the next message; on a new connection, those in use are named") {
    Worker worker;
    const auto deliver_one = [&] {
        const auto before = worker.submitted.size();
        worker.with([&] {
            Client client(worker.port);
            client.reply();
            client.say("EHLO c");
            deliver(client, "far@remote.example", fmt::format("Subject: {}\r\n\r\nx\r\n", before));
            worker.wait_submitted(before + 1);
        });
        return spool::QueueId{worker.submitted.back().reused_file};
    };
    const auto left = [&](std::vector<spool::QueueId> reusable, std::vector<spool::QueueId> kept) {
        CHECK(worker.submissions->send(proto::submission::FilesLeft{std::move(reusable), std::move(kept)}) ==
              ipc::SendResult::yes);
    };
    const auto first = deliver_one();
    CHECK(first == worker.submitted[0].queue_id); // a new file, named after the message
    left({first}, {});
    CHECK(deliver_one() == first);
    CHECK(worker.files().size() == 1);
    CHECK(worker.message(1).read_content()->find("Subject: 1\r\n") != std::string::npos);
    left({}, {first}); // that message has to wait
    const auto third = deliver_one();
    CHECK(third == worker.submitted[2].queue_id);
    worker.submissions->fail("gone");
    const auto fourth = deliver_one();
    CHECK(fourth == worker.submitted[3].queue_id);
    CHECK(worker.files_in_use == std::vector{third});
    left({third}, {});
    CHECK(deliver_one() == third);
}

TEST_CASE("headers without end, loops, sizes") {
    Worker worker([](config::Config& config) {
        config.smtpd.header_size = 2000;
        config.smtpd.header_fields = 100;
        config.smtpd.message_size = 50'000;
    });
    std::string hops, fields, size, large, good;
    worker.with([&] {
        Client client(worker.port);
        client.reply();
        client.say("EHLO c");
        const auto times = [](std::string_view text, int n) {
            std::string out;
            while (n-- > 0) out += text;
            return out;
        };
        hops = deliver(client, "far@remote.example", times("Received: x\r\n", 51) + "\r\nx\r\n");
        fields = deliver(client, "far@remote.example", times("X: y\r\n", 101) + "\r\nx\r\n");
        size = deliver(client, "far@remote.example", times("X: " + std::string(900, 'x') + "\r\n", 3) + "\r\nx\r\n");
        large = deliver(client, "far@remote.example", "\r\n" + times("0123456789\r\n", 5000));
        good = deliver(client, "far@remote.example",
                       times("Received: x\r\n", 50) + "\r\n" + times("0123456789\r\n", 4000));
    });
    CHECK(hops == "554 5.4.6 Error: too many hops");
    CHECK(fields == "554 5.6.0 Error: too many header fields");
    CHECK(size == "552 5.3.4 Error: message header is too large");
    CHECK(large == "552 5.3.4 Message size exceeds fixed limit");
    CHECK(good.starts_with("250 2.0.0"));
    CHECK(worker.files().size() == 1);
}

TEST_CASE("a large message goes through in pieces") {
    Worker worker;
    std::string reply;
    worker.with([&] {
        Client client(worker.port);
        client.reply();
        client.say("EHLO c");
        std::string content = "Subject: large\r\n\r\n";
        while (content.size() < 8'000'000) content += std::string(70, 'x') + "\r\n";
        reply = deliver(client, "far@remote.example", content);
        worker.wait_submitted(1);
    });
    CHECK(reply.starts_with("250 2.0.0"));
    REQUIRE(worker.submitted.size() == 1);
    CHECK(worker.submitted[0].size > 8'000'000);
    REQUIRE(worker.files().size() == 1);
    CHECK(fs::file_size(worker.files()[0]) > 8'000'000);
}

TEST_CASE("a disk below its floor takes no mail, and says so") {
    Worker worker([](config::Config& config) { config.spool.minimum_free = std::uint64_t{1} << 60; });
    std::string reply;
    worker.with([&] {
        Client client(worker.port);
        client.reply();
        client.say("EHLO c");
        reply = client.say("MAIL FROM:<ann@client.example>");
    });
    CHECK(reply == "452 4.3.1 Insufficient system storage");
    CHECK(worker.trouble.ends_with("; the spool is full"));
    CHECK(worker.logged().find("reject: MAIL from localhost[127.0.0.1]: 452 4.3.1") != std::string::npos);
}

TEST_CASE("a spool that cannot be written: 451, then closed for new mail") {
    Worker worker;
    const auto incoming = worker.folder.path() / "spool/incoming/07";
    std::string first, then;
    worker.with([&] {
        Client client(worker.port);
        client.reply();
        client.say("EHLO c");
        fs::rename(incoming, worker.folder.path() / "elsewhere");
        first = deliver(client, "far@remote.example", "x\r\n");
        then = client.say("MAIL FROM:<ann@client.example>");
    });
    CHECK(first == "451 4.3.0 Error: queue file write error");
    CHECK(then == first);
    CHECK(worker.submitted.empty());
    CHECK(worker.trouble.find("; the spool cannot be written") != std::string::npos);
}

TEST_CASE("sessions over the limits are told, and leave room when they go") {
    Worker worker([](config::Config& config) { config.smtpd.limits.sessions_per_network = 2; });
    std::string extra, later;
    worker.with([&] {
        Client one(worker.port), two(worker.port);
        one.reply();
        two.reply();
        extra = Client(worker.port).reply();
        one.say("QUIT");
        worker.wait_logged("disconnect from");
        later = Client(worker.port).reply();
    });
    CHECK(extra.starts_with("421 4.7.0"));
    CHECK(later.starts_with("220"));
}

TEST_CASE("a client that is gone leaves nothing") {
    Worker worker;
    worker.with([&] {
        Client client(worker.port);
        client.reply();
        client.say("EHLO c");
        client.say("MAIL FROM:<ann@client.example>");
        client.say("RCPT TO:<far@remote.example>");
        client.say("DATA");
        client.send("half a mess");
        client.close();
        worker.wait_logged("lost connection after DATA (11 bytes) from localhost[127.0.0.1]");
    });
    CHECK(worker.files().empty());
    CHECK(worker.submitted.empty());
}

TEST_CASE("stopping: who is in a transaction may finish it, nobody else comes in") {
    Worker worker;
    std::string idle, message, after, late;
    std::atomic<bool> done = false;
    worker.on_knock = [&] {
        worker.smtpd->stop(10s, [&] {
            done = true;
            done.notify_all();
        });
    };
    worker.with([&] {
        Client one(worker.port), two(worker.port);
        one.reply();
        two.reply();
        one.say("EHLO one");
        two.say("EHLO two");
        two.say("MAIL FROM:<ann@client.example>");
        worker.knock.signal();
        idle = one.reply();
        two.say("RCPT TO:<far@remote.example>");
        two.say("DATA");
        message = two.say("x\r\n.");
        after = two.reply();
        late = Client(worker.port).reply();
        done.wait(false);
    });
    CHECK(idle == "421 4.3.2 mx.test Service is shutting down, try again later");
    CHECK(message.starts_with("250 2.0.0"));
    CHECK(after == idle);
    CHECK(late == "");
    CHECK(done);
}

TEST_CASE("a client that reads nothing is let go, however much it was told") {
    Worker worker([](config::Config& config) {
        config.smtpd.command_timeout = 300ms;
        config.smtpd.commands = 1'000'000;
    });
    worker.with([&] {
        Client client(worker.port);
        client.reply();
        std::string noise;
        for (int i = 0; i < 20'000; ++i) noise += "HELP\r\n";
        for (int i = 0; i < 40; ++i) client.send_what_fits(noise);
        worker.wait_logged("disconnect from");
    });
}

TEST_CASE("hanging up behind the final dot costs neither the message nor the processor") {
    Worker worker;
    worker.with([&] {
        Client client(worker.port);
        client.reply();
        client.say("EHLO c");
        client.say("MAIL FROM:<ann@client.example>");
        client.say("RCPT TO:<far@remote.example>");
        client.say("DATA");
        client.send("x\r\n.\r\n");
        client.close();
        worker.wait_submitted(1);
    });
    CHECK(worker.submitted.size() == 1);
}

TEST_CASE("submission: recipients that cannot be read are refused at the end") {
    Worker worker([](config::Config& config) { config.smtpd.header_size = 4'000'000; }, config::Service::submission);
    std::string reply;
    worker.with([&] {
        Client client(worker.port);
        client.reply();
        client.say("EHLO c");
        std::string header;
        while (header.size() < 1'100'000) header += "X: " + std::string(900, 'x') + "\r\n";
        reply = deliver(client, "far@remote.example", header + "\r\nhello\r\n");
    });
    CHECK(reply == "554 5.6.0 Error: header larger than 1048576 bytes");
}

TEST_CASE("submission completes the header") {
    Worker worker({}, config::Service::submission);
    std::string reply;
    worker.with([&] {
        Client client(worker.port);
        client.reply();
        client.say("EHLO c");
        reply = deliver(client, "far@remote.example", "Subject: bare\r\nBcc: secret@x\r\n\r\nhello\r\n");
        worker.wait_submitted(1);
    });
    REQUIRE(reply.starts_with("250"));
    REQUIRE(worker.files().size() == 1);
    const auto file = worker.folder.text(worker.files()[0]);
    const auto received = file.find("Received: from c (localhost [127.0.0.1])");
    CHECK(received != file.npos);
    for (auto field : {"\r\nDate: ", "\r\nMessage-ID: <", "\r\nFrom: ", "\r\nSubject: bare\r\n"}) {
        CHECK(file.find(field) != file.npos);
        CHECK(file.find(field) > received);
    }
    CHECK(file.find("secret@x") == file.npos);
    CHECK(file.find("\r\n\r\nhello\r\n") != file.npos);
    CHECK(worker.logged().find(reply.substr(24) + ": message-id=<20") != std::string::npos);
    CHECK(worker.logged().find(reply.substr(24) + "@here.example>") != std::string::npos);
}
