// sender_dependent_default_transport_maps: a transport that only has source addresses of its own is a pool; one with
// more is a route, and that and a next hop are entries of sender_relay.tables.
#pragma once
#include "daemons/import-postfix/postfix/files.h"

namespace postrider {

class Import;

// The service of master.cf is named in one of these tables.
bool is_named_for_senders(Import& import, const postfix::Service& service);
// The same, of an SMTP transport that has nothing of its own but source addresses. It then becomes a [pool].
bool is_pool_for_senders(Import& import, const postfix::Service& service);
// A step after the accounts, which have tables of next hops by sender too.
void import_sender_transports(Import& import);

} // namespace postrider
