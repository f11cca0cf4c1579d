#include "daemons/common/filters/milter/client.h"
#include "libspool/disk/real_disk.h"
#include "libspool/message/message_reader.h"
#include "libspool/store/store.h"
#include "tests/common/filters/milter/fake_milter.h"
#include "tests/temporary_directory.h"

using namespace milter;
using namespace milter::testing;
using namespace std::chrono_literals;
using config::OnFailure;
using config::Stage;
using What = Response::What;

namespace {

const std::string header = "Received: by mx.test; now\r\nFrom: ann@example.org\r\nSubject: one\r\n";

// A message on its way into a spool, and filters that are asked about it.
struct World {
    World() {
        disk = std::move(*spool::RealDisk::open_at(directory.path() / "spool"));
        REQUIRE(spool::prepare_spool(*disk, {1}));
        pool.emplace(*disk, 0, [] {});
        shared = std::move(*spool::SharedDirectory::open(*disk, "incoming/01"));
        envelope.reverse_path = "ann@example.org";
        envelope.recipients = {{.address = "bob@example.net"}, {.address = "eve@example.net"}};
        writer.emplace(*pool, *shared, spool::QueueId{0x101}, envelope);
        writer->append(header + "\r\nfirst line\r\n.second\r\n");
        message.emplace(*writer, envelope);
    }
    ~World() {
        one.reset();
        log.flush();
    }

    FakeMilter& listen(const std::string& name = "one") {
        return *filters.emplace_back(std::make_unique<FakeMilter>(loop, (directory.path() / name).string()));
    }
    config::Milter settings(const std::string& name = "one") const {
        config::Milter out;
        out.name = name;
        out.address.path = directory.path() / name;
        out.connect_timeout = out.timeout = out.message_timeout = 1h;
        return out;
    }
    Response ask(Client& client, Stage stage, std::string_view recipient = "bob@example.net") {
        std::optional<Response> word = client.ask(event_of(stage, {.server = "mx.test",
                                                                   .listener = "smtp",
                                                                   .client_name = "mail.example.org",
                                                                   .client_address = "192.0.2.1",
                                                                   .client_port = 25,
                                                                   .helo = "mail.example.org",
                                                                   .queue_id = "Q1",
                                                                   .sender = envelope.reverse_path,
                                                                   .recipient = recipient,
                                                                   .command = "XYZZY plugh",
                                                                   .sasl_method = "PLAIN",
                                                                   .sasl_user = "ann",
                                                                   .tls_version = "TLSv1.3",
                                                                   .message = &*message}),
                                                  [&](Response late) {
                                                      word = std::move(late);
                                                      loop.stop();
                                                  });
        if (!word) loop.run();
        REQUIRE(word);
        return *std::move(word);
    }
    // All of a session up to that stage; the last word.
    Response ask_up_to(Client& client, Stage last) {
        Response word;
        for (auto stage : {Stage::connect, Stage::helo, Stage::mail, Stage::rcpt, Stage::data, Stage::end_of_data}) {
            word = ask(client, stage);
            if (stage == last || word.what == What::refuse) break;
        }
        return word;
    }
    // The message as it will be sent.
    std::string committed() {
        message->seal();
        bool durable = false;
        writer->commit([&](spool::Result<spool::DurableReceipt> receipt) { durable = receipt.has_value(); });
        pool->drain();
        REQUIRE(durable);
        auto reader = spool::MessageReader::open(*disk, spool::QueueId{0x101}, spool::Location::incoming);
        REQUIRE(reader);
        envelope = reader->envelope();
        return reader->read_content().value();
    }

    TemporaryDirectory directory{"spool"};
    common::Loop loop;
    common::Log log{loop, "smtpd"};
    std::unique_ptr<spool::RealDisk> disk;
    std::optional<spool::CommitPool> pool;
    std::unique_ptr<spool::SharedDirectory> shared;
    spool::Envelope envelope;
    std::optional<spool::MessageWriter> writer;
    std::optional<Message> message;
    std::vector<std::unique_ptr<FakeMilter>> filters;
    std::optional<Client> one;
};

std::string replaced(std::string text, std::string_view what, std::string_view by) {
    const auto at = text.find(what);
    REQUIRE(at != text.npos);
    return text.replace(at, what.size(), by);
}

} // namespace

