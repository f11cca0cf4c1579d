// Listening sockets that systemd has opened and passes to us (socket activation, sd_listen_fds(3)): which of the
// configuration's they are. Knows nothing about what is done with them.
#pragma once
#include "daemons/common/config/sections/server/listener.h"
#include "daemons/common/runtime/fd.h"
#include "libspool/disk/result.h"
#include <map>
#include <string>
#include <vector>

namespace master {

struct ActivatedSocket {
    std::string name; // FileDescriptorName= of the socket's unit: a [listen.<name>]
    common::Fd fd;
};

// What this process was started with, removed from its environment; close-on-exec from now on. Nothing if systemd
// passed none, or this was built without libsystemd.
std::vector<ActivatedSocket> activated_sockets();

// By their address as the configuration writes it. An error says which socket matches no [listen.<name>], and what to
// do: serving it under the wrong rules would be worse than not to start.
spool::Result<std::map<std::string, common::Fd>> by_address(std::vector<ActivatedSocket> handed,
                                                            const std::vector<config::Listener>& listeners);

} // namespace master
