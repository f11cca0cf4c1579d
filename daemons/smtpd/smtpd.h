// The SMTP server, one worker of several: accepts clients on the listeners master hands down, keeps their
// number within bounds, and stops in order. What is said to a client is Connection's.
#pragma once
#include "daemons/common/process/daemon.h"
#include "daemons/common/logging/problems.h"
#include "daemons/smtpd/access/acceptor.h"
#include "daemons/smtpd/session/connection.h"
#include "daemons/smtpd/access/proxy_connection.h"
#include <list>
#include <map>
#include <memory>
#include <vector>

namespace smtpd {

class Smtpd final : public common::Daemon {
public:
    static spool::Result<std::unique_ptr<Smtpd>> create(common::Surroundings& surroundings,
                                                        common::Orders orders);
    ~Smtpd() override;

    void reconfigure(common::Orders orders) override;
    void stop(smtp::Duration within, std::function<void()> done) override;
    void measure(common::Figures& figures) override;

private:
    struct Entrance { // one listening socket
        std::shared_ptr<const Rules> rules;
        std::unique_ptr<Acceptor> acceptor;
    };

    Smtpd(common::Surroundings& surroundings, const config::Config& config,
          std::unique_ptr<common::Troubles> troubles, std::unique_ptr<common::Intake> intake);
    std::shared_ptr<const auth::PasswordFile> read_passwords(const common::Orders& orders);
    // Who is let in (admission.cpp)
    void accepted(const std::shared_ptr<const Rules>& rules, common::Fd socket, const common::Endpoint& from);
    void await_header(const std::shared_ptr<const Rules>& rules, common::Fd socket,
                      const common::Endpoint& balancer);
    void admit(const std::shared_ptr<const Rules>& rules, common::Fd socket, Client client);
    bool make_room(const Rules& rules, const Client& newcomer);
    // `limit`: for the log, where it is one that the client exceeds.
    void turn_away(common::Fd socket, const Client& client, const smtp::Reply& reply, std::string_view limit = {});

    void gone(Connection& connection);
    void look_at_stress();
    void free_memory();
    void shut_down(smtp::ServerSession::When when);
    void stopped_if_done();

    common::Surroundings& surroundings_;
    common::Log& log_;
    std::unique_ptr<common::Troubles> troubles_;
    common::LoopDeadlines deadlines_;
    std::unique_ptr<common::Intake> intake_;
    common::idempotency::Desk keys_;
    RecipientChecker checker_;
    common::Outbox outbox_;
    Service service_;
    std::map<std::string, Entrance> entrances_; // by name and address
    std::size_t most_sessions_ = 0;             // what descriptors allow
    std::list<std::unique_ptr<Proxied>> proxied_; // their clients are not known yet
    std::list<std::unique_ptr<Connection>> connections_;
    std::vector<std::unique_ptr<Connection>> graveyard_; // gone; destroyed when the turn ends
    common::TurnHook burial_;
    common::Timer patience_; // while stopping
    std::function<void()> stopped_;
    smtp::Monotonic told_, told_of_room_; // of a client turned away; of those who gave way to others
};

} // namespace smtpd
