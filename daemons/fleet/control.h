// run/fleet: answers `postrider fleet` (proto/fleet_control.h). Knows what is asked for and by whom; must not know
// where the lines come from.
#pragma once
#include "daemons/common/ipc/json_lines.h"
#include "daemons/common/process/daemon.h"
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <vector>

namespace fleet {

class Control {
public:
    using Lines = std::function<std::vector<nlohmann::json>()>;
    // `fd`: bound and listening. Only `operators` are answered.
    Control(common::DaemonContext& context, common::Fd fd, common::Operators operators, Lines lines);
    Control(const Control&) = delete;
    Control& operator=(const Control&) = delete;

private:
    void handle(const ipc::JsonServer::Request& request, const nlohmann::json& body);

    Lines lines_;
    ipc::JsonServer server_;
};

} // namespace fleet
