// The grammar for selecting messages: words KEY=VALUE, all of which must hold; several words with the same key are
// alternatives. Parser and matcher; pure. Knows a message only as Facts; must not know where those come from.
//
//   sender=PATTERN recipient=PATTERN domain=PATTERN link=PATTERN id=PATTERN (wildcards: * and ?; "<>": null sender)
//   age=+2h age=-10m (at least, at most; s m h d w)   size=+1M size=-10K (bytes, K, M, G)
//   state=WORD lane=WORD submitter=PATTERN pool=PATTERN policy=PATTERN message-id=PATTERN
//   reason=TEXT subject=TEXT (contained in it)   all
// Case does not matter in any of them.
#pragma once
#include "libsmtp/text/time_types.h"
#include <array>
#include <cstdint>
#include <expected>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace decide::queue {

// A message as the filter sees it: only its unfinished recipients. Empty values are unknown or missing.
struct Facts {
    std::string id, sender, lane;
    std::string submitter, pool, policy, message_id, subject; // all of them in the file; pool, policy: "" the route's
    std::vector<std::string> recipients, domains, links, states, reasons;
    bool domains_known = true; // false: the recipients' domains are in the message's file
    smtp::Duration age{};
    std::uint64_t size = 0;
};

class Filter {
public:
    // The error says which word is wrong and what is expected.
    static std::expected<Filter, std::string> parse(std::span<const std::string> words);
    // The keys allowed before "=".
    static constexpr std::array<std::string_view, 15> keys = {
        "sender", "recipient", "domain",    "link", "id",     "age",        "size",   "state",
        "lane",   "reason",    "submitter", "pool", "policy", "message-id", "subject"};

    bool matches(const Facts& facts) const;
    // Does the filter need values that the queue does not hold: must the message's file be read?
    bool needs_file(const Facts& facts) const;
    // … its header, too?
    bool needs_header() const;
    // The values held by the queue itself (age, size, state, lane, link, id, domains if known) already show that it
    // does not match.
    bool ruled_out(const Facts& facts) const;

private:
    enum class Key : std::uint8_t {
        sender,
        recipient,
        domain,
        link,
        id,
        age,
        size,
        state,
        lane,
        reason,
        submitter,
        pool,
        policy,
        message_id,
        subject
    };
    struct Bound {
        bool least = true; // else at most
        std::int64_t value = 0;
    };
    struct Group { // of one key: any of these
        Key key = Key::id;
        std::vector<std::string> texts; // lower case
        std::vector<Bound> bounds;      // age: µs; size: bytes; all of them must hold
    };
    Group& group(Key key);
    static bool in_file(Key key, const Facts& facts);
    static bool holds(const Group& group, const Facts& facts);

    std::vector<Group> groups_;
};

// "2h" → 2 h. Digits and one unit of s, m, h, d, w.
std::optional<smtp::Duration> duration_word(std::string_view text);
// Does `text` match a pattern with * and ?, whatever the case? `pattern` is lower case.
bool wildcard(std::string_view pattern, std::string_view text);

} // namespace decide::queue
