// Name servers, time limits and the cache of DNS answers: [dns]. Values.
#pragma once
#include "daemons/common/config/schema/quantities.h"
#include "daemons/common/net/network.h"
#include <cstdint>
#include <vector>

namespace config {

struct Dns {
    std::vector<common::Endpoint> servers; // empty: /etc/resolv.conf
    Duration timeout = 5s;                 // first try; doubles
    std::uint32_t tries = 3;
    std::uint32_t edns_size = 1232;
    std::uint32_t cache_entries = 20'000;
    Duration maximum_ttl = 24h;
    Duration minimum_ttl = 5s;
    Duration negative_ttl = 5min; // at most, for "no such name" and "no such record"
    Duration failure_ttl = 10s;   // a failed lookup is not repeated before that
    bool trust_ad = true;         // of name servers on loopback; others are never believed to have validated
};

} // namespace config
