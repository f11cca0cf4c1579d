// Whether a command, a file or a virtual mailbox as a delivery target comes from a source that may name such targets.
// The queue-manager says where mail goes, by what it finds in the spool; only local may become every user. So local
// trusts a target only if it finds it itself: in the configuration, in the alias files, or in the user's own files.
// Blocks; for several threads.
#pragma once
#include "daemons/common/config/sections/recipients/addresses.h"
#include "daemons/common/config/sections/recipients/local.h"
#include "daemons/common/config/sections/recipients/lookup.h"
#include "daemons/common/config/sections/recipients/mail_command.h"
#include "daemons/common/lookup/aliases/alias_file.h"
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <sys/stat.h>
#include <vector>

namespace local {

class TargetCheck {
public:
    void configure(const config::Local& local, const config::Addresses& addresses,
                   const std::vector<config::LookupTable>& tables, const std::vector<config::MailCommand>& commands);

    struct Finding {
        enum class Result {
            named,      // it may be delivered to
            elsewhere,  // not by the configuration or an alias: the user's own files may name it
            refused,    // nothing that this system trusts names it
            unreadable, // what might name it cannot be read now
        } result = Result::refused;
        std::string why; // unreadable
    };
    // `address`, `user`, `target`: of the recipient (spool::ResolvedRecipient); `target` not "".
    Finding find(std::string_view address, std::string_view user, std::string_view target);

private:
    Finding in_aliases(const std::string& name, std::string_view user, std::string_view target);
    Finding in_tables(const std::string& name, std::string_view user, std::string_view target);
    Finding among(const std::vector<decide::AliasTarget>& targets, const std::string& run_as, bool included,
                  std::string_view user, std::string_view target, int& includes) const;

    // In its current state: entries that the categorizer has just read are found here, too.
    struct File {
        std::string path;
        bool by_default = false; // not configured explicitly: it need not exist
        struct stat facts{};
        std::optional<common::AliasTable> table = {};
        std::string trouble = {};
        void refresh();
    };
    std::mutex mutex_;
    std::vector<File> files_;
    std::vector<std::string> tables_;
    std::vector<config::LookupTable> sections_;
    std::vector<config::MailCommand> commands_;
    std::string default_user_, virtual_pattern_, virtual_user_;
    bool from_aliases_[2] = {}, from_includes_[2] = {}, from_forward_[2] = {}; // files, commands
    char delimiter_ = 0;
};

} // namespace local
