// Which reused file each accepted message is in, for the queue-manager, and to which writer each file is to be returned
// when its message is finished. Only what this knows to belong to a living writer's connection is ever returned. Knows
// names; does no I/O. For one thread.
#pragma once
#include "libspool/format/layout.h"
#include "libspool/format/queue_id.h"
#include <cstdint>
#include <unordered_map>
#include <vector>

namespace spool {

class OccupiedFiles {
public:
    // A connection of a writer; 0: none, so the file is removed with its message.
    using Writer = std::uint64_t;

    struct Occupied {
        QueueId file;
        Writer writer = 0;
    };

    void occupy(QueueId message, const Occupied& by) {
        by_message_.insert_or_assign(message, by);
        by_file_.insert_or_assign(by.file, message);
    }
    // Null: it is in none.
    const Occupied* find(QueueId message) const {
        const auto found = by_message_.find(message);
        return found == by_message_.end() ? nullptr : &found->second;
    }
    // The message is no longer there.
    Occupied leave(QueueId message) {
        const auto found = by_message_.extract(message);
        if (found.empty()) return {};
        by_file_.erase(found.mapped().file);
        return found.mapped();
    }
    // The writer has a new connection, and still counts on this file. False: no message is known to be in it.
    bool belongs_to(QueueId file, Writer writer) {
        const auto message = by_file_.find(file);
        if (message == by_file_.end()) return false;
        by_message_.at(message->second).writer = writer;
        return true;
    }
    // It has closed its connection: its files are removed with their messages.
    void writer_left(Writer writer) {
        for (auto& [message, by] : by_message_)
            if (by.writer == writer) by.writer = 0;
    }
    std::vector<QueueId> messages() const {
        std::vector<QueueId> out;
        for (const auto& [message, by] : by_message_) out.push_back(message);
        return out;
    }
    std::size_t size() const { return by_message_.size(); }

private:
    std::unordered_map<QueueId, Occupied> by_message_;
    std::unordered_map<QueueId, QueueId> by_file_;
};

} // namespace spool