TEST_CASE("a filter is told of a session in order, with the macros of each stage") {
    World w;
    auto& filter = w.listen();
    w.one.emplace(w.loop, w.log, w.settings());
    CHECK(w.ask_up_to(*w.one, Stage::end_of_data).what == What::proceed);
    CHECK(filter.commands() == "OCHMRTLLNBE");
    CHECK(filter.told[1].data == text("mail.example.org") + '4' + '\0' + '\x19' + text("192.0.2.1"));
    CHECK(filter.told[2].data == text("mail.example.org"));
    CHECK(filter.told[3].data == text("<ann@example.org>"));
    CHECK(filter.told[4].data == text("<bob@example.net>"));
    CHECK(filter.told[6].data == text("From") + text("ann@example.org")); // not our own Received field
    CHECK(filter.body() == "first line\r\n.second\r\n");
    const auto macro = [](std::string_view name, std::string_view value) { return text(name) + text(value); };
    CHECK(filter.macros['C'] == macro("j", "mx.test") + macro("{daemon_name}", "smtp") + macro("v", "Postrider") +
                                    macro("_", "mail.example.org[192.0.2.1]") + macro("{client_addr}", "192.0.2.1") +
                                    macro("{client_name}", "mail.example.org"));
    CHECK(filter.macros['H'] == macro("{tls_version}", "TLSv1.3"));
    CHECK(filter.macros['M'] == macro("i", "Q1") + macro("{auth_type}", "PLAIN") + macro("{auth_authen}", "ann") +
                                    macro("{mail_addr}", "ann@example.org"));
    CHECK(filter.macros['R'] == macro("i", "Q1") + macro("{rcpt_addr}", "bob@example.net"));
    CHECK(filter.macros['E'] == macro("i", "Q1"));
    w.one->transaction_over();
    filter.on_quit = [&] { w.loop.stop(); };
    w.one.reset();
    w.loop.run();
    CHECK(filter.commands() == "OCHMRTLLNBEQ"); // nothing to abort: it had its say
}

TEST_CASE("a transaction that ends before its message does is taken back") {
    World w;
    auto& filter = w.listen();
    w.one.emplace(w.loop, w.log, w.settings());
    w.ask_up_to(*w.one, Stage::rcpt);
    w.one->transaction_over();
    w.ask(*w.one, Stage::mail);
    CHECK(filter.commands() == "OCHMRAM");
}

TEST_CASE("all that a filter may change of a message") {
    World w;
    auto& filter = w.listen();
    filter.replies['E'] = packet('h', text("X-Added") + text("at the end")) +
                          packet('i', numbers({1}) + text("X-First") + text("below Received")) +
                          packet('m', numbers({1}) + text("Subject") + text("two")) +
                          packet('m', numbers({1}) + text("From") + text("")) +
                          packet('e', text("<carol@example.org>") + text("RET=HDRS")) +
                          packet('-', text("<eve@example.net>")) + packet('+', text("<dora@example.net>")) +
                          packet('2', text("<emil@example.net>") + text("NOTIFY=NEVER ORCPT=rfc822;e@x")) +
                          packet('p') + packet('b', "another ") + packet('b', "body\n") +
                          packet('q', text("looks odd")) + packet('c');
    w.one.emplace(w.loop, w.log, w.settings());
    const auto word = w.ask_up_to(*w.one, Stage::end_of_data);
    CHECK(word.what == What::proceed);
    CHECK(word.changes.quarantine == "looks odd");
    CHECK(w.committed() == "Received: by mx.test; now\r\nX-First: below Received\r\nSubject: two\r\nX-Added: at the "
                           "end\r\n\r\nanother body\r\n");
    CHECK(w.envelope.reverse_path == "carol@example.org");
    REQUIRE(w.envelope.recipients.size() == 3);
    CHECK(w.envelope.recipients[0].address == "bob@example.net");
    CHECK(w.envelope.recipients[1].address == "dora@example.net");
    CHECK(w.envelope.recipients[2].address == "emil@example.net");
    CHECK(w.envelope.recipients[2].notify == spool::Notify::never);
    CHECK(w.envelope.recipients[2].orcpt == "rfc822;e@x");
    CHECK(w.envelope.verdict == spool::Verdict::quarantine);
}

