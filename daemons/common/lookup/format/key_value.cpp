#include "daemons/common/lookup/format/key_value.h"
#include "daemons/common/lookup/format/specification.h"
#include "daemons/common/text/idn.h"
#include "libsmtp/text/text.h"
#include <fmt/format.h>

namespace tables {

std::string folded_key(std::string_view key) { return idn::folded(key); }

std::optional<KeyValues::Entry> KeyValues::next() {
    Entry entry;
    for (std::string line; lines_.next(line, entry.line);) {
        bool quoted = false;
        std::size_t end = 0; // of the key: the first blank outside of quotes
        for (; end < line.size() && (quoted || (line[end] != ' ' && line[end] != '\t')); ++end) {
            if (line[end] == '\\' && end + 1 < line.size())
                ++end;
            else if (line[end] == '"')
                quoted = !quoted;
        }
        entry.key = line.substr(0, end);
        entry.value = trimmed(std::string_view(line).substr(std::min(end, line.size())));
        if (quoted)
            problems_.add(entry.line, "a quote is not closed; skipped");
        else if (entry.value.empty())
            problems_.add(entry.line, fmt::format("expected \"key value\", not \"{}\" alone; skipped",
                                                  smtp::printable(entry.key, 64)));
        else if (entry.key.size() > longest_key)
            problems_.add(entry.line, fmt::format("a key has at most {} bytes; skipped", longest_key));
        else
            break;
        entry.key.clear();
    }
    if (entry.key.empty()) return {};
    if (entry.key.ends_with(':'))
        problems_.add(entry.line,
                      fmt::format("\"{}\" ends in a colon: is this a file of aliases? A table has \"key value\"",
                                  smtp::printable(entry.key, 64)));
    return entry;
}

std::unique_ptr<const TableContents> TextTable::read(std::string_view text) {
    auto out = std::make_unique<TextTable>();
    KeyValues entries(text, out->problems_);
    while (auto entry = entries.next())
        if (!out->entries_.emplace(folded_key(entry->key), std::move(entry->value)).second)
            out->problems_.add(entry->line, fmt::format("{} is listed twice; the first entry is used",
                                                        smtp::printable(entry->key, 64)));
    return out;
}

Answer TextTable::find(std::string_view key) const {
    const auto found = entries_.find(folded_key(key));
    return found == entries_.end() ? Answer{} : Answer::found(found->second);
}

} // namespace tables
