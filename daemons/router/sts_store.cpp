#include "daemons/router/sts_store.h"
#include "daemons/common/net/dns/answer.h"
#include "daemons/common/runtime/read_file.h"
#include "daemons/common/runtime/replace_file.h"
#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

namespace router {

using Json = nlohmann::ordered_json;

namespace {

constexpr std::uintmax_t max_policy_file = 2 * decide::sts::largest_policy;

std::int64_t seconds(smtp::WallTime time) {
    return std::chrono::duration_cast<std::chrono::seconds>(time.time_since_epoch()).count();
}
smtp::WallTime time_of(std::int64_t seconds) { return smtp::WallTime(std::chrono::seconds(seconds)); }

} // namespace

std::vector<std::string> lines_of(const decide::sts::Policy& policy) {
    std::vector<std::string> out = {"version: STSv1", fmt::format("mode: {}", name_of(policy.mode)),
                                    fmt::format("max_age: {}", policy.max_age)};
    for (const auto& mx : policy.mx) out.push_back("mx: " + mx);
    return out;
}

std::string encode(const StsPolicy& known) {
    return Json{{"id", known.id},
                {"fetched", seconds(known.fetched)},
                {"used", seconds(known.used)},
                // One reader judges both what was fetched and what was kept.
                {"policy", fmt::format("{}\n", fmt::join(lines_of(known.policy), "\n"))}}
               .dump(1) +
           "\n";
}

std::expected<StsPolicy, std::string> decode_sts_policy(std::string_view text) {
    const auto json = Json::parse(text, nullptr, false);
    const auto number = [&](const char* name) {
        const auto found = json.find(name);
        return found != json.end() && found->is_number_unsigned() && *found < std::uint64_t{1} << 40;
    };
    const auto word = [&](const char* name) { return json.contains(name) && json[name].is_string(); };
    if (!json.is_object() || !number("fetched") || !number("used") || !word("id") || !word("policy"))
        return std::unexpected("it is damaged");
    auto policy = decide::sts::parse_policy(json["policy"].get<std::string>());
    if (!policy) return std::unexpected("invalid policy: " + policy.error());
    return StsPolicy{*std::move(policy), json["id"].get<std::string>(), time_of(json["fetched"].get<std::int64_t>()),
                     time_of(json["used"].get<std::int64_t>())};
}

StsStore::Loaded StsStore::load() const {
    Loaded out;
    std::error_code bad;
    for (std::filesystem::directory_iterator entry(directory_, bad), end; !bad && entry != end; entry.increment(bad)) {
        const auto path = entry->path().string(), domain = entry->path().filename().string();
        if (domain == ".new") continue; // of a write that was cut short
        const auto trouble = [&](const std::string& what) { out.problems.push_back(path + ": " + what); };
        std::error_code odd;
        if (dns::canonical_name(domain) != domain || !entry->is_regular_file(odd) ||
            entry->file_size(odd) > max_policy_file) {
            trouble("it is not a policy");
            continue;
        }
        const auto text = common::read_file(path);
        auto policy = text ? decode_sts_policy(*text) : std::unexpected(text.error().what);
        if (!policy)
            trouble(policy.error());
        else if (out.policies.size() < max_policies)
            out.policies.emplace(domain, *std::move(policy));
    }
    if (bad) out.problems.push_back(fmt::format("{}: {}", directory_, bad.message()));
    return out;
}

spool::Result<> StsStore::save(const std::string& domain, const StsPolicy& policy) const {
    return common::replace_file(directory_, domain, encode(policy));
}

void StsStore::remove(const std::string& domain) const { ::unlink((directory_ + "/" + domain).c_str()); }

} // namespace router
