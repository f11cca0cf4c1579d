// The commands of `postrider hook` for the hooks of this process (proto/hook_control.h).
#pragma once
#include "daemons/common/ipc/json_lines.h"
#include "daemons/common/process/daemon.h"
#include "daemons/events/hooks/hooks.h"
#include <nlohmann/json_fwd.hpp>

namespace events {

class HookControl {
public:
    // `fd`: bound and listening. Only `operators` are answered. `hooks` outlives it.
    HookControl(common::DaemonContext& context, Hooks& hooks, common::Fd fd, common::Operators operators);
    HookControl(const HookControl&) = delete;

private:
    using Request = ipc::JsonServer::Request;
    void handle(const Request& request, const nlohmann::json& body);
    void list(const Request& request);
    void test(const Request& request, Hook& hook, const std::string& who);
    void skip(const Request& request, const nlohmann::json& body, Hook& hook, const std::string& who);
    void replay(const Request& request, const nlohmann::json& body, Hook& hook, const std::string& who);

    Hooks& hooks_;
    ipc::JsonServer server_;
};

} // namespace events
