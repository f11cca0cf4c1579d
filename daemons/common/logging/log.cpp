#include "daemons/common/logging/log.h"
#include "libsmtp/text/utf8.h"
#include <algorithm>
#include <cstring>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>

namespace common {

using namespace std::chrono_literals;

namespace {

std::string short_host_name() {
    char name[256] = "localhost";
    gethostname(name, sizeof name - 1);
    if (char* dot = std::strchr(name, '.')) *dot = '\0';
    return name;
}

constexpr std::string_view prefix_of(Severity severity) {
    constexpr std::string_view prefixes[] = {"", "", "warning: ", "error: ", "fatal: "};
    return prefixes[static_cast<std::size_t>(severity)];
}

constexpr std::string_view word_of(Severity severity) {
    constexpr std::string_view words[] = {"debug", "info", "warning", "error", "critical"};
    return words[static_cast<std::size_t>(severity)];
}

// RFC 3164: facility mail (2) times 8, plus the severity.
constexpr int priority_of(Severity severity) {
    constexpr int levels[] = {7, 6, 4, 3, 2};
    return 2 * 8 + levels[static_cast<std::size_t>(severity)];
}

// Bytes of the UTF-8 sequence at `at`, 0 if it is none; C1 controls are none.
std::size_t printable_length(const char* at, const char* end) {
    const auto length = smtp::utf8_length({at, static_cast<std::size_t>(std::min<std::ptrdiff_t>(end - at, 4))});
    return length == 2 && at[0] == '\xC2' && static_cast<unsigned char>(at[1]) < 0xA0 ? 0 : length;
}

} // namespace

void make_printable(char* begin, char* end) {
    while (begin < end) {
        const auto c = static_cast<unsigned char>(*begin);
        if (c >= 0x20 && c < 0x7F) [[likely]] {
            ++begin;
        } else if (const auto n = c < 0x80 ? 0 : printable_length(begin, end)) {
            begin += n;
        } else {
            *begin++ = '?';
        }
    }
}

Log::Log(Loop& loop, std::string_view service, Fd file)
    : service_(service), process_(static_cast<std::uint64_t>(getpid())), file_(std::move(file)),
      hook_(loop, [this] { flush(); }), retry_(loop, [this] { flush(); }) {
    settings_.host = short_host_name();
}

Log::~Log() { flush(); }

void Log::configure(LogSettings settings, Fd file) {
    flush();
    settings_ = std::move(settings);
    if (settings_.host.empty()) settings_.host = short_host_name();
    if (file.number() != file_.number()) file_ = std::move(file);
    syslog_.reset();
    syslog_tried_ = 0;
}

void Log::write(Severity severity, std::string_view service, std::uint64_t number, fmt::string_view format,
                fmt::format_args args) {
    if (!wants(severity)) return;
    text_.clear();
    fmt::vformat_to(fmt::appender(text_), format, args);
    append({severity, service, number ? number : process_, {text_.data(), text_.size()}});
    if (severity == Severity::critical)
        flush();
    else
        hook_.schedule();
}

void Log::new_second(std::time_t second) {
    second_ = second;
    std::tm parts;
    localtime_r(&second, &parts);
    std::strftime(stamp_.data(), stamp_.size(), "%b %e %H:%M:%S", &parts);
    if (!settings_.json) return;
    gmtime_r(&second, &parts);
    std::strftime(utc_.data(), utc_.size(), "%FT%T", &parts);
}

void Log::append(Line line) {
    ++counts_.lines[static_cast<std::size_t>(line.severity)];
    timespec now;
    clock_gettime(CLOCK_REALTIME_COARSE, &now);
    if (now.tv_sec != second_) new_second(now.tv_sec);
    line.millisecond = static_cast<unsigned>(now.tv_nsec / 1'000'000);
    if (file_) append_for_file(line);
    if (settings_.syslog) append_for_syslog(line);
}

namespace {

// "name/service[number]: prefix text", printable, at most `room` bytes.
void append_body(std::string& out, const LogSettings& settings, Severity severity, std::string_view service,
                 std::uint64_t number, std::string_view text, std::size_t room) {
    const auto begin = out.size();
    out.append(settings.name).push_back('/');
    out.append(service).push_back('[');
    const fmt::format_int digits(number);
    out.append(digits.data(), digits.size()).append("]: ").append(prefix_of(severity)).append(text);
    if (out.size() - begin > room) out.resize(begin + room);
    make_printable(out.data() + begin, out.data() + out.size());
}

// A line about a message begins with its id and a colon; "" for others.
std::string_view queue_id_of(std::string_view text) {
    constexpr std::size_t digits = 14;
    if (text.size() < digits + 2 || text.substr(digits, 2) != ": ") return {};
    const auto id = text.substr(0, digits);
    return id.find_first_not_of("0123456789ABCDEF") == id.npos ? id : std::string_view{};
}

void append_quoted(std::string& out, std::string_view text) {
    const auto begin = out.size() + 1;
    out.push_back('"');
    out.append(text);
    make_printable(out.data() + begin, out.data() + out.size());
    for (auto i = begin; i < out.size(); ++i)
        if (out[i] == '"' || out[i] == '\\') out.insert(i++, 1, '\\');
    out.push_back('"');
}

} // namespace

void Log::append_for_file(const Line& line) {
    if (file_lines_.size() > settings_.max_buffered && (flush_file(), file_lines_.size() > settings_.max_buffered)) {
        ++lost_, ++counts_.lost;
        return;
    }
    if (settings_.json) return append_json(line);
    const auto begin = file_lines_.size();
    file_lines_.append(stamp_.data()).push_back(' ');
    file_lines_.append(settings_.host).push_back(' ');
    append_body(file_lines_, settings_, line.severity, line.service, line.number, line.text,
                max_line - (file_lines_.size() - begin) - 1);
    file_lines_.push_back('\n');
}

// The fields of postrider.7; a field that is there today stays, with its meaning.
void Log::append_json(const Line& line) {
    fmt::format_to(std::back_inserter(file_lines_),
                   "{{\"time\":\"{}.{:03}Z\",\"severity\":\"{}\",\"service\":\"{}\",\"session\":{},\"pid\":{}",
                   utc_.data(), line.millisecond, word_of(line.severity), line.service, line.number, process_);
    if (const auto id = queue_id_of(line.text); !id.empty())
        file_lines_.append(",\"queue_id\":\"").append(id).append("\"");
    file_lines_.append(",\"text\":");
    append_quoted(file_lines_, line.text.substr(0, max_line));
    file_lines_.append("}\n");
}

void Log::append_for_syslog(const Line& line) {
    if (syslog_lines_.size() > settings_.max_buffered) {
        ++lost_, ++counts_.lost;
        return;
    }
    const auto begin = syslog_lines_.size();
    syslog_lines_.push_back('<');
    syslog_lines_.append(fmt::format_int(priority_of(line.severity)).str()).push_back('>');
    syslog_lines_.append(stamp_.data()).push_back(' ');
    append_body(syslog_lines_, settings_, line.severity, line.service, line.number, line.text,
                max_line - (syslog_lines_.size() - begin));
    syslog_ends_.push_back(static_cast<std::uint32_t>(syslog_lines_.size()));
}

void Log::flush() {
    const auto write_all = [this] {
        const bool file = flush_file(), syslog = flush_syslog();
        return file && syslog;
    };
    bool all = write_all();
    if (all && lost_ > 0) {
        report_dropped();
        all = write_all();
    }
    if (!all) retry_.start(200ms);
}

void Log::report_dropped() {
    const auto text = fmt::format("{} log lines lost: they could not be written fast enough", lost_);
    lost_ = 0;
    append({Severity::warning, service_, process_, text});
}

bool Log::flush_file() {
    if (file_lines_.empty()) return true;
    const auto n = ::write(file_.number(), file_lines_.data(), file_lines_.size());
    if (n == static_cast<ssize_t>(file_lines_.size())) {
        file_lines_.clear();
        if (file_lines_.capacity() > (1 << 18)) file_lines_ = {};
        return true;
    }
    if (n > 0) file_lines_.erase(0, static_cast<std::size_t>(n));
    return false; // full disk, full pipe: what follows is kept up to the bound
}

bool Log::connect_syslog() {
    if (syslog_) return true;
    if (second_ == syslog_tried_) return false; // once a second is enough
    syslog_tried_ = second_;
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (settings_.syslog_socket.size() >= sizeof address.sun_path) return false;
    std::memcpy(address.sun_path, settings_.syslog_socket.c_str(), settings_.syslog_socket.size() + 1);
    Fd fd(socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    if (!fd || connect(fd.number(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) return false;
    syslog_ = std::move(fd);
    return true;
}

// A system without a syslog daemon is no reason to keep waking up: those lines are let go.
bool Log::flush_syslog() {
    if (syslog_ends_.empty()) return true;
    if (!connect_syslog()) {
        syslog_lines_.clear();
        syslog_ends_.clear();
        return true;
    }
    std::size_t sent = 0;
    while (sent < syslog_ends_.size()) {
        constexpr std::size_t batch = 64;
        iovec parts[batch];
        mmsghdr packets[batch];
        const std::size_t n = std::min(batch, syslog_ends_.size() - sent);
        for (std::size_t i = 0; i < n; ++i) {
            const std::size_t begin = sent + i == 0 ? 0 : syslog_ends_[sent + i - 1];
            parts[i] = {syslog_lines_.data() + begin, syslog_ends_[sent + i] - begin};
            packets[i] = {};
            packets[i].msg_hdr.msg_iov = &parts[i];
            packets[i].msg_hdr.msg_iovlen = 1;
        }
        const int done = sendmmsg(syslog_.number(), packets, static_cast<unsigned>(n), MSG_NOSIGNAL);
        if (done > 0) {
            sent += static_cast<std::size_t>(done);
        } else {
            if (errno != EAGAIN && errno != ENOBUFS) syslog_.reset();
            break;
        }
    }
    if (sent == syslog_ends_.size()) {
        syslog_lines_.clear();
        syslog_ends_.clear();
        return true;
    }
    if (sent > 0) {
        const auto gone = syslog_ends_[sent - 1];
        syslog_lines_.erase(0, gone);
        syslog_ends_.erase(syslog_ends_.begin(), syslog_ends_.begin() + static_cast<std::ptrdiff_t>(sent));
        for (auto& end : syslog_ends_) end -= gone;
    }
    return false;
}

} // namespace common
