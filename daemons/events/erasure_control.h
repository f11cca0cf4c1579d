// The requests to erase an address from the journal, and how far that has come (proto/hook_control.h). Knows the list
// of what is to be erased; must not know segments.
#pragma once
#include "daemons/common/ipc/json_lines.h"
#include "daemons/common/runtime/pool_work.h"
#include "daemons/events/erasures.h"
#include "libspool/disk/real_disk.h"
#include <deque>
#include <functional>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace events {

class ErasureControl {
public:
    using Request = ipc::JsonServer::Request;
    // `added`: there is something to be done.
    ErasureControl(common::Loop& loop, std::function<void()> added) : work_(loop), added_(std::move(added)) {}
    ErasureControl(const ErasureControl&) = delete;

    // The journal in this directory.
    void use(std::string path, std::shared_ptr<Erasures> erasures) {
        path_ = std::move(path);
        erasures_ = std::move(erasures);
    }
    // False: it is none of these requests. `server` outlives the answer.
    bool handle(ipc::JsonServer& server, const Request& request, const nlohmann::json& body);

private:
    static constexpr std::size_t most_waiting = 100;
    struct Addition {
        ipc::JsonServer* server;
        Request request;
        std::string address;
        std::uint64_t through;
    };
    void erase(ipc::JsonServer& server, const Request& request, const nlohmann::json& body);
    void send_state(ipc::JsonServer& server, const Request& request, const nlohmann::json& body) const;
    void add_next();

    std::string path_;
    std::shared_ptr<Erasures> erasures_;
    std::deque<Addition> waiting_;
    common::PoolWork work_;
    std::function<void()> added_;
};

} // namespace events
