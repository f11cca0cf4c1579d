// From the hosts of a link to a connection with one of them: hosts in their order, of each host its addresses
// raced (happy_eyeballs.h), as many as an attempt may try, each only with the queue-manager's permission. Knows no
// SMTP.
#pragma once
#include "daemons/common/proto/route.h"
#include "daemons/smtp-client/connect/happy_eyeballs.h"
#include "daemons/smtp-client/connect/source_addresses.h"
#include "daemons/smtp-client/connect/tls_stream.h"
#include "daemons/smtp-client/context/client_context.h"
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace smtp_client {

// An address of a host.
struct Candidate {
    proto::route::Host host;
    common::Endpoint endpoint;
    const config::SourceAddress* source = nullptr; // it is reached from; null: as the kernel chooses

    const std::string& name() const { return host.name; } // or the literal
    bool local() const { return !endpoint.path.empty(); } // a UNIX socket: the data stays on this system
    std::string peer() const {
        return local() ? "localhost[" + endpoint.path + "]" : name() + "[" + endpoint.address.to_string() + "]";
    }
    std::string relay() const { return local() ? peer() : peer() + ":" + std::to_string(endpoint.port); }
};

class Connector {
public:
    // Receives the reports. None of these may destroy the connector at once.
    class Owner {
    public:
        // May it connect there, in addition to its current attempts or instead? The answer is permit(), at once or
        // later; until then no further question is asked.
        enum class ConnectMode { sequential, parallel };
        virtual void request_permission(const std::string& address, ConnectMode mode) = 0;
        virtual void released(const std::string& address) = 0;                       // gives that place back
        virtual void looked_up(const std::string&, dns::Type, const dns::Answer&) {} // for observers
        virtual void unreachable(const Candidate& candidate, int error) = 0; // errno; EADDRNOTAVAIL: of no source
        // The host has no address. `status`: "4.4.3" name servers gave no answer; "4.4.4" none of the one family
        // that is used; "5.4.4" none of either family, as the name servers answered.
        virtual void no_address(const std::string& status, const std::string& text) = 0;
        virtual void reached(const Candidate& candidate, std::unique_ptr<TlsStream> stream) = 0;
        // Always the last call. at_limit: the best hosts available have no room.
        enum class End { exhausted, at_limit };
        virtual void out_of_addresses(End end) = 0;
        // Of the stream that was reached.
        virtual void readable() = 0;
        virtual void writable() = 0;

    protected:
        ~Owner() = default;
    };

    // `context`, `owner` and `sources` must outlive it. `sources`: where it comes from; null: the kernel chooses.
    Connector(ClientContext& context, Owner& owner, const std::vector<proto::route::Host>& hosts,
              SourceAddresses* sources = nullptr);
    Connector(const Connector&) = delete;
    Connector& operator=(const Connector&) = delete;

    // Looks for the first address that answers or, if the one reached did not work out, for the next.
    void next();
    // Connects once more to the address reached last, and to no other.
    void retry_same();
    void permit(bool granted);
    // The destination's reply applies to all its hosts: nothing of the fallback tier is tried.
    void skip_fallback();
    // Drops everything without a report.
    void stop();

private:
    struct Attempt {
        Candidate candidate;
        smtp::Monotonic until{};
        std::unique_ptr<TlsStream> stream = {}; // null: this host is out of means; tried again at `until`
    };

    void advance();
    bool may_start_attempt() const;
    bool reserved_for_other_hosts() const;
    std::size_t untried_hosts() const;
    void postpone_host();
    bool next_host();
    void end_tier();
    void look_up();
    void look_up_type(dns::Type type, bool wanted, dns::Lookup& lookup, std::optional<dns::Answer>& answer);
    void answered(dns::Type type);
    HappyEyeballs::Addresses sorted(const std::vector<common::IpAddress>& list) const;
    void start_attempt(Candidate candidate);
    void open(Attempt& attempt);
    void connected(Attempt& attempt, int error);
    void failed(Attempt& attempt, int error);
    void drop_attempt(Attempt& attempt, int error); // says nothing about the address
    void on_deadline();
    void rearm();
    void finish(Owner::End end);
    bool uses_v4() const { return context_.settings.ipv4 && (!sources_ || sources_->reaches_v4()); }
    bool uses_v6() const { return context_.settings.ipv6 && (!sources_ || sources_->reaches_v6()); }
    common::Endpoint actual_endpoint(const Candidate& candidate) const;

    ClientContext& context_;
    Owner& owner_;
    SourceAddresses* const sources_;
    const std::shared_ptr<dns::Resolver> resolver_; // a reload brings others a new one
    common::Deadline deadline_;
    std::deque<proto::route::Host> hosts_;   // in order; those to come
    std::optional<proto::route::Host> host_; // whose addresses are tried
    std::optional<HappyEyeballs> race_;      // of its addresses
    std::optional<dns::Answer> a_, aaaa_;
    dns::Lookup a_lookup_, aaaa_lookup_;
    std::vector<std::unique_ptr<Attempt>> attempts_;
    struct PermissionRequest {
        Candidate candidate;
        Owner::ConnectMode how;
    };
    std::optional<PermissionRequest> pending_request_;
    std::optional<Candidate> current_; // reached last
    bool reached_ = false;             // it is in use
    bool retrying_ = false;            // retry_same(): nothing races with it
    bool no_parallel_room_ = false;    // for a further address, until one has failed
    bool over_ = false;
    std::size_t addresses_left_; // addresses of this tier
    std::size_t tried_ = 0;      // addresses of this host
    std::size_t postponed_ = 0;  // hosts at the end of the tier that have been examined before
    std::optional<std::pair<decide::Tier, std::uint16_t>> best_at_limit_; // the best of the hosts that had no room
};

} // namespace smtp_client
