#include "daemons/common/tables/tables.h"
#include "daemons/common/tables/file_table.h"
#include "daemons/common/tables/key_value.h"
#include "daemons/common/tables/specification.h"
#include <algorithm>
#include <fmt/format.h>
#include <utility>

namespace tables {

namespace {

// A table that cannot be: named, but not to be had.
class NoTable final : public Table {
public:
    explicit NoTable(std::string why) : why_(std::move(why)) {}
    Answer find(std::string_view, smtp::Now) override { return Answer::unavailable(why_); }
    bool ask(const std::string&, smtp::Now) override { return false; }
    std::string trouble() const override { return why_; }

private:
    std::string why_;
};

bool askable(std::string_view key) {
    return !key.empty() && key.size() <= longest_key &&
           std::ranges::none_of(key, [](unsigned char c) { return c < 0x20 || c == 0x7f; });
}

} // namespace

Tables::Tables(common::Loop& loop, common::Log& log, Answered answered)
    : loop_(loop), log_(log), answered_(std::move(answered)), hook_(loop, [this] { tell(); }) {}

Tables::~Tables() = default;

void Tables::configure(const std::vector<config::LookupTable>& sections) {
    sections_ = sections;
    for (const auto& [specification, table] : tables_) ready_.emplace_back(specification, "");
    tables_.clear();
    if (!ready_.empty()) hook_.schedule();
}

Table& Tables::table(std::string_view specification) {
    if (const auto found = tables_.find(specification); found != tables_.end()) return *found->second;
    const std::string name(specification);
    const auto known = [this, name](const std::string& key) { answered_(name, key); };
    auto make = [&]() -> std::unique_ptr<Table> {
        const auto what = Specification::parse(specification);
        if (!what) return std::make_unique<NoTable>(what.error().why);
        switch (what->kind) {
        case Kind::text: return std::make_unique<FileTable>(loop_, log_, name, what->name, TextTable::read, known);
        default: break;
        }
        return std::make_unique<NoTable>(fmt::format("table {}: this kind of table cannot be asked", name));
    };
    return *tables_.emplace(name, make()).first->second;
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

void Tables::tell() {
    for (const auto& [table, key] : std::exchange(ready_, {})) answered_(table, key);
}

std::string Tables::trouble() const {
    for (const auto& [name, table] : tables_)
        if (auto trouble = table->trouble(); !trouble.empty()) return trouble;
    return "";
}

} // namespace tables
