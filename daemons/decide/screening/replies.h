// Replies to a client that has failed a test, or is on a list.
#pragma once
#include "daemons/decide/screening/screening.h"
#include "libsmtp/protocol/reply.h"
#include <string_view>

namespace decide::screening {

// `dropped`: the connection ends with it; else it rejects recipients. `zones`: of the DNS lists that have the client.
smtp::Reply rejection(Test test, bool dropped, std::string_view client_address, std::string_view zones);
// On a permanent list.
smtp::Reply denial(bool dropped);
// By DNS lists alone, where no tests are made.
smtp::Reply listed(std::string_view client_address, std::string_view zones);

} // namespace decide::screening
