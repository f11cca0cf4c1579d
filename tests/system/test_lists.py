"""Mailing lists with many members: each gets the message once, whatever happens while they are found out."""
from harness.watch import wait_until


def test_a_list_of_twenty_thousand(mta, remote):
    sink = remote()
    members = [f"m{n}@r.example" for n in range(20_000)]
    (mta.folder / "members").write_text("\n".join(members) + "\n")
    mta.aliases.write_text(f"list: :include:{mta.folder}/members\nowner-list: other\n")
    mta.config["queue"]["recipients_per_transaction"] = 5000
    mta.route("r.example", sink)
    mta.start()
    mta.submit("list@test.example", "to many", sender="writer@r.example")
    wait_until(lambda: sum(len(m.recipients) for m in sink.messages) >= len(members), 60, mta.last_words)
    assert sorted(r for m in sink.messages for r in m.recipients) == sorted(members)
    assert {m.sender for m in sink.messages} == {"owner-list@test.example"}
    assert len(sink.messages) == 4
    mta.wait_until_empty()
