// The key tables of all sections, declared: each is defined beside the struct it fills. Reading a file, the annotated
// sample and the manual page all follow from them. Knows no section's struct.
#pragma once
#include "daemons/common/config/schema/key.h"
#include <string_view>
#include <vector>

namespace decide {
struct RouteRule;
struct SigningRule;
namespace queue {
struct RetryPolicy;
struct Settings;
}
} // namespace decide

namespace config {

struct AliasRules;
struct LocalDelivery;

struct Auth;
struct Bounce;
struct Canonical;
struct Content;
struct Copies;
struct Dns;
struct DnsList;
struct Idempotency;
struct Listener;
struct Local;
struct Log;
struct LookupTable;
struct Master;
struct Metrics;
struct Milter;
struct Mta;
struct PolicyService;
struct Pool;
struct Pools;
struct Relay;
struct Relocated;
struct SenderRelay;
struct SmtpClient;
struct Smtpd;
struct Spool;
struct Submit;
struct Suppression;
struct Testing;
struct Tls;
struct TlsReports;
struct Transport;
struct VirtualAlias;
struct VirtualMailbox;

Section table_of(Mta&);
Section table_of(Spool&);
Section table_of(Log&);
Section table_of(Local&);
std::vector<Key> delivery_keys(LocalDelivery&); // more of [local]
std::vector<Key> alias_keys(AliasRules&); // more of [local]
Section table_of(Listener&);
Section table_of(PolicyService&);
Section table_of(DnsList&);
Section table_of(Milter&);
Section table_of(Content&);
Section table_of(Copies&);
Section table_of(Relay&);
Section table_of(LookupTable&);
Section table_of(VirtualAlias&);
Section table_of(VirtualMailbox&);
Section table_of(Canonical&);
Section table_of(Relocated&);
Section table_of(Transport&);
Section table_of(SenderRelay&);
Section table_of(Pool&);
Section table_of(Pools&);
Section table_of(Suppression&);
Section table_of(decide::RouteRule&);
Section table_of(decide::SigningRule&);
Section table_of(decide::queue::RetryPolicy&);
Section table_of(Dns&);
Section table_of(Tls&);
Section table_of(Auth&);
Section table_of(decide::queue::Settings&);
Section table_of(SmtpClient&);
Section table_of(Smtpd&);
Section table_of(Submit&);
Section table_of(Idempotency&);
Section table_of(Bounce&);
Section table_of(TlsReports&);
Section table_of(Master&);
Section table_of(Metrics&);
Section table_of(Testing&);

// Keys that a lookup table of its kind cannot do without, and has not.
std::vector<std::string_view> missing_keys(const LookupTable& table);

} // namespace config
