// The contents of a [table.NAME] that has its entries or rules in the configuration itself. Opens no files.
#pragma once
#include "daemons/common/config/sections/recipients/lookup.h"
#include "daemons/common/lookup/format/contents.h"
#include <memory>

namespace tables {

// Null: a section of another kind. The lines of its problems count the entries or rules from 1.
std::unique_ptr<const TableContents> section_contents(const config::LookupTable& section);

} // namespace tables
