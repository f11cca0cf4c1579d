// A writer and a queue-manager on one disk that forgets what was not synced, and the books of what was promised: for
// tests of files that are overwritten for one message after another. One thread, no clock.
#pragma once
#include "libspool/message/message_writer.h"
#include "libspool/store/queue_id_source.h"
#include "libspool/store/store.h"
#include "tests/libspool/disk/fake_disk.h"
#include <cstdint>
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>

namespace spool::test {

inline constexpr smtp::WallTime morning{std::chrono::seconds(1'750'000'000)};
inline constexpr OccupiedFiles::Writer connection = 3;
inline constexpr std::size_t few = 20; // entries of index/finished

struct Entry {
    std::string content;
    bool acknowledged = false;
    bool removal_asked = false; // it may be gone, and may come back
    bool removed = false;       // its file
    bool finished = false;      // its removal is in index/finished, durable: it must not come back
    bool aside_asked = false;
    bool hold_promised = false;
};
using Books = std::map<QueueId, Entry>;

// Full of its own number, so that a byte of another message shows.
inline std::string content_of(std::uint64_t number, std::size_t size) {
    std::string text = fmt::format("Subject: {}\r\n\r\n", number);
    while (text.size() < size) text += fmt::format("message {:06}\r\n", number);
    return text;
}

inline Envelope envelope_of(std::uint64_t number) {
    Envelope out;
    out.reverse_path = fmt::format("sender{}@example.org", number);
    out.recipients.push_back({.address = fmt::format("recipient{}@example.net", number)});
    return out;
}

// Of the ids that are assigned while the clock stands: one after the other.
inline const std::set<std::string>& hash_directories() {
    static std::set<std::string> out;
    if (!out.empty()) return out;
    FakeDisk disk;
    REQUIRE(prepare_spool(disk, {7}));
    const auto ids = QueueIdSource::open(disk, 7, morning);
    for (int n = 0; n < 8; ++n) out.insert(directory_of(*(*ids)->next(morning), Location::messages));
    return out;
}

// A writer and a queue-manager on one disk, on one thread.
class Post {
public:
    Post(FakeDisk& disk, Books& books)
        : disk_(disk), books_(books), finished_(disk, few), pool_(disk, 0, {}), store_(pool_, {{}, &finished_}) {}

    bool open() {
        if (!finished_.open()) return false;
        auto ids = QueueIdSource::open(disk_, 7, morning, &pool_);
        auto directory = SharedDirectory::open(disk_, "incoming/07");
        if (!ids || !directory) return false;
        ids_ = std::move(*ids);
        directory_ = std::move(*directory);
        store_.on_file_left([this](OccupiedFiles::Writer, QueueId file, bool reusable) {
            reusable ? files_.returned(file) : files_.lost(file);
        });
        return true;
    }

    // Accepted by the writer and taken over by the queue-manager.
    std::optional<QueueId> accept(std::size_t size) {
        const auto id = ids_->next(morning);
        if (!id) return {};
        const auto number = ++number_;
        auto& entry = books_[*id];
        entry.content = content_of(number, size);
        MessageWriter writer(pool_, *directory_, *id, envelope_of(number));
        writer.append(entry.content);
        const auto file = files_.lend(*id, writer.file_size().value());
        if (file) writer.commit_to(file);
        std::optional<QueueId> in;
        writer.commit([&](Result<DurableReceipt> receipt) {
            entry.acknowledged = receipt.has_value();
            if (receipt) in = receipt->reused_file();
        });
        pool_.drain();
        if (!entry.acknowledged) {
            if (file) files_.lost(file->name);
            return {};
        }
        if (in->valid()) {
            files_.passed_on(*in);
            store_.occupies(*id, *in, connection);
        }
        return *id;
    }
    void deliver(QueueId id) {
        books_.at(id).removal_asked = true;
        store_.remove(id, Location::incoming, [this, id](Result<> done) { books_.at(id).removed = done.has_value(); });
        settle();
    }
    void write_finished() {
        if (!finished_.has_unwritten() || !finished_.write()) return;
        for (auto& [id, entry] : books_)
            if (entry.removed) entry.finished = true;
    }
    void wait(QueueId id) {
        store_.take_over(id);
        settle();
    }
    void hold(QueueId id) {
        store_.append(id, Location::incoming, {Held{.held = true, .time = morning, .who = "x", .why = "test"}},
                      Sync::yes, [this, id](Result<> done) { books_.at(id).hold_promised = done.has_value(); });
        settle();
    }
    void put_aside(QueueId id) {
        books_.at(id).aside_asked = true;
        store_.quarantine(id, Location::incoming, "for the test");
        settle();
    }
    void settle() {
        while (store_.outstanding() > 0) {
            store_.flush();
            pool_.drain();
        }
        pool_.drain();
    }
    ReusableFiles& files() { return files_; }
    Store& store() { return store_; }

private:
    FakeDisk& disk_;
    Books& books_;
    FinishedMessages finished_;
    CommitPool pool_;
    Store store_;
    ReusableFiles files_{1024};
    std::unique_ptr<QueueIdSource> ids_;
    std::unique_ptr<SharedDirectory> directory_;
    std::uint64_t number_ = 0;
};

// The few directories of a spool that this day needs: all 256 of messages/ would take most of the test's time.
inline void prepare(FakeDisk& disk) {
    for (const char* path :
         {"incoming", "incoming/07", "messages", "removed", "failed", "quarantine", "quarantine/incomplete", "index"})
        REQUIRE(disk.make_directory(path, 0700));
    for (const auto& path : hash_directories()) REQUIRE(disk.make_directory(path, 0700));
    for (const char* path : {".", "incoming", "messages", "quarantine"})
        REQUIRE(disk.sync(*disk.open(path, Open::directory)));
}

} // namespace spool::test
