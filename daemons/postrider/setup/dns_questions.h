// Name lookups one after the other, for a command: each call waits for its answer, as long as the configuration lets a
// lookup take.
#pragma once
#include "daemons/common/net/dns/resolver.h"
#include <string_view>

namespace postrider::setup {

class DnsQuestions {
public:
    DnsQuestions(common::Loop& loop, const config::Dns& settings) : loop_(loop), resolver_(loop, settings) {}

    dns::Answer ask(std::string_view name, dns::Type type);
    dns::ClientName::Names names_of(const common::IpAddress& address);
    bool trusts_ad() const { return resolver_.trusts_ad(); }

private:
    common::Loop& loop_;
    dns::Resolver resolver_;
};

} // namespace postrider::setup
