#include "daemons/common/config/config.h"
#include "daemons/common/config/load.h"
#include "daemons/local/delivery/delivery.h"
#include "libspool/disk/real_disk.h"
#include "libspool/message/message_writer.h"
#include "libspool/store/store.h"
#include "tests/temporary_directory.h"
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <semaphore>
#include <sys/stat.h>
#include <unistd.h>

using namespace local;
using proto::delivery::Deliver;
using proto::delivery::Outcome;

namespace {

// A spool with one message in it, and mailboxes beside it.
struct World {
    World() {
        std::filesystem::create_directories(place.path() / "spool");
        disk = std::move(*spool::RealDisk::open_at(place.path() / "spool"));
        REQUIRE(spool::prepare_spool(*disk, {1}));
        settings.hostname = "mx.example.org";
        settings.local.mailbox = {config::MailboxFormat::maildir, (place.path() / "{user}").string()};
        settings.local.lock_timeout = std::chrono::seconds(1);
        settings.born = smtp::WallTime(std::chrono::seconds(1795190000));
        envelope.reverse_path = "sender@example.com";
        envelope.arrival = smtp::WallTime(std::chrono::seconds(1795190098));
    }
    void recipient(std::string address, spool::Notify notify = spool::Notify::unspecified) {
        spool::EnvelopeRecipient r;
        r.address = std::move(address);
        r.notify = notify;
        envelope.recipients.push_back(std::move(r));
        order.recipients.push_back(static_cast<std::uint32_t>(order.recipients.size()));
    }
    void commit(std::string_view content) {
        std::binary_semaphore woken(0);
        spool::CommitPool pool(*disk, 1, [&] { woken.release(); });
        auto directory = spool::SharedDirectory::open(*disk, "incoming/01");
        REQUIRE(directory);
        order.queue_id = spool::QueueId{0x0A1B2C3D4E5F01};
        spool::MessageWriter writer(pool, **directory, order.queue_id, envelope);
        writer.append(content);
        bool done = false;
        writer.commit([&](auto receipt) { done = receipt.has_value(); });
        woken.acquire();
        pool.drain();
        REQUIRE(done);
    }
    // As whoever can write the spool may have it.
    void say(std::string user, std::string target) {
        std::binary_semaphore woken(0);
        spool::CommitPool pool(*disk, 1, [&] { woken.release(); });
        spool::Store store(pool);
        bool done = false;
        store.append(order.queue_id, spool::Location::incoming,
                     {spool::Categorized{{0}, spool::Fate::local, std::move(user), std::move(target), "", ""}},
                     spool::Sync::yes, [&](auto result) { done = result.has_value(); });
        store.flush();
        woken.acquire();
        pool.drain();
        REQUIRE(done);
    }
    DeliveryResult run() {
        SharedMessages messages(*disk);
        return deliver(messages, order, settings, checks, unreaped);
    }

    TemporaryDirectory place;
    std::unique_ptr<spool::RealDisk> disk;
    spool::Envelope envelope;
    Deliver order;
    Settings settings;
    TargetCheck checks;
    UnreapedProcesses unreaped;
};

} // namespace

TEST_CASE("each recipient gets the message, with fields of its own") {
    World w;
    w.recipient("ann@example.org");
    w.recipient("bob@example.org", spool::Notify::success);
    w.recipient("\"../evil\"@example.org");
    w.commit("Subject: s\r\n\r\nbody\r\n");
    const DeliveryResult f = w.run();
    REQUIRE(f.done.results.size() == 3);
    CHECK(f.done.results[0].outcome == Outcome::delivered);
    CHECK_FALSE(f.done.results[0].report_success);
    CHECK(f.done.results[1].report_success);
    CHECK(f.done.results[2].outcome == Outcome::failed);
    CHECK(f.done.replies[f.done.results[2].reply].status == "5.1.1");
    CHECK(f.lines[0].verdict.text == "delivered to maildir");
    const std::string name = "1795190098.Q0A1B2C3D4E5F01R1.mx.example.org";
    CHECK(w.place.text("bob/new/" + name) ==
          "Return-Path: <sender@example.com>\nX-Original-To: bob@example.org\nDelivered-To: bob@example.org\n"
          "Subject: s\n\nbody\n");
    CHECK(w.run().done.results[0].outcome == Outcome::delivered);
    CHECK(w.place.names("ann/new").size() == 1);
}

