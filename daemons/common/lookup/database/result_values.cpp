#include "daemons/common/lookup/database/result_values.h"
#include <fmt/format.h>

namespace tables {

bool ResultValues::add(std::string_view value) {
    if (value.empty()) return true;
    const auto formatted = format_.expand(value, key_);
    if (!formatted || formatted->empty()) return true;
    if (limit_ != 0 && ++count_ > limit_) {
        too_many_ = true;
        return false;
    }
    if (joined_.size() + formatted->size() + 1 > most_bytes) {
        too_long_ = true;
        return false;
    }
    if (!joined_.empty()) joined_ += ',';
    joined_ += *formatted;
    return true;
}

Answer ResultValues::answer() const {
    if (too_many_)
        return Answer::unavailable(fmt::format("the result has more values than expansion_limit permits ({})", limit_));
    if (too_long_) return Answer::unavailable(fmt::format("the result has more than {} bytes", most_bytes));
    return joined_.empty() ? Answer{} : Answer::found(joined_);
}

} // namespace tables
