// What became of mail, from the journal: searches, and the events of one message.
#pragma once
#include "daemons/http/backend/journal_reader.h"
#include "daemons/http/endpoints/limits.h"
#include "daemons/http/endpoints/services.h"
#include "daemons/http/requests/router.h"
#include <nlohmann/json_fwd.hpp>

namespace http {

void add_history(Router& router, Services& services);

// As `postrider history --json` shows it.
nlohmann::json json_of(const history::MessageHistory& message);
// The same with a part of the recipients, and "next".
nlohmann::json json_of(const history::MessageHistory& message, const ListPart& part);
// It is true when the client has gone.
JournalReader::Cancelled cancelled_with(const Call& call);
// How much of the journal was counted: "complete", "counted_from", "damaged".
nlohmann::json extent_of(const JournalReader::Answer& answer);
// Why the journal could not answer; nothing: it has.
std::optional<Problem> problem_of(const JournalReader::Answer& answer);

} // namespace http
