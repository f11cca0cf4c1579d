// An operator's delivery test: connections as for deliveries, but without a message, and each step reported as it
// happens. Asks for no permission and is not counted; what it learns about an address (failed, works again) is
// remembered as after a delivery. Knows the messages of the conversation "delivery"; not its channel.
#pragma once
#include "daemons/smtp-client/session/connection.h"
#include <deque>
#include <functional>
#include <memory>
#include <optional>

namespace smtp_client {

class DeliveryProbe final : Connection::Owner, SessionObserver {
public:
    struct Callbacks {
        std::function<void(const proto::delivery::ProbeStep&)> step;
        // Always the last call. Must not destroy the probe at once.
        std::function<void(const proto::delivery::ProbeResult&)> over;
    };

    // `context` must outlive it. Starts at once; reports arrive in later turns of the loop.
    DeliveryProbe(ClientContext& context, proto::delivery::Probe order, Callbacks callbacks);
    DeliveryProbe(const DeliveryProbe&) = delete;
    DeliveryProbe& operator=(const DeliveryProbe&) = delete;

private:
    void next_round();

    void may_connect(Connection& connection, const std::string& address, bool in_parallel) override;
    void released(Connection& connection, const std::string& address) override;
    void connected(Connection& connection) override;
    void done(Connection& connection, proto::delivery::Done done, std::optional<spool::MessageReader> message) override;
    void closed(Connection& connection, proto::delivery::Closed closed) override;

    void looked_up(const std::string& host, dns::Type type, const dns::Answer& answer) override;
    void connected(const std::string& relay, const std::string& source) override;
    void unreachable(const Candidate& candidate, const smtp::Verdict& why) override;
    void published(const std::string& relay, const Published& found) override;
    void sent(const std::string& relay, const smtp::client_event::CommandSent& sent) override;
    void received(const std::string& relay, const smtp::client_event::ReplyReceived& said) override;
    void handshake_done(const std::string& relay, const tls::ConnectionInfo& facts,
                        const tls::CertificateVerdict& judgement, std::string_view how,
                        decide::TlsLevel level) override;
    void authenticating(const std::string& who) override { account_ = who; }
    void failed(const std::string& relay, const smtp::Verdict& why) override;
    void probed(const std::string& relay, const smtp::TransactionResult& result) override;

    proto::delivery::ProbeStep step(proto::delivery::Step what, const std::string& host) const;
    void report(const proto::delivery::ProbeStep& step);
    void report_held();
    void report_failure(const std::string& host, const smtp::Verdict& why);
    void record_outcome(proto::delivery::Outcome outcome, const smtp::RemoteReply& reason, const std::string& host);

    ClientContext& context_;
    proto::delivery::Probe order_;
    Callbacks callbacks_;
    smtp::Monotonic began_;
    std::deque<proto::delivery::Connect> rounds_; // still to come
    std::unique_ptr<Connection> connection_;
    common::TurnHook next_;
    // A rejection that need not be the end: what follows decides.
    std::optional<proto::delivery::ProbeStep> held_step_;
    std::string looked_up_; // the host, last
    std::string account_;   // authenticated as; "" none yet
    std::string failed_at_; // by the last session or address: "mx.example.org[192.0.2.1]:25", or the name of a host
                            // without addresses
    proto::delivery::ProbeResult tried_;
    bool outcome_reported_ = false; // in this round, the outcome for the recipients
    bool mail_refused_ = false;     // verdicts on recipients then mean nothing
};

} // namespace smtp_client
