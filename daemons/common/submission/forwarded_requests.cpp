#include "daemons/common/submission/forwarded_requests.h"
#include "daemons/common/submission/control_fields.h"
#include "libsmtp/protocol/deliver_by.h"
#include "libsmtp/text/date.h"
#include <fmt/format.h>

namespace common {

namespace {

void add(std::string& out, std::size_t field, std::string_view value) {
    if (!value.empty()) out += fmt::format("{}: {}\r\n", control_fields[field], value);
}

std::string mode_of(const spool::Envelope& envelope) {
    return fmt::format("{}{}", envelope.late == smtp::LateMail::give_back ? "R" : "N",
                       envelope.deliver_by_trace ? "T" : "");
}

} // namespace

std::string fields_of_requests(const spool::Envelope& envelope, smtp::WallTime now) {
    std::string out;
    add(out, pool_field, envelope.pool);
    if (envelope.expiry && *envelope.expiry > now) add(out, expires_field, smtp::rfc3339_date(*envelope.expiry));
    if (envelope.deliver_by && *envelope.deliver_by > now)
        add(out, deliver_by_field, fmt::format("{};{}", smtp::rfc3339_date(*envelope.deliver_by), mode_of(envelope)));
    add(out, lane_field, envelope.lane);
    add(out, policy_field, envelope.retry_policy);
    for (const auto& each : envelope.meta) out += fmt::format("{}{}: {}\r\n", meta_field, each.name, each.value);
    return out;
}

} // namespace common
