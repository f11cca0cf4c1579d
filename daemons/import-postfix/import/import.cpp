#include "daemons/import-postfix/import/import.h"
#include "daemons/import-postfix/postfix/lists.h"
#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace postrider {

using postfix::FileError;

namespace {

void folded(std::string_view text, std::string_view indent, std::vector<std::string>& out) {
    std::string line(indent);
    bool fresh = true;
    while (!text.empty()) {
        const auto space = std::min(text.find(' '), text.size());
        if (!fresh && line.size() + space > 96) out.push_back(line), line = indent, fresh = true;
        if (!fresh) line += ' ';
        line += text.substr(0, space), fresh = false;
        text.remove_prefix(std::min(space + 1, text.size()));
    }
    out.push_back(line);
}

// Values with which a setting guards nothing.
bool is_off(std::string_view value) { return value.empty() || value == "no" || value == "0" || value == "none"; }

// Whole characters only.
std::string shortened(std::string_view text, std::size_t longest) {
    if (text.size() <= longest) return std::string(text);
    while (longest > 0 && (static_cast<unsigned char>(text[longest]) & 0xC0) == 0x80) --longest;
    return std::string(text.substr(0, longest)) + "...";
}

} // namespace

std::size_t ImportResult::count(SettingResult::Kind kind) const {
    return static_cast<std::size_t>(std::ranges::count(results, kind, &SettingResult::kind));
}

std::string ImportResult::text() {
    std::vector<std::string> remarks = {"Created by \"postrider import-postfix\" from Postfix's main.cf and master.cf.",
                                        "postrider-from-postfix(7) describes the differences and how to migrate."};
    for (const auto kind : {SettingResult::Kind::unsupported, SettingResult::Kind::with_remark}) {
        if (count(kind) == 0) continue;
        remarks.emplace_back();
        remarks.emplace_back(kind == SettingResult::Kind::unsupported ? "Settings without a counterpart:"
                                                                      : "Settings that work differently:");
        for (const auto& result : results) {
            if (result.kind != kind) continue;
            remarks.push_back(result.line == 0 ? comment_text(fmt::format("  {}: {}", result.file, result.name))
                                               : comment_text(fmt::format("  {} line {}: {}", result.file, result.line,
                                                                          result.name)));
            for (const auto& remark : result.remarks) folded(comment_text(remark), "    ", remarks);
        }
    }
    return draft.text(remarks);
}

void ImportResult::drop_key(const std::string& path, const std::string& why) {
    const auto* key = draft.find(path);
    const auto from = key ? key->origin.substr(0, key->origin.find_first_of(" ,")) : "";
    draft.remove(path);
    const auto found = std::ranges::find(results, from, &SettingResult::name);
    auto& result =
        found != results.end()
            ? *found
            : results.emplace_back(SettingResult{path, "main.cf", 0, SettingResult::Kind::unsupported, {}, {}});
    result.kind = SettingResult::Kind::unsupported;
    result.remarks.push_back(fmt::format("omitted, because Postrider does not accept it: {}", why));
}

Import::Import(const HostEnvironment& environment_, postfix::Values values_, std::vector<postfix::Service> services_)
    : environment(environment_), values(std::move(values_)), services(std::move(services_)) {
    for (const auto& [name, setting] : values.all())
        results_.push_back({name, "main.cf", setting.line, SettingResult::Kind::converted, {}, {}});
    std::ranges::stable_sort(results_, {}, &SettingResult::line);
}

std::string Import::value(std::string_view name) { return value(values, name); }

std::string Import::value(const postfix::Values& of, std::string_view name) {
    auto read = of.value(name);
    if (read) return *std::move(read);
    if (!error) error = read.error();
    return "";
}

// Postfix's program that needs such a value does not start; the others do, so that it may never have been noticed.
template <class F> auto Import::without_remark(std::string_view name, F read) -> decltype(read(std::string_view())) {
    const auto text = value(name);
    const auto remark = text.find('#');
    if (auto as_it_stands = read(text); as_it_stands || remark == text.npos) return as_it_stands;
    const auto before = postfix::trimmed(std::string_view(text).substr(0, remark));
    auto out = read(before);
    if (out)
        add_remark(name,
                   fmt::format("\"{}\": a remark must be on a line of its own in main.cf: Postfix's programs that "
                               "need this value do not start. \"{}\" is used",
                               postfix::excerpt(text), before));
    return out;
}

bool Import::flag(std::string_view name) {
    const auto flag = without_remark(name, postfix::flag_of);
    if (!flag && !error) fail(name, fmt::format("\"{}\" is neither yes nor no", postfix::excerpt(value(name))));
    return flag.value_or(false);
}

