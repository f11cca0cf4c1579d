// Which file a name in the pickup directory stands for, and in which state: another file of that name is another one,
// and so is one that was written, linked, renamed or got another mode since. Users cannot set the time of the last
// change. A value.
#pragma once
#include "daemons/decide/message/idempotency.h"
#include <cstdint>
#include <fmt/format.h>
#include <string>
#include <sys/stat.h>

namespace pickup {

struct FileIdentity {
    std::uint64_t device = 0, number = 0;
    std::int64_t changed_s = 0, changed_ns = 0;
    std::uint64_t size = 0;

    static FileIdentity of(const struct stat& st) {
        return {st.st_dev, st.st_ino, st.st_ctim.tv_sec, st.st_ctim.tv_nsec, static_cast<std::uint64_t>(st.st_size)};
    }
    // Of its message, unless that has one of its own.
    std::string idempotency_key() const {
        return fmt::format("{}{:x}/{:x}.{:x}/{:x}", decide::idempotency::own_key_prefix, number, changed_s, changed_ns,
                           size);
    }
    bool operator==(const FileIdentity&) const = default;
};

} // namespace pickup
