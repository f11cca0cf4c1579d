#include "daemons/events/erasure_control.h"
#include "daemons/common/proto/control.h"
#include "daemons/common/proto/hook_control.h"
#include "libsmtp/message/address.h"
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <utility>

namespace events {

using nlohmann::json;
namespace op = proto::hook_control::op;
namespace code = proto::control::code;

namespace {

std::string text_in(const json& body, const char* name) {
    const auto found = body.find(name);
    return found != body.end() && found->is_string() ? found->get<std::string>() : std::string();
}

} // namespace

bool ErasureControl::handle(ipc::JsonServer& server, const Request& request, const json& body) {
    const auto operation = text_in(body, "op");
    if (operation == op::erase)
        erase(server, request, body);
    else if (operation == op::erasure)
        send_state(server, request, body);
    else
        return false;
    return true;
}

void ErasureControl::erase(ipc::JsonServer& server, const Request& request, const json& body) {
    auto address = text_in(body, "address");
    const auto through = body.find("through");
    if (!smtp::Mailbox::parse(address) || through == body.end() || !through->is_number_unsigned()) {
        server.refuse(request.peer, "expected an address and the number of an event", code::bad_request);
        return;
    }
    if (waiting_.size() >= most_waiting) {
        server.refuse(request.peer, "too many requests: try again later", code::unavailable);
        return;
    }
    waiting_.push_back({&server, request, std::move(address), through->get<std::uint64_t>()});
    if (!work_.busy()) add_next();
}

void ErasureControl::add_next() {
    auto result = std::make_shared<spool::Result<>>();
    const auto& next = waiting_.front();
    work_.start(
        [path = path_, erasures = erasures_, address = next.address, through = next.through, result] {
            const auto disk = spool::RealDisk::open_at(path);
            *result = disk ? erasures->add(**disk, ".", address, through) : std::unexpected(disk.error());
        },
        [this, result] {
            const auto done = std::move(waiting_.front());
            waiting_.pop_front();
            if (*result)
                done.server->finish(done.request.peer);
            else
                done.server->refuse(done.request.peer, "nothing was erased: " + result->error().what, code::failed);
            if (!waiting_.empty()) add_next();
            if (*result) added_();
        });
}

void ErasureControl::send_state(ipc::JsonServer& server, const Request& request, const json& body) const {
    const auto state = erasures_->state_of(text_in(body, "address"));
    const auto& of = state ? state->request : ErasureRequest{};
    server.send(request.peer, {{"known", state.has_value()},
                               {"finished", state && state->finished},
                               {"events", of.events},
                               {"segments", of.segments},
                               {"given_up", of.given_up}});
    server.finish(request.peer);
}

} // namespace events
