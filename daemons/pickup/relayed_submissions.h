// Messages that http submits for its clients: connections of that daemon, each with one message after the other. Knows
// frames; must not know mail.
#pragma once
#include "daemons/common/ipc/listener.h"
#include "daemons/common/proto/relayed_submission.h"
#include "daemons/pickup/submission.h"
#include <list>
#include <memory>

namespace pickup {

class RelayedSubmissions {
public:
    using Channel = ipc::Channel<proto::relayed_submission::Message>;

    // `fd`: bound and listening.
    RelayedSubmissions(SubmissionContext& context, common::Fd fd, ipc::ExpectedTokens expected);
    ~RelayedSubmissions();
    RelayedSubmissions(const RelayedSubmissions&) = delete;
    RelayedSubmissions& operator=(const RelayedSubmissions&) = delete;

    void expect(ipc::ExpectedTokens expected) { listener_.expect(std::move(expected)); }
    // Of those that are complete and not answered yet.
    std::size_t open() const;

private:
    class Client;
    void gone(Client& client);

    SubmissionContext& context_;
    std::list<std::unique_ptr<Client>> clients_;
    ipc::Listener listener_;
};

} // namespace pickup
