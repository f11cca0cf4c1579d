// Checks of incoming messages, and recipients of copies.
#include "daemons/common/lookup/format/condition_blocks.h"
#include "daemons/common/lookup/format/header_checks.h"
#include "daemons/common/text/pattern.h"
#include "daemons/import-postfix/conversion/steps.h"
#include "daemons/import-postfix/import/import.h"
#include "daemons/import-postfix/import/tables.h"
#include "daemons/import-postfix/postfix/lists.h"
#include "daemons/import-postfix/transports/content_filters.h"
#include "daemons/import-postfix/transports/next_hops.h"
#include "libsmtp/text/text.h"
#include <algorithm>
#include <fmt/format.h>

namespace postrider {

namespace {

struct Milter {
    std::string address, action;
    std::vector<std::string> listeners;
};

std::string_view on_failure(Import& import, std::string_view action) {
    if (action == "accept" || action == "tempfail" || action == "reject" || action == "quarantine") return action;
    if (action == "shutdown") return "tempfail";
    import.add_remark("milter_default_action", fmt::format("\"{}\" is treated as tempfail", action));
    return "tempfail";
}

// "inet:localhost:8891", "unix:private/x", "{ inet:…, default_action=accept }"
std::optional<Milter> milter(Import& import, std::string_view name, std::string_view word) {
    const auto words = postfix::words_of(postfix::unbraced(word));
    Milter out;
    out.action = import.value("milter_default_action");
    for (std::size_t i = 1; i < words.size(); ++i) {
        const auto bare = postfix::unbraced(words[i]);
        const auto equals = std::min(bare.find('='), bare.size());
        if (postfix::trimmed(bare.substr(0, equals)) == "default_action" && equals < bare.size())
            out.action = postfix::trimmed(bare.substr(equals + 1));
    }
    auto place = words.empty() ? std::string() : words[0];
    if (place.starts_with("inet6:")) place.erase(4, 1);
    // Sendmail's "inet:8891@localhost", too.
    if (const auto at = place.find('@'); place.starts_with("inet:") && at != place.npos)
        place = fmt::format("inet:{}:{}", place.substr(at + 1), place.substr(5, at - 5));
    auto address = service_address(import, place);
    if (address) {
        out.address = *std::move(address);
        return out;
    }
    import.mark_unsupported(name,
                            fmt::format("\"{}\": write the numeric address of the milter in a [milter.NAME]", word));
    return {};
}

void milters(Import& import) {
    std::vector<Milter> all;
    const auto add = [&](Milter made, std::string listener) {
        for (auto& each : all)
            if (each.address == made.address) return each.listeners.push_back(std::move(listener));
        made.listeners = {std::move(listener)};
        all.push_back(std::move(made));
    };
    for (const auto& listener : import.listeners) {
        if (!import.draft.find(fmt::format("listen.{}.addresses", listener.name))) continue;
        const auto options = postfix::words_of(import.value(listener.values, "receive_override_options"));
        if (std::ranges::find(options, "no_milters") != options.end()) continue;
        for (const auto& word : postfix::words_of(import.value(listener.values, "smtpd_milters")))
            if (word != "DISABLE")
                if (auto made = milter(import, "smtpd_milters", word)) add(*std::move(made), listener.name);
    }
    for (const auto& word : import.words("non_smtpd_milters"))
        if (auto made = milter(import, "non_smtpd_milters", word)) add(*std::move(made), "local");
    for (const auto* name : {"smtpd_milters", "non_smtpd_milters", "milter_default_action", "milter_connect_timeout",
                             "milter_command_timeout", "milter_content_timeout"})
        import.mark_converted(name);
    std::size_t number = 0;
    for (const auto& each : all) {
        const auto key = fmt::format("milter.postfix_{:02}", ++number); // they are asked in the order of their names
        import.draft.set(key + ".address", toml(each.address), "smtpd_milters, non_smtpd_milters");
        import.draft.set(key + ".on_failure", toml(on_failure(import, each.action)));
        import.draft.set(key + ".listeners", toml(each.listeners));
        for (const auto& [name, ours] : {std::pair{"milter_connect_timeout", "connect_timeout"},
                                         {"milter_command_timeout", "timeout"},
                                         {"milter_content_timeout", "message_timeout"}})
            if (import.given(name))
                if (const auto seconds = import.seconds(name))
                    import.draft.set(fmt::format("{}.{}", key, ours), toml(fmt::format("{}s", *seconds)), name);
    }
}

using common::HeaderChecks;

// "/pattern/ FILTER amavis:[127.0.0.1]:10024" with our destination. The error: why there is none.
std::expected<std::string, std::string> with_our_filter(Import& import, const std::string& line) {
    auto rest = postfix::trimmed(std::string_view(line));
    if (rest.starts_with('!')) rest = postfix::trimmed(rest.substr(1));
    constexpr std::string_view word = "FILTER";
    if (!common::Pattern::take(rest)) return line;
    rest = postfix::trimmed(rest);
    const auto text = postfix::trimmed(rest.substr(std::min(word.size(), rest.size())));
    if (!smtp::same_ignoring_case(rest.substr(0, rest.find_first_of(" \t")), word)) return line;
    if (text.find('$') != text.npos) return std::unexpected("its destination depends on the message");
    const auto filter = imported_filter(import, text);
    if (!filter) return std::unexpected(filter.error());
    const auto end = postfix::trimmed(std::string_view(line)).size() - rest.size();
    return fmt::format("{}{} {}", postfix::trimmed(std::string_view(line)).substr(0, end), word, *filter);
}

// The rules of one table of regular expressions, in our form; what has no counterpart is noted.
class RulesOfTable {
public:
    // `word`: the table, as the setting names it.
    RulesOfTable(Import& import, std::string_view name, std::string_view word, HeaderChecks::Use use)
        : import_(import), name_(name), word_(word), use_(use) {}

