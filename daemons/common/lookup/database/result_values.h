// The values that a query returns for a key, formatted and joined into one result. Pure.
#pragma once
#include "daemons/common/lookup/database/template.h"
#include "daemons/common/lookup/format/answer.h"

namespace tables {

class ResultValues {
public:
    static constexpr std::size_t most_bytes = 90'000;

    // `limit`: the most values; 0 none. `format` and `key` must outlive it.
    ResultValues(const Template& format, std::string_view key, std::size_t limit)
        : format_(format), key_(key), limit_(limit) {}

    // Empty ones, and those without a part that the format names, are skipped. False: the result is too large.
    bool add(std::string_view value);
    // None, if there are no values; unavailable, if there are too many.
    Answer answer() const;

private:
    const Template& format_;
    std::string_view key_;
    std::size_t limit_, count_ = 0;
    std::string joined_;
    bool too_many_ = false, too_long_ = false;
};

} // namespace tables
