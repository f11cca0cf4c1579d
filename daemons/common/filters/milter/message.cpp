#include "daemons/common/filters/milter/message.h"
#include "libsmtp/message/address.h"
#include "libsmtp/message/header.h"
#include "libsmtp/protocol/parameters.h"
#include <algorithm>

namespace milter {

using What = spool::FieldEdit::What;

std::string with_crlf(std::string_view text) {
    std::string out;
    out.reserve(text.size());
    for (std::size_t at = 0; at < text.size(); ++at) {
        const char c = text[at];
        if (c != '\r' && c != '\n') {
            out += c;
            continue;
        }
        if (c == '\r' && at + 1 < text.size() && text[at + 1] == '\n') ++at;
        out += "\r\n";
    }
    return out;
}

void Message::load(Loaded done) {
    if (loaded_) return done({});
    if (const auto* all = writer_.at_hand()) {
        take_header(*all);
        return done({});
    }
    waiting_.push_back(std::move(done));
    if (waiting_.size() == 1) load_from_disk(256 * 1024);
}

// For content that was spilled to disk: reads more and more until the header has ended.
void Message::load_from_disk(std::size_t size) {
    writer_.read(0, size, [this, size, open = std::weak_ptr(open_)](spool::Result<std::string> text) {
        if (open.expired()) return;
        if (text && text->size() == size && size < spool::largest_edited_header &&
            smtp::scan_header(*text).end == smtp::HeaderEnd::end_of_text)
            return load_from_disk(size * 4);
        const auto loaded = text ? spool::Result<>() : std::unexpected(text.error());
        if (text) take_header(*text);
        for (const auto& done : std::exchange(waiting_, {}))
            if (!open.expired()) done(loaded); // may destroy this
    });
}

void Message::take_header(std::string_view text) {
    const auto block = smtp::scan_header(text);
    for (const auto& field : block.fields) fields_.emplace_back(field.raw);
    if (!fields_.empty()) own_ = 0;
    header_ = text.substr(0, block.body);
    loaded_ = true;
}

void Message::read_body(std::uint64_t offset, std::size_t max, std::function<void(spool::Result<std::string>)> done) {
    if (const auto* all = writer_.at_hand()) {
        const auto at = std::min<std::uint64_t>(header_.size() + offset, all->size());
        return done(all->substr(static_cast<std::size_t>(at), max));
    }
    writer_.read(header_.size() + offset, max,
                 [done = std::move(done), open = std::weak_ptr(open_)](spool::Result<std::string> piece) {
                     if (!open.expired()) done(std::move(piece));
                 });
}

namespace {

std::optional<std::string> address_in(std::string_view path) {
    if (path.starts_with('<') && path.ends_with('>')) path = path.substr(1, path.size() - 2);
    const auto mailbox = smtp::Mailbox::parse_bare_allowed(path);
    if (!mailbox) return {};
    return mailbox->text();
}

std::string field_text(const HeaderChange& change) {
    auto text = with_crlf(change.name + ":" + change.value);
    while (text.ends_with("\r\n")) text.resize(text.size() - 2);
    return text + "\r\n";
}

// Applies an edit to the fields, and updates the number of our own one.
void perform(const spool::FieldEdit& edit, std::vector<std::string>& fields, std::optional<std::size_t>& own) {
    const auto place = fields.begin() + static_cast<std::ptrdiff_t>(std::min<std::size_t>(edit.number, fields.size()));
    switch (edit.what) {
    case What::insert:
        fields.insert(place, edit.text);
        if (own && edit.number <= *own) ++*own;
        break;
    case What::replace:
        *place = edit.text;
        if (own == edit.number) own.reset(); // no longer our own
        break;
    case What::remove:
        fields.erase(place);
        if (own == edit.number) own.reset();
        if (own && edit.number < *own) --*own;
        break;
    }
}

// The edit for one change; applies it to the fields.
std::expected<std::optional<spool::FieldEdit>, smtp::Malformed>
edit_of(const HeaderChange& change, std::vector<std::string>& fields, std::optional<std::size_t>& own) {
    const auto odd = std::unexpected(smtp::Malformed{"not a header field: " + smtp::printable(change.name, 100)});
    const bool goes = change.what == HeaderChange::What::change && change.value.empty();
    spool::FieldEdit edit{What::insert, static_cast<std::uint32_t>(fields.size()), goes ? "" : field_text(change)};
    if (!goes && !spool::is_one_field(edit.text)) return odd;
    if (change.what == HeaderChange::What::insert) edit.number = std::min<std::uint32_t>(change.index, edit.number);
    if (change.what == HeaderChange::What::change) {
        std::uint32_t nth = 0;
        for (std::size_t i = 0; i < fields.size() && nth < std::max(change.index, 1u); ++i)
            if (own != i && smtp::scan_header(fields[i]).fields.at(0).is(change.name) &&
                ++nth == std::max(change.index, 1u))
                edit = {goes ? What::remove : What::replace, static_cast<std::uint32_t>(i), edit.text};
        if (goes && edit.what == What::insert) return std::nullopt; // there is none
    }
    perform(edit, fields, own);
    return edit;
}

} // namespace

bool Message::edit(spool::FieldEdit edit) {
    const bool there = edit.number < fields_.size();
    if (edit.what == What::remove ? !there : !spool::is_one_field(edit.text)) return false;
    if (edit.what == What::replace && !there) return false;
    perform(edit, fields_, own_);
    edits_.push_back(std::move(edit));
    return true;
}

bool Message::redirect(std::string_view address) {
    const auto to = address_in(address);
    if (!to) return false;
    envelope_.recipients.assign(1, {});
    envelope_.recipients.front().address = *to;
    return true;
}

bool Message::add_bcc(std::string_view address) {
    const auto to = address_in(address);
    if (!to) return false;
    const bool there = std::ranges::any_of(
        envelope_.recipients, [&](const auto& recipient) { return smtp::same_ignoring_case(recipient.address, *to); });
    if (there) return true;
    auto& copy = envelope_.recipients.emplace_back();
    copy.address = *to;
    copy.notify = spool::Notify::never;
    return true;
}

std::expected<void, smtp::Malformed> Message::apply(const Modifications& changes) {
    auto fields = fields_;
    auto own = own_;
    auto edits = edits_;
    auto envelope = envelope_;
    const auto no_address = [](std::string_view text) {
        return std::unexpected(smtp::Malformed{"not an address: " + smtp::printable(text, 100)});
    };
    for (const auto& change : changes.headers) {
        auto edit = edit_of(change, fields, own);
        if (!edit) return std::unexpected(std::move(edit).error());
        if (*edit) edits.push_back(**std::move(edit));
    }
    for (const auto& path : changes.removed) {
        const auto address = address_in(path);
        if (!address) return no_address(path);
        std::erase_if(envelope.recipients, [&](const auto& recipient) {
            return smtp::same_ignoring_case(recipient.address, *address) ||
                   smtp::same_ignoring_case(recipient.original, *address);
        });
    }
    for (const auto& added : changes.added) {
        const auto address = address_in(added.path);
        if (!address) return no_address(added.path);
        const auto parameters = smtp::parse_rcpt_parameters(added.parameters, smtp::Capabilities{});
        if (!parameters) return std::unexpected(smtp::Malformed{"a recipient with " + parameters.error().text});
        if (std::ranges::find(envelope.recipients, *address, &spool::EnvelopeRecipient::address) !=
            envelope.recipients.end())
            continue;
        auto& recipient = envelope.recipients.emplace_back();
        recipient.address = *address;
        recipient.notify = static_cast<spool::Notify>(parameters->notify.bits());
        recipient.orcpt = parameters->orcpt;
    }
    if (changes.sender) {
        const bool null = *changes.sender == "<>" || changes.sender->empty();
        const auto address = null ? std::optional<std::string>("") : address_in(*changes.sender);
        if (!address) return no_address(*changes.sender);
        envelope.reverse_path = *address;
    }
    if (!changes.quarantine.empty()) {
        envelope.verdict = spool::Verdict::quarantine;
        envelope.verdict_reason = changes.quarantine;
    }
    // Nothing can fail from here on.
    fields_ = std::move(fields);
    own_ = own;
    edits_ = std::move(edits);
    envelope_ = std::move(envelope);
    if (changes.body) replace_body(with_crlf(*changes.body));
    return {};
}

void Message::replace_body(std::string_view body) {
    if (!header_.ends_with("\r\n\r\n") && header_ != "\r\n") header_ += "\r\n";
    writer_.start_over();
    writer_.append(header_);
    writer_.append(body);
}

void Message::seal() {
    open_.reset();
    std::string header;
    if (!edits_.empty()) {
        envelope_.edits = {header_.size(), edits_};
        header = spool::edited_header(header_, edits_).value(); // each edit was checked when it came
    }
    writer_.set_envelope(envelope_, header);
}

} // namespace milter