    void add(const postfix::LogicalLine& line) {
        const std::string_view text = line.text;
        const auto word = smtp::lowered(text.substr(0, text.find_first_not_of(letters)));
        if (word == "if") return begin(line, text.substr(word.size()));
        if (word == "endif") return end(line, text.substr(word.size()));
        if (without_condition_ > 0) return;
        const bool incoming = use_ == HeaderChecks::Use::header || use_ == HeaderChecks::Use::body;
        const auto filtered = incoming ? with_our_filter(import_, line.text) : line.text;
        if (!filtered) return lost(line, filtered.error());
        if (const auto read = HeaderChecks::step_of(*filtered, use_); !read) return lost(line, read.error().why);
        rules_.push_back(*filtered);
    }

    std::vector<std::string> take() {
        const auto open = common::open_conditions(rules_);
        for (std::size_t i = 0; open && i < open->size(); ++i) {
            import_.add_remark(
                name_, fmt::format("{}: \"{}\" has no endif: it applies to the end of the file", word_, (*open)[i]));
            rules_.emplace_back("endif");
        }
        return std::move(rules_);
    }

private:
    static constexpr std::string_view letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";

    // What Postfix ignores behind a condition is not in the rules: it is the rule of an indented line, mostly.
    void ignored(const postfix::LogicalLine& line, std::string_view text) {
        if (!text.empty())
            import_.add_remark(name_, fmt::format("{} line {}: \"{}\" is ignored, as by Postfix: a line that begins "
                                                  "with a space continues the one before it",
                                                  word_, line.line, postfix::excerpt(text)));
    }

    void begin(const postfix::LogicalLine& line, std::string_view rest) {
        if (without_condition_ > 0) return void(++without_condition_);
        rest = postfix::trimmed(rest);
        const auto condition = rest;
        if (rest.starts_with('!')) rest = postfix::trimmed(rest.substr(1));
        if (const auto pattern = common::Pattern::take(rest); !pattern) {
            without_condition_ = 1;
            return lost(line, fmt::format("{}; the rules up to its endif are left out", pattern.error().why));
        }
        ++open_;
        rules_.push_back(fmt::format("if {}", condition.substr(0, condition.size() - rest.size())));
        ignored(line, postfix::trimmed(rest));
    }

