#include "daemons/common/lookup/tables/tables.h"
#include "daemons/common/lookup/format/key_value.h"
#include "daemons/common/lookup/format/rules.h"
#include "daemons/common/lookup/format/specification.h"
#include "daemons/common/lookup/tables/combined_table.h"
#include "daemons/common/lookup/tables/file_table.h"
#include "daemons/common/lookup/tables/lmdb_table.h"
#include "daemons/common/lookup/tables/remote_table.h"
#include "daemons/common/lookup/tables/section_contents.h"
#include "daemons/common/lookup/tables/sqlite_table.h"
#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <utility>

namespace tables {

namespace {

// A table that is named but cannot be used.
class NoTable final : public Table {
public:
    explicit NoTable(std::string why) : why_(std::move(why)) {}
    Answer find(std::string_view, smtp::Now) override { return Answer::unavailable(why_); }
    bool ask(const std::string&, smtp::Now) override { return false; }
    std::string problem() const override { return why_; }

private:
    std::string why_;
};

// The entries or rules of a [table.NAME].
class HeldTable final : public Table {
public:
    HeldTable(std::string name, std::unique_ptr<const TableContents> contents)
        : name_(std::move(name)), contents_(std::move(contents)) {}
    Answer find(std::string_view key, smtp::Now) override {
        auto answer = contents_->find(key);
        if (answer.status == Answer::Status::unavailable) answer.why = fmt::format("table {}: {}", name_, answer.why);
        return answer;
    }
    bool ask(const std::string&, smtp::Now) override { return false; }
    std::string problem() const override { return ""; }

private:
    std::string name_;
    std::unique_ptr<const TableContents> contents_;
};

// "static:VALUE".
class FixedTable final : public Table {
public:
    explicit FixedTable(std::string value) : value_(std::move(value)) {}
    Answer find(std::string_view, smtp::Now) override { return Answer::found(value_); }
    bool ask(const std::string&, smtp::Now) override { return false; }
    std::string problem() const override { return ""; }

private:
    std::string value_;
};

Service socketmap_service(const common::ServiceAddress& address, std::string map) {
    return {address, [map = std::move(map)](std::string_view key) { return socketmap::request(map, key); },
            socketmap::parse_reply};
}
Service tcp_service(const common::ServiceAddress& address) {
    return {address, tcp_table::request, tcp_table::parse_reply};
}

// The process maps, which gives up on a database before this time limit.
Service maps_service(const std::string& socket, std::string table) {
    Service service{{.path = socket, .endpoint = {}},
                    [table = std::move(table)](std::string_view key) { return socketmap::request(table, key); },
                    maps_protocol::parse_reply};
    service.timeout = std::chrono::seconds(30);
    service.contended_timeout = service.timeout; // each table has connections of its own there
    service.unreachable = "the process maps does not answer: is the package postrider-maps installed, and Postrider "
                          "running?";
    return service;
}

bool askable(std::string_view key) {
    return !key.empty() && key.size() <= longest_key &&
           std::ranges::none_of(key, [](unsigned char c) { return c < 0x20 || c == 0x7f; });
}

} // namespace

std::string maps_socket(const std::string& spool) { return spool + "/run/private/maps"; }

Tables::Tables(common::Loop& loop, common::Log& log, Answered answered)
    : loop_(loop), log_(log), answered_(std::move(answered)), hook_(loop, [this] { tell(); }) {}

Tables::~Tables() = default;

void Tables::configure(const std::vector<config::LookupTable>& sections, std::string maps_socket) {
    sections_ = sections;
    maps_socket_ = std::move(maps_socket);
    for (const auto& [specification, table] : tables_) ready_.emplace_back(specification, "");
    tables_.clear();
    if (!ready_.empty()) hook_.schedule();
}

Table& Tables::table(std::string_view specification) {
    if (const auto found = tables_.find(specification); found != tables_.end()) return *found->second;
    const std::string name(specification);
    auto made = make(name, [this, name](const std::string& key) { answered_(name, key); });
    return *tables_.emplace(name, std::move(made)).first->second;
}

std::unique_ptr<Table> Tables::make(const std::string& name, OnAnswer known) {
    const auto what = Specification::parse(name);
    if (!what) return std::make_unique<NoTable>(what.error().why);
    const auto file = [&](Read read) {
        return std::make_unique<FileTable>(loop_, log_, name, what->name, read, known);
    };
    switch (what->kind) {
    case Kind::text: return file(TextTable::read);
    case Kind::regexp: return file(RuleTable::read_regexp);
    case Kind::cidr: return file(RuleTable::read_cidr);
    case Kind::lmdb: return std::make_unique<LmdbTable>(log_, name, what->name);
    case Kind::socketmap:
        return std::make_unique<RemoteTable>(loop_, log_, name, socketmap_service(what->address, what->name), known);
    case Kind::tcp: return std::make_unique<RemoteTable>(loop_, log_, name, tcp_service(what->address), known);
    case Kind::mysql:
    case Kind::pgsql:
    case Kind::ldap:
        if (maps_socket_.empty())
            return std::make_unique<NoTable>(fmt::format("table {}: only the process maps can query it", name));
        return std::make_unique<RemoteTable>(loop_, log_, name, maps_service(maps_socket_, name), known);
    case Kind::fixed: return std::make_unique<FixedTable>(what->value);
    case Kind::section: break;
    }
    const auto section = std::ranges::find(sections_, what->name, &config::LookupTable::name);
    if (section == sections_.end())
        return std::make_unique<NoTable>(
            fmt::format("table {}: there is no [table.{}] in the configuration", name, what->name));
    return make(name, *section, std::move(known));
}

std::unique_ptr<Table> Tables::make(const std::string& name, const config::LookupTable& section, OnAnswer known) {
    if (auto contents = section_contents(section)) return std::make_unique<HeldTable>(name, std::move(contents));
    if (config::is_combined(section.kind)) {
        std::vector<CombinedTable::Make> parts; // the configuration's check: none of them contains itself
        for (const auto& part : section.tables)
            parts.emplace_back([this, &part](OnAnswer answered) { return make(part, std::move(answered)); });
        return std::make_unique<CombinedTable>(fmt::format("table {}: ", name), section.kind, parts, std::move(known));
    }
    if (section.kind == config::LookupKind::sqlite)
        return std::make_unique<SqliteTable>(
            loop_, log_, name, SqliteQuery{section.database, section.query, section.timeout, section.cache}, known);
    auto service = section.kind == config::LookupKind::socketmap ? socketmap_service(section.address, section.map)
                                                                 : tcp_service(section.address);
    service.timeout = section.timeout;
    service.cache = section.cache;
    return std::make_unique<RemoteTable>(loop_, log_, name, std::move(service), known);
}

Answer Tables::find(std::string_view specification, std::string_view key) {
    if (!askable(key)) return {};
    return table(specification).find(key, common::Loop::now());
}

void Tables::ask(std::string_view specification, std::string_view key) {
    std::string wanted(key);
    if (askable(key) && table(specification).ask(wanted, common::Loop::now())) return;
    ready_.emplace_back(specification, std::move(wanted));
    hook_.schedule();
}

bool Tables::forget_none(std::string_view specification, std::string_view key, smtp::Now since) {
    return askable(key) && table(specification).forget_none(std::string(key), since);
}

void Tables::tell() {
    for (const auto& [table, key] : std::exchange(ready_, {})) answered_(table, key);
}

std::vector<Problem> Tables::problems(std::string_view specification) { return table(specification).problems(); }

void Tables::refresh() {
    for (const auto& [name, table] : tables_)
        if (!table->problem().empty()) table->refresh(common::Loop::now());
}

std::string Tables::problem() const {
    std::string out;
    for (const auto& [name, table] : tables_)
        if (const auto problem = table->problem(); !problem.empty()) out += (out.empty() ? "" : "; ") + problem;
    return out;
}

} // namespace tables
