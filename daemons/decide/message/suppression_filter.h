// The words by which entries of the suppression list are chosen, KEY=VALUE as everywhere else: all must hold,
// several of one key are alternatives. Pure.
//
//   recipient=PATTERN domain=PATTERN who=PATTERN   * and ? are wildcards
//   sender=PATTERN pool=PATTERN lane=PATTERN   the mail that an entry is for; sender= (nothing): not for one sender's
//   reason=TEXT   somewhere in the reason or in the server's reply
//   age=+30d age=-1h   on the list for at least, at most (s m h d w)      kind=automatic kind=manual
//   all
#pragma once
#include "daemons/decide/message/suppression.h"
#include <expected>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace decide {

class SuppressionFilter {
public:
    // The error says which word is wrong and what would be right. No words: everything.
    static std::expected<SuppressionFilter, std::string> parse(std::span<const std::string> words);
    bool matches(const Suppression& entry, smtp::WallTime now) const;

private:
    enum class Key : std::uint8_t { recipient, domain, sender, pool, lane, who, reason, age, kind };
    struct Word {
        Key key = Key::recipient;
        std::string text;   // lower case
        bool least = false; // age
        smtp::Duration age{};
    };
    std::vector<Word> words_;
};

} // namespace decide
