// TLS with one host, as a value: what the mail needs, what the host must show for that, what it has shown, and what
// must be reported. Knows no connection and no session: the code that performs the handshake passes the results in.
#pragma once
#include "daemons/common/crypto/tls/session.h"
#include "daemons/common/proto/route.h"
#include "daemons/decide/tls/dane.h"
#include "daemons/decide/tls/tls_outcome.h"
#include "daemons/decide/tls/tls_policy.h"
#include "libsmtp/delivery/failure_details.h"
#include "libsmtp/session/client_session.h"
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace smtp_client {

struct TlsNeeds { // of the mail that goes first
    decide::TlsLevel level = decide::TlsLevel::may;
    std::string domain;      // of its recipients
    bool of_report = false;  // the mail is a report of ours on TLS
    bool by_message = false; // the level is higher than its route's: the message itself requires it
    std::shared_ptr<const tls::Context> tls = nullptr; // with what its route shows; null: TLS is not available
    const std::string& certificates() const;           // which its route shows; "" none
};

struct TlsPeer {      // the host
    std::string name; // or the literal address
    std::string text; // "mx.example.org[192.0.2.1]"
    bool implicit_tls = false;
    bool of_mx = false; // it comes from MX records
};

class TlsNegotiation {
public:
    enum class Fallback : std::uint8_t { none, plain_text }; // plain_text: TLS has failed with this address
    TlsNegotiation(TlsPeer host, TlsNeeds needs, Fallback fallback);

    const TlsNeeds& needs() const { return needs_; }
    // Do its TLSA records matter for such mail? `secure`: the host cannot have been replaced by another one.
    bool dane_applies(bool secure) const;
    void set_records(const decide::DaneResult& records) { records_ = records; }
    const std::optional<decide::DaneResult>& records() const { return records_; } // nothing: not asked for

    // Before the conversation: what the host must show; `policy` is that of the mail's domain, null without mail.
    decide::TlsDecision decide(const proto::route::StsPolicy* policy);
    smtp::FailureDetails::Demand demanded_by() const { return demanded_by_; }
    enum class Available : bool { no, yes }; // TLS, on this system
    smtp::ClientSession::StartTls starttls_mode(Available available) const;
    tls::ServerIdentity identity() const;
    // Everything that a session was negotiated with and for.
    std::string resumption_name(std::string_view relay, std::string_view source) const;

    void begin_handshake() { result_ = decide::TlsResult::validation_failure; }
    // After the handshake. False: the certificate does not meet the demand, and result() has this for reports.
    bool judge(const tls::ConnectionInfo& facts, const tls::CertificateVerdict& judgement);
    std::string certificate_mismatch_text(const tls::CertificateVerdict& judgement) const;
    const decide::TlsState& state() const { return state_; }
    std::string_view proven_how() const;                                       // "by DANE"; "" not at all
    std::string description() const { return text_.empty() ? "none" : text_; } // "TLSv1.3 …"
    bool may_fall_back() const;                                                // to plain text, with the same address

    // May other mail use the session, too?
    bool admits(const TlsNeeds& needs, bool dane, const proto::route::StsPolicy& policy) const;
    // Why the host gets no message that requires TLS all the way (RFC 8689, 4.2.1): "host … was reached without"; "":
    // it gets the message.
    std::string missing_requirement(const std::string& domain, bool offered, bool secure,
                                    const proto::route::StsPolicy& policy) const;

    // For reports (RFC 8460): the result of TLS with the host, and the value of a session that is up. Nothing: there
    // is nothing to report. The caller fills in address, helo and sender.
    decide::TlsResult result() const { return result_; }
    struct Finding {
        decide::TlsResult result;
        std::string reason;
    };
    std::optional<Finding> finding_of_session(const proto::route::StsPolicy& policy) const;
    std::optional<decide::TlsOutcome> outcome(decide::TlsResult result, const std::string& reason,
                                              const proto::route::StsPolicy& policy) const;

private:
    decide::StsMatch match(const proto::route::StsPolicy& policy) const;
    std::string not_in_policy_text(const proto::route::StsPolicy& policy) const;
    bool has_tlsa_records() const; // there are trusted TLSA records, or their lookup failed

    TlsPeer host_;
    TlsNeeds needs_;
    Fallback fallback_;
    std::optional<decide::DaneResult> records_;
    decide::TlsDemand demand_ = decide::TlsDemand::welcome;
    smtp::FailureDetails::Demand demanded_by_ = smtp::FailureDetails::Demand::level;
    decide::TlsState state_;
    decide::TlsResult result_ = decide::TlsResult::starttls_not_supported; // until it is known better
    decide::TlsResult certificate_ = decide::TlsResult::success;           // what it would be worth
    std::string certificate_problem_;
    std::string text_;                       // "" in plain text
    bool certificate_is_of_session_ = false; // what we have shown counts: the host asked for it, or may have earlier
};

} // namespace smtp_client
