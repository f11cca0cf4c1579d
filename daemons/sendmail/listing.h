// The queue listing of mailq(1), the bytes that Postfix prints.
#pragma once
#include "daemons/common/proto/showq.h"
#include <functional>
#include <string>
#include <string_view>

namespace sendmail {

class Listing {
public:
    explicit Listing(std::function<void(std::string_view)> print) : print_(std::move(print)) {}
    void add(const proto::showq::Entry& entry);
    void end();

private:
    std::function<void(std::string_view)> print_;
    std::uint64_t messages_ = 0, bytes_ = 0;
};

// Asks the queue-manager and prints; an exit status.
int list_queue(const std::string& socket, std::string_view program);

} // namespace sendmail
