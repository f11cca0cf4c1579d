#include "daemons/queue-manager/conversion/answer_parts.h"
#include <fmt/format.h>
#include <iterator>
#include <utility>

namespace queue_manager {

using proto::categorize::Categorized;

std::optional<Categorized> AnswerParts::add(Categorized&& part) {
    const auto before = begun_.find(part.request);
    if (before == begun_.end() && !part.more) return std::move(part); // nearly all of them
    auto& begun = begun_[part.request];
    begun.answer.request = part.request;
    std::size_t size = 0;
    for (const auto& outcome : part.outcomes) size += proto::categorize::size_of(outcome);
    if (begun.too_long || size_ + size > most_) {
        begun.too_long = true;
        begun.answer.outcomes = {};
        begun.answer.refused = fmt::format("its recipients expand to more than {} MiB of addresses", most_ >> 20);
        size_ -= std::exchange(begun.size, 0);
    } else {
        auto& all = begun.answer.outcomes;
        all.insert(all.end(), std::make_move_iterator(part.outcomes.begin()),
                   std::make_move_iterator(part.outcomes.end()));
        begun.size += size;
        size_ += size;
    }
    if (part.more) return {};
    size_ -= begun.size;
    return std::move(begun_.extract(part.request).mapped().answer);
}

void AnswerParts::forget() {
    begun_.clear();
    size_ = 0;
}

} // namespace queue_manager
