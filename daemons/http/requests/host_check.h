// Whether a request may come from where it comes from: by its Host (against DNS rebinding) and, if a browser sent it,
// by its origin. Pure.
#pragma once
#include "daemons/common/net/network.h"
#include "daemons/common/web/message.h"
#include "daemons/http/requests/problem.h"
#include <optional>
#include <string>
#include <vector>

namespace http {

// Lower case, without ports.
struct HostNames {
    std::vector<std::string> names; // of [http] and of this host
    bool includes(std::string_view host) const;
};

// The name in a Host field, in lower case, without its port; "" if it is not valid.
std::string name_in(std::string_view host);

std::optional<Problem> check_origin(const web::Request& request, const HostNames& names);

} // namespace http
