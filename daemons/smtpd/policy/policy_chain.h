// The external checks of a client and its mail before a stage of the session continues: rates, DNS lists, policy
// services, filters. A PolicyCheck is one of them in one session; a PolicyChain runs those of the session in order
// until one rejects. Knows no protocol and no sockets. A session without checks has no PolicyChain.
#pragma once
#include "daemons/smtpd/policy/relay_policy.h"
#include "libsmtp/protocol/reply.h"
#include "libsmtp/session/server_session.h"
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace milter {
class Message;
}

namespace smtpd {

using config::Stage;
smtp::Verb verb_of(Stage stage);
std::string_view command_of(Stage stage); // its word: "CONNECT", "HELO" … "END-OF-MESSAGE", "UNKNOWN", as logs have it

// What is known about the session when a check is asked.
struct PolicyContext {
    Client client;
    std::string server;   // our name
    std::string listener; // [listen.<name>]
    std::string helo, protocol;
    std::string command;                     // unknown: the line
    std::string queue_id, sender, recipient; // the recipient asked about; "" before and after RCPT
    bool sender_was_bare = false;            // completed since
    bool recipient_was_bare = false;         // and still is
    std::uint32_t recipients = 0;            // accepted so far
    std::uint64_t size = 0;                  // announced, or of the content
    std::string sasl_method, sasl_user, sasl_sender, tls_version, tls_cipher, tls_peer;
    std::shared_ptr<const tls::ClientCertificate> certificate; // that the client has shown; null: none
    CertificatePermission permission;                          // by it
    std::string instance;                                      // one and the same for all questions about a transaction
    milter::Message* message = nullptr;                        // end_of_data: its content
    bool stressed = false;
    bool postmaster = false; // the recipient is postmaster: every client may reach it
    bool discarded = false;  // the transaction: it is accepted, but nothing becomes of it
};

// Whose verdict something is: log lines distinguish it.
enum class PolicySource : std::uint8_t { policy, milter, header_check, access };

// Something that gets a line in the log, apart from rejections: "QID: hold: RCPT from …".
struct LogNote {
    PolicySource by = PolicySource::policy;
    std::string verb;    // "warn", "hold", "discard" …
    std::string subject; // what it is about; "": the stage
    std::string text;
    bool operator==(const LogNote&) const = default;
};

struct PolicyVerdict {
    enum class Kind : std::uint8_t {
        none,
        permit, // no other check is needed at this stage (filters are asked anyway)
        reject,
    };
    Kind kind = Kind::none;
    PolicySource by = PolicySource::policy;    // whose it is
    smtp::Reply reply;                         // reject
    std::vector<std::string> fields;           // to go at the head of the message: "Name: value"
    std::vector<std::string> added_recipients; // further recipients
    std::string redirect;                      // not empty: the only recipient
    std::string content_filter;                // not empty: where the message goes first
    std::string hold;                          // not empty: keep the message, and why
    std::string discard;                       // not empty: accept and discard it, and why
    std::string warning;                       // for the log
    std::vector<LogNote> notes;                // for the log, where warning, hold and discard do not cover it
    std::string rule;                          // reject: what rejects, or the limit
    bool by_limit = false;                     // reject: `rule` is a key of the configuration that limits something

    static PolicyVerdict rejection(smtp::Reply reply) {
        PolicyVerdict verdict;
        verdict.kind = Kind::reject;
        verdict.reply = std::move(reply);
        return verdict;
    }
};

class PolicyCheck {
public:
    // Once, from the loop, unless the PolicyCheck is destroyed before.
    using Done = std::function<void(PolicyVerdict)>;
    virtual ~PolicyCheck() = default;
    // A verdict; or none yet, and `done` is called when there is one. `context` outlives the question.
    virtual std::optional<PolicyVerdict> ask(Stage stage, const PolicyContext& context, Done done) = 0;
    // Is it asked although another check has permitted?
    virtual bool asked_after_permit() const { return false; }
    // The message that MAIL had begun is gone, for any reason.
    virtual void transaction_over() {}
};

class PolicyChain {
public:
    explicit PolicyChain(std::vector<std::unique_ptr<PolicyCheck>> checks) : checks_(std::move(checks)) {}
    PolicyChain(const PolicyChain&) = delete;

    PolicyContext context;

    // The combined verdict of all: at once, or later by `done`.
    std::optional<PolicyVerdict> ask(Stage stage, PolicyCheck::Done done);
    void transaction_over();

private:
    std::optional<PolicyVerdict> ask_next();
    bool combine(PolicyVerdict verdict); // true: no other check need be asked
    void on_verdict(PolicyVerdict verdict);

    std::vector<std::unique_ptr<PolicyCheck>> checks_;
    Stage stage_ = Stage::connect;
    std::size_t next_ = 0;
    PolicyVerdict combined_;
    PolicyCheck::Done done_;
};

} // namespace smtpd
