// Any text is read as an alias table, as a .forward, as the answer of a virtual table: names and targets that come of
// it hold no control characters, and what is called an address is one.
#include "daemons/common/lookup/aliases/alias_file.h"
#include "daemons/decide/rewriting/address_keys.h"
#include "libsmtp/message/address.h"
#include <cstdlib>

namespace {

void check(const std::vector<decide::AliasTarget>& targets) {
    using Kind = decide::AliasTarget::Kind;
    for (const auto& target : targets) {
        for (const unsigned char c : target.value)
            if (c < 0x20 || c == 0x7f) std::abort();
        const bool address = target.kind == Kind::address || target.kind == Kind::user;
        if (address && !smtp::Mailbox::parse_bare_allowed(target.value)) std::abort();
        if (target.kind == Kind::wrong && target.value.empty()) std::abort();
    }
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    const auto table = common::AliasTable::parse(text);
    if (table.problems.size() > common::most_alias_problems) std::abort();
    for (const auto& [name, targets] : table.entries) {
        if (name.empty() || targets.empty()) std::abort();
        check(targets);
    }
    const auto list = common::TargetList::parse(text);
    if (list.problems.size() > common::most_alias_problems) std::abort();
    check(list.targets);
    for (const auto match : {decide::AddressKey::Match::whole, decide::AddressKey::Match::name}) {
        const auto answer = decide::addresses_of(text, "\"ann+a b\"@here.example", match, '+', "here.example", 10);
        if (answer.addresses.size() > 11 || (answer.addresses.empty() && answer.error.empty())) std::abort();
        for (const auto& address : answer.addresses)
            if (!smtp::Mailbox::parse(address)) std::abort();
    }
    return 0;
}
