// The one table of keys: what each is called, where its value goes, what may stand there, and what it means.
// Reading a file, the annotated sample and the manual's page all follow from it. Knows no TOML.
#pragma once
#include "daemons/common/config/config.h"
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace config {

// Where a value goes. A setter returns what is wrong with the text, or "".
struct Text {
    std::function<std::string(std::string_view)> set;
    std::function<std::string()> show;
};
struct List {
    std::function<void()> clear; // before the first one
    std::function<std::string(std::string_view)> add;
    std::function<std::vector<std::string>()> show;
    bool of_tables = false; // its texts name lookup tables
};
struct Count {
    std::uint32_t* value;
    std::uint32_t least = 0, most = 0;
};
struct Size {
    std::uint64_t* value;
    std::uint64_t least = 0, most = 0;
};
struct Span {
    Duration* value;
    Duration least{}, most{};
};
struct Flag {
    bool* value;
};
struct Fraction {
    double* value; // 0 to 1
};
struct Counts { // as many as there are, in order
    std::span<std::uint32_t> values;
    std::uint32_t least = 0, most = 0;
};
struct NextHops {
    std::vector<std::vector<decide::NextHop>>* value;
};

struct Key {
    std::string_view name;
    std::variant<Text, List, Count, Size, Span, Flag, Fraction, Counts, NextHops> target;
    std::string_view meaning; // plain sentences, for the sample and the manual
    std::string_view example; // shown instead of the default where that depends on the machine; TOML
};

struct Section {
    std::string name; // "smtpd"; "listen.<name>" and "route.\"<domain>\"" for the named ones
    std::string_view meaning;
    std::vector<Key> keys;
};

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

// All sections with fixed names, in the order of the manual. They point into `config`.
std::vector<Section> fixed_sections(Config& config);

// "example.com": letters, digits, hyphens and underscores between dots; lower case on return, and as the DNS
// has it where it was "bücher.example" (IDNA); "" if it is none.
std::string domain_name(std::string_view text);

} // namespace config
