// What only master may read and its workers need: certificates with their keys, and the keys for session
// tickets, which it makes, changes in time and never writes down. Handed to workers as one sealed file.
#pragma once
#include "daemons/common/config/config.h"
#include "daemons/common/fd.h"
#include "daemons/common/proto/secrets.h"
#include "libsmtp/time.h"
#include "libspool/result.h"
#include <string>
#include <vector>

namespace master {

class KeyRing {
public:
    KeyRing();

    // Reads all files the configuration names. All or nothing: after an error everything is as it was.
    spool::Result<> load(const config::Config& config, smtp::Monotonic now);
    // Have files changed, or is a ticket key old? Then the ring is new and true comes back. Files that cannot be
    // used are an error, once per change; what was read before stays in force.
    spool::Result<bool> refresh(const config::Config& config, smtp::Monotonic now);

    // To be handed down; empty until the first load().
    const common::Fd& file() const { return file_; }

private:
    struct Stamp { // what a file looked like when it was read
        std::string path;
        std::int64_t changed = 0, size = 0;
        std::uint64_t inode = 0;
        bool operator==(const Stamp&) const = default;
    };
    static std::vector<Stamp> look_at(const config::Config& config);
    bool turn_ticket_keys(const config::Tls& tls, smtp::Monotonic now);
    spool::Result<> seal();

    proto::secrets::Secrets secrets_;
    std::vector<Stamp> seen_;
    smtp::Monotonic turned_;
    common::Fd file_;
};

} // namespace master
