// Verification of addresses at the servers that receive their mail: [verify]. Values.
#pragma once
#include "daemons/decide/access/rule.h"
#include "daemons/decide/verification/probe_admission.h"
#include "daemons/decide/verification/verified_addresses.h"
#include <chrono>
#include <cstdint>
#include <string>

namespace config {

struct Verify {
    std::chrono::microseconds wait = std::chrono::seconds(6);
    std::chrono::microseconds positive_lifetime = std::chrono::days(31), positive_refresh = std::chrono::days(7);
    std::chrono::microseconds negative_lifetime = std::chrono::days(3), negative_refresh = std::chrono::hours(3);
    std::chrono::microseconds temporary_lifetime = std::chrono::minutes(15);
    std::string sender; // "": the null sender
    std::uint32_t max_entries = 100'000;
    std::uint32_t max_probes = 50, per_minute = 300; // in all; of a link
    decide::access::VerificationReplies replies;

    // Where the memory is.
    static std::string directory(const std::string& spool) { return spool + "/state/verified"; }
};

decide::verification::VerifiedAddresses::Settings memory_settings(const Verify& verify);
decide::verification::ProbeAdmission::Limits probe_limits(const Verify& verify);

} // namespace config
