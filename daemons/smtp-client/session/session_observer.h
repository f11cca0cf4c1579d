// Observes how a connection is made: each lookup, each address, each line sent and received, as it happens. Only an
// operator's probes are observed; deliveries produce none of this.
#pragma once
#include "daemons/common/crypto/tls/session.h"
#include "daemons/common/net/dns/answer.h"
#include "daemons/common/proto/route.h"
#include "daemons/decide/tls/tls_policy.h"
#include "libsmtp/session/client_session.h"
#include <optional>
#include <string>

namespace smtp_client {

struct Candidate;

class SessionObserver {
public:
    // `relay`: "mx.example.org[192.0.2.1]:25". None of these may destroy the connection at once.
    virtual void looked_up(const std::string& host, dns::Type type, const dns::Answer& answer) = 0;
    // `source`: which address of a pool it came from (SourceAddresses::description()); "" the kernel's choice
    virtual void connected(const std::string& relay, const std::string& source) = 0;
    virtual void unreachable(const Candidate& candidate, const smtp::Verdict& why) = 0;
    // What is published about the host and the mail's domain, if `level` asks for it; called before the conversation.
    struct Published {
        decide::TlsLevel level;
        const std::string& domain; // of the mail
        const std::string& host;
        const std::optional<decide::DaneResult>& records; // nothing: not asked, as its name may be forged
        const proto::route::StsPolicy& policy;
    };
    virtual void published(const std::string& relay, const Published& found) = 0;
    virtual void sent(const std::string& relay, const smtp::client_event::CommandSent& sent) = 0;
    virtual void received(const std::string& relay, const smtp::client_event::ReplyReceived& said) = 0;
    // `how` the certificate was proven ("by DANE"), "" not at all; `level`: what the mail's domain asks for.
    virtual void handshake_done(const std::string& relay, const tls::ConnectionInfo& facts,
                                const tls::CertificateVerdict& judgement, std::string_view how,
                                decide::TlsLevel level) = 0;
    // We authenticate: "ann at mx.example.org (PLAIN)"; said() and failed() report the outcome.
    virtual void authenticating(const std::string& who) = 0;
    // The session with it is given up, or the address for what it has published; or (relay is "") the host looked up
    // last has none.
    virtual void failed(const std::string& relay, const smtp::Verdict& why) = 0;
    // The outcome of the transaction without a message.
    virtual void probed(const std::string& relay, const smtp::TransactionResult& result) = 0;

protected:
    ~SessionObserver() = default;
};

} // namespace smtp_client
