// Idempotency keys for the writers of this node (proto/key_claims.h): each question is one call of the store. Bounded:
// what would wait behind too many others has failed. Knows the store and the entries; must not know messages.
#pragma once
#include "daemons/common/ipc/listener.h"
#include "daemons/common/process/daemon.h"
#include "daemons/common/proto/key_claims.h"
#include "daemons/fleet/keys/store_calls.h"
#include <functional>
#include <list>
#include <memory>
#include <string>
#include <vector>

namespace fleet {

class KeyService {
public:
    static constexpr smtp::Duration reservation = std::chrono::minutes(1);
    static constexpr std::size_t most_calls = 500;  // under way; the store's other users have room beside them
    static constexpr std::size_t most_of_one = 200; // of one writer, so that others have room beside it

    using Channel = ipc::Channel<proto::key_claims::Message>;
    struct Dependencies {
        common::DaemonContext& context; // outlives it
        StoreCalls store;
        std::function<void()> not_confirmed; // the store lacks a key that a message was accepted with
    };
    // `fd`: bound and listening.
    KeyService(Dependencies dependencies, common::Fd fd, ipc::ExpectedTokens expected);
    ~KeyService();
    KeyService(const KeyService&) = delete;
    KeyService& operator=(const KeyService&) = delete;

    void expect(ipc::ExpectedTokens expected) { listener_.expect(std::move(expected)); }
    // `why_not`: the store cannot be called now; "": it can. `node`: our name. `expected`: the least number
    // of nodes that have keys; `names`: of those that are known.
    void use(const std::string& why_not, const std::string& node);
    void set_origin(const std::string& origin) { origin_ = origin; }
    void expect_nodes(std::uint32_t expected, std::vector<std::string> names);

private:
    class Client;
    void run(const proto::key_claims::Ask& ask, bool too_many, std::function<void(proto::key_claims::Answer)> done);
    proto::key_claims::Answer answer_to(const proto::key_claims::Ask& ask, const redis::Result& result);
    void gone(Client& client);

    Dependencies deps_;
    std::string why_not_ = "the store is not connected yet"; // it cannot be called; "": it can
    std::string node_, origin_;
    redis::Command expected_{"0"};                                          // the number, and the names
    std::shared_ptr<std::size_t> calls_ = std::make_shared<std::size_t>(0); // under way; another one for each store
    std::list<std::unique_ptr<Client>> clients_;
    std::shared_ptr<const bool> alive_ = std::make_shared<const bool>(true);
    ipc::Listener listener_;
};

} // namespace fleet
