// A spool looked over, and messages carried from one to another.
#include "libspool/disk/real_disk.h"
#include "libspool/message/export_format.h"
#include "libspool/message/message_writer.h"
#include "libspool/store/check.h"
#include "libspool/store/queue_id_source.h"
#include "libspool/store/store.h"
#include "tests/temporary_directory.h"
#include <doctest/doctest.h>
#include <filesystem>
#include <fstream>
#include <unistd.h>

using namespace spool;

namespace {

constexpr smtp::WallTime noon{std::chrono::seconds(1'750'000'000)};

struct Place {
    Place() {
        disk = std::move(*RealDisk::open_at(path));
        REQUIRE(prepare_spool(*disk, {1}));
        ids = std::move(*QueueIdSource::open(*disk, 1, noon));
        directory = std::move(*SharedDirectory::open(*disk, "incoming/01"));
        pool.emplace(*disk, 0, [] {});
        store.emplace(*pool);
    }

    QueueId write(const Envelope& envelope, std::string_view content) {
        const auto id = *ids->next(noon);
        MessageWriter writer(*pool, *directory, id, envelope);
        writer.append(content);
        bool durable = false;
        writer.commit([&](Result<DurableReceipt> receipt) { durable = receipt.has_value(); });
        pool->drain();
        REQUIRE(durable);
        return id;
    }
    void append(QueueId id, Property property) {
        store->append(id, Location::incoming, {std::move(property)}, Sync::yes);
        store->flush();
        pool->drain();
    }
    MessageState state(QueueId id) {
        auto reader = MessageReader::open(*disk, id, Location::incoming, ReadLock::none);
        REQUIRE(reader);
        return reader->state();
    }
    void spoil(const std::string& file, std::streamoff at) {
        std::fstream f(path + "/" + file, std::ios::in | std::ios::out | std::ios::binary);
        f.seekg(at);
        const char old = static_cast<char>(f.get());
        f.seekp(at);
        f.put(static_cast<char>(old ^ 1));
        REQUIRE(f.good());
    }

    TemporaryDirectory temporary;
    const std::string path = temporary.path();
    std::unique_ptr<RealDisk> disk;
    std::unique_ptr<QueueIdSource> ids;
    std::unique_ptr<SharedDirectory> directory;
    std::optional<CommitPool> pool;
    std::optional<Store> store;
};

Envelope envelope() {
    Envelope out;
    out.reverse_path = "ann@example.org";
    out.recipients = {{.address = "bob@example.net", .orcpt = "rfc822;bob@example.net", .notify = Notify::failure},
                      {.address = "list@example.net"},
                      {.address = "carol@example.net"}};
    out.arrival = noon;
    out.envid = "e1";
    out.retry_policy = "patient";
    return out;
}

} // namespace

TEST_CASE("a sound spool has nothing found in it, and nothing is changed") {
    Place place;
    const auto one = place.write(envelope(), "Subject: x\r\n\r\nbody\r\n");
    place.write(envelope(), std::string(700'000, 'x'));
    place.append(one, Held{true, noon, "root", "why not"});
    std::ofstream(place.path + "/quarantine/05A1B2C3D4E5F6") << "x";
    std::ofstream(place.path + "/quarantine/05A1B2C3D4E5F6.why") << "x";
    std::ofstream(place.path + "/incoming/01/" + place.ids->next(noon)->text()) << "unsealed";
    const auto report = check_spool(*place.disk);
    REQUIRE(report);
    CHECK(report->messages == 2);
    CHECK(report->bytes == 700'020);
    CHECK(report->unfinished == 1);
    CHECK(report->quarantined == 1);
    CHECK(report->bad == 0);
    CHECK(report->findings.empty());
}

TEST_CASE("what is moved while the spool is looked over is counted once") {
    Place place;
    const auto whole = place.write(envelope(), "Subject: x\r\n\r\nbody\r\n");
    const auto late = place.write(envelope(), "Subject: y\r\n\r\nbody\r\n");
    // As if each had been moved between the look at the one directory and that at the other.
    for (const auto id : {whole, late})
        std::filesystem::copy_file(place.path + "/" + path_of(id, Location::incoming),
                                   place.path + "/" + path_of(id, Location::messages));
    std::ofstream(place.path + "/" + path_of(late, Location::incoming), std::ios::trunc) << "unsealed";
    const auto report = check_spool(*place.disk);
    REQUIRE(report);
    CHECK(report->messages == 2);
    CHECK(report->bytes == 40);
    CHECK(report->unfinished == 0);
    CHECK(report->findings.empty());
}

TEST_CASE("one changed byte anywhere is found") {
    Place place;
    const auto id = place.write(envelope(), "Subject: x\r\n\r\n" + std::string(5000, 'x') + "\r\n");
    place.append(id, Held{true, noon, "root", "why not"});
    place.append(id, Held{false, noon, "root", ""});
    const auto file = path_of(id, Location::incoming);
    const auto size = static_cast<std::streamoff>(std::filesystem::file_size(place.path + "/" + file));
    for (std::streamoff at : {std::streamoff{20}, std::streamoff{200}, std::streamoff{2000}, size - 60}) {
        CAPTURE(at);
        place.spoil(file, at);
        const auto report = check_spool(*place.disk);
        REQUIRE(report);
        REQUIRE(report->findings.size() == 1);
        CHECK(report->findings[0].path == file);
        CHECK(report->findings[0].what == Finding::What::damaged);
        CHECK(report->messages == 0);
        place.spoil(file, at);
    }
    std::filesystem::rename(place.path + "/" + file, place.path + "/" + directory_of(id, Location::messages) + "/odd");
    place.spoil("incoming/01/writer", 10);
    place.spoil("incoming/01/writer", 522);
    const auto report = check_spool(*place.disk);
    REQUIRE(report);
    REQUIRE(report->findings.size() == 2);
    CHECK(report->findings[0].path == "incoming/01/writer");
    CHECK(report->findings[1].what == Finding::What::foreign);
    CHECK(!check_spool(**RealDisk::open_at("/proc/self")));
}

TEST_CASE("a copy is a message of its own, whole or not at all") {
    Place place;
    const auto content = "Subject: x\r\n\r\n" + std::string(600'000, 'y') + "\r\n";
    const auto id = place.write(envelope(), content);
    place.append(id, PriorityChanged{-3, "bulk", noon, "root", ""});
    const auto out = place.path + "/copy";
    {
        std::ofstream file(out, std::ios::binary);
        REQUIRE(export_message(*place.disk, id, [&](std::string_view bytes) -> Result<> {
            file << bytes;
            return {};
        }));
    }
    auto reader = MessageReader::open_path(*place.disk, "copy");
    REQUIRE(reader);
    CHECK(reader->state() == place.state(id));
    CHECK(*reader->read_content() == content);
    const auto full = export_message(
        *place.disk, id, [](std::string_view) -> Result<> { return std::unexpected(Error{ENOSPC, "full"}); });
    REQUIRE(!full);
    CHECK(std::get<Error>(full.error()).code == ENOSPC);
    place.spoil(path_of(id, Location::incoming), 100'000);
    bool asked = false;
    const auto damaged = export_message(*place.disk, id, [&](std::string_view) -> Result<> {
        asked = true;
        return {};
    });
    REQUIRE(!damaged);
    CHECK(std::holds_alternative<Damaged>(damaged.error()));
    CHECK(!asked);
    const auto unknown =
        export_message(*place.disk, *place.ids->next(noon), [](std::string_view) -> Result<> { return {}; });
    CHECK(std::get<Error>(unknown.error()).code == ENOENT);
}

TEST_CASE("the envelope of what is left: recipients, DSN parameters, and what was decided since") {
    Place place;
    const auto id = place.write(envelope(), "Subject: x\r\n\r\n");
    place.append(
        id, Attempt{.recipients = {2}, .time = noon, .reply = {250, "2.0.0", "ok", {}}, .outcome = Outcome::delivered});
    place.append(id, Expanded{{1},
                              {{.origin = 1,
                                .fate = Fate::local,
                                .address = "dave@example.net",
                                .user = "dave",
                                .reverse_path = "owner@example.net"}}});
    place.append(id, Held{true, noon, "root", "to be looked at"});
    place.append(id, PriorityChanged{2, "high", noon, "root", ""});
    place.append(id, ExpiryChanged{noon + std::chrono::hours(10), "fast", noon, "root", ""});
    place.append(id, Rerouted{"[relay.example.net]:2525", noon, "root", ""});
    auto state = place.state(id);
    state.envelope.edits = {16, {{FieldEdit::What::insert, 0, "X-Filter: seen\r\n"}}};
    const auto rest = remaining_envelope(state);
    CHECK(rest.edits.empty()); // or they would be made twice
    REQUIRE(rest.recipients.size() == 2);
    CHECK(rest.recipients[0] == envelope().recipients[0]);
    CHECK(rest.recipients[1].address == "dave@example.net");
    CHECK(rest.recipients[1].original == "list@example.net");
    CHECK(rest.recipients[1].fate == Fate::local);
    CHECK(rest.recipients[1].user == "dave");
    CHECK(rest.recipients[1].reverse_path == "owner@example.net");
    CHECK(rest.verdict == Verdict::hold);
    CHECK(rest.verdict_reason == "to be looked at");
    CHECK(rest.lane == "high");
    CHECK(rest.priority == 2);
    CHECK(rest.expiry == noon + std::chrono::hours(10));
    CHECK(rest.retry_policy == "fast");
    CHECK(rest.rerouted_to == "[relay.example.net]:2525");
    CHECK(MessageState(*decode(encode(rest))).rerouted_to == "[relay.example.net]:2525");
    CHECK(rest.envid == "e1");
    CHECK(rest.arrival == noon);
    place.append(id, StatusChanged{{0, 3}, Status::removed, noon, {}, "root"});
    CHECK(remaining_envelope(place.state(id)).recipients.empty());
}

TEST_CASE("a message that is moved to another node keeps its state") {
    Place place;
    const auto id = place.write(envelope(), "Subject: x\r\n\r\ny\r\n");
    place.append(id, Attempt{.recipients = {0}, .time = noon, .host = "mx", .outcome = Outcome::delivered});
    place.append(id, Expanded{{1}, {{.origin = 1, .fate = Fate::remote, .address = "dave@example.net"}}});
    place.append(id, Attempt{.recipients = {2},
                             .time = noon,
                             .host = "mx",
                             .reply = {451, "4.3.0", "Later", Stage::rcpt},
                             .next_attempt = noon + std::chrono::hours(1),
                             .failures = 2});
    place.append(id, Held{true, noon, "root", "to be looked at"});
    place.append(id, Transferring{true, "mx2", 3, noon, "root", "new disk"});
    const auto here = place.state(id);
    CHECK(here.transfer.under_way);

    const auto sent = decode(encode(transfer_envelope(here, "mx1", id, here.transfer.generation)));
    REQUIRE(sent);
    CHECK(sent->transferred->node == "mx1");
    CHECK(sent->transferred->id == id);
    CHECK(sent->transferred->generation == 3);
    const MessageState there(*sent);
    CHECK(there.recipients == here.recipients);
    CHECK(there.held);
    CHECK(there.held_why == "to be looked at");
    CHECK(there.transfer == Transferring{});

    // What happens there is told from what has happened here, and goes along to a third node.
    auto second = there;
    REQUIRE(second.apply(Held{false, noon, "root", ""}));
    const auto moved_again = transfer_envelope(second, "mx2", QueueId{99}, 1);
    const MessageState third(moved_again);
    CHECK_FALSE(third.held);
    CHECK(third.recipients == here.recipients);
    CHECK(moved_again.transferred->node == "mx2");
    CHECK(transfer_request(moved_again) == transfer_request(*sent));
    CHECK_FALSE(remaining_envelope(third).transferred);
}
