// The commands of `postrider hook` for the hooks of this process (proto/hook_control.h), and those of them that http
// passes on for its clients.
#pragma once
#include "daemons/common/ipc/json_replies.h"
#include "daemons/common/process/daemon.h"
#include "daemons/events/hooks/hooks.h"
#include <functional>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace events {

class HookControl {
public:
    using Request = ipc::JsonServer::Request;
    // Requests that are not about hooks: answers it, later or now; false: it knows no such operation.
    using Others = std::function<bool(ipc::JsonServer&, const Request&, const nlohmann::json&)>;
    // `others` is not asked about requests that http passes on. `fd`: bound and listening. Only `operators` are
    // answered. `hooks` outlives it.
    HookControl(common::DaemonContext& context, Hooks& hooks, common::Fd fd, common::Operators operators,
                Others others);
    HookControl(const HookControl&) = delete;

    // Requests that http passes on.
    void attach(std::unique_ptr<ipc::JsonRelay::Channel> http) { relay_.attach(std::move(http)); }

private:
    void handle(const Request& request, const nlohmann::json& body);
    void list(const Request& request);
    void test(const Request& request, Hook& hook, const std::string& who);
    void skip(const Request& request, const nlohmann::json& body, Hook& hook, const std::string& who);
    void replay(const Request& request, const nlohmann::json& body, Hook& hook, const std::string& who);

    Hooks& hooks_;
    Others others_;
    ipc::JsonServer server_;
    ipc::JsonRelay relay_;
    ipc::JsonReplies replies_{server_, relay_};
};

} // namespace events
