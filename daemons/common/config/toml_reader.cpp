#include "daemons/common/config/toml_reader.h"
#include "daemons/common/config/schema/overloaded.h"
#include "daemons/common/text/units.h"
#include <algorithm>
#include <fmt/format.h>
#include <optional>
#include <toml++/toml.h>
#include <tuple>

namespace config {

namespace {

Position place_of(const toml::source_region& region) { return {region.begin.line, region.begin.column}; }

std::string_view type_name(const toml::node& node) {
    switch (node.type()) {
    case toml::node_type::table: return "a table";
    case toml::node_type::array: return "a list";
    case toml::node_type::string: return "a string";
    case toml::node_type::integer: return "an integer";
    case toml::node_type::floating_point: return "a floating-point number";
    case toml::node_type::boolean: return "a boolean";
    default: return "a date or time";
    }
}

// Levenshtein's distance, for short words.
std::size_t distance(std::string_view a, std::string_view b) {
    std::vector<std::size_t> row(b.size() + 1);
    for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
    for (std::size_t i = 1; i <= a.size(); ++i) {
        std::size_t diagonal = row[0];
        row[0] = i;
        for (std::size_t j = 1; j <= b.size(); ++j) {
            const auto changed = diagonal + (a[i - 1] != b[j - 1]);
            diagonal = row[j];
            row[j] = std::min({row[j] + 1, row[j - 1] + 1, changed});
        }
    }
    return row[b.size()];
}

// The entry of `known` that was probably meant; always exactly one, because a list of all keys would not help.
std::string nearest(std::string_view odd, const std::vector<std::string>& known) {
    odd = odd.substr(0, 64);
    return *std::min_element(known.begin(), known.end(),
                             [&](const auto& a, const auto& b) { return distance(odd, a) < distance(odd, b); });
}

// ".example.com" of the section [route.mail.example.com], which TOML parses as nested tables; "" of any other.
std::string dotted(const toml::node& node) {
    std::string out;
    for (const auto* table = node.as_table(); table;) {
        const auto inner =
            std::find_if(table->begin(), table->end(), [](auto&& each) { return each.second.is_table(); });
        if (inner == table->end()) break;
        out += fmt::format(".{}", inner->first.str());
        table = inner->second.as_table();
    }
    return out;
}

// Messages quote the text; control characters in it must not reach a terminal.
void make_printable(std::string& message) {
    std::replace_if(message.begin(), message.end(), [](unsigned char c) { return c < 0x20 || c == 0x7f; }, '?');
    if (message.size() > 1000) message.resize(1000);
}

} // namespace

// The walk through the tables; defined here, for the header knows no TOML.
struct TomlReader::Inside {
    TomlReader& reader;

    void read(const toml::table& root);
    void named_sections(const toml::node& node, const NamedSections& named);
    void section(const toml::node& node, const Section& section, const std::string& name);
    void value(const toml::node& node, const Key& key, const std::string& path);
    void next_hops(const toml::node& node, std::vector<std::vector<decide::NextHop>>& out, const std::string& path);
    void add_hops(const toml::node& node, std::vector<std::vector<decide::NextHop>>& out, std::size_t level,
                  const std::string& path);
    std::string key_of_any_section(std::string_view name) const;
    std::string_view present_name(std::string_view former) const;
    void wrong_type(const toml::node& node, const std::string& path, std::string_view expected) {
        problem(place_of(node.source()), fmt::format("{0}: expected {2}, found {1}", path, type_name(node), expected),
                path);
    }
    void problem(Position place, std::string message, std::string_view about) {
        reader.problem(place, std::move(message), about);
    }

