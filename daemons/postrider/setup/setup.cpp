#include "daemons/postrider/setup/setup.h"
#include "daemons/common/config/config.h"
#include "daemons/common/config/schema/value_types.h"
#include "daemons/common/lookup/tables/blocking_tables.h"
#include "daemons/common/terminal/exit_status.h"
#include "daemons/common/terminal/load_config.h"
#include "daemons/common/terminal/output.h"
#include "daemons/decide/addressing/domain_classes.h"
#include "daemons/decide/routing/routing.h"
#include "daemons/postrider/setup/host_probe.h"
#include "daemons/postrider/setup/record_check.h"
#include "daemons/postrider/setup/setup_text.h"
#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <optional>

namespace postrider {

using namespace setup;
using nlohmann::json;

namespace {

constexpr std::string_view usual_selector = "postrider";

struct Request {
    std::string domain, selector;
    TestHost test;
    bool check = false;
};

// HOST, HOST:PORT, [ADDRESS]:PORT or an address.
std::optional<TestHost> test_host_of(const std::string& text) {
    if (const auto endpoint = common::Endpoint::parse(text, TestHost{}.port))
        return TestHost{endpoint->address.to_string(), endpoint->port};
    const auto hop = decide::NextHop::parse(text);
    if (!hop || hop->kind != decide::NextHop::Kind::mx_of || hop->port == 0) return {};
    return TestHost{hop->name, hop->port};
}

// Nothing: an error was printed.
std::optional<Request> request_of(const Arguments& arguments) {
    Request request{.domain = config::domain_name(arguments.words[0]),
                    .selector =
                        config::domain_name(arguments.option("--selector").value_or(std::string(usual_selector))),
                    .test = {},
                    .check = arguments.has("--check")};
    if (request.domain.empty()) {
        print_error(fmt::format("\"{}\" is not a domain", arguments.words[0]));
        return {};
    }
    if (request.selector.empty()) {
        print_error(fmt::format("--selector {}: not a valid selector", *arguments.option("--selector")));
        return {};
    }
    if (const auto text = arguments.option("--test-host")) {
        const auto host = test_host_of(*text);
        if (!host) {
            print_error(fmt::format("--test-host {}: expected HOST, HOST:PORT or [ADDRESS]:PORT", *text));
            return {};
        }
        request.test = *host;
    }
    return request;
}

std::expected<std::vector<DomainKey>, KeyError> keys_of(const config::Config& config, const Request& request) {
    auto keys = configured_keys(config.signing, request.domain);
    if (!keys || !keys->empty()) return keys;
    const auto directory = std::filesystem::absolute(config.file).parent_path() / "dkim";
    const auto file = directory / fmt::format("{}.{}.pem", request.selector, request.domain);
    return key_in(file.string(), request.selector, request.check ? IfMissing::leave : IfMissing::generate);
}

// Does the configuration accept mail for the domain? No, where a table that may know cannot be asked.
bool receives(const config::Config& config, const std::string& domain) {
    tables::BlockingTables asker(config.tables, tables::maps_socket(config.spool.directory));
    using Status = decide::TableAnswer::Status;
    const auto where =
        config.domain_classes().find(domain, [&](const auto& table, const auto& key) -> decide::TableAnswer {
            auto answer = asker.ask(table, key);
            if (answer.status == tables::Answer::Status::unavailable) return {Status::unreadable, "", answer.why};
            return {answer.status == tables::Answer::Status::found ? Status::found : Status::none, "", ""};
        });
    if (!where) print_error("warning: " + where.error().why);
    return where && *where != decide::AddressClass::remote;
}

DomainFacts facts_of(const config::Config& config, const Request& request, const std::vector<DomainKey>& keys) {
    DomainFacts facts{.domain = request.domain,
                      .host = config.mta.hostname,
                      .keys = {},
                      .sources = {},
                      .receives = receives(config, request.domain)};
    for (const auto& key : keys) facts.keys.push_back(key.record);
    for (const auto& pool : config.pools)
        for (const auto& source : pool.addresses) facts.sources.push_back(source.address.to_string());
    std::ranges::sort(facts.sources);
    const auto [first, last] = std::ranges::unique(facts.sources);
    facts.sources.erase(first, last);
    return facts;
}

// Where the configuration sends all mail; "": to the recipients' hosts.
std::string smart_host(const config::Config& config) {
    const decide::RouteTable routes(config.routes);
    const auto* rule = routes.named("*");
    if (!rule || rule->next_hops.empty() || rule->next_hops.front().empty()) return "";
    const auto& hop = rule->next_hops.front().front();
    return hop.kind == decide::NextHop::Kind::recipient ? "" : hop.to_string();
}

std::vector<Finding> check_records(DnsQuestions& dns, const std::vector<RecordGroup>& groups, const Request& request,
                                   bool has_key) {
    std::vector<Finding> findings;
    if (!has_key)
        findings.push_back({Grade::bad, "DKIM", "no key exists for " + request.domain,
                            fmt::format("Run: postrider setup {}", request.domain)});
    for (const auto& group : groups)
        for (const auto& record : group.records)
            findings.push_back(
                compare(record, dns.ask(record.name, record.kind == RecordKind::mx ? dns::Type::mx : dns::Type::txt)));
    return findings;
}

json json_of(const std::vector<Finding>& findings) {
    auto list = json::array();
    for (const auto& each : findings)
        list.push_back(
            {{"grade", name_of(each.grade)}, {"subject", each.subject}, {"text", each.text}, {"advice", each.advice}});
    return list;
}

json json_of(const std::vector<RecordGroup>& groups) {
    auto list = json::array();
    for (const auto& group : groups)
        for (const auto& record : group.records)
            list.push_back({{"name", record.name},
                            {"type", record.type()},
                            {"value", record.value},
                            {"required", record.required},
                            {"purpose", group.purpose}});
    return list;
}

json json_of(const std::vector<DomainKey>& keys) {
    auto list = json::array();
    for (const auto& key : keys)
        list.push_back({{"selector", key.record.selector},
                        {"file", key.file},
                        {"generated", key.generated},
                        {"configured", key.configured}});
    return list;
}

std::size_t count_bad(const std::vector<Finding>& findings) {
    return static_cast<std::size_t>(std::ranges::count(findings, Grade::bad, &Finding::grade));
}

} // namespace

int setup_domain(const Arguments& arguments) {
    const auto request = request_of(arguments);
    if (!request) return usage;
    const auto config = load_config(arguments);
    if (!config) return bad_config;
    const auto keys = keys_of(*config, *request);
    if (!keys) return fail(keys.error().status, keys.error().text);
    const auto facts = facts_of(*config, *request, *keys);
    const auto groups = records_for(facts);
    common::Loop loop;
    DnsQuestions dns(loop, config->dns);
    const auto host = findings_of(probe_host(loop, dns, facts.host, smart_host(*config), request->test));
    const auto records = request->check ? check_records(dns, groups, *request, !keys->empty()) : std::vector<Finding>{};
    const auto bad = count_bad(host) + count_bad(records);
    if (arguments.json)
        print_json({{"version", 1},
                    {"domain", facts.domain},
                    {"host", facts.host},
                    {"host_findings", json_of(host)},
                    {"record_findings", json_of(records)},
                    {"records", json_of(groups)},
                    {"keys", json_of(*keys)},
                    {"sts_policy", sts_policy(facts)}});
    else if (request->check)
        fmt::print("{}{}{}\n", findings_text(host), findings_text(records),
                   bad == 0 ? "result: ready to send mail for " + facts.domain
                            : fmt::format("result: {} to be fixed", bad));
    else
        fmt::print("{}", zone_text({facts, groups, *keys, host, config->file}));
    return bad == 0 ? ok : unfit;
}

} // namespace postrider
