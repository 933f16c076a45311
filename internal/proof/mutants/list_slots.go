package mutants

// slotMutants break how several relays share a group.
func slotMutants() []Mutant {
	return []Mutant{
		{
			Name: "slots-send-everything", Breaks: []string{"O10"},
			Change:  "a slot sends the records of all slots",
			File:    "outbox/pgoutbox/sql/page_filtered.sql",
			Old:     `w.shard % $5::smallint = $6::smallint`,
			New:     `$5::smallint > $6::smallint`,
			Package: "outbox/pgoutbox", Test: "TestO2_O5_SlotsShareOneChain", Needs: Postgres,
		},
		{
			Name: "change-does-not-wait-for-all-slots", Breaks: []string{"O5"},
			Change:  "the number of slots changes when the first of them is ready",
			File:    "outbox/internal/pgwindow/sql/chain_complete.sql",
			Old:     `(SELECT count(*) FROM come) = g.slots`,
			New:     `(SELECT count(*) FROM come) > 0`,
			Package: "outbox/pgoutbox", Test: "TestO5_ChangeWaitsForEverySlot", Needs: Postgres,
		},
		{
			Name: "slot-is-not-fenced", Breaks: []string{"O9"},
			Change:  "a slot's next window is taken under a lease that is lost",
			File:    "outbox/internal/pgwindow/sql/chain_next.sql",
			Old:     `AND l.owner = $5 AND l.epoch = $6`,
			New:     `AND $5 <> '' AND $6 > 0`,
			Package: "outbox/pgoutbox", Test: "TestO9_ZombieCannotFollow", Needs: Postgres,
		},
		{
			Name: "positions-removed-without-a-window", Breaks: []string{"O2", "O9"},
			Change:  "positions that are old for another slot are removed by who has lost the lease",
			File:    "outbox/internal/pgwindow/sql/chain_next.sql",
			Old:     `DELETE FROM @{_positions} p USING opened o`,
			New:     `DELETE FROM @{_positions} p USING ahead o`,
			Package: "outbox/pgoutbox", Test: "TestO9_ZombieFarBehindRemovesNothing", Needs: Postgres,
		},
		{
			Name: "one-relay-leads-all-slots", Breaks: []string{"O14"},
			Change:  "a relay takes all slots and not its fair share",
			File:    "outbox/pgoutbox/members.go",
			Old:     `Fair: (slots + members - 1) / members}`,
			New:     `Fair: slots + 0*members}`,
			Package: "outbox/pgoutbox", Test: "TestO14_Share", Needs: Postgres,
		},
		{
			Name: "closed-slot-is-kept", Breaks: []string{"O13"},
			Change:  "the lease of a slot that has come to its end is not given up",
			File:    "outbox/relay/term.go",
			Old:     `return errors.Join(t.end(ctx, nil), driver.ErrSlotClosed)`,
			New:     `return driver.ErrSlotClosed`,
			Package: "outbox/relay", Test: "TestO13_ClosedSlotIsGivenUp",
		},
	}
}
