// Notifications to senders and the postmaster, and whether mail may fail at all. Values.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace config {

struct Bounce { // [bounce]
    std::string display_name = "Mail Delivery System";
    std::string templates; // directory; "" the built-in texts
    std::uint64_t full_content_limit = 50 * 1024;
    bool over_quota_partial_headers = true;
    std::vector<std::string> postmaster_copy; // of postmaster_copies
    bool soft_bounce = false;                 // failed mail is retried, and rejections are temporary
    bool dry_bounce = false;                  // reports are written to bad/ and not sent
};

} // namespace config
