// The replies to requests on run/control, and the client's user name. Must not know the requests.
#pragma once
#include "daemons/common/ipc/json_replies.h"
#include "libspool/disk/commit_pool.h"
#include <functional>
#include <string>

namespace queue_manager {

using Request = ipc::JsonServer::Request;
using Replies = ipc::JsonReplies;

// Calls `then` with the client's user name, looked up on a thread, or the name of the token that http was given.
void with_user_name(spool::CommitPool& pool, const Request& request, std::function<void(std::string who)> then);

} // namespace queue_manager
