// Command lines and content: however the bytes are cut into pieces, the same comes out, and nothing bare.
#include "libsmtp/protocol/framing.h"
#include <cassert>
#include <string>

static std::string decode(std::string_view input, std::size_t length, bool& end) {
    smtp::DataDecoder decoder;
    std::string out;
    end = false;
    while (!input.empty() && !end) {
        auto piece = input.substr(0, length);
        input.remove_prefix(piece.size());
        while (!end) {
            const auto step = decoder.decode(piece);
            out += step.run;
            piece.remove_prefix(step.consumed);
            end = step.end;
            if (step.consumed == 0 && step.run.empty()) break;
        }
    }
    return out;
}

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
    const std::string_view input(reinterpret_cast<const char*>(data), size);
    const auto line = smtp::cut_line(input, 100);
    assert(line.consumed <= input.size());
    bool end = false, end_in_bytes = false;
    const auto whole = decode(input, size + 1, end);
    assert(whole == decode(input, 1, end_in_bytes) && end == end_in_bytes);
    for (std::size_t i = 0; i < whole.size(); ++i) {
        if (whole[i] == '\n') assert(i > 0 && whole[i - 1] == '\r');
        if (whole[i] == '\r') assert(i + 1 < whole.size() && whole[i + 1] == '\n');
    }
    if (end) assert(input.find(".\r\n") != input.npos);
    return 0;
}
