// The queue listings that mailq(1) and postqueue(1) print, byte for byte
// as Postfix does; and the query to the queue-manager for their content.
#pragma once
#include "daemons/common/proto/showq.h"
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace common {

class QueueListing {
public:
    enum class Form : std::uint8_t {
        text, // for people
        json, // an object a line
    };
    QueueListing(Form form, std::function<void(std::string_view)> print) : form_(form), print_(std::move(print)) {}
    void add(const proto::showq::Entry& entry);
    void end();

private:
    void add_text(const proto::showq::Entry& entry);
    void add_json(const proto::showq::Entry& entry);

    Form form_;
    std::function<void(std::string_view)> print_;
    std::uint64_t messages_ = 0, bytes_ = 0;
};

// Asks at the socket run/showq and prints on standard output; an exit status of sysexits.h. `program` is who
// complains.
int list_queue(const std::string& socket, QueueListing::Form form, std::string_view program);

} // namespace common