std::optional<std::uint64_t> Import::seconds(std::string_view name, char unit) {
    const auto read = without_remark(name, [&](std::string_view text) { return postfix::seconds_of(text, unit); });
    if (!read && !error)
        fail(name, fmt::format("\"{}\" is not a time such as 300s, 5m, 4h or 5d", postfix::excerpt(value(name))));
    return read;
}

std::optional<std::uint64_t> Import::number(std::string_view name) {
    const auto read = without_remark(name, postfix::number_of);
    if (!read && !error) fail(name, fmt::format("\"{}\" is not a whole number", postfix::excerpt(value(name))));
    return read;
}

void Import::set(std::string_view path, std::string value, std::string_view from) {
    const auto* setting = values.given(from);
    draft.set(path, std::move(value),
              setting        ? fmt::format("{}, main.cf line {}", from, setting->line)
              : from.empty() ? ""
                             : fmt::format("{}, Postfix's default", from));
    mark_converted(from);
}

SettingResult* Import::result_of(std::string_view name) {
    handled_.emplace(name);
    const auto found = std::ranges::find(results_, name, &SettingResult::name);
    return found == results_.end() ? nullptr : &*found;
}

void Import::mark_converted(std::string_view name) { result_of(name); }

void Import::add_remark(std::string_view name, std::string remark) {
    auto* found = result_of(name);
    if (!found) return;
    found->kind = std::max(found->kind, SettingResult::Kind::with_remark);
    if (std::ranges::find(found->remarks, remark) == found->remarks.end() && found->remarks.size() < 100)
        found->remarks.push_back(std::move(remark));
}

void Import::mark_unsupported(std::string_view name, std::string remark, std::optional<IfLost> if_lost) {
    auto* found = result_of(name);
    if (!found) return;
    if (!if_lost)
        if (const auto* row = mapping_of(name)) if_lost = row->if_lost;
    if (if_lost == IfLost::unguarded)
        add_undecided("main.cf", found->line, fmt::format("{} = {}", name, value(name)), remark);
    add_remark(name, std::move(remark));
    found->kind = SettingResult::Kind::unsupported;
}

void Import::mark_unguarded(std::string_view name, std::string_view part, std::string remark) {
    const auto* found = result_of(name);
    add_undecided("main.cf", found ? found->line : 0, fmt::format("{}: {}", name, part), remark);
    mark_unsupported(name, fmt::format("{}: {}", part, remark), IfLost::harmless);
}

void Import::add_undecided(std::string_view file, std::uint32_t line, std::string guard, std::string_view advice) {
    constexpr std::size_t longest_advice = 300;
    guard = comment_text(shortened(guard, 100));
    auto text = comment_text(shortened(advice, longest_advice));
    for (auto& each : undecided_)
        if (each.file == file && each.line == line && each.guard == guard) {
            if (each.advice.find(text) == each.advice.npos && each.advice.size() + text.size() < longest_advice)
                each.advice += "; " + text;
            return;
        }
    undecided_.push_back({std::string(file), line, std::move(guard), std::move(text)});
}

void Import::fail(std::string_view name, std::string message) {
    const auto* setting = values.given(name);
    if (!error) error = FileError{values.file(), setting ? setting->line : 0, fmt::format("{}: {}", name, message)};
}

void Import::record_service(const postfix::Service& of, SettingResult::Kind kind, std::string remark) {
    auto name = fmt::format("{} {}", of.name, of.type);
    for (auto& each : results_)
        if (each.file == "master.cf" && each.line == of.line) {
            each.kind = std::max(each.kind, kind);
            if (!remark.empty()) each.remarks.push_back(std::move(remark));
            return;
        }
    results_.push_back({std::move(name), "master.cf", of.line, kind, {}, {}});
    if (!remark.empty()) results_.back().remarks.push_back(std::move(remark));
}

void Import::record_unguarded(const postfix::Service& of, const std::string& guard, const std::string& remark) {
    add_undecided("master.cf", of.line, fmt::format("{} {}: {}", of.name, of.type, guard), remark);
    record_service(of, SettingResult::Kind::unsupported, fmt::format("{}: {}", guard, remark));
}

void Import::record_override(const postfix::Service& of, const postfix::Setting& over, std::string_view remark) {
    const auto* row = mapping_of(over.name);
    // A name of the site's own is substituted where it is used.
    if (!row || row->conversion == Conversion::obsolete) return;
    const auto own = value(values.of(of, environment.directory + "/master.cf"), over.name);
    if (own == value(over.name)) return; // as main.cf or the default has it: the answer is there
    const bool same = row->is_equivalent(own);
    const auto text = row->conversion == Conversion::none && !row->note.empty() ? row->note : remark;
    if (row->if_lost == IfLost::unguarded && !same && !is_off(own))
        return record_unguarded(of, fmt::format("{} = {}", over.name, own), std::string(text));
    record_service(
        of, row->if_lost == IfLost::unguarded ? SettingResult::Kind::with_remark : SettingResult::Kind::unsupported,
        fmt::format("-o {}: {}", over.name, text));
}

