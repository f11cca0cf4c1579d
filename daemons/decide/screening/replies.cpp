#include "daemons/decide/screening/replies.h"
#include <fmt/format.h>

namespace decide::screening {

smtp::Reply rejection(Test test, bool dropped, std::string_view client_address, std::string_view zones) {
    const int code = dropped ? 521 : 550;
    if (test != Test::dns_lists) return {code, {5, 5, 1}, "Protocol error"};
    return {code, {5, 7, 1}, fmt::format("Service unavailable; client [{}] blocked using {}", client_address, zones)};
}

smtp::Reply denial(bool dropped) { return {dropped ? 521 : 550, {5, 3, 2}, "Service currently unavailable"}; }

smtp::Reply listed(std::string_view client_address, std::string_view zones) {
    return {
        554, {5, 7, 1}, fmt::format("Service unavailable; Client host [{}] blocked using {}", client_address, zones)};
}

} // namespace decide::screening
