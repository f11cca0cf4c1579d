// What only master may read and its workers need: certificates with their keys, our accounts elsewhere, and the keys
// for session tickets, which it makes, rotates and never writes down. Passed to the workers of a role as one sealed
// file, with what that role needs and nothing else.
#pragma once
#include "daemons/common/config/fwd.h"
#include "daemons/common/config/sections/server/tls.h"
#include "daemons/common/crypto/auth/credentials.h"
#include "daemons/common/proto/hello.h"
#include "daemons/common/proto/secrets.h"
#include "daemons/common/runtime/fd.h"
#include "libsmtp/text/time_types.h"
#include "libspool/disk/result.h"
#include <map>
#include <string>
#include <sys/types.h>
#include <vector>

namespace master {

class KeyRing {
public:
    // `user`: the user the daemons run as; files with passwords may belong to that user, or to root.
    explicit KeyRing(uid_t user);

    // Reads all files the configuration names. All or nothing: after an error everything is as it was.
    spool::Result<> load(const config::Config& config, smtp::Monotonic now);
    // Have files changed, or is a ticket key old? Then the ring is new, and the roles affected are returned. Files
    // that cannot be used are an error, once per change; what was read before stays in force.
    spool::Result<std::vector<proto::Role>> refresh(const config::Config& config, smtp::Monotonic now);

    // Why the files as they are now cannot be used, and what that means; "" if they are.
    const std::string& problem() const { return problem_; }
    // What the last refresh() found changed and has applied.
    const std::vector<std::string>& renewed() const { return renewed_; }

    // Our accounts at next hops.
    auth::Credentials credentials() const;
    // To be passed to that role; -1 if there is nothing for it, or before the first load().
    int file_for(proto::Role role) const;

private:
    struct Stamp { // what a file looked like when it was read
        std::string path;
        std::int64_t changed = 0, size = 0;
        std::uint64_t inode = 0;
        std::uint32_t mode = 0, owner = 0;
        bool operator==(const Stamp&) const = default;
    };
    static std::vector<Stamp> look_at(const config::Config& config);
    bool rotate_ticket_keys(const config::Tls& tls, smtp::Monotonic now);
    // Both: the roles for which something is new.
    spool::Result<std::vector<proto::Role>> read(const config::Config& config, smtp::Monotonic now);
    spool::Result<std::vector<proto::Role>> seal();

    uid_t user_;
    proto::secrets::Server server_;
    proto::secrets::Client client_;
    proto::secrets::Hooks hooks_;
    proto::secrets::Api api_;
    proto::secrets::Nodes nodes_;
    proto::secrets::Maps maps_;
    proto::secrets::Fleet fleet_;
    std::vector<Stamp> seen_;
    std::string problem_;
    std::vector<std::string> renewed_;
    smtp::Monotonic rotated_;
    struct Sealed {
        proto::secrets::Message content;
        common::Fd file;
    };
    std::map<proto::Role, Sealed> sealed_;
};

} // namespace master
