#include "daemons/common/rewriting/rewriting_settings.h"
#include "daemons/common/text/idn.h"
#include <memory>
#include <utility>

namespace common {

decide::RewritingSettings rewriting_settings(decide::DomainClasses classes, const std::string& origin,
                                             const std::string& delimiter,
                                             decide::RewritingSettings::Extension extension) {
    return {.origin = origin,
            .delimiter = delimiter.empty() ? '\0' : delimiter.front(),
            .is_local = [classes = std::make_shared<const decide::DomainClasses>(std::move(classes)),
                         own = idn::ascii_domain(origin)](std::string_view domain,
                                                          decide::Lookups& lookups) -> decide::LocalAnswer {
                const auto name = idn::ascii_domain(domain);
                if (name == own) return true;
                return classes->is_local(
                    name, [&](const std::string& table, const std::string& key) { return lookups.table(table, key); });
            },
            .extension = extension};
}

} // namespace common
