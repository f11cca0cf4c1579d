// Masquerading in the header of a message: what is replaced, and what is said of fields that stay.
#include "daemons/common/rewriting/header_masquerade.h"
#include "libspool/disk/real_disk.h"
#include "libspool/store/store.h"
#include "tests/temporary_directory.h"
#include <doctest/doctest.h>

namespace {

struct MasqueradeWorld {
    explicit MasqueradeWorld(const std::string& header) {
        disk = std::move(*spool::RealDisk::open_at(directory.path() / "spool"));
        REQUIRE(spool::prepare_spool(*disk, {1}));
        pool.emplace(*disk, 0, [] {});
        shared = std::move(*spool::SharedDirectory::open(*disk, "incoming/01"));
        envelope.recipients = {{.address = "bob@example.net"}};
        writer.emplace(*pool, *shared, spool::QueueId{0x101}, envelope, spool::WriterOptions{65536, 65536});
        writer->append(header + "\r\nbody\r\n");
        milter::Message message(*writer, envelope);
        bool loaded = false;
        message.load([&](const spool::Result<>& done) { loaded = done.has_value(); });
        REQUIRE(loaded);
        decide::MasqueradeRules rules;
        rules.domains = {"test.example"};
        why = common::masquerade_header(rules, {}, message);
        for (const auto& field : message.fields()) fields += field;
    }

    TemporaryDirectory directory{"spool"};
    std::unique_ptr<spool::RealDisk> disk;
    std::optional<spool::CommitPool> pool;
    std::unique_ptr<spool::SharedDirectory> shared;
    spool::Envelope envelope;
    std::optional<spool::MessageWriter> writer;
    std::string why, fields;
};

} // namespace

TEST_CASE("masquerading a header says which fields stay as they are, and why") {
    const MasqueradeWorld plain("From: ann@host.test.example\r\nTo: <>, b@x.test.example\r\n");
    CHECK(plain.fields == "From: ann@test.example\r\nTo: <>, b@test.example\r\n");
    CHECK(plain.why == "");

    const std::string odd("To: ann@host.test.example (\0)\r\n", 31);
    const MasqueradeWorld refused("From: ann@host.test.example\r\n" + odd);
    CHECK(refused.fields == "From: ann@test.example\r\n" + odd);
    CHECK(refused.why == "To is not a valid header field");

    const MasqueradeWorld unreadable("From: a@h.test.example b@h.test.example\r\nCc: c@h.test.example\r\n");
    CHECK(unreadable.fields == "From: a@h.test.example b@h.test.example\r\nCc: c@test.example\r\n");
    CHECK(unreadable.why == "From is not a list of addresses: expected a comma");
}
