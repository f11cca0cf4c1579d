#include "daemons/common/submission/pool_choice.h"
#include "daemons/common/submission/address_map.h"
#include "libsmtp/text/text.h"
#include <fmt/format.h>

namespace common {

std::string choose_pool(const config::Config& config, Submitter submitter, std::string_view asked,
                        spool::Envelope& envelope) {
    envelope.pool.clear();
    if (submitter == Submitter::stranger) return "";
    if (!asked.empty()) {
        if (!config.pool(asked))
            return fmt::format("{}: there is no pool \"{}\"", control_fields[pool_field], smtp::printable(asked, 64));
        envelope.pool = asked;
    } else if (const auto* by_sender = find_by_address(config.pool_choice.by_sender, envelope.reverse_path,
                                                  config.local.recipient_delimiter)) {
        envelope.pool = *by_sender;
    }
    return "";
}

} // namespace common
