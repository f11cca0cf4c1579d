// How addresses are looked up in tables that rewrite them, by the configuration.
#pragma once
#include "daemons/common/config/sections/recipients/local.h"
#include "daemons/decide/rewriting/address_rewriting.h"
#include <string>

namespace common {

// `origin`: mta.origin.
decide::RewritingSettings rewriting_settings(const config::Local& local, const std::string& origin,
                                             decide::RewritingSettings::Extension extension);

} // namespace common
