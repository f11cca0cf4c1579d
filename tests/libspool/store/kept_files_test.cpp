// Readers of reused files that stay open between messages: they save opening, and change nothing of what is read and of
// who may have the file next.
#include "libspool/message/kept_files.h"
#include "libspool/message/message_reader.h"
#include "tests/libspool/store/post.h"

using namespace spool;
using namespace spool::test;

namespace {

struct Agent {
    FakeDisk disk;
    Books books;
    Post post{disk, books};
    KeptFiles files;
    explicit Agent(std::size_t most = 8) : files(disk, most) {
        prepare(disk);
        REQUIRE(post.open());
    }
    FileHint where(QueueId id) { return post.store().hint(id, Location::incoming); }
    ReadResult<MessageReader> read(QueueId id) { return MessageReader::open(files, id, where(id)); }
    // Nothing if that fails.
    std::string content_of(QueueId id, FileHint hint) {
        auto reader = MessageReader::open(files, id, hint);
        return reader ? reader->read_content().value_or("") : "";
    }
};

} // namespace

TEST_CASE("message after message in one file is read without opening it again, and the file still comes back") {
    Agent agent;
    const auto first = agent.post.accept(300);
    REQUIRE(first);
    const auto file = agent.where(*first);
    CHECK(agent.content_of(*first, file) == agent.books.at(*first).content);
    CHECK(agent.files.size() == 1);
    const auto opened = agent.disk.opened();
    QueueId last = *first;
    for (std::size_t n = 0; n < 5; ++n) {
        agent.post.deliver(last); // not locked, so it is wiped and returned
        REQUIRE(agent.post.files().free() == 1);
        const auto next = agent.post.accept(3000 - 500 * n);
        REQUIRE(next);
        CHECK(agent.where(*next).reused == file.reused);
        const auto before = agent.disk.opened();
        CHECK(agent.content_of(*next, agent.where(*next)) == agent.books.at(*next).content);
        CHECK(agent.disk.opened() == before);
        CHECK_FALSE(MessageReader::open(agent.files, last, file)); // the one before is nowhere
        CHECK(agent.content_of(*next, agent.where(*next)) == agent.books.at(*next).content);
        last = *next;
    }
    CHECK(opened > 0);
}

TEST_CASE("two deliveries of a message in a kept file have a lock each; it is overwritten when both have ended") {
    Agent agent;
    const auto id = agent.post.accept(300);
    REQUIRE(id);
    CHECK(agent.read(*id));
    REQUIRE(agent.files.size() == 1);
    {
        std::optional<ReadResult<MessageReader>> first = agent.read(*id);
        const auto second = agent.read(*id);
        REQUIRE(first->has_value());
        REQUIRE(second);
        first.reset();
        CHECK(MessageReader::open(agent.disk, *id, agent.where(*id), ReadLock::none)->held_by_another());
        agent.post.deliver(*id);
        CHECK(agent.post.files().free() == 0);
    }
    CHECK(agent.files.size() == 1); // each name once
    CHECK_FALSE(agent.read(*id));
}

TEST_CASE("a message that keeps its file is read under its own name, as a new file in its place is") {
    Agent agent;
    const auto id = agent.post.accept(300);
    REQUIRE(id);
    const auto before = agent.where(*id);
    CHECK(agent.content_of(*id, before) == agent.books.at(*id).content);
    REQUIRE(agent.files.size() == 1);
    SUBCASE("with a record") { agent.post.hold(*id); }
    SUBCASE("when it has to wait") { agent.post.wait(*id); }
    const auto own =
        path_of(*id, agent.disk.exists(path_of(*id, Location::messages)) ? Location::messages : Location::incoming);
    REQUIRE(agent.disk.exists(own));
    {
        const auto reader = MessageReader::open(agent.files, *id, before); // the order was sent before
        REQUIRE(reader);
        CHECK_FALSE(reader->file().reused.valid());
    }
    CHECK(agent.files.size() == 0);
    REQUIRE(agent.disk.unlink(own));
    CHECK_FALSE(MessageReader::open(agent.files, *id, before));
}

TEST_CASE("a damaged message in a kept file is damaged, and no more files are kept than allowed") {
    Agent agent(2);
    std::vector<QueueId> ids;
    for (int n = 0; n < 4; ++n) ids.push_back(agent.post.accept(300).value());
    for (const auto id : ids) CHECK(agent.read(id));
    CHECK(agent.files.size() == 2);
    const auto opened = agent.disk.opened();
    CHECK(agent.read(ids[3]));
    CHECK(agent.disk.opened() == opened); // those given back last are kept
    CHECK(agent.read(ids[0]));
    CHECK(agent.disk.opened() == opened + 1);
    const auto path = path_of_reused(agent.where(ids[3]).reused);
    auto bytes = agent.disk.contents(path);
    bytes[header_size + 40] ^= 1;
    agent.disk.set_contents(path, bytes);
    const auto damaged = agent.read(ids[3]);
    REQUIRE_FALSE(damaged);
    CHECK(std::holds_alternative<Damaged>(damaged.error()));
    agent.files.clear();
    CHECK(agent.files.size() == 0);
    CHECK(agent.read(ids[0]));
}
