#include "daemons/common/lookup/database/file_parameters.h"
#include <algorithm>
#include <fmt/format.h>

namespace tables {

namespace {

enum class Loss : std::uint8_t { none, fatal };

// Parameters of Postfix that are not taken by name.
struct Foreign {
    std::string_view name;
    Loss loss; // of an answer, or of something that guards
    std::string_view why;
};
constexpr Foreign foreign_parameters[] = {
    {"option_file", Loss::none, "option files of MySQL are not read: write user, password and hosts here"},
    {"option_group", Loss::none, "option files of MySQL are not read"},
    {"leaf_result_attribute", Loss::fatal, "attributes of leaf entries are not supported"},
    {"terminal_result_attribute", Loss::fatal, "terminal attributes are not supported"},
    {"sasl_mechs", Loss::fatal, "SASL is not supported"},
    {"sasl_realm", Loss::fatal, "SASL is not supported"},
    {"sasl_authz_id", Loss::fatal, "SASL is not supported"},
    {"sasl_minssf", Loss::fatal, "SASL is not supported"},
    {"cache", Loss::none, "Postfix ignores it as well"},
    {"cache_expiry", Loss::none, "Postfix ignores it as well"},
    {"cache_size", Loss::none, "Postfix ignores it as well"},
    {"debuglevel", Loss::none, "it has no effect here"},
    {"tls_random_file", Loss::none, "it has no effect here"},
};

constexpr std::chrono::seconds one_second(1);

std::optional<smtp::Duration> seconds_of(std::string_view text) {
    std::int64_t unit = 1;
    if (!text.empty()) {
        if (text.back() == 'm') unit = 60;
        if (text.back() == 'h') unit = 3600;
        if (text.back() == 's' || unit != 1) text.remove_suffix(1);
    }
    const auto number = smtp::parse_number(text, 1'000'000);
    if (!number) return std::nullopt;
    return std::chrono::seconds(static_cast<std::int64_t>(*number) * unit);
}

} // namespace

const Parameter* FileParameters::find(std::string_view name) const {
    const auto found = std::ranges::find(parameters_, name, &Parameter::name);
    return found == parameters_.end() ? nullptr : &*found;
}

std::string FileParameters::text(std::string_view name, std::string_view otherwise) {
    taken_.emplace(name);
    const auto* found = find(name);
    return std::string(found ? std::string_view(found->value) : otherwise);
}

std::vector<std::string> FileParameters::words(std::string_view name, std::string_view otherwise) {
    std::vector<std::string> out;
    const auto all = text(name, otherwise);
    constexpr std::string_view between = ", \t";
    for (std::size_t at = all.find_first_not_of(between); at != all.npos;) {
        const auto end = std::min(all.find_first_of(between, at), all.size());
        out.push_back(all.substr(at, end - at));
        at = all.find_first_not_of(between, end);
    }
    return out;
}

bool FileParameters::yes_or_no(std::string_view name, bool otherwise) {
    const auto value = text(name, otherwise ? "yes" : "no");
    if (value != "yes" && value != "no") refuse(name, "expected yes or no");
    return value == "yes";
}

std::uint64_t FileParameters::number(std::string_view name, std::uint64_t otherwise, std::uint64_t least,
                                     std::uint64_t most) {
    const auto value = text(name, fmt::format("{}", otherwise));
    const auto read = smtp::parse_number(value, most);
    if (read && *read >= least) return *read;
    refuse(name, fmt::format("expected a number from {} to {}", least, most));
    return otherwise;
}

smtp::Duration FileParameters::time(std::string_view name, smtp::Duration otherwise, smtp::Duration least,
                                    smtp::Duration most) {
    const auto* found = find(name);
    taken_.emplace(name);
    if (!found) return otherwise;
    const auto read = seconds_of(found->value);
    if (!read)
        refuse(name, "expected a time in seconds, such as 10");
    else if (*read < least || *read > most)
        note(name, fmt::format("expected {} to {} seconds: the nearest of them is used", least / one_second,
                               most / one_second));
    return std::clamp(read.value_or(otherwise), least, most);
}

Template FileParameters::parsed_template(std::string_view name, std::string_view otherwise) {
    auto read = Template::parse(text(name, otherwise));
    if (read) return *std::move(read);
    refuse(name, read.error().why);
    return {};
}

void FileParameters::missing(std::string_view name) {
    problems_.push_back({0, std::string(name), "it is missing", false});
}

void FileParameters::refuse(std::string_view name, std::string why) { report(name, std::move(why), false); }

void FileParameters::unsupported(std::string_view name, std::string why) { report(name, std::move(why), true); }

void FileParameters::report(std::string_view name, std::string why, bool is_unsupported) {
    const auto* found = find(name);
    problems_.push_back({found ? found->line : 0, std::string(name), std::move(why), is_unsupported});
}

void FileParameters::note(std::string_view name, std::string why) {
    const auto* found = find(name);
    notes_.push_back(FileProblem{found ? found->line : 0, std::string(name), std::move(why), false}.text());
}

std::vector<std::string> FileParameters::finish(Kind kind) {
    for (const auto& parameter : parameters_) {
        if (taken_.contains(parameter.name) || parameter.value.empty()) continue;
        const auto known = std::ranges::find(foreign_parameters, parameter.name, &Foreign::name);
        if (known == std::end(foreign_parameters))
            report(parameter.name,
                   fmt::format("unknown parameter of {} tables", kind == Kind::mysql   ? "mysql"
                                                                 : kind == Kind::pgsql ? "pgsql"
                                                                                       : "ldap"),
                   false);
        else if (known->loss == Loss::fatal)
            unsupported(parameter.name, std::string(known->why));
        else
            note(parameter.name, std::string(known->why));
    }
    return notes_;
}

} // namespace tables
