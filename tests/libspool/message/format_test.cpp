// The bytes: envelope and properties, records, headers, whole files cut and corrupted at every offset.
#include "libspool/format/content_scan.h"
#include "libspool/format/crc32c.h"
#include "libspool/format/record.h"
#include "libspool/message/message_reader.h"
#include "libspool/message/message_writer.h"
#include "libspool/message/writers.h"
#include "libspool/store/store.h"
#include "tests/libspool/disk/fake_disk.h"
#include <doctest/doctest.h>

using namespace spool;
using spool::test::FakeDisk;

namespace {

smtp::WallTime at(std::int64_t seconds) { return smtp::WallTime(std::chrono::seconds(seconds)); }

Envelope full_envelope() {
    Envelope e;
    e.reverse_path = "ann@example.org";
    for (int n = 0; n < 3; ++n) {
        EnvelopeRecipient r;
        r.address = "user" + std::to_string(n) + "@example.net";
        r.original = "Alias" + std::to_string(n);
        r.orcpt = "rfc822;alias@example.net";
        r.notify = Notify::success | Notify::delay;
        r.fate = Fate::remote;
        r.reverse_path = n == 1 ? "<>" : "";
        r.user = "u";
        r.transport = "t";
        r.policy = "p";
        e.recipients.push_back(r);
    }
    e.arrival = at(1'700'000'000);
    e.origin = Origin::local;
    e.submitter = "uid:1000";
    e.listener = "relay";
    e.client_name = "mail.example.org";
    e.client_address = "192.0.2.1";
    e.client_port = 40000;
    e.helo = "mail";
    e.protocol = "ESMTPSA";
    e.uid = 0;
    e.sasl_method = "PLAIN";
    e.sasl_user = "ann";
    e.sasl_sender = "ann@example.org";
    e.tls_version = "TLSv1.3";
    e.tls_cipher = "TLS_AES_256_GCM_SHA384";
    e.tls_peer = "mail.example.org";
    e.body = Body::eight_bit;
    e.smtputf8 = e.require_tls = e.tls_optional = true;
    e.ret = smtp::Ret::headers;
    e.envid = "QQ314159";
    e.not_before = at(1'700'000'100);
    e.deliver_by = at(0);
    e.priority = -4;
    e.lane = "bulk";
    e.expiry = at(1'700'100'000);
    e.pool = "eu";
    e.retry_policy = "exchange";
    e.idempotency_key = "k";
    e.idempotency_digest = std::string(32, '\xd1');
    e.verdict = Verdict::hold;
    e.verdict_reason = "looks odd";
    e.parent = QueueId{77};
    e.pass = 2;
    e.message_id = "<1@example.org>";
    e.transferred = TransferOrigin{"mx1", QueueId{78}, 2, at(13), std::string(32, '\xd2'), {}};
    return e;
}

std::vector<Property> every_property() {
    const Reply reply{451, "4.3.0", "try later", Stage::final_dot};
    return {
        Expanded{
            {0},
            {{.origin = 0, .fate = Fate::local, .address = "bob", .user = "bob", .reverse_path = "<>"},
             {.origin = 0, .fate = Fate::remote, .address = "c@example.com", .reverse_path = "owner@example.com"}}},
        Categorized{{1, 2}, Fate::local, "bob"},
        Attempt{{1}, at(1), "mx[192.0.2.1]:25", reply, Outcome::deferred, true, at(61), 1},
        StatusChanged{{2}, Status::removed, at(2), reply, "root"},
        Rescheduled{{1}, at(9), 3},
        Held{true, at(3), "root", "look at it"},
        PriorityChanged{-3, "bulk", at(4), "root", "slow"},
        ExpiryChanged{at(5), "fixed", at(4), "route", "first routing"},
        ProblemMarked{true, 2, at(6)},
        NdrIssued{{2}, Reported::submitted, QueueId{99}, at(7)},
        DelayNoticed{{1}, QueueId{98}, at(7)},
        InDoubt{{1}, at(8), "mx", "agent died"},
        AgentCrash{{1}, at(9), "smtp-client", true},
        Rerouted{"[backup.example.net]:2525", at(11), "root", "maintenance"},
        Transferring{true, "mx2", 3, at(12), "root", "new disk"},
        UnknownProperty{400, std::string("later\0", 6)},
    };
}

constexpr std::string_view content = "Received: from a by b\r\nSubject: x\r\n\r\n.dot\r\nhello w\xf6rld\r\n";

// A message with a property log, on a fake disk; returns the path.
std::string make_message(FakeDisk& disk, QueueId id, std::size_t properties, Sync sync) {
    REQUIRE(prepare_spool(disk, {id.slot()}));
    CommitPool pool(disk, 0, {});
    auto directory = SharedDirectory::open(disk, directory_of(id, Location::incoming));
    MessageWriter writer(pool, **directory, id, full_envelope());
    writer.append(content);
    bool good = false;
    writer.commit([&](auto receipt) { good = receipt.has_value(); });
    pool.drain();
    REQUIRE(good);
    Store store(pool);
    const auto all = every_property();
    for (std::size_t n = 0; n < properties; ++n) store.append(id, Location::incoming, {all[n]}, sync);
    while (store.outstanding() > 0) {
        store.flush();
        pool.drain();
    }
    return path_of(id, Location::incoming);
}

} // namespace

TEST_CASE("crc32c is the one everybody means") {
    CHECK(crc32c("123456789") == 0xE3069283u);
    CHECK(crc32c("56789", crc32c("1234")) == 0xE3069283u);
    CHECK(crc32c("") == 0);
}

TEST_CASE("envelope: there and back, every field") {
    const auto envelope = full_envelope();
    CHECK(decode(encode(envelope)) == envelope);
    CHECK(decode("") == Envelope{});
    CHECK(decode(encode(Envelope{})) == Envelope{});
}

TEST_CASE("envelope: fields of a later version are carried") {
    auto bytes = encode(full_envelope());
    bytes += std::string("\xc8\x01\x03"
                         "abc",
                         6); // field 200
    const auto read = decode(bytes);
    REQUIRE(read);
    CHECK(read->reverse_path == "ann@example.org");
    CHECK(encode(*read) == bytes);
}

TEST_CASE("envelope: what is odd is refused, cut anywhere never crashes") {
    const auto bytes = encode(full_envelope());
    for (std::size_t n = 0; n < bytes.size(); ++n) (void)decode(std::string_view(bytes).substr(0, n));
    for (std::size_t n = 0; n < bytes.size(); ++n)
        for (int bit = 0; bit < 8; ++bit) {
            auto odd = bytes;
            odd[n] = static_cast<char>(odd[n] ^ (1 << bit));
            (void)decode(odd);
        }
    Envelope e;
    e.recipients.emplace_back();
    CHECK_FALSE(decode(encode(e)));
    e.recipients[0].address = "a@b\r\nRCPT TO:<c@d>";
    CHECK_FALSE(decode(encode(e)));
    e.recipients.clear();
    e.reverse_path = std::string("a\0b", 3);
    CHECK_FALSE(decode(encode(e)));
    CHECK_FALSE(decode(std::string("\x13\x01\x09", 3)));         // BODY 9
    CHECK_FALSE(decode(std::string("\x39\x00", 2)));             // from another node, without its queue id there
    CHECK_FALSE(decode(std::string("\x09\x03\xff\xff\x7f", 5))); // port 2097151
}

TEST_CASE("properties: there and back, every one") {
    auto all = every_property();
    all.push_back(Attempt{{1}, at(1), "", {}, Outcome::delivered, false, {}, 0});
    all.push_back(Attempt{{1}, at(1), "", {}, Outcome::failed, false, {}, 0});
    all.push_back(StatusChanged{{2}, Status::pending, at(2), {}, "root"});
    all.push_back(Requeued{{0, 1}, "fixed", at(10), "root", "the alias was wrong"});
    all.push_back(NdrIssued{{2}, Reported::kept_in_bad, {}, at(7)});
    for (const auto& property : all) {
        const auto read = decode_property(type_of(property), encode(property));
        REQUIRE(read);
        CHECK(*read == property);
    }
    CHECK(type_of(Property{Expanded{}}) == 16);
    CHECK(type_of(Property{Checkpoint{}}) == 29);
}

TEST_CASE("state: the fold, and the same by way of a checkpoint") {
    MessageState state(full_envelope());
    for (const auto& property : every_property()) REQUIRE(state.apply(property));
    REQUIRE(state.recipients.size() == 5);
    CHECK(state.recipients[0].status == Status::expanded);
    CHECK(state.recipients[1].failures == 3);
    CHECK(state.recipients[1].in_doubt);
    CHECK(state.recipients[1].attempts.size() == 1);
    CHECK(state.recipients[2].status == Status::removed);
    CHECK(state.recipients[3].user == "bob");
    CHECK(state.reverse_path_of(state.recipients[3]).empty());
    CHECK(state.reverse_path_of(state.recipients[4]) == "owner@example.com");
    CHECK(state.reverse_path_of(state.recipients[2]) == "ann@example.org");
    CHECK(state.envelope_of(state.recipients[4]).address == "user0@example.net");
    CHECK(state.held);
    CHECK(state.problem);
    CHECK(state.crashes_alone == 1);
    CHECK(state.unknown.size() == 1);
    CHECK_FALSE(state.finished());

    MessageState again(full_envelope());
    REQUIRE(again.apply(state.checkpoint()));
    CHECK(again == state);
    // Numbers that name nobody are refused and change nothing.
    CHECK_FALSE(again.apply(Attempt{{5}, at(1), "", {}, Outcome::delivered, false, {}, 0}));
    CHECK_FALSE(again.apply(Expanded{{1}, {{.origin = 9, .fate = Fate::local, .address = "x", .user = "x"}}}));
    CHECK(again == state);
}

TEST_CASE("state: requeued begins anew, but what an expansion brought is not expanded again") {
    MessageState state(full_envelope());
    for (const auto& property : every_property()) REQUIRE(state.apply(property));
    CHECK(state.rerouted_to == "[backup.example.net]:2525");
    REQUIRE(state.apply(Requeued{{1, 3}, "fixed", at(10), "root", ""}));
    CHECK(state.recipients[1].fate == Fate::unknown);
    CHECK(state.recipients[1].failures == 0);
    CHECK(state.recipients[3].fate == Fate::local);
    CHECK_FALSE(state.problem);
    CHECK(state.retry_policy == "fixed");
    CHECK(state.held);
}

TEST_CASE("state: what was promised of a policy and a lifetime, and what changes it") {
    RetryValues values;
    values.kind = RetryKind::steps;
    values.waits = {1000, 60'000};
    values.jitter = 200'000;
    Envelope e = full_envelope();
    e.expiry.reset();
    e.lifetime = 3600;
    e.retry_policy = "quick";
    e.retry_values = values;
    const auto read = decode(encode(e));
    REQUIRE(read);
    CHECK(*read == e);
    MessageState state(e);
    CHECK(state.lifetime == 3600);
    CHECK(state.retry_values == values);

    RetryValues other;
    other.kind = RetryKind::fixed;
    other.interval = 5000;
    other.attempts = 3;
    ExpiryChanged routes{.policy = "other", .time = at(1), .who = "route"};
    routes.retry_values = other;
    ExpiryChanged life{.time = at(2), .who = "root"};
    life.lifetime = 60;
    Rescheduled now_free{.free_from = at(3)};
    for (const Property& each : {Property(routes), Property(life), Property(now_free)}) {
        const auto again = decode_property(type_of(each), encode(each));
        REQUIRE(again);
        CHECK(*again == each);
        REQUIRE(state.apply(*again));
    }
    CHECK(state.retry_policy == "other");
    CHECK(state.retry_values == other);
    CHECK(state.lifetime == 60);
    CHECK_FALSE(state.expiry);
    CHECK(state.free_from == at(3));
    MessageState checked(e);
    REQUIRE(checked.apply(state.checkpoint()));
    CHECK(checked == state);
    REQUIRE(state.apply(Requeued{.recipients = {}, .policy = "exchange"}));
    CHECK_FALSE(state.retry_values);
}

TEST_CASE("state: a checkpoint of a version that knew no lifetime does not take away the envelope's") {
    Envelope e = full_envelope();
    e.lifetime = 3600;
    MessageState state(e);
    state.lifetime = 0;
    MessageState again(e);
    REQUIRE(again.apply(state.checkpoint()));
    CHECK(again.lifetime == 3600);
}

TEST_CASE("state: attempts keep the first three and the last twenty, equal ones in a row counted") {
    MessageState state(full_envelope());
    for (int n = 0; n < 100; ++n)
        for (int twice = 0; twice < 2; ++twice)
            REQUIRE(state.apply(Attempt{{1},
                                        at(n * 10 + twice),
                                        "h" + std::to_string(n),
                                        {},
                                        Outcome::deferred,
                                        false,
                                        at(n),
                                        static_cast<std::uint32_t>(n)}));
    const auto& kept = state.recipients[1].attempts;
    REQUIRE(kept.size() == 23);
    CHECK(kept[0].host == "h0");
    CHECK(kept[2].host == "h2");
    CHECK(kept[3].host == "h80");
    CHECK(kept[22].host == "h99");
    CHECK(kept[22].count == 2);
    CHECK(kept[22].first == at(990));
    CHECK(kept[22].last == at(991));
    CHECK(state.recipients[1].tries == 200);
}

TEST_CASE("content: the facts, whole, byte by byte and in sevens") {
    struct Row {
        std::string_view text;
        std::uint32_t longest;
        std::uint64_t body;
        bool eight, eight_header, dot, bare, ends;
    };
    const Row rows[] = {
        {"", 0, 0, false, false, false, false, true},
        {"\r\n", 0, 2, false, false, false, false, true},
        {"a: b\r\n\r\nbody\r\n", 4, 8, false, false, false, false, true},
        {"a: \xc3\xa9\r\n\r\nbody\r\n", 5, 9, true, true, false, false, true},
        {"a: b\r\n\r\n\xc3\xa9\r\n", 4, 8, true, false, false, false, true},
        {"a: b\r\n\r\n.x\r\n", 4, 8, false, false, true, false, true},
        {"a: b\r\n\r\n x.\r\n", 4, 8, false, false, false, false, true},
        {"a: b\r\n\r\nx", 4, 8, false, false, false, false, false},
        {"a: b\n\nx\r\n", 4, 6, false, false, false, true, true},
        {"a: b\r\n\r\nx\ry\r\n", 4, 8, false, false, false, true, true},
        {"a: b\r\n\r\nx\r\r\n", 4, 8, false, false, false, true, true},
        {"a: b\r\n\r\nx\r", 4, 8, false, false, false, true, false},
        {"a: b\r\n", 4, 6, false, false, false, false, true},
        {"a: b", 4, 4, false, false, false, false, false},
        {".\r\n\r\n", 1, 5, false, false, true, false, true},
        {"a: b\r\n\r\n0123456789012345678901234567890123456789\xff", 41, 8, true, false, false, false, false},
    };
    for (const auto& row : rows) {
        for (const std::size_t step : {row.text.size() + 1, std::size_t{1}, std::size_t{7}}) {
            ContentScan scan;
            for (std::size_t n = 0; n < row.text.size(); n += step) scan.append(row.text.substr(n, step));
            const auto facts = scan.facts();
            CAPTURE(row.text);
            CAPTURE(step);
            CHECK(facts.size == row.text.size());
            CHECK(facts.crc == crc32c(row.text));
            CHECK(facts.longest_line == row.longest);
            CHECK(facts.body_offset == row.body);
            CHECK(facts.eight_bit == row.eight);
            CHECK(facts.eight_bit_header == row.eight_header);
            CHECK(facts.dot_line == row.dot);
            CHECK(facts.bare_lf_or_cr == row.bare);
            CHECK(facts.ends_with_newline == row.ends);
        }
    }
}

TEST_CASE("a file cut off at every offset: unsealed or an older state, never another message") {
    FakeDisk disk;
    const QueueId id{(std::uint64_t{500} << 8) | submission_slot};
    const auto path = make_message(disk, id, 14, Sync::yes);
    const auto whole = disk.contents(path);
    const auto reader = MessageReader::open(disk, id, Location::messages);
    REQUIRE(reader);
    CHECK(reader->envelope() == full_envelope());
    CHECK(reader->state().recipients.size() == 5);
    const auto log_begin = reader->log_begin();
    for (std::size_t n = 0; n < whole.size(); ++n) {
        disk.set_contents(path, whole.substr(0, n));
        auto cut = MessageReader::open(disk, id, Location::incoming);
        CAPTURE(n);
        if (n < log_begin) {
            REQUIRE_FALSE(cut);
            const auto& damaged = std::get<Damaged>(cut.error());
            CHECK(damaged.how == Damaged::How::unsealed);
        } else {
            REQUIRE(cut);
            CHECK(cut->small_content() == content);
            CHECK(cut->envelope() == full_envelope());
            CHECK(cut->torn_tail() == (cut->log_end() != n));
        }
    }
}

TEST_CASE("a file with a bit turned at every offset: refused, or the same message") {
    FakeDisk disk;
    const QueueId id{(std::uint64_t{500} << 8) | submission_slot};
    const auto path = make_message(disk, id, 6, Sync::yes);
    const auto whole = disk.contents(path);
    std::uint64_t last_record = 0;
    {
        const auto reader = MessageReader::open(disk, id, Location::incoming);
        REQUIRE(reader);
        const auto log = parse_log(std::string_view(whole).substr(reader->log_begin()), id, 1);
        last_record = static_cast<std::uint64_t>(log.records.back().payload.data() - whole.data()) - 12;
    }
    for (std::size_t n = 0; n < whole.size(); ++n)
        for (int bit : {0, 3, 7}) {
            auto odd = whole;
            odd[n] = static_cast<char>(odd[n] ^ (1 << bit));
            disk.set_contents(path, odd);
            auto read = MessageReader::open(disk, id, Location::incoming);
            CAPTURE(n);
            if (!read) {
                CHECK_FALSE((n >= log_marks_offset && n < header_size)); // no marks there: nothing depends on it
                continue;
            }
            CHECK(read->envelope() == full_envelope());
            const auto text = read->small_content();
            if (n >= 128 && n < header_size)
                CHECK(text == content);
            else if (n >= last_record)
                CHECK(text == content); // the last record counts as torn
            else
                CHECK_FALSE(text); // content; everything else was refused above
            if (!text) {
                auto piece = read->piece(0);
                CHECK_FALSE(piece); // the last piece, too, fails before the final dot
            }
        }
}

TEST_CASE("the log: unpromised records may be missing in the middle, promised ones may not") {
    for (const auto sync : {Sync::no, Sync::yes}) {
        FakeDisk disk;
        const QueueId id{(std::uint64_t{500} << 8) | submission_slot};
        const auto path = make_message(disk, id, 4, sync);
        auto bytes = disk.contents(path);
        auto reader = MessageReader::open(disk, id, Location::incoming);
        REQUIRE(reader);
        const auto log = parse_log(std::string_view(bytes).substr(reader->log_begin()), id, 1);
        REQUIRE(log.records.size() == 4);
        // The third is zeroed: its page never reached the disk.
        const auto begin = static_cast<std::size_t>(log.records[2].payload.data() - bytes.data()) - 12;
        std::fill_n(bytes.begin() + static_cast<std::ptrdiff_t>(begin), log.records[2].payload.size() + record_frame,
                    '\0');
        disk.set_contents(path, bytes);
        const auto again = MessageReader::open(disk, id, Location::incoming);
        if (sync == Sync::yes) {
            REQUIRE_FALSE(again);
            CHECK(std::get<Damaged>(again.error()).how == Damaged::How::damaged);
            continue;
        }
        REQUIRE(again);
        CHECK(again->state().recipients[1].tries == 0); // the lost one
        CHECK(again->state().recipients[2].status == Status::removed);
        // The next append starts the log anew, and all is well for good.
        CommitPool pool(disk, 0, {});
        Store store(pool);
        Result<> appended;
        store.append(id, Location::incoming, {Held{true, at(1), "root", "x"}}, Sync::yes,
                     [&](Result<> r) { appended = std::move(r); });
        store.flush();
        pool.drain();
        REQUIRE(appended);
        auto healed = MessageReader::open(disk, id, Location::incoming);
        REQUIRE(healed);
        CHECK(healed->log_generation() == 1);
        CHECK(healed->state().held);
        CHECK(healed->state().recipients[2].status == Status::removed);
        CHECK(healed->small_content() == content);
    }
}

TEST_CASE("a file of a later version: read if it allows it, else left alone with a word") {
    FakeDisk disk;
    const QueueId id{(std::uint64_t{500} << 8) | submission_slot};
    const auto path = make_message(disk, id, 0, Sync::no);
    for (const std::uint16_t readable : {1, 2}) {
        auto bytes = disk.contents(path);
        bytes[8] = 9; // version
        bytes[10] = static_cast<char>(readable);
        std::string seed(8, '\0');
        for (int n = 0; n < 8; ++n) seed[static_cast<std::size_t>(n)] = static_cast<char>(id.value >> (8 * n));
        const auto crc = crc32c(std::string_view(bytes).substr(0, 124), crc32c(seed));
        for (int n = 0; n < 4; ++n) bytes[static_cast<std::size_t>(124 + n)] = static_cast<char>(crc >> (8 * n));
        disk.set_contents(path, bytes);
        const auto read = MessageReader::open(disk, id, Location::incoming);
        CHECK(read.has_value() == (readable == 1));
        if (!read) CHECK(std::get<Damaged>(read.error()).how == Damaged::How::newer);
    }
}
