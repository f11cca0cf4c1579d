// A page as it is served over HTTP. Value.
#pragma once
#include <string>

namespace metrics {

struct Page {
    unsigned status = 200;
    std::string type = "text/plain; charset=utf-8";
    std::string text;
};

} // namespace metrics
