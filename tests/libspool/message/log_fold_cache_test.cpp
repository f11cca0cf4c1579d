// A message with very many recipients: who reads its file again folds only what was appended since, and who appends to
// it reads nothing of it. What that costs is counted in bytes read.
#include "libspool/message/log_fold_cache.h"
#include "libspool/message/message_reader.h"
#include "libspool/message/message_writer.h"
#include "libspool/store/store.h"
#include "tests/libspool/disk/fake_disk.h"
#include <algorithm>
#include <cerrno>
#include <doctest/doctest.h>
#include <random>

using namespace spool;
using spool::test::FakeDisk;

namespace {

const QueueId id{(std::uint64_t{500} << 8) | 3};
constexpr std::uint64_t first_read = 64 * 1024; // by every reader

ResolvedRecipient added(const std::string& name) {
    ResolvedRecipient out;
    out.fate = Fate::remote;
    out.address = name + "@example.net";
    return out;
}

struct Message {
    explicit Message(std::uint64_t log_limit = 64 * 1024)
        : store(pool, {.log = {.log_limit = log_limit, .long_log = 1000}}) {
        auto directory = SharedDirectory::open(disk, directory_of(id, Location::incoming));
        Envelope envelope;
        envelope.reverse_path = "ann@example.org";
        envelope.recipients.emplace_back().address = "list@example.org";
        MessageWriter writer(pool, **directory, id, envelope);
        writer.append("Subject: to many\r\n\r\nHello.\r\n");
        writer.commit([](auto receipt) { REQUIRE(receipt); });
        pool.drain();
    }

    void append(std::vector<Property> properties, Sync sync = Sync::no) {
        Result<> done = std::unexpected(Error{1, "not called"});
        store.append(id, Location::messages, std::move(properties), sync, [&](Result<> r) { done = std::move(r); });
        while (store.outstanding() > 0) {
            store.flush();
            pool.drain();
        }
        REQUIRE(done);
    }
    void expand(std::uint32_t members) {
        Expanded expanded{{0}, {}};
        for (std::uint32_t n = 0; n < members; ++n) expanded.added.push_back(added("somebody" + std::to_string(n)));
        append({expanded}, Sync::yes);
    }
    // A transaction to a hundred of them.
    void deliver(std::uint32_t from) {
        Attempt attempt;
        for (std::uint32_t n = from; n < from + 100; ++n) attempt.recipients.push_back(n);
        attempt.host = "mx.example.net[192.0.2.1]:25";
        attempt.outcome = Outcome::delivered;
        attempt.reply = {250, "2.0.0", "queued as 12345", Stage::final_dot};
        append({attempt});
    }
    MessageReader open(std::shared_ptr<FoldedLog> known = {}) {
        auto reader = MessageReader::open(disk, id, Location::incoming, ReadLock::shared, std::move(known));
        REQUIRE(reader);
        return *std::move(reader);
    }

    FakeDisk disk;
    Result<> prepared = prepare_spool(disk, {id.slot()});
    CommitPool pool{disk, 0, {}};
    Store store;
};

} // namespace

