// Puts the parts of the categorizer's long answers together. Pure; bounded by proto::categorize::largest_answer.
#pragma once
#include "daemons/common/proto/categorize.h"
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>

namespace queue_manager {

class AnswerParts {
public:
    explicit AnswerParts(std::size_t most = proto::categorize::largest_answer) : most_(most) {}

    // The whole answer, if this is its last part. One that is beyond the bound comes out without outcomes, as one
    // that was refused.
    std::optional<proto::categorize::Categorized> add(proto::categorize::Categorized&& part);
    // The categorizer has gone: what has begun will not come to its end.
    void forget();

private:
    struct Begun {
        proto::categorize::Categorized answer;
        std::size_t size = 0;
        bool too_long = false;
    };
    std::size_t most_, size_ = 0;
    std::map<std::uint64_t, Begun> begun_;
};

} // namespace queue_manager