    void end(const postfix::LogicalLine& line, std::string_view rest) {
        ignored(line, postfix::trimmed(rest));
        if (without_condition_ > 0) return void(--without_condition_);
        if (open_ == 0)
            return import_.add_remark(
                name_, fmt::format("{} line {}: endif without if is ignored, as by Postfix", word_, line.line));
        --open_;
        rules_.emplace_back("endif");
    }

    void lost(const postfix::LogicalLine& line, std::string why) {
        import_.mark_unguarded(name_, fmt::format("{} line {}", word_, line.line), std::move(why));
    }

    Import& import_;
    std::string_view name_, word_;
    HeaderChecks::Use use_;
    std::vector<std::string> rules_;
    std::size_t open_ = 0;              // blocks of rules_ without their endif
    std::size_t without_condition_ = 0; // within that many blocks whose condition could not be read
};

// The rules of a setting's tables, as far as we have them; what has no counterpart is noted.
std::vector<std::string> rules_of(Import& import, std::string_view name, HeaderChecks::Use use) {
    std::vector<std::string> rules;
    for (const auto& word : import.words(name)) {
        const auto type = postfix::parse_typed(word);
        if (!type || (type->type != "regexp" && type->type != "pcre")) {
            import.mark_unguarded(name, word, "only tables of regular expressions have a counterpart");
            continue;
        }
        const auto lines = rule_lines(import, name, word);
        if (import.error) return {};
        if (!lines) {
            import.mark_unguarded(name, word, fmt::format("{}: there is no such file", type->name));
            continue;
        }
        RulesOfTable table(import, name, word, use);
        for (const auto& line : *lines) table.add(line);
        for (auto& rule : table.take()) rules.push_back(std::move(rule));
    }
    return rules;
}

void checks(Import& import) {
    using Use = HeaderChecks::Use;
    struct Setting {
        std::string_view name, key;
        Use use;
        bool as_header_checks = false; // unless it is set
    };
    constexpr Setting settings[] = {
        {"header_checks", "content.header_checks", Use::header},
        {"mime_header_checks", "content.mime_header_checks", Use::header, true},
        {"nested_header_checks", "content.nested_header_checks", Use::header, true},
        {"body_checks", "content.body_checks", Use::body},
        {"smtp_header_checks", "smtp_client.header_checks", Use::outgoing_header},
        {"smtp_mime_header_checks", "smtp_client.mime_header_checks", Use::outgoing_header},
        {"smtp_nested_header_checks", "smtp_client.nested_header_checks", Use::outgoing_header},
        {"smtp_body_checks", "smtp_client.body_checks", Use::outgoing_body},
    };
    std::vector<std::string> of_header;
    for (const auto& [name, key, use, as_header_checks] : settings) {
        // By default Postfix applies the same rules to the header fields of MIME parts and of attached messages.
        const bool same = as_header_checks && !import.given(name);
        auto rules = same ? of_header : rules_of(import, name, use);
        if (import.error) return;
        if (!rules.empty()) import.set(key, toml(rules), same ? "header_checks" : name);
        import.mark_converted(name);
        if (name == "header_checks") of_header = std::move(rules);
    }
}

void copies(Import& import) {
    const auto* origin = import.draft.find("mta.origin");
    const auto domain = origin ? origin->value.substr(1, origin->value.size() - 2) : import.value("myhostname");
    auto always = import.words("always_bcc");
    for (auto& address : always) // a name alone is one of our own
        if (address.find('@') == address.npos) address += "@" + domain;
    if (!always.empty()) import.set("automatic_bcc.always", toml(always), "always_bcc");
    for (const auto& [name, key] : {std::pair{"sender_bcc_maps", "automatic_bcc.by_sender"},
                                    {"recipient_bcc_maps", "automatic_bcc.by_recipient"}}) {
        std::vector<std::string> out;
        for (const auto& word : import.words(name)) {
            const auto entries = table_entries(import, name, word);
            if (!entries && !import.error)
                import.mark_unsupported(name, fmt::format("{}: list its entries in {}", word, key));
            for (const auto& entry : entries ? *entries : std::vector<postfix::Entry>{}) {
                if (entry.key.find('@') != entry.key.npos && entry.value.find_first_of(", \t") == entry.value.npos)
                    out.push_back(fmt::format("{} {}", entry.key, entry.value));
                else
                    import.mark_unsupported(
                        name, fmt::format("\"{} {}\": write \"user@domain\" or \"@domain\", and one address", entry.key,
                                          postfix::excerpt(entry.value)));
            }
        }
        if (!out.empty()) import.set(key, toml(out), name);
        import.mark_converted(name);
    }
}

// The rules of one table of replies, in our form. "/^554 (.*)/ 450 $1": of such a rule is kept whether the reply
// becomes temporary or permanent.
class ReplyRulesOfTable {
public:
    // `word`: the table, as smtp_reply_filter names it.
    ReplyRulesOfTable(Import& import, std::string_view name, std::string_view word)
        : import_(import), name_(name), word_(word) {}

