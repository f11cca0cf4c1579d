// Policies of MTA-STS on the disk, so that a restart forgets none: a file per domain in one directory. Each is
// replaced as a whole; one that cannot be read is as good as none. Knows files; nothing of fetching.
#pragma once
#include "daemons/decide/tls/mta_sts.h"
#include "libsmtp/text/time_types.h"
#include "libspool/disk/result.h"
#include <expected>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace router {

// What is known of one domain.
struct StsPolicy {
    decide::sts::Policy policy;
    std::string id;         // of the DNS record it was fetched for
    smtp::WallTime fetched; // it is good for policy.max_age from then on
    smtp::WallTime used;    // mail was sent by it, to the day

    smtp::WallTime expires() const { return fetched + std::chrono::seconds(policy.max_age); }
    bool operator==(const StsPolicy&) const = default;
};

// "version: STSv1", "mode: enforce" …: the policy in its own words.
std::vector<std::string> lines_of(const decide::sts::Policy& policy);

// The file's text. Pure.
std::string encode(const StsPolicy& policy);
std::expected<StsPolicy, std::string> decode_sts_policy(std::string_view text); // or what is wrong

class StsStore {
public:
    static constexpr std::size_t max_policies = 10'000; // domains

    explicit StsStore(std::string directory) : directory_(std::move(directory)) {}

    struct Loaded {
        std::map<std::string, StsPolicy> policies; // by domain
        std::vector<std::string> problems;         // "<file>: <what>"
    };
    // The first `most`, whether or not they are still good.
    Loaded load() const;
    // Not synced: after a power cut a policy may be the one before, or none, and is fetched again.
    spool::Result<> save(const std::string& domain, const StsPolicy& policy) const;
    void remove(const std::string& domain) const;

private:
    std::string directory_;
};

} // namespace router