    std::span<Section> fixed;
    std::span<const NamedSections> named;
};

void TomlReader::resolve(std::string& path) const {
    const auto slash = file_.rfind('/');
    if (!path.empty() && path.front() != '/' && !path.starts_with("{home}") && slash != std::string::npos)
        path.insert(0, file_.substr(0, slash + 1));
}

void TomlReader::problem(Position place, std::string message, std::string_view about) {
    make_printable(message);
    has_problem_.emplace(about.substr(0, about.find('.')));
    problems_.push_back({file_, place.line, place.column, std::move(message)});
}

std::vector<Problem> TomlReader::problems() {
    std::sort(problems_.begin(), problems_.end(), [](const Problem& a, const Problem& b) {
        return std::tie(a.line, a.column, a.message) < std::tie(b.line, b.column, b.message);
    });
    return std::move(problems_);
}

// "smtpd.workers" for workers; "" if no section has it.
std::string TomlReader::Inside::key_of_any_section(std::string_view name) const {
    for (const auto& section : fixed)
        for (const auto& key : section.keys)
            if (key.name == name) return fmt::format("{}.{}", section.name, name);
    return "";
}

// "smtpd.reverse_lookup" for smtpd.reverse_names; "" if it is not a former name.
std::string_view TomlReader::Inside::present_name(std::string_view former) const {
    const auto found = std::ranges::find(reader.renamed_, former, &RenamedKey::former);
    return found == reader.renamed_.end() ? std::string_view() : found->present;
}

bool TomlReader::read(std::string_view text, std::span<Section> fixed, std::span<const NamedSections> named) {
    try {
        const auto root = toml::parse(text, file_);
        Inside{*this, fixed, named}.read(root);
        return true;
    } catch (const toml::parse_error& error) {
        std::string what(error.description());
        if (what.find("could not determine value type") != what.npos)
            what += ": a string must be in quotation marks, as in hostname = \"mail.example.com\"";
        problem(place_of(error.source()), std::move(what), {});
        return false;
    }
}

void TomlReader::Inside::read(const toml::table& root) {
    std::vector<std::string> known;
    for (const auto& n : named) known.emplace_back(n.name);
    for (const auto& s : fixed) known.push_back(s.name);
    for (auto&& [key, node] : root) {
        const std::string name(key.str());
        const auto found = std::ranges::find(fixed, name, &Section::name);
        const auto several = std::ranges::find(named, name, &NamedSections::name);
        if (found != fixed.end())
            section(node, *found, name);
        else if (several != named.end())
            named_sections(node, *several);
        else if (const auto present = present_name(name); !present.empty())
            problem(place_of(key.source()), fmt::format("[{}] is now called [{}]", name, present), present);
        else if (const auto elsewhere = key_of_any_section(name); !node.is_table() && !elsewhere.empty())
            problem(place_of(key.source()),
                    fmt::format("unknown key {} outside of all sections: did you mean {}?", name, elsewhere),
                    elsewhere);
        else {
            const auto meant = nearest(name, known);
            problem(place_of(key.source()),
                    fmt::format("unknown {} {}: did you mean [{}]?", node.is_table() ? "section" : "key", name, meant),
                    meant);
        }
    }
}

void TomlReader::Inside::named_sections(const toml::node& node, const NamedSections& named) {
    const auto* table = node.as_table();
    if (!table) return wrong_type(node, std::string(named.name), fmt::format("sections {}", named.pattern));
    for (auto&& [key, inner] : *table) {
        const std::string word(key.str());
        const auto path =
            named.quoted ? fmt::format("{}.\"{}\"", named.name, word) : fmt::format("{}.{}", named.name, word);
        if (!inner.is_table()) {
            problem(place_of(key.source()), fmt::format("{} is outside of a section: expected {}", path, named.pattern),
                    path);
            continue;
        }
        if (const auto whole = dotted(inner); named.quoted && !whole.empty()) {
            problem(place_of(key.source()),
                    fmt::format("{}.{}{}: a name with dots must be in quotation marks: "
                                "[{}.\"{}{}\"]",
                                named.name, word, whole, named.name, word, whole),
                    path);
            continue;
        }
        reader.positions_[path] = place_of(key.source());
        named.take(word, path, [&, &inner = inner](const Section& into) {
            section(inner, into, path);
            if (reader.on_named_section_) reader.on_named_section_(path, into);
        });
    }
}

void TomlReader::Inside::section(const toml::node& node, const Section& section, const std::string& name) {
    const auto* table = node.as_table();
    if (!table) return wrong_type(node, name, fmt::format("a section [{}]", name));
    for (auto&& [key, inner] : *table) {
        const auto known =
            std::find_if(section.keys.begin(), section.keys.end(), [&](const Key& k) { return k.name == key.str(); });
        const auto path = fmt::format("{}.{}", name, key.str());
        if (known != section.keys.end()) {
            reader.positions_[path] = place_of(key.source());
            value(inner, *known, path);
            continue;
        }
        if (section.problem_of) {
            const auto* text = inner.as_string();
            problem(place_of(key.source()), section.problem_of(key.str(), text ? text->get() : ""), path);
            continue;
        }
        const auto kind = name.substr(0, name.find('.'));
        if (const auto present = present_name(fmt::format("{}.{}", kind, key.str())); !present.empty()) {
            problem(place_of(key.source()),
                    fmt::format("{} is now called {}{}", path, name, present.substr(kind.size())), path);
            continue;
        }
        // [pools.bulk] is [pool.bulk].
        const auto alike = std::ranges::find_if(named, [&](auto& n) { return distance(n.name, name) <= 1; });
        if (inner.is_table() && alike != named.end()) {
            problem(place_of(key.source()),
                    fmt::format("unknown section {}: did you mean [{}.{}]?", path, alike->name, key.str()), path);
            continue;
        }
        // A key in the wrong section is likelier than a misspelt one.
        auto meant = key_of_any_section(key.str());
        std::vector<std::string> names;
        names.reserve(section.keys.size());
        for (const auto& k : section.keys) names.emplace_back(k.name);
        const auto close = nearest(key.str(), names);
        if (meant.empty() || distance(key.str(), close) <= 2) meant = close;
        problem(place_of(key.source()), fmt::format("unknown key {}: did you mean {}?", path, meant), path);
        reader.has_problem_.emplace(meant.substr(0, meant.find('.'))); // names no section where it is of this one
    }
}

void TomlReader::Inside::value(const toml::node& node, const Key& key, const std::string& path) {
    const auto refuse = [&](const toml::node& where, std::string_view why) {
        problem(place_of(where.source()), fmt::format("{}: {}", path, why), path);
    };
    std::visit(
        Overloaded{
            [&](const TextKey& text) {
                const auto* given = node.as_string();
                if (!given) return wrong_type(node, path, "a string in quotation marks");
                if (const auto refusal = text.set(given->get())) refuse(node, *refusal);
            },
            [&](const ListKey& list) {
                list.clear();
                const auto add = [&](const toml::node& each) {
                    const auto* given = each.as_string();
                    if (!given) return wrong_type(each, path, "strings in quotation marks");
                    if (const auto refusal = list.add(given->get())) refuse(each, *refusal);
                    if (const auto [line, column] = place_of(each.source()); list.of_tables)
                        reader.table_references_.push_back({given->get(), path, line, column});
                };
                if (const auto* array = node.as_array()) {
                    for (const auto& each : *array) add(each);
                } else if (node.is_string()) {
                    add(node);
                } else {
                    wrong_type(node, path, "a list of strings");
                }
                if (!list.finish) return;
                if (const auto refusal = list.finish()) refuse(node, *refusal);
            },
            [&](const IntKey& count) {
                const auto* given = node.as_integer();
                if (!given) return wrong_type(node, path, "an integer");
                if (given->get() < count.min || given->get() > count.max)
                    return refuse(
                        node, fmt::format("{} is out of range: expected {} to {}", given->get(), count.min, count.max));
                *count.value = static_cast<std::uint32_t>(given->get());
            },
            [&](const SizeKey& size) {
                std::optional<std::uint64_t> bytes;
                if (const auto* given = node.as_string())
                    bytes = parse_size(given->get());
                else if (const auto* number = node.as_integer()) {
                    if (number->get() >= 0) bytes = static_cast<std::uint64_t>(number->get());
                } else {
                    return wrong_type(node, path, "a size such as \"50MiB\"");
                }
                if (!bytes) return refuse(node, "not a valid size: expected one such as \"50MiB\", \"100KiB\" or 4096");
                if (*bytes < size.min || *bytes > size.max)
                    return refuse(node, fmt::format("out of range: expected {} to {}", print_size(size.min),
                                                    print_size(size.max)));
                *size.value = *bytes;
            },
            [&](const DurationKey& span) {
                const auto* given = node.as_string();
                if (!given) return wrong_type(node, path, "a duration such as \"60s\"");
                const auto duration = parse_duration(given->get());
                if (!duration)
                    return refuse(
                        node,
                        fmt::format("\"{}\" is not a valid duration: expected one such as \"60s\", \"10m\", \"5d\" or "
                                    "\"1h30m\"",
                                    given->get()));
                if (*duration < span.min || *duration > span.max)
                    return refuse(node, fmt::format("{} is out of range: expected {} to {}", given->get(),
                                                    print_duration(span.min), print_duration(span.max)));
                *span.value = *duration;
            },
            [&](const BoolKey& flag) {
                const auto* given = node.as_boolean();
                if (!given) return wrong_type(node, path, "true or false");
                *flag.value = given->get();
            },
            [&](const FractionKey& fraction) {
                const auto given = node.value<double>();
                if (!node.is_number()) return wrong_type(node, path, "a fraction such as 0.10");
                if (!(*given >= 0 && *given <= 1)) return refuse(node, "out of range: expected 0 to 1");
                *fraction.value = *given;
            },
            [&](const IntListKey& counts) {
                const auto* array = node.as_array();
                if (!array || array->size() != counts.values.size())
                    return refuse(node, fmt::format("expected a list of {} integers", counts.values.size()));
                for (std::size_t i = 0; i < counts.values.size(); ++i)
                    value((*array)[i], {key.name, IntKey{&counts.values[i], counts.min, counts.max}, "", ""}, path);
            },
            [&](const NextHopsKey& hops) { next_hops(node, *hops.value, path); },
        },
        key.target);
}

void TomlReader::Inside::next_hops(const toml::node& node, std::vector<std::vector<decide::NextHop>>& out,
                                   const std::string& path) {
    out.clear();
    add_hops(node, out, 0, path);
    if (out.empty() && node.is_array())
        problem(place_of(node.source()), fmt::format("{}: the list is empty", path), path);
}

// Level 0: the value itself; 1: in the list, by preference; 2: in a list inside it, equals of the last.
void TomlReader::Inside::add_hops(const toml::node& node, std::vector<std::vector<decide::NextHop>>& out,
                                  std::size_t level, const std::string& path) {
    if (const auto* array = node.as_array(); array && level < 2) {
        if (level == 1) out.emplace_back();
        for (const auto& each : *array) add_hops(each, out, level + 1, path);
        if (level == 1 && out.back().empty()) out.pop_back();
        return;
    }
    const auto* given = node.as_string();
    if (!given) return wrong_type(node, path, "a next hop such as \"[relay.example.net]:25\", or a list of them");
    const auto hop = decide::NextHop::parse(given->get());
    if (!hop) {
        const bool lmtp = given->get().starts_with("lmtp:");
        if (lmtp && given->get().size() - 5 > decide::NextHop::longest_path)
            return problem(place_of(node.source()),
                           fmt::format("{}: \"{}\": socket path too long: expected at most {} bytes", path,
                                       given->get(), decide::NextHop::longest_path),
                           path);
        if (lmtp)
            return problem(place_of(node.source()),
                           fmt::format("{}: \"{}\" is not a valid next hop: expected \"lmtp:[host]:port\" or "
                                       "\"lmtp:/path/of/the/socket\"",
                                       path, given->get()),
                           path);
        const bool bare = common::IpAddress::parse(given->get()) || common::Endpoint::parse(given->get(), 25);
        return problem(
            place_of(node.source()),
            bare ? fmt::format("{}: an address must be in brackets: \"[192.0.2.1]:25\"", path)
                 : fmt::format("{}: \"{}\" is not a valid next hop: expected \"[host]:port\", \"name\", \"mx\" or "
                               "\"srv:name\"",
                               path, given->get()),
            path);
    }
    if (level < 2) out.emplace_back();
    out.back().push_back(*hop);
}

} // namespace config
