// How a browser gets a session, as the pages need it.
#pragma once
#include "daemons/common/web/message.h"
#include "daemons/http/requests/problem.h"
#include "libsmtp/text/time_types.h"
#include <chrono>
#include <expected>
#include <optional>
#include <string>
#include <string_view>

namespace http {

struct Denial {
    Problem problem;
    bool delayed = false; // the answer is to be delayed: a token was guessed
};

class Login {
public:
    static constexpr std::chrono::hours lifetime{12}; // of a session

    // The user at the other end of the socket who needs no token; nothing: a token is needed.
    virtual std::optional<std::string> user_of(const web::Request& request) const = 0;
    // Returns the secret of the session's cookie. `token`: its secret; "": for the user on the socket.
    virtual std::expected<std::string, Denial> log_in(const web::Request& request, std::string_view token,
                                                      smtp::Now now) = 0;
    virtual void log_out(const web::Request& request) = 0;

protected:
    ~Login() = default;
};

} // namespace http
