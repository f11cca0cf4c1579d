#include "daemons/common/ipc/frame.h"
#include <algorithm>
#include <utility>

namespace ipc {

bool end_frame(std::string& out, std::size_t begun) {
    const std::size_t length = out.size() - begun;
    if (length == 0 || length > max_frame) {
        out.resize(begun - 4);
        return false;
    }
    for (int i = 0; i < 4; ++i) out[begun - 4 + i] = static_cast<char>(length >> (8 * i));
    return true;
}

std::optional<std::size_t> FrameReader::length(std::string_view header) {
    std::size_t n = 0;
    for (int i = 0; i < 4; ++i) n |= static_cast<std::size_t>(static_cast<unsigned char>(header[i])) << (8 * i);
    broken_ = n == 0 || n > max_frame;
    if (broken_) return {};
    return n;
}

// Moves fresh bytes to the kept ones until there are `size` of these.
void FrameReader::fill(std::size_t size) {
    const auto n = std::min(size - kept_.size(), fresh_.size());
    kept_.append(fresh_.substr(0, n));
    fresh_.remove_prefix(n);
}

std::optional<std::string_view> FrameReader::next() {
    if (broken_) return {};
    if (kept_.empty()) {
        if (fresh_.size() < 4) return {};
        const auto n = length(fresh_);
        if (!n || fresh_.size() < 4 + *n) return {};
        const auto frame = fresh_.substr(4, *n);
        fresh_.remove_prefix(4 + *n);
        return frame;
    }
    if (kept_.size() < 4) fill(4);
    if (kept_.size() < 4) return {};
    const auto n = length(kept_);
    if (!n) return {};
    fill(4 + *n);
    if (kept_.size() < 4 + *n) return {};
    whole_ = std::exchange(kept_, {});
    return std::string_view(whole_).substr(4);
}

void FrameReader::keep() {
    kept_.append(fresh_);
    fresh_ = {};
}

} // namespace ipc
