// Results for the queue-manager, in messages that fit: long answers are cut into parts, which are made when the
// connection takes them. Knows no connection.
#pragma once
#include "daemons/common/proto/categorize.h"
#include "libspool/delivery/resolved_recipient.h"
#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <vector>

namespace categorizer {

class AnswerSplitter {
public:
    void add(std::uint64_t request, std::vector<spool::ResolvedRecipient>&& recipients);
    // There is no answer to that question; sends nothing more for it.
    void refuse(std::uint64_t request, std::string why);
    bool empty() const { return answers_.empty(); }
    // The next message; not when empty. Long answers take turns.
    proto::categorize::Categorized next();

private:
    struct Answer {
        std::uint64_t request = 0;
        std::vector<spool::ResolvedRecipient> recipients;
        std::size_t sent = 0; // number of them sent
        std::string refused;
    };
    std::deque<Answer> answers_;
};

} // namespace categorizer
