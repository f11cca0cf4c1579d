// A message under review, by itself: its header read from memory and from the disk, and edited.
#include "daemons/common/filters/milter/message.h"
#include "libspool/disk/real_disk.h"
#include "libspool/message/message_reader.h"
#include "libspool/store/store.h"
#include "tests/temporary_directory.h"
#include <doctest/doctest.h>

using milter::Message;
using What = spool::FieldEdit::What;

namespace {

const std::string header = "Received: by mx.test; now\r\nFrom: ann@example.org\r\nSubject: one\r\n";

// A message whose content has come; from `max_buffered` bytes on it lies on the disk.
struct World {
    explicit World(std::size_t max_buffered, const std::string& content = header + "\r\nfirst line\r\n") {
        disk = std::move(*spool::RealDisk::open_at(directory.path() / "spool"));
        REQUIRE(spool::prepare_spool(*disk, {1}));
        pool.emplace(*disk, 0, [] {});
        shared = std::move(*spool::SharedDirectory::open(*disk, "incoming/01"));
        envelope.reverse_path = "ann@example.org";
        envelope.recipients = {{.address = "bob@example.net"}, {.address = "eve@example.net"}};
        writer.emplace(*pool, *shared, spool::QueueId{0x101}, envelope,
                       spool::WriterOptions{max_buffered, max_buffered});
        writer->append(content);
        message.emplace(*writer, envelope);
    }
    // How many fields whoever asks for the header is shown.
    void load(const std::string& who) {
        message->load([this, who](const spool::Result<>& loaded) {
            REQUIRE(loaded);
            told.push_back(who + " " + std::to_string(message->fields().size()));
        });
    }
    std::string committed() {
        message->seal();
        bool durable = false;
        writer->commit([&](spool::Result<spool::DurableReceipt> receipt) { durable = receipt.has_value(); });
        pool->drain();
        REQUIRE(durable);
        auto reader = spool::MessageReader::open(*disk, spool::QueueId{0x101}, spool::Location::incoming);
        REQUIRE(reader);
        return reader->read_content().value();
    }

    TemporaryDirectory directory{"spool"};
    std::unique_ptr<spool::RealDisk> disk;
    std::optional<spool::CommitPool> pool;
    std::unique_ptr<spool::SharedDirectory> shared;
    spool::Envelope envelope;
    std::optional<spool::MessageWriter> writer;
    std::optional<Message> message;
    std::vector<std::string> told;
};
using Told = std::vector<std::string>;
constexpr std::size_t in_memory = 1024 * 1024, on_disk = 16;

} // namespace

TEST_CASE("a header in memory is there at once") {
    World w(in_memory);
    w.load("one");
    CHECK(w.told == Told{"one 3"});
    CHECK(w.message->is_own(0));
}

TEST_CASE("a header on the disk: all who ask are told once it is there, and nobody before") {
    World w(on_disk);
    w.load("one");
    w.load("two");
    CHECK(w.told.empty());
    w.pool->drain();
    CHECK(w.told == Told{"one 3", "two 3"});
    w.load("three");
    CHECK(w.told == Told{"one 3", "two 3", "three 3"});
}

TEST_CASE("a header on the disk that is longer than one reading") {
    std::string content = "Received: by mx.test; now\r\n";
    for (int i = 0; i < 3'000; ++i) content += "X-Long: " + std::string(200, 'x') + "\r\n";
    World w(on_disk, content + "\r\nbody\r\n");
    w.load("one");
    for (int i = 0; i < 10 && w.told.empty(); ++i) w.pool->drain();
    CHECK(w.told == Told{"one 3001"});
    std::string body;
    w.message->read_body(2, 100, [&](spool::Result<std::string> piece) { body = *piece; });
    w.pool->drain();
    CHECK(body == "dy\r\n");
}

TEST_CASE("what comes from the disk when the message has been given up or sealed concerns nobody") {
    SUBCASE("given up") {
        World w(on_disk);
        w.load("one");
        w.message->read_body(0, 100, [&](spool::Result<std::string>) { w.told.emplace_back("body"); });
        w.message.reset();
        w.pool->drain();
        CHECK(w.told.empty());
    }
    SUBCASE("sealed, and committed without those who ask") {
        const auto content = header + "X-Long: " + std::string(300'000, 'x') + "\r\n\r\nbody\r\n";
        World w(on_disk, content);
        w.load("one");
        w.message->read_body(0, 100, [&](spool::Result<std::string>) { w.told.emplace_back("body"); });
        CHECK(w.committed() == content);
        CHECK(w.told.empty());
    }
}

TEST_CASE("edits count the fields as those before have left them, and know our own Received field") {
    World w(in_memory);
    w.load("one");
    CHECK(w.message->edit({What::insert, 0, "X-Top: a\r\n"}));
    CHECK(w.message->is_own(1));
    CHECK(w.message->edit({What::remove, 2, ""})); // From
    CHECK(w.message->edit({What::replace, 2, "Subject: two\r\n"}));
    CHECK(w.message->edit({What::remove, 0, ""})); // X-Top
    CHECK(w.message->is_own(0));
    CHECK(w.message->edit({What::insert, 99, "X-Last: z\r\n"}));
    CHECK(w.message->fields() ==
          std::vector<std::string>{"Received: by mx.test; now\r\n", "Subject: two\r\n", "X-Last: z\r\n"});
    CHECK(w.message->edit({What::replace, 0, "X-Was: ours\r\n"}));
    CHECK_FALSE(w.message->is_own(0)); // and filters are shown it
    CHECK(w.committed() == "X-Was: ours\r\nSubject: two\r\nX-Last: z\r\n\r\nfirst line\r\n");
}

TEST_CASE("an edit that makes no sense changes nothing") {
    World w(in_memory);
    w.load("one");
    for (const auto& edit :
         {spool::FieldEdit{What::remove, 3, ""}, spool::FieldEdit{What::replace, 3, "A: b\r\n"},
          spool::FieldEdit{What::insert, 0, "no field\r\n"}, spool::FieldEdit{What::replace, 0, "A: b\r\nC: d\r\n"},
          spool::FieldEdit{What::insert, 0, "A: b\r\n\r\n"}})
        CHECK_FALSE(w.message->edit(edit));
    CHECK(w.committed() == header + "\r\nfirst line\r\n");
}

TEST_CASE("a message goes elsewhere, if that is an address") {
    World w(in_memory);
    CHECK_FALSE(w.message->redirect("two words@example.org"));
    CHECK(w.envelope.recipients.size() == 2);
    CHECK(w.message->redirect("carol@example.org"));
    REQUIRE(w.envelope.recipients.size() == 1);
    CHECK(w.envelope.recipients[0].address == "carol@example.org");
}
