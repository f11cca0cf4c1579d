// What a recipient resolves to: the question, the answer, and the record of what an expansion added. Used from the
// decision through the protocol with the categorizer to the message's file.
#pragma once
#include "libspool/delivery/delivery_facts.h"
#include <cstdint>
#include <string>

namespace spool {

// A recipient to be resolved.
struct UnresolvedRecipient {
    std::uint32_t number = 0; // its place in MessageState::recipients
    std::string address;      // local@domain, or a bare local part
    static void fields(auto& m, auto& f) {
        f("number", m.number);
        f("address", m.address);
    }
};

// A recipient that was found. One unresolved recipient may yield several (an alias); each names where it comes from.
struct ResolvedRecipient {
    std::uint32_t origin = 0; // number of the recipient it comes from
    // remote: to be routed by its domain. local: delivered by `local` for `user`. discard: accepted and
    // thrown away by explicit configuration. failed: permanently. unknown: a table could not be read …: ask
    // again later.
    Fate fate = Fate::unknown;
    bool changed = false;     // false: the address is the one asked about
    bool list = false;        // through a list with an owner (RFC 3461, 5.2.7.3): what the sender asked for in
                              // reports ends at the list, and reverse_path is the owner's
    std::string address;      // of an answer: only if changed
    std::string user;         // the delivery user. local: whose mailbox, or as whom; remote: of a mailbox elsewhere
    std::string target;       // local: where it goes for that user: "" their mailbox, "|command", "/file",
                              // "/maildir/", "maildir:/path/", "mbox:/path", "command:NAME"
    std::string transport;    // remote: next hop in the form of [route]; "" as the routes say
    std::string delivered_to; // remote: the address here whose alias or .forward file sends it on, for a
                              // field of that name; "" none, or one that is not ASCII
    std::string reverse_path; // "" the message's own, "<>" the null one, else the address of a list's owner
    std::string status;       // failed, unknown, discard: "5.1.1"
    std::string text;         // failed, unknown, discard: one line for NDR and log
    bool suppressed = false;  // failed: the address is on the suppression list

    // On disk, in Expanded. The reason for a failure has a record of its own.
    static void fields(auto& m, auto& f) {
        f(1, m.origin);
        f(2, m.fate);
        f(3, m.address);
        f(4, m.user);
        f(5, m.reverse_path);
        f(6, m.target);
        f(7, m.transport);
        f(8, m.list);
        f(9, m.delivered_to);
    }
    // Between daemons.
    static void wire_fields(auto& m, auto& f) {
        f("origin", m.origin);
        f("fate", m.fate);
        f("changed", m.changed);
        f("list", m.list);
        f("address", m.address);
        f("user", m.user);
        f("target", m.target);
        f("transport", m.transport);
        f("delivered_to", m.delivered_to);
        f("reverse_path", m.reverse_path);
        f("status", m.status);
        f("text", m.text);
        f("suppressed", m.suppressed);
    }
    bool operator==(const ResolvedRecipient&) const = default;
};

} // namespace spool
