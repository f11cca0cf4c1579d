// A store in memory: what the real one must do, in few lines, and what tests put in its place.
#pragma once
#include "daemons/common/store/store.h"
#include <map>
#include <mutex>

class MemoryStore final : public store::Store {
public:
    std::optional<spool::Error> broken; // not none: every call fails of it

    using store::Store::apply;
    spool::Result<std::optional<store::Entry>> get(std::string_view key, smtp::WallTime now) override {
        const std::lock_guard lock(mutex_);
        if (broken) return std::unexpected(*broken);
        return at(std::string(key), now);
    }
    spool::Result<std::vector<store::Outcome>> apply(std::span<const store::Change> changes, smtp::WallTime now,
                                                     store::Durable) override {
        const std::lock_guard lock(mutex_);
        if (broken) return std::unexpected(*broken);
        std::vector<store::Outcome> out;
        for (const auto& change : changes) {
            using If = store::Change::If;
            auto& outcome = out.emplace_back();
            outcome.before = at(change.key, now);
            outcome.made = change.only == If::anything || (change.only == If::absent && !outcome.before) ||
                           (change.only == If::same && outcome.before && outcome.before->value == change.same_as);
            if (!outcome.made) continue;
            entries_.erase(change.key);
            if (change.entry) entries_[change.key] = *change.entry;
        }
        return out;
    }
    spool::Result<std::vector<store::KeyedEntry>> walk(std::string_view prefix, std::string_view after,
                                                       std::size_t most, smtp::WallTime now) override {
        const std::lock_guard lock(mutex_);
        if (broken) return std::unexpected(*broken);
        std::vector<store::KeyedEntry> out;
        for (const auto& [key, entry] : entries_)
            if (out.size() < most && key.starts_with(prefix) && (after.empty() || key > after) && at(key, now))
                out.push_back({key, entry});
        return out;
    }

private:
    std::optional<store::Entry> at(const std::string& key, smtp::WallTime now) const {
        const auto found = entries_.find(key);
        if (found == entries_.end()) return {};
        const auto& entry = found->second;
        if (entry.expires != smtp::WallTime{} && entry.expires <= now) return {};
        return entry;
    }
    std::map<std::string, store::Entry> entries_;
    std::mutex mutex_;
};
