// Declarations of the key tables of all sections: each is defined beside the struct it fills. Reading a
// file, the annotated sample and the manual page are all derived from them. Knows no section's struct.
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
} // namespace queue
} // namespace decide

namespace config {

struct AliasRules;
struct LocalDelivery;

struct AccessClass;
struct AccessRules;
struct Auth;
struct Bounce;
struct Canonical;
struct ClientTests;
struct Content;
struct AutomaticBcc;
struct Dns;
struct DnsList;
struct Generic;
struct History;
struct Hook;
struct Http;
struct Idempotency;
struct Listener;
struct Local;
struct Log;
struct LookupTable;
struct MailCommand;
struct Masquerade;
struct Master;
struct Metrics;
struct Milter;
struct Mta;
struct Fleet;
struct Node;
struct PolicyService;
struct Pool;
struct Pools;
struct Relay;
struct Relocated;
struct SenderRelay;
struct SenderRules;
struct SmtpClient;
struct Smtpd;
struct Spool;
struct Submit;
struct Suppression;
struct Testing;
struct Tls;
struct TlsReports;
struct Transport;
struct Verify;
struct VirtualAlias;
struct VirtualMailbox;

Section section_for(Mta&);
Section section_for(Spool&);
Section section_for(Log&);
Section section_for(Local&);
std::vector<Key> delivery_keys(LocalDelivery&); // more of [local]
std::vector<Key> alias_keys(AliasRules&);       // more of [local]
Section section_for(Listener&);
Section section_for(PolicyService&);
Section section_for(DnsList&);
Section section_for(ClientTests&);
Section section_for(Verify&);
Section section_for(AccessRules&);
Section section_for(AccessClass&);
Section section_for(Milter&);
Section section_for(Content&);
Section section_for(AutomaticBcc&);
Section section_for(Relay&);
Section section_for(LookupTable&);
Section section_for(MailCommand&);
Section section_for(VirtualAlias&);
Section section_for(VirtualMailbox&);
Section section_for(Canonical&);
Section section_for(Generic&);
Section section_for(Masquerade&);
Section section_for(Relocated&);
Section section_for(Transport&);
Section section_for(SenderRelay&);
Section section_for(Pool&);
Section section_for(Pools&);
Section section_for(SenderRules&);
Section section_for(Suppression&);
Section section_for(decide::RouteRule&);
Section section_for(decide::SigningRule&);
Section section_for(decide::queue::RetryPolicy&);
Section section_for(Dns&);
Section section_for(Tls&);
Section section_for(Auth&);
Section section_for(decide::queue::Settings&);
Section section_for(SmtpClient&);
Section section_for(Smtpd&);
Section section_for(Submit&);
Section section_for(History&);
Section section_for(Hook&);
Section section_for(Node&);
Section section_for(Fleet&);
Section section_for(Idempotency&);
Section section_for(Bounce&);
Section section_for(TlsReports&);
Section section_for(Master&);
Section section_for(Metrics&);
Section section_for(Http&);
Section section_for(Testing&);

// Keys that a lookup table of its kind cannot do without, and has not.
std::vector<std::string_view> missing_keys(const LookupTable& table);

} // namespace config
