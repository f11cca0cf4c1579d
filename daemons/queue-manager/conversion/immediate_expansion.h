// Recipients about whom no table, file or user decides: most of what a relay passes on. The categorizer's own
// expansion, without anything to look up; where that is enough, it has the categorizer's answer. Pure.
#pragma once
#include "daemons/common/proto/categorize.h"
#include "daemons/decide/addressing/expansion.h"
#include "daemons/queue-manager/conversion/categorization.h"
#include <cstddef>
#include <optional>

namespace queue_manager {

class ImmediateExpansion {
public:
    explicit ImmediateExpansion(decide::ExpansionSettings settings) : settings_(std::move(settings)) {}

    static constexpr std::size_t most_recipients = 50; // the turn is short; longer lists are the categorizer's

    enum class SuppressionList : bool { empty, has_entries };
    // What the categorizer would answer. Nothing: something has to be looked up, it must be asked.
    std::optional<proto::categorize::Categorized> of(const CategorizationInput& subject, SuppressionList list) const;

private:
    decide::ExpansionSettings settings_;
};

} // namespace queue_manager
