// Header edits: applied in order, recorded with one sync, read by everybody as one edited content.
#include "libspool/format/edits.h"
#include "libspool/message/message_reader.h"
#include "libspool/message/message_writer.h"
#include "libspool/store/store.h"
#include "tests/libspool/disk/fake_disk.h"
#include <doctest/doctest.h>

using namespace spool;
using spool::test::FakeDisk;
using What = FieldEdit::What;

namespace {

constexpr std::string_view header = "A: 1\r\nB: 2\r\n folded\r\nC: 3\r\n\r\n";

std::string edited(std::vector<FieldEdit> changes) {
    auto out = edited_header(header, changes);
    return out ? *out : "refused: " + out.error();
}

const QueueId id{(std::uint64_t{500} << 8) | 3};

// A message as a filter left it.
struct Message {
    explicit Message(const WriterOptions& options = {}) : options_(options) {
        REQUIRE(prepare_spool(disk, {3}));
        auto opened = SharedDirectory::open(disk, directory_of(id, Location::incoming));
        REQUIRE(opened);
        directory = std::move(*opened);
        envelope.reverse_path = "ann@example.org";
        envelope.recipients.resize(1);
        envelope.recipients[0].address = "bob@example.net";
        writer.emplace(pool, *directory, id, envelope, options_);
    }
    void edit(std::string_view whole, std::vector<FieldEdit> changes) {
        envelope.edits = {whole.find("\r\n\r\n") + 4, std::move(changes)};
        const auto now = edited_header(whole.substr(0, envelope.edits.header_size), envelope.edits.changes);
        REQUIRE(now);
        writer->set_envelope(envelope, *now);
    }
    void commit() {
        writer->commit([&](Result<DurableReceipt> done) {
            REQUIRE(done);
            receipt_size = done->size();
        });
        pool.drain();
        REQUIRE(receipt_size);
    }
    MessageReader read() {
        auto reader = MessageReader::open(disk, id, Location::incoming);
        if (!reader) FAIL(text_of(reader.error()));
        return std::move(*reader);
    }

    WriterOptions options_;
    FakeDisk disk;
    CommitPool pool{disk, 0, {}};
    std::unique_ptr<SharedDirectory> directory;
    Envelope envelope;
    std::optional<MessageWriter> writer;
    std::optional<std::uint64_t> receipt_size;
};

std::string body_of(std::size_t size) {
    std::string body;
    for (int n = 0; body.size() < size; ++n) body += "line " + std::to_string(n) + "\r\n";
    return body;
}

// Read in pieces of every kind, the content is this.
void check_content(MessageReader reader, const std::string& expected) {
    CHECK(reader.size() == expected.size());
    CHECK(reader.read_content() == expected);
    const auto end = expected.find("\r\n\r\n") + 2;
    CHECK(reader.read_header() == expected.substr(0, end));
    CHECK(reader.content().body_offset == end + 2);
    if (reader.is_small()) CHECK(reader.small_content() == expected);
    for (const std::size_t step : {1, 7, 100, 4096}) {
        std::string all;
        while (all.size() < expected.size()) {
            const auto piece = reader.piece(all.size(), step);
            REQUIRE(piece);
            REQUIRE_FALSE(piece->empty());
            all += *piece;
        }
        CHECK(all == expected);
    }
}

} // namespace

TEST_CASE("edits are applied in order, by the numbers as they are then") {
    CHECK(edited({}) == header);
    CHECK(edited({{What::insert, 0, "X: 0\r\n"}}) == "X: 0\r\nA: 1\r\nB: 2\r\n folded\r\nC: 3\r\n\r\n");
    CHECK(edited({{What::insert, 3, "X: 0\r\n"}}) == "A: 1\r\nB: 2\r\n folded\r\nC: 3\r\nX: 0\r\n\r\n");
    CHECK(edited({{What::insert, 99, "X: 0\r\n"}}) == "A: 1\r\nB: 2\r\n folded\r\nC: 3\r\nX: 0\r\n\r\n");
    CHECK(edited({{What::remove, 1, ""}, {What::replace, 1, "D: 4\r\n"}}) == "A: 1\r\nD: 4\r\n\r\n");
    CHECK(edited({{What::insert, 0, "X: 0\r\n"}, {What::remove, 0, ""}}) == header);
    CHECK(edited({{What::replace, 1, "B: new\r\n\tfolded\r\n"}}) == "A: 1\r\nB: new\r\n\tfolded\r\nC: 3\r\n\r\n");
    CHECK(edited({{What::remove, 0, ""}, {What::remove, 0, ""}, {What::remove, 0, ""}}) == "\r\n");
}

