// Text tables: lines "key value" in the format of Postfix's postmap(1). Pure.
#pragma once
#include "daemons/common/lookup/format/lines.h"
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

namespace tables {

// Keys are compared in this form: small letters, NFC.
std::string folded_key(std::string_view key);

// The entries of a text, one after the other; what is no entry is skipped and said.
class KeyValues {
public:
    struct Entry {
        std::uint32_t line = 0;
        std::string key, value; // the key as written
    };
    // `text` and `problems` must outlive it.
    KeyValues(std::string_view text, Problems& problems) : lines_(text, problems), problems_(problems) {}
    std::optional<Entry> next();

private:
    Lines lines_;
    Problems& problems_;
};

class TextTable final : public TableContents {
public:
    static std::unique_ptr<const TableContents> read(std::string_view text);
    Answer find(std::string_view key) const override;
    std::size_t entries() const override { return entries_.size(); }

private:
    std::unordered_map<std::string, std::string> entries_; // by folded key
};

} // namespace tables
