#include "daemons/master/secrets/sealed_file.h"
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

namespace master {

using spool::Error;
using spool::Result;

Result<common::Fd> sealed(const std::string& text) {
    common::Fd fd(memfd_create("postrider.toml", MFD_CLOEXEC | MFD_ALLOW_SEALING));
    if (!fd) return std::unexpected(Error::from_errno("keep the configuration"));
    if (write(fd.number(), text.data(), text.size()) != static_cast<ssize_t>(text.size()))
        return std::unexpected(Error::from_errno("keep the configuration"));
    fcntl(fd.number(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL);
    return fd;
}

} // namespace master