TEST_CASE("a large message goes in pieces") {
    World w;
    w.recipient("ann@example.org");
    std::string content = "Subject: s\r\n\r\n";
    while (content.size() < 3'000'000)
        content += "0123456789012345678901234567890123456789012345678901234567890123\r\n";
    w.commit(content);
    CHECK(w.run().done.results.at(0).outcome == Outcome::delivered);
    const auto name = w.place.names("ann/new").at(0);
    const std::string got = w.place.text("ann/new/" + name);
    CHECK(got.ends_with("0123\n"));
    CHECK(got.size() > 2'900'000);
}

TEST_CASE("a message that is gone or damaged is said to be so, and nothing is delivered") {
    World w;
    w.recipient("ann@example.org");
    w.order.queue_id = spool::QueueId{0x0A1B2C3D4E5F01};
    CHECK(w.run().done.gone);
    w.commit("Subject: s\r\n\r\nbody\r\n");
    const auto path = w.place.path() / "spool" / path_of(w.order.queue_id, spool::Location::incoming);
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    const auto size = std::filesystem::file_size(path);
    std::string bytes(size, '\0');
    file.read(bytes.data(), static_cast<std::streamsize>(size));
    file.seekp(static_cast<std::streamoff>(bytes.find("body")));
    file << "B";
    file.close();
    const DeliveryResult f = w.run();
    CHECK(f.done.unreadable);
    CHECK(f.done.results.empty());
    CHECK_FALSE(f.trouble.empty());
    CHECK(w.place.names("ann/new").empty());
    CHECK(w.place.names("ann/tmp").empty());
}

TEST_CASE("what the spool says is not believed: no command, file or mailbox that nothing here names") {
    if (geteuid() != 0) return;
    World w;
    chmod(w.place.path().c_str(), 0777);
    const std::string owned = w.place.path() / "owned", forward = w.place.path() / "forward";
    w.place.write("aliases", "nobody: root\n");
    const auto file = (w.place.path() / "postrider.toml").string();
    const auto config = config::parse(
        fmt::format("[local]\naliases = [\"{0}/aliases\"]\nforward = [\"{0}/forward\"]\n", w.place.path().string()),
        file, {"here.example", "ann", 1});
    REQUIRE(config);
    w.settings.local = config->local;
    w.settings.switch_users = true;
    w.checks.configure(config->local, config->addresses, config->tables, config->commands);
    w.recipient("nobody@here.example");
    w.commit("Subject: s\r\n\r\nbody\r\n");
    const auto verdict = [&](const std::string& target) {
        w.say("nobody", target);
        const auto f = w.run();
        REQUIRE(f.done.results.size() == 1);
        const auto& reply = f.done.replies[f.done.results[0].reply];
        return fmt::format("{} {}", reply.status, reply.text);
    };
    for (const auto& target : {"|touch " + owned, owned, "mbox:" + owned, "maildir:" + owned + "/"}) {
        CHECK(verdict(target) ==
              fmt::format("4.3.5 refused: \"{}\" as user nobody is no longer in any alias file or .forward "
                          "file; postrider message requeue looks the recipient up again",
                          target));
        CHECK_FALSE(std::filesystem::exists(owned));
    }
    // The user's own file names them; it is believed if it is theirs.
    w.place.write("forward", "\\nobody, |touch " + owned + "\n" + owned + "\n");
    chmod(forward.c_str(), 0666);
    CHECK(verdict("|touch " + owned).starts_with("4.3.5 refused: "));
    chmod(forward.c_str(), 0644);
    CHECK(verdict("|touch " + owned) == "2.0.0 delivered to command: touch " + owned);
    REQUIRE(std::filesystem::remove(owned));
    CHECK(verdict(owned) == "2.0.0 delivered to file: " + owned);
    CHECK(verdict("|rm " + owned).starts_with("4.3.5 refused: "));
    CHECK(std::filesystem::exists(owned));
}

TEST_CASE("the words around a message") {
    CHECK(prefix_fields("", "a@x", "b@y") == "Return-Path: <>\nX-Original-To: a@x\nDelivered-To: b@y\n");
    CHECK(from_line("", smtp::WallTime{}).starts_with("From MAILER-DAEMON  "));
    CHECK(from_line("\"a b\"@x", smtp::WallTime{}).starts_with("From \"a-b\"@x  "));
    CHECK(maildir_name(spool::QueueId{0x0A1B2C3D4E5F01}, 3, smtp::WallTime(std::chrono::seconds(5)), "a/b:c") ==
          "5.Q0A1B2C3D4E5F01R3.a\\057b\\072c");
}
