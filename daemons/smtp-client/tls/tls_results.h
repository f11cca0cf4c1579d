// Results of TLS with other systems' hosts, gathered and counted for a moment and sent to the router, which makes the
// daily reports (RFC 8460). Bounded; never delays mail.
#pragma once
#include "daemons/common/ipc/connector.h"
#include "daemons/common/ipc/parts.h"
#include "daemons/common/proto/tls_results.h"
#include "daemons/common/runtime/timer.h"
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <string>
#include <unordered_map>

namespace smtp_client {

class TlsResults {
public:
    static constexpr std::size_t max_pending = 1000; // different ones waiting to be sent; more are not counted
    static constexpr smtp::Duration flush_interval = std::chrono::seconds(1);

    TlsResults(common::Loop& loop, common::Log& log, const std::string& run, const ipc::Identity& identity)
        : timer_(loop, [this] { flush(); }),
          router_(loop, log, run + "/private/router", proto::tls_results::conversation, identity,
                  {[this](proto::tls_results::Message&&) { router_.fail("no message is accepted here"); }}) {}

    void add(const decide::TlsOutcome& outcome) {
        const auto key = fmt::format("{}\n{}\n{}\n{}\n{}\n{}\n{}\n{}\n{}", outcome.domain, outcome.host,
                                     outcome.address, outcome.helo, outcome.sender, word_of(outcome.policy),
                                     word_of(outcome.result), fmt::join(outcome.records, ","), outcome.reason);
        auto known = waiting_.find(key);
        if (known == waiting_.end()) {
            if (waiting_.size() >= max_pending) return;
            known = waiting_.emplace(key, proto::tls_results::Counted{outcome}).first;
        }
        ++known->second.sessions;
        if (!timer_.armed()) timer_.start(flush_interval);
    }
    // What has been gathered, now.
    void flush() {
        if (waiting_.empty()) return;
        if (!router_.up() || router_.congested()) return timer_.start(flush_interval);
        proto::tls_results::Results results;
        std::size_t size = 0;
        for (auto& [key, counted] : waiting_) {
            const auto its = ipc::size_on_wire(counted);
            if (size + its > ipc::part_size && !results.results.empty()) {
                send_results(results);
                results.results.clear();
                size = 0;
            }
            size += its;
            results.results.push_back(std::move(counted));
        }
        waiting_.clear();
        send_results(results);
    }

private:
    // One outcome that is too long for a message by itself is not counted: it is statistics.
    void send_results(const proto::tls_results::Results& results) { static_cast<void>(router_.send(results)); }

    std::unordered_map<std::string, proto::tls_results::Counted> waiting_;
    common::Timer timer_;
    ipc::Connector<proto::tls_results::Message> router_;
};

} // namespace smtp_client
