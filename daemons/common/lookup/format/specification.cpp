#include "daemons/common/lookup/format/specification.h"
#include "libsmtp/text/trim.h"
#include <algorithm>
#include <fmt/format.h>
#include <optional>

namespace tables {

namespace {

struct Name {
    std::string_view name;
    Kind kind;
};
constexpr Name names[] = {{"text", Kind::text},    {"lmdb", Kind::lmdb},           {"regexp", Kind::regexp},
                          {"cidr", Kind::cidr},    {"socketmap", Kind::socketmap}, {"tcp", Kind::tcp},
                          {"mysql", Kind::mysql},  {"pgsql", Kind::pgsql},         {"ldap", Kind::ldap},
                          {"static", Kind::fixed}, {"table", Kind::section},       {"patterns", Kind::section}};

// Types with another name in Postfix, or without support here.
struct Foreign {
    std::string_view name, instead;
};
constexpr Foreign foreign[] = {
    {"texthash", "write \"text:FILE\""},
    {"hash", "write \"text:FILE\", or \"lmdb:FILE\" after \"postrider map FILE\""},
    {"btree", "write \"text:FILE\", or \"lmdb:FILE\" after \"postrider map FILE\""},
    {"dbm", "write \"text:FILE\", or \"lmdb:FILE\" after \"postrider map FILE\""},
    {"cdb", "write \"text:FILE\", or \"lmdb:FILE\" after \"postrider map FILE\""},
    {"pcre", "write \"regexp:FILE\", whose patterns are Perl's"},
    {"sqlite", "write \"table:NAME\" and a section [table.NAME] with kind = \"sqlite\""},
    {"memcache", "export its entries to a file, or query it through a socketmap: see postrider-tables(5)"},
    {"inline", "write \"table:NAME\" and a section [table.NAME] with kind = \"entries\""},
    {"unionmap", "write \"table:NAME\" and a section [table.NAME] with kind = \"union\""},
    {"pipemap", "write \"table:NAME\" and a section [table.NAME] with kind = \"chain\""},
};

std::unexpected<smtp::Malformed> malformed(std::string why) { return std::unexpected(smtp::Malformed{std::move(why)}); }

std::expected<Specification, smtp::Malformed> file(Kind kind, std::string_view path) {
    if (!path.starts_with('/') || path.ends_with('/') || path.size() > 4000)
        return malformed(fmt::format("\"{}\" is not the absolute path of a file", smtp::printable(path, 200)));
    if (is_database(kind) && path.find(' ') != path.npos)
        return malformed(fmt::format("\"{}\": the path of this file must not have spaces", smtp::printable(path, 200)));
    Specification out{kind, std::string(path), {}};
    if (kind == Kind::lmdb && !path.ends_with(".lmdb")) out.name += ".lmdb";
    return out;
}

std::optional<common::ServiceAddress> address_of(std::string text) {
    for (const std::string_view local : {"inet:localhost:", "localhost:"})
        if (text.starts_with(local)) text = "inet:127.0.0.1:" + text.substr(local.size());
    return common::ServiceAddress::parse(text);
}

std::expected<Specification, smtp::Malformed> socketmap(std::string_view rest) {
    const auto colon = rest.rfind(':');
    const auto name = colon == rest.npos ? "" : rest.substr(colon + 1);
    const auto address = colon == rest.npos ? std::nullopt : address_of(std::string(rest.substr(0, colon)));
    if (!address || name.empty() || name.find(' ') != name.npos)
        return malformed(fmt::format("\"{}\" is not a socket map such as \"socketmap:unix:/run/x.sock:name\" or "
                                     "\"socketmap:inet:127.0.0.1:3000:name\"",
                                     smtp::printable(rest, 200)));
    return Specification{Kind::socketmap, std::string(name), *address};
}

std::expected<Specification, smtp::Malformed> tcp(std::string_view rest) {
    const auto address = address_of(std::string(rest));
    if (!address)
        return malformed(
            fmt::format("\"{}\" is not a server such as \"tcp:127.0.0.1:3000\"", smtp::printable(rest, 200)));
    return Specification{Kind::tcp, "", *address};
}

} // namespace

std::expected<Specification, smtp::Malformed> Specification::parse(std::string_view text) {
    const auto colon = text.find(':');
    const auto word = text.substr(0, colon);
    const auto rest = colon == text.npos ? "" : text.substr(colon + 1);
    if (std::ranges::any_of(text, [](unsigned char c) { return c < 0x20 || c == 0x7f; }))
        return malformed("control characters are not allowed here");
    if (const auto other = std::ranges::find(foreign, word, &Foreign::name);
        other != std::end(foreign) && colon != text.npos)
        return malformed(fmt::format("\"{}\": table type {} is not supported; {}", smtp::printable(text, 200), word,
                                     other->instead));
    const auto known = std::ranges::find(names, word, &Name::name);
    if (colon == text.npos || known == std::end(names))
        return malformed(
            fmt::format("\"{}\" is not a table; write \"text:FILE\", \"lmdb:FILE\", \"regexp:FILE\", "
                        "\"cidr:FILE\", \"mysql:FILE\", \"pgsql:FILE\", \"ldap:FILE\", \"socketmap:ADDRESS:NAME\", "
                        "\"tcp:ADDRESS\", \"static:VALUE\" or \"table:NAME\"",
                        smtp::printable(text, 200)));
    switch (known->kind) {
    case Kind::socketmap: return socketmap(rest);
    case Kind::tcp: return tcp(rest);
    case Kind::fixed: {
        const auto value = smtp::trimmed(rest);
        if (value.empty() || value.size() > longest_fixed_value)
            return malformed(fmt::format("\"{}\" has no value such as in \"static:5000\"", smtp::printable(text, 200)));
        return Specification{.kind = Kind::fixed, .value = std::string(value)};
    }
    case Kind::section:
        if (rest.empty() || rest.find_first_of(" :/") != rest.npos)
            return malformed(fmt::format("\"{}\" does not name a section [table.NAME]", smtp::printable(text, 200)));
        return Specification{.kind = Kind::section, .name = std::string(rest), .patterns = word == "patterns"};
    default: return file(known->kind, rest);
    }
}

} // namespace tables
