#include "daemons/common/lookup/tables/section_contents.h"
#include "daemons/common/lookup/format/key_value.h"
#include "daemons/common/lookup/format/rules.h"
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace tables {

std::unique_ptr<const TableContents> section_contents(const config::LookupTable& section) {
    switch (section.kind) {
    case config::LookupKind::entries: return TextTable::read(fmt::format("{}", fmt::join(section.entries, "\n")));
    case config::LookupKind::regexp: return RuleTable::read_regexp(fmt::format("{}", fmt::join(section.rules, "\n")));
    case config::LookupKind::cidr: return RuleTable::read_cidr(fmt::format("{}", fmt::join(section.rules, "\n")));
    default: return nullptr;
    }
}

} // namespace tables
