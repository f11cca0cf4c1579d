// The submit socket: accepts programs of this host, gets their users from the kernel, applies the limits per user,
// and feeds the messages of each to a Submission. Knows frames and sockets; must not know mail.
#pragma once
#include "daemons/common/ipc/connection.h"
#include "daemons/common/net/acceptor.h"
#include "daemons/common/runtime/timer.h"
#include "daemons/pickup/submission.h"
#include <list>
#include <memory>
#include <optional>
#include <unordered_map>

namespace pickup {

class SubmitListener {
public:
    // `fd`: bound and listening.
    SubmitListener(SubmissionContext& context, common::Fd fd);
    ~SubmitListener();
    SubmitListener(const SubmitListener&) = delete;

    // Accepts no new clients; those that are connected, or waiting to be accepted, may finish.
    void close();
    std::size_t clients() const { return clients_.size(); }

private:
    class Client;
    void admit(common::Fd fd);
    void turn_away(common::Fd fd, const char* why);
    void gone(Client& client);

    SubmissionContext& context_;
    common::LoopDeadlines deadlines_;
    std::unordered_map<uid_t, std::uint32_t> per_user_;
    std::list<std::unique_ptr<Client>> clients_;
    std::optional<common::Acceptor> acceptor_; // until close()
};

} // namespace pickup
