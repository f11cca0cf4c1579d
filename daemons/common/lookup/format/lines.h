// The lines of a table's file in the format of Postfix's tables: empty ones and comments
// ('#') are skipped, and those that begin with a space are appended to the line before. Pure.
#pragma once
#include "daemons/common/lookup/format/contents.h"
#include "libsmtp/text/utf8.h"
#include <cstdint>
#include <string>
#include <string_view>

namespace tables {

inline constexpr std::size_t longest_line = 1 << 20; // with its continuations

std::string_view trimmed(std::string_view text);

class Lines {
public:
    // `text` and `problems` must outlive it.
    Lines(std::string_view text, Problems& problems)
        : rest_(smtp::without_byte_order_mark(text)), problems_(problems) {}

    // The next one, with neither blanks nor line ends behind it; it begins with no blank. False: there is none.
    // Lines with control characters, or longer than any may be, are skipped and said.
    bool next(std::string& line, std::uint32_t& number);

private:
    bool take(std::string_view& raw); // a raw line that is neither empty nor a comment

    std::string_view rest_;
    Problems& problems_;
    std::uint32_t number_ = 0; // of the raw line taken last
};

} // namespace tables