TEST_CASE("what is no edit is refused as a whole") {
    for (const auto& odd : std::vector<FieldEdit>{{What::remove, 3, ""},
                                                  {What::replace, 3, "X: 0\r\n"},
                                                  {What::insert, 0, "X: 0"},
                                                  {What::insert, 0, ""},
                                                  {What::insert, 0, "no field\r\n"},
                                                  {What::insert, 0, "X: 0\r\nY: 1\r\n"},
                                                  {What::insert, 0, "X: 0\r\n\r\n"},
                                                  {What::insert, 0, "X: 0\n"},
                                                  {What::insert, 0, "X: 0\rY: 1\r\n"},
                                                  {What::replace, 0, " folded\r\n"}}) {
        CHECK(edited({odd}).starts_with("refused"));
        Envelope envelope;
        envelope.edits = {10, {odd}};
        if (odd.text != "" && odd.text != "X: 0\r\n") CHECK_FALSE(decode(encode(envelope)));
    }
}

TEST_CASE("a small and a large message, edited: one content for every reader, and the log behind it") {
    for (const std::size_t size : {100, 3000, 200'000}) {
        CAPTURE(size);
        Message message({.max_buffered = 1000, .piece = 500});
        const auto content = std::string(header) + body_of(size);
        for (std::size_t at = 0; at < content.size(); at += 300)
            message.writer->append(std::string_view(content).substr(at, 300));
        message.edit(content, {{What::insert, 0, "X-Long: " + std::string(200, 'x') + "\r\n"},
                               {What::replace, 2, "B: \xc3\xa9\r\n"},
                               {What::insert, 99, "Z: last\r\n"}});
        message.commit();
        const auto expected =
            "X-Long: " + std::string(200, 'x') + "\r\nA: 1\r\nB: \xc3\xa9\r\nC: 3\r\nZ: last\r\n\r\n" + body_of(size);
        CHECK(message.receipt_size == expected.size());
        auto reader = message.read();
        CHECK(reader.envelope() == message.envelope);
        CHECK(reader.content().longest_line == 208);
        CHECK(reader.content().eight_bit_header);
        CHECK(reader.content().eight_bit);
        check_content(message.read(), expected);

        Store store(message.pool, {.log = {.log_limit = 2000, .long_log = 1000}});
        for (int n = 0; n < 100; ++n)
            store.append(id, Location::incoming,
                         {Attempt{{0}, {}, std::string(100, 'h'), {}, Outcome::deferred, false, {}, 1}}, Sync::yes);
        while (store.outstanding() > 0) {
            store.flush();
            message.pool.drain();
        }
        CHECK(message.read().state().recipients[0].tries == 100);
        check_content(message.read(), expected);
    }
}

TEST_CASE("flags are those of the edited view") {
    Message message;
    const std::string content = "A: \xc3\xa9\r\nB: " + std::string(500, 'x') + "\r\n\r\nbody\r\n";
    message.writer->append(content);
    message.edit(content, {{What::remove, 0, ""}, {What::replace, 0, "B: short\r\n"}});
    message.commit();
    const auto reader = message.read();
    CHECK_FALSE(reader.content().eight_bit);
    CHECK_FALSE(reader.content().eight_bit_header);
    CHECK(reader.content().longest_line == 8);
}

TEST_CASE("a content replaced before the commit is the content; nothing of the old one is read") {
    for (const std::size_t size : {100, 3000, 200'000}) {
        CAPTURE(size);
        Message message({.max_buffered = 1000, .piece = 500});
        message.writer->append(std::string(header) + body_of(size));
        message.writer->start_over();
        const auto content = std::string(header) + body_of(size / 2) + "replaced\r\n";
        for (std::size_t at = 0; at < content.size(); at += 300)
            message.writer->append(std::string_view(content).substr(at, 300));
        message.edit(content, {{What::insert, 0, "X: 0\r\n"}});
        message.commit();
        check_content(message.read(), "X: 0\r\n" + content);
    }
}

TEST_CASE("content is read back while it is written") {
    for (const std::size_t size : {100, 3000, 200'000}) {
        Message message({.max_buffered = 1000, .piece = 500});
        const auto content = std::string(header) + body_of(size);
        message.writer->append(content);
        std::string all;
        bool end = false;
        while (!end) {
            message.writer->read(all.size(), 777, [&](Result<std::string> piece) {
                REQUIRE(piece);
                end = piece->empty();
                all += *piece;
            });
            message.pool.drain();
        }
        CHECK(all == content);
        CHECK((message.writer->at_hand() != nullptr) == (content.size() <= 1000));
        message.commit();
        check_content(message.read(), content);
    }
}

TEST_CASE("a changed byte of the stored content is noticed through the edits") {
    for (const std::size_t size : {100, 200'000}) {
        Message message({.max_buffered = 1000, .piece = 500});
        const auto content = std::string(header) + body_of(size);
        message.writer->append(content);
        message.edit(content, {{What::insert, 0, "X: 0\r\n"}, {What::remove, 1, ""}});
        message.commit();
        const auto path = path_of(id, Location::incoming);
        const auto whole = message.disk.contents(path);
        for (const auto* victim : {"A: 1", "C: 3", "line 3"}) {
            auto changed = whole;
            changed[changed.find(victim) + 3] ^= 1;
            message.disk.set_contents(path, changed);
            auto reader = message.read();
            CHECK_FALSE(reader.read_content());
            if (reader.is_small()) CHECK_FALSE(reader.small_content());
        }
    }
}
