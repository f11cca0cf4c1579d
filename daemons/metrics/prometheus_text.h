// The aggregator as Prometheus reads it: text exposition format, version 0.0.4. Every family is present with its HELP
// and TYPE, whether anything was counted or not; every series of a closed label set, too, because a missing one
// cannot be distinguished from 0 later. Pure.
#pragma once
#include "daemons/metrics/aggregator.h"
#include <string>
#include <string_view>

namespace metrics {

inline constexpr std::string_view content_type = "text/plain; version=0.0.4; charset=utf-8";
// The name for all links together that have none of their own; no domain or host has this name.
inline constexpr std::string_view other_links = "(others)";

std::string prometheus_text(const Aggregator& aggregator, std::string_view version);

// For use between quotes.
std::string escaped_label(std::string_view value);

} // namespace metrics
