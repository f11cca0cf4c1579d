// The oldest supported TLS version, for servers and clients. Values.
#pragma once

namespace config {

enum class TlsVersion { tls_1_2, tls_1_3 };

} // namespace config
