#include "daemons/postrider/tokens/token_commands.h"
#include "daemons/common/config/sections/system/http.h"
#include "daemons/common/terminal/exit_status.h"
#include "daemons/common/terminal/load_config.h"
#include "daemons/common/terminal/output.h"
#include "daemons/common/terminal/text.h"
#include "daemons/common/text/units.h"
#include "daemons/common/tokens/token_file.h"
#include "daemons/postrider/tokens/stored_tokens.h"
#include "libsmtp/message/address.h"
#include "libsmtp/text/date.h"
#include "libsmtp/text/text.h"
#include <algorithm>
#include <cerrno>
#include <charconv>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <functional>
#include <nlohmann/json.hpp>

namespace postrider {

using nlohmann::json;
using tokens::Token;

namespace {

constexpr std::size_t longest_submitter = 200;

std::vector<std::string> split(std::string_view list) {
    std::vector<std::string> out;
    for (std::size_t at = 0; at <= list.size();) {
        const auto end = std::min(list.find(',', at), list.size());
        if (end > at) out.emplace_back(list.substr(at, end - at));
        at = end + 1;
    }
    return out;
}

// "100/s"
std::optional<std::uint32_t> rate_of(std::string_view text) {
    if (text.ends_with("/s")) text.remove_suffix(2);
    std::uint32_t rate = 0;
    const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), rate);
    if (error != std::errc{} || rest != text.data() + text.size() || rate == 0 || rate > 100'000) return {};
    return rate;
}

smtp::WallTime now() { return std::chrono::floor<smtp::Duration>(std::chrono::system_clock::now()); }

std::expected<Token, std::string> token_of(const Arguments& arguments) {
    const auto wrong = [](std::string text) { return std::unexpected(std::move(text)); };
    Token token;
    token.name = arguments.words.front();
    if (!tokens::is_valid_name(token.name))
        return wrong(fmt::format("\"{}\": expected at most {} letters, digits, \"-\", \"_\" and \".\"", token.name,
                                 Token::longest_name));
    for (const auto& name : split(arguments.option("--scope").value_or(""))) {
        const auto scope = tokens::scope_named(name);
        if (!scope)
            return wrong(fmt::format("--scope: there is no scope \"{}\": expected read, read:content, submit, operate, "
                                     "remove, suppress, admin or node",
                                     name));
        token.scopes.add(*scope);
    }
    if (token.scopes.empty()) return wrong("--scope is missing: what the token may be used for, such as read,submit");
    token.submitter = arguments.option("--submitter").value_or("token:" + token.name);
    if (token.submitter.empty() || token.submitter.size() > longest_submitter ||
        !std::ranges::all_of(token.submitter, [](char c) { return c > 0x20 && c < 0x7f; }))
        return wrong(fmt::format("--submitter: expected 1 to {} characters without spaces", longest_submitter));
    for (const auto& domain : split(arguments.option("--sender-domain").value_or(""))) {
        if (!smtp::valid_domain(domain)) return wrong(fmt::format("--sender-domain: \"{}\" is not a domain", domain));
        token.sender_domains.push_back(smtp::lowered(domain));
    }
    for (const auto& text : split(arguments.option("--network").value_or(""))) {
        const auto network = common::Network::parse(text);
        if (!network) return wrong(fmt::format("--network: \"{}\" is not a network such as 192.0.2.0/24", text));
        token.networks.push_back(*network);
    }
    if (token.sender_domains.size() > Token::most_domains || token.networks.size() > Token::most_networks)
        return wrong(
            fmt::format("expected at most {} domains and {} networks", Token::most_domains, Token::most_networks));
    token.created = std::chrono::floor<std::chrono::seconds>(now());
    if (const auto text = arguments.option("--expires")) {
        const auto span = config::parse_duration(*text);
        if (!span || *span <= smtp::Duration::zero())
            return wrong(fmt::format("--expires: expected a span such as 90d, not \"{}\"", *text));
        token.expires = token.created + *span;
    }
    if (const auto text = arguments.option("--rate")) {
        const auto rate = rate_of(*text);
        if (!rate)
            return wrong(
                fmt::format("--rate: expected a number of requests per second such as 100/s, not \"{}\"", *text));
        token.rate = *rate;
    }
    return token;
}

int report(const spool::Error& error) {
    if (error.code == EACCES || error.code == EPERM)
        return fail(no_permission, fmt::format("{}: run the command as root", error.what));
    if (error.code == ENOENT)
        return fail(system_error,
                    fmt::format("{}: the directory is made when the mail system starts: start it first", error.what));
    return fail(system_error, error.what);
}

// Their own exit status, or that of `use`, which may change the tokens.
int with_tokens(const Arguments& arguments, const std::function<int(StoredTokens&)>& use) {
    const auto config = load_effective_config(arguments);
    if (!config) return bad_config;
    auto stored = StoredTokens::open(config::Http::directory(config->spool.directory));
    return stored ? use(*stored) : report(stored.error());
}

json json_of(const Token& token) {
    json out = {{"name", token.name},
                {"scopes", token.scopes.names()},
                {"submitter", token.submitter},
                {"sender_domains", token.sender_domains},
                {"networks", json::array()},
                {"created", smtp::rfc3339_date(token.created)},
                {"expires", token.expires ? json(smtp::rfc3339_date(*token.expires)) : json()},
                {"expired", token.expires && *token.expires <= now()},
                {"rate", token.rate}};
    for (const auto& each : token.networks) out["networks"].push_back(each.to_string());
    return out;
}

std::string expiry_text(const Token& token) {
    if (!token.expires) return "never";
    return (*token.expires <= now() ? "expired " : "") + smtp::rfc3339_date(*token.expires);
}

int not_there(std::string_view name) { return fail(not_found, fmt::format("there is no token \"{}\"", name)); }

} // namespace

