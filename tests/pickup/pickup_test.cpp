// Submissions through the submit socket and the drop directory into a real spool.
#include "daemons/common/config/config.h"
#include "daemons/common/net/local_socket.h"
#include "daemons/common/store/lmdb.h"
#include "daemons/pickup/drop.h"
#include "daemons/pickup/submit_listener.h"
#include "tests/pickup/place.h"
#include <fstream>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace pickup;
using namespace pickup::testing;
using namespace proto::submit;
using namespace std::chrono_literals;

TEST_CASE("a submission becomes a message: Received first, header mended, envelope as the kernel and the "
          "options say") {
    Place place;
    auto begin = to({"bob, Carol <c@example.net>"});
    begin.full_name = "Ann";
    begin.recipients[0].notify = 1;
    begin.envid = "e1";
    begin.ret = smtp::Ret::headers;
    begin.body = Body::eight_bit;
    const auto answer = submit(place, begin, "Subject: x\nBcc: secret@example.com\n\nhello\n.\nbye");
    REQUIRE(answer.status == EX_OK);
    auto reader = read(place, answer.queue_id);
    const auto& envelope = reader.envelope();
    CHECK(envelope.reverse_path == "ann@example.org");
    REQUIRE(envelope.recipients.size() == 2);
    CHECK(envelope.recipients[0].address == "bob@example.org");
    CHECK(envelope.recipients[1].address == "c@example.net");
    CHECK(envelope.recipients[1].notify == spool::Notify::never);
    CHECK(envelope.uid == 1234);
    CHECK(envelope.submitter == "uid:1234");
    CHECK(envelope.origin == spool::Origin::local);
    CHECK(envelope.envid == "e1");
    CHECK(envelope.ret == smtp::Ret::headers);
    CHECK(envelope.body == spool::Body::eight_bit);
    const auto content = reader.read_content();
    REQUIRE(content);
    CHECK(content->starts_with("Received: by mta.example (Postrider, from userid 1234)"));
    CHECK(content->find("From: Ann <ann@example.org>\r\n") != std::string::npos);
    CHECK(content->find("secret") == std::string::npos);
    CHECK(content->ends_with("\r\n\r\nhello\r\n.\r\nbye\r\n"));
    CHECK(reader.content().dot_line);
    CHECK_FALSE(reader.content().bare_lf_or_cr);
    CHECK(envelope.message_id.find(answer.queue_id) != std::string::npos);
    CHECK(place.submission_queue->waiting() == 1); // for the queue-manager to take
}

TEST_CASE("-t: recipients from the header, beside those given") {
    Place place;
    auto begin = to({"a@x.example"});
    begin.from_header = true;
    const auto answer = submit(place, begin, "To: b@x.example\nBcc: c@x.example\n\nx\n");
    REQUIRE(answer.status == EX_OK);
    CHECK(read(place, answer.queue_id).envelope().recipients.size() == 3);
    begin.recipients.clear();
    CHECK(submit(place, begin, "Subject: nobody\n\nx\n").status == EX_USAGE);
}

