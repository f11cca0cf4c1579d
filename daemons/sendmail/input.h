// A message read from a descriptor: to its end, or to a line that is a single dot. Knows bytes only.
#pragma once
#include "daemons/sendmail/options.h"
#include "libspool/disk/result.h"
#include <cstdint>
#include <expected>
#include <string>
#include <string_view>

namespace sendmail {

// Finds the line that ends a message, whatever pieces it comes in.
class DotScanner {
public:
    // How much of `bytes` belongs to the message; less than all of it: the end has been seen.
    std::size_t feed(std::string_view bytes, std::string& message);
    bool ended() const { return ended_; }

private:
    enum class Place : std::uint8_t { line_start, dot, dot_cr, line } place_ = Place::line_start;
    bool ended_ = false;
};

// EFBIG: more than `limit` bytes.
spool::Result<std::string> read_message(int descriptor, DotHandling dots, std::uint64_t limit);

} // namespace sendmail
