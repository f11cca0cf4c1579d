// The lookups behind the DANE result of one host: makes the DNS queries that daemons/decide/tls/dane.h needs.
// Destroying it cancels them. Knows nothing about connections.
#pragma once
#include "daemons/common/net/dns/resolver.h"
#include "daemons/decide/tls/dane.h"
#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace smtp_client {

class DaneLookup {
public:
    // `secure`: as in decide::DaneLookup. `done` is called once, in this call or later, and may destroy this.
    using Done = std::function<void(const decide::DaneResult&)>;
    DaneLookup(std::shared_ptr<dns::Resolver> resolver, const std::string& host, std::uint16_t port, bool secure,
               Done done);
    DaneLookup(const DaneLookup&) = delete;
    DaneLookup& operator=(const DaneLookup&) = delete;
    void start();

private:
    void step();
    void on_addresses();

    std::shared_ptr<dns::Resolver> resolver_;
    decide::DaneLookup inquiry_;
    Done done_;
    std::optional<dns::Answer> a_, aaaa_;
    dns::Lookup lookup_, second_;
};

} // namespace smtp_client