TEST_CASE("what is refused, and with which status") {
    Place place;
    CHECK(submit(place, to({}), "x").status == EX_USAGE);
    CHECK(submit(place, to({"a@b (unclosed"}), "x").status == EX_DATAERR);
    CHECK(submit(place, to({"a@b.example\r\nRCPT TO:<c@d>"}), "x").status == EX_DATAERR);
    CHECK(submit(place, to({"a@x.example"}, "b@c, d@e"), "x").status == EX_DATAERR);
    CHECK(submit(place, to({"a@x.example, b@x.example, c@x.example, d@x.example"}), "x").status == EX_DATAERR);
    CHECK(submit(place, to({"a@x.example"}), std::string(400'000, 'x')).status == EX_DATAERR);
    auto later = to({"a@x.example"});
    later.version = 99;
    CHECK(submit(place, later, "x").status == EX_TEMPFAIL);
    auto odd = to({"a@x.example"});
    odd.recipients[0].notify = 3; // never and success
    CHECK(submit(place, odd, "x").status == EX_USAGE);
    std::string circle;
    for (int n = 0; n < 60; ++n) circle += "Received: from a by b\n";
    CHECK(submit(place, to({"a@x.example"}), circle + "\nx\n").status == EX_DATAERR);
    CHECK(place.submission_queue->waiting() == 0);
    CHECK(std::distance(std::filesystem::directory_iterator(place.path + "/incoming/02"), {}) == 1); // the mark
}

TEST_CASE("a full spool says: again later") {
    Place place;
    auto full = place.config;
    full.spool.minimum_free = std::uint64_t{1} << 60;
    place.spool_writer->reconfigure(full.spool);
    CHECK(submit(place, to({"a@x.example"}), "x").status == EX_TEMPFAIL);
}

TEST_CASE("a user who submits too much is told to come back, and nobody else is") {
    Place place;
    auto config = place.config;
    config.submit.user_messages_per_hour = 3;
    config.submit.user_bytes_per_hour = 300 * 1024;
    place.context->config = std::make_shared<const Settings>(config);
    const std::string small = "Subject: x\n\nx\n", large = "Subject: x\n\n" + std::string(200'000, 'x');
    for (int i = 0; i < 3; ++i) CHECK(submit(place, to({"a@x.example"}), small, 1001).status == EX_OK);
    const auto fourth = submit(place, to({"a@x.example"}), small, 1001);
    CHECK(fourth.status == EX_TEMPFAIL);
    CHECK(fourth.text == "you have submitted too much mail lately, try again later");
    CHECK(submit(place, to({"a@x.example"}), large, 1002).status == EX_OK);
    CHECK(submit(place, to({"a@x.example"}), large, 1002).status == EX_TEMPFAIL);
    CHECK(submit(place, to({"a@x.example"}), small, 1003).status == EX_OK);
    place.log.flush();
}

TEST_CASE("the drop directory: what is too much for now stays for later") {
    Place place;
    auto config = place.config;
    config.submit.user_messages_per_hour = 1;
    place.context->config = std::make_shared<const Settings>(config);
    for (const char* name : {"1", "2", "3"}) {
        std::ofstream(place.path + "/drop/" + name, std::ios::binary)
            << frame(to({"a@x.example"})) + frame(Content{"Subject: dropped\n\nx\n"}) + frame(End{});
        ::chmod((place.path + "/drop/" + name).c_str(), 0644);
    }
    Drop drop(*place.context);
    drop.scan();
    place.run_until([&] { return place.submission_queue->waiting() == 1 && !drop.busy(); });
    CHECK_FALSE(std::filesystem::exists(place.path + "/drop/1"));
    for (const char* left : {"/drop/2", "/drop/3"}) CHECK(std::filesystem::exists(place.path + left));
    place.context->config = std::make_shared<const Settings>(place.config);
    drop.scan();
    place.run_until([&] { return place.submission_queue->waiting() == 3; });
}

TEST_CASE("the socket: answered, limited per user, not confused by nonsense") {
    Place place;
    const auto path = place.path + "/run/submit";
    auto listening = common::listen_local(path, 0666);
    REQUIRE(listening);
    std::optional<SubmitListener> listener;
    listener.emplace(*place.context, std::move(*listening));
    const auto connect = [&] {
        auto socket = common::connect_local(path);
        REQUIRE(socket);
        return std::move(*socket);
    };
    const auto answer_on = [&](const common::Fd& socket) {
        std::string got;
        ipc::FrameReader reader;
        std::optional<Answer> answer;
        bool closed = false;
        place.run_until([&] {
            char buffer[4096];
            const auto n = ::recv(socket.number(), buffer, sizeof buffer, MSG_DONTWAIT);
            if (n == 0) closed = true;
            if (n > 0) {
                reader.feed({buffer, static_cast<std::size_t>(n)});
                if (const auto whole = reader.next()) answer = std::get<Answer>(*ipc::decode<Message>(*whole));
                reader.keep();
            }
            return answer.has_value() || closed;
        });
        return answer;
    };
    const auto say = [](const common::Fd& socket, const std::string& wire) {
        REQUIRE(::send(socket.number(), wire.data(), wire.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(wire.size()));
    };

    const auto good = connect(), second = connect();
    say(good, frame(to({"a@x.example"})) + frame(Content{"Subject: x\n\nx\n"}) + frame(End{}));
    const auto answer = answer_on(good);
    REQUIRE(answer);
    CHECK(answer->status == EX_OK);
    CHECK(read(place, answer->queue_id).envelope().uid == ::getuid());

    const auto third = connect(); // the first has not gone yet
    const auto turned_away = answer_on(third);
    REQUIRE(turned_away);
    CHECK(turned_away->status == EX_TEMPFAIL);

    say(second, frame(Content{"no beginning"}));
    const auto odd = answer_on(second);
    REQUIRE(odd);
    CHECK(odd->status == EX_PROTOCOL);

    place.run_until([&] { // the first two leave
        ::shutdown(good.number(), SHUT_RDWR);
        ::shutdown(second.number(), SHUT_RDWR);
        return listener->clients() == 0;
    });
    const auto noise = connect();
    say(noise, std::string(100, '\xff'));
    CHECK_FALSE(answer_on(noise)); // closed
    listener.reset();
}

TEST_CASE("the drop directory: whole files of one owner are taken, nothing else is touched or followed") {
    Place place;
    const auto drop_path = place.path + "/drop/";
    const auto write = [&](const std::string& name, const std::string& bytes) {
        std::ofstream(drop_path + name, std::ios::binary) << bytes;
        ::chmod((drop_path + name).c_str(), 0644);
    };
    const auto whole = frame(to({"a@x.example"})) + frame(Content{"Subject: dropped\n\nx\n"}) + frame(End{});
    write("1", whole);
    write("2", whole.substr(0, whole.size() - 5)); // being written, as far as anyone can tell
    write("3", "garbage that is no frame at all");
    write("4", whole);
    ::chmod((drop_path + "4").c_str(), 0666);
    write("5", whole);
    std::filesystem::create_hard_link(drop_path + "5", drop_path + "6");
    std::filesystem::create_symlink("/etc/passwd", drop_path + "7");
    REQUIRE(::mkfifo((drop_path + "8").c_str(), 0644) == 0);
    write("9", frame(to({})) + frame(End{})); // a submission, and one that must be refused
    std::optional<Drop> drop;
    drop.emplace(*place.context);
    drop->scan();
    // The first, and what is reported of the third (to the postmaster) and of the ninth (to its sender).
    place.run_until([&] { return place.submission_queue->waiting() == 3 && !drop->busy(); });
    CHECK_FALSE(std::filesystem::exists(drop_path + "9"));
    CHECK_FALSE(std::filesystem::exists(drop_path + "1"));
    for (const char* left : {"2", "4", "5", "6", "8"}) CHECK(std::filesystem::exists(drop_path + left));
    CHECK(std::filesystem::is_symlink(drop_path + "7"));
    CHECK(std::filesystem::exists(place.path + "/quarantine/incomplete/drop.3"));
    CHECK(std::filesystem::exists(place.path + "/quarantine/incomplete/drop.3.why"));
    CHECK_FALSE(std::filesystem::exists(place.path + "/quarantine/incomplete/drop.9")); // all of it is in the report

    // The kernel tells of what comes later.
    write("a", whole);
    place.run_until([&] { return place.submission_queue->waiting() == 4; });
    drop.reset();
}

TEST_CASE(
    "the drop directory: what is refused becomes a message that its sender, or the postmaster, gets a report about") {
    Place place;
    const auto drop_path = place.path + "/drop/";
    const auto refused = [&](const std::string& bytes) {
        std::ofstream(drop_path + "1", std::ios::binary) << bytes;
        ::chmod((drop_path + "1").c_str(), 0644);
        const auto before = std::distance(std::filesystem::directory_iterator(place.path + "/incoming/02"), {});
        Drop drop(*place.context);
        drop.scan();
        place.run_until([&] { return !std::filesystem::exists(drop_path + "1") && !drop.busy(); });
        std::string newest;
        for (const auto& each : std::filesystem::directory_iterator(place.path + "/incoming/02"))
            if (const auto name = each.path().filename().string(); name != "writer") newest = std::max(newest, name);
        CHECK(std::distance(std::filesystem::directory_iterator(place.path + "/incoming/02"), {}) == before + 1);
        return read(place, newest);
    };
    const auto aside = [&] { return std::filesystem::exists(place.path + "/quarantine/incomplete/drop.1"); };
    std::string circle = "Subject: loops\n";
    for (int n = 0; n < 60; ++n) circle += "Received: from a by b\n";

    auto loops = refused(frame(to({"a@x.example"})) + frame(Content{circle + "\nall of it\n"}) + frame(End{}));
    CHECK(loops.envelope().reverse_path == "ann@example.org");
    REQUIRE(loops.envelope().recipients.size() == 1);
    CHECK(loops.envelope().recipients[0].fate == spool::Fate::failed);
    CHECK(loops.envelope().verdict_reason == "5.4.6 the message is looping");
    CHECK(loops.read_content()->find("all of it") != std::string::npos);
    CHECK_FALSE(aside());

    auto sender = to({"a@x.example"}, "");
    auto large =
        refused(frame(sender) + frame(Content{"Subject: large\nX-Y: z\n\n" + std::string(60'000, 'x') + "\n"}) +
                frame(Content{std::string(60'000, 'y')}) + frame(Content{std::string(60'000, 'y')}) +
                frame(Content{std::string(60'000, 'y')}) + frame(Content{std::string(60'000, 'y')}) +
                frame(Content{std::string(60'000, 'y')}) + frame(End{}));
    CHECK(large.envelope().reverse_path == "postmaster@example.org");
    CHECK(large.envelope().verdict_reason.starts_with("5.3.4 the message is larger than"));
    CHECK(large.read_content()->find("X-Y: z\r\n") != std::string::npos);
    CHECK(large.read_content()->find("xxxx") == std::string::npos);
    CHECK(aside());
    std::filesystem::remove(place.path + "/quarantine/incomplete/drop.1");

    auto begin = to({"a@x.example", "b@x.example"});
    begin.version = 99;
    CHECK(refused(frame(begin) + frame(Content{"Subject: x\n\nx\n"}) + frame(End{})).envelope().recipients.size() == 2);
    const auto nonsense =
        refused(frame(to({"a@x.example"})) + frame(Content{"Subject: x\n\nx\n"}) + std::string(100, '\xff'));
    CHECK(nonsense.envelope().reverse_path == "ann@example.org");
    CHECK(nonsense.envelope().verdict_reason == "5.6.0 malformed");
    CHECK(aside());
}

TEST_CASE("a message of another spool is taken as it is, from an operator") {
    Place place;
    spool::Envelope envelope;
    envelope.reverse_path = "ann@example.org";
    for (int n = 0; n < 5; ++n) envelope.recipients.push_back({.address = "r" + std::to_string(n) + "@example.net"});
    envelope.recipients[1].fate = spool::Fate::local;
    envelope.arrival = smtp::WallTime(std::chrono::seconds(1'750'000'000));
    envelope.lifetime = 3'600;
    const auto bytes = spool::encode(envelope);
    const std::string content = "Received: from a by b\r\nSubject: old\r\n\r\n.\r\nno end";
    const auto import = [&](ImportPolicy import_policy, const std::vector<Message>& messages) {
        std::optional<Answer> answer;
        auto submission = Submission::create(
            *place.context, 1234, [&](const Answer& a) { answer = a; }, RejectionNotice::to_program, import_policy);
        for (const auto& each : messages) submission->take(each);
        place.run_until([&] { return answer.has_value(); });
        return *answer;
    };
    const std::vector<Message> whole = {Import{version, bytes.substr(0, 20), true},
                                        Import{version, bytes.substr(20), false}, Content{content}, End{}};
    const auto answer = import(ImportPolicy::accepted, whole);
    REQUIRE(answer.status == EX_OK);
    auto reader = read(place, answer.queue_id);
    CHECK(reader.envelope() == envelope);
    CHECK(*reader.read_content() == content);
    CHECK(import(ImportPolicy::rejected, whole).status == EX_NOPERM);
    CHECK(import(ImportPolicy::accepted, {Import{version, "garbage", false}}).status == EX_DATAERR);
    CHECK(import(ImportPolicy::accepted, {Import{version, spool::encode(spool::Envelope()), false}}).status ==
          EX_DATAERR);
    CHECK(import(ImportPolicy::accepted, {Import{version + 1, bytes, false}}).status == EX_TEMPFAIL);
    CHECK(import(ImportPolicy::accepted, {Import{version, bytes, true}, Content{content}}).status == EX_PROTOCOL);
    CHECK(import(ImportPolicy::accepted, {to({"bob"}), Import{version, bytes, false}}).status == EX_PROTOCOL);
}

namespace {

spool::Envelope from_node(std::string node, std::uint32_t generation = 1) {
    spool::Envelope envelope;
    envelope.reverse_path = "ann@example.org";
    envelope.recipients.push_back({.address = "bob@example.net"});
    envelope.transferred = spool::TransferOrigin{.node = std::move(node),
                                                 .id = spool::QueueId{0x0C5A0000001002},
                                                 .generation = generation,
                                                 .time = {},
                                                 .digest = {},
                                                 .state = {}};
    return envelope;
}

struct NodeAnswer {
    Answer answer;
    proto::relayed_submission::Cause cause;
    bool duplicate;
};

// `meanwhile`: what happens after its envelope has come.
NodeAnswer transfer(Place& place, const spool::Envelope& envelope, const std::function<void()>& meanwhile = [] {}) {
    std::optional<Answer> answer;
    auto submission = Submission::create(
        *place.context, 1234, [&](const Answer& a) { answer = a; }, RejectionNotice::to_program,
        ImportPolicy::transfers, RelayedClient{"token:peer", "192.0.2.1"});
    submission->take(Import{version, spool::encode(envelope), false});
    meanwhile();
    submission->take(Content{"Subject: x\r\n\r\nx\r\n"});
    submission->take(End{});
    place.run_until([&] { return answer.has_value(); });
    return {*answer, submission->cause(), submission->duplicate()};
}

// As the queue-manager makes it.
std::unique_ptr<store::Lmdb> store_of_keys(const Place& place) {
    const auto directory = common::idempotency::directory_in(place.path);
    std::filesystem::create_directories(directory);
    auto store = store::Lmdb::open(directory, {.keeper = true});
    REQUIRE(store);
    REQUIRE(common::idempotency::set_complete(**store, common::idempotency::boot_id(), common::Loop::now().wall));
    return std::move(*store);
}

} // namespace

TEST_CASE("another node learns that its message is here, also while no mail is taken") {
    Place place;
    const auto store = store_of_keys(place);
    const auto first = transfer(place, from_node("mx1"));
    REQUIRE(first.answer.status == EX_OK);
    CHECK_FALSE(first.duplicate);
    place.spool_writer->refuse("it is being drained");
    const auto again = transfer(place, from_node("mx1"));
    CHECK(again.answer.status == EX_OK);
    CHECK(again.answer.queue_id == first.answer.queue_id);
    CHECK(again.duplicate);
    const auto other = transfer(place, from_node("mx1", 2));
    CHECK(other.answer.status == EX_TEMPFAIL);
    CHECK(other.cause == proto::relayed_submission::Cause::unavailable);
    place.spool_writer->refuse("");
    const auto later = transfer(place, from_node("mx1", 2)); // nothing is left of the one before
    CHECK(later.answer.status == EX_OK);
    CHECK_FALSE(later.duplicate);
    CHECK(later.answer.queue_id != first.answer.queue_id);
}

TEST_CASE("a transfer whose name cannot be kept any more is not taken") {
    Place place;
    const auto store = store_of_keys(place);
    const auto refused = transfer(place, from_node("mx1"), [&] {
        auto config = place.config;
        config.idempotency.enabled = false;
        place.use(config);
    });
    CHECK(refused.answer.status == EX_TEMPFAIL);
    CHECK(place.submission_queue->waiting() == 0);
}

TEST_CASE("the name of another node is short and printable") {
    Place place;
    const auto store = store_of_keys(place);
    for (const auto& wrong : {std::string(), std::string("mx 1"), std::string("mx1\nforged"), std::string(256, 'x')})
        CHECK(transfer(place, from_node(wrong)).answer.status == EX_DATAERR);
    CHECK(place.logged().find("forged") == std::string::npos);
}
