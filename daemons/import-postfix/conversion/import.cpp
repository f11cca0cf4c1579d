#include "daemons/import-postfix/conversion/import.h"
#include "daemons/import-postfix/postfix/defaults.h"
#include "daemons/import-postfix/postfix/lists.h"
#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace postrider {

using postfix::Fault;
using postfix::Read;

namespace {

// What Postfix takes itself to be called where main.cf does not say.
std::map<std::string, std::string, std::less<>> host_defaults(const World& world,
                                                              const std::vector<postfix::Setting>& main) {
    std::string myhostname = world.hostname, mydomain = "localdomain", set_domain;
    for (const auto& setting : main) {
        if (setting.name == "mydomain") set_domain = setting.value;
        if (setting.name == "myhostname") myhostname = setting.value;
    }
    if (myhostname.find('.') == myhostname.npos && myhostname.find('$') == myhostname.npos)
        myhostname += "." + (set_domain.empty() ? mydomain : set_domain);
    if (const auto dot = myhostname.find('.');
        dot != myhostname.npos && myhostname.find('$') == myhostname.npos)
        mydomain = myhostname.substr(dot + 1);
    return {{"myhostname", std::move(myhostname)},
            {"mydomain", std::move(mydomain)},
            {"config_directory", world.directory},
            {"process_name", "postrider"}};
}

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

constexpr struct {
    Way way;
    char unit;
} units[] = {{Way::seconds, 's'}, {Way::hours, 'h'}, {Way::days, 'd'}};

std::string duration(std::uint64_t seconds) {
    for (const auto& [size, letter] : {std::pair{86400u, 'd'}, {3600u, 'h'}, {60u, 'm'}})
        if (seconds != 0 && seconds % size == 0) return fmt::format("{}{}", seconds / size, letter);
    return fmt::format("{}s", seconds);
}

// The rows that are carried over as they stand.
void carry_over(Import& import, const Correspondence& row) {
    const auto name = row.name;
    if (row.key.empty() || row.way == Way::part ||
        (!import.given(name) && !row.unset_too && row.way != Way::tables))
        return;
    const auto value = import.value(name);
    if (import.fault || (value.empty() && !import.given(name))) return;
    if (value.empty() && row.way != Way::text && row.way != Way::tables)
        return import.wrong(name, "the value is missing");
    switch (row.way) {
    case Way::text:
        if (value.empty()) return import.carried(name);
        return import.set(row.key, toml(value), name);
    case Way::number:
        if (const auto number = import.number(name)) import.set(row.key, toml(*number), name);
        return;
    case Way::size:
        if (const auto number = import.number(name)) {
            if (*number == 0 && name != "mailbox_size_limit")
                return import.noted(
                    name, fmt::format("0 means no limit in Postfix; {} keeps its default", row.key));
            import.set(row.key, toml(*number), name);
        }
        return;
    case Way::seconds:
    case Way::hours:
    case Way::days:
        for (const auto& [way, unit] : units)
            if (way == row.way)
                if (const auto seconds = import.seconds(name, unit))
                    import.set(row.key, toml(duration(*seconds)), name);
        return;
    case Way::yes_no:
    case Way::no_yes: return import.set(row.key, toml(import.yes(name) == (row.way == Way::yes_no)), name);
    case Way::tables:
        if (const auto tables = import.tables(name); !tables.empty()) import.set(row.key, toml(tables), name);
        return import.carried(name);
    case Way::part:
    case Way::moot:
    case Way::none: return;
    }
}

} // namespace

std::size_t Imported::count(Verdict::Kind kind) const {
    return static_cast<std::size_t>(std::ranges::count(verdicts, kind, &Verdict::kind));
}

std::string Imported::text() {
    std::vector<std::string> remarks = {
        "Made by \"postrider import-postfix\" out of Postfix's main.cf and master.cf.",
        "postrider-from-postfix(7) says what is different, and how to move over."};
    for (const auto kind : {Verdict::Kind::without, Verdict::Kind::noted}) {
        if (count(kind) == 0) continue;
        remarks.emplace_back();
        remarks.emplace_back(kind == Verdict::Kind::without ? "What has no counterpart:"
                                                            : "What is not quite as it was:");
        for (const auto& verdict : verdicts) {
            if (verdict.kind != kind) continue;
            remarks.push_back(verdict.line == 0 ? shown(fmt::format("  {}: {}", verdict.file, verdict.name))
                                                : shown(fmt::format("  {} line {}: {}", verdict.file,
                                                                    verdict.line, verdict.name)));
            for (const auto& remark : verdict.remarks) folded(shown(remark), "    ", remarks);
        }
    }
    return draft.text(remarks);
}

