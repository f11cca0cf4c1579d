// What has gone wrong on a connection's way from host to host, and what that comes to in the end: for the link, and for
// the message that was to go first. Pure; knows neither hosts nor deliveries.
#pragma once
#include "libsmtp/delivery/remote_reply.h"
#include <cstdint>
#include <optional>
#include <string>

namespace smtp_client {

struct AttemptFailure { // of an address
    smtp::Verdict why;
    std::string host = {};   // whose session it was: "mx[192.0.2.1]:25"; "" where there was none
    std::string tls = {};    // of that session; "none"
    std::string source = {}; // … and where it came from
};

class AttemptFailures {
public:
    enum class SoftBounce : bool { no, yes }; // bounce.soft_bounce: nothing fails permanently
    explicit AttemptFailures(SoftBounce soft_bounce) : soft_bounce_(soft_bounce) {}

    // What was seen on the way.
    void address_reached() { address_may_exist_ = true; }
    void address_unreachable(AttemptFailure failure);
    enum class MayExist : bool { no, yes };
    void no_address(smtp::Verdict why, MayExist may_exist); // of a host; may_exist: the name system was not sure
    void out_of_addresses();
    void loop_found(AttemptFailure failure); // a host is this system itself
    void no_pool(AttemptFailure failure) { last_ = std::move(failure); }
    void host_failed(AttemptFailure failure);       // its session came to nothing, or was not begun
    void last_was_for_policy() { policy_ = last_; } // the session was without the TLS that is required
    void last_had_accepted_mail() { mail_ = last_; }
    // The host does not do what the message of that delivery requires (RFC 8689).
    void requirement_missing(AttemptFailure failure, std::uint64_t delivery);
    const AttemptFailure& last() const { return last_; }

    // What it comes to when no address is left.
    bool is_for_requirement_of(std::uint64_t delivery) const {
        return requirement_ && requirement_delivery_ == delivery;
    }
    bool is_for_requirement_only() const { return requirement_ && !other_hosts_failed_; }
    AttemptFailure requirement_failure() const;
    struct Conclusion {
        AttemptFailure failure;
        bool leads_nowhere; // mail is returned: the link leads to this system itself, or no host has an address
        bool of_message;    // the link is proven, or leads nowhere: what failed is the message's attempt
    };
    enum class Hosts : bool { may_change, as_published }; // as_published: MX hosts, none of which the operator named
    Conclusion conclude(Hosts hosts) const;

private:
    SoftBounce soft_bounce_;
    AttemptFailure last_;
    std::optional<AttemptFailure> mail_;        // of a session that had accepted MAIL
    std::optional<AttemptFailure> policy_;      // of one without the TLS that is required
    std::optional<AttemptFailure> requirement_; // of the last host that does not do what a message requires …
    std::uint64_t requirement_delivery_ = 0;    // … and its delivery
    std::optional<smtp::Verdict> no_address_;   // why the last host without addresses had none
    bool other_hosts_failed_ = false;           // another host was not reached, or did not get so far
    bool address_may_exist_ = false;            // a host has an address, or may have one
    bool loop_found_ = false;
};

} // namespace smtp_client
