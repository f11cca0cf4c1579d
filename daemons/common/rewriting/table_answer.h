// What a lookup table has answered, as decisions about addresses see it.
#pragma once
#include "daemons/common/lookup/format/answer.h"
#include "daemons/decide/rewriting/expansion_tables.h"
#include <utility>

namespace common {

inline decide::TableAnswer table_answer(tables::Answer&& answer) {
    using Status = decide::TableAnswer::Status;
    switch (answer.status) {
    case tables::Answer::Status::none: return {};
    case tables::Answer::Status::found: return {Status::found, std::move(answer.value), ""};
    case tables::Answer::Status::unavailable: return {Status::unreadable, "", std::move(answer.why)};
    case tables::Answer::Status::not_yet: break;
    }
    return {Status::not_yet, "", ""};
}

} // namespace common
