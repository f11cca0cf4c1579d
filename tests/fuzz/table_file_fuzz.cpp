// Any text is read as a table: of keys and values, of regular expressions, of networks. Values that come of it hold no
// control characters, and a key is looked up in bounded time whatever the rules are.
#include "daemons/common/lookup/format/key_value.h"
#include "daemons/common/lookup/format/rules.h"
#include <cstdlib>

static void check(const tables::TableContents& table, std::string_view key) {
    if (table.problems().first().size() > tables::Problems::most) std::abort();
    const auto answer = table.find(key);
    if (answer.status == tables::Answer::Status::not_yet) std::abort();
    if (answer.status == tables::Answer::Status::found && answer.value.empty()) std::abort();
    if (answer.status == tables::Answer::Status::unavailable && answer.why.empty()) std::abort();
    for (const unsigned char c : answer.value)
        if ((c < 0x20 && c != '\t') || c == 0x7f) std::abort();
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    const auto plain = tables::TextTable::read(text);
    tables::Problems problems;
    tables::KeyValues entries(text, problems);
    if (const auto entry = entries.next()) {
        if (entry->key.empty() || entry->value.empty()) std::abort();
        if (plain->find(entry->key).status != tables::Answer::Status::found) std::abort();
    }
    for (const std::string_view key : {"bob@example.com", "192.0.2.1", "2001:db8::1", "aaaaaaaaaaaaaaaaaaaa"}) {
        check(*plain, key);
        check(*tables::RuleTable::read_regexp(text), key);
        check(*tables::RuleTable::read_cidr(text), key);
    }
    return 0;
}