TEST_CASE("many recipients: each further reader reads what is new, and sees all of it") {
    Message message;
    message.expand(5000);
    const auto first = message.open();
    CHECK(message.disk.bytes_read() > 100'000);
    const auto before = message.disk.bytes_read();
    std::optional<MessageReader> last;
    for (std::uint32_t n = 0; n < 50; ++n) {
        message.deliver(1 + 100 * n);
        last = message.open(first.folded());
        CHECK(last->state().recipients[100 * n + 1].status == Status::delivered);
    }
    // Two hundred KiB of log fifty times would be ten megabytes.
    CHECK(message.disk.bytes_read() - before < 50 * (first_read + 2048) + 100'000);
    CHECK(&last->state() == &first.state()); // held once
    CHECK(last->state() == message.open().state());
}

TEST_CASE("many recipients: an append reads neither recipients nor log") {
    Message message;
    message.expand(5000);
    message.deliver(1);
    const auto before = message.disk.bytes_read();
    for (std::uint32_t n = 1; n < 50; ++n) message.deliver(1 + 100 * n);
    CHECK(message.disk.bytes_read() - before <= 49 * header_size);
    CHECK(message.open().state().recipients[4901].status == Status::delivered);
}

TEST_CASE("a reader that goes on where another was finds what one finds that reads it all") {
    std::mt19937 chance(20261122);
    for (int run = 0; run < 60; ++run) {
        Message message(chance() % 2 == 0 ? 600 : 64 * 1024); // often started anew, or never
        message.expand(300);
        std::shared_ptr<FoldedLog> known;
        for (int step = 0; step < 12; ++step) {
            const auto sync = chance() % 4 == 0 ? Sync::yes : Sync::no;
            switch (chance() % 4) {
            case 0: message.deliver(1 + chance() % 200); break;
            case 1: message.append({Held{chance() % 2 == 0, {}, "root", "why"}}, sync); break;
            case 2: message.append({Expanded{{}, {added("new")}}}, sync); break;
            default: { // torn: cut off by the next append
                const auto path = path_of(id, Location::incoming);
                message.disk.set_contents(path, message.disk.contents(path) + "torn");
            }
            }
            if (chance() % 3 == 0) continue;
            const auto reader = message.open(known), whole = message.open();
            known = reader.folded();
            CHECK(reader.state() == whole.state());
            CHECK(reader.log_begin() == whole.log_begin());
            CHECK(reader.log_end() == whole.log_end());
            CHECK(reader.next_sequence() == whole.next_sequence());
            CHECK(reader.unsynced_records() == whole.unsynced_records());
            CHECK(reader.log_generation() == whole.log_generation());
            CHECK(reader.torn_tail() == whole.torn_tail());
        }
    }
}

TEST_CASE("a reader that goes on finds damage as any other does, and keeps what was known") {
    Message message;
    message.expand(10);
    const auto first = message.open();
    message.append({Held{true, {}, "root", "one"}}, Sync::yes);
    message.append({Held{true, {}, "root", "two"}}, Sync::yes);
    const auto path = path_of(id, Location::incoming);
    auto bytes = message.disk.contents(path);
    bytes[bytes.find("one")] = 'x';
    message.disk.set_contents(path, bytes);
    const auto next = MessageReader::open(message.disk, id, Location::incoming, ReadLock::none, first.folded());
    REQUIRE_FALSE(next);
    CHECK(std::holds_alternative<Damaged>(next.error()));
    CHECK(first.state().recipients.size() == 11);
    CHECK_FALSE(first.state().held);
}

TEST_CASE("a log that is started anew while it is being read is not taken for damaged") {
    Message message(600);
    message.expand(300);
    const auto before = message.disk.contents(path_of(id, Location::incoming));
    const auto known = message.open().folded();
    const auto generation = known->log_generation;
    for (std::uint32_t n = 0; message.open().log_generation() == generation; ++n) message.deliver(1 + n % 200);
    const auto file = message.disk.open(path_of(id, Location::incoming), Open::read);
    const auto header = decode_header(before);
    REQUIRE(header);
    // The head as it was, the rest as it is.
    const MessageFile begun{message.disk, *file, *header, std::string_view(before).substr(0, header_size),
                            message.disk.contents(path_of(id, Location::incoming)).size()};
    const auto read = FoldedLog::read(begun);
    REQUIRE(read);
    CHECK(read->state == message.open().state());
    REQUIRE(known->catch_up(begun));
    CHECK(known->state == message.open().state());
}

TEST_CASE("a log that is started anew behind the end that was seen hides nothing of what came before") {
    Message message;
    message.expand(200); // blocks are given back as a whole
    const auto path = path_of(id, Location::incoming);
    const auto known = message.open().folded();
    message.append({Held{true, {}, "root", "why"}}, Sync::yes);
    const auto before = message.disk.contents(path); // head and length as a reader has seen them
    while (message.open().log_generation() == 0) message.append({Held{true, {}, "root", std::string(500, 'x')}});
    const auto file = message.disk.open(path, Open::read);
    const auto header = decode_header(before);
    REQUIRE(header);
    const MessageFile begun{message.disk, *file, *header, std::string_view(before).substr(0, header_size),
                            before.size()};
    REQUIRE(known->catch_up(begun));
    CHECK(known->state.held);
}

TEST_CASE("a thousand records of one message, asked for at once, are written together, in their order") {
    Message message;
    message.expand(1200);
    const auto before = message.disk.operations();
    std::vector<std::uint32_t> done;
    for (std::uint32_t n = 1; n <= 1000; ++n) {
        Attempt attempt{.recipients = {n}, .host = "mx.example.net[192.0.2.1]:25", .outcome = Outcome::deferred};
        attempt.reply = {450, "4.2.1", "mailbox " + std::to_string(n), Stage::rcpt};
        message.store.append(id, Location::messages, {attempt}, Sync::no, [&done, n](Result<> r) {
            REQUIRE(r);
            done.push_back(n);
        });
    }
    message.append({Held{true, {}, "root", "the last word"}}, Sync::yes);
    CHECK(message.disk.operations() - before <= 20);
    REQUIRE(done.size() == 1000);
    CHECK(std::ranges::is_sorted(done));
    const auto after = message.open();
    CHECK(after.state().held);
    for (std::uint32_t n = 1; n <= 1000; ++n)
        CHECK(after.state().recipients[n].reply.text == "mailbox " + std::to_string(n));
}

TEST_CASE("what cannot be written together is reported to each who asked, and none of it is in the file") {
    Message message;
    message.expand(10);
    int failed = 0;
    for (std::uint32_t n = 0; n < 5; ++n)
        message.store.append(id, Location::messages, {Held{true, {}, "root", "no room"}}, Sync::no,
                             [&](Result<> r) { failed += !r && r.error().code == ENOSPC ? 1 : 0; });
    message.disk.fail_all(ENOSPC);
    while (message.store.outstanding() > 0) {
        message.store.flush();
        message.pool.drain();
    }
    CHECK(failed == 5);
    message.disk.fail_all(0);
    CHECK_FALSE(message.open().state().held);
}

TEST_CASE("who appends trusts what it remembers only as long as the file agrees") {
    Message message;
    message.expand(500); // long enough to be remembered
    message.deliver(1);
    const auto path = path_of(id, Location::incoming);
    message.disk.set_contents(path, message.disk.contents(path) + "torn");
    message.deliver(101);
    const auto after = message.open();
    CHECK_FALSE(after.torn_tail());
    CHECK(after.state().recipients[150].status == Status::delivered);
    message.disk.fail_after(0, ENOSPC); // a write that is done in part
    message.store.append(id, Location::messages, {Held{true, {}, "root", "no room"}}, Sync::no);
    message.store.flush();
    message.pool.drain();
    message.deliver(201);
    const auto healed = message.open();
    CHECK(healed.state().recipients[250].status == Status::delivered);
    CHECK_FALSE(healed.state().held);
}
