// Limits of the drop directory while Postrider is not running. Pickup writes them to a
// file there, for the helper that stores mail without configuration or arguments; and
// the rules themselves: a share for each user, and the disk's minimum of free space.
#pragma once
#include "libspool/disk/reserve.h"
#include "libspool/disk/result.h"
#include <cstdint>
#include <string>
#include <sys/types.h>

namespace common {

struct DropLimits {
    std::uint64_t message_size = std::uint64_t{50} << 20;
    spool::Floor floor;
    std::uint64_t user_bytes = std::uint64_t{100} << 20; // of one user's files together
    std::uint32_t user_messages = 1000;
};

inline constexpr char drop_limits_file[] = ".limits"; // in the directory; pickup takes no such name for a submission

// As the text of that file, and back; what cannot be understood is as it is by default.
std::string text_of(const DropLimits& limits);
DropLimits drop_limits_in(const std::string& text);

// Written by the directory's owner.
spool::Result<> publish_drop_limits(const std::string& directory, const DropLimits& limits);
// `directory`: an open descriptor of it. Believed of its owner and of root only; else, or where there is none, the
// defaults.
DropLimits published_drop_limits(int directory);

// Would `more` bytes leave the disk its floor, and has `user` still room for them beside what lies there already?
// Nothing, or an Error that says what is too much. Root has no share.
spool::Result<> room_in_drop(int directory, const DropLimits& limits, uid_t user, std::uint64_t more);

} // namespace common
