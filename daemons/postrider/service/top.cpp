// top: the status page, redrawn periodically on the whole terminal, which is restored at the end.
#include "daemons/postrider/service/top.h"
#include "daemons/common/terminal/text.h"
#include "daemons/postrider/command/command.h"
#include "daemons/postrider/service/status.h"
#include <cerrno>
#include <csignal>
#include <ctime>
#include <fmt/format.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <termios.h>
#include <unistd.h>

namespace postrider {

namespace {

// The alternate screen, without echo and cursor; the destructor restores the normal one.
class Screen {
public:
    Screen() {
        tcgetattr(STDIN_FILENO, &before_);
        termios quiet = before_;
        quiet.c_lflag &= static_cast<tcflag_t>(~(ICANON | ECHO));
        tcsetattr(STDIN_FILENO, TCSANOW, &quiet);
        put("\x1b[?1049h\x1b[?25l");
    }
    ~Screen() {
        tcsetattr(STDIN_FILENO, TCSANOW, &before_); // first: once the normal screen is visible, the user may type
        put("\x1b[?25h\x1b[?1049l");
    }
    Screen(const Screen&) = delete;

    // As many lines as there is room for.
    void show(std::string_view page) {
        winsize size{};
        ioctl(STDOUT_FILENO, TIOCGWINSZ, &size);
        std::string out = "\x1b[H";
        for (unsigned line = 0; line + 1 < std::max<unsigned>(size.ws_row, 2) && !page.empty(); ++line) {
            const auto end = page.find('\n');
            out.append(page.substr(0, end)).append("\x1b[K\n");
            page.remove_prefix(end == page.npos ? page.size() : end + 1);
        }
        put(out + "\x1b[J");
    }

private:
    static void put(std::string_view text) {
        while (!text.empty()) {
            const auto n = ::write(STDOUT_FILENO, text.data(), text.size());
            if (n < 0 && errno != EINTR) return;
            if (n > 0) text.remove_prefix(static_cast<std::size_t>(n));
        }
    }
    termios before_{};
};

// Waits until the next refresh is due: true to continue, false to end.
bool wait_for_keys(int signals, int milliseconds) {
    pollfd both[] = {{STDIN_FILENO, POLLIN, 0}, {signals, POLLIN, 0}};
    if (poll(both, 2, milliseconds) <= 0) return true;
    if (both[1].revents != 0) {
        signalfd_siginfo received{};
        return ::read(signals, &received, sizeof received) == sizeof received && received.ssi_signo == SIGWINCH;
    }
    char key = 'q';
    return ::read(STDIN_FILENO, &key, 1) == 1 && key != 'q' && key != 'Q';
}

} // namespace

int top(const Arguments& arguments) {
    const auto interval =
        arguments.has("--interval") ? arguments.number("--interval") : std::optional<std::uint64_t>(2);
    if (!interval || *interval < 1 || *interval > 3600) return fail(usage, "--interval needs 1 to 3600 seconds");
    if (isatty(STDIN_FILENO) == 0 || isatty(STDOUT_FILENO) == 0)
        return fail(usage, "\"top\" needs a terminal; \"postrider status\" prints the same once");
    const auto config = load_effective_config(arguments);
    if (!config) return bad_config;
    if (const auto data = fetch_status(config->spool); !data) return report_socket_error(data.error(), config->mta);
    sigset_t ends;
    sigemptyset(&ends);
    for (int each : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGWINCH}) sigaddset(&ends, each);
    sigprocmask(SIG_BLOCK, &ends, nullptr);
    const common::Fd signals(signalfd(-1, &ends, SFD_CLOEXEC));
    if (!signals) return system_error;
    Screen screen;
    do {
        const auto data = fetch_status(config->spool);
        const auto now = std::time(nullptr);
        const auto body = data ? status_page(*data, now, terminal_width()) : fmt::format("{}\n", data.error().what);
        const auto head =
            truncated(fmt::format("{}  every {} s, q quits", time_text(now), *interval), terminal_width());
        screen.show(fmt::format("{}\n\n{}", head, body));
    } while (wait_for_keys(signals.number(), static_cast<int>(*interval) * 1000));
    return ok;
}

} // namespace postrider
