// Which lane and which pool mail gets because of who submits it, and which ones its submitter may ask for:
// [sender_rules]. Values; what they mean for a message is decided in common/submission/sender_rules.h.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace config {

inline constexpr std::string_view lane_names[] = {"high", "normal", "bulk"};

// "sender=@news.example.com precedence=bulk,list -> lane=bulk pool=news lanes=normal,bulk"
struct SenderRule {
    using Words = std::vector<std::string>;
    // All that are given must hold; of one condition any word.
    Words sender;     // "ann@example.com", "@example.com", in lower case
    Words submitter;  // "sasl:shop", "uid:1000", "net:192.0.2.0/24"
    Words listener;   // of [listen.<name>]; "local": programs of this host
    Words precedence; // of the header field, in lower case
    std::string lane, pool;
    std::optional<Words> lanes, pools; // what may be asked for; nothing: the rule does not say

    // Else what is wrong with it.
    static std::optional<std::string> read(std::string_view text, SenderRule& out);
    std::string to_string() const;
    bool operator==(const SenderRule&) const = default;
};

struct SenderRules { // [sender_rules]
    std::vector<SenderRule> rules;
};

} // namespace config
