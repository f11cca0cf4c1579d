#include "daemons/local/delivery/delivery_target.h"
#include "daemons/decide/addressing/command_words.h"
#include "libsmtp/text/text.h"
#include "libsmtp/text/trim.h"
#include <fmt/format.h>

namespace local {
namespace {

constexpr std::size_t shown = 200; // of a command, in the log

DeliveryTarget command_target(std::string_view text) {
    DeliveryTarget out;
    out.kind = DeliveryTarget::Kind::command;
    out.command = text;
    out.done = "delivered to command: " + smtp::printable(text, shown);
    return out;
}

DeliveryTarget mailbox_target(Format format, std::string_view path) {
    DeliveryTarget out;
    out.format = format;
    out.path = path;
    out.done = format == Format::maildir ? "delivered to maildir" : "delivered to mailbox";
    return out;
}

std::optional<DeliveryTarget> file(std::string_view path) {
    if (path.find('\0') != path.npos || path == "/") return {};
    DeliveryTarget out = mailbox_target(path.ends_with('/') ? Format::maildir : Format::mbox, path);
    out.owned = false;
    out.done = "delivered to file: " + smtp::printable(path, shown);
    if (path == "/dev/null") out.kind = DeliveryTarget::Kind::nowhere;
    return out;
}

} // namespace

std::optional<DeliveryTarget> parse_target(std::string_view target, const config::Local& settings,
                                           std::string_view user, std::string_view home) {
    if (target.empty()) {
        if (!settings.delivery.mailbox_command.empty()) return command_target(settings.delivery.mailbox_command);
        return mailbox_target(settings.mailbox.format == config::MailboxFormat::maildir ? Format::maildir
                                                                                        : Format::mbox,
                              settings.mailbox.path_for(user, home));
    }
    if (target.starts_with('|')) {
        const auto words = smtp::trimmed(target.substr(1));
        if (words.empty() || words.find('\0') != words.npos) return {};
        return command_target(words);
    }
    if (const auto name = decide::name_of_command(target); !name.empty())
        return DeliveryTarget{
            .kind = DeliveryTarget::Kind::program, .path = {}, .command = std::string(name), .done = {}};
    if (target.starts_with('/')) return file(target);
    if (target.starts_with("~/") && !home.empty()) {
        if (home.ends_with('/')) home.remove_suffix(1); // "/" is a home, too
        return file(fmt::format("{}{}", home, target.substr(1)));
    }
    for (const auto& [word, format] :
         {std::pair<std::string_view, Format>{"maildir:", Format::maildir}, {"mbox:", Format::mbox}}) {
        if (!target.starts_with(word)) continue;
        const auto path = target.substr(word.size());
        if (!path.starts_with('/') || path.find('\0') != path.npos) return {};
        return mailbox_target(format, path);
    }
    return {};
}

} // namespace local
