// The parsed text of a table's file: read once, queried often, and
// never changed, so that it can be read on another thread. Pure.
#pragma once
#include "daemons/common/lookup/format/answer.h"
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace tables {

// A line that was skipped, or is odd.
struct Problem {
    std::uint32_t line = 0; // 0: of the file as a whole
    std::string message;
    bool operator==(const Problem&) const = default;
};

class Problems {
public:
    static constexpr std::size_t most = 20; // further ones are only counted
    void add(std::uint32_t line, std::string message) {
        if (++count_ <= most) first_.push_back({line, std::move(message)});
    }
    const std::vector<Problem>& first() const { return first_; }
    std::size_t count() const { return count_; }

private:
    std::vector<Problem> first_;
    std::size_t count_ = 0;
};

class TableContents {
public:
    virtual ~TableContents() = default;
    // Never not_yet. The `why` says nothing of the table's name.
    virtual Answer find(std::string_view key) const = 0;
    virtual std::size_t entries() const = 0;

    const Problems& problems() const { return problems_; }

protected:
    Problems problems_;
};

// Reads a text; of whatever it is, something comes.
using Read = std::unique_ptr<const TableContents> (*)(std::string_view text);

} // namespace tables
