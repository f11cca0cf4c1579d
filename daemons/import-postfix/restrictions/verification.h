// Verification of addresses by probes: what address_verify_* and unverified_* need beyond the map of settings.
#pragma once

namespace postrider {

class Import;

void import_verification(Import& import); // a step

} // namespace postrider
