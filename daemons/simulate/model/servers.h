// The servers of a scenario: what they reply, at which stage and after which time, by their settings, the faults in
// effect and how busy they are. Knows no queue; of connections it knows only how many are open.
#pragma once
#include "daemons/common/config/sections/delivery/smtp_client.h"
#include "daemons/decide/hosts/mx.h"
#include "daemons/decide/outcome/failure.h"
#include "daemons/decide/queue/events.h"
#include "daemons/decide/queue/ladder.h"
#include "daemons/simulate/scenario/scenario.h"
#include <map>
#include <string>
#include <utility>

namespace postrider::simulate {

// The result of a connection or a message.
struct Answer {
    smtp::Duration takes{};
    bool ok = true;
    smtp::Stage stage = smtp::Stage::none; // this and the rest: if not ok
    int code = 0;                          // 0: no reply
    decide::queue::Reason reason;
    bool closes = false; // the connection ends with it

    decide::Observation observation() const { return {stage, code, reason.status}; }
    bool mail_accepted() const { return stage > smtp::Stage::mail; }
};

struct Server {
    std::string name;
    std::uint16_t port = 25;
    const Host* behaviour = nullptr;
    std::uint32_t open = 0; // connections
    std::int64_t minute = -1, hour = -1;
    std::uint32_t this_minute = 0, this_hour = 0; // messages
};

// The server's state for a recipient of a message.
struct RemoteRecipient {
    smtp::Duration first_try{-1}; // -1: none yet
    bool unknown = false;
};

class Servers {
public:
    // All must outlive it.
    Servers(const Scenario& scenario, const config::SmtpClient& client, decide::queue::Random& random)
        : scenario_(scenario), client_(client), random_(random) {}

    Server& at(const decide::Host& host); // stays where it is
    // Until EHLO is answered. If ok, the connection counts until disconnect().
    Answer greet(Server& server, smtp::Duration now);
    Answer take(Server& server, RemoteRecipient& recipient, smtp::Duration now);
    static void disconnect(Server& server) { --server.open; }

    // Does the fault break connections that are open when it begins?
    static bool cuts_connections(const Fault& fault);
    bool used(const HostName& name) const; // was any mail sent to it?

private:
    template <class Suits> const Fault* find_fault(const Server& server, smtp::Duration now, Suits suits);
    Answer fault_answer(const Fault& fault, const Server& server, smtp::Duration takes) const;
    smtp::Duration timeout(smtp::Stage stage) const;
    bool over_rate(Server& server, smtp::Duration now) const;
    smtp::Duration with_jitter(smtp::Duration usual) const; // give or take a fifth

    const Scenario& scenario_;
    const config::SmtpClient& client_;
    decide::queue::Random& random_;
    std::map<std::pair<std::string, std::uint16_t>, Server> servers_;
};

} // namespace postrider::simulate
