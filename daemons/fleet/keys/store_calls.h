// What the parts of this room need of the store of the fleet: a way to run scripts.
#pragma once
#include "daemons/fleet/redis/command.h"
#include "daemons/fleet/redis/script.h"
#include "daemons/fleet/redis/session.h"
#include <functional>
#include <string>
#include <string_view>

namespace fleet {

struct StoreCalls {
    // As StoreClient::run(); only while the store is present.
    std::function<void(const redis::Script& script, const redis::Command& keys, const redis::Command& arguments,
                       redis::Session::Done done)>
        run;
    std::function<std::string(std::string_view)> key; // the whole name of one
};

} // namespace fleet
