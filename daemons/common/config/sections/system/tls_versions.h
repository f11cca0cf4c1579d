// The TLS versions of the configuration by their names.
#pragma once
#include "daemons/common/config/schema/value_types.h"
#include "daemons/common/config/sections/system/tls_version.h"

namespace config {

inline constexpr EnumValue<TlsVersion> tls_versions[] = {{"1.2", TlsVersion::tls_1_2}, {"1.3", TlsVersion::tls_1_3}};

} // namespace config
