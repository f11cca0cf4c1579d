// Frames on a stream: four bytes of length (little-endian), then that many bytes. Bounded
// and strict: an empty or oversized frame breaks the stream permanently. Knows bytes only.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace ipc {

inline constexpr std::size_t max_frame = std::size_t{1} << 20;

// Appends a frame in place: what is appended to `out` between begin_frame() and end_frame() is its content.
inline std::size_t begin_frame(std::string& out) {
    out.append(4, '\0');
    return out.size();
}
// False, and `out` as before begin_frame(), if the content is empty or too long.
bool end_frame(std::string& out, std::size_t begun);

class FrameReader {
public:
    // `bytes` must stay where they are until keep().
    void feed(std::string_view bytes) { fresh_ = bytes; }
    // The next whole frame, if there is one. The view is good until the next call of anything here.
    std::optional<std::string_view> next();
    // After a malformed frame: nothing more will come.
    bool broken() const { return broken_; }
    // Bytes of an incomplete frame.
    std::size_t left_over() const { return kept_.size() + fresh_.size(); }
    // Keeps the rest of the bytes fed; call before their buffer is reused.
    void keep();

private:
    std::optional<std::size_t> length(std::string_view header); // nothing: broken
    void fill(std::size_t size);

    std::string kept_;       // the beginning of a frame that came in pieces
    std::string whole_;      // such a frame, handed out
    std::string_view fresh_; // fed, not yet parsed
    bool broken_ = false;
};

} // namespace ipc
