// How addresses are looked up in tables that rewrite them, by the configuration.
#pragma once
#include "daemons/decide/addressing/domain_classes.h"
#include "daemons/decide/rewriting/address_rewriting.h"
#include <string>

namespace common {

// `origin`: mta.origin. `delimiter`: local.recipient_delimiter; "" none.
decide::RewritingSettings rewriting_settings(decide::DomainClasses classes, const std::string& origin,
                                             const std::string& delimiter,
                                             decide::RewritingSettings::Extension extension);

} // namespace common
