// Log lines as operators' tools expect them (traditional syslog format): to a file and/or /dev/log. Lines
// are collected and written once per loop turn; nothing here ever waits. What cannot be written within the
// limit is dropped, and a line reports how many were. Escapes control characters; knows nothing of mail.
#pragma once
#include "daemons/common/runtime/fd.h"
#include "daemons/common/runtime/loop.h"
#include "daemons/common/runtime/timer.h"
#include <array>
#include <cstdint>
#include <ctime>
#include <fmt/format.h>
#include <string>
#include <string_view>
#include <vector>

namespace common {

enum class Severity : std::uint8_t { debug, info, warning, error, critical };

struct LogSettings {
    std::string name = "postfix"; // tag is name/service[number]
    std::string host;             // "" = the machine's short name
    bool syslog = false;          // datagrams to socket
    std::string syslog_socket = "/dev/log";
    bool json = false;                      // the file gets JSON lines instead
    Severity min_severity = Severity::info; // what is less severe is not logged
    std::size_t max_buffered = 1 << 20;     // bytes waiting to be written, per sink
};

// Lines since the process began.
struct LogCounts {
    std::array<std::uint64_t, 5> lines{}; // written or lost, by severity
    std::uint64_t lost = 0;               // could not be written fast enough
};

class Log;

// Logs as one service with one number; a small value, made where needed: log.context("smtpd", session).info(…).
class LogContext {
public:
    LogContext(Log& log, std::string_view service, std::uint64_t number)
        : log_(&log), service_(service), number_(number) {}
    template <class... A> void info(fmt::format_string<A...> format, A&&... args) const {
        write(Severity::info, format, fmt::make_format_args(args...));
    }
    template <class... A> void warning(fmt::format_string<A...> format, A&&... args) const {
        write(Severity::warning, format, fmt::make_format_args(args...));
    }
    template <class... A> void error(fmt::format_string<A...> format, A&&... args) const {
        write(Severity::error, format, fmt::make_format_args(args...));
    }
    // For what stops a service. The line is out before this returns.
    template <class... A> void critical(fmt::format_string<A...> format, A&&... args) const {
        write(Severity::critical, format, fmt::make_format_args(args...));
    }

private:
    void write(Severity severity, fmt::string_view format, fmt::format_args args) const;
    Log* log_;
    std::string_view service_; // must outlive the log_context; a literal
    std::uint64_t number_;
};

class Log {
public:
    // `service` ("smtpd", "qmgr" …) must outlive the log. Until configure() lines go nowhere but `file`.
    Log(Loop& loop, std::string_view service, Fd file = {});
    ~Log(); // writes what is gathered
    Log(const Log&) = delete;
    Log& operator=(const Log&) = delete;

    // At birth, reload and when logs are re-opened. `file`: opened with O_APPEND; empty: no file.
    void configure(LogSettings settings, Fd file);

    // number 0: the process id. `service` is a literal.
    LogContext context(std::string_view service, std::uint64_t number = 0) {
        return LogContext(*this, service, number);
    }
    template <class... A> void debug(fmt::format_string<A...> format, A&&... args) {
        if (wants(Severity::debug)) write(Severity::debug, service_, 0, format, fmt::make_format_args(args...));
    }
    template <class... A> void info(fmt::format_string<A...> format, A&&... args) {
        write(Severity::info, service_, 0, format, fmt::make_format_args(args...));
    }
    template <class... A> void warning(fmt::format_string<A...> format, A&&... args) {
        write(Severity::warning, service_, 0, format, fmt::make_format_args(args...));
    }
    template <class... A> void error(fmt::format_string<A...> format, A&&... args) {
        write(Severity::error, service_, 0, format, fmt::make_format_args(args...));
    }
    // For what stops a service. The line is out before this returns.
    template <class... A> void critical(fmt::format_string<A...> format, A&&... args) {
        write(Severity::critical, service_, 0, format, fmt::make_format_args(args...));
    }

    void write(Severity severity, std::string_view service, std::uint64_t number, fmt::string_view format,
               fmt::format_args args);
    // Now instead of at the end of the turn.
    void flush();

    const LogCounts& counts() const { return counts_; }
    bool wants(Severity severity) const { return severity >= settings_.min_severity; }

    static constexpr std::size_t max_line = 2000; // bytes of one line

private:
    struct Line {
        Severity severity;
        std::string_view service;
        std::uint64_t number;
        std::string_view text;
        unsigned millisecond = 0;
    };
    void new_second(std::time_t second);
    void append(Line line);
    void append_json(const Line& line);
    void append_for_file(const Line& line);
    void append_for_syslog(const Line& line);
    void report_dropped();
    bool flush_file();
    bool flush_syslog();
    bool connect_syslog();

    std::string_view service_;
    LogSettings settings_;
    std::uint64_t process_;
    Fd file_, syslog_;
    TurnHook hook_;
    Timer retry_;
    fmt::memory_buffer text_;  // one line being made
    std::string file_lines_;   // whole lines, but for a first one already begun
    std::string syslog_lines_; // packets, one behind the other
    std::vector<std::uint32_t> syslog_ends_;
    std::time_t second_ = -1;
    std::array<char, 16> stamp_{}; // "Nov 20 15:38:00"
    std::array<char, 24> utc_{};   // "2026-11-20T15:38:00"
    std::uint64_t lost_ = 0;       // not yet said
    LogCounts counts_;
    std::time_t syslog_tried_ = 0;
};

inline void LogContext::write(Severity severity, fmt::string_view format, fmt::format_args args) const {
    log_->write(severity, service_, number_, format, args);
}

// Control characters (C0, DEL, C1) and bytes that are no UTF-8 become '?'.
void make_printable(char* begin, char* end);

} // namespace common
