// Transports that are no way to another host, error(8), retry, discard(8) and pipe(8), where main.cf gives them to a
// class of domains: `default_transport = error:this host sends no mail`. They become entries of a transport table,
// which names the domains of each class; so what only a table of domains knows cannot be carried over.
#pragma once
#include <optional>
#include <string>
#include <string_view>

namespace postrider {

class Import;

// Of local_transport, relay_transport or default_transport: it is such a transport, and the table has it.
bool is_in_final_transports(Import& import, std::string_view setting);
// The table, for the end of transport.tables; nothing: there is no such transport.
std::optional<std::string> table_of_final_transports(Import& import);

} // namespace postrider
