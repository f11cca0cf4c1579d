// The part of a suppression list that other nodes need: what was changed here and is not shared yet, what was erased,
// and how far the changes of others have been applied. It lies in the store of the list, so that it changes together
// with the entries. Knows the store; must not know how nodes reach each other. One writer at a time.
#pragma once
#include "daemons/common/store/store.h"
#include "daemons/common/store/suppression_record.h"
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace common {

class SuppressionExchange {
public:
    // Behind it the entries begin: no key of one is lower.
    static constexpr std::string_view before_entries = "\x02";
    static constexpr std::size_t longest_key = store::longest_key - 2; // of an entry that is shared

    static constexpr smtp::Duration furthest = std::chrono::hours(24);

    struct Change {
        std::string key, value; // value: SharedSuppression
        bool operator==(const Change&) const = default;
    };
    struct Position {
        std::string store; // which one, and since when it runs; "": none yet
        std::uint64_t cursor = 0;
        bool operator==(const Position&) const = default;
    };
    struct Merged {
        std::vector<decide::Suppression> added, removed;
        std::size_t fresh = 0;  // of those added: there was none before
        std::size_t future = 0; // not taken: changed more than `furthest` ahead of this node's clock
    };

    explicit SuppressionExchange(store::Store& store) : store_(store) {}

    // The changes of the store for entries that are put or erased here and are to be shared. An entry that does not
    // exist is not erased; `existed` has one for each.
    spool::Result<std::vector<store::Change>> put(std::span<const decide::Suppression> entries,
                                                  smtp::WallTime now) const;
    spool::Result<std::vector<store::Change>> erase(std::span<const decide::Suppression> entries, smtp::WallTime now,
                                                    std::vector<bool>& existed) const;

    // Changes of this node that are not shared yet, at most `most`, in the order of their keys, after `after`.
    spool::Result<std::vector<Change>> unsent(std::string_view after, std::size_t most, smtp::WallTime now) const;
    // How many there are, as far as `most`.
    spool::Result<std::size_t> count_unsent(std::size_t most, smtp::WallTime now) const;
    // They are shared now: those that were not changed meanwhile are no longer waiting.
    spool::Result<> sent(std::span<const Change> changes, smtp::WallTime now);
    // All entries and erasures, as changes; `after` as in SuppressionList::walk(), at first "". If it is as before,
    // there are no more.
    spool::Result<std::vector<Change>> all(std::string& after, std::size_t most, smtp::WallTime now) const;
    // Applies changes of other nodes where they replace what is here. `refuse`: entries that are not taken here. With
    // the position, everything up to there has been applied.
    using Refuse = std::function<bool(const decide::Suppression&)>;
    spool::Result<Merged> merge(std::span<const Change> changes, const std::optional<Position>& position,
                                const Refuse& refuse, smtp::WallTime now);
    spool::Result<Position> position(smtp::WallTime now) const;
    // This node shares nothing now: nothing but the entries remains, and when it does so again, all are compared.
    spool::Result<> forget(smtp::WallTime now);

private:
    // When the entry was changed last, also if it was erased; {}: never.
    spool::Result<smtp::WallTime> last_change(const std::string& key, smtp::WallTime now) const;
    // The entry or, if there is none, its erasure; nothing: neither.
    spool::Result<std::optional<SharedSuppression>> kept(const std::string& key, smtp::WallTime now) const;
    void note(std::vector<store::Change>& out, const std::string& key, smtp::WallTime changed) const;

    store::Store& store_;
};

} // namespace common
