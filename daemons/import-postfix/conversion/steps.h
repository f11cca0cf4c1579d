// The steps of the conversion that have no room of their own, each for one subject. Their order is conversion.cpp's.
#pragma once

namespace postrider {

class Import;

void import_names(Import& import);        // our names, the domains we accept mail for
void import_local(Import& import);        // mailboxes of users of this system
void import_addresses(Import& import);    // virtual mailboxes, canonical, transport, …
void import_security(Import& import);     // certificates, levels of TLS, AUTH
void import_listeners(Import& import);    // services of type inet
void import_filters(Import& import);      // milters, header checks, copies
void import_sending(Import& import);      // routes, limits, accounts
void import_tls_policies(Import& import); // within import_sending: after the routes
void import_accounts(Import& import);     // at next hops; after them
void import_queue(Import& import);

} // namespace postrider