int token_add(const Arguments& arguments) {
    const auto token = token_of(arguments);
    if (!token) return fail(usage, token.error());
    return with_tokens(arguments, [&](StoredTokens& stored) {
        if (std::ranges::find(stored.tokens, token->name, &Token::name) != stored.tokens.end())
            return fail(already_so, fmt::format("there is a token \"{}\" already: remove it first", token->name));
        if (stored.tokens.size() >= Token::most)
            return fail(usage, fmt::format("there are {} tokens, which is the limit", Token::most));
        const auto secret = tokens::new_secret();
        stored.tokens.push_back(*token);
        stored.tokens.back().hash = tokens::hash_of(secret);
        if (const auto saved = stored.save(); !saved) return report(saved.error());
        if (arguments.json) {
            auto out = json_of(*token);
            out["version"] = 1;
            out["token"] = secret;
            print_json(out);
        } else {
            fmt::print("{}\n", secret);
            print_error("the token is shown this once; it is valid within two seconds");
        }
        return static_cast<int>(ok);
    });
}

int token_list(const Arguments& arguments) {
    return with_tokens(arguments, [&](const StoredTokens& stored) {
        Table table({"Name", "Scopes", "Submitter", "Expires"});
        for (const auto& each : stored.tokens) {
            if (arguments.json)
                print_json(json_of(each));
            else
                table.row({each.name, fmt::format("{}", fmt::join(each.scopes.names(), ",")), each.submitter,
                           expiry_text(each)});
        }
        if (!arguments.json && !stored.tokens.empty()) fmt::print("{}", table.text(terminal_width()));
        if (!arguments.json && stored.tokens.empty()) fmt::print("there are no tokens\n");
        return static_cast<int>(ok);
    });
}

int token_show(const Arguments& arguments) {
    return with_tokens(arguments, [&](const StoredTokens& stored) {
        const auto found = std::ranges::find(stored.tokens, arguments.words.front(), &Token::name);
        if (found == stored.tokens.end()) return not_there(arguments.words.front());
        auto out = json_of(*found);
        if (arguments.json) {
            out["version"] = 1;
            print_json(out);
            return static_cast<int>(ok);
        }
        const auto list = [](const json& texts, std::string_view none) {
            const auto all = texts.get<std::vector<std::string>>();
            return all.empty() ? std::string(none) : fmt::format("{}", fmt::join(all, ", "));
        };
        fmt::print("scopes: {}\nsubmitter: {}\nsender domains: {}\nnetworks: {}\ncreated: {}\nexpires: {}\nrate: {}\n",
                   list(out["scopes"], "none"), found->submitter, list(out["sender_domains"], "any"),
                   list(out["networks"], "any"), smtp::rfc3339_date(found->created), expiry_text(*found),
                   found->rate == 0 ? std::string("no limit") : fmt::format("{} requests per second", found->rate));
        return static_cast<int>(ok);
    });
}

int token_remove(const Arguments& arguments) {
    return with_tokens(arguments, [&](StoredTokens& stored) {
        if (std::erase_if(stored.tokens, [&](const auto& each) { return each.name == arguments.words.front(); }) == 0)
            return not_there(arguments.words.front());
        if (const auto saved = stored.save(); !saved) return report(saved.error());
        if (!arguments.json)
            fmt::print("token {} is removed; it is not accepted after two seconds\n", arguments.words.front());
        if (arguments.json) print_json({{"version", 1}, {"name", arguments.words.front()}, {"removed", true}});
        return static_cast<int>(ok);
    });
}

} // namespace postrider
