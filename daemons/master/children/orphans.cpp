#include "daemons/master/children/orphans.h"
#include <sys/wait.h>
#include <unistd.h>

namespace master {

void reap_orphans(const std::function<bool(pid_t)>& is_ours) {
    if (getpid() != 1) return;
    for (;;) {
        siginfo_t ended{};
        if (waitid(P_ALL, 0, &ended, WEXITED | WNOHANG | WNOWAIT) != 0 || ended.si_pid == 0) return;
        if (is_ours(ended.si_pid)) return; // its signal is still to come
        waitpid(ended.si_pid, nullptr, WNOHANG);
    }
}

} // namespace master