void Imported::take_back(const std::string& path, const std::string& why) {
    const auto* key = draft.find(path);
    const auto from = key ? key->origin.substr(0, key->origin.find_first_of(" ,")) : "";
    draft.remove(path);
    const auto found = std::ranges::find(verdicts, from, &Verdict::name);
    auto& verdict = found != verdicts.end()
                        ? *found
                        : verdicts.emplace_back(Verdict{path, "main.cf", 0, Verdict::Kind::without, {}, {}});
    verdict.kind = Verdict::Kind::without;
    verdict.remarks.push_back(fmt::format("left out, for Postrider does not take it: {}", why));
}

Import::Import(const World& world_, postfix::Values values_, std::vector<postfix::Service> services_)
    : world(world_), values(std::move(values_)), services(std::move(services_)) {
    for (const auto& [name, setting] : values.all())
        verdicts_.push_back({name, "main.cf", setting.line, Verdict::Kind::carried, {}, {}});
    std::ranges::stable_sort(verdicts_, {}, &Verdict::line);
}

std::string Import::value(std::string_view name) { return value(values, name); }

std::string Import::value(const postfix::Values& of, std::string_view name) {
    auto read = of.value(name);
    if (read) return *std::move(read);
    if (!fault) fault = read.error();
    return "";
}

bool Import::yes(std::string_view name) {
    const auto text = value(name);
    const auto flag = postfix::flag_of(text);
    if (!flag && !fault) wrong(name, fmt::format("\"{}\" is neither yes nor no", postfix::excerpt(text)));
    return flag.value_or(false);
}

std::optional<std::uint64_t> Import::seconds(std::string_view name, char unit) {
    const auto text = value(name);
    const auto read = postfix::seconds_of(text, unit);
    if (!read && !fault)
        wrong(name, fmt::format("\"{}\" is not a time such as 300s, 5m, 4h or 5d", postfix::excerpt(text)));
    return read;
}

std::optional<std::uint64_t> Import::number(std::string_view name) {
    const auto text = value(name);
    const auto read = postfix::number_of(text);
    if (!read && !fault) wrong(name, fmt::format("\"{}\" is not a whole number", postfix::excerpt(text)));
    return read;
}

void Import::set(std::string_view path, std::string value, std::string_view from) {
    const auto* setting = values.given(from);
    draft.set(path, std::move(value),
              setting        ? fmt::format("{}, main.cf line {}", from, setting->line)
              : from.empty() ? ""
                             : fmt::format("{}, as Postfix has it by default", from));
    carried(from);
}

Verdict* Import::verdict(std::string_view name) {
    said_.emplace(name);
    const auto found = std::ranges::find(verdicts_, name, &Verdict::name);
    return found == verdicts_.end() ? nullptr : &*found;
}

void Import::carried(std::string_view name) { verdict(name); }

void Import::noted(std::string_view name, std::string remark) {
    auto* found = verdict(name);
    if (!found) return;
    found->kind = std::max(found->kind, Verdict::Kind::noted);
    if (std::ranges::find(found->remarks, remark) == found->remarks.end() && found->remarks.size() < 100)
        found->remarks.push_back(std::move(remark));
}

void Import::without(std::string_view name, std::string remark) {
    noted(name, std::move(remark));
    if (auto* found = verdict(name)) found->kind = Verdict::Kind::without;
}

void Import::wrong(std::string_view name, std::string message) {
    const auto* setting = values.given(name);
    if (!fault)
        fault = Fault{values.file(), setting ? setting->line : 0, fmt::format("{}: {}", name, message)};
}

