// Who looks on while a connection finds its way: each look-up, each address, each line said and heard, as it
// happens. Only what an operator tries is watched; for deliveries nothing of this is made.
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
    // What is published of the host and of the mail's domain, where `level` asks for it: before a word is said.
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
    // We say who we are: "ann at mx.example.org (PLAIN)"; what comes of it, said() and failed() tell.
    virtual void authenticating(const std::string& who) = 0;
    // The session with it is given up, or the address for what it has published; or (relay is "") the host looked up
    // last has none.
    virtual void failed(const std::string& relay, const smtp::Verdict& why) = 0;
    // What became of the transaction without a message.
    virtual void probed(const std::string& relay, const smtp::TransactionResult& result) = 0;

protected:
    ~SessionObserver() = default;
};

} // namespace smtp_client