TEST_CASE("one thing wrong with a filter's changes, and none is made") {
    for (const auto& [bad, complaint] : std::vector<std::pair<std::string, std::string>>{
             {packet('h', text("No Field") + text("x")), "not a header field: No Field"},
             {packet('+', text("<no address")), "not an address: <no address"},
             {packet('2', text("<a@b.example>") + text("NOTIFY=SOMETIMES")), "a recipient with "},
             {packet('2', text("<a@b.example>") + "no end"), "an invalid or unannounced modification"}}) {
        World w;
        w.log.configure({},
                        common::Fd(::open((w.directory.path() / "log").c_str(), O_CREAT | O_WRONLY | O_APPEND, 0600)));
        auto& filter = w.listen();
        filter.replies['E'] = packet('h', text("X-Added") + text("x")) + bad + packet('c');
        auto settings = w.settings();
        settings.on_failure = OnFailure::accept;
        w.one.emplace(w.loop, w.log, settings);
        CHECK(w.ask_up_to(*w.one, Stage::end_of_data).what == What::proceed);
        CHECK(w.committed() == header + "\r\nfirst line\r\n.second\r\n");
        w.log.flush();
        CHECK(w.directory.text("log").find("milter one: " + complaint) != std::string::npos);
    }
}

TEST_CASE("a filter hears of commands nobody knows, may refuse them, and has its say on the mail all the same") {
    World w;
    auto& filter = w.listen();
    w.one.emplace(w.loop, w.log, w.settings());
    w.ask_up_to(*w.one, Stage::rcpt);
    CHECK(w.ask(*w.one, Stage::unknown).what == What::proceed);
    CHECK(filter.told.back() == Packet{'U', text("XYZZY plugh")});
    filter.replies['U'] = packet('y', text("550 5.7.1 none of that here"));
    const auto word = w.ask(*w.one, Stage::unknown);
    CHECK(word.what == What::refuse);
    CHECK(word.reply.line() == "550 5.7.1 none of that here");
    w.ask(*w.one, Stage::end_of_data);
    CHECK(filter.commands() == "OCHMRUULLNBE");
}

TEST_CASE("a filter that does not want to hear of unknown commands does not, and one that fails there refuses none") {
    World w;
    w.listen().steps = 0x100;
    w.one.emplace(w.loop, w.log, w.settings());
    w.ask_up_to(*w.one, Stage::helo);
    CHECK(w.ask(*w.one, Stage::unknown).what == What::proceed);
    CHECK(w.filters[0]->commands() == "OCH");
    World other;
    other.listen().replies['U'] = FakeMilter::dies;
    other.one.emplace(other.loop, other.log, other.settings());
    other.ask_up_to(*other.one, Stage::helo);
    CHECK(other.ask(*other.one, Stage::unknown).what == What::proceed);
    CHECK(other.ask(*other.one, Stage::mail).reply.code == 451);
}

TEST_CASE("several filters: each sees what those before it have changed") {
    World w;
    auto& first = w.listen("first");
    auto& second = w.listen("second");
    first.replies['E'] = packet('m', numbers({1}) + text("Subject") + text("two")) + packet('b', "new\n") + packet('c');
    second.replies['E'] = packet('m', numbers({1}) + text("Subject") + text("three")) + packet('c');
    Client a(w.loop, w.log, w.settings("first")), b(w.loop, w.log, w.settings("second"));
    w.ask_up_to(a, Stage::end_of_data);
    w.ask_up_to(b, Stage::end_of_data);
    CHECK(second.told[7].data == text("Subject") + text("two"));
    CHECK(second.body() == "new\r\n");
    CHECK(w.committed() == replaced(header, "one", "three") + "\r\nnew\r\n");
}

