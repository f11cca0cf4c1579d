// postalias(1): checks a file of aliases, and queries it. There is nothing to compile: the text itself is read by the
// mail system, which notices when it changes.
#include "daemons/common/lookup/aliases/address_lint.h"
#include "daemons/common/lookup/aliases/alias_file.h"
#include "daemons/common/runtime/read_file.h"
#include "daemons/common/text/idn.h"
#include "daemons/postfix-commands/command.h"
#include <fmt/format.h>
#include <map>
#include <sysexits.h>

namespace postfix_commands {

namespace {

// As written in the file.
std::string text_of(const std::vector<decide::AliasTarget>& targets) {
    using Kind = decide::AliasTarget::Kind;
    std::string out;
    for (const auto& target : targets) {
        const std::string_view before = target.kind == Kind::command   ? "|"
                                        : target.kind == Kind::include ? ":include:"
                                        : target.kind == Kind::user    ? "\\"
                                                                       : "";
        out += fmt::format("{}{}{}", out.empty() ? "" : ", ", before, target.value);
    }
    return out;
}

} // namespace

int postalias(const Invocation& invocation) {
    for (const char letter : {'d', 'i', 'r'})
        if (invocation.has(letter))
            return fatal(invocation, fmt::format("-{} is not supported: edit the file itself, which is read again when "
                                                 "it changes",
                                                 letter));
    if (invocation.words.empty()) return EX_USAGE;
    bool any = false;
    for (const auto& word : invocation.words) {
        const auto colon = word.find(':');
        const auto file =
            colon == word.npos || word.starts_with('/') || word.starts_with('.') ? word : word.substr(colon + 1);
        const auto text = common::read_file(file);
        if (!text) return fatal(invocation, text.error().what);
        const auto table = common::AliasTable::parse(*text);
        if (invocation.has('q')) {
            const auto found = table.entries.find(idn::folded(invocation.value('q')));
            if (found == table.entries.end()) continue;
            for (const auto& target : found->second)
                if (target.kind == decide::AliasTarget::Kind::wrong)
                    return fatal(invocation, fmt::format("{}, {}", file, target.value));
            fmt::print("{}\n", text_of(found->second));
            return EX_OK;
        }
        if (invocation.has('s')) {
            const std::map<std::string, std::vector<decide::AliasTarget>> sorted(table.entries.begin(),
                                                                                 table.entries.end());
            for (const auto& [name, targets] : sorted) fmt::print("{}\t{}\n", name, text_of(targets));
        } else if (!invocation.has('w')) {
            for (const auto& each : common::lint_alias_file(file)) warning(invocation, each.text());
        }
        any = true;
    }
    return any ? EX_OK : EXIT_FAILURE;
}

} // namespace postfix_commands
