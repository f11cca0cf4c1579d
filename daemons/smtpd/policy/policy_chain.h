// What is asked of others about a client and its mail before a stage of the session goes on: rates, DNS
// lists, policy services, filters. A Check is one of them in one session; a Screen asks those of the session
// in order until one refuses. Knows no protocol and no sockets. A session that nobody is asked about has no
// Screen.
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

// What is known of the session when something is asked.
struct Facts {
    Client client;
    std::string server;   // our name
    std::string listener; // [listen.<name>]
    std::string helo, protocol;
    std::string command; // unknown: the line
    std::string queue_id, sender, recipient; // the recipient asked about; "" before and after RCPT
    std::uint32_t recipients = 0;            // accepted so far
    std::uint64_t size = 0;                  // announced, or of the content
    std::string sasl_method, sasl_user, sasl_sender, tls_version, tls_cipher, tls_peer;
    std::string instance;               // one and the same for all questions about a transaction
    milter::Message* message = nullptr; // end_of_data: its content
    bool stressed = false;
    bool postmaster = false; // the recipient is one nobody is kept from
};

// Whose word something is: log lines tell it apart.
enum class Adviser : std::uint8_t { policy, milter, header_check };

// Something of which the log has a line, beside refusals: "QID: hold: RCPT from …".
struct Note {
    Adviser by = Adviser::policy;
    std::string verb;    // "warn", "hold", "discard" …
    std::string subject; // what it is about; "": the stage
    std::string text;
    bool operator==(const Note&) const = default;
};

struct Opinion {
    enum class Kind : std::uint8_t {
        none,
        permit, // whom else one might ask need not be asked at this stage (filters are all the same)
        refuse,
    };
    Kind kind = Kind::none;
    Adviser by = Adviser::policy;    // whose it is
    smtp::Reply reply;               // refuse
    std::vector<std::string> fields; // to stand at the head of the message: "Name: value"
    std::vector<std::string> copies; // further recipients
    std::string hold;                // not empty: keep the message, and why
    std::string discard;             // not empty: take it and throw it away, and why
    std::string warning;             // for the log
    std::vector<Note> notes;         // for the log, where warning, hold and discard do not say it

    static Opinion refusal(smtp::Reply reply) {
        Opinion opinion;
        opinion.kind = Kind::refuse;
        opinion.reply = std::move(reply);
        return opinion;
    }
};

class Check {
public:
    // Once, from the loop, unless the Check is destroyed before.
    using Done = std::function<void(Opinion)>;
    virtual ~Check() = default;
    // An opinion; or none yet, and `done` is called when there is one. `facts` outlive the question.
    virtual std::optional<Opinion> ask(Stage stage, const Facts& facts, Done done) = 0;
    // Is it asked although another one has permitted?
    virtual bool insists() const { return false; }
    // The message that MAIL had begun is gone, by whichever way.
    virtual void transaction_over() {}
};

class Screen {
public:
    explicit Screen(std::vector<std::unique_ptr<Check>> checks) : checks_(std::move(checks)) {}
    Screen(const Screen&) = delete;

    Facts facts;

    // What all of them come to: at once, or later by `done`.
    std::optional<Opinion> ask(Stage stage, Check::Done done);
    void transaction_over();

private:
    std::optional<Opinion> go_on();
    bool add(Opinion opinion); // true: nobody else need be asked
    void heard(Opinion opinion);

    std::vector<std::unique_ptr<Check>> checks_;
    Stage stage_ = Stage::connect;
    std::size_t next_ = 0;
    Opinion sum_;
    Check::Done done_;
};

} // namespace smtpd
