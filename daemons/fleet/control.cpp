#include "daemons/fleet/control.h"
#include "daemons/common/proto/fleet_control.h"
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace fleet {

using nlohmann::json;

Control::Control(common::DaemonContext& context, common::Fd fd, common::Operators operators, Lines lines)
    : lines_(std::move(lines)),
      server_(context.loop, context.log, std::move(fd), std::move(operators),
              [this](const ipc::JsonServer::Request& request, const json& body) { handle(request, body); }) {}

void Control::handle(const ipc::JsonServer::Request& request, const json& body) {
    const auto operation = body.value("op", "");
    if (operation != proto::fleet_control::op::nodes) {
        server_.refuse(request.peer, fmt::format("unknown operation \"{}\"", operation));
        return;
    }
    for (const auto& line : lines_()) server_.send(request.peer, line);
    server_.finish(request.peer);
}

} // namespace fleet
