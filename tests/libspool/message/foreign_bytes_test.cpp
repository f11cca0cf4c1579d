// One reused file on a real disk gets message after message while others read, without any rule that would keep the
// writer from overwriting what they read: verification alone must keep each message's bytes apart.
#include "libspool/disk/real_disk.h"
#include "libspool/message/message_reader.h"
#include "libspool/message/message_writer.h"
#include "libspool/store/store.h"
#include "tests/temporary_directory.h"
#include <atomic>
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <string>
#include <thread>
#include <vector>

using namespace spool;

namespace {

constexpr std::uint64_t messages = 3000;
QueueId id_of(std::uint64_t number) { return QueueId{(1000 + number) << 8 | 7}; }

std::string content_of(std::uint64_t number) {
    std::string text = fmt::format("Subject: {}\r\n\r\n", number);
    const auto size = 200 + number * 997 % 20'000; // of different lengths: the end of another one lies behind most
    while (text.size() < size) text += fmt::format("message {:06}\r\n", number);
    return text;
}

} // namespace

TEST_CASE("readers of a file that is overwritten under them see whole messages, and only their own") {
    TemporaryDirectory directory;
    auto disk = RealDisk::open_at(directory.path().string());
    REQUIRE(disk);
    REQUIRE(prepare_spool(**disk, {7}));
    CommitPool pool(**disk, 0, {});
    auto shared = SharedDirectory::open(**disk, "incoming/07");
    REQUIRE(shared);
    const auto file = std::make_shared<ReusableFile>(id_of(0), File());

    std::atomic<std::uint64_t> current{0};
    std::atomic<bool> ended{false};
    std::atomic<std::uint64_t> whole{0}, nothing{0}, wrong{0};
    enum class Opens { each_time, once };
    const auto read = [&](Opens how) {
        KeptFiles files(**disk, 1);
        const FileHint there{Location::incoming, id_of(0)};
        while (!ended) {
            const auto number = current.load();
            auto reader = how == Opens::once ? MessageReader::open(files, id_of(number), there)
                                             : MessageReader::open(**disk, id_of(number), there, ReadLock::none);
            if (!reader) { // overwritten meanwhile: it is nowhere
                const auto* error = std::get_if<Error>(&reader.error());
                ++(error && error->code == ENOENT ? nothing : wrong);
                continue;
            }
            const auto content = reader->read_content();
            const bool own = content && *content == content_of(number) &&
                             reader->envelope().reverse_path == fmt::format("s{}@example.org", number);
            ++(own ? whole : wrong);
        }
    };
    std::vector<std::thread> readers;
    for (const auto how : {Opens::each_time, Opens::each_time, Opens::once}) readers.emplace_back(read, how);
    for (std::uint64_t number = 0; number < messages; ++number) {
        Envelope envelope;
        envelope.reverse_path = fmt::format("s{}@example.org", number);
        envelope.recipients.push_back({.address = "r@example.net"});
        MessageWriter writer(pool, **shared, id_of(number), envelope);
        writer.append(content_of(number));
        writer.commit_to(file);
        bool durable = false;
        writer.commit([&](Result<DurableReceipt> receipt) { durable = receipt.has_value(); });
        pool.drain();
        REQUIRE(durable);
        current = number;
    }
    ended = true;
    for (auto& reader : readers) reader.join();
    CHECK(wrong == 0);
    CHECK(whole > 0);
}
