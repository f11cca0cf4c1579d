#include "daemons/import-postfix/draft/config_draft.h"
#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace postrider {

namespace {

constexpr std::string_view order[] = {
    "undecided",   "mta",           "spool",           "log",       "local",      "listen",  "relay",
    "route",       "virtual_alias", "virtual_mailbox", "canonical", "masquerade", "generic", "relocated",
    "transport",   "sender_relay",  "table",           "tls",       "auth",       "queue",   "smtpd",
    "access",      "access_class",  "policy",          "dns_list",  "milter",     "content", "automatic_bcc",
    "smtp_client", "pool",          "submit",          "bounce"};

std::size_t rank(std::string_view section) {
    const auto word = section.substr(0, section.find('.'));
    return static_cast<std::size_t>(std::ranges::find(order, word) - std::begin(order));
}

// "route.\"a.b\".tls": the last dot outside quotation marks parts section and key.
std::pair<std::string_view, std::string_view> split_path(std::string_view path) {
    const auto dot = path.rfind('.');
    return {path.substr(0, dot), path.substr(dot + 1)};
}

// After what has been written already, the second byte of one of U+0080 to U+009F: some terminals obey them.
bool is_upper_control(std::string_view before, char c) {
    return before.ends_with('\xc2') && static_cast<unsigned char>(c) < 0xa0;
}

} // namespace

std::string toml(std::string_view text) {
    std::string out = "\"";
    for (const char c : text) {
        if (c == '"' || c == '\\')
            out += '\\', out += c;
        else if (c == '\t')
            out += "\\t";
        else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f)
            out += fmt::format("\\u{:04X}", static_cast<unsigned char>(c));
        else if (is_upper_control(out, c))
            out.pop_back(), out += fmt::format("\\u{:04X}", static_cast<unsigned char>(c));
        else
            out += c;
    }
    return out + '"';
}

std::string toml(const std::vector<std::string>& texts) {
    std::vector<std::string> words;
    std::size_t length = 0;
    for (const auto& text : texts) length += words.emplace_back(toml(text)).size() + 2;
    return length <= 90 ? fmt::format("[{}]", fmt::join(words, ", "))
                        : fmt::format("[\n    {},\n]", fmt::join(words, ",\n    "));
}

std::string comment_text(std::string_view text) {
    std::string out;
    for (const char c : text)
        if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f)
            out += ' ';
        else if (is_upper_control(out, c))
            out.back() = ' ';
        else
            out += c;
    return out;
}

void ConfigDraft::set(std::string_view path, std::string value, std::string_view origin) {
    const auto [name, key] = split_path(path);
    set(name, key, std::move(value), origin);
}

void ConfigDraft::set_quoted(std::string_view section, std::string_view key, std::string value) {
    set(section, toml(key), std::move(value), "");
}

void ConfigDraft::set(std::string_view name, std::string_view key, std::string value, std::string_view origin) {
    auto section = std::ranges::find(sections_, name, &Section::name);
    if (section == sections_.end()) section = sections_.insert(sections_.end(), {std::string(name), {}});
    auto found = std::ranges::find(section->keys, key, &Key::name);
    if (found == section->keys.end()) found = section->keys.insert(section->keys.end(), Key{std::string(key), {}, {}});
    found->value = std::move(value);
    found->origin = comment_text(origin);
}

const ConfigDraft::Key* ConfigDraft::find(std::string_view path) const {
    const auto [name, key] = split_path(path);
    const auto section = std::ranges::find(sections_, name, &Section::name);
    if (section == sections_.end()) return nullptr;
    const auto found = std::ranges::find(section->keys, key, &Key::name);
    return found == section->keys.end() ? nullptr : &*found;
}

std::vector<std::string> ConfigDraft::sections_with(std::string_view key, std::string_view value) const {
    std::vector<std::string> out;
    for (const auto& section : sections_)
        for (const auto& each : section.keys)
            if (each.name == key && each.value == value) out.push_back(section.name);
    return out;
}

std::vector<std::string> ConfigDraft::sections(std::string_view beginning) const {
    std::vector<std::string> out;
    for (const auto& section : sections_)
        if (section.name.starts_with(beginning)) out.push_back(section.name);
    return out;
}

bool ConfigDraft::has_section(std::string_view name) const {
    return std::ranges::find(sections_, name, &Section::name) != sections_.end();
}

void ConfigDraft::remove(std::string_view path) {
    const auto [name, key] = split_path(path);
    const auto section = std::ranges::find(sections_, name, &Section::name);
    if (section == sections_.end()) return;
    if (key.empty()) return void(sections_.erase(section));
    std::erase_if(section->keys, [&, key = key](const Key& each) { return each.name == key; });
    if (section->keys.empty()) sections_.erase(section);
}

std::string ConfigDraft::key_at_line(std::uint32_t line) const {
    const Key* nearest = nullptr;
    const Section* in = nullptr;
    for (const auto& section : sections_)
        for (const auto& key : section.keys) {
            // A list may continue over further lines; a heading is right above its first key.
            if (key.line <= line && (!nearest || key.line > nearest->line)) nearest = &key, in = &section;
            if (&key == &section.keys.front() && line < key.line && line + 2 >= key.line) return section.name + ".";
        }
    return nearest ? in->name + "." + nearest->name : "";
}

std::string ConfigDraft::text(const std::vector<std::string>& remarks) {
    std::ranges::stable_sort(sections_, {}, [](const Section& each) { return rank(each.name); });
    std::string out;
    for (const auto& remark : remarks) out += remark.empty() ? "#\n" : "# " + remark + "\n";
    auto line = static_cast<std::uint32_t>(std::ranges::count(out, '\n'));
    for (auto& section : sections_) {
        out += fmt::format("\n[{}]\n", section.name);
        line += 2;
        for (auto& key : section.keys) {
            if (!key.origin.empty()) out += fmt::format("# {}\n", key.origin), ++line;
            key.line = ++line;
            const auto written = fmt::format("{} = {}\n", key.name, key.value);
            line += static_cast<std::uint32_t>(std::ranges::count(written, '\n')) - 1;
            out += written;
        }
    }
    return out;
}

} // namespace postrider
