// Transports of master.cf that Postfix selects by sender.
#pragma once
#include "daemons/import-postfix/postfix/files.h"

namespace postrider {

class Import;

// Does sender_dependent_default_transport_maps name this SMTP transport, and has it nothing of its own but source
// addresses? It then becomes a [pool].
bool is_pool_for_senders(Import& import, const postfix::Service& service);

} // namespace postrider
