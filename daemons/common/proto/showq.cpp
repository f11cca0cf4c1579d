#include "daemons/common/proto/showq.h"
#include <charconv>
#include <utility>

namespace proto::showq {

namespace {

// Values never contain a NUL: addresses and reasons were made printable where they entered.
void attribute(std::string_view name, std::string_view value, std::string& wire) {
    wire.append(name).push_back('\0');
    wire.append(value).push_back('\0');
}

template <class N> bool number(std::string_view text, N& out) {
    auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
    return error == std::errc{} && end == text.data() + text.size();
}

} // namespace

void append_start(std::string& wire) {
    attribute("protocol", "mail_queue_list_protocol", wire);
    wire.push_back('\0');
}

void append(const Entry& entry, std::string& wire) {
    attribute("queue_name", entry.queue, wire);
    attribute("queue_id", entry.queue_id, wire);
    attribute("time", std::to_string(entry.arrived), wire);
    attribute("size", std::to_string(entry.size), wire);
    attribute("forced_expire", entry.forced_expire ? "1" : "0", wire);
    attribute("sender", entry.sender, wire);
    for (const Recipient& recipient : entry.recipients) {
        attribute("recipient", recipient.address, wire);
        attribute("reason", recipient.reason, wire);
    }
    wire.push_back('\0');
}

void append_end(std::string& wire) { wire.push_back('\0'); }

Decoder::Progress Decoder::feed(std::string_view bytes) {
    while (progress_ == Progress::more && !bytes.empty()) {
        const auto nul = bytes.find('\0');
        rest_.append(bytes.substr(0, nul));
        if (rest_.size() > max_word) return progress_ = Progress::malformed;
        if (nul == bytes.npos) break;
        bytes.remove_prefix(nul + 1);
        progress_ = word(std::exchange(rest_, {}));
    }
    return progress_;
}

Decoder::Progress Decoder::word(std::string_view word) {
    if (!have_name_) {
        if (word.empty()) return end_of_list();
        name_ = word;
        have_name_ = true;
        return Progress::more;
    }
    have_name_ = false;
    begun_ = true;
    return attribute(name_, word) ? Progress::more : Progress::malformed;
}

Decoder::Progress Decoder::end_of_list() {
    if (!begun_) return Progress::end;
    begun_ = false;
    if (!greeted_) {
        greeted_ = true;
        if (entry_ == Entry{}) return Progress::more; // the greeting; older servers start with an entry
    }
    if (entry_.queue_id.empty()) return Progress::malformed;
    on_entry_(std::exchange(entry_, {}));
    return Progress::more;
}

bool Decoder::attribute(std::string_view name, std::string_view value) {
    if (name == "protocol") return value == "mail_queue_list_protocol";
    if (name == "queue_name") {
        entry_.queue = value;
        return true;
    }
    if (name == "queue_id") {
        entry_.queue_id = value;
        return true;
    }
    if (name == "time") return number(value, entry_.arrived);
    if (name == "size") return number(value, entry_.size);
    if (name == "forced_expire") {
        entry_.forced_expire = value == "1";
        return true;
    }
    if (name == "sender") {
        entry_.sender = value;
        return true;
    }
    if (name == "recipient") {
        if (entry_.recipients.size() == max_recipients) return false;
        entry_.recipients.emplace_back().address = value;
        return true;
    }
    if (entry_.recipients.empty()) return false;
    if (name == "reason") {
        entry_.recipients.back().reason = value;
        return true;
    }
    return false;
}

} // namespace proto::showq
