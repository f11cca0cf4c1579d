// Header fields of a message that the journal is to record with it (history.headers), taken while its content streams
// past. Pure.
#pragma once
#include "libsmtp/message/header_scan.h"
#include "libsmtp/mime/encoded_word.h"
#include "libsmtp/text/text.h"
#include "libspool/format/envelope.h"
#include <cstddef>
#include <utility>

namespace common {

// Bytes of a field's value; what is longer is cut.
inline constexpr std::size_t longest_recorded_field = 512;

// Those that `header` was asked for, of a message whose header has ended.
inline void record_fields(const smtp::HeaderScan& header, spool::Envelope& envelope) {
    for (const auto& field : header.found())
        if (auto value = smtp::decoded_words(field.value, longest_recorded_field); !value.empty())
            envelope.headers.push_back({smtp::lowered(field.name), std::move(value)});
}

} // namespace common