void Import::service(const postfix::Service& of, Verdict::Kind kind, std::string remark) {
    auto name = fmt::format("{} {}", of.name, of.type);
    for (auto& each : verdicts_)
        if (each.file == "master.cf" && each.line == of.line) {
            each.kind = std::max(each.kind, kind);
            if (!remark.empty()) each.remarks.push_back(std::move(remark));
            return;
        }
    verdicts_.push_back({std::move(name), "master.cf", of.line, kind, {}, {}});
    if (!remark.empty()) verdicts_.back().remarks.push_back(std::move(remark));
}

std::vector<std::string> Import::split(std::string_view text) { return postfix::words_of(text); }

// The words behind "$" in all values: names that are put in somewhere.
std::set<std::string, std::less<>> names_used(const Import& import) {
    std::set<std::string, std::less<>> out;
    const auto look = [&](std::string_view value) {
        for (auto at = value.find('$'); at < value.size(); at = value.find('$', at + 1)) {
            auto first = at + 1;
            while (first < value.size() &&
                   (value[first] == '{' || value[first] == '(' || value[first] == ' '))
                ++first;
            auto end = first;
            while (end < value.size() &&
                   (std::isalnum(static_cast<unsigned char>(value[end])) || value[end] == '_'))
                ++end;
            if (end > first) out.emplace(value.substr(first, end - first));
        }
    };
    for (const auto& [name, setting] : import.values.all()) look(setting.value);
    for (const auto& service : import.services)
        for (const auto& over : service.overrides) look(over.value);
    for (auto& word : Import::split(import.values.raw("smtpd_restriction_classes")))
        out.insert(std::move(word));
    return out;
}

// Every setting gets its verdict: that of a part, or of the table.
Imported Import::finish() {
    const auto used = names_used(*this);
    for (auto& verdict : verdicts_) {
        if (verdict.file == "main.cf") verdict.value = value(verdict.name);
        if (verdict.file != "main.cf" || said_.contains(verdict.name)) continue;
        const auto* row = correspondence_of(verdict.name);
        const auto standard = values.standard(verdict.name);
        const bool as_by_default = row && standard && value(verdict.name) == *standard;
        if (as_by_default || (row && row->way == Way::moot)) continue;
        if (!row) {
            if (used.contains(verdict.name)) continue; // a name of the site's own, put in where it is used
            verdict.kind = Verdict::Kind::noted;
            verdict.remarks.emplace_back(
                "Postfix 3.7 has no such setting, and nothing in main.cf or master.cf uses it");
            continue;
        }
        if (row->way == Way::part) { // whoever reads it had no use for it here
            if (verdict.value.empty()) continue;
            verdict.kind = Verdict::Kind::noted;
            verdict.remarks.emplace_back("it has no effect here");
            continue;
        }
        if (row->is_usual(verdict.value)) continue;
        verdict.kind = Verdict::Kind::without;
        verdict.remarks.emplace_back(row->note.empty() ? "nothing like it is needed" : row->note);
    }
    return {std::move(draft), std::move(verdicts_)};
}

Read<Imported> import_postfix(const World& world) {
    const auto main_file = world.directory + "/main.cf", master_file = world.directory + "/master.cf";
    const auto main_text = world.read(main_file);
    if (!main_text) return std::unexpected(Fault{main_file, 0, main_text.error()});
    auto main = postfix::read_main(*main_text, main_file);
    if (!main) return std::unexpected(main.error());
    std::vector<postfix::Service> services;
    if (world.exists(master_file)) {
        const auto text = world.read(master_file);
        if (!text) return std::unexpected(Fault{master_file, 0, text.error()});
        auto read = postfix::read_master(*text, master_file);
        if (!read) return std::unexpected(read.error());
        services = *std::move(read);
    }
    auto host = host_defaults(world, *main);
    postfix::Values values(main_file, *std::move(main), std::move(host));
    Import import(world, std::move(values), std::move(services));
    for (const auto& [name, setting] : import.values.all())
        import.value(name); // each must make sense, used or not
    for (const auto& subject : correspondences())
        for (const auto& row : subject.rows)
            if (!import.fault) carry_over(import, row);
    for (const auto part : {import_names, import_local, import_addresses, import_security, import_listeners,
                            import_restrictions, import_filters, import_sending, import_accounts, import_queue})
        if (!import.fault) part(import);
    if (import.fault) return std::unexpected(*import.fault);
    return import.finish();
}

} // namespace postrider
