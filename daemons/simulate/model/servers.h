// The other side: what a server of the scenario answers, at which stage, and how long it takes for it, by its
// manner, the troubles of the moment and how busy it is. Knows no queue and no connection of ours but their
// number.
#pragma once
#include "daemons/common/config/config.h"
#include "daemons/decide/outcome/failure.h"
#include "daemons/decide/hosts/mx.h"
#include "daemons/decide/queue/events.h"
#include "daemons/decide/queue/ladder.h"
#include "daemons/simulate/scenario/scenario.h"
#include <map>
#include <string>
#include <utility>

namespace postrider::simulate {

// What a connection or a message came to.
struct Answer {
    smtp::Duration takes{};
    bool good = true;
    smtp::Stage stage = smtp::Stage::none; // the rest: if not good
    int code = 0;                          // 0: it said nothing
    decide::queue::Reason reason;
    bool gone = false; // the connection is over with it

    decide::Observation seen() const { return {stage, code, reason.status}; }
    bool mail_accepted() const { return stage > smtp::Stage::mail; }
};

struct Server {
    std::string name;
    std::uint16_t port = 25;
    const Host* manner = nullptr;
    std::uint32_t open = 0; // connections
    std::int64_t minute = -1, hour = -1;
    std::uint32_t this_minute = 0, this_hour = 0; // messages
};

// What a server remembers of a message's recipient.
struct Acquaintance {
    smtp::Duration first_try{-1}; // -1: none yet
    bool unknown = false;
};

class Servers {
public:
    // All must outlive it.
    Servers(const Scenario& scenario, const config::SmtpClient& client, decide::queue::Random& random)
        : scenario_(scenario), client_(client), random_(random) {}

    Server& at(const decide::Host& host); // stays where it is
    // Until EHLO is answered. Good: the connection counts until leave().
    Answer greet(Server& server, smtp::Duration now);
    Answer take(Server& server, Acquaintance& recipient, smtp::Duration now);
    static void leave(Server& server) { --server.open; }

    // Does that trouble cut off what is connected when it begins?
    static bool cuts(const Trouble& trouble);
    bool used(const HostName& name) const; // did any mail have to do with it?

private:
    template <class Suits> const Trouble* trouble_of(const Server& server, smtp::Duration now, Suits suits);
    Answer with(const Trouble& trouble, const Server& server, smtp::Duration takes) const;
    smtp::Duration patience(smtp::Stage stage) const;
    bool over_rate(Server& server, smtp::Duration now) const;
    smtp::Duration about(smtp::Duration usual) const; // give or take a fifth

    const Scenario& scenario_;
    const config::SmtpClient& client_;
    decide::queue::Random& random_;
    std::map<std::pair<std::string, std::uint16_t>, Server> servers_;
};

} // namespace postrider::simulate
