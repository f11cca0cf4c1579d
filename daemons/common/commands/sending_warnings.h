// Parts of a valid configuration that will keep mail waiting, or have it rejected by the next hop: TLS that
// cannot be verified, DANE without a trusted name server, accounts that match no next hop. Pure; opens no file.
#pragma once
#include "daemons/common/config/fwd.h"
#include "daemons/common/crypto/auth/credentials.h"
#include <string>
#include <vector>

namespace common {

// A line for each, with what to do. `accounts`: those of smtp_client.credentials, as far as they are known.
std::vector<std::string> sending_warnings(const config::Config& config, const auth::Credentials& accounts);

} // namespace common
