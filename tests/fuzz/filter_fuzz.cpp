// The operator's filter words, one a line: parsed, and if they make sense, matched against a message made of
// the same bytes. Whatever it is, it ends, and what is ruled out does not match.
#include "daemons/decide/queue/filter.h"
#include <cassert>
#include <cstddef>
#include <cstdint>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    std::vector<std::string> words;
    for (std::size_t at = 0; at <= text.size();) {
        const auto end = std::min(text.find('\n', at), text.size());
        words.emplace_back(text.substr(at, end - at));
        at = end + 1;
    }
    const auto filter = decide::queue::Filter::parse(words);
    if (!filter) {
        assert(!filter.error().empty());
        return 0;
    }
    decide::queue::Facts facts;
    facts.sender = facts.id = text.substr(0, 200);
    facts.recipients = words;
    facts.reasons = words;
    facts.lane = "bulk";
    facts.states = {"due"};
    if (filter->ruled_out(facts)) assert(!filter->matches(facts));
    return 0;
}
