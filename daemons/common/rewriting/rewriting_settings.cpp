#include "daemons/common/rewriting/rewriting_settings.h"
#include "daemons/common/config/address_classes.h"
#include "daemons/common/text/idn.h"

namespace common {

decide::RewritingSettings rewriting_settings(const config::Local& local, const std::string& origin,
                                             decide::RewritingSettings::Extension extension) {
    const auto& delimiter = local.recipient_delimiter;
    return {.origin = origin,
            .delimiter = delimiter.empty() ? '\0' : delimiter.front(),
            .is_local =
                [local, own = idn::ascii_domain(origin)](std::string_view domain) {
                    const auto name = idn::ascii_domain(domain);
                    return name == own || config::is_local(local, name);
                },
            .extension = extension};
}

} // namespace common