    // False: it has no counterpart. What follows would decide about replies that this rule keeps from it.
    bool add(const postfix::LogicalLine& line) {
        std::string_view rest = line.text;
        const auto step = common::take_block_step(rest);
        if (step == common::BlockStep::close) return end(line);
        bool negated = false;
        for (; rest.starts_with('!'); rest = postfix::trimmed(rest.substr(1))) negated = !negated;
        const auto start = rest;
        if (!common::Pattern::take(rest)) return lost(line);
        const auto pattern = fmt::format("{}{}", negated ? "!" : "", start.substr(0, start.size() - rest.size()));
        rest = postfix::trimmed(rest);
        if (step == common::BlockStep::open) {
            if (!rest.empty()) ignored(line, rest);
            rules_.push_back(fmt::format("if {}", pattern));
            ++open_;
            return true;
        }
        if (rest.empty() || (rest.front() != '4' && rest.front() != '5')) return lost(line);
        rules_.push_back(fmt::format("{} is {}", pattern, rest.front() == '4' ? "temporary" : "permanent"));
        return true;
    }

    std::vector<std::string> take() {
        for (; open_ > 0; --open_) rules_.emplace_back("endif"); // as in Postfix, to the end of the file
        return std::move(rules_);
    }

private:
    bool end(const postfix::LogicalLine& line) {
        if (open_ == 0) {
            ignored(line, line.text);
            return true;
        }
        --open_;
        rules_.emplace_back("endif");
        return true;
    }
    bool lost(const postfix::LogicalLine& line) {
        import_.mark_unsupported(
            name_, fmt::format("{} line {}: \"{}\": a reply can only become temporary or permanent, "
                               "by a pattern; this rule, those behind it and the tables behind it are left out",
                               word_, line.line, postfix::excerpt(line.text)));
        return false;
    }
    void ignored(const postfix::LogicalLine& line, std::string_view text) {
        import_.add_remark(name_, fmt::format("{} line {}: \"{}\" is ignored, as by Postfix", word_, line.line,
                                              postfix::excerpt(text)));
    }

    Import& import_;
    std::string_view name_, word_;
    std::size_t open_ = 0; // conditions
    std::vector<std::string> rules_;
};

void reply_filter(Import& import) {
    constexpr std::string_view name = "smtp_reply_filter";
    std::vector<std::string> rules;
    for (const auto& word : import.words(name)) {
        const auto type = postfix::parse_typed(word);
        const auto lines = rule_lines(import, name, word);
        if (import.error) return;
        if (!lines || type->type == "cidr") {
            import.mark_unsupported(name, fmt::format("{}: write its rules, and those of the tables behind it, as "
                                                      "smtp_client.reply_rules",
                                                      word));
            break;
        }
        ReplyRulesOfTable table(import, name, word);
        const bool all = std::ranges::all_of(*lines, [&](const auto& line) { return table.add(line); });
        for (auto& rule : table.take()) rules.push_back(std::move(rule));
        if (!all) break;
    }
    if (!rules.empty()) import.set("smtp_client.reply_rules", toml(rules), name);
    import.mark_converted(name);
}

} // namespace

void import_filters(Import& import) {
    milters(import);
    if (!import.error) checks(import);
    if (!import.error) copies(import);
    if (!import.error) reply_filter(import);
}

} // namespace postrider
