// Any bytes as a header with control fields: the same at once and byte by byte, and nothing of them is left.
#include "libsmtp/message/control_fields.h"
#include "libsmtp/text/text.h"
#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
    static constexpr std::string_view names[] = {"X-Control"};
    const std::string_view bytes(reinterpret_cast<const char*>(data), size);
    smtp::ControlFields whole(names), slow(names), again(names);
    std::string out, slow_out, again_out;
    whole.feed(bytes, out);
    whole.finish(out);
    for (std::size_t at = 0; at < size; ++at) slow.feed(bytes.substr(at, 1), slow_out);
    slow.finish(slow_out);
    if (out != slow_out || whole.value(0) != slow.value(0)) std::abort();
    if (out.size() > size || whole.value(0).size() > smtp::ControlFields::longest_value) std::abort();
    again.feed(out, again_out);
    again.finish(again_out);
    if (again_out != out || !again.value(0).empty()) std::abort();
    return 0;
}
