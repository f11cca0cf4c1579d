// An entry of the suppression list as bytes: in this node's store, and as nodes pass it on to each other, where an
// erased entry is one, too. When it was changed is part of it: of two changes of one entry the newest wins. Pure.
#pragma once
#include "daemons/common/store/store.h"
#include "daemons/decide/message/suppression.h"
#include <optional>
#include <string>
#include <string_view>

namespace common {

// In the store. `changed`: {} where nodes share nothing; then it is when the entry was added.
store::Entry suppression_entry(const decide::Suppression& entry, smtp::WallTime changed);
// Nothing: it cannot be read.
std::optional<decide::Suppression> read_suppression(std::string_view key, const store::Entry& entry);
smtp::WallTime change_time(const store::Entry& entry); // of one that can be read

// Between nodes: 16 digits with the time of the change in µs, "P" (put), "A" (put automatically) or "E" (erased), 16
// digits with the time in µs when it expires (0: never), and of a put the bytes in the store, always with the time of
// the change. So the store compares changes without knowing them.
struct SharedSuppression {
    smtp::WallTime changed{}, expires{};
    std::string entry; // "": erased
    bool automatic = false;

    static constexpr std::size_t longest = 4096;
    static SharedSuppression of(const store::Entry& entry);
    static SharedSuppression erased(smtp::WallTime changed);
    std::string text() const;
    // Whether it stays of the two: what an operator has put before what was put automatically, as long as it has not
    // expired, otherwise the newest.
    bool replaces(const SharedSuppression& other, smtp::WallTime now) const;
    // Nothing: it is none.
    static std::optional<SharedSuppression> parse(std::string_view text);
};

// How long an erasure is remembered, and passed on to other nodes.
inline constexpr smtp::Duration erasure_remembered = std::chrono::hours(30 * 24);

} // namespace common