TEST_CASE("our own Received field is shown to no filter, wherever it has come to stand, and what stands before it is") {
    World w;
    auto& first = w.listen("first");
    auto& second = w.listen("second");
    first.replies['E'] = packet('i', numbers({0}) + text("X-Top") + text("of all")) + packet('c');
    second.replies['E'] = packet('m', numbers({1}) + text("Received") + text("")) + // none of its business
                          packet('m', numbers({1}) + text("X-Top") + text("changed")) + packet('c');
    Client a(w.loop, w.log, w.settings("first")), b(w.loop, w.log, w.settings("second"));
    w.ask_up_to(a, Stage::end_of_data);
    w.ask_up_to(b, Stage::end_of_data);
    CHECK(second.commands() == "OCHMRTLLLNBE");
    CHECK(second.told[6].data == text("X-Top") + text("of all"));
    CHECK(w.committed() == "X-Top: changed\r\n" + header + "\r\nfirst line\r\n.second\r\n");
}

TEST_CASE("what becomes of mail when a filter fails, by its configuration") {
    struct Row {
        OnFailure on_failure;
        What what;
        int code;
        bool held;
    };
    for (const auto& row : std::vector<Row>{{OnFailure::accept, What::proceed, 0, false},
                                            {OnFailure::tempfail, What::refuse, 451, false},
                                            {OnFailure::reject, What::refuse, 550, false},
                                            {OnFailure::quarantine, What::proceed, 0, true}}) {
        for (const char command : {'C', 'M', 'R', 'L', 'B', 'E'}) {
            CAPTURE(command);
            World w;
            auto& filter = w.listen();
            filter.replies[command] = FakeMilter::dies;
            auto settings = w.settings();
            settings.on_failure = row.on_failure;
            w.one.emplace(w.loop, w.log, settings);
            const auto word = w.ask_up_to(*w.one, Stage::end_of_data);
            CHECK(word.what == row.what);
            CHECK(word.reply.code == row.code);
            CHECK(word.changes.quarantine.empty() == !row.held);
            CHECK(filter.service.connections() == 1); // it is not tried again in the session
        }
    }
}

TEST_CASE("each wait has its own end: connecting, a command, a message") {
    struct Row {
        char silent_at;
        std::chrono::microseconds config::Milter::* patience;
        Stage stage;
    };
    for (const auto& row :
         {Row{'O', &config::Milter::connect_timeout, Stage::mail}, Row{'R', &config::Milter::timeout, Stage::rcpt},
          Row{'E', &config::Milter::message_timeout, Stage::end_of_data}}) {
        CAPTURE(row.silent_at);
        World w;
        auto& filter = w.listen();
        filter.replies[row.silent_at] = "";
        auto settings = w.settings();
        settings.*row.patience = 50ms; // the others are an hour
        w.one.emplace(w.loop, w.log, settings);
        CHECK(w.ask_up_to(*w.one, row.stage).reply.code == 451);
        CHECK(filter.told.back().command == row.silent_at);
    }
}

TEST_CASE("a filter that says more than it was asked is not believed any more") {
    for (const auto& extra : {packet('c'), packet('r'), std::string("\0\0", 2)}) {
        World w;
        auto& filter = w.listen();
        filter.replies['M'] = packet('c') + extra;
        w.one.emplace(w.loop, w.log, w.settings());
        CHECK(w.ask_up_to(*w.one, Stage::mail).reply.code == 451); // its default, not "go on"
        w.one->transaction_over();
        CHECK(w.ask(*w.one, Stage::mail).reply.code == 451);
        CHECK(filter.commands() == "OCHM");
        filter.service.closed = [&](std::size_t) { w.loop.stop(); };
        if (filter.service.open(0)) w.loop.run(); // the connection was dropped
        CHECK_FALSE(filter.service.open(0));
    }
}

TEST_CASE("a filter's socket may lie at the end of a long path") {
    World w;
    const auto deep = std::string(60, 'a') + "/" + std::string(60, 'b');
    std::filesystem::create_directories(w.directory.path() / deep);
    auto& filter = w.listen(deep + "/milter.sock");
    auto settings = w.settings(deep + "/milter.sock");
    REQUIRE(settings.address.path.size() > 107);
    w.one.emplace(w.loop, w.log, settings);
    CHECK(w.ask_up_to(*w.one, Stage::rcpt).what == What::proceed);
    CHECK(filter.commands() == "OCHMR");
}
