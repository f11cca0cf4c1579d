#include "daemons/common/lookup/aliases/address_lint.h"
#include "daemons/common/config/config.h"
#include "daemons/common/config/sections/recipients/local.h"
#include "daemons/common/lookup/aliases/alias_file.h"
#include "daemons/common/lookup/aliases/include_file.h"
#include "daemons/common/lookup/format/specification.h"
#include "daemons/common/runtime/read_file.h"
#include "daemons/decide/access/result_lint.h"
#include "daemons/decide/rewriting/address_keys.h"
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fmt/format.h>
#include <functional>
#include <optional>
#include <set>
#include <unistd.h>

namespace common {

namespace {

using decide::AliasTarget;

constexpr std::size_t max_linted_file = 64 << 20, most_included = 1000, most_of_a_file = most_alias_problems;

class Review {
public:
    std::vector<AddressProblem> found;

    void alias_file(const std::string& path) {
        const auto text = read_bounded(path, max_linted_file);
        if (!text) return odd(path, 0, std::strerror(text.error()));
        const auto table = AliasTable::parse(*text);
        take(path, table.problems);
        for (const auto& [name, targets] : table.entries) includes_of(targets, path);
        included();
    }

private:
    void odd(const std::string& path, std::uint32_t line, std::string message) {
        found.push_back({path, line, std::move(message)});
    }
    void take(const std::string& path, const std::vector<AliasProblem>& problems) {
        for (const auto& problem : problems) odd(path, problem.line, problem.message);
    }
    void includes_of(const std::vector<AliasTarget>& targets, const std::string& from) {
        for (const auto& target : targets) {
            if (target.kind != AliasTarget::Kind::include) continue;
            if (!target.value.starts_with('/'))
                odd(from, 0, fmt::format(":include:{}: expected an absolute path", smtp::printable(target.value, 100)));
            else if (seen_.size() < most_included && seen_.insert(target.value).second)
                ahead_.insert(target.value);
        }
    }
    void included() {
        while (!ahead_.empty()) {
            const auto path = std::move(ahead_.extract(ahead_.begin()).value());
            const auto file = IncludeFile::open(path);
            const auto text = file ? file->read() : std::unexpected(file.error());
            if (!text) {
                odd(path, 0, text.error());
                continue;
            }
            const auto list = TargetList::parse(*text);
            take(path, list.problems);
            includes_of(list.targets, path);
        }
    }

    std::set<std::string> ahead_, seen_; // included
};

std::optional<std::string> wrong_targets(const std::string& value) {
    for (const auto& target : parse_targets(value))
        if (target.kind == AliasTarget::Kind::wrong) return target.value;
    return std::nullopt;
}

std::optional<std::string> wrong_addresses(std::string_view key, const std::string& value, const config::Config& config,
                                           std::size_t limit) {
    const auto asked = key.empty() || key.starts_with('@') ? fmt::format("user{}", key) : std::string(key);
    auto error =
        decide::addresses_of(value, asked, decide::AddressKey::Match::whole, 0, config.mta.origin, limit).error;
    if (error.empty()) return std::nullopt;
    return error;
}

// The check for values of that configuration key; empty: its values are not addresses.
using Judge = std::function<std::optional<std::string>(std::string_view key, const std::string& value)>;
Judge judge_of(std::string_view key, const config::Config& config) {
    if (key.starts_with("access.") || key.starts_with("access_class."))
        return [&config](std::string_view, const std::string& value) -> std::optional<std::string> {
            auto wrong = decide::access::wrong_result(
                value,
                [&config](std::string_view name) {
                    return std::ranges::find(config.access_classes, name, &config::AccessClass::name) !=
                           config.access_classes.end();
                },
                [&config](std::string_view name) {
                    return std::ranges::find(config.routes, name, &decide::RouteRule::pattern) != config.routes.end();
                });
            if (!wrong) return {};
            return std::move(wrong->why);
        };
    if (key == "local.alias_tables")
        return [](std::string_view, const std::string& value) { return wrong_targets(value); };
    const bool canonical = key.starts_with("canonical.");
    if (!canonical && key != "virtual_alias.tables") return {};
    return [&config, most = canonical ? 1 : config.local.alias_recipients](std::string_view asked,
                                                                           const std::string& value) {
        return wrong_addresses(asked, value, config, most);
    };
}

void append(std::vector<AddressProblem>& out, std::vector<AddressProblem>&& more) {
    for (auto& each : more)
        if (std::ranges::find(out, each) == out.end()) out.push_back(std::move(each));
}

} // namespace

std::string AddressProblem::text() const {
    return line == 0 ? fmt::format("{}: {}", file, message) : fmt::format("{}, line {}: {}", file, line, message);
}

std::vector<AddressProblem> lint_alias_file(const std::string& path) {
    Review review;
    review.alias_file(path);
    return std::move(review.found);
}

std::vector<AddressProblem> lint_alias_files(const config::Config& config) {
    const auto by_default = config::Local{}.aliases;
    std::vector<AddressProblem> out;
    for (const auto& path : config.local.aliases) {
        const bool nobodys = std::ranges::find(by_default, path) != by_default.end();
        if (nobodys && ::access(path.c_str(), F_OK) != 0 && errno == ENOENT) continue;
        append(out, lint_alias_file(path));
    }
    return out;
}

TableLint lint_table(const config::Config& config, std::string_view table, std::string_view key) {
    const auto judge = judge_of(key, config);
    if (!judge) return {};
    const auto what = tables::Specification::parse(table);
    const bool text = what && what->kind == tables::Kind::text;
    TableLint out;
    std::size_t count = 0;
    out.scan = tables::each_value(table, config.tables, [&](const tables::TableValue& each) {
        auto wrong = each.groups && key == "local.alias_tables" ? wrong_in_rule(each.value) : std::nullopt;
        if (!wrong) wrong = tables::check_value(each, [&](const std::string& value) { return judge(each.key, value); });
        if (!wrong || ++count > most_of_a_file) return;
        const auto of = each.key.empty() ? "" : smtp::printable(each.key, 64) + ": ";
        out.odd.push_back({text ? what->name : std::string(table), each.line, of + *wrong});
    });
    return out;
}

std::vector<AddressProblem> lint_addresses(const config::Config& config) {
    auto out = lint_alias_files(config);
    for (const auto& named : config.table_references) append(out, lint_table(config, named.table, named.key).odd);
    return out;
}

} // namespace common
