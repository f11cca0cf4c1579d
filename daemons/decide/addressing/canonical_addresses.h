// The canonical forms of the envelope's addresses: the tables of senders or recipients, then those for both. Pure.
#pragma once
#include "daemons/decide/addressing/expansion.h"
#include "daemons/decide/rewriting/address_rewriting.h"
#include <string_view>

namespace decide {

// Of the reverse-path, which is not empty.
RewrittenAddress canonical_sender(std::string_view address, const ExpansionSettings& settings, Lookups& lookups);
// Of a recipient with a domain.
RewrittenAddress canonical_recipient(std::string_view address, const ExpansionSettings& settings, Lookups& lookups);

} // namespace decide