std::string Import::file(std::string_view name, const std::string& path) {
    if (error) return "";
    const auto place = resolved_path(path);
    if (!environment.exists(place)) {
        mark_unsupported(name, fmt::format("{}: there is no such file", path), IfLost::harmless); // the name stays
        return "";
    }
    auto read = environment.read(place);
    if (read) return *std::move(read);
    fail(name, fmt::format("{}: {}", path, read.error()));
    return "";
}

std::string Import::resolved_path(const std::string& path) const {
    constexpr std::string_view home = "/etc/postfix/";
    if (path.starts_with(home) && !environment.exists(path))
        if (auto here = environment.directory + "/" + path.substr(home.size()); environment.exists(here)) return here;
    return path;
}

std::string Import::queue_path(std::string_view path) {
    return path.starts_with('/') ? std::string(path) : fmt::format("{}/{}", value("queue_directory"), path);
}

std::string Import::new_table_name(std::string_view setting) { return fmt::format("{}_{}", setting, ++tables_made_); }

Import::TableSection Import::table_section(const std::string& origin, std::string_view setting) {
    const auto found = table_sections_.find(origin);
    if (found != table_sections_.end()) return {found->second, false};
    return {table_sections_.emplace(origin, new_table_name(setting)).first->second, true};
}

// The words after "$" in all values: names that are substituted somewhere.
static std::set<std::string, std::less<>> names_used(const Import& import) {
    std::set<std::string, std::less<>> out;
    const auto look = [&](std::string_view value) {
        for (auto at = value.find('$'); at < value.size(); at = value.find('$', at + 1)) {
            auto first = at + 1;
            while (first < value.size() && (value[first] == '{' || value[first] == '(' || value[first] == ' ')) ++first;
            auto end = first;
            while (end < value.size() && (std::isalnum(static_cast<unsigned char>(value[end])) || value[end] == '_'))
                ++end;
            if (end > first) out.emplace(value.substr(first, end - first));
        }
    };
    for (const auto& [name, setting] : import.values.all()) look(setting.value);
    for (const auto& service : import.services)
        for (const auto& over : service.overrides) look(over.value);
    for (auto& word : postfix::words_of(import.values.raw("smtpd_restriction_classes"))) out.insert(std::move(word));
    return out;
}

// Every setting gets its verdict: that of a part, or of the table.
ImportResult Import::finish() {
    const auto used = names_used(*this);
    const bool has_postscreen = std::ranges::any_of(
        services, [](const auto& each) { return each.type == "inet" && each.command == "postscreen"; });
    for (auto& result : results_) {
        if (result.file == "main.cf") result.value = value(result.name);
        if (result.file != "main.cf" || handled_.contains(result.name)) continue;
        const auto* row = mapping_of(result.name);
        const auto standard = values.default_value(result.name);
        const bool as_by_default = row && standard && value(result.name) == *standard;
        if (as_by_default || (row && row->conversion == Conversion::obsolete)) continue;
        if (!row) {
            if (used.contains(result.name)) continue; // a name of the site's own, substituted where it is used
            result.kind = SettingResult::Kind::with_remark;
            result.remarks.emplace_back("Postfix 3.7 has no such setting, and nothing in main.cf or master.cf uses it");
            continue;
        }
        if (row->conversion == Conversion::custom) { // the step that reads it had no use for it here
            if (result.value.empty()) continue;
            result.kind = SettingResult::Kind::with_remark;
            result.remarks.emplace_back("it has no effect in Postrider");
            continue;
        }
        if (row->is_equivalent(result.value)) continue;
        const bool no_effect = result.name.starts_with("postscreen_") && !has_postscreen;
        result.kind = SettingResult::Kind::unsupported;
        result.remarks.emplace_back(row->note.empty() ? "no such setting is needed" : row->note);
        if (row->if_lost == IfLost::unguarded && !is_off(result.value) && !no_effect)
            add_undecided(result.file, result.line, fmt::format("{} = {}", result.name, result.value), row->note);
    }
    std::ranges::stable_sort(undecided_, {}, [](const auto& each) { return std::pair(each.file, each.line); });
    for (const auto& each : undecided_)
        draft.set_quoted("undecided",
                         each.line == 0 ? fmt::format("{} {}", each.file, each.guard)
                                        : fmt::format("{}:{} {}", each.file, each.line, each.guard),
                         toml(each.advice));
    return {std::move(draft), std::move(results_), std::move(undecided_)};
}

} // namespace postrider
